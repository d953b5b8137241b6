"""The JSON that elbencho 3.1 (--jsonfile) appends an object to for every phase.

All values are texts. Rates of data are bytes/s and become MiB/s, exactly, as its CSV has them;
times are milliseconds, latencies microseconds. Source: elbencho's ``Statistics.cpp``, and output of
3.1.
"""

import re
from decimal import Decimal

from fsbench_web.core.formats.elbencho.command import further_settings_of
from fsbench_web.core.formats.json_text import JsonError, JsonObject, JsonText
from fsbench_web.core.formats.result import ParsedResult, UnreadableFile, load_text
from fsbench_web.core.formats.values import Collector, test_name

FORMAT = "elbencho-json"
_MARK = re.compile(r'"phase_type"\s*:\s*"')
_START = re.compile(r'\{\s*"phase_type"')
_RATES: dict[str, tuple[str, str, Decimal | int]] = {
    "elapsed_time_ms": ("time", "ms", 1),
    "entries/s": ("entries", "ops/s", 1),
    "iops": ("iops", "ops/s", 1),
    "bytes/s": ("throughput", "MiB/s", Decimal(1) / 1048576),
}
_LATENCIES = {"entries": "entry_latency", "IO": "io_latency"}
_LOADS = {"hosts": "hosts", "threads": "threads", "iodepth": "io_depth"}
# How its CSV calls them: the settings that tell runs apart.
_SETTINGS = {
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
_LOADS_OF = {key: name for name, key in _LOADS.items()}
# They make room for the others and move no data.
HOUSEKEEPING = frozenset({"SYNC", "DROPCACHE", "DROPCACHES"})


def recognises(lines: list[str]) -> bool:
    """Whether a line names a phase as elbencho's JSON does, and its results."""
    return any(_MARK.search(line) for line in lines) and any(
        '"first_done"' in line or '"config"' in line or '"iso_start_date"' in line for line in lines
    )


def parse(lines: list[str]) -> ParsedResult:
    """All phases. Raises UnreadableFile for JSON that is cut off."""
    result = ParsedResult(FORMAT, "elbencho")
    collector = Collector(result)
    source = JsonText(lines)
    position = 0
    first: dict[str, str] = {}
    while (start := _START.search(source.text, position)) is not None:
        try:
            root, position = source.read(start.start())
        except JsonError as error:
            raise UnreadableFile([error.problem]) from None
        config = root.object("config")
        result.tool_version = result.tool_version or config.text("version")[:40]
        result.command = result.command or config.text("command")[:2000]
        if (date := root.text("iso_start_date")) and not result.facts:
            result.facts.append(("Run at", date[:80]))
        if root.text("phase_type").upper() in HOUSEKEEPING:
            continue
        settings = {name: config.text(key) for key, name in (_SETTINGS | _LOADS_OF).items()}
        if first and settings != first:
            collector.refuse(
                source.line_of(start.start()),
                "This phase was run with other settings than the first: make each run of elbencho "
                "a file of its own.",
            )
        first = first or settings
        collector.begin()
        _phase(collector, root, config)
    parts = [f"{name} {text}"[:200] for name, text in first.items() if text and name not in _LOADS]
    result.modes = (*parts, *further_settings_of(result.command))
    return collector.finish("This is elbencho's JSON, and no phase in it has a result.", len(lines))


def _phase(collector: Collector, root: JsonObject, config: JsonObject) -> None:
    counts = {
        kind: int(text)
        for kind, key in _LOADS.items()
        if re.fullmatch("[0-9]{1,9}", text := config.text(key))
    }
    load = load_text(**counts)
    operation = root.text("phase_type")
    if config.text("random_offsets") in ("1", "true") and operation in ("READ", "WRITE", "RWMIX"):
        operation = f"random_{operation}"
    # Making directories has sizes in its settings too, and nothing to do with them.
    trees = [root.object(key) for key in ("first_done", "last_done")]
    trees += [tree.object("rwmix_read") for tree in trees]
    moves_data = any(tree.text("iops") or tree.text("bytes/s") for tree in trees)
    sizes = _sizes(config) if moves_data else (None, None)
    for key, when in (("first_done", "first"), ("last_done", "last")):
        done = root.object(key)
        for side, tree in (("", done), ("read", done.object("rwmix_read"))):
            for name, (kind, unit, times) in _RATES.items():
                if text := tree.text(name):
                    test = test_name("elbencho", operation, kind, side, when)
                    collector.add(test, text, unit, done.line, times=times, load=load, sizes=sizes)
    latency = root.object("last_done").object("latency")
    for key, name in _LATENCIES.items():
        for side, tree in (
            ("", latency.object(key)),
            ("read", latency.object(key).object("rwmix_read")),
        ):
            for end in ("min", "avg", "max"):
                if text := tree.text(f"{end}_us"):
                    test = test_name("elbencho", operation, name, side, end)
                    collector.add(test, text, "µs", latency.line, load=load, sizes=sizes)


def _sizes(config: JsonObject) -> tuple[int | None, int | None]:
    """Block and file size in KB of 1024 bytes, where both are given and whole."""
    texts = (config.text("block_size"), config.text("file_size"))
    if not all(re.fullmatch("[0-9]{1,18}", text) for text in texts):
        return None, None
    block, size = map(int, texts)
    if not block or not size or block % 1024 or size % 1024 or block >= 2**41 or size >= 2**60:
        return None, None
    return block // 1024, size // 1024
