"""What fsbench adds to a tool, to 1%: `.venv/bin/python -m benchmarks.paired_overhead`.

Needs root and fio on the host, a kernel with zram, and a machine that does nothing else. fio by
hand (A) beside fio through the local executor (B: namespaces, a control group, the agent and its
samples), paired as ``benchmarks.paired_runs`` says. Prints the ratio of speeds, B / A, with its 95%
interval for each job; 30 blocks, some 10 minutes (``--blocks``; ``--minutes`` ends it before).
Exits with 1 where it is not known to 1%, or the control (``benchmarks.paired_blocks``) refuses the
session.
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

KNOWN_TO_PERCENT = 1.0
SECONDS = 1.5
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
    with tempfile.TemporaryDirectory(prefix="fsbench-overhead-") as name:
        folder = Path(name)
        inside = folder / "inside"
        inside.mkdir()
        with paired_runs.lun_in_memory(folder) as (device, point):
            found = paired_runs.in_blocks(
                paired_runs.by_hand(point, SECONDS),
                paired_runs.through(LocalExecutor(), device, str(inside), SECONDS),
                given.blocks,
                given.minutes - TIDYING_MINUTES,
            )
    is_known = paired_blocks.report(found, "through fsbench / by hand", KNOWN_TO_PERCENT)
    return 0 if is_known else 1


if __name__ == "__main__":
    sys.exit(main())
