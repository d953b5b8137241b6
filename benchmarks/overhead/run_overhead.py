"""What fsbench adds to a benchmark.

    .venv/bin/python -m benchmarks.overhead.run_overhead [docker local]

Needs root and fio on the host; Docker with the benchmark image where DOCKER_HOST (or the default
socket) has one, else the tests' own daemon is started and the image built in it.

(a) fio through an executor beside fio by hand, on one ext4 on one loop LUN that is mounted all the
    time (the container mounts the same device, which is the same file system in the kernel). The
    file is laid out before. Each pair is several rounds of short runs of the same job: by hand,
    executor, executor, by hand, and the next round the other way round, caches dropped before each,
    so that what drifts falls on both alike. Printed: the median of each side of a pair, their ratio
    (executor / by hand), the ratio of the medians of all runs, and how far the runs by hand scatter
    among themselves: a ratio that differs from 1 by less than that says nothing.
    A disk that others use too scatters by more than an executor could cost: with --in-memory the
    LUN is a file in memory, so that what remains is the processor's work.
    To 1% ``benchmarks.overhead.paired_overhead`` answers it.
(b) real runs of IOzone on the LUN from claim to end: the time that is outside mkfs, mount and
    benchmark, and where it goes.
"""

import argparse
import json
import logging
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.overhead.paired_runs import end_tidily, unmount

if TYPE_CHECKING:
    from fsbench_web.studies.models import Run
    from runner.executors.base import Executor
    from runner.worker import Host

LUN_SIZE = "1 GiB"
FILE_MB = 512
SECONDS = 2
UNMOUNT_S = 4 * SECONDS + 10
ROUNDS = 2
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
FIO_IMAGE = "fsbench-runner:overhead"


def fio(folder: str, job: str) -> list[str]:
    """The command; direct I/O, so that the page cache is not what is compared."""
    return [
        *("fio", "--name=overhead", f"--filename={folder}/overhead.dat", f"--size={FILE_MB}M"),
        *(*JOBS[job], "--direct=1", "--ioengine=psync", "--randseed=7"),
        *("--time_based", f"--runtime={SECONDS}", "--ramp_time=500ms", "--output-format=json"),
    ]


def bandwidth_kib_s(output: str) -> float:
    """KiB/s of the one job that fio's JSON tells of."""
    (job,) = json.loads(output[output.index("{") :])["jobs"]
    return float(max(job["read"]["bw"], job["write"]["bw"]))


def by_hand(point: Path, job: str) -> float:
    done = subprocess.run(fio(str(point), job), capture_output=True, text=True, check=True)
    return bandwidth_kib_s(done.stdout)


def through(executor: "Executor", device: str, point: Path, job: str) -> float:
    """The same by an executor: the local one finds the mount, a container makes its own."""
    from runner.executors.base import Message, Target
    from runner.plan import RunPlan, Step

    is_local = executor.name == "local"
    folder = str(point) if is_local else "/mnt/fsbench"
    inside = executor.device_path("overhead", device)
    mount = [] if is_local else [Step("mount", ["mount", inside, folder], 60)]
    plan = RunPlan(
        steps=[*mount, Step("benchmark", fio(folder, job), 120, "fio.json")],
        filesystem="ext4",
        device=inside,
        journal_device="",
        member_devices=[],
        layers=[],
        teardown=[],
        mount_point=folder,
        unmount=[] if is_local else ["umount", folder],
        leave_nothing="",
        space_needed_bytes=0,
        tools=["fio"],
        tool="fio",
        parameters={},
        outputs=["fio.json"],
    )
    messages: list[Message] = []
    outcome = executor.run(
        plan, Target(0, "overhead", "overhead", device), messages.append, lambda: False
    )
    parts = [
        message["text"]
        for message in messages
        if message["type"] == "output" and message["name"] == "fio.json"
    ]
    if outcome.exit_code != 0 or not parts:
        raise SystemExit(f"the executor failed: {outcome} {messages[-3:]}")
    return bandwidth_kib_s("".join(parts))


def compare(executor: "Executor", device: str, point: Path, job: str, pairs: int) -> None:
    """Print the pairs of one job and what follows from them."""
    from runner.host.hardware import drop_caches

    print(f"\n{executor.name}: {job}, {SECONDS} s each\n  pair    by hand   executor   ratio")
    rates: dict[str, list[float]] = {"hand": [], "executor": []}
    turns = ("hand", "executor", "executor", "hand", "executor", "hand", "hand", "executor")
    for number in range(pairs):
        for side in turns * ROUNDS:
            drop_caches()
            rates[side].append(
                by_hand(point, job) if side == "hand" else through(executor, device, point, job)
            )
        last = 4 * ROUNDS
        hand, other = (statistics.median(rates[side][-last:]) for side in ("hand", "executor"))
        print(f"  {number + 1:4} {hand:10.0f} {other:10.0f}   {other / hand:.3f}   KiB/s")
    hands, others = rates["hand"], rates["executor"]
    middle = statistics.median(hands)
    low, _, high = (part / middle for part in statistics.quantiles(hands, n=4))
    # The hand runs in the two halves in which they were taken, as if one half were the executor's.
    itself = statistics.median(hands[1::2]) / statistics.median(hands[::2])
    print(
        f"  ratio of the medians {statistics.median(others) / middle:.3f}; by hand against by hand "
        f"{itself:.3f}; half of the {len(hands)} runs by hand lie within {low:.3f} to {high:.3f} "
        "of their median"
    )


@dataclass(frozen=True)
class TimeSpent:
    """Seconds of one run, from claim to end."""

    total: float
    benchmark: float
    mkfs: float
    mount: float
    unmount: float
    before: float
    after: float

    @property
    def own_s(self) -> float:
        return self.total - self.mkfs - self.mount - self.benchmark


def time_spent(run: "Run") -> TimeSpent:
    """Where the run's time went, from its commands and its history."""
    from fsbench_web.studies.models import RunState

    def seconds(*phases: str) -> float:
        return float(
            sum(command["duration_s"] for command in run.commands if command["phase"] in phases)
        )

    times = dict(run.changes.values_list("state", "at"))
    first, last = times[RunState.LEASED], times[RunState.DONE]
    assert run.took_s is not None
    lines = run.log_lines.filter(text__startswith="$ ").order_by("id")
    began = lines[0].at
    ended_s = lines.last().at.timestamp() + run.commands[-1]["duration_s"]  # type: ignore[union-attr]
    return TimeSpent(
        total=(last - first).total_seconds(),
        benchmark=seconds("benchmark"),
        mkfs=seconds("mkfs"),
        mount=seconds("mount"),
        unmount=seconds("unmount"),
        before=(began - first).total_seconds(),
        after=last.timestamp() - ended_s,
    )


def real_runs(host: "Host", count: int) -> None:
    """Print what ``count`` runs of ext4 and XFS in turn spent outside of what they measure."""
    from fsbench_web.catalog.models import Worker
    from fsbench_web.catalog.workers.announce import announce
    from fsbench_web.studies.models import Run, RunState
    from runner.execution.execute import work_on
    from tests.runner.conftest import write_run

    announce(host.announcement(has_started=True))
    worker = Worker.objects.get(name=host.name)
    print(
        f"\n{host.executor.name}: real runs, seconds\n"
        "  run    total  benchmark   mkfs  mount  outside   of it: before  unmount  after"
    )
    spent_times = []
    for number in range(count):
        filesystem = ("ext4", "xfs")[number % 2]
        submitted = write_run(worker, filesystem, lun="overhead", parameters=MATRIX)
        work_on(submitted.pk, host)
        run = Run.objects.get(pk=submitted.pk)
        if run.state != RunState.DONE:
            raise SystemExit(f"run {run.pk} {run.state}: {run.reason}")
        times = time_spent(run)
        spent_times.append(times)
        print(
            f"  {filesystem:5} {times.total:6.2f} {times.benchmark:10.2f} {times.mkfs:6.2f} "
            f"{times.mount:6.2f} {times.own_s:8.2f} {times.before:16.2f} {times.unmount:8.2f} "
            f"{times.after:6.2f}"
        )
    outside = [times.own_s for times in spent_times]
    print(f"  outside: median {statistics.median(outside):.2f} s, worst {max(outside):.2f} s")


@contextmanager
def docker_with_fio() -> Iterator[tuple[str, str]]:
    """The benchmark image, and the same with fio, of a daemon that is there or of the tests'."""
    import docker
    from docker.errors import DockerException, ImageNotFound

    from tests.services.dockerd import docker_daemon
    from tests.services.image import build_runner_image

    image = os.environ.get("FSBENCH_IMAGE", "fsbench-runner:local")
    with ExitStack() as stack:
        try:
            docker.from_env().images.get(image)
        except (DockerException, ImageNotFound):
            daemon = stack.enter_context(docker_daemon())
            os.environ["DOCKER_HOST"] = daemon.host
            image = build_runner_image(daemon.host)
        text = f"FROM {image}\nRUN apt-get update && apt-get install -y --no-install-recommends fio"
        subprocess.run(
            ["docker", "build", "--network", "host", "--tag", FIO_IMAGE, "-"],
            input=text,
            text=True,
            check=True,
            capture_output=True,
        )
        yield image, FIO_IMAGE


def main(arguments: argparse.Namespace, folder: Path) -> None:
    import django
    from django.core.management import call_command

    django.setup()
    logging.getLogger("fsbench.worker").setLevel(logging.WARNING)
    call_command("migrate", verbosity=0)

    from runner.config import WorkerConfig
    from runner.executors.docker import DockerExecutor
    from runner.executors.local import LocalExecutor
    from runner.worker import Host

    lun_folder = folder / "lun"
    lun_folder.mkdir()
    lun_file = folder / "luns.toml"
    lun_file.write_text(
        f'[[lun]]\nname = "overhead"\nkind = "sparse-file"\npath = "{lun_folder}/disk.img"\n'
        f'size = "{LUN_SIZE}"\n'
    )
    lun_file.chmod(0o600)
    with ExitStack() as stack:
        if arguments.in_memory:
            tmpfs = ("mount", "-t", "tmpfs", "-o", "size=1200m", "tmpfs", str(lun_folder))
            subprocess.run(tmpfs, check=True)
            stack.callback(unmount, lun_folder, UNMOUNT_S)
        executors: list[tuple[Any, Any]] = []
        if "docker" in arguments.executors:
            image, with_fio = stack.enter_context(docker_with_fio())
            executors.append((DockerExecutor(image, "bench"), DockerExecutor(with_fio, "bench")))
        if "local" in arguments.executors:
            executors.append((LocalExecutor(), LocalExecutor()))
        for for_runs, for_fio in executors:
            config = WorkerConfig(
                "overhead", lun_file, True, folder, for_runs.name, "", False, "bench"
            )
            host = Host(config, for_runs)
            try:
                host.start()
                if arguments.runs:
                    real_runs(host, arguments.runs)
                fio_pairs(host, for_fio, folder / "mounted", arguments)
            finally:
                host.stop()


def fio_pairs(
    host: "Host", executor: "Executor", point: Path, arguments: argparse.Namespace
) -> None:
    """On one file of one ext4 that stays mounted."""
    device = host.device(host.entry("overhead"))
    run = lambda *argv: subprocess.run(argv, check=True, capture_output=True)  # noqa: E731
    run("mkfs.ext4", "-q", "-F", "-L", "fsbench", "-E", "lazy_itable_init=0", device)
    point.mkdir(exist_ok=True)
    run("mount", device, str(point))
    try:
        # Every block is written once, so that nothing is allocated while fio measures.
        run("dd", "if=/dev/zero", f"of={point}/overhead.dat", "bs=1M", f"count={FILE_MB}")
        for job in JOBS:
            compare(executor, device, point, job, arguments.pairs)
    finally:
        unmount(point, UNMOUNT_S)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("executors", nargs="*", default=["docker", "local"])
    parser.add_argument("--in-memory", action="store_true", help="the LUN's file is in a tmpfs")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--runs", type=int, default=6)
    chosen = parser.parse_args()
    if unknown := set(chosen.executors) - {"docker", "local"}:
        parser.error(f"unknown executor {', '.join(unknown)}; there are docker and local")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end_tidily)
    with tempfile.TemporaryDirectory(prefix="fsbench-benchmark-") as name:
        os.environ["FSBENCH_TEST_DATA"] = name
        os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
        os.environ["DATABASE_URL"] = f"sqlite:///{name}/benchmark.sqlite3"
        began = time.strftime("%Y-%m-%d %H:%M")
        print(f"{began}, load {os.getloadavg()[0]:.1f}, Linux {os.uname().release}")
        main(chosen, Path(name))
        print(f"\nload in the end {os.getloadavg()[0]:.1f}")
