"""The delta table of contenders, as in Appendix A of the Unisys 2005 paper. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence

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
    table_flags = _mixed_flags((contender.row for contender in contenders), by)
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
                run_ids=contenders[place].row.run_ids,
                score=float(values[place]),
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


def _mixed_flags(rows: Iterable[ScoreRow], by: str) -> tuple[str, ...]:
    """What else the rows differ in than in what is compared."""
    all_rows = list(rows)
    checks: list[tuple[str, str, Callable[[ScoreRow], object]]] = [
        (MIXED_WORKLOADS, "workload", lambda row: row.workload),
        (MIXED_HARDWARE, "hardware", lambda row: row.hardware),
        (MIXED_LUNS, "lun", lambda row: row.lun),
        (MIXED_SYSTEMS, "kernel", lambda row: row.kernel),
        (MIXED_SYSTEMS, "distribution", lambda row: row.distribution),
        (MIXED_PREPARATIONS, "preparation", lambda row: row.preparation),
        (MIXED_MACHINES, "machine", lambda row: row.machine),
    ]
    flags = (
        flag
        for flag, compared, value_of in checks
        if compared != by and _differ(all_rows, value_of)
    )
    return tuple(dict.fromkeys(flags))


def _differ(rows: Sequence[ScoreRow], value_of: Callable[[ScoreRow], object]) -> bool:
    return len({value_of(row) for row in rows}) > 1


def _row(
    contender: Contender,
    delta: Delta,
    table_flags: Sequence[str],
    checked: Mapping[PrintKey, Published],
    *,
    change_percent: float | None,
    is_baseline: bool,
    run_ids: tuple[int, ...],
    score: float,
) -> DeltaRow:
    row, is_converted = contender.row, contender.times is not ONE
    interval, half_width, repeats = row.interval, row.half_width, row.repeat_scores
    share = row.share
    if is_converted:
        scale = float(contender.times)
        interval = interval and interval.scaled(scale)
        share = share and share.scaled(scale)
        repeats = repeats and tuple(
            (block, None if value is None else value * scale) for block, value in repeats
        )
        half_width = None if half_width is None else half_width * scale
    # A score made anew is not the one that the paper printed something beside.
    published = checked.get(print_key(row)) if row.published is not None else None
    flags = [*row.flags, *table_flags]
    if published is not None and published.differs:
        flags.append(PUBLISHED_DIFFERS)
    return DeltaRow(
        contender=contender.name,
        label=contender.label,
        configurations=contender.configurations,
        configuration=shown_label(row),
        score=score,
        best=delta.best,
        delta1_percent=delta.delta1_percent,
        delta2_percent=delta.delta2_percent,
        runs=row.repeats,
        published=published,
        flags=tuple(dict.fromkeys(flags)),
        filesystem=row.filesystem,
        study=row.study,
        study_title=row.study_title,
        hardware=row.hardware_name,
        workload=row.workload_title,
        kernel=row.kernel or None,
        distribution=row.distribution or None,
        half_width=half_width,
        half_width_percent=row.half_width_percent,
        interval=interval,
        preparation=row.preparation or None,
        origin=row.origin,
        run_ids=run_ids,
        series_id=row.series_id,
        lun=row.lun,
        cells=row.cells,
        cells_expected=row.cells_expected,
        left_out=row.left_out,
        repeat_scores=repeats,
        share=share,
        change_percent=change_percent,
        is_baseline=is_baseline,
        printed_score=row.value if is_converted else None,
        printed_unit=row.printed_unit if is_converted else None,
    )
