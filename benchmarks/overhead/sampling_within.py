"""What sampling costs, switched within one run: `python -m benchmarks.overhead.sampling_within`.

Where runs of one job scatter by 5% though nothing else runs, ``benchmarks.overhead.sampling`` needs
hours: each run is a process of its own, whose pages lie elsewhere, and between two of them pass
seconds in which a shared machine changes its speed. Here fio runs once for each job, and the
agent's own sampler is switched on (B) and off (A) every second while it writes, in blocks of four
seconds, A B B A or B A A B by lot (a change-over design: W. G. Cochran, K. M. Autrey and C. Y.
Cannon, J. Dairy Sci. 24, 1941). A second's rate is what the device counted as written in it.

Needs root, fio, a kernel with zram, and a machine that does nothing else; 60 blocks of each job, 8
minutes. The answer, its interval and its control are those of
``benchmarks.overhead.paired_blocks``. It asks for what a sample takes from the run beside it; what
a run does once, before and after its command, is in ``benchmarks.overhead.sampling`` and
``benchmarks.overhead.paired_overhead`` alone. ``--held-ms 20`` lets each sample also hold fio's
processor for 20 ms, which takes 2% of a second: whether it would be seen. Exits with 1 where it is
not shown that sampling costs at most 1%.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.overhead import paired_blocks, paired_runs
from benchmarks.overhead.sampling import MOST_PERCENT
from runner.agent.sampler import Sampler

WINDOW_S = 1.0
SETTLING_S = 3.0
SECTOR = 512


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--held-ms", type=float, default=0.0)
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, paired_runs.end_tidily)
    print(
        f"{time.strftime('%Y-%m-%d %H:%M')}, load {os.getloadavg()[0]:.1f}, Linux "
        f"{os.uname().release}; {options.blocks} blocks of four windows of {WINDOW_S:g} s a job"
        + (
            f"; each sample holds the processor for {options.held_ms:g} ms"
            if options.held_ms
            else ""
        )
    )
    blocks = paired_blocks.Blocks.of_jobs(paired_runs.JOBS)
    with (
        tempfile.TemporaryDirectory(prefix="fsbench-sampling-") as name,
        paired_runs.lun_in_memory(Path(name)) as (device, point),
    ):
        for job in paired_runs.JOBS:
            _follow(job, device, point, options.blocks, options.held_ms, blocks)
    is_kept = paired_blocks.report(blocks, "sampled / not sampled", MOST_PERCENT) and all(
        paired_blocks.RatioEstimate.of(ratios).low >= 1 - MOST_PERCENT / 100
        for ratios in blocks.speed.values()
    )
    print(f"Sampling costs at most {MOST_PERCENT:g}%: {'shown' if is_kept else 'not shown'}")
    return 0 if is_kept else 1


def _follow(
    job: str,
    device: str,
    point: Path,
    blocks: int,
    held_ms: float,
    results: paired_blocks.Blocks,
) -> None:
    """One run of fio, as long as all blocks of the job take."""
    seconds = 4 * blocks * WINDOW_S + 2 * SETTLING_S
    lot = random.Random(paired_runs.SEED)
    with Path(os.devnull).open("w") as nowhere:

        def say(kind: str, **fields: object) -> None:
            nowhere.write(json.dumps({"type": kind, **fields}) + "\n")
            nowhere.flush()

        sampler = Sampler(say, [("data", device)], WINDOW_S)

        def sample() -> None:
            sampler.sample(is_edge=False)
            _hold_processor(held_ms)

        print(f"\n{job}: a sample holds {len(sampler.fields)} counts")
        command = [*paired_runs.fio(str(point), job, seconds), "--thread"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as fio:
            try:
                time.sleep(SETTLING_S)
                for _ in range(blocks):
                    order = lot.choice(("ABBA", "BAAB"))
                    rates = list(_windows(order, sample, device, fio.pid))
                    ratio, control = paired_blocks.of_block(order, [rate.speed for rate in rates])
                    results.speed[job].append(ratio)
                    results.control[job].append(control)
                    work = paired_blocks.of_block(order, [rate.work for rate in rates])[0]
                    results.work[job].append(work)
            finally:
                fio.terminate()


def _windows(
    order: str, sample: Callable[[], None], device: str, pid: int
) -> Iterator[paired_runs.Rates]:
    """The rates of one window after another; a sample lies in the middle of each of B."""
    counted = Path("/sys/block") / Path(device).name / "stat"
    started, written, used = _counts(counted, pid)
    for side in order:
        _sleep_until(started + WINDOW_S / 2)
        if side == "B":
            sample()
        _sleep_until(started + WINDOW_S)
        ended, written_then, used_then = _counts(counted, pid)
        kib = (written_then - written) * SECTOR / 1024
        yield paired_runs.Rates(kib / (ended - started), kib / (used_then - used))
        started, written, used = ended, written_then, used_then


def _counts(counted: Path, pid: int) -> tuple[float, int, float]:
    """(time in s, sectors written, seconds of a processor that fio's threads have used)."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    used = sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads)
    return time.monotonic(), int(counted.read_text().split()[6]), used / 1e9


def _hold_processor(milliseconds: float) -> None:
    """That which fio keeps to."""
    if not milliseconds:
        return
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(everywhere)})
    until = time.thread_time() + milliseconds / 1000
    while time.thread_time() < until:
        pass
    os.sched_setaffinity(0, everywhere)


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main())
