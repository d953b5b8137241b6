"""Plain fio: one block size, read and written by direct I/O at rising queue depths.

Each direction and queue depth is a command of its own on the same file, which is written once
before, with cold caches. The queue depth is the load of a test: ``random_4k_read_iops`` at
``iodepth=8``.
"""

from collections.abc import Iterator, Mapping

from fsbench_web.core import formats, requirements
from fsbench_web.core.formats.fio import over_time
from fsbench_web.core.formats.result import ParsedResult
from fsbench_web.core.identity import Identity, of_fio
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
    Workload,
    seed,
    time_limit,
)
from fsbench_web.core.workloads.fio.data import (
    FIO_DATA,
    PREALLOCATE,
    fio_data,
    fio_data_title,
    fio_data_warning,
    fio_layout,
)
from fsbench_web.core.workloads.fio.steady import (
    STEADY,
    check_steady,
    fio_steady,
    least_measured_s,
    steady_title,
)

MIB = 1024 * KB
FILE = "fio-depths"
# Each is a test of its own: fio's own list would make 17 of each latency. The rest is in its bins.
PERCENTILES = ("50", "90", "95", "99", "99.9", "99.99")
# Of a log of latencies over time: 1,856 counts.
_MOST_LINE_BYTES = 16 * KB
_DIRECTIONS = {"read": READ, "write": WRITE}
_QUICK = {"file_mb": 32, "depths": [1, 8], "ramp_s": 0, "runtime_s": 2, "time_limit_s": 300}
_QUICK_HELP = "A file of 32 MB, queue depths of 1 and 8, 2 seconds each: to see that it works."


def _quick(access: str, block_kb: int) -> Preset:
    """A quick look at one block size, of which work profiles ask for several."""
    name = "stream-" if access == "sequential" else ""
    return Preset(
        f"fio-{name}{block_kb}k-small",
        f"fio, {access} {block_kb} KB, a quick look",
        _QUICK_HELP,
        {**_QUICK, "access": access, "block_kb": block_kb},
        question=STREAMING if access == "sequential" else DATABASE,
    )


class FioDepths(Workload):
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
            "32, a minute each after 5 seconds of warm-up: backups, media, restores.",
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
        check_steady(self)

    def title(self) -> str:
        depths = ", ".join(map(str, self.depths))
        return (
            f"fio, {self.access} {self.block_kb:,} KB, direct I/O, a file of {self.file_mb:,} MB, "
            f"queue depths {depths}, {self.runtime_s} s"
            f"{steady_title(self)}{fio_data_title(self)}"
        )[:200]

    @property
    def takes_device(self) -> bool:
        """Direct I/O in one place: a part of the device is as good as a file."""
        return True

    def space_needed_bytes(self) -> int:
        logs = len(self._points()) * MOST_INTERVALS * _MOST_LINE_BYTES
        return int(1.02 * self.file_mb * MIB) + 4 * MIB + logs

    def estimated_s(self) -> float:
        return float(len(self._points()) * (self.ramp_s + self.runtime_s))

    def least_s(self) -> float:
        return float(len(self._points()) * least_measured_s(self))

    def _points(self) -> list[tuple[str, int]]:
        return [(direction, depth) for direction in _DIRECTIONS for depth in self.depths]

    def identity(self, direction: str, depth: int) -> Identity:
        """What one command does, by its own options."""
        options = dict(
            word.removeprefix("--").partition("=")[::2] for word in self._what(direction, depth)
        )
        found = of_fio(options)
        assert found is not None
        return found

    def _what(self, direction: str, depth: int) -> tuple[str, ...]:
        """fio's options that say what is done."""
        return (
            f"--rw={'rand' if self.access == 'random' else ''}{direction}",
            *(f"--bs={self.block_kb}k", "--ioengine=libaio", "--direct=1", f"--iodepth={depth}"),
            *fio_data(self),
        )

    @property
    def _job(self) -> str:
        return self.identity("read", 1).stem

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        file = (*_file(place), f"--size={self.file_mb}m")
        layout = ("fio", "--name=layout", *file, *fio_data(self), "--rw=write", "--bs=1m")
        layout += ("--ioengine=psync",)
        layout += fio_layout(self)
        # Of a device nothing is to be in the cache, which no unmounting empties.
        layout += ("--direct=1",) if place.device else ()
        return [
            *([] if place.device else [BenchmarkCommand(("mkdir", place.work))]),
            BenchmarkCommand((*layout, "--end_fsync=1", "--minimal")),
            *(
                BenchmarkCommand(
                    (
                        *("fio", f"--name={self._job}", *file),
                        *(*self._what(direction, depth), f"--randseed={self.seed}"),
                        *("--time_based", f"--ramp_time={self.ramp_s}"),
                        *(f"--runtime={self.runtime_s}", *fio_steady(self)),
                        f"--percentile_list={':'.join(PERCENTILES)}",
                        "--output-format=json+",
                        *self._over_time_words(place, direction, depth),
                    ),
                    output=_output(direction, depth),
                    remount=True,
                )
                for direction, depth in self._points()
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
                # A device has no folder for it.
                for direction, depth in ([] if place.device else self._points())
            ),
        ]

    def _over_time_words(self, place: Place, direction: str, depth: int) -> tuple[str, ...]:
        """Written when it has ended, and not while it is measured."""
        if place.device:
            return ()
        log = f"--write_hist_log={place.work}/{direction}-{depth}"
        return (log, f"--log_hist_msec={self._interval_ms}")

    @property
    def _interval_ms(self) -> int:
        """A second, or so long that there are MOST_INTERVALS of them."""
        return max(1, -(-self.runtime_s // MOST_INTERVALS)) * 1000

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for direction, depth in self._points():
            for rate in ("iops", "bw"):
                yield f"{self._job}_{direction}_{rate}", self._load(direction, depth), None, None

    def _load(self, direction: str, depth: int) -> str:
        return self.identity(direction, depth).load

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        """What fio says of each, with the queue depth as its load."""
        results = {}
        for direction, depth in self._points():
            name = _output(direction, depth)
            results[name] = formats.parse(name, outputs[name])
            log = _over_time(direction, depth)
            if log in outputs:  # runs of before have none
                load = self._load(direction, depth)
                results[log] = self._read_log(outputs[log], direction, load)
        return results

    @property
    def is_direct(self) -> bool:
        return True

    @property
    def is_preallocated(self) -> bool:
        return bool(self.preallocate)

    def data_warning(self) -> str:
        """Random direct writes are extents of their own."""
        at_once = None if self.access == "random" else min(self.depths) * self.block_kb * KB
        return fio_data_warning(self, at_once)

    def _read_log(self, data: bytes, direction: str, load: str) -> ParsedResult:
        text = data.decode("ascii", "replace")
        test = f"{self._job}_{direction}_clat"
        series = over_time.series(text, direction, self._interval_ms, test=test, load=load)
        return ParsedResult("fio-log", "fio", over_time=[series] if series else [])

    def counterpart(self, test: str, record_kb: int | None = None) -> Request | None:
        """The same requests to the raw device."""
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
