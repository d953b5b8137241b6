"""What a report says, chapter by chapter. Pure but for the rows it is given.

Executive summary, methodology, comparative analysis, and the appendices: every table, and how to
do it again. Every number is that of a table; what was not recorded is said to be so.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from fsbench_web.compare import charts, findings, folds, statements
from fsbench_web.compare.drawings.bars import Bar, Stack, bars, stacks
from fsbench_web.compare.drawings.shapes import Drawing
from fsbench_web.compare.exports.document import (
    columns,
    footnotes,
    least_decimals,
    marks,
    remarks,
    title_line,
    unit_line,
)
from fsbench_web.compare.findings import Finding, Part
from fsbench_web.compare.report.blocks import (
    Block,
    Bullets,
    Charts,
    Commands,
    Facts,
    FoldBegins,
    FoldEnds,
    Grid,
    Heading,
    Prose,
    Report,
    prose,
    sentences,
)
from fsbench_web.compare.report.recorded import MOST_SERIES, Method, Recorded, grouped
from fsbench_web.compare.rows import DeltaTable
from fsbench_web.compare.significance import nearest_first
from fsbench_web.figures import numbers, palette, stacked
from fsbench_web.scoring import categories, testnames
from fsbench_web.studies.models import Study

MOST_TABLES = 300
"""Tables that are printed; those beyond are named and had as a file."""
MOST_ROWS = 3000
"""Rows of all tables that are printed: a PDF of 12,600 rows takes a processor over a minute."""
_CHARTS_WIDTH = 330.0


def report_of(
    study: Study,
    tables: Sequence[DeltaTable],
    method: Method,
    *,
    site: str,
    address: str,
    by: str,
    made_at: datetime,
    emulated: str = "",
) -> Report:
    """``site`` is the address of the home page, with its last slash; ``address`` the report's.

    ``emulated`` says what the tables leave out because it was emulated, "" where they leave nothing
    out.
    """
    places = {id(table): f"table-{number}" for number, table in enumerate(tables, start=1)}

    def place(table: DeltaTable) -> str:
        return f"#{places[id(table)]}"

    said = findings.collected(tables, place)
    query = urlencode([("study", study.slug), *([("by", by)] if by != "filesystem" else [])])
    blocks: list[Block] = [
        *_summary(study, tables, said, place, site),
        *([prose(emulated)] if emulated else []),
        *_methodology(study, method),
        *_analysis(study, tables, place, site),
        *_appendix_tables(tables, places, f"{site}api/v1/deltas.csv?{query}"),
        *_appendix_commands(study, method, site, query),
    ]
    people = ", ".join(part for part in (study.authors, study.organisation) if part)
    facts = [
        ("By", people),
        ("Published", study.published_on if study.is_published else ""),
        ("Report made", f"{made_at:%Y-%m-%d %H:%M %Z}"),
        ("Address", address),
    ]
    return Report(
        study.title, tuple((name, value) for name, value in facts if value), address, tuple(blocks)
    )


def _summary(
    study: Study,
    tables: Sequence[DeltaTable],
    said: findings.Findings,
    place: Callable[[DeltaTable], str],
    site: str,
) -> Iterable[Block]:
    yield Heading("Executive summary", 1, "summary")
    if study.summary:
        yield prose(study.summary)
    if not tables:
        yield prose("There are no scores yet: no run of this study is done.")
        return
    runs = {run for table in tables for row in table.rows for run in row.run_ids}
    tests = {table.test for table in tables}
    counted = f"{len(tables)} tables of {len(tests)} tests"
    yield prose(
        f"{counted}, from {len(runs)} runs." if runs else f"{counted}, all of published figures."
    )
    if said.summary:
        yield _bullets(said.summary, site)
    yield _bullets([test.headline for test in said.tests if not test.is_further], site)
    more = sum(test.is_further for test in said.tests)
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
    if said.margin_percent is not None:
        yield prose(_rule(said))
    yield from _winners(tables)


def _rule(said: findings.Findings) -> str:
    holm = (
        f", with p at most 0.05 by Holm's correction over the {said.tested} pairs tested at once"
        if said.tested > 1
        else ""
    )
    return (
        "A winner is significant when the 95% intervals do not overlap and the means differ by at "
        f"least {said.margin_percent:g}%{holm}; otherwise it is a tie. Without repeats it is not "
        "known."
    )


def _winners(tables: Sequence[DeltaTable]) -> Iterable[Block]:
    """Who is best in which test and category, and by how much faster than the next."""
    for is_mean in (False, True):
        kept = [table for table in tables if (table.category == categories.MEAN) == is_mean]
        slugs = sorted({table.category for table in kept}, key=categories.place)
        lines: dict[tuple[str, str], dict[str, str]] = {}
        for table in kept:
            units = {other.unit for other in kept if other.test == table.test}
            unit = table.unit if is_mean and len(units) > 1 else ""
            lines.setdefault((table.test, unit), {})[table.category] = _winner(table)
        folded = folds.further(test for test, _ in lines)
        for is_folded in (False, True):
            rows = {key: found for key, found in lines.items() if (key[0] in folded) == is_folded}
            if not rows:
                continue
            if is_folded:
                yield FoldBegins(f"More percentiles ({len(folded)})")
            yield Grid(
                columns=(("Test", False), *((categories.label(slug), False) for slug in slugs)),
                rows=tuple(
                    (
                        testnames.label(test) + (f" ({numbers.unit_name(unit)})" if unit else ""),
                        *(found.get(slug, numbers.MISSING) for slug in slugs),
                    )
                    for (test, unit), found in rows.items()
                ),
                title="The best, and by how many percent it is faster than the next",
            )
            if is_folded:
                yield FoldEnds()


def _winner(table: DeltaTable) -> str:
    names = [row.contender for row in table.rows if row.best]
    order = [table.rows[number] for number in nearest_first(table)]
    second = next((row for row in order if not row.best), None)
    if not names:
        return "not ranked"
    if len(names) > 1 or second is None or second.delta2_percent is None:
        return ", ".join(names)
    return f"{names[0]} +{numbers.number(abs(second.delta2_percent))}"


def _methodology(study: Study, method: Method) -> Iterable[Block]:
    yield Heading("Methodology", 1, "methodology")
    told = [section for section in study.sections if section["kind"] in _SECTIONS]
    for section in told:
        yield Heading(section["title"], 2)
        if section.get("text"):
            yield prose(section["text"])
        yield _SECTIONS[section["kind"]](section)
        for name in ("note", "source"):
            if section.get(name):
                yield prose(("Source: " if name == "source" else "") + section[name])
    if not study.is_published:
        yield from _recorded(method)
    yield Heading("Scores", 2)
    yield Facts(
        tuple(
            (categories.label(slug), categories.category(slug).definition)
            for slug in categories.all_slugs()
        )
    )
    yield Heading("Deltas", 2)
    yield prose(
        "Delta 1 is (best − x) / best: by how much x is slower than the best. Delta 2 is "
        "(x − best) / x: by how much the best is faster than x, as a negative number. Both in "
        "percent; for times both are of the speeds (1 / time)."
    )


_SECTIONS: dict[str, Callable[[Mapping[str, Any]], Block]] = {
    "facts": lambda section: Facts(tuple((str(a), str(b)) for a, b in section["items"])),
    "list": lambda section: sentences(section["items"]),
    "missing": lambda section: sentences(section["items"]),
    "table": lambda section: Grid(
        columns=tuple(
            (str(name), place in section.get("numeric", ()))
            for place, name in enumerate(section["columns"])
        ),
        rows=tuple(tuple(str(cell) for cell in row) for row in section["rows"]),
    ),
}


def _recorded(method: Method) -> Iterable[Block]:
    for title, parts, missing in (
        ("Hardware", method.hardware, "No hardware profile was named."),
        ("Systems", method.environments, "Nothing was recorded of kernel and tools."),
        ("Workloads", method.workloads, "No workload was named."),
    ):
        yield Heading(title, 2)
        if not parts:
            yield prose(missing)
        for name, facts in parts:
            yield Heading(name, 3)
            yield Facts(facts) if facts else prose("Nothing more is known of it.")
    yield Heading("Configurations and repeats", 2)
    if not method.series:
        yield prose("There are no runs.")
        return
    yield Grid(
        columns=(
            ("Configuration", False),
            ("Workload", False),
            ("LUN", False),
            ("System", False),
            ("Prepared", False),
            ("Done", True),
            ("Failed", True),
            ("Repeats", False),
        ),
        rows=tuple(
            (
                one.configuration,
                one.workload or numbers.MISSING,
                one.lun or numbers.MISSING,
                one.system or numbers.MISSING,
                one.preparation or "new file system",
                str(one.done),
                str(one.failed),
                one.repeats or "a fixed number",
            )
            for one in method.series
        ),
        notes=_not_listed(method),
    )


def _not_listed(method: Method) -> tuple[str, ...]:
    if method.total <= len(method.series):
        return ()
    return (f"The first {MOST_SERIES} of {method.total}; the study's page lists all.",)


def _analysis(
    study: Study, tables: Sequence[DeltaTable], place: Callable[[DeltaTable], str], site: str
) -> Iterable[Block]:
    yield Heading("Comparative analysis", 1, "analysis")
    if not tables:
        yield prose("There is nothing to compare yet.")
    said = findings.findings(tables, place)
    tests = dict.fromkeys(table.test for table in _printed(tables))
    for each in folds.placed(tests, str):
        test = each.entry
        if each.opens:
            yield FoldBegins(each.opens.title, each.opens.of)
        of_test = [table for table in tables if table.test == test]
        yield Heading(testnames.label(test), 2)
        yield Charts(tuple(charts.chart(table, width=_CHARTS_WIDTH, most=12) for table in of_test))
        yield _bullets([finding for finding in said if finding.test == test], site)
        if each.closes:
            yield FoldEnds()
    combined = [
        drawing
        for section in study.sections
        if section["kind"] in ("combined", "chart")
        for drawing in [_section_chart(section, tables)]
        if drawing is not None
    ]
    if combined:
        yield Heading("Read and write combined", 2)
        yield Charts(tuple(combined))
        for section in study.sections:
            if section["kind"] == "chart":
                yield prose(" ".join(filter(None, (section.get("text"), section.get("note")))))
    stated: Sequence[Mapping[str, Any]] = next(
        (one["items"] for one in study.sections if one["kind"] == "statements"), ()
    )
    if stated:
        yield Heading("Set against what the text states", 2)
        yield Grid(
            columns=(
                ("The text states", False),
                ("Where", False),
                ("Verdict", False),
                ("What the tables show", False),
            ),
            rows=tuple(
                (one.text, one.place, one.verdict, "".join(part.text for part in one.parts))
                for one in statements.check(stated, tables, place)
            ),
        )


def _section_chart(section: Mapping[str, Any], tables: Sequence[DeltaTable]) -> Drawing | None:
    if section["kind"] == "chart":
        series = palette.series_of([label for label, _, _ in section["rows"]])
        return bars(
            [
                Bar(
                    label,
                    None if value is None else float(value),
                    "not stated" if value is None else f"{bound} {value} {section['unit']}".strip(),
                    number,
                    is_bound=bound == "more than",
                )
                for (label, value, bound), number in zip(section["rows"], series, strict=True)
            ],
            section["title"],
            f"{section['unit']}, less is better",
            width=_CHARTS_WIDTH,
        )
    kept = [
        table
        for table in tables
        if table.category == section["category"] and table.test in ("write", "read")
    ]
    if not kept:
        return None
    scores: dict[str, dict[str, float]] = {}
    for table in kept:
        for row in table.rows:
            scores.setdefault(row.contender, {})[table.test] = row.score
    rows = [
        Stack(
            name,
            (found.get("write"), found.get("read")),
            numbers.number(found["write"] + found["read"]) if len(found) == 2 else numbers.MISSING,
        )
        for name, found in scores.items()
    ]
    rows.sort(key=lambda row: (None in row.parts, -sum(part or 0 for part in row.parts)))
    return stacks(
        rows,
        ("write", "read"),
        (stacked.WRITE_SERIES, stacked.READ_SERIES),
        section["title"],
        f"{kept[0].unit}, more is better",
        width=_CHARTS_WIDTH,
    )


def _appendix_tables(
    tables: Sequence[DeltaTable], places: Mapping[int, str], csv_address: str
) -> Iterable[Block]:
    yield Heading("Appendix A: tables", 1, "tables")
    yield Prose(
        (
            Part("The same as a file, unrounded: "),
            Part(csv_address, csv_address),
            Part("."),
        )
    )
    printed = _printed(tables)
    for each in folds.placed(printed, lambda table: table.test):
        table = each.entry
        if each.opens:
            yield FoldBegins(each.opens.title, each.opens.of)
        shown, notes, least = columns(table), footnotes(table), least_decimals(table)
        yield Grid(
            columns=tuple((column.heading, column.kind == "number") for column in shown),
            rows=tuple(
                (
                    shown[0].text(row, least)
                    + (" (best)" if row.best else "")
                    + "".join(f" ({mark})" for mark in marks(row, notes)),
                    *(column.text(row, least) for column in shown[1:]),
                )
                for row in table.rows
            ),
            title=f"{title_line(table)} ({unit_line(table)})",
            anchor=places[id(table)],
            strong=frozenset(place for place, row in enumerate(table.rows) if row.best),
            notes=(
                *remarks(table),
                *(f"({note.mark}) {note.label}: {note.sentence}" for note in notes),
            ),
        )
        if each.closes:
            yield FoldEnds()
    if len(tables) > len(printed):
        yield prose(
            f"These are the first {len(printed)} of {len(tables)} tables; the file has all of them."
        )


def _printed(tables: Sequence[DeltaTable]) -> Sequence[DeltaTable]:
    """The first of the tables, whole: as many as have ``MOST_ROWS`` rows; one at least."""
    rows = 0
    for place, table in enumerate(tables[:MOST_TABLES]):
        rows += len(table.rows)
        if rows > MOST_ROWS and place:
            return tables[:place]
    return tables[:MOST_TABLES]


def _appendix_commands(study: Study, method: Method, site: str, query: str) -> Iterable[Block]:
    yield Heading("Appendix B: doing it again", 1, "reproduction")
    if study.is_published:
        yield prose(
            "The figures come from the publication. Its method is above; fsbench has run none of "
            "it, and knows no command beyond those that the publication names."
        )
    else:
        yield from _commands(method, site)
    yield Commands(
        "The numbers of this report",
        (
            f"curl '{site}api/v1/deltas.csv?{query}'",
            f"curl '{site}api/v1/deltas?{query}'",
            f"curl '{site}api/v1/studies/{study.slug}'",
        ),
    )


def _commands(method: Method, site: str) -> Iterable[Block]:
    found = grouped(method.series)
    if found:
        yield prose(
            "The commands as they were run, in this order, of the newest finished run of each "
            "configuration. They erase the disk that they name."
        )
    for several, lines in found:
        yield Commands(_whose(several), lines)
    silent = [one for one in method.series if not one.commands]
    if silent:
        names = ", ".join(dict.fromkeys(one.configuration for one in silent))
        yield prose(f"No command is recorded of: {names}. They were imported, or are not done yet.")
    for line in _not_listed(method):
        yield prose(line)


def _whose(several: Sequence[Recorded]) -> str:
    return "; ".join(
        f"{one.configuration}, {one.workload or 'workload not known'}, run {one.run_id}"
        for one in several
    )


def _bullets(said: Iterable[Finding], site: str) -> Bullets:
    return Bullets(
        tuple(
            tuple(
                Part(part.text, _absolute(part.href, site), part.is_name) for part in finding.parts
            )
            for finding in said
        )
    )


def _absolute(href: str, site: str) -> str:
    """On paper an address needs its host."""
    return site + href[1:] if href.startswith("/") else href
