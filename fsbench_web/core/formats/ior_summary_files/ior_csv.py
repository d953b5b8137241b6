"""What IOR 3.2 to 4 writes with ``-O summaryFormat=CSV``: a line a repetition, and no settings.

Rates are MiB/s and operations/s, times seconds. Source: IOR's ``ior-output.c``, and output of 4.1.
"""

import re

from fsbench_web.core.formats.ior_summary_files.repetitions import COLUMNS, REPETITION
from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.values import Collector, test_name

FORMAT = "ior-csv"
_START = "access,bw(MiB/s),"


def recognises(lines: list[str]) -> bool:
    """Whether a line is the header of IOR's CSV."""
    return any(line.startswith(_START) for line in lines)


def parse(lines: list[str]) -> ParsedResult:
    """All repetitions of all operations. Raises UnreadableFile for rows that do not fit."""
    result = ParsedResult(FORMAT, "ior")
    collector = Collector(result)
    header: list[str] = []
    iteration = ""
    for number, line in enumerate(lines, start=1):
        fields = line.strip().split(",")
        if line.startswith(_START):
            header, iteration = fields, ""
            collector.begin()
        elif header and re.match(r"(?:write|read),", line):
            # A last row may be cut off within a number.
            if len(fields) != len(header) or number == len(lines):
                result.complete = False
                message = f"The row has {len(fields)} fields of {len(header)}, or no end: left out."
                collector.warn(number, message)
                continue
            row = dict(zip(header, fields, strict=True))
            if row.get("iter", "") != iteration:
                collector.begin()
                iteration = row.get("iter", "")
            _row(collector, row, number)
    return collector.finish("The header of IOR's CSV is there, and no repetition.", len(lines))


def _row(collector: Collector, row: dict[str, str], line: int) -> None:
    tasks = row.get("numTasks", "")
    load = load_text(tasks=int(tasks) if re.fullmatch("[0-9]{1,9}", tasks) else None)
    for column, key in COLUMNS.items():
        if column in row:
            kind, unit = REPETITION[key]
            collector.add(test_name("ior", row["access"], kind), row[column], unit, line, load=load)
