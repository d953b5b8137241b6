"""Delta tables as in Appendix A of the Unisys 2005 paper: the same for page, CSV, API and link."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fsbench_web.compare import prints
from fsbench_web.compare.contenders import configuration_names, shown_label
from fsbench_web.compare.rows import DeltaRow, DeltaTable
from fsbench_web.compare.spec import ComparisonSpec, SpecError
from fsbench_web.scoring import categories, testnames
from fsbench_web.scoring.deltas import Delta, delta_rows, worst_first
from fsbench_web.scoring.units import lower_is_better
from fsbench_web.studies.queries import ScoreChoices, ScoreRow, score_choices, scores_for

NOT_COMPARABLE = "not_comparable"
MIXED_WORKLOADS = "mixed_workloads"
MIXED_HARDWARE = "mixed_hardware"
MIXED_SYSTEMS = "mixed_systems"
MIXED_PREPARATIONS = "mixed_preparations"

TableKey = tuple[str, str, str]
"""(test, category, unit): values of different units are never ranked together."""


@dataclass(frozen=True)
class Comparison:
    """The tables of a spec, what there was to choose from, and every run that was considered.

    ``run_ids`` holds the runs behind all scores that passed the filters, also of those that were
    not the best of their contender.
    """

    spec: ComparisonSpec
    tables: list[DeltaTable]
    choices: ScoreChoices
    run_ids: frozenset[int]


def delta_tables(spec: ComparisonSpec) -> list[DeltaTable]:
    """The delta tables of ``spec``, tests and categories in the paper's order. Four queries.

    Raises SpecError for a study, test, file system, workload or hardware that does not exist.
    """
    return comparison(spec).tables


def comparison(spec: ComparisonSpec) -> Comparison:
    """The same with what the page needs around the tables. Four queries; raises SpecError."""
    choices = score_choices()
    problems = spec.unknown_values(choices)
    if problems:
        raise SpecError(problems)
    # The filters of contenders come after the query: whether a printed delta is right is asked
    # of the paper's whole table, also when the comparison shows a part of it.
    everything = scores_for(spec.studies, spec.tests, spec.categories)
    checked = prints.check(everything)
    shown = [row for row in everything if _passes(row, spec)]
    names = configuration_names(shown) if spec.by == "configuration" else {}
    tables = [
        _table(key, rows, spec.by, names, checked)
        for key, rows in sorted(_by_table(shown), key=_place)
    ]
    run_ids = frozenset(run_id for row in shown for run_id in row.run_ids)
    return Comparison(spec, tables, choices, run_ids)


@dataclass(frozen=True)
class Way:
    """How to loosen a comparison that shows nothing: which filter, to which spec, with what."""

    filter: str
    spec: ComparisonSpec
    tables: int


def ways_out(spec: ComparisonSpec) -> list[Way]:
    """Each single filter of ``spec`` that hides every score when the others stay."""
    ways = []
    for name in ("filesystems", "tests", "categories", "workloads", "hardware", "studies"):
        if getattr(spec, name):
            looser = spec.without(name)
            shown = {
                (row.test, row.category, row.unit)
                for row in scores_for(
                    looser.studies,
                    looser.tests,
                    looser.categories,
                    looser.filesystems,
                    looser.workloads,
                    looser.hardware,
                )
            }
            if shown:
                ways.append(Way(name, looser, len(shown)))
    return ways


def best_first(rows: Iterable[ScoreRow], lower: bool) -> list[ScoreRow]:
    """Best first. Of equal scores the one that a paper printed, then the best known one."""
    return sorted(
        rows,
        key=lambda row: (
            row.value if lower else -row.value,
            row.published is None,
            not row.configuration_is_known,
            row.configuration,
            row.series_id,
        ),
    )


def _passes(row: ScoreRow, spec: ComparisonSpec) -> bool:
    return (
        (not spec.filesystems or row.filesystem in spec.filesystems)
        and (not spec.workloads or row.workload in spec.workloads)
        and (not spec.hardware or row.hardware in spec.hardware)
    )


def _by_table(rows: Iterable[ScoreRow]) -> Iterable[tuple[TableKey, list[ScoreRow]]]:
    found: dict[TableKey, list[ScoreRow]] = defaultdict(list)
    for row in rows:
        found[row.test, row.category, row.unit].append(row)
    return found.items()


def _place(item: tuple[TableKey, list[ScoreRow]]) -> tuple[object, ...]:
    test, category, unit = item[0]
    return (testnames.place(test), categories.place(category), unit)


def _table(
    key: TableKey,
    rows: Sequence[ScoreRow],
    by: str,
    names: dict[int, str],
    checked: dict[prints.PrintKey, prints.Published],
) -> DeltaTable:
    test, category, unit = key
    lower = _lower_is_better(unit)
    contenders = _contenders(rows, by, names, bool(lower))
    table_flags = _mixed(row for _, row in contenders)
    values = [row.value for _, row in contenders]
    try:
        if lower is None:
            raise ValueError(unit)
        deltas = delta_rows(values, lower)
    except ValueError:
        # A unit without a direction, a negative rate: shown as it is, and ranked by nobody.
        deltas = [Delta(best=False, delta1_percent=None, delta2_percent=None) for _ in values]
        table_flags = (*table_flags, NOT_COMPARABLE)
    order = worst_first(values, [name for name, _ in contenders], bool(lower))
    return DeltaTable(
        test=test,
        category=category,
        unit=unit,
        lower_is_better=bool(lower),
        rows=tuple(
            _row(*contenders[place], deltas[place], table_flags, checked) for place in order
        ),
    )


def _lower_is_better(unit: str) -> bool | None:
    try:
        return lower_is_better(unit)
    except ValueError:
        return None


def _contenders(
    rows: Sequence[ScoreRow], by: str, names: dict[int, str], lower: bool
) -> list[tuple[str, ScoreRow]]:
    if by == "configuration":
        return [(names[row.series_id], row) for row in rows]
    best: dict[str, ScoreRow] = {}
    for row in best_first(rows, lower):
        best.setdefault(row.filesystem.lower(), row)
    return list(best.items())


def _mixed(rows: Iterable[ScoreRow]) -> tuple[str, ...]:
    kept = list(rows)
    asked: list[tuple[str, Callable[[ScoreRow], object]]] = [
        (MIXED_WORKLOADS, lambda row: row.workload),
        (MIXED_HARDWARE, lambda row: row.hardware),
        (MIXED_SYSTEMS, lambda row: (row.kernel, row.distribution)),
        (MIXED_PREPARATIONS, lambda row: row.preparation),
    ]
    return tuple(flag for flag, of in asked if len({of(row) for row in kept}) > 1)


def _row(
    contender: str,
    row: ScoreRow,
    delta: Delta,
    table_flags: Sequence[str],
    checked: dict[prints.PrintKey, prints.Published],
) -> DeltaRow:
    published = checked.get(prints.key_of(row))
    flags = [*row.flags, *table_flags]
    if published is not None and published.differs:
        flags.append(prints.PUBLISHED_DIFFERS)
    return DeltaRow(
        contender=contender,
        configuration=shown_label(row),
        score=row.value,
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
        half_width=row.half_width,
        half_width_percent=row.half_width_percent,
        preparation=row.preparation or None,
        origin=row.origin,
        run_ids=row.run_ids,
    )
