"""Statements of a published study, checked against its tables (studies.published). Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from fsbench_web.compare.tables.findings import Part, Places, section_place
from fsbench_web.compare.tables.verdicts.uncertainty import percents
from fsbench_web.core import numbers
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.scoring import categories, testnames

CONFIRMED = "confirmed"
DIFFERS = "differs"
UNCHECKED = "cannot be checked"
_ROUNDING = 0.005  # of one printed score


@dataclass(frozen=True)
class CheckedStatement:
    """One statement. ``place`` is where the paper makes it; ``parts`` say what the tables show."""

    text: str
    place: str
    verdict: str
    parts: tuple[Part, ...]

    @property
    def slug(self) -> str:
        return {CONFIRMED: "is-ok", DIFFERS: "is-warn"}.get(self.verdict, "")


def check(
    statements: Sequence[Mapping[str, Any]],
    tables: Sequence[DeltaTable],
    places: Places = section_place,
) -> list[CheckedStatement]:
    """Every statement with its verdict. ``tables`` are the study's by file system."""
    return [_check_statement(statement, tables, places) for statement in statements]


def _check_statement(
    statement: Mapping[str, Any], tables: Sequence[DeltaTable], places: Places
) -> CheckedStatement:
    criterion = statement.get("check")
    verdict, parts = (
        (UNCHECKED, [Part(statement["why"])])
        if criterion is None
        else _checked(criterion, tables, places)
    )
    return CheckedStatement(statement["text"], statement["place"], verdict, tuple(parts))


def _score(
    criterion: Mapping[str, Any], table: DeltaTable, row: DeltaRow
) -> tuple[str, list[Part]]:
    """The score of a file system's best configuration in one table."""
    if abs(row.score - float(Decimal(criterion["score"]))) > _ROUNDING:
        return DIFFERS, [Part(f" gives {row.contender} {_amount(row, table)}.")]
    order = table.best_first
    rank = next(place for place, other in enumerate(order) if other is row)
    text = f" gives {row.contender} the same score, "
    if row.best:
        text += "the best of its table"
        second = next((other for other in order if not other.best), None)
        if second is not None and second.delta2_percent is not None:
            text += f", {percents(abs(second.delta2_percent))} faster than {second.contender}"
    else:
        ahead = [other.contender for other in order[:rank]]
        text += f"with {' and '.join(ahead)} ahead"
        if row.delta1_percent is not None:
            text += f": it is {percents(row.delta1_percent)} slower than the best"
    return CONFIRMED, [Part(f"{text}.")]


def _other_configuration(
    criterion: Mapping[str, Any], table: DeltaTable, row: DeltaRow
) -> tuple[str, list[Part]]:
    """Whether a configuration that is not the best has a lower score, as it must."""
    score = float(Decimal(criterion["score"]))
    is_behind = score > row.score if table.lower_is_better else score < row.score
    if not is_behind:
        return DIFFERS, [
            Part(f" gives the best of {row.contender} {_amount(row, table)}, which is not better."),
        ]
    return UNCHECKED, [
        Part(
            f" has one configuration of each file system, and for {row.contender} another one, "
            f"with {_amount(row, table)}. The stated score is behind that, as it must be."
        ),
    ]


def _parts_of_overall(
    criterion: Mapping[str, Any], sums: Sequence[tuple[float, float]]
) -> tuple[str, list[Part]]:
    """Whether an overall score can be the sum of the first ``parts`` categories: never above it."""
    above = sum(1 for overall, parts in sums if overall > parts + _rounding_allowance(criterion))
    if above:
        return DIFFERS, [
            Part(
                f"{above} of the {len(sums)} overall scores are above the sum of the best scores "
                "of these categories, and could not be if that were all that is summed."
            )
        ]
    return CONFIRMED, [
        Part(
            f"None of the {len(sums)} overall scores is above the sum of the best scores of these "
            "categories."
        )
    ]


def _won_by_several(
    criterion: Mapping[str, Any], sums: Sequence[tuple[float, float]]
) -> tuple[str, list[Part]]:
    """Whether a file system's best scores belong to more than one configuration."""
    below = sum(1 for overall, parts in sums if overall < parts - _rounding_allowance(criterion))
    return CONFIRMED if below else UNCHECKED, [
        Part(
            f"{below} of the {len(sums)} overall scores are below the sum of the file system's "
            "best scores in the categories: these are not of one configuration."
        )
    ]


_OF_ROWS = {"score": _score, "other_configuration": _other_configuration}
_OF_SUMS = {"overall_is_sum": _parts_of_overall, "several_configurations": _won_by_several}
KINDS = frozenset({*_OF_ROWS, *_OF_SUMS})


def _checked(
    criterion: Mapping[str, Any], tables: Sequence[DeltaTable], places: Places
) -> tuple[str, list[Part]]:
    if check_row := _OF_ROWS.get(criterion["kind"]):
        match = _row(criterion, tables)
        if match is None:
            return UNCHECKED, [Part("The tables have no such score.")]
        verdict, parts = check_row(criterion, *match)
        return verdict, [Part(_title(match[0]), places(match[0])), *parts]
    sums = _sums(tables, int(criterion.get("parts", len(categories.SUMMED))))
    if not sums:
        return UNCHECKED, [Part("The tables have not all of these scores.")]
    return _OF_SUMS[criterion["kind"]](criterion, sums)


def _rounding_allowance(criterion: Mapping[str, Any]) -> float:
    """What the rounding of the printed scores can add up to."""
    return _ROUNDING * (int(criterion.get("parts", len(categories.SUMMED))) + 1)


def _sums(tables: Sequence[DeltaTable], parts: int) -> list[tuple[float, float]]:
    """(overall, sum of the best scores of the first categories) of each test and contender."""
    scores = {
        (table.test, row.contender, table.category): row.score
        for table in tables
        for row in table.rows
    }
    summed = list(categories.SUMMED)[:parts]
    return [
        (overall, sum(scores[test, name, slug] for slug in summed))
        for (test, name, category), overall in scores.items()
        if category == "overall" and all((test, name, slug) in scores for slug in summed)
    ]


def _row(
    criterion: Mapping[str, Any], tables: Sequence[DeltaTable]
) -> tuple[DeltaTable, DeltaRow] | None:
    return next(
        (
            (table, row)
            for table in tables
            if (table.test, table.category) == (criterion["test"], criterion["category"])
            for row in table.rows
            if row.filesystem == criterion["filesystem"]
        ),
        None,
    )


def _title(table: DeltaTable) -> str:
    return f"{testnames.label(table.test)}, {table.category_in_sentence}"


def _amount(row: DeltaRow, table: DeltaTable) -> str:
    return numbers.with_unit(row.score, table.unit)
