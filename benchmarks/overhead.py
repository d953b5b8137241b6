"""What fsbench adds to a benchmark: a run's own time, a tool's speed, and what samples cost.

    .venv/bin/python -m benchmarks.overhead run [docker local]
    .venv/bin/python -m benchmarks.overhead speed [--blocks 30]
    .venv/bin/python -m benchmarks.overhead sampling [--blocks 30]
    .venv/bin/python -m benchmarks.overhead syncs

As root, with fio, a kernel with zram and a machine at rest. Docker needs the benchmark image.

*run* measures real runs of IOzone from claim to end. It prints the time outside mkfs, mount and
benchmark, and exits with 1 if a median is 2 s or more.

*speed* compares fio by hand (A) with fio through the local executor (B). *sampling* compares the
executor without samples (A) and with one a second (B). Both run in blocks of four, A B B A or
B A A B by lot: a straight drift within a block cancels. They print the ratio of speeds, B / A, with
its 95% interval over the blocks, and exit with 1 unless it shows what docs/performance.md promises.

*syncs* times what the check of syncs and flushes adds to a run. It times the check alone: no sample
is longer for it. It prints the ratio to a run of SECONDS, and exits with 1 above 1.003.

A zram disk does its work in the process that asks, fio keeps to one processor and writes zeros,
and caches are dropped before each run. What is left is the processor's work.
"""

import argparse
import contextlib
import json
import logging
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fsbench_web.core.stats.intervals import interval

if TYPE_CHECKING:
    from fsbench_web.studies.models import Run
    from runner.executors.base import Executor
    from runner.worker import Host

MOST_OWN_S = 2.0
LEAST_SPEED = 0.97
LEAST_SAMPLED = 0.99
MOST_SYNC_CHECK = 1.003
SECONDS = 2.0
FILE_MB = 256
SEED = 20_261_123
RUNS = 6
ZRAM = Path("/sys/class/zram-control")
JOBS = {
    "sequential write, 1 MiB": ("--rw=write", "--bs=1M"),
    "random write, 4 KiB": ("--rw=randwrite", "--bs=4k"),
}
MATRIX = {
    "minimum_record_kb": 4,
    "maximum_record_kb": 64,
    "minimum_file_kb": 64,
    "maximum_file_kb": 4096,
}
Rate = Callable[[str], float]
"""One run of a job of JOBS: its speed in KiB/s."""


def measure_runs(executors: Sequence[str], folder: Path) -> int:
    """Real runs on a sparse file through each executor."""
    from django.core.management import call_command

    from runner.config import WorkerConfig
    from runner.executors.base import Executor
    from runner.executors.docker import DockerExecutor
    from runner.executors.local import LocalExecutor
    from runner.worker import Host

    call_command("migrate", verbosity=0)
    luns = folder / "luns.toml"
    luns.write_text(
        f'[[lun]]\nname = "overhead"\nkind = "sparse-file"\npath = "{folder}/disk.img"\n'
        'size = "1 GiB"\n'
    )
    luns.chmod(0o600)
    image = os.environ.get("FSBENCH_IMAGE", "fsbench-runner:local")
    is_kept = True
    for name in executors:
        executor: Executor = DockerExecutor(image, "bench") if name == "docker" else LocalExecutor()
        host = Host(
            WorkerConfig("overhead", luns, True, folder, name, "", False, "bench"), executor
        )
        try:
            host.start()
            is_kept &= _measure_runs_of(host) < MOST_OWN_S
        finally:
            host.stop()
    return 0 if is_kept else 1


def _measure_runs_of(host: "Host") -> float:
    """Print where the time of runs of ext4 and XFS went; the median of what is fsbench's own."""
    from fsbench_web.catalog.models import Worker
    from fsbench_web.catalog.workers.announce import announce
    from fsbench_web.studies.models import Run, RunState
    from runner.execution.execute import work_on
    from tests.runner.conftest import write_run

    announce(host.announcement(has_started=True))
    worker = Worker.objects.get(name=host.name)
    print(f"\n{host.executor.name}, seconds\n  run    total  mkfs, mount, benchmark    own")
    own = []
    for number in range(RUNS):
        filesystem = ("ext4", "xfs")[number % 2]
        submitted = write_run(worker, filesystem, lun="overhead", parameters=MATRIX)
        work_on(submitted.pk, host)
        run = Run.objects.get(pk=submitted.pk)
        if run.state != RunState.DONE:
            raise SystemExit(f"run {run.pk} {run.state}: {run.reason}")
        total, measured = _time_spent(run)
        own.append(total - measured)
        print(f"  {filesystem:5} {total:6.2f} {measured:22.2f} {own[-1]:6.2f}")
    print(f"  own: median {statistics.median(own):.2f} s, worst {max(own):.2f} s")
    return statistics.median(own)


def _time_spent(run: "Run") -> tuple[float, float]:
    """Seconds from claim to end, and those of mkfs, mount and benchmark."""
    from fsbench_web.studies.models import RunState

    times = dict(run.changes.values_list("state", "at"))
    measured = sum(
        command["duration_s"]
        for command in run.commands
        if command["phase"] in ("mkfs", "mount", "benchmark")
    )
    return (times[RunState.DONE] - times[RunState.LEASED]).total_seconds(), float(measured)


def time_sync_check() -> bool:
    """Whether reading a device's facts and counting fio's syncs takes little time; printed."""
    from fsbench_web.core.formats.fio.syncs import syncs
    from runner.agent import counters

    options = {"rw": "randwrite", "fsync": "1"}
    command = ["fio", "--name=j", "--size=1m", "--output-format=json+", "--ioengine=null"]
    done = subprocess.run(
        [*command, *(f"--{name}={value}" for name, value in options.items())],
        capture_output=True,
        check=True,
    )
    device = next(Path("/sys/dev/block").iterdir())
    times = []
    for _ in range(200):
        began = time.perf_counter()
        counters.write_cache(str(device))
        read = time.perf_counter()
        if syncs(done.stdout, [options]) is None:
            raise SystemExit("fio's report cannot be read")
        times.append((read - began, time.perf_counter() - read))
    facts_s, count_s = (statistics.median(part) for part in zip(*times, strict=True))
    ratio = 1 + (facts_s + count_s) / SECONDS
    print(f"facts {1e3 * facts_s:.3f} ms, syncs {1e3 * count_s:.3f} ms: ratio {ratio:.5f}")
    return ratio <= MOST_SYNC_CHECK


def compare_in_blocks(first: Rate, other: Rate, blocks: int, least: float) -> bool:
    """Print the ratio other / first of each job; whether each interval is above ``least``."""
    from runner.host.hardware import drop_caches

    lot = random.Random(SEED)
    logarithms: dict[str, list[float]] = {job: [] for job in JOBS}
    for number in range(blocks):
        for job, ratios in logarithms.items():
            rates: dict[str, list[float]] = {"A": [], "B": []}
            for side in lot.choice(("ABBA", "BAAB")):
                drop_caches()
                rates[side].append(math.log((first if side == "A" else other)(job)))
            ratios.append(statistics.mean(rates["B"]) - statistics.mean(rates["A"]))
        latest = "   ".join(f"{math.exp(ratios[-1]):.4f}" for ratios in logarithms.values())
        print(f"  {number + 1:4}  {latest}", flush=True)
    is_shown = True
    for job, ratios in logarithms.items():
        found = interval(ratios)
        if found is None:
            raise SystemExit("Two blocks are the least.")
        ratio, low, high = (math.exp(part) for part in (found.mean, found.low, found.high))
        is_shown &= low >= least
        print(f"{job}: {ratio:.4f} (95% {low:.4f} to {high:.4f})")
    return is_shown


def fio(folder: str, job: str) -> list[str]:
    """The command of both sides; direct I/O, so that the page cache is not what is compared."""
    return [
        *("fio", "--name=overhead", f"--filename={folder}/overhead.dat", f"--size={FILE_MB}M"),
        *(*JOBS[job], "--direct=1", "--ioengine=psync", "--randseed=7", "--zero_buffers"),
        *("--time_based", f"--runtime={round(1000 * SECONDS)}ms", "--ramp_time=300ms"),
        *(f"--cpus_allowed={max(os.sched_getaffinity(0))}", "--output-format=json"),
    ]


def rate_of(output: str) -> float:
    """KiB/s of the one job in fio's JSON."""
    (job,) = json.loads(output[output.index("{") :])["jobs"]
    return float(job["read"]["bw"] + job["write"]["bw"])


def by_hand(folder: Path) -> Rate:
    def measured(job: str) -> float:
        command = fio(str(folder), job)
        # A new session, as the agent begins one: the scheduler groups processes by session.
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd="/", start_new_session=True
        )
        return rate_of(done.stdout)

    return measured


def through(executor: "Executor", device: str, folder: str, *, every_s: float = 1.0) -> Rate:
    """By an executor, which mounts the same device: the same file of the same kernel."""
    from runner.executors.base import Message, Target
    from runner.plan import RunPlan, Step

    inside = executor.device_path("overhead", device)

    def measured(job: str) -> float:
        plan = RunPlan(
            steps=[
                Step("mount", ["mount", inside, folder], 60),
                Step("benchmark", fio(folder, job), 120, "fio.json"),
            ],
            filesystem="ext4",
            device=inside,
            journal_device="",
            member_devices=[],
            layers=[],
            teardown=[],
            mount_point=folder,
            unmount=["umount", folder],
            leave_nothing="",
            space_needed_bytes=0,
            tools=["fio"],
            tool="fio",
            parameters={},
            outputs=["fio.json"],
            sample_every_s=every_s,
        )
        messages: list[Message] = []
        target = Target(0, "overhead", "overhead", device)
        outcome = executor.run(plan, target, messages.append, lambda: False)
        parts = [
            message["text"]
            for message in messages
            if message["type"] == "output" and message["name"] == "fio.json"
        ]
        if outcome.exit_code != 0 or not parts:
            raise SystemExit(f"the executor failed: {outcome} {messages[-3:]}")
        return rate_of("".join(parts))

    return measured


@contextlib.contextmanager
def mounted_zram(folder: Path) -> Iterator[tuple[str, Path]]:
    """A zram disk, and where its new ext4 is mounted, with the file that the jobs write."""

    def run(*argv: str) -> None:
        subprocess.run(argv, check=True, capture_output=True)

    number = (ZRAM / "hot_add").read_text().strip()
    device, point = f"/dev/zram{number}", folder / "mounted"
    point.mkdir()
    try:
        Path(f"/sys/block/zram{number}/disksize").write_text(f"{2 * FILE_MB}M")
        options = ("-E", "lazy_itable_init=0,lazy_journal_init=0")
        run("mkfs.ext4", "-q", "-F", "-L", "fsbench", *options, device)
        run("mount", device, str(point))
        try:
            data = f"of={point}/overhead.dat"
            run("dd", "if=/dev/zero", data, "bs=1M", f"count={FILE_MB}", "oflag=direct")
            yield device, point
        finally:
            run("umount", str(point))
    finally:
        (ZRAM / "hot_remove").write_text(number)


def main(options: argparse.Namespace, folder: Path) -> int:
    import django

    django.setup()
    logging.disable(logging.INFO)
    if options.what == "run":
        return measure_runs(options.executors or ["docker", "local"], folder)
    if options.what == "syncs":
        return 0 if time_sync_check() else 1
    from runner.executors.local import LocalExecutor

    executor, inside = LocalExecutor(), folder / "inside"
    inside.mkdir()
    with mounted_zram(folder) as (device, point):
        other = through(executor, device, str(inside))
        if options.what == "speed":
            is_shown = compare_in_blocks(by_hand(point), other, options.blocks, LEAST_SPEED)
        else:
            plain = through(executor, device, str(inside), every_s=0.0)
            is_shown = compare_in_blocks(plain, other, options.blocks, LEAST_SAMPLED)
        return 0 if is_shown else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["run", "speed", "sampling", "syncs"])
    parser.add_argument("executors", nargs="*", metavar="docker|local")
    parser.add_argument("--blocks", type=int, default=30)
    chosen = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="fsbench-overhead-") as name:
        os.environ["FSBENCH_TEST_DATA"] = name
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
        os.environ["DATABASE_URL"] = f"sqlite:///{name}/benchmark.sqlite3"
        print(
            f"{time.strftime('%Y-%m-%d %H:%M')}, load {os.getloadavg()[0]:.1f}, "
            f"Linux {os.uname().release}"
        )
        sys.exit(main(chosen, Path(name)))
