"""The delta table of contenders, as in Appendix A of the Unisys 2005 paper. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fsbench_web.core.comparison.contenders import (
    UNIT_UNEXPLAINED,
    Contender,
    TableKey,
    direction,
    shown_label,
    tool_of,
)
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.comparison.score_rows import (
    PUBLISHED_DIFFERS,
    PrintKey,
    ScoreRow,
    print_key,
)
from fsbench_web.core.scoring.deltas import (
    Delta,
    Published,
    change_percent,
    delta_rows,
    worst_first,
)
from fsbench_web.core.units import ONE, OPEN_UNITS, base_of, is_ambiguous, unit_factor

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
