"""Real runs of pairs that differ in one known thing, and their recordings.

A recording alone says what a try found, so that old ones can be ranked by new rules. Needs root,
fio, mkfs and a loop device.
"""

import base64
import contextlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fsbench_web.catalog.configurations.limits import NO_LIMITS, Limits
from fsbench_web.core.activity.costs import Work, costs_of, waits_of
from fsbench_web.core.activity.series import Activity, decode, encode
from fsbench_web.core.explanation import RunCosts

SIZE_MIB = 400


@dataclass(frozen=True)
class Side:
    """One contender: file system, options, a job of fio."""

    job: str
    filesystem: str = "ext4"
    options: Mapping[str, str] = field(default_factory=dict)
    scheduler: str = "none"
    limits: Limits = NO_LIMITS


@dataclass(frozen=True)
class Seed:
    """Two contenders that differ in one thing; ``expected`` are the costs it must change first."""

    slower: Side
    faster: Side
    expected: frozenset[str]

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.slower, self.faster


_WRITES = "[w]\nrw=randwrite\nbs=16k\nsize=24m\nnumjobs=2\nrandrepeat=0\n"
_TIMED = "time_based\nruntime=2\n"
_ZEROS = "[w]\nrw=write\nbs=128k\nsize=96m\nzero_buffers\nfallocate=none\nend_fsync=1\n"
_QUEUED = f"[r]\nrw=read\nbs=4k\nsize=64m\ndirect=1\nioengine=libaio\niodepth=512\n{_TIMED}"
"""More requests than the device takes at a time: what waits, a scheduler can merge."""
_READS = "[r]\nrw=read\nbs=64k\nsize=32m\ndirect=1\n"
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
        Side(_QUEUED, scheduler="bfq"),
        Side(_QUEUED),
        frozenset({"merged_share", "mean_read_request", *_PROCESSORS}),
    ),
    "throttled reads": Seed(
        Side(_READS, limits=Limits(read_mib_s=8)),
        Side(_READS),
        frozenset({"wait_outside_device"}),
    ),
}


@contextlib.contextmanager
def loop_device(folder: Path) -> Iterator[str]:
    """With direct I/O, so that its backing file has no page cache behind it; tmpfs has none."""
    image = folder / "seeded.img"
    with image.open("wb") as file:
        file.truncate(SIZE_MIB * 2**20)
    done = subprocess.run(
        [
            *("losetup", "--find", "--show"),
            "--direct-io=on",
            str(image),
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    device = done.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=False)


@dataclass(frozen=True)
class Recorded:
    """What was sampled during one run, and what it was asked to do."""

    activity: Activity
    work: Work | None

    def costs(self, block: str) -> RunCosts:
        """With today's definitions."""
        return RunCosts(
            block, costs_of(self.activity, self.work) | waits_of(self.activity, self.work)
        )

    def as_json(self) -> dict[str, Any]:
        block = base64.b64encode(encode(self.activity)).decode()
        return {"work": vars(self.work) if self.work else None, "activity": block}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "Recorded":
        work = Work(**data["work"]) if data["work"] else None
        activity = decode(base64.b64decode(data["activity"]))
        # Recordings kept before steps named their output: fio alone ran, and all of it counts.
        steps = [
            replace(step, output=step.output or "fio") if step.phase == "benchmark" else step
            for step in activity.steps
        ]
        return cls(replace(activity, steps=steps), work)


@dataclass(frozen=True)
class Try:
    """Blocks of (slower, faster) of a cause."""

    cause: str
    blocks: Sequence[tuple[Recorded, Recorded]]

    def sides(self) -> tuple[list[RunCosts], list[RunCosts]]:
        """What the runs of the slower and of the faster one cost."""
        slower_costs = [slower.costs(str(place)) for place, (slower, _) in enumerate(self.blocks)]
        faster_costs = [faster.costs(str(place)) for place, (_, faster) in enumerate(self.blocks)]
        return slower_costs, faster_costs

    def as_line(self) -> str:
        blocks = [[run.as_json() for run in pair] for pair in self.blocks]
        return json.dumps({"cause": self.cause, "blocks": blocks})

    @classmethod
    def of(cls, line: str) -> "Try":
        data = json.loads(line)
        pairs = [(Recorded.of(slower), Recorded.of(faster)) for slower, faster in data["blocks"]]
        return cls(data["cause"], pairs)


def run_try(cause: str, folder: Path, blocks: int) -> Try:
    """Real runs on a new loop device; which side is first is turned round from block to block."""
    seed, pairs = SEEDS[cause], []
    with loop_device(folder) as device:
        for place in range(blocks):
            if place % 2:
                faster = carried_out(seed.faster, device)
                pairs.append((carried_out(seed.slower, device), faster))
            else:
                slower = carried_out(seed.slower, device)
                pairs.append((slower, carried_out(seed.faster, device)))
    return Try(cause, pairs)


def carried_out(side: Side, device: str) -> Recorded:
    """One real run by the local executor. Raises RuntimeError."""
    from fsbench_web.core.workloads.base import TimedProgress
    from fsbench_web.studies.runs.leases import LeaseHandle
    from runner.execution.record import Recorder
    from runner.execution.results.activity import activity_of, work_of_run
    from runner.executors.base import Target
    from runner.executors.local import LocalExecutor
    from runner.plan import plan_run

    plan = plan_run(
        side.filesystem,
        side.options,
        "own-fio",
        {"name": "seeded", "version": 1, "space_mb": 200, "text": side.job},
        device=device,
        size_bytes=SIZE_MIB * 2**20,
        limits=side.limits,
    )
    number = Path(device).stat().st_rdev
    scheduler = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/queue/scheduler")
    scheduler.write_text(side.scheduler)
    Path("/proc/sys/vm/drop_caches").write_text("3")
    recorder = Recorder(LeaseHandle(1, 1, 1), TimedProgress(), lambda: False)
    target = Target(os.getpid(), "benchmark", "lun", device)
    outcome = LocalExecutor().run(plan, target, recorder.take, lambda: False)
    recorder.read()
    artefacts = recorder.artefacts()
    activity = activity_of(recorder)
    if outcome.exit_code != 0 or activity is None:
        raise RuntimeError(f"a run failed: {recorder.reason} {outcome.reason}")
    parsed = plan.workload.parse({name: artefacts[name] for name in plan.outputs})
    return Recorded(activity, work_of_run("own-fio", recorder, parsed, artefacts))
