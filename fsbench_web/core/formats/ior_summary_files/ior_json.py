"""What IOR 3.2 to 4 writes with ``-O summaryFormat=JSON``.

The summary has the rates of each operation over its repetitions (MiB/s, operations/s, s), the
results above it those of each repetition. Source: IOR's ``ior-output.c``, and output of 4.1.
"""

import re

from fsbench_web.core.formats.ior_summary_files.repetitions import REPETITION
from fsbench_web.core.formats.json_text import JsonError, JsonObject, JsonText, Number
from fsbench_web.core.formats.result import ParsedResult, UnreadableFile, load_text
from fsbench_web.core.formats.values import Collector, test_name

FORMAT = "ior-json"
_MARK = re.compile(r'"(?:bwMaxMIB|bwMiB|deadlineForStonewall)"\s*:')
_START = re.compile(r'\{\s*"')
_SUMMARY = {
    "bwMaxMIB": ("max", "MiB/s"),
    "bwMinMIB": ("min", "MiB/s"),
    "bwMeanMIB": ("mean", "MiB/s"),
    "OPsMax": ("max_ops", "ops/s"),
    "OPsMin": ("min_ops", "ops/s"),
    "OPsMean": ("mean_ops", "ops/s"),
    "MeanTime": ("time", "s"),
}
# What may differ between repeats: names, places, seeds and how much is printed. IOR prints
# "options" as the address that it has in memory.
_NO_SETTINGS = frozenset(
    {
        *("testID", "refnum", "platform", "testFileName", "test filename", "options", "verbose"),
        *("keepFile", "keepFileWithError", "warningAsErrors", "apiVersion", "repetitions"),
        *("tasks", "clients per node", "tasksPerNode", "nodes", "interTestDelay", "dryRun"),
        *("reorderTasksRandomSeed", "reorder random seed"),
        "setTimeStampSignature/incompressibleSeed",
    }
)


def recognises(lines: list[str]) -> bool:
    """Whether a line names a rate or a parameter as IOR's JSON does."""
    return any(_MARK.search(line) for line in lines)


def parse(lines: list[str]) -> ParsedResult:
    """All summaries, or all repetitions where there is none.

    Raises UnreadableFile for JSON that is cut off or says no rate.
    """
    result = ParsedResult(FORMAT, "ior")
    collector = Collector(result)
    source = JsonText(lines)
    position = 0
    while (start := _START.search(source.text, position)) is not None:
        try:
            root, position = source.read(start.start())
        except JsonError as error:
            raise UnreadableFile([error.problem]) from None
        tests = root.objects("tests")
        result.tool_version = result.tool_version or root.text("Version")[:40]
        result.command = result.command or root.text("Command line")[:2000]
        if (began := root.text("Began")) and not result.facts:
            result.facts.append(("Run at", began[:80]))
        made_with = {
            _whole_number(test, "TestID"): list(
                dict.fromkeys(
                    text
                    for name in ("Options", "Parameters")
                    for text in _settings(test.object(name))
                )
            )
            for test in tests
        }
        if summary := root.objects("summary"):
            last: int | None = None
            for place, entry in enumerate(summary):
                test_id = _whole_number(entry, "TestID")
                if not place or test_id != last:
                    collector.begin(made_with.get(test_id, ()))
                last = test_id
                _summary(collector, entry, tests)
        else:
            for test in tests:
                _repetitions(collector, test, made_with[_whole_number(test, "TestID")])
    return collector.finish("This is IOR's JSON, and no test in it has a result.", len(lines))


def _settings(options: JsonObject) -> list[str]:
    texts = [(key, v.text if isinstance(v, Number) else v) for key, v in options]
    settings = [
        f"{key} {text}"[:200]
        for key, text in texts
        if isinstance(text, str) and text and key not in _NO_SETTINGS
    ]
    # As IOR's text has it: as many tasks on several machines are another workload than on one.
    nodes = _whole_number(options, "nodes")
    return [*settings, f"{nodes} nodes"] if nodes is not None and nodes > 1 else settings


def _summary(collector: Collector, entry: JsonObject, tests: list[JsonObject]) -> None:
    operation = entry.text("operation")
    load = load_text(tasks=_whole_number(entry, "numTasks"))
    repetitions = [
        repetition
        for test in tests
        if _whole_number(test, "TestID") == _whole_number(entry, "TestID")
        for repetition in test.objects("Results")
        if repetition.text("access") == operation
    ]
    for key, (kind, unit) in _SUMMARY.items():
        value = entry.number(key)
        if value is None:
            collector.warn(entry.line, f"ior_{operation}_{kind} has no number; it stays missing.")
            continue
        rates = [repetition.number("bwMiB") for repetition in repetitions] if kind == "mean" else []
        collector.add(
            test_name("ior", operation, kind),
            value.text,
            unit,
            value.line,
            load=load,
            sizes=_sizes(entry),
            samples=[float(rate.text) for rate in rates if rate is not None],
        )


def _whole_number(entry: JsonObject, key: str) -> int | None:
    number = entry.number(key)
    return int(number.text) if number and re.fullmatch("[0-9]{1,18}", number.text) else None


def _sizes(entry: JsonObject) -> tuple[int | None, int | None]:
    """Transfer size and what a task writes, in KB, where both are whole."""
    sizes = [_whole_number(entry, key) for key in ("transferSize", "blockSize", "segmentCount")]
    transfer, block, segments = (size or 0 for size in sizes)
    size = block * segments
    if not transfer or not size or transfer % 1024 or size % 1024:
        return None, None
    in_range = transfer < 2**41 and size < 2**60
    return (transfer // 1024, size // 1024) if in_range else (None, None)


def _repetitions(collector: Collector, test: JsonObject, settings: list[str]) -> None:
    collector.result.complete = False
    message = "IOR's summary is not there: the run did not end. Its repetitions are read."
    collector.warn(test.line, message)
    load = load_text(tasks=_whole_number(test.object("Options"), "tasks"))
    seen: set[str] = set()
    for entry in test.objects("Results"):
        access = entry.text("access")
        if not seen or access in seen:
            collector.begin(settings)
            seen = set()
        seen.add(access)
        for key, (kind, unit) in REPETITION.items():
            if (value := entry.number(key)) is not None:
                name = test_name("ior", access, kind)
                collector.add(name, value.text, unit, value.line, load=load)
