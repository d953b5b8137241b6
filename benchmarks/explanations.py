"""Whether explanations keep what they promise: `.venv/bin/python -m benchmarks.explanations`.

``simulate`` (no root): contenders that do not differ, and ones that differ in one cost by a known
factor, with noise of each run and drift of each block, log-normal. Promised: anything is said to
differ where nothing does in at most 5% of trials (half a percent more is chance), paired and
unpaired. Printed too: how often the cost that differs is called so, and is first.

``seeded [CAUSE ...]`` (root, fio, a loop device on a file): real runs of pairs that differ in one
known thing, ``--tries`` times each: in how many tries is what it must change first? Promised: 9 of
10. Sources of what each must change: docs/method.md.
"""

import argparse
import contextlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fsbench_web.core.activity.costs import COSTS
from fsbench_web.core.activity.waits import WAITS
from fsbench_web.core.explanation import DIFFERS, RunCosts, explained

SEED = 20_261_122
TRIALS = 1000
LEVEL_PERCENT = 5.5
SIZE_MIB = 400
CGROUP = Path("/sys/fs/cgroup/blkio/fsbench-seeded")


def drawn(
    draw: np.random.Generator, count: int, factor: Mapping[str, float], noise: float, drift: float
) -> tuple[list[RunCosts], list[RunCosts]]:
    """Runs of two contenders in blocks; the first has ``factor`` of what the second has."""
    names = [*COSTS, *WAITS]
    truth = {name: 30.0 * (COSTS | WAITS)[name].floor for name in names}
    both: tuple[list[RunCosts], list[RunCosts]] = ([], [])
    for block in range(count):
        moved = {name: drift * draw.normal() for name in names}
        for side, times in ((0, factor), (1, {})):
            values = {
                name: truth[name]
                * times.get(name, 1.0)
                * float(np.exp(moved[name] + noise * draw.normal()))
                for name in names
            }
            both[side].append(RunCosts(str(block), values))
    return both


def without_blocks(runs: list[RunCosts]) -> list[RunCosts]:
    return [RunCosts("", run.values) for run in runs]


def simulate() -> bool:
    draw, is_kept = np.random.default_rng(SEED), True
    print(f"{TRIALS} trials each; in percent of them")
    for count in (3, 5, 10):
        for is_paired in (True, False):
            for factor in ({}, {"write_amplification": 1.5}, {"write_amplification": 3.0}):
                said = first = 0
                for _ in range(TRIALS):
                    one, other = drawn(draw, count, factor, 0.08, 0.1)
                    if not is_paired:
                        one, other = without_blocks(one), without_blocks(other)
                    found = explained(one, other)
                    differing = [e for e in (*found.work, *found.waits) if e.status == DIFFERS]
                    said += bool(differing)
                    first += found.first is not None and found.first.cost.test in factor
                how = "blocks" if is_paired else "runs"
                if factor:
                    print(
                        f"{count:>3} {how}: write amplification × {factor['write_amplification']:g}"
                        f" is first and sure in {100 * first / TRIALS:.1f}"
                    )
                else:
                    rate = 100 * said / TRIALS
                    is_kept = is_kept and rate <= LEVEL_PERCENT
                    print(f"{count:>3} {how}: anything differs where nothing does in {rate:.1f}")
    return is_kept


@dataclass(frozen=True)
class Side:
    """One contender: file system, options, a job of fio."""

    job: str
    filesystem: str = "ext4"
    options: Mapping[str, str] = field(default_factory=dict)
    scheduler: str = "none"
    read_limit: int = 0


@dataclass(frozen=True)
class Seed:
    """Two contenders that differ in one thing; ``expected`` are the costs it must change first."""

    slower: Side
    faster: Side
    expected: frozenset[str]


_WRITES = "[w]\nrw=randwrite\nbs=16k\nsize=24m\nnumjobs=2\nrandrepeat=0\n"
_TIMED = "time_based\nruntime=2\n"
_ZEROS = "[w]\nrw=write\nbs=128k\nsize=96m\nzero_buffers\nfallocate=none\nend_fsync=1\n"
_MIXED = (
    f"[r]\nrw=read\nbs=4k\nsize=24m\ndirect=1\nnumjobs=2\n{_TIMED}"
    f"[w]\nrw=randwrite\nbs=4k\nsize=24m\ndirect=1\nioengine=libaio\niodepth=32\n{_TIMED}"
)
_PROCESSORS = (
    "cpu_seconds_per_gib",
    "process_cpu_seconds_per_gib",
    "operations_per_cpu_second",
)
SEEDS = {
    "sync": Seed(
        Side(_WRITES + "fsync=4\n"),
        Side(_WRITES),
        frozenset({"flushes_per_1000_operations"}),
    ),
    "barrier off": Seed(
        Side(_WRITES + "fsync=4\n"),
        Side(_WRITES + "fsync=4\n", options={"barrier": "off"}),
        frozenset({"flushes_per_1000_operations"}),
    ),
    "compression": Seed(
        Side(_ZEROS, "btrfs", {"compression": "zstd"}),
        Side(_ZEROS, "btrfs"),
        frozenset({"write_amplification", "space_amplification", *_PROCESSORS}),
    ),
    "journal of data": Seed(
        Side(_WRITES + "end_fsync=1\n", options={"journal_mode": "journal"}),
        Side(_WRITES + "end_fsync=1\n"),
        frozenset({"write_amplification", "flushes_per_1000_operations"}),
    ),
    "small journal": Seed(
        Side(_WRITES + "loops=4\n", options={"journal_mode": "journal", "journal_size_mb": "4"}),
        Side(_WRITES + "loops=4\n", options={"journal_mode": "journal", "journal_size_mb": "64"}),
        frozenset({"write_amplification", "flushes_per_1000_operations", "mean_write_request"}),
    ),
    "scheduler": Seed(
        Side(_MIXED, scheduler="bfq"),
        Side(_MIXED),
        frozenset({"mean_write_request", *_PROCESSORS}),
    ),
    "throttled reads": Seed(
        Side("[r]\nrw=read\nbs=64k\nsize=48m\ndirect=1\n", read_limit=16 * 2**20),
        Side("[r]\nrw=read\nbs=64k\nsize=48m\ndirect=1\n"),
        frozenset({"wait_outside_device"}),
    ),
}


@contextlib.contextmanager
def loop_device(folder: Path, *, is_direct: bool = True) -> Iterator[str]:
    """With direct I/O, so that its backing file has no page cache behind it; tmpfs has none."""
    image = folder / "seeded.img"
    with image.open("wb") as file:
        file.truncate(SIZE_MIB * 2**20)
    made = subprocess.run(
        [
            *("losetup", "--find", "--show"),
            *(("--direct-io=on",) if is_direct else ()),
            str(image),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    device = made.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=False)


def carried_out(side: Side, device: str, block: str) -> RunCosts:
    """One real run by the local executor, and what it cost."""
    from fsbench_web.core.formats.result import ParsedResult
    from fsbench_web.core.workloads.base import TimedProgress
    from fsbench_web.studies.runs.leases import LeaseHandle
    from runner.execution.activity import known_costs
    from runner.execution.record import Recorder
    from runner.executors.base import Target
    from runner.executors.local import LocalExecutor
    from runner.plan import plan_run

    parameters = {"name": "seeded", "version": 1, "space_mb": 200, "text": side.job}
    plan = plan_run(
        side.filesystem,
        side.options,
        "own-fio",
        parameters,
        device=device,
        size_bytes=SIZE_MIB * 2**20,
    )
    number = Path(device).stat().st_rdev
    scheduler = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/queue/scheduler")
    scheduler.write_text(side.scheduler)
    Path("/proc/sys/vm/drop_caches").write_text("3")
    recorder = Recorder(LeaseHandle(1, 1, 1), TimedProgress(), lambda: False)
    with limited(number, side.read_limit):
        outcome = LocalExecutor().run(
            plan, Target(1, "here", "lun", device), recorder.take, lambda: False
        )
    recorder.read()
    artefacts = recorder.artefacts()
    if outcome.exit_code != 0:
        raise SystemExit(f"a run failed: {recorder.reason} {outcome.reason}")
    parsed: dict[str, ParsedResult] = plan.workload.parse(
        {name: artefacts[name] for name in plan.outputs}
    )
    return RunCosts(block, known_costs("own-fio", recorder, parsed, artefacts))


@contextlib.contextmanager
def limited(number: int, bytes_a_second: int) -> Iterator[None]:
    """This process and what it starts in a control group (version 1) that limits reads."""
    if not bytes_a_second:
        yield
        return
    CGROUP.mkdir(exist_ok=True)
    limit = f"{os.major(number)}:{os.minor(number)} {bytes_a_second}"
    (CGROUP / "blkio.throttle.read_bps_device").write_text(limit)
    (CGROUP / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (CGROUP.parent / "cgroup.procs").write_text(str(os.getpid()))
        for _ in range(50):
            try:
                CGROUP.rmdir()
            except OSError:
                time.sleep(0.1)
            else:
                return


def seeded(causes: list[str], tries: int, blocks: int) -> bool:
    """Whether the seeded cause is first in 9 of 10 tries."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
    import django

    django.setup()
    is_kept = True
    with tempfile.TemporaryDirectory(prefix="fsbench-seeded-") as folder:
        for cause in causes or SEEDS:
            seed, hits, firsts = SEEDS[cause], 0, []
            for _ in range(tries):
                with loop_device(Path(folder)) as device:
                    one, other = [], []
                    for block in range(blocks):
                        one.append(carried_out(seed.slower, device, str(block)))
                        other.append(carried_out(seed.faster, device, str(block)))
                found = explained(one, other)
                ranked = sorted(
                    (e for e in (*found.work, *found.waits) if e.status == DIFFERS),
                    key=lambda each: -each.surely,
                )
                first = next((e for e in (*found.work, *found.waits) if e.status == DIFFERS), None)
                hits += first is not None and first.cost.test in seed.expected
                firsts.append(
                    [(e.cost.test, round(e.ratio, 2), round(e.surely, 2)) for e in ranked[:4]]
                )
            is_kept = is_kept and hits >= 0.9 * tries
            print(f"{cause}: first in {hits} of {tries}", flush=True)
            for line in firsts:
                print("   ", json.dumps(line), flush=True)
    return is_kept


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("simulate", "seeded"), nargs="?", default="simulate")
    parser.add_argument("causes", nargs="*", metavar="CAUSE")
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=5)
    given: Any = parser.parse_args()
    logging.disable(logging.INFO)
    if given.what == "simulate":
        return 0 if simulate() else 1
    return 0 if seeded(given.causes, given.tries, given.blocks) else 1


if __name__ == "__main__":
    sys.exit(main())
