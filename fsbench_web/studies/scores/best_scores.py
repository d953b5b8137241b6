"""The best scores of each contender, found by the database.

A comparison shows one score of each contender in each table, out of thousands. They are chosen
where they are stored: what is read grows with what is shown and not with what there is.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import F, Max, Q, QuerySet

from fsbench_web.studies.models import Score
from fsbench_web.studies.scores.queries import PRINTED_UNIT

CONFIGURATION = "series__configuration_id"
SERIES = "series_id"


class Candidate(NamedTuple):
    """As much of a score as it takes to choose which are shown.

    ``is_printed``: of a paper. ``configurations`` is how many its contender has in its table.
    """

    score_id: int
    series_id: int
    test: str
    category: str
    unit: str
    value: float
    is_printed: bool
    configurations: int


# The scores are reduced twice, to each configuration and then to each contender, so that counting
# configurations takes no sorting. Which direction is better is not known here: both ends are kept.
# Scores are then looked for in the few configurations that have an end, not in all: these are
# materialized, as a planner that has no statistics of them would compare each score with every best
# one. All scores are not: written down to be read twice, 105,000 of them took 1.6 times as long.
_LEADERS = """
WITH scored(score_id, series_id, test, category, unit, value, is_printed, configuration, member)
    AS NOT MATERIALIZED ({scores}),
contender(member, number) AS (VALUES {members}),
fine AS (
    SELECT test, category, unit, configuration, member, MAX(value) AS high, MIN(value) AS low
    FROM scored GROUP BY test, category, unit, configuration, member
),
best AS (
    SELECT test, category, unit, number, MAX(high) AS high, MIN(low) AS low,
        COUNT({configurations}) AS configurations
    FROM fine JOIN contender ON contender.member = fine.member
    GROUP BY test, category, unit, number
),
first AS MATERIALIZED (
    SELECT fine.test, fine.category, fine.unit, fine.configuration, fine.member, best.high,
        best.low, best.configurations
    FROM fine
    JOIN contender ON contender.member = fine.member
    JOIN best ON best.test = fine.test AND best.category = fine.category
        AND best.unit = fine.unit AND best.number = contender.number
    WHERE fine.high = best.high OR fine.low = best.low
)
SELECT scored.score_id, scored.series_id, scored.test, scored.category, scored.unit, scored.value,
    scored.is_printed, first.configurations
FROM first
JOIN scored ON scored.member = first.member AND scored.configuration = first.configuration
    AND scored.test = first.test AND scored.category = first.category AND scored.unit = first.unit
WHERE scored.value = first.high OR scored.value = first.low
ORDER BY scored.score_id
"""


def best_candidates(
    scores: QuerySet[Score], contenders: Mapping[int, str], by: str
) -> list[Candidate]:
    """The highest and the lowest scores of each contender in each table, all that are equal.

    A table is a test, category and unit. ``contenders`` are the names of the contenders by
    configuration or series, whichever ``by`` says (CONFIGURATION, SERIES); what is not in it does
    not compete. One query; none where nobody competes.
    """
    if not contenders:
        return []
    numbers: dict[str, int] = {}
    members = ", ".join(
        f"({int(member)}, {numbers.setdefault(name, len(numbers))})"
        for member, name in contenders.items()
    )
    chosen = (
        scores.order_by()
        .annotate(
            is_printed=Q(published__isnull=False),
            printed_unit=PRINTED_UNIT,
            configuration=F(CONFIGURATION),
            member=F(by),
        )
        .values_list(
            *("pk", "series_id", "test", "category", "printed_unit", "value"),
            *("is_printed", "configuration", "member"),
        )
    )
    try:
        inner, parameters = chosen.query.sql_with_params()
    except EmptyResultSet:  # its filters let none pass
        return []
    statement = _LEADERS.format(
        scores=inner,
        members=members,
        configurations="*" if by == CONFIGURATION else "DISTINCT configuration",
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows = cursor.fetchall()
    # SQLite has no booleans.
    return [
        Candidate._make((*rest, bool(is_printed), configurations))
        for *rest, is_printed, configurations in rows
    ]


def configurations_of_each(
    scores: QuerySet[Score],
    contenders: Mapping[int, str],
    by: str,
    tables: Collection[tuple[str, str]],
) -> dict[tuple[str, str, str], int]:
    """How many configurations each contender has in these tests and categories, in any unit.

    ``contenders`` as for ``best_candidates``. One query.
    """
    wanted = scores.order_by().filter(
        test__in={test for test, _ in tables}, category__in={slug for _, slug in tables}
    )
    configurations: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for test, slug, member, configuration in wanted.values_list(
        *("test", "category"), F(by), F(CONFIGURATION)
    ).distinct():
        if member in contenders:
            configurations[test, slug, contenders[member]].add(configuration)
    return {key: len(ids) for key, ids in configurations.items()}


def workload_of_all(
    scores: QuerySet[Score], contenders: Mapping[int, str], by: str, tests: Collection[str]
) -> dict[str, str]:
    """Of each test the workload that every contender of it has scores of, where there is one.

    Of several the one with most repeats of whoever has the fewest, then the first by name.
    ``contenders`` as for ``best_candidates``. One query.
    """
    repeats: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    wanted = scores.order_by().filter(test__in=list(tests))
    for test, member, workload, count in wanted.values_list(
        *("test", F(by), "series__workload__slug")
    ).annotate(Max("repeats")):
        if member in contenders:
            of_workload = repeats[test][workload or ""]
            name = contenders[member]
            of_workload[name] = max(count or 0, of_workload.get(name, 0))
    chosen = {}
    for test, by_workload in repeats.items():
        everyone = {name for names in by_workload.values() for name in names}
        of_all = [
            (-min(counts.values()), workload)
            for workload, counts in by_workload.items()
            if workload and counts.keys() == everyone
        ]
        if of_all:
            chosen[test] = min(of_all)[1]
    return chosen


@dataclass(frozen=True)
class PrintedScore:
    """A score that a paper printed something beside, and whose table it is in."""

    score_id: int
    series_id: int
    study: str
    test: str
    category: str
    unit: str


def printed_in(scores: QuerySet[Score]) -> list[PrintedScore]:
    """Those of the scores that a paper printed something beside. One query."""
    columns = ("pk", "series_id", "series__study__slug", "test", "category")
    rows = scores.filter(published__isnull=False).order_by("pk").values_list(*columns, PRINTED_UNIT)
    return [PrintedScore(*row) for row in rows]
