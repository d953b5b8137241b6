"""What sampling costs a benchmark: `.venv/bin/python -m benchmarks.sampling [--blocks N]`.

Needs root and fio. In each block the same job of fio runs with and without the agent's sampling, in
an order that is turned round from block to block, on ext4 on a loop LUN in memory (/dev/shm), so
that a disk's noise is out and the processors' work is what remains. The verdict is that of paired
speeds (core.scoring.paired) with a margin of 1%. Exits with 1 where it is not shown to cost less.
"""

import argparse
import json
import logging
import os
import sys
import tempfile
from dataclasses import replace
from math import log
from pathlib import Path

from benchmarks.seeded_causes import SIZE_MIB, loop_device
from fsbench_web.core.scoring.paired import EQUIVALENT, of_logarithms

MARGIN_PERCENT = 1.0
JOBS = {
    "random write, 4 KiB, direct": "[j]\nrw=randwrite\nbs=4k\nsize=128m\ndirect=1\n",
    "sequential read, 64 KiB, cached": "[j]\nrw=read\nbs=64k\nsize=128m\ninvalidate=0\n",
}


def rate(job: str, device: str, every_s: float, seconds: int) -> float:
    """Operations a second that fio says."""
    from runner.executors.base import Message, Target
    from runner.executors.local import LocalExecutor
    from runner.plan import plan_run

    text = f"{job}time_based\nruntime={seconds}\n"
    parameters = {"name": "sampling", "version": 1, "space_mb": 150, "text": text}
    plan = plan_run("ext4", {}, "own-fio", parameters, device=device, size_bytes=SIZE_MIB * 2**20)
    messages: list[Message] = []
    outcome = LocalExecutor().run(
        replace(plan, sample_every_s=every_s),
        Target(1, "here", "lun", device),
        messages.append,
        lambda: False,
    )
    if outcome.exit_code != 0:
        raise SystemExit(f"a run failed: {[m for m in messages if m['type'] == 'error']}")
    printed = "".join(
        str(one["text"])
        for one in messages
        if one["type"] == "output" and one["name"] == "fio.json"
    )
    (found,) = json.loads(printed[printed.index("{") :])["jobs"]
    return float(found["read"]["iops"] + found["write"]["iops"])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--seconds", type=int, default=5)
    given = parser.parse_args()
    logging.disable(logging.INFO)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
    import django

    django.setup()
    is_kept = True
    with tempfile.TemporaryDirectory(prefix="fsbench-sampling-", dir="/dev/shm") as folder:
        for name, job in JOBS.items():
            ratios = []
            with loop_device(Path(folder), is_direct=False) as device:
                for block in range(given.blocks):
                    order = (1.0, 0.0) if block % 2 else (0.0, 1.0)
                    rates = {every: rate(job, device, every, given.seconds) for every in order}
                    ratios.append(log(rates[1.0] / rates[0.0]))
            found = of_logarithms(ratios, MARGIN_PERCENT)
            is_kept = is_kept and found.status == EQUIVALENT
            print(
                f"{name}: sampled / not sampled {found.ratio:.4f} ({found.low:.4f} to "
                f"{found.high:.4f}, {given.blocks} blocks of {given.seconds} s): {found.status} "
                f"within {MARGIN_PERCENT:g}%",
                flush=True,
            )
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
