"""What sampling costs a benchmark: `.venv/bin/python -m benchmarks.overhead.sampling`.

Needs root and fio, a kernel with zram, and a machine that does nothing else. The same job of fio
through the local executor without the agent's samples (A) and with one each second (B), paired as
``benchmarks.overhead.paired_runs`` says. Prints the ratio of speeds, B / A, with its 95% interval
for each job; 30 blocks, some 14 minutes (``--blocks``; ``--minutes`` ends it before). Exits with 1
where it is not shown that sampling costs at most 1%: the lower end of the interval is below 0.99,
or the control (``benchmarks.overhead.paired_blocks``) refuses the session.
"""

import sys

from benchmarks.overhead import paired_blocks, paired_runs

MOST_PERCENT = 1.0
SECONDS = 2.0


def main() -> int:
    with paired_runs.session("sampling", SECONDS) as session:
        from runner.executors.local import LocalExecutor

        without, sampled = (
            paired_runs.through(
                LocalExecutor(), session.device, session.inside, SECONDS, every_s=every_s
            )
            for every_s in (0.0, 1.0)
        )
        blocks = paired_runs.in_blocks(without, sampled, session.blocks, session.minutes)
    is_known = paired_blocks.report(blocks, "sampled / not sampled", MOST_PERCENT)
    is_kept = is_known and all(
        paired_blocks.RatioEstimate.of(ratios).low >= 1 - MOST_PERCENT / 100
        for ratios in blocks.speed.values()
    )
    print(f"Sampling costs at most {MOST_PERCENT:g}%: {'shown' if is_kept else 'not shown'}")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
