"""PostMark (Katcher, TR3022), as in Sun's paper of 2004: rates by number of transactions.

Its clock has whole seconds, so rates over a few seconds are flagged.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fsbench_web.core import formats, requirements
from fsbench_web.core.formats.result import ParsedResult, ParsedValue, load_text
from fsbench_web.core.workloads.base import (
    MAIL,
    BenchmarkCommand,
    Kind,
    Parameter,
    ParameterError,
    Place,
    Preset,
    Workload,
    file_bytes,
    seed,
    time_limit,
)

PAPER_LOADS = [25000, 50000, 75000, 100000, 125000, 250000, 300000, 400000, 500000]
BLOCK_BYTES = 4096
RATE, TIME = "postmark_transactions", "postmark_transactions_time"
# Deletions and creations are chosen by lot, so the pool may grow for a while.
GROWTH = 1.3


class PostMark(Workload):
    """One run of PostMark for each load, with a new pool of files each time."""

    tool = "postmark"
    name = "PostMark"
    about = (
        "Small files as mail and news servers have them: PostMark's transactions per second, at "
        "rising numbers of transactions. Its clock has whole seconds."
    )
    paper = "Sun 2004"
    question = MAIL
    programs = requirements.WORKLOADS["postmark"]
    parameters = (
        Parameter(
            "files", "Files", default=20000, minimum=10, maximum=10_000_000, paper="20,000 files"
        ),
        file_bytes("smallest_bytes", "Smallest file", 10000, "10,000 bytes"),
        file_bytes("largest_bytes", "Largest file", 15000, "15,000 bytes"),
        Parameter(
            "transactions",
            "Transactions",
            Kind.WHOLES,
            default=PAPER_LOADS,
            minimum=10,
            maximum=100_000_000,
            help="PostMark is run once for each number.",
            paper="25,000 to 500,000 in nine steps",
        ),
        Parameter(
            "remount",
            "Remount before each load",
            Kind.FLAG,
            default=True,
            help="So that no load begins with what the one before left in the cache.",
            paper="does not say",
        ),
        seed(
            "PostMark's random numbers: the same seed is the same sequence of files.",
            paper="does not say; 42 is PostMark's own",
        ),
        time_limit(24 * 3600),
    )
    presets = (
        Preset(
            "postmark-small",
            "PostMark, small",
            "500 files, 1,000 and 4,000 transactions: a few seconds, to see that it works. Too "
            "short for PostMark's clock of whole seconds.",
            {"files": 500, "transactions": [1000, 4000], "time_limit_s": 600},
        ),
        Preset(
            "postmark-sun",
            "PostMark, Sun 2004",
            "20,000 files of 10,000 to 15,000 bytes, 25,000 to 500,000 transactions, as in the "
            "paper. Minutes to hours.",
            {},
        ),
    )

    def check(self) -> None:
        if self.largest_bytes < self.smallest_bytes:
            raise ParameterError(
                f"The largest file must be {self.smallest_bytes} bytes or more, "
                f"not {self.largest_bytes}."
            )

    def title(self) -> str:
        loads = self.transactions
        count = f"{loads[0]:,}" if len(loads) == 1 else f"{loads[0]:,} to {loads[-1]:,}"
        return (
            f"PostMark, {self.files:,} files of {self.smallest_bytes:,} to "
            f"{self.largest_bytes:,} bytes, {count} transactions"
        )

    def data_warning(self) -> str:
        return "PostMark writes random printable text, which compresses to 84%."

    def space_needed_bytes(self) -> int:
        blocks = -(-self.largest_bytes // BLOCK_BYTES) + 1  # and an inode
        return int(self.files * blocks * BLOCK_BYTES * GROWTH)

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        commands = [BenchmarkCommand(("mkdir", place.work))]
        for count in self.transactions:
            settings = (
                f"set location {place.work}",
                f"set size {self.smallest_bytes} {self.largest_bytes}",
                f"set number {self.files}",
                f"set transactions {count}",
                f"set seed {self.seed}",
                "set report verbose",
                *("show", "run", "quit"),
            )
            commands.append(
                BenchmarkCommand(
                    ("postmark",),
                    output=_output(count),
                    stdin="\n".join(settings) + "\n",
                    remount=self.remount,
                )
            )
        return commands

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for count in self.transactions:
            yield TIME, load_text(transactions=count), None, None
        yield RATE, "", None, None

    def parse(self, outputs: Mapping[str, bytes]) -> dict[str, ParsedResult]:
        """Each report with its load; the last has the rate over all loads too. All work by all time
        is the right mean of rates (Hoefler and Belli, SC 2015, rule 3).
        """
        results = {}
        times: list[ParsedValue] = []
        for count in self.transactions:
            name = _output(count)
            parsed = formats.parse(name, outputs[name])
            load = load_text(transactions=count)
            parsed.values = [replace(value, load=load, repeat=None) for value in parsed.values]
            times += [value for value in parsed.values if value.test == TIME]
            results[name] = parsed
        seconds = sum(value.value for value in times)
        if len(times) == len(self.transactions) and seconds:
            rate = sum(self.transactions) / seconds
            together = ParsedValue(RATE, None, None, rate, "ops/s", times[-1].line)
            results[_output(self.transactions[-1])].values.append(together)
        return results


def _output(transactions: int) -> str:
    return f"postmark-{transactions}.txt"
