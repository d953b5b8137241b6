"""The chapter that somebody in a hurry reads: what was found, and who is best in what."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from fsbench_web.compare import answer_shown
from fsbench_web.compare.answer import answer_of
from fsbench_web.compare.drawings.speedup import speedup
from fsbench_web.compare.report.blocks import (
    Block,
    Charts,
    FoldBegins,
    FoldEnds,
    Grid,
    Heading,
    Prose,
    bullets,
    paragraph,
)
from fsbench_web.compare.selection import folds
from fsbench_web.compare.tables import findings
from fsbench_web.compare.tables.findings import Part
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.compare.tables.verdicts.significance import nearest_first
from fsbench_web.core import numbers
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.studies.models import Study


def summary(
    study: Study,
    tables: Sequence[DeltaTable],
    collected: findings.Findings,
    place: Callable[[DeltaTable], str],
    site: str,
) -> Iterable[Block]:
    """``place`` says where a table stands; ``site`` is the address of the home page."""
    yield Heading("Executive summary", 1, "summary")
    if study.summary:
        yield paragraph(study.summary)
    if not tables:
        yield paragraph("There are no scores yet: no run of this study is done.")
        return
    runs = {run for table in tables for row in table.rows for run in row.run_ids}
    tests = {table.test for table in tables}
    of_costs = sum(testnames.is_cost(table.test) for table in tables)
    costs = f", {of_costs} of them of costs" if of_costs else ""
    counted = f"{_number(len(tables), 'table')} of {_number(len(tests), 'test')}{costs}"
    yield paragraph(
        f"{counted}, from {_number(len(runs), 'run')}."
        if runs
        else f"{counted}, all of published figures."
    )
    yield from _answer(tables)
    if collected.summary:
        yield bullets(collected.summary, site)
    yield bullets([test.headline for test in collected.tests if not test.is_further], site)
    more = sum(test.is_further for test in collected.tests)
    if more:
        yield Prose(
            (
                Part(f"{more} further percentile{'s' * (more > 1)} of latencies follow in the "),
                Part("comparative analysis", "#analysis"),
                Part(" and in "),
                Part("Appendix A", "#tables"),
                Part("."),
            )
        )
    if collected.rule:
        yield paragraph(collected.rule)
    yield from _winners(tables)


def _answer(tables: Sequence[DeltaTable]) -> Iterable[Block]:
    """The answer, how sure it is, and its drawing."""
    found = answer_of(tables)
    if not found.workloads:
        return
    yield Prose((Part(answer_shown.headline(found), is_name=True),))
    for text in (*answer_shown.details(found), *map(answer_shown.CAVEATS.get, found.caveats)):
        yield paragraph(text or "")
    yield Charts(tuple(speedup(work.answer) for work in found.workloads))


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _winners(tables: Sequence[DeltaTable]) -> Iterable[Block]:
    """Who is best in which test and category, and by how much faster than the next; no costs."""
    tables = [table for table in tables if not testnames.is_cost(table.test)]
    for is_mean in (False, True):
        kind_tables = [table for table in tables if (table.category == categories.MEAN) == is_mean]
        slugs = sorted({table.category for table in kind_tables}, key=categories.place)
        lines: dict[tuple[str, str], dict[str, str]] = {}
        for table in kind_tables:
            units = {other.unit for other in kind_tables if other.test == table.test}
            unit = table.unit if is_mean and len(units) > 1 else ""
            lines.setdefault((table.test, unit), {})[table.category] = _winner(table)
        folded = folds.folded_tests(test for test, _ in lines)
        shown_lines = {key: cells for key, cells in lines.items() if key[0] not in folded}
        further = {key: cells for key, cells in lines.items() if key[0] in folded}
        if shown_lines:
            yield _grid(shown_lines, slugs)
        if further:
            yield FoldBegins(f"More percentiles ({len(folded)})")
            yield _grid(further, slugs)
            yield FoldEnds()


def _grid(lines: Mapping[tuple[str, str], Mapping[str, str]], slugs: Sequence[str]) -> Grid:
    """A line a (test, unit), a column a category."""
    return Grid(
        columns=(("Test", False), *((categories.label(slug), False) for slug in slugs)),
        rows=tuple(
            (
                testnames.label(test) + (f" ({numbers.unit_name(unit)})" if unit else ""),
                *(cells.get(slug, numbers.MISSING) for slug in slugs),
            )
            for (test, unit), cells in lines.items()
        ),
        title="The best, and by how many percent it is faster than the next",
    )


def _winner(table: DeltaTable) -> str:
    names = [row.contender for row in table.rows if row.best]
    order = [table.rows[number] for number in nearest_first(table)]
    second = next((row for row in order if not row.best), None)
    if not names:
        return "not ranked"
    if len(table.rows) == 1:
        return f"{names[0]}, the only one"
    if undecided := {table.mark_of(row) for row in table.rows} & {"leading", "tied"}:
        return f"{', '.join(names)}, {undecided.pop()}"
    if len(names) > 1 or second is None or second.delta2_percent is None:
        return ", ".join(names)
    return f"{names[0]} +{numbers.percent(abs(second.delta2_percent))}"
