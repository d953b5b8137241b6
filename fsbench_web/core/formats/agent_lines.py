"""Numbers that fsbench's agent and other programs print: one JSON object a line.

``{"fsbench": "mongo_create_real", "value": "0.512034", "unit": "s", "load": {"bytes": 100}}``. The
load may be left out, and other lines may stand between.
"""

import json
import re
from typing import Any

from fsbench_web.core.formats.result import ParsedResult, load_text
from fsbench_web.core.formats.text import quoted
from fsbench_web.core.formats.values import Collector, any_line, reads, test_name

_START = re.compile(r'^\{"fsbench": ?"')
_LOAD_NAME = re.compile(r"[a-z]{1,20}")
_MOST = 10**12


@reads("fsbench-lines", "fsbench", any_line(_START.match))
def parse(lines: list[str], collector: Collector) -> ParsedResult:
    """All numbers. Raises UnreadableFile for an object that is cut off or lacks something."""
    for number, line in enumerate(lines, start=1):
        if _START.match(line):
            _value(collector, line, number)
    return collector.finish("No line of this file holds a number.", 1)


def _value(collector: Collector, line: str, number: int) -> None:
    try:
        # Digits stay as printed.
        entry = json.loads(line, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        collector.refuse(number, f"{quoted(line)} is no JSON object: it is cut off or was changed.")
        return
    value, unit, load = entry.get("value"), entry.get("unit"), _load(entry.get("load", {}))
    if not isinstance(entry["fsbench"], str) or not isinstance(value, str):
        collector.refuse(number, "The line names no test, or holds no value.")
    elif not isinstance(unit, str) or not 0 < len(unit) <= 20 or not unit.isprintable():
        collector.refuse(number, "The line's value has no unit.")
    elif load is None:
        collector.refuse(number, "A load is names in small letters with whole numbers.")
    else:
        collector.load = load
        collector.add(test_name(entry["fsbench"]), value, unit, number)


def _load(load: Any) -> str | None:
    """The load as measurements keep it; None for anything that is none."""
    if not isinstance(load, dict):
        return None
    counts = {}
    for name, count in load.items():
        is_count = isinstance(count, str) and re.fullmatch("[0-9]{1,13}", count)
        if not _LOAD_NAME.fullmatch(name) or not is_count or int(count) > _MOST:
            return None
        counts[name] = int(count)
    return load_text(**counts)
