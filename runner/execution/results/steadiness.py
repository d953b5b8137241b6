"""Which tests of a run became steady, where they were to stop at that: for ``Run.conditions``."""

from collections.abc import Iterable

from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.scoring.testnames import at_load


def steady_tests(values: Iterable[ParsedValue]) -> dict[str, list[str]]:
    """``{"attained": [test with its load, ...], "missed": [...]}``; empty where none was to."""
    tests: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for value in values:
        if value.is_steady is not None:
            tests[value.is_steady][at_load(value.test, value.load)] = None
    if not any(tests.values()):
        return {}
    return {"attained": list(tests[True]), "missed": list(tests[False])}
