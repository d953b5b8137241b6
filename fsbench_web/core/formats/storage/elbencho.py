"""elbencho's table (also --resfile), its CSV (--csvfile) and its JSON (--jsonfile), of 1.6 to 3.1.

CSV and JSON have a line or an object for every phase. Each result is given twice: "first" when the
fastest thread was done, "last" when the slowest was. Sizes are bytes, rates of data MiB/s (MB/s
with --base10), times ms, latencies µs, all converted exactly; values of the JSON are texts, its
rates of data bytes/s. Source: elbencho's ``Statistics.cpp``, ``UnitTk.cpp`` and
docs/csv-results.md, and output of 1.6, 1.9, 2.0 and 3.1.
"""

import csv
import re
from dataclasses import dataclass, field
from decimal import Decimal

from fsbench_web.core.formats.json_text import JsonObject, documents
from fsbench_web.core.formats.result import ParsedResult, Problem, UnreadableFile, load_text
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import (
    Collector,
    any_line,
    count_of,
    every_sign,
    reads,
    sizes_kb,
    test_name,
    words_of,
)

_HEADER = re.compile(r"^OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE\s*$")
_DATE = re.compile(r"^ISO DATE(?: start)?\s*: (\S{10,40})")
_COMMAND = re.compile(r"^COMMAND LINE: (.+)$")
_ROW = re.compile(r"^(?:([A-Z][A-Z0-9+_-]{1,20})\s+|\s+)(\S.*?)(?<!\s)\s*:\s+(\S.*?)(?<!\s)\s*$")
_PAIR = re.compile(r"(\S+)\s+(\S+)")
_RATE = re.compile(r"(?:(IOPS|(?:Files|Dirs|Objects|Entries|Buckets)/s)|(?:Throughput )?(Mi?B/s))")
_SIDE = re.compile(r" (read|write|total)$")
_LATENCY = re.compile(r"(IO|\S+)(?: (rd))? latency")
_PERCENTILES = re.compile(r"(IO|\S+)(?: (rd))? lat % us")
_END = re.compile(r"(min|avg|max)=([0-9]+(?:\.[0-9]+)?)(us|ms|s)\b")
_PERCENT = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,6})?)%<=([0-9]+(?:\.[0-9]+)?)")
_ELAPSED = re.compile(r"(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+(?:\.[0-9]+)?)s)?(?:([0-9]+)ms)?")
_MICROSECONDS = {"us": 1, "ms": 1000, "s": 10**6}
_LOADS = {"hosts": "hosts", "threads": "threads", "iodepth": "IO depth"}
_KEPT = re.compile(
    r"(entries/s|IOPS|MiB/s|time ms|(?:Ent|IO) lat us)(?: \[?(first|last|min|avg|max)\]?)"
)
_NAMES = {
    "entries/s": ("entries", "ops/s"),
    "IOPS": ("iops", "ops/s"),
    "MiB/s": ("throughput", "MiB/s"),
    "time ms": ("time", "ms"),
    "Ent lat us": ("entry_latency", "µs"),
    "IO lat us": ("io_latency", "µs"),
}
_SETTINGS = (
    *("path type", "dirs", "files", "direct IO", "random aligned", "shared paths"),
    "truncate",
)
_MARK = re.compile(r'"phase_type"\s*:\s*"')
_OF_PHASE = re.compile('"(?:first_done|config|iso_start_date)"').search
_JSON_START = re.compile(r'\{\s*"phase_type"')
_JSON_RATES: dict[str, tuple[str, str, Decimal | int]] = {
    "elapsed_time_ms": ("time", "ms", 1),
    "entries/s": ("entries", "ops/s", 1),
    "iops": ("iops", "ops/s", 1),
    "bytes/s": ("throughput", "MiB/s", Decimal(1) / 1048576),
}
_JSON_LATENCIES = {"entries": "entry_latency", "IO": "io_latency"}
_JSON_LOADS = {"hosts": "hosts", "threads": "threads", "iodepth": "io_depth"}
# How its CSV calls them: the settings that tell runs apart.
_JSON_SETTINGS = {
    "path_type": "path type",
    "dirs": "dirs",
    "files": "files",
    "file_size": "file size",
    "block_size": "block size",
    "direct_io": "direct IO",
    "random_offsets": "random",
    "random_aligned": "random aligned",
    "shared_service_paths": "shared paths",
    "truncate_files": "truncate",
}

# They make room for the others and move no data.
_HOUSEKEEPING = frozenset({"SYNC", "DROPCACHE", "DROPCACHES"})
# What does not change what is measured: where results go and how much of them.
_NO_SETTINGS = re.compile(
    r"--(?:resfile|csvfile|jsonfile|live\w*|label|nolive|lat\w*|cpu|allelapsed|svcelapsed|port|"
    r"hosts\w*|no0usecerr|log|resdir|brief|dryrun)(?:=.*)?"
)
_VALUE_OF = {"-t": "threads", "--threads": "threads", "--iodepth": "iodepth"}
# What columns of the CSV and the configuration of the JSON say: phases, sizes, numbers of files.
_SAID = re.compile(
    r"(?:-[wrdFDtnNbsi]|--(?:write|read|mkdirs|deldirs|delfiles|stat|rand|direct|dirs|files|block|"
    r"size|trunc|randalign|iterations))(?: .*)?"
)


@dataclass
class _Run:
    line: int
    command: str = ""
    # Operation, kind, text, unit, factor, line.
    values: list[tuple[str, str, str, str, Decimal | int, int]] = field(default_factory=list)
    operation: str = ""


@reads("elbencho", "elbencho", any_line(_HEADER.match))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """Read all phases of all runs, which must be runs of one command."""
    result = collector.result
    runs: list[_Run] = []
    command = ""
    for number, line in enumerate(lines, start=1):
        if (match := _COMMAND.match(line)) is not None:
            command = match[1].strip()
        elif (date := _DATE.match(line)) is not None:
            if not result.facts:
                result.facts.append(("Run at", date[1]))
        elif _HEADER.match(line):
            runs.append(_Run(number, command))
            command = ""
        elif runs and number < len(lines):
            _line(collector, runs[-1], line, number)
    runs = [run for run in runs if run.values]
    _check(collector, runs)
    for run in runs:
        settings, load = _settings_of(run.command)
        result.command = result.command or run.command[:2000]
        result.modes = result.modes or settings
        collector.begin()
        collector.load = load
        for operation, kind, text, unit, times, value_line in run.values:
            is_random = "--rand" in settings and operation in ("READ", "WRITE")
            test = test_name("elbencho", "random" if is_random else "", operation, kind)
            collector.add(test, text, unit, value_line, times=times)
    return collector.finish("elbencho's table is there, and no phase with a result.", len(lines))


def _check(collector: Collector, runs: list[_Run]) -> None:
    for run in runs[1:]:
        first = runs[0]
        if not run.command or not first.command:
            collector.refuse(
                run.line,
                f"A run of elbencho starts here and another one in line {first.line}, and none "
                "says its settings. Make each a file of its own, or take what --csvfile, "
                "--jsonfile or --resfile wrote.",
            )
        elif _settings_of(run.command) != _settings_of(first.command):
            collector.refuse(
                run.line,
                f"A run of elbencho with other settings than that in line {first.line} starts "
                "here: make it a file of its own.",
            )


def _line(collector: Collector, run: _Run, line: str, number: int) -> None:
    row = _ROW.match(line)
    if row is None:
        return
    run.operation = row[1] or run.operation
    if not run.operation or run.operation in _HOUSEKEEPING:
        return
    side = _SIDE.search(row[2])
    name = row[2][: side.start()] if side else row[2]
    suffix = f"_{side[1]}" if side else ""
    if (latency := _LATENCY.fullmatch(row[2])) is not None:
        kind = _latency_kind(latency)
        for end, text, unit in _END.findall(row[3]):
            _add(run, f"{kind}_{end}", text, "µs", _MICROSECONDS[unit], number)
    elif (percentiles := _PERCENTILES.fullmatch(row[2])) is not None:
        kind = _latency_kind(percentiles)
        for percent, text in _PERCENT.findall(row[3]):
            _add(run, f"{kind}_p{percent}", text, "µs", 1, number)
    elif (pair := _PAIR.fullmatch(row[3])) is not None:
        for when, text in zip(("first", "last"), pair.groups(), strict=True):
            if name in ("Elapsed time", "Elapsed ms"):
                _elapsed(collector, run, when, text, number)
            elif (rate := _RATE.fullmatch(name)) is not None:
                kind = "throughput" if rate[2] else "iops" if rate[1] == "IOPS" else "entries"
                _add(run, f"{kind}{suffix}_{when}", text, rate[2] or "ops/s", 1, number)


def _latency_kind(match: re.Match[str]) -> str:
    kind = "io_latency" if match[1] == "IO" else "entry_latency"
    return f"{kind}_read" if match[2] else kind


def _add(run: _Run, kind: str, text: str, unit: str, times: int, line: int) -> None:
    run.values.append((run.operation, kind, text, unit, times, line))


def _elapsed(collector: Collector, run: _Run, when: str, text: str, line: int) -> None:
    """Milliseconds of ``2m3.241s``, ``586ms`` or, before 1.7, a number of them."""
    parts = _ELAPSED.fullmatch(text)
    if text.isdigit():
        _add(run, f"time_{when}", text, "ms", 1, line)
    elif parts is not None and any(parts.groups()):
        hours, minutes, seconds, millis = (Decimal(part or 0) for part in parts.groups())
        total = (hours * 3600 + minutes * 60 + seconds) * 1000 + millis
        _add(run, f"time_{when}", f"{total:f}", "ms", 1, line)
    else:
        collector.warn(line, f'"{text[:40]}" is no time; it stays missing.')


def _is_header(line: str) -> bool:
    return (
        "operation" in line
        and ("[last]" in line or "[first]" in line)
        and ("MiB/s" in line or "IOPS" in line or "entries/s" in line)
        and line.count(",") > 4
    )


@reads("elbencho-csv", "elbencho", any_line(_is_header))
def parse_csv(lines: list[str], collector: Collector) -> ParsedResult:
    """All phases. Raises UnreadableFile for rows that do not fit their header."""
    result = collector.result
    header: list[str] = []
    for line_number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if _is_header(line):
            header = _fields(line, line_number)
            continue
        if not header:
            continue
        fields = _fields(line, line_number)
        if len(fields) != len(header):
            message = f"Found {len(fields)} fields, expected {len(header)} as in elbencho's header."
            collector.refuse(line_number, message)
            continue
        row = dict(zip(header, fields, strict=True))
        if not row.get("operation"):
            collector.refuse(line_number, "The row names no operation.")
            continue
        _row(collector, row, line_number)
        version = row.get("version", "")
        result.tool_version = result.tool_version or version[:40]
        result.command = result.command or row.get("command", "")[:2000]
    return collector.finish("elbencho's header is there, and no phase with a result.", len(lines))


def _fields(line: str, number: int) -> list[str]:
    try:
        return [text.strip() for text in next(csv.reader([line]), [])]
    except csv.Error as error:
        message = f"The row cannot be read: {error}."
        raise UnreadableFile([Problem(number, None, message)]) from None


def _row(collector: Collector, row: dict[str, str], line: int) -> None:
    settings = [f"{name} {row[name]}"[:200] for name in _SETTINGS if row.get(name)]
    collector.begin([*settings, *_further_settings_of(row.get("command", ""))])
    collector.load = load_text(**{kind: count_of(row.get(key, "")) for kind, key in _LOADS.items()})
    operation = row["operation"]
    if row.get("random") == "1" and operation.upper() in ("READ", "WRITE", "RWMIX"):
        operation = f"random_{operation}"
    moves_data = any(
        row.get(f"{name} [{when}]") for name in ("IOPS", "MiB/s") for when in ("first", "last")
    )
    sizes = row.get("block size", ""), row.get("file size", "")
    collector.sizes = _sizes(*sizes, moves_data=moves_data)
    for column, text in row.items():
        match = _KEPT.fullmatch(column)
        # A phase that does not have a result leaves its field empty.
        if match is None or not text:
            continue
        name, unit = _NAMES[match[1]]
        test = test_name("elbencho", operation, name, match[2])
        if "," in text:
            collector.warn(line, f"{test}: {quoted(text)} is not a number; it stays missing.")
            continue
        collector.add(test, text, unit, line)


@reads("elbencho-json", "elbencho", every_sign(_MARK.search, _OF_PHASE), has_long_lines=True)
def parse_json(lines: list[str], collector: Collector) -> ParsedResult:
    """All phases. Raises UnreadableFile for JSON that is cut off."""
    result = collector.result
    first: dict[str, str] = {}
    for root in documents(lines, _JSON_START):
        config = root.object("config")
        result.tool_version = result.tool_version or config.text("version")[:40]
        result.command = result.command or config.text("command")[:2000]
        if (date := root.text("iso_start_date")) and not result.facts:
            result.facts.append(("Run at", date[:80]))
        if root.text("phase_type").upper() in _HOUSEKEEPING:
            continue
        settings = {key: config.text(key) for key in (*_JSON_SETTINGS, *_JSON_LOADS.values())}
        if first and settings != first:
            collector.refuse(
                root.line,
                "This phase was run with other settings than the first: make each run of elbencho "
                "a file of its own.",
            )
        first = first or settings
        collector.begin()
        _phase(collector, root, config)
    parts = [f"{n} {first[key]}"[:200] for key, n in _JSON_SETTINGS.items() if first.get(key)]
    result.modes = (*parts, *_further_settings_of(result.command))
    return collector.finish("This is elbencho's JSON, and no phase in it has a result.", len(lines))


def _phase(collector: Collector, root: JsonObject, config: JsonObject) -> None:
    counts = {kind: count_of(config.text(key)) for kind, key in _JSON_LOADS.items()}
    collector.load = load_text(**counts)
    operation = root.text("phase_type")
    if config.text("random_offsets") in ("1", "true") and operation in ("READ", "WRITE", "RWMIX"):
        operation = f"random_{operation}"
    trees = [root.object(key) for key in ("first_done", "last_done")]
    trees += [tree.object("rwmix_read") for tree in trees]
    moves_data = any(tree.text("iops") or tree.text("bytes/s") for tree in trees)
    sizes = config.text("block_size"), config.text("file_size")
    collector.sizes = _sizes(*sizes, moves_data=moves_data)
    for key, when in (("first_done", "first"), ("last_done", "last")):
        done = root.object(key)
        for side, tree in (("", done), ("read", done.object("rwmix_read"))):
            for name, (kind, unit, times) in _JSON_RATES.items():
                if text := tree.text(name):
                    test = test_name("elbencho", operation, kind, side, when)
                    collector.add(test, text, unit, done.line, times=times)
    latency = root.object("last_done").object("latency")
    for key, name in _JSON_LATENCIES.items():
        for side, tree in (
            ("", latency.object(key)),
            ("read", latency.object(key).object("rwmix_read")),
        ):
            for end in ("min", "avg", "max"):
                if text := tree.text(f"{end}_us"):
                    test = test_name("elbencho", operation, name, side, end)
                    collector.add(test, text, "µs", latency.line)


def _sizes(block: str, size: str, *, moves_data: bool) -> tuple[int | None, int | None]:
    """Block and file size in KB; making directories has some too, and nothing to do with them."""
    return sizes_kb(count_of(block, 18), count_of(size, 18)) if moves_data else (None, None)


def _settings_of(command: str) -> tuple[tuple[str, ...], str]:
    """The options of a command with their values, without paths, and the load."""
    words = words_of(command)[1:]
    settings: list[str] = []
    counts: dict[str, int | None] = {}
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if not word.startswith("-") or _NO_SETTINGS.fullmatch(word):
            continue
        option, _, value = word.partition("=")
        takes = "" if following.startswith(("-", "/")) else following
        if option in _VALUE_OF and re.fullmatch("[0-9]{1,9}", value or takes):
            counts[_VALUE_OF[option]] = int(value or takes)
        else:
            settings.append(f"{word} {takes}".strip()[:200])
    return tuple(dict.fromkeys(settings)), load_text(**counts)


def _further_settings_of(command: str) -> tuple[str, ...]:
    """The same without the load, and without what CSV and JSON have in columns."""
    settings, _ = _settings_of(command)
    return tuple(setting for setting in settings if not _SAID.fullmatch(setting))
