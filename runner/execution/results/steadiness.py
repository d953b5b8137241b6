"""Which tests of a run became steady, where they were to stop at that: for ``Run.conditions``."""

from collections.abc import Iterable

from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.scoring.testnames import at_load


def noted(values: Iterable[ParsedValue]) -> dict[str, list[str]]:
    """``{"attained": [test with its load, ...], "missed": [...]}``; empty where none was to."""
    found: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for value in values:
        if value.is_steady is not None:
            found[value.is_steady][at_load(value.test, value.load)] = None
    if not any(found.values()):
        return {}
    return {"attained": list(found[True]), "missed": list(found[False])}
