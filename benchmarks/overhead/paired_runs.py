"""Two ways of running one job of fio, paired in blocks so closely that 1% can be seen.

What can make runs by hand scatter (by 5% within a block, of an earlier design), and what is done
about it:

- A loop device hands every request to threads of the kernel on whichever processor is free: two
  switches a request, and a processor to be woken. Here the LUN is a zram disk, whose work is done
  in the process that asks (and without zram still a loop device on tmpfs, which is said).
- What is written is zeros: zram keeps a page of one value as that value, so that no memory is
  allocated or touched for the first time while fio measures. The file is written once before.
- fio keeps to one processor, by its own option, on both sides: it does not move from one to
  another. Samples of the agent are taken wherever the scheduler likes, as in any run.
- Caches are dropped before each run, the session is a new one on both sides (the scheduler groups
  processes by session), and both see the same file of the same mounted file system.
- A block is four runs, A B B A or B A A B by lot, 2 to 3 s each: a drift that is straight over
  these ten seconds cancels, and what is slower than that is alike for both sides.
- How it is answered, and by which control, is in ``benchmarks.overhead.paired_blocks``.

What the processors did for others in the meantime is printed with each block: this, not the disk,
is what scatters on a machine that is shared, and no design takes it away. Beside speed stands the
work for each second of a processor that fio itself used, all of it done in its own process here:
this scatters by 2% a run also where others take both processors, and says what a run adds to each
request, though not whether it has to wait for its turn.
"""

import argparse
import contextlib
import json
import logging
import math
import os
import random
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.overhead.paired_blocks import Blocks, of_block

if TYPE_CHECKING:
    from runner.executors.base import Executor

FILE_MB = 256
ZRAM = Path("/sys/class/zram-control")
SEED = 20_261_123
TIDYING_MINUTES = 0.5
JOBS: Mapping[str, Sequence[str]] = {
    "sequential write, 1 MiB": ("--rw=write", "--bs=1M"),
    "random write, 4 KiB": ("--rw=randwrite", "--bs=4k"),
}


@dataclass(frozen=True)
class Rates:
    """Of one run: its speed in KiB/s, and KiB for each second of a processor that fio used."""

    speed: float
    work: float


Rate = Callable[[str], Rates]
"""One run of a job of JOBS."""


def fio(folder: str, job: str, seconds: float) -> list[str]:
    """The command of both sides; direct I/O, so that the page cache is not what is compared."""
    last = max(os.sched_getaffinity(0))
    return [
        *("fio", "--name=overhead", f"--filename={folder}/overhead.dat", f"--size={FILE_MB}M"),
        *(*JOBS[job], "--direct=1", "--ioengine=psync", "--randseed=7", "--zero_buffers"),
        *("--time_based", f"--runtime={round(1000 * seconds)}ms", "--ramp_time=300ms"),
        *(f"--cpus_allowed={last}", "--output-format=json"),
    ]


def rates_of(output: str) -> Rates:
    """Of the one job that fio's JSON tells of."""
    (job,) = json.loads(output[output.index("{") :])["jobs"]
    speed = float(job["read"]["bw"] + job["write"]["bw"])
    return Rates(speed, 100 * speed / (job["usr_cpu"] + job["sys_cpu"]))


def by_hand(folder: Path, seconds: float) -> Rate:
    def measured(job: str) -> Rates:
        command = fio(str(folder), job, seconds)
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd="/", start_new_session=True
        )
        return rates_of(done.stdout)

    return measured


def through(
    executor: "Executor", device: str, folder: str, seconds: float, *, every_s: float = 1.0
) -> Rate:
    """By an executor, which mounts the same device for itself: the same file of the same kernel.

    As any run on a LUN has it: namespaces or a container, a control group of its own, samples every
    ``every_s``.
    """
    from runner.executors.base import Message, Target
    from runner.plan import RunPlan, Step

    inside = executor.device_path("overhead", device)

    def measured(job: str) -> Rates:
        plan = RunPlan(
            steps=[
                Step("mount", ["mount", inside, folder], 60),
                Step("benchmark", fio(folder, job, seconds), 120, "fio.json"),
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
        return rates_of("".join(parts))

    return measured


def in_blocks(first: Rate, other: Rate, limit: int, minutes: float) -> Blocks:
    """At most ``limit`` blocks of each job, begun as long as another one fits into ``minutes``."""
    began, longest = time.monotonic(), 0.0
    blocks = Blocks.of_jobs(JOBS)
    lot = random.Random(SEED)
    for number in range(limit):
        if time.monotonic() - began + longest > 60 * minutes:
            print(f"  the {minutes:g} minutes are over after {number} blocks")
            break
        block_began, busy = time.monotonic(), _others_s()
        for job in JOBS:
            order = lot.choice(("ABBA", "BAAB"))
            _measure(job, order, {"A": first, "B": other}, blocks)
        took = time.monotonic() - block_began
        longest = max(longest, took)
        blocks.others_percent.append(100 * (_others_s() - busy) / took)
        text = "   ".join(
            f"{math.exp(blocks.speed[job][-1]):.4f} "
            f"(control {math.exp(blocks.control[job][-1]):.4f})"
            for job in JOBS
        )
        others = f"others took {blocks.others_percent[-1]:.0f}% of a processor"
        print(f"  {number + 1:4}  {text}   {others}", flush=True)
    return blocks


def _measure(job: str, order: str, sides: Mapping[str, Rate], blocks: Blocks) -> None:
    """One block of a job, added to what was found."""
    from runner.host.hardware import drop_caches

    rates = []
    for side in order:
        drop_caches()
        rates.append(sides[side](job))
    ratio, control = of_block(order, [rate.speed for rate in rates])
    blocks.speed[job].append(ratio)
    blocks.control[job].append(control)
    blocks.work[job].append(of_block(order, [rate.work for rate in rates])[0])


def _others_s() -> float:
    """Seconds that the processors worked for others than this program and its children."""
    first = Path("/proc/stat").read_text().partition("\n")[0]
    user, nice, system, _, _, irq, softirq, steal = map(int, first.split()[1:9])
    ours = sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    ticks = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq + steal) / ticks - ours


@contextlib.contextmanager
def lun_in_memory(folder: Path) -> Iterator[tuple[str, Path]]:
    """(device, where its new ext4 is mounted), with the file that the jobs write; root."""
    with contextlib.ExitStack() as stack:
        device = stack.enter_context(_zram() if ZRAM.is_dir() else _loop_on_tmpfs(folder))
        point = folder / "mounted"
        point.mkdir()
        options = ("-E", "lazy_itable_init=0,lazy_journal_init=0")
        _run("mkfs.ext4", "-q", "-F", "-L", "fsbench", *options, device)
        _run("mount", device, str(point))
        stack.callback(unmount, point, 60)
        data = f"of={point}/overhead.dat"
        _run("dd", "if=/dev/zero", data, "bs=1M", f"count={FILE_MB}", "oflag=direct")
        yield device, point


@contextlib.contextmanager
def _zram() -> Iterator[str]:
    number = (ZRAM / "hot_add").read_text().strip()
    try:
        Path(f"/sys/block/zram{number}/disksize").write_text(f"{2 * FILE_MB}M")
        print(f"LUN: zram{number}, whose work is done in the process that asks")
        yield f"/dev/zram{number}"
    finally:
        (ZRAM / "hot_remove").write_text(number)


@contextlib.contextmanager
def _loop_on_tmpfs(folder: Path) -> Iterator[str]:
    """Where the kernel has no zram."""
    memory = folder / "memory"
    memory.mkdir()
    _run("mount", "-t", "tmpfs", "-o", f"size={2 * FILE_MB + 16}m", "tmpfs", str(memory))
    try:
        image = memory / "disk.img"
        _run("dd", "if=/dev/zero", f"of={image}", "bs=1M", f"count={2 * FILE_MB}")
        device = _run("losetup", "--find", "--show", str(image)).strip()
        print(f"LUN: {device} on tmpfs (no zram here): its threads make runs scatter more")
        try:
            yield device
        finally:
            _run("losetup", "--detach", device)
    finally:
        unmount(memory, 60)


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def unmount(point: Path, most_s: float) -> None:
    """A fio that was broken off has jobs that write on for the rest of their seconds."""
    deadline = time.monotonic() + most_s
    while True:
        done = subprocess.run(["umount", str(point)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        if time.monotonic() > deadline:
            raise SystemExit(f"{point} stays mounted: {done.stderr.strip()}")
        time.sleep(0.5)


@dataclass(frozen=True)
class Session:
    """What a benchmark of pairs was asked for, and where it runs: the LUN in memory, mounted at
    ``point``, and the folder ``inside`` where the executor mounts it.
    """

    blocks: int
    minutes: float
    device: str
    point: Path
    inside: str


@contextlib.contextmanager
def session(name: str, seconds: float) -> Iterator[Session]:
    """Read ``--blocks`` and ``--minutes``, say what is done, and have a LUN for it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=math.inf)
    options = parser.parse_args()
    logging.disable(logging.INFO)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
    import django

    django.setup()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end_tidily)
    print(
        f"{time.strftime('%Y-%m-%d %H:%M')}, load {os.getloadavg()[0]:.1f}, Linux "
        f"{os.uname().release}; fio {seconds:g} s a run, four a block and job"
    )
    with tempfile.TemporaryDirectory(prefix=f"fsbench-{name}-") as folder:
        inside = Path(folder) / "inside"
        inside.mkdir()
        with lun_in_memory(Path(folder)) as (device, point):
            yield Session(
                options.blocks, options.minutes - TIDYING_MINUTES, device, point, str(inside)
            )


def end_tidily(*_: object) -> None:
    """As Ctrl-C does: every ``finally`` follows, and a second signal does not break them off."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    raise SystemExit("ended early: nothing is left mounted or attached")
