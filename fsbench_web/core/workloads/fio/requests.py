"""What the jobs of a checked fio job file ask of the disk (core.scoring.ceilings). Pure."""

from collections.abc import Mapping

from fsbench_web.core.identity import ONE_AT_A_TIME, size_bytes
from fsbench_web.core.scoring.ceilings import RANDOM, READ, SEQUENTIAL, WRITE, Request

_WAYS = {
    "read": (SEQUENTIAL, READ),
    "write": (SEQUENTIAL, WRITE),
    "randread": (RANDOM, READ),
    "randwrite": (RANDOM, WRITE),
}
DEFAULT_BLOCK = 4096
# They change the work in a way that the probe does not do.
_OTHER_WORK = {
    *("bssplit", "bsrange", "blocksize_range", "rate", "rate_iops", "thinktime"),
    *("random_distribution", "percentage_random", "loops", "zero_buffers"),
}


def requests(text: str) -> dict[tuple[str, str], Request]:
    """{(job, read or write): request} of each job that does one kind of thing."""
    by_job = {}
    for name, sentence in options_of(text).items():
        request = _request(sentence)
        if request is not None:
            by_job[name, request.direction] = request
    return by_job


def least_written_at_once(text: str) -> int | None:
    """The least bytes in flight of a job that writes one buffer; None: no job does. Random direct
    writes are extents of their own and do not count.
    """
    in_flight = []
    for sentence in options_of(text).values():
        pattern = sentence.get("rw", sentence.get("readwrite", "read"))
        is_direct = sentence.get("direct") == "1" or sentence.get("buffered") == "0"
        writes = pattern in ("write", "rw", "readwrite", "randwrite", "randrw")
        if not writes or sentence.get("refill_buffers") == "1":
            continue
        if not (is_direct and pattern.startswith("rand")):
            block = size_bytes(sentence.get("bs", sentence.get("blocksize", "4k"))) or DEFAULT_BLOCK
            in_flight.append(block * (int(sentence.get("iodepth", "1")) if is_direct else 1))
    return min(in_flight, default=None)


def options_of(text: str) -> dict[str, dict[str, str]]:
    """{job: {option: value}}, with the options of [global]."""
    shared: dict[str, str] = {}
    jobs: dict[str, dict[str, str]] = {}
    options = shared
    for line in text.splitlines():
        if line.startswith("["):
            name = line.strip("[]")
            # What stands in a second [global] holds for the jobs behind it.
            options = shared if name == "global" else jobs.setdefault(name, dict(shared))
            continue
        key, _, value = line.partition("=")
        options[key] = value or "1"
    return jobs


def _request(data: Mapping[str, str]) -> Request | None:
    pattern = _WAYS.get(data.get("rw", data.get("readwrite", "read")))
    block_bytes = size_bytes(data.get("bs", data.get("blocksize", "4k")))
    if pattern is None or block_bytes is None or _OTHER_WORK & set(data):
        return None
    jobs = int(data.get("numjobs", "1"))
    if jobs > 1 and pattern[0] == SEQUENTIAL:
        return None  # several streams, which a disk does not read one after the other
    engine = data.get("ioengine", "psync")
    is_direct = data.get("direct") == "1" or data.get("buffered") == "0"
    # Buffered, io_submit(2) waits for each request too.
    waits = engine in ONE_AT_A_TIME or (engine == "libaio" and not is_direct)
    depth = 1 if waits else int(data.get("iodepth", "1"))
    if data.get("fsync", data.get("fdatasync", "0")) == "1":
        is_one = pattern == (RANDOM, WRITE) and depth * jobs == 1
        return Request(*pattern, block_bytes, 1, is_flushed=True) if is_one else None
    request = Request(*pattern, block_bytes, depth * jobs)
    return request if is_direct else request.by_the_kernel()
