"""What mdtest 4 writes with ``--saveRankPerformanceDetails``: rates and times of each rank.

The row *all* has operations/s and seconds of all ranks together, in the first iteration alone.
Source: mdtest's ``StoreRankInformation``, and files of 4.1 beside its report.
"""

import re

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, test_name

FORMAT = "mdtest-csv"
_START = "rank,items,rate-"
# The report has no reading of directories, and other numbers of trees: these are left out.
_COLUMN = re.compile("(rate|time)-((?:File|Directory) (?!read$).+|File read)")


def recognises(lines: list[str]) -> bool:
    """Whether a line is the header of mdtest's rank details."""
    return any(line.startswith(_START) for line in lines)


def parse(lines: list[str]) -> ParsedResult:
    """Rates and times of all ranks together. Raises UnreadableFile where no row says them."""
    result = ParsedResult(FORMAT, "mdtest")
    collector = Collector(result)
    header: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith(_START):
            _run(collector, header, rows)
            header, rows = line.strip().split(","), []
        elif header and line.strip():
            rows.append((number, line.strip().split(",")))
    _run(collector, header, rows)
    return collector.finish("The file has ranks, and no row of all of them together.", len(lines))


def _run(collector: Collector, header: list[str], rows: list[tuple[int, list[str]]]) -> None:
    ranks = {row[0] for _, row in rows if row[0].isdecimal()}
    load = load_text(tasks=len(ranks) or None)
    collector.begin()
    for number, row in rows:
        if row[0] != "all":
            continue
        if len(row) != len(header):
            collector.result.complete = False
            collector.warn(
                number, f"The row has {len(row)} fields of {len(header)}: it is left out."
            )
            continue
        for column, text in zip(header, row, strict=True):
            kind = _COLUMN.fullmatch(column)
            # What was not run has an empty field.
            if kind is not None and text:
                unit = "ops/s" if kind[1] == "rate" else "s"
                collector.add(test_name("mdtest", kind[2], kind[1]), text, unit, number, load=load)
        collector.warn(
            number,
            'mdtest\'s row "all" is of its first iteration; further iterations and single ranks '
            f"({len(rows) - 1} rows) are not read. Its report has them all.",
        )
