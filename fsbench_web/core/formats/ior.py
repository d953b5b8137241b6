"""The "Summary of all tests" of IOR 2.10 to 4: rates of each operation over its repetitions.

Source: IOR's user guide ("Understanding IOR's output"), and output of 2.10, 3.0, 3.2 and 4.0.
"""

import re

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.text import shown
from fsbench_web.core.formats.values import Collector, test_name

FORMAT = "ior"
_VERSION = re.compile(r"IOR-([0-9][0-9A-Za-z.+-]*): MPI Coordinated Test of Parallel I/O")
_HEADER = re.compile(r"^\W*Operation\s+Max ?\((MiB|MB)\)\s+Min ?\(")
_ROW = re.compile(r"^[\s>|]*(write|read|remove|rewrite|reread)\s+(?=[0-9])")
_COMMAND = re.compile(r"Command line(?: used)?\s*:\s*(.+)")
_TASKS = re.compile(r"^\W*(?:tasks|clients)\s*[:=]\s*([0-9]{1,9})\b")
_SETTING = re.compile(
    r"^\s*(api|access|type|segments|ordering in a file|ordering inter file|xfersize|blocksize|"
    r"aggregate filesize|pattern|stonewallingTime|stoneWallingWearOut)\s*[:=]\s*(.+?)\s*$"
)
_KEPT = {
    "Max(MiB)": ("max", "MiB/s"),
    "Min(MiB)": ("min", "MiB/s"),
    "Mean(MiB)": ("mean", "MiB/s"),
    "Max(MB)": ("max", "MB/s"),
    "Min(MB)": ("min", "MB/s"),
    "Mean(MB)": ("mean", "MB/s"),
    "Max(OPs)": ("max_ops", "ops/s"),
    "Min(OPs)": ("min_ops", "ops/s"),
    "Mean(OPs)": ("mean_ops", "ops/s"),
    "Mean(s)": ("time", "s"),
}


def recognises(lines: list[str]) -> bool:
    """Whether IOR's title or the header of its summary is there."""
    return any(_VERSION.search(line) or _HEADER.match(line) for line in lines)


def parse(lines: list[str]) -> ParsedResult:
    """All rows of all summaries. Raises UnreadableFile where there is none."""
    result = ParsedResult(FORMAT, "ior")
    found = Collector(result)
    columns: list[str] = []
    tasks: int | None = None
    settings: dict[str, None] = {}
    for line_number, line in enumerate(lines, start=1):
        if (version := _VERSION.search(line)) is not None:
            result.tool_version = result.tool_version or version[1]
            columns, tasks = [], None
        elif _HEADER.match(line):
            header = line[line.index("Operation") :].replace("Std Dev", "StdDev")
            found.begin()
            columns = header.replace(" (", "(").split()
        elif columns and (row := _ROW.match(line)) is not None:
            words = line[row.start(1) :].split()
            if len(words) < len(columns):
                message = f"The row has {len(words)} fields of {len(columns)}: it is left out."
                found.warn(line_number, message)
                result.complete = False
                continue
            _row(found, dict(zip(columns, words, strict=False)), line_number, tasks)
        elif (tasks_line := _TASKS.match(line)) is not None:
            tasks = int(tasks_line[1])
        elif (setting := _SETTING.match(line)) is not None:
            settings[f"{setting[1]} {setting[2]}"[:200]] = None
        elif (command := _COMMAND.search(line)) is not None:
            result.command = result.command or command[1].strip()[:2000]
    result.modes = tuple(settings)
    return found.finish("No summary of IOR is there: the run did not end.", len(lines))


def _row(found: Collector, row: dict[str, str], line: int, tasks: int | None) -> None:
    if re.fullmatch("[0-9]{1,9}", row.get("#Tasks", "")):
        tasks = int(row["#Tasks"])
    load = load_text(tasks=tasks)
    sizes = _sizes(row)
    for column, (kind, unit) in _KEPT.items():
        if (text := row.get(column)) is None:
            continue
        test = test_name("ior", row["Operation"], kind)
        if not text[:1].isdigit():
            found.warn(line, f"{test}: {shown(text)} is no number; it stays missing.")
            continue
        found.add(test, text, unit, line, load=load, sizes=sizes)


def _sizes(row: dict[str, str]) -> tuple[int | None, int | None]:
    """Transfer size, and what a task writes (block size times segments), in KB of 1024 bytes."""
    texts = [row.get(name, "") for name in ("xsize", "blksiz", "segcnt")]
    if not all(re.fullmatch("[0-9]{1,15}", text) for text in texts):
        return None, None
    transfer, block, segments = map(int, texts)
    size = block * segments
    if transfer % 1024 or size % 1024 or not 0 < transfer < 2**41 or not 0 < size < 2**60:
        return None, None
    return transfer // 1024, size // 1024
