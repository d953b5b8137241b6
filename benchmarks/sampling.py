"""What sampling costs a benchmark: `.venv/bin/python -m benchmarks.sampling`.

Needs root and fio, a kernel with zram, and a machine that does nothing else. The same job of fio
through the local executor without the agent's samples (A) and with one each second (B), paired as
``benchmarks.paired_runs`` says. Prints the ratio of speeds, B / A, with its 95% interval for each
job; 30 blocks, some 14 minutes (``--blocks``; ``--minutes`` ends it before). Exits with 1 where it
is not shown that sampling costs at most 1%: the lower end of the interval is below 0.99, or the
control (``benchmarks.paired_blocks``) refuses the session.
"""

import argparse
import logging
import math
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import paired_blocks, paired_runs

MOST_PERCENT = 1.0
SECONDS = 2.0
TIDYING_MINUTES = 0.5


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=math.inf)
    given = parser.parse_args()
    logging.disable(logging.INFO)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
    import django

    django.setup()
    from runner.executors.local import LocalExecutor

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, paired_runs.end_tidily)
    print(
        f"{time.strftime('%Y-%m-%d %H:%M')}, load {os.getloadavg()[0]:.1f}, Linux "
        f"{os.uname().release}; fio {SECONDS:g} s a run, four a block and job"
    )
    with tempfile.TemporaryDirectory(prefix="fsbench-sampling-") as name:
        folder = Path(name)
        inside = folder / "inside"
        inside.mkdir()
        with paired_runs.lun_in_memory(folder) as (device, _):
            without, sampled = (
                paired_runs.through(LocalExecutor(), device, str(inside), SECONDS, every_s=every_s)
                for every_s in (0.0, 1.0)
            )
            found = paired_runs.in_blocks(
                without, sampled, given.blocks, given.minutes - TIDYING_MINUTES
            )
    is_known = paired_blocks.report(found, "sampled / not sampled", MOST_PERCENT)
    is_kept = is_known and all(
        paired_blocks.RatioEstimate.of(ratios).low >= 1 - MOST_PERCENT / 100
        for ratios in found.speed.values()
    )
    print(f"Sampling costs at most {MOST_PERCENT:g}%: {'shown' if is_kept else 'not shown'}")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
