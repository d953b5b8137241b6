"""What fsbench adds to a tool, to 1%: `.venv/bin/python -m benchmarks.overhead.paired_overhead`.

Needs root and fio on the host, a kernel with zram, and a machine that does nothing else. fio by
hand (A) beside fio through the local executor (B: namespaces, a control group, the agent and its
samples), paired as ``benchmarks.overhead.paired_runs`` says. Prints the ratio of speeds, B / A,
with its 95% interval for each job; 30 blocks, some 10 minutes (``--blocks``; ``--minutes`` ends it
before). Exits with 1 where it is not known to 1%, or the control
(``benchmarks.overhead.paired_blocks``) refuses the session.
"""

import sys

from benchmarks.overhead import paired_blocks, paired_runs

KNOWN_TO_PERCENT = 1.0
SECONDS = 1.5


def main() -> int:
    with paired_runs.session("overhead", SECONDS) as session:
        from runner.executors.local import LocalExecutor

        blocks = paired_runs.in_blocks(
            paired_runs.by_hand(session.point, SECONDS),
            paired_runs.through(LocalExecutor(), session.device, session.inside, SECONDS),
            session.blocks,
            session.minutes,
        )
    is_known = paired_blocks.report(blocks, "through fsbench / by hand", KNOWN_TO_PERCENT)
    return 0 if is_known else 1


if __name__ == "__main__":
    sys.exit(main())
