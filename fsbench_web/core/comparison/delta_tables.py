"""The delta table of contenders, as in Appendix A of the Unisys 2005 paper. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import repeat
from typing import Any, NamedTuple, TypeVar

from fsbench_web.core.comparison.rows import (
    PARTIAL,
    PUBLISHED_DIFFERS,
    Candidate,
    DeltaRow,
    DeltaTable,
    PrintKey,
    ScoreRow,
    SeriesFacts,
    print_key,
    slug_of,
)
from fsbench_web.core.comparison.rows import Value as PropertyValue
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.categories import CATEGORIES, MEAN, Cell
from fsbench_web.core.scoring.deltas import (
    Delta,
    Published,
    Value,
    change_percent,
    delta_rows,
    worst_first,
)
from fsbench_web.core.scoring.scores import UNEQUAL_REPEATS, ScoreValue, score_repeats
from fsbench_web.core.stats import intervals
from fsbench_web.core.units import (
    ONE,
    OPEN_UNITS,
    SUM,
    DisplayUnit,
    Printed,
    base_of,
    exact_fraction,
    is_ambiguous,
    lower_is_better,
    overall_unit,
    shown_units,
    unit_factor,
)

# Who competes in which table and unit, and unique short names for contenders.

UNIT_UNEXPLAINED = "unit_unexplained"
"""It is unknown what KB means in this row, but known for other rows of its table."""

_Score = TypeVar("_Score")


class TableKey(NamedTuple):
    """What the scores of one table share. ``unit``: as shown; ``summed``: of summed rates."""

    test: str
    category: str
    unit: str
    summed: str = ""
    is_unexplained: bool = False


ScaledScore = tuple[_Score, Fraction]
"""A score, and how many of its table's unit its own unit is."""


def direction(unit: str) -> bool | None:
    """Whether lower is better; None where that is unknown."""
    try:
        return lower_is_better(unit)
    except ValueError:
        return None


def tool_of(facts: SeriesFacts) -> str:
    """What defines the units of a series: its tool, or its study if the tool is unknown."""
    return facts.tool or f"study:{facts.study}"


def by_table(
    scores: Iterable[_Score], name_of: Callable[[_Score], tuple[str, str, str, str]], system: str
) -> list[tuple[TableKey, list[ScaledScore[_Score]]]]:
    """The scores of each table in the paper's order. ``name_of``: test, category, unit, tool."""
    named: dict[tuple[str, str, str, str], list[_Score]] = defaultdict(list)
    for score in scores:  # there are thousands: as little as can be is done with each
        named[name_of(score)].append(score)
    groups: dict[tuple[str, str], dict[Printed, list[_Score]]] = defaultdict(dict)
    for (test, category, unit, tool), of_name in named.items():
        groups[test, category][unit, tool] = of_name
    tables: dict[TableKey, list[ScaledScore[_Score]]] = {}
    for (test, category), of_units in groups.items():
        display_units = shown_units(of_units.keys(), system)
        for printed, unit_scores in of_units.items():
            key = _key(test, category, printed, display_units)
            tables.setdefault(key, []).extend(
                zip(unit_scores, repeat(display_units[printed].times))
            )
    return sorted(
        tables.items(),
        key=lambda item: (
            *(testnames.place(item[0].test), categories.place(item[0].category)),
            *(item[0].is_unexplained, item[0].unit, item[0].summed),
        ),
    )


def _key(
    test: str, category: str, printed: Printed, display_units: Mapping[Printed, DisplayUnit]
) -> TableKey:
    display = display_units[printed]
    if category != "overall":
        return TableKey(test, category, display.unit, is_unexplained=display.is_unexplained)
    unit = overall_unit(display.unit)
    is_plain = (
        len({(other.unit, other.times) for other in display_units.values()}) == 1 == display.times
    )
    summed = display.unit if unit == SUM != display.unit and not is_plain else ""
    return TableKey(test, category, unit, summed, display.is_unexplained)


class Contender(NamedTuple):
    """``row`` is the best of ``configurations``; ``times`` converts it to the table's unit."""

    name: str
    label: str
    row: ScoreRow
    configurations: int
    times: Fraction = ONE

    @property
    def exact(self) -> Value:
        """Its score in the unit of its table, exactly."""
        return self.row.value if self.times is ONE else exact_fraction(self.row.value) * self.times


class BestPerValue(NamedTuple):
    """The best ``score`` of one ``value``; ``times`` converts it to the table's unit."""

    value: PropertyValue
    score: Candidate
    times: Fraction = ONE
    has_several_units: bool = False


def best_of_each(
    scores: Iterable[ScaledScore[Candidate]],
    values: Mapping[int, PropertyValue],
    series: Mapping[int, SeriesFacts],
    lower_is_better: bool,
) -> list[BestPerValue]:
    """The best score of each value, best first. Ties: printed first, then known configurations."""
    sign = 1 if lower_is_better else -1
    placed = list(scores)
    is_converted = any(times is not ONE for _, times in placed)
    members: dict[str, list[_Member]] = defaultdict(list)
    for score, times in placed:
        # The order of floats is that of the decimals that people see.
        number = exact_fraction(score.value) * times if is_converted else score.value
        members[values[score.series_id].slug].append((sign * number, score, times))

    def standing(member: _Member) -> tuple[object, ...]:
        value, score, _ = member
        facts = series[score.series_id]
        return (
            value,
            not score.is_printed,
            not facts.configuration_is_known,
            facts.configuration,
            score.series_id,
        )

    best = []
    for group in members.values():
        least = min(value for value, _, _ in group)
        first = min((member for member in group if member[0] == least), key=standing)
        several = len({score.unit for _, score, _ in group}) > 1
        winner = BestPerValue(values[first[1].series_id], *first[1:], several)
        best.append((standing(first), winner))
    return [winner for _, winner in sorted(best, key=lambda pair: pair[0])]


def best_by_table(
    candidates: Iterable[Candidate],
    values: Mapping[int, PropertyValue],
    series: Mapping[int, SeriesFacts],
    units: str,
) -> list[tuple[TableKey, list[BestPerValue]]]:
    """The best score of each value, by table; ``values`` and ``series`` by the key of series."""
    tools = {pk: tool_of(series[pk]) for pk in values}
    tables = by_table(
        candidates,
        lambda score: (score.test, score.category, score.unit, tools[score.series_id]),
        units,
    )
    return [
        (key, best_of_each(scores, values, series, bool(direction(key.unit))))
        for key, scores in tables
    ]


_Member = tuple[Value, Candidate, Fraction]
"""A score in the unit of its table, less being better; as it is; and how its unit is converted."""


# What can tell two series with one label apart, in the order in which it is asked.
_CIRCUMSTANCES: tuple[Callable[[SeriesFacts], str | None], ...] = (
    lambda row: row.study,
    lambda row: row.hardware,
    lambda row: row.lun,
    lambda row: row.kernel,
    lambda row: row.workload,
    lambda row: row.preparation.replace(",", "") or "not-prepared",
    lambda row: row.distribution,
    lambda row: row.machine.replace(",", "") or "no-guest",
    lambda row: row.guest_kernel,
)


def shown_label(row: ScoreRow) -> str | None:
    """The configuration's label; None where it only repeats the file system's name."""
    if not row.configuration_is_known and row.configuration.lower() == row.filesystem.lower():
        return None
    return row.configuration


def configuration_names(rows: Iterable[SeriesFacts]) -> dict[int, str]:
    """A name for each series: its label, then what tells equal ones apart (``ext4@first``)."""
    groups: dict[str, dict[int, SeriesFacts]] = defaultdict(dict)
    for row in rows:
        groups[slug_of(row.configuration)].setdefault(row.series_id, row)
    names: dict[int, str] = {}
    for label, group in groups.items():
        names |= _distinct_names(label, group)
    # An import may bring a label that looks like a name made here.
    taken = Counter(names.values())
    return {
        series_id: name if taken[name] == 1 else f"{name}@{series_id}"
        for series_id, name in names.items()
    }


def _distinct_names(label: str, group: dict[int, SeriesFacts]) -> dict[int, str]:
    names = dict.fromkeys(group, label)
    for circumstance in _CIRCUMSTANCES:
        alike = Counter(names.values())
        if len(alike) == len(group):
            break
        # What all with one name have in common tells nobody apart.
        values: dict[str, set[str]] = defaultdict(set)
        for series_id, name in names.items():
            values[name].add(slug_of(circumstance(group[series_id]) or ""))
        names = {
            series_id: name
            if len(values[name]) == 1
            else f"{name}@{slug_of(circumstance(group[series_id]) or '') or 'unknown'}"
            for series_id, name in names.items()
        }
    return names


# Scores over the cells that all contenders of a table have.

NOT_MATCHED = "not_matched"
"""Only the score is known and not its cells."""
NO_COMMON_CELLS = "no_common_cells"
"""The contenders of the table have no cell in common."""

Repeats = Mapping[int, Mapping[Cell, float]]
"""A mapping a run, by the run: (record size KB, file size KB) to the value."""


def over_common_cells(
    contenders: Sequence[Contender], category: str, measured: Mapping[int, Repeats]
) -> list[Contender]:
    """The contenders of one table scored over the cells that all have.

    ``measured``: cells of the series in this test; a series without any keeps its score, flagged.
    """
    cells = {
        contender.row.series_id: set().union(*measured[contender.row.series_id].values())
        for contender in contenders
        if measured.get(contender.row.series_id)
    }
    if category == MEAN:
        return list(contenders)  # One value a run: there are no cells to choose from.
    if not cells:
        return [_with_flag(contender, NOT_MATCHED) for contender in contenders]
    common = set.intersection(*cells.values())
    scores = {series: _scores_over(measured[series], common).get(category) for series in cells}
    if any(score is None for score in scores.values()):
        return [_with_flag(contender, NO_COMMON_CELLS) for contender in contenders]
    return [
        _with_flag(contender, NOT_MATCHED)
        if contender.row.series_id not in cells
        else contender._replace(
            row=_rescored(
                contender.row, category, scores[contender.row.series_id], measured, common
            )
        )
        for contender in contenders
    ]


@dataclass(frozen=True)
class Coverage:
    """The cells of a test that a contender has: ``common`` to all, ``missing``; None if unknown."""

    contender: str
    configuration: str
    cells: int | None
    common: int
    missing: tuple[Cell, ...]


def coverage(contenders: Sequence[Contender], measured: Mapping[int, Repeats]) -> list[Coverage]:
    """The cells behind every score that is shown of one test, by contender and configuration."""
    rows = {(contender.name, contender.row.series_id): contender.row for contender in contenders}
    cells = {
        series: set().union(*measured[series].values())
        for _, series in rows
        if measured.get(series)
    }
    every = set().union(*cells.values())
    common = set.intersection(*cells.values()) if cells else set()
    return [
        Coverage(
            name,
            row.configuration,
            len(cells[series]) if series in cells else None,
            len(common),
            tuple(sorted(every - cells[series])) if series in cells else (),
        )
        for (name, series), row in sorted(rows.items())
    ]


def _scores_over(repeats: Repeats, common: set[Cell]) -> dict[str, ScoreValue]:
    return score_repeats(
        [{cell: value for cell, value in run.items() if cell in common} for run in repeats.values()]
    )


def _rescored(
    row: ScoreRow,
    category: str,
    score: ScoreValue | None,
    measured: Mapping[int, Repeats],
    common: set[Cell],
) -> ScoreRow:
    assert score is not None  # asked before, of all of them
    repeats = measured[row.series_id]
    of_runs = {pk: _scores_over({pk: run}, common).get(category) for pk, run in repeats.items()}
    interval = intervals.interval(
        [run_score.value for run_score in of_runs.values() if run_score is not None]
    )
    flags = [flag for flag in row.flags if flag not in (PARTIAL, UNEQUAL_REPEATS)]
    inside = set(filter(CATEGORIES[category].holds, common))
    runs = tuple(pk for pk, run in repeats.items() if not inside.isdisjoint(run))
    blocks = dict(zip(row.run_ids, row.repeat_scores or (), strict=False))
    return replace(
        row,
        value=score.value,
        repeats=score.repeats,
        run_ids=runs,
        repeat_scores=tuple(
            (
                blocks[pk][0] if pk in blocks else "",
                run_score.value if (run_score := of_runs[pk]) else None,
            )
            for pk in runs
        ),
        cells=score.cells,
        cells_expected=row.cells,
        flags=(*flags, *score.flags),
        published=None,
        share=None,  # it is of other cells
        interval=interval,
        half_width=interval.half_width if interval else None,
        half_width_percent=interval.relative_percent if interval else None,
    )


def _with_flag(contender: Contender, flag: str) -> Contender:
    row = contender.row
    return contender._replace(row=replace(row, flags=(*row.flags, flag)))


NOT_COMPARABLE = "not_comparable"
MIXED_WORKLOADS = "mixed_workloads"
MIXED_HARDWARE = "mixed_hardware"
MIXED_SYSTEMS = "mixed_systems"
MIXED_PREPARATIONS = "mixed_preparations"
MIXED_LUNS = "mixed_luns"
MIXED_MACHINES = "mixed_machines"
NOTHING_PRINTED: Mapping[PrintKey, Published] = {}


def delta_table(
    key: TableKey,
    contenders: Sequence[Contender],
    *,
    by: str,
    baseline: str = "",
    checked: Mapping[PrintKey, Published] = NOTHING_PRINTED,
) -> DeltaTable:
    """The table of ``contenders``, compared ``by`` a property; ``checked`` prints of papers."""
    lower = direction(key.unit)
    table_flags = _mixed_flags([contender.row for contender in contenders], by)
    values = [contender.exact for contender in contenders]
    base = next((contender.exact for contender in contenders if contender.name == baseline), None)
    opened = [
        is_ambiguous(contender.row.printed_unit, tool_of(contender.row)) for contender in contenders
    ]
    is_mixed = any(opened) and not all(opened)
    try:
        if lower is None:
            raise ValueError(key.unit)
        deltas = delta_rows(values, lower)
    except ValueError:
        # A unit without a direction, a negative rate: shown as it is, and ranked by nobody.
        deltas = [Delta(best=False, delta1_percent=None, delta2_percent=None) for _ in values]
        table_flags, base = (*table_flags, NOT_COMPARABLE), None
    changes = [
        None if base is None else change_percent(value, base, bool(lower)) for value in values
    ]
    order = worst_first(values, [contender.name for contender in contenders], bool(lower))
    return DeltaTable(
        test=key.test,
        category=key.category,
        unit=key.unit,
        summed_unit=key.summed,
        is_unexplained=key.is_unexplained,
        unit_base=_unit_base(key.unit, contenders),
        lower_is_better=bool(lower),
        rows=tuple(
            _row(
                contenders[place],
                deltas[place],
                (*table_flags, UNIT_UNEXPLAINED) if is_mixed and opened[place] else table_flags,
                checked,
                change_percent=changes[place],
                is_baseline=bool(baseline) and contenders[place].name == baseline,
            )
            for place in order
        ),
    )


def _unit_base(unit: str, contenders: Sequence[Contender]) -> int | None:
    """What KB, MB or GB are in all rows, where it is known and the same."""
    if unit.removesuffix("/s") not in OPEN_UNITS:
        return None
    bases = set()
    for printed, tool, times in {
        (contender.row.printed_unit, tool_of(contender.row), contender.times)
        for contender in contenders
    }:
        conversion = unit_factor(printed, tool)
        bases.add(None if conversion is None else base_of(unit, conversion.factor / times))
    return bases.pop() if len(bases) == 1 else None


_MIXED = (
    (MIXED_WORKLOADS, "workload"),
    (MIXED_HARDWARE, "hardware"),
    (MIXED_LUNS, "lun"),
    (MIXED_SYSTEMS, "kernel"),
    (MIXED_SYSTEMS, "distribution"),
    (MIXED_PREPARATIONS, "preparation"),
    (MIXED_MACHINES, "machine"),
)


def _mixed_flags(rows: Sequence[ScoreRow], by: str) -> tuple[str, ...]:
    """What else the rows differ in than in what is compared."""
    differing = (
        flag
        for flag, name in _MIXED
        if name != by and len({getattr(row, name) for row in rows}) > 1
    )
    return tuple(dict.fromkeys(differing))


_KEPT = (
    *("filesystem", "study", "study_title", "origin", "run_ids", "series_id", "lun", "cells"),
    *("cells_expected", "left_out", "half_width", "half_width_percent", "interval"),
    *("repeat_scores", "share"),
)
"""What a row of a table has as its score has it."""


def _row(
    contender: Contender,
    delta: Delta,
    table_flags: Sequence[str],
    checked: Mapping[PrintKey, Published],
    *,
    change_percent: float | None,
    is_baseline: bool,
) -> DeltaRow:
    is_converted = contender.times is not ONE
    row = _converted(contender.row, float(contender.times)) if is_converted else contender.row
    # A score made anew is not the one that the paper printed something beside.
    published = checked.get(print_key(row)) if row.published is not None else None
    flags = [*row.flags, *table_flags]
    if published is not None and published.differs:
        flags.append(PUBLISHED_DIFFERS)
    kept: dict[str, Any] = {name: getattr(row, name) for name in _KEPT}
    return DeltaRow(
        **kept,
        **delta._asdict(),
        contender=contender.name,
        label=contender.label,
        configurations=contender.configurations,
        configuration=shown_label(row),
        score=float(contender.exact),
        runs=row.repeats,
        published=published,
        flags=tuple(dict.fromkeys(flags)),
        hardware=row.hardware_name,
        workload=row.workload_title,
        kernel=row.kernel or None,
        distribution=row.distribution or None,
        preparation=row.preparation or None,
        change_percent=change_percent,
        is_baseline=is_baseline,
        printed_score=row.value if is_converted else None,
        printed_unit=row.printed_unit if is_converted else None,
    )


def _converted(row: ScoreRow, times: float) -> ScoreRow:
    """All but the score itself in the unit of the table."""
    return replace(
        row,
        interval=row.interval and row.interval.scaled(times),
        share=row.share and row.share.scaled(times),
        half_width=None if row.half_width is None else row.half_width * times,
        repeat_scores=row.repeat_scores
        and tuple(
            (block, None if value is None else value * times) for block, value in row.repeat_scores
        ),
    )
