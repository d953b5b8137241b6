"""What a preview shows of a run's numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from fsbench_web.core.formats import ParsedValue
from fsbench_web.core.scoring import testnames


@dataclass(frozen=True)
class TestSummary:
    """One test of one run. Sizes are KB, None for tests without them; rates are in ``unit``."""

    test: str
    label: str
    cells: int
    unit: str
    smallest: float
    largest: float
    record_kb: tuple[int, int] | None
    file_kb: tuple[int, int] | None


def summary(values: Sequence[ParsedValue]) -> list[TestSummary]:
    """One row a test, in IOzone's order."""
    by_name: dict[str, list[ParsedValue]] = {}
    for value in values:
        by_name.setdefault(testnames.at_load(value.test, value.load), []).append(value)
    return [_row(test, by_name[test]) for test in sorted(by_name, key=testnames.place)]


def _row(test: str, values: list[ParsedValue]) -> TestSummary:
    numbers = [value.value for value in values]
    records = [v.record_size_kb for v in values if v.record_size_kb is not None]
    files = [v.file_size_kb for v in values if v.file_size_kb is not None]
    return TestSummary(
        test=test,
        label=testnames.label(test),
        cells=len(values),
        unit=values[0].unit,
        smallest=min(numbers),
        largest=max(numbers),
        record_kb=(min(records), max(records)) if records else None,
        file_kb=(min(files), max(files)) if files else None,
    )
