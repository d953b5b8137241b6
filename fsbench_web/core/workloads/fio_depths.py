"""Plain fio: one block size, read and written by direct I/O at rising queue depths.

Each direction and depth is a command on the same file. The depth is the test's load.
"""

from collections.abc import Iterator, Mapping

from fsbench_web.core import formats, requirements
from fsbench_web.core.activity.promises import Syncs
from fsbench_web.core.formats.fio import logs
from fsbench_web.core.formats.fio.syncs import syncs as fio_syncs
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.identity import ONE_AT_A_TIME, USUAL_ENGINE, Identity, of_fio
from fsbench_web.core.latency_over_time import MOST_INTERVALS
from fsbench_web.core.scoring import loads, testnames
from fsbench_web.core.scoring.ceilings import RANDOM, READ, SEQUENTIAL, WRITE, Request
from fsbench_web.core.workloads.base import (
    DATABASE,
    KB,
    STREAMING,
    BenchmarkCommand,
    Kind,
    Parameter,
    ParameterError,
    Place,
    Preset,
    seed,
    time_limit,
)
from fsbench_web.core.workloads.fio.data import (
    FIO_DATA,
    PREALLOCATE,
    data_title,
    fio_data,
    fio_data_warning,
)
from fsbench_web.core.workloads.fio.steady import PERCENTILES, STEADY, SteadyFio

MIB = 1024 * KB
ENGINES = (USUAL_ENGINE, "io_uring", "posixaio", "psync", "sync", "pvsync2", "mmap")
FILE = "fio-depths"
# Of a log of latencies over time: 1,856 counts.
_MOST_LINE_BYTES = 16 * KB
_DIRECTIONS = {"read": READ, "write": WRITE}
_QUICK = {"file_mb": 32, "depths": [1, 8], "ramp_s": 0, "runtime_s": 2, "time_limit_s": 300}
_QUICK_HELP = "A file of 32 MB, queue depths of 1 and 8, 2 seconds each: to see that it works."


def _quick(access: str, block_kb: int) -> Preset:
    """A quick look at one of the block sizes of work profiles."""
    name = "stream-" if access == "sequential" else ""
    return Preset(
        f"fio-{name}{block_kb}k-small",
        f"fio, {access} {block_kb} KB, a quick look",
        _QUICK_HELP,
        {**_QUICK, "access": access, "block_kb": block_kb},
        question=STREAMING if access == "sequential" else DATABASE,
    )


class FioDepths(SteadyFio):
    """One command of fio for each direction and queue depth."""

    tool = "fio-depths"
    name = "fio by queue depth"
    about = (
        "One block size, read and then written by direct I/O (O_DIRECT, libaio) in one file, at "
        "rising queue depths: operations per second, throughput and latencies of each."
    )
    question = DATABASE
    programs = requirements.WORKLOADS["fio-depths"]
    parameters = (
        Parameter(
            "access",
            "Access",
            Kind.CHOICE,
            default="random",
            choices=(
                ("random", "random, every block once before any is taken again"),
                ("sequential", "sequential, from the file's begin to its end and over again"),
            ),
        ),
        Parameter(
            "block_kb",
            "Block size",
            Kind.SIZE,
            default=4,
            minimum=4,
            maximum=16384,
            help="Direct I/O needs a multiple of the device's sectors.",
        ),
        Parameter(
            "depths",
            "Queue depths",
            Kind.WHOLES,
            default=[1, 8, 32],
            minimum=1,
            maximum=1024,
            help="Each is a load of its own, separated by commas.",
        ),
        Parameter(
            "file_mb",
            "File size",
            unit="MB",
            default=2048,
            minimum=1,
            maximum=16 * 1024 * 1024,
            help="Written once before anything is measured. Well above the cache of the device, "
            "or that is measured.",
        ),
        Parameter(
            "ramp_s",
            "Warm-up",
            unit="seconds",
            default=5,
            maximum=3600,
            help="Before anything is counted.",
        ),
        Parameter(
            "runtime_s",
            "Measured time",
            unit="seconds",
            default=60,
            minimum=1,
            maximum=24 * 3600,
            help="Of each direction and queue depth.",
        ),
        seed("the random places: the same seed is the same sequence.", 1, minimum=1),
        *FIO_DATA,
        PREALLOCATE,
        Parameter(
            "directions",
            "Read or write",
            Kind.CHOICE,
            default="both",
            choices=(("both", "read, then write"), ("read", "read"), ("write", "write")),
            is_late=True,
        ),
        Parameter(
            "jobs",
            "Jobs",
            default=1,
            minimum=1,
            maximum=256,
            is_late=True,
            help="fio's numjobs: so many processes work on the file at once.",
        ),
        Parameter(
            "engine",
            "Engine",
            Kind.CHOICE,
            default=USUAL_ENGINE,
            choices=tuple((name, name) for name in ENGINES),
            is_late=True,
            help="Those named sync wait for each request: their queue depth is 1.",
        ),
        Parameter(
            "direct",
            "Direct I/O",
            Kind.FLAG,
            default=True,
            is_late=True,
            help="O_DIRECT: no page cache.",
        ),
        Parameter(
            "fsync_every",
            "fsync after every",
            unit="writes",
            default=0,
            maximum=10**9,
            is_late=True,
            help="0: never.",
        ),
        *STEADY,
        time_limit(12 * 3600),
    )
    presets = (
        Preset(
            "fio-4k-small",
            "fio, random 4 KB, a quick look",
            _QUICK_HELP,
            _QUICK,
        ),
        Preset(
            "fio-4k",
            "fio, random 4 KB",
            "Random reads and writes of 4 KB in a file of 2 GB at queue depths of 1, 8 and 32, a "
            "minute each after 5 seconds of warm-up.",
            {},
        ),
        Preset(
            "fio-8k-small",
            "fio, random 8 KB, a quick look",
            _QUICK_HELP,
            {**_QUICK, "block_kb": 8},
        ),
        Preset(
            "fio-8k",
            "fio, random 8 KB",
            "The same with blocks of 8 KB, as many databases have their pages.",
            {"block_kb": 8},
        ),
        Preset(
            "fio-stream-small",
            "fio, sequential 1 MB, a quick look",
            _QUICK_HELP,
            {**_QUICK, "access": "sequential", "block_kb": 1024},
            question=STREAMING,
        ),
        Preset(
            "fio-stream",
            "fio, sequential 1 MB",
            "Sequential reads and writes of 1 MB in a file of 2 GB at queue depths of 1, 8 and "
            "32, a minute each after 5 seconds of warm-up. For backups, media, restores.",
            {"access": "sequential", "block_kb": 1024},
            question=STREAMING,
        ),
        *(_quick("random", block_kb) for block_kb in (16, 64, 128, 256)),
        *(_quick("sequential", block_kb) for block_kb in (256, 512)),
    )

    def check(self) -> None:
        if self.file_mb * KB < self.block_kb:
            raise ParameterError(
                f"The file must hold a block: {self.file_mb} MB are less than {self.block_kb} KB."
            )
        super().check()

    def title(self) -> str:
        depths = ", ".join(map(str, self.depths))
        way = "direct" if self.direct else "buffered"
        return (
            f"fio, {self.access} {self.block_kb:,} KB, {way} I/O, "
            f"a file of {self.file_mb:,} MB, queue depths {depths}, {self.runtime_s} s"
            f"{''.join(self._unusual)}{self.steady_title}{data_title(self)}"
        )[:200]

    @property
    def _unusual(self) -> list[str]:
        """In words what is other than one job by libaio that reads and writes."""
        return [
            *([f", {self.directions} only"] if self.directions != "both" else []),
            *([f", {self.jobs} jobs"] if self.jobs > 1 else []),
            *([f", {self.engine}"] if self.engine != USUAL_ENGINE else []),
            *([f", fsync after {self.fsync_every} writes"] if self.fsync_every else []),
        ]

    @property
    def takes_device(self) -> bool:
        """Direct I/O in one place: a part of the device is as good as a file."""
        return bool(self.direct)

    def space_needed_bytes(self) -> int:
        logs = len(self.points()) * MOST_INTERVALS * _MOST_LINE_BYTES
        return int(1.02 * self.file_mb * MIB) + 4 * MIB + logs

    def points(self) -> list[tuple[str, int]]:
        chosen = _DIRECTIONS if self.directions == "both" else (self.directions,)
        return [(direction, depth) for direction in chosen for depth in self.depths]

    def identity(self, direction: str, depth: int) -> Identity:
        """What one command does, by its own options."""
        found = of_fio(self._options(direction, depth))
        assert found is not None
        return found

    def _options(self, direction: str, depth: int) -> dict[str, str]:
        words = self._what(direction, depth)
        return dict(word.removeprefix("--").partition("=")[::2] for word in words)

    def syncs(self, outputs: Mapping[str, bytes]) -> Mapping[str, Syncs | None]:
        return {
            name: fio_syncs(outputs[name], [self._options(direction, depth)])
            for direction, depth in self.points()
            if (name := _output(direction, depth)) in outputs
        }

    def _what(self, direction: str, depth: int) -> tuple[str, ...]:
        """fio's options that say what is done."""
        return (
            f"--rw={'rand' if self.access == 'random' else ''}{direction}",
            *(f"--bs={self.block_kb}k", f"--ioengine={self.engine}"),
            *(f"--direct={int(self.direct)}", f"--iodepth={depth}"),
            *((f"--numjobs={self.jobs}", "--group_reporting") if self.jobs > 1 else ()),
            *((f"--fsync={self.fsync_every}",) if self.fsync_every else ()),
            *fio_data(self),
        )

    @property
    def _job(self) -> str:
        return self.identity("read", 1).stem

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        file = (*_file(place), f"--size={self.file_mb}m")
        # Of a device nothing is to be in the cache, which no unmounting empties.
        direct = ("--direct=1",) if place.device else ()
        return [
            *([] if place.device else [BenchmarkCommand(("mkdir", place.work))]),
            self.layout(file, *direct, "--end_fsync=1"),
            *(
                BenchmarkCommand(
                    (
                        *("fio", f"--name={self._job}", *file),
                        *(*self._what(direction, depth), f"--randseed={self.seed}"),
                        *(*self.timing, PERCENTILES, "--output-format=json+"),
                        *self._over_time_words(place, direction, depth),
                    ),
                    output=_output(direction, depth),
                    remount=True,
                )
                for direction, depth in self.points()
            ),
            *(
                BenchmarkCommand(
                    # Where fio logged nothing there may be no file, which fails no run.
                    (
                        *("find", place.work, "-name", f"{direction}-{depth}_clat_hist.1.log"),
                        *("-exec", "cat", "{}", "+"),
                    ),
                    output=_over_time(direction, depth),
                )
                for direction, depth in (self.points() if self._is_logged(place) else [])
            ),
        ]

    def _is_logged(self, place: Place) -> bool:
        """A device has no folder for a log, and each of several jobs writes its own."""
        return not place.device and self.jobs == 1

    def _over_time_words(self, place: Place, direction: str, depth: int) -> tuple[str, ...]:
        """Written when it has ended, and not while it is measured."""
        if not self._is_logged(place):
            return ()
        log = f"--write_hist_log={place.work}/{direction}-{depth}"
        return (log, f"--log_hist_msec={self._interval_ms}")

    @property
    def _interval_ms(self) -> int:
        """A second, or so long that there are MOST_INTERVALS of them."""
        return max(1, -(-self.runtime_s // MOST_INTERVALS)) * 1000

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for direction, depth in self.points():
            for rate in ("iops", "bw"):
                yield f"{self._job}_{direction}_{rate}", self._load(direction, depth), None, None

    def _load(self, direction: str, depth: int) -> str:
        return self.identity(direction, depth).load

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        """What fio says of each, with the queue depth as its load."""
        results = {}
        for direction, depth in self.points():
            name = _output(direction, depth)
            results[name] = formats.parse(name, outputs[name])
            log = _over_time(direction, depth)
            if log in outputs:  # runs of before have none
                load = self._load(direction, depth)
                results[log] = self._read_log(outputs[log], direction, load)
        return results

    @property
    def is_direct(self) -> bool:
        return bool(self.direct)

    def measures_memory(self, memory_bytes: int) -> bool:
        is_buffered = not self.direct and not self.fsync_every
        return is_buffered and self.file_mb * MIB <= memory_bytes

    def data_warning(self) -> str:
        """Random direct writes are extents of their own."""
        if self.directions == "read" or (self.access == "random" and self.direct):
            return fio_data_warning(self, None)
        at_once = (min(self.depths) if self.direct else 1) * self.block_kb * KB
        return fio_data_warning(self, at_once)

    def _read_log(self, data: bytes, direction: str, load: str) -> ParsedResult:
        text = data.decode("ascii", "replace")
        test = f"{self._job}_{direction}_clat"
        series = logs.latency_series(text, direction, self._interval_ms, test=test, load=load)
        return ParsedResult("fio-log", "fio", over_time=[series] if series else [])

    def counterpart(self, test: str, record_kb: int | None = None) -> Request | None:
        """The same requests to the raw device."""
        if self.jobs > 1 or self.fsync_every or not self.direct or self.engine in ONE_AT_A_TIME:
            return None
        name, load = testnames.parts(test)
        direction = next(
            (
                direction
                for direction in _DIRECTIONS
                if name.startswith(f"{self._job}_{direction}_")
            ),
            "",
        )
        depth, _ = loads.split(load, "iodepth")
        if not direction or depth is None:
            return None
        place = RANDOM if self.access == "random" else SEQUENTIAL
        return Request(place, _DIRECTIONS[direction], self.block_kb * KB, int(depth))


def _file(place: Place) -> tuple[str, ...]:
    """What fio writes to; a colon would part two names (fio(1), filename)."""
    if not place.device:
        return (f"--filename={place.work}/{FILE}",)
    return (f"--filename={place.device.replace(':', chr(92) + ':')}", f"--offset={place.from_byte}")


def _output(direction: str, depth: int) -> str:
    return f"fio-{direction}-{depth}.json"


def _over_time(direction: str, depth: int) -> str:
    return f"fio-{direction}-{depth}-clat_hist.log"
