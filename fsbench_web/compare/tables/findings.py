"""What delta tables say, in sentences. Pure.

The sentences are those of a white paper's findings: who is first in which test and category, with
what score and in which configuration, by how much over the second, and how far apart first and
last are. Every number in them stands in the tables (scores, deltas, p-values) or counts tables or
rows; nothing is worked out anew. A winner that is not significantly ahead is called a tie, and
where nobody can know, the sentence says so and why.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fsbench_web.compare.selection.folds import folded_tests
from fsbench_web.compare.tables import emulation
from fsbench_web.compare.tables.headlines import headline_of
from fsbench_web.compare.tables.rows import DeltaRow, DeltaTable
from fsbench_web.compare.tables.verdicts.reasons import (
    methods_of,
    missing_words,
    no_scatter_sentence,
    reason_sentences,
    rule,
)
from fsbench_web.compare.tables.verdicts.significance import is_ranked, nearest_first
from fsbench_web.compare.tables.verdicts.uncertainty import (
    basis_words,
    effect,
    names_in_words,
    percents,
    what_would_decide,
)
from fsbench_web.core import numbers
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.deltas import is_same
from fsbench_web.core.stats.significance import (
    EQUIVALENT,
    FREENIX,
    SIGNIFICANT,
    TIE,
    UNKNOWN,
    Verdict,
)

ALONE = "alone"
NOT_RANKED = "not ranked"
RUNS_LINKED = 3
TESTS_SHOWN = 6
BLOCKS_AT_FIRST = 5
"""Of what has no repeats: three are the least that decide anything, five mostly do."""

Places = Callable[[DeltaTable], str]
"""The address of a table on the page, as ``#write-overall``."""


class Part(NamedTuple):
    """A piece of a sentence, which may lead somewhere; ``is_name``: of a contender."""

    text: str
    href: str = ""
    is_name: bool = False


@dataclass(frozen=True)
class Finding:
    """One sentence or two. ``status``: significant, equal, tie, unknown, alone or not ranked.

    ``decided_by`` are the series and the number of blocks that would decide what is not decided;
    None where nobody knows, or nobody could measure them.
    """

    test: str
    category: str
    status: str
    parts: tuple[Part, ...]
    is_headline: bool = True
    decided_by: tuple[tuple[int, ...], int] | None = None

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


def section_place(table: DeltaTable) -> str:
    """The section of a table's test, where tables have no place of their own."""
    return f"#test-{testnames.slug(table.test)}"


def findings(tables: Iterable[DeltaTable], places: Places = section_place) -> list[Finding]:
    """A finding for each table, in their order. One of each test is a headline.

    Costs are no speed, of which all these sentences speak.
    """
    listed = [table for table in tables if table.rows and not testnames.is_cost(table.test)]
    by_test: dict[str, list[DeltaTable]] = defaultdict(list)
    for table in listed:
        by_test[table.test].append(table)
    first = {test: _headline(of_test) for test, of_test in by_test.items()}
    return [_finding(table, places(table), first[table.test] is table) for table in listed]


def _headline(tables: Sequence[DeltaTable]) -> DeltaTable:
    """The table of a test that its finding is of: as on every page."""
    is_printed = any(table.has_published_rows for table in tables)
    slug = headline_of((table.category for table in tables), is_printed=is_printed)
    return next(table for table in tables if table.category == slug)


def summary(tables: Iterable[DeltaTable], places: Places = section_place) -> list[Finding]:
    """How often each contender is first, and where first and last are the furthest apart."""
    ranked = [
        table
        for table in tables
        if is_ranked(table) and len(table.rows) > 1 and not testnames.is_cost(table.test)
    ]
    if len(ranked) < 2:
        return []
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for table in ranked:
        for row in table.rows:
            if row.best and row.verdict is not None:
                counts[row.contender][row.verdict.status] += 1
    order = sorted(counts, key=lambda name: (-counts[name].total(), name))
    is_freenix = methods_of(ranked) <= {FREENIX}
    sentences = [_leader(name, counts[name], len(ranked), is_freenix) for name in order]
    spreads = [(spread, table) for table in ranked if (spread := _spread(table)) is not None]
    if len({percents(spread) for spread, _ in spreads}) > 1:
        widest = max(spreads, key=lambda pair: pair[0])
        narrowest = min(spreads, key=lambda pair: pair[0])
        parts = (
            Part("First and last are furthest apart in "),
            Part(_title(widest[1]), places(widest[1])),
            Part(f": the last is {percents(widest[0])} slower; and closest in "),
            Part(_title(narrowest[1]), places(narrowest[1])),
            Part(f": {percents(narrowest[0])}."),
        )
        sentences.append(Finding("", "", UNKNOWN, parts))
    return sentences


@dataclass(frozen=True)
class TestFindings:
    """What is said of one test: the headline, and the others, which a page may fold away.

    ``is_further``: of one of the many percentiles that come behind the main ones
    (compare.selection.folds).
    """

    __test__ = False  # not a test of pytest's

    label: str
    headline: Finding
    others: tuple[Finding, ...]
    is_further: bool = False

    @property
    def others_in_words(self) -> str:
        """How many others there are: categories, or tables where some are of another unit."""
        count = len(self.others)
        if any(other.category == self.headline.category for other in self.others):
            return f"{count} more table{'s' * (count > 1)}"
        return f"{count} more categor{'ies' if count > 1 else 'y'}"


@dataclass(frozen=True)
class Findings:
    """All that is said of a comparison. ``tested`` pairs were tested at once, of the table with
    most, 0 where none could.

    ``margin_percent`` is that of the rule of FREENIX 2002, None where nothing stands against
    anything; ``rule`` says by what it was judged, and what is exploration.
    """

    summary: list[Finding]
    tests: list[TestFindings]
    tested: int
    margin_percent: float | None
    rule: str = ""

    @property
    def first(self) -> list[TestFindings]:
        return self.tests[:TESTS_SHOWN]

    @property
    def rest(self) -> list[TestFindings]:
        """Folded away: nobody reads fifty sentences at once."""
        return self.tests[TESTS_SHOWN:]


def findings_by_test(tables: Sequence[DeltaTable], places: Places = section_place) -> Findings:
    """Summary and findings of ``tables``, by test in the order in which these come.

    Further percentiles come behind all others.
    """
    by_test: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings(tables, places):
        by_test[finding.test].append(finding)
    folded = folded_tests(by_test)
    # Counted and explained is what sentences are of: costs are none of the answers.
    answers = [table for table in tables if not testnames.is_cost(table.test)]
    verdicts = [row.verdict for table in tables for row in table.rows if row.verdict is not None]
    return Findings(
        [*_of_emulated(tables), *summary(tables, places)],
        [
            TestFindings(
                testnames.label(test),
                next(finding for finding in of_test if finding.is_headline),
                tuple(finding for finding in of_test if not finding.is_headline),
                test in folded,
            )
            for test, of_test in sorted(by_test.items(), key=lambda pair: pair[0] in folded)
        ],
        pairs_tested(tables),
        verdicts[0].margin_percent if verdicts else None,
        rule(answers or tables),
    )


def pairs_tested(tables: Iterable[DeltaTable]) -> int:
    """How many pairs were tested at once, of the table with most; 0 where none could be."""
    verdicts = (row.verdict for table in tables for row in table.rows)
    return max((verdict.tested or 0 for verdict in verdicts if verdict is not None), default=0)


def _of_emulated(tables: Sequence[DeltaTable]) -> list[Finding]:
    """What has to be known before anything else is read: that some of it is no speed."""
    state = emulation.state_of(tables)
    if not state:
        return []
    return [Finding("", "", UNKNOWN, (Part(emulation.SENTENCES[state]),))]


def _leader(name: str, counts: Counter[str], tables: int, is_freenix: bool) -> Finding:
    words = ("significant", "a tie") if is_freenix else ("faster", "inconclusive")
    parts = [
        f"{word} in {counts[status]}"
        for status, word in (
            (SIGNIFICANT, words[0]),
            (EQUIVALENT, "equivalent"),
            (TIE, words[1]),
            (UNKNOWN, "not known"),
        )
        if counts[status]
    ]
    status = next((status for status in (SIGNIFICANT, EQUIVALENT, TIE) if counts[status]), UNKNOWN)
    best = f"the best score in {counts.total()} of the {tables} tables"
    text = f" has {best}: {names_in_words(parts, 9)}."
    return Finding("", "", status, (Part(name, is_name=True), Part(text)))


def _finding(table: DeltaTable, place: str, is_headline: bool) -> Finding:
    opening = (Part(_title(table), place), Part(": "))
    order = [table.rows[number] for number in nearest_first(table)]
    status, parts = _sentence(table, order)
    decided_by = _decided_by(order)
    return Finding(table.test, table.category, status, (*opening, *parts), is_headline, decided_by)


def _decided_by(order: Sequence[DeltaRow]) -> tuple[tuple[int, ...], int] | None:
    """The best and those that it stands undecided against, and how many blocks more."""
    verdict = order[0].verdict
    if verdict is None or not what_would_decide(verdict):
        return None
    rows = [order[0], *(row for row in order[1:] if row.contender in verdict.against)]
    series = tuple(row.series_id for row in rows if row.series_id is not None and row.run_ids)
    blocks = BLOCKS_AT_FIRST if verdict.status == UNKNOWN else verdict.more_blocks
    return None if blocks is None or len(series) < 2 else (series, blocks)


def _sentence(table: DeltaTable, order: Sequence[DeltaRow]) -> tuple[str, list[Part]]:
    if not is_ranked(table):
        return NOT_RANKED, [
            Part("not ranked, because nobody said whether more or less of it is better.")
        ]
    best = [row for row in order if row.best]
    others = [row for row in order if not row.best]
    if len(order) == 1:
        return ALONE, [
            *_contender(best[0], with_runs=True),
            Part(f" has {_score(best[0], table)}; there is nothing to compare it with."),
        ]
    if len(best) > 1:
        parts = [
            Part(_names(best), is_name=True),
            Part(f" share the best score, {_score(best[0], table)}"),
        ]
        return TIE, [*parts, *_before_next(table, others), Part("."), *_last_parts(table, others)]
    verdict = best[0].verdict
    status = UNKNOWN if verdict is None else verdict.status
    if verdict is not None and verdict.method != FREENIX:
        parts = [*_of_ratio(table, best[0], others, verdict), *_last_parts(table, others)]
        return status, parts
    parts = [*_contender(best[0], with_runs=True), Part(f" is first with {_score(best[0], table)}")]
    if status != SIGNIFICANT:
        parts = [
            *_contender(best[0], with_runs=True),
            Part(f" has the best score, {_score(best[0], table)}"),
        ]
    parts += _lead_parts(table, others, "the second")
    if verdict is None:
        parts.append(Part("."))
    elif status == SIGNIFICANT:
        parts.append(Part(f"; significant against {'it' if len(others) == 1 else 'every other'}."))
        if words := no_scatter_sentence(verdict):
            parts.append(Part(f" {words}"))
    elif status == TIE:
        parts.append(Part(f", and ties with {names_in_words(verdict.against)}: not significant. "))
        parts.append(Part(reason_sentences(verdict)))
        if names := _names_of(others, UNKNOWN):
            parts.append(Part(f" Against {names} nobody knows whether it is more than chance."))
    else:
        parts.append(
            Part(f"; whether by more than chance is not known ({missing_words(verdict)}).")
        )
    return status, [*parts, *_last_parts(table, others)]


def _of_ratio(
    table: DeltaTable, best: DeltaRow, others: Sequence[DeltaRow], verdict: Verdict
) -> list[Part]:
    """The word, what it rests on, and where there is none what would decide it.

    A difference stands in a sentence only where it is one.
    """
    score, second = _score(best, table), others[0]
    lead = _contender(best, with_runs=True)
    behind = [Part(", before "), *_contender(second), Part(f" with {_score(second, table)}")]
    if verdict.status == SIGNIFICANT:
        parts = [*lead, Part(f" is first with {score}"), *behind]
        closest = (second.verdict or verdict).turned()
        parts.append(Part(f": {effect(closest)}."))
        if len(others) > 1:
            parts.append(Part(" It is faster than every other."))
        if words := no_scatter_sentence(verdict):
            parts.append(Part(f" {words}"))
        return parts
    if verdict.status == EQUIVALENT:
        names = Part(names_in_words(verdict.against), is_name=True)
        within = f" with {score}: they differ by less than {verdict.equivalence_percent:g}%"
        size = f" ({effect(verdict)})" if effect(verdict) else ""
        return [*lead, Part(" is equivalent to "), names, Part(f"{within}{size}.")]
    parts = [*lead, Part(f" leads with {score}"), *behind, Part(": inconclusive")]
    reason = missing_words(verdict) or basis_words(verdict)
    parts.append(
        Part(f" against {names_in_words(verdict.against)} ({reason})" if verdict.against else "")
    )
    for other_status, words in ((EQUIVALENT, "equivalent to"), (UNKNOWN, "not known against")):
        apart = _names_of(others, other_status)
        parts += [Part(f", {words} {apart}")] if apart and other_status != verdict.status else []
    return [*parts, Part(f". {what_would_decide(verdict)}".rstrip())]


def _names_of(others: Sequence[DeltaRow], status: str) -> str:
    """Those against whom the best stands so, in words; "" for none."""
    return names_in_words(
        [row.contender for row in others if row.verdict and row.verdict.status == status]
    )


def _before_next(table: DeltaTable, others: Sequence[DeltaRow]) -> list[Part]:
    """Who comes behind several that share the best score, and how sure that is."""
    verdict = others[0].verdict if others else None
    if verdict is None or verdict.method == FREENIX:
        return _lead_parts(table, others, "next")
    words = {SIGNIFICANT: effect(verdict.turned()), EQUIVALENT: "equivalent", TIE: "inconclusive"}
    how = words.get(verdict.status) or "not known"
    return [
        Part(", before "),
        *_contender(others[0]),
        Part(f" with {_score(others[0], table)}: {how}"),
    ]


def _lead_parts(table: DeltaTable, others: Sequence[DeltaRow], word: str) -> list[Part]:
    """By how much the first is faster than the second: its delta 2, as a positive number."""
    if not others:
        return []
    second = others[0]
    if second.delta2_percent is None:
        score = _score(second, table)
        return [Part(", before "), *_contender(second), Part(f", {word} with {score}")]
    return [
        Part(f", {percents(abs(second.delta2_percent))} faster than "),
        *_contender(second),
        Part(f", {word} with {_score(second, table)}"),
    ]


def _last_parts(table: DeltaTable, others: Sequence[DeltaRow]) -> list[Part]:
    """How far the last is behind the first: its delta 1. Who has just its score is last, too."""
    if len(others) < 2 or others[-1].delta1_percent is None:
        return []
    last = [row for row in others if is_same(row.score, others[-1].score)]
    names = _contender(last[0]) if len(last) == 1 else [Part(_names(last), is_name=True)]
    return [
        Part(f" Last {'is' if len(last) == 1 else 'are'} "),
        *names,
        Part(
            f" with {_score(last[-1], table)}, {percents(others[-1].delta1_percent)} slower"
            " than the first."
        ),
    ]


def _names(rows: Sequence[DeltaRow]) -> str:
    return names_in_words([row.contender for row in rows], 9)


def _contender(row: DeltaRow, with_runs: bool = False) -> list[Part]:
    """The name, the configuration where the name does not say it, and the runs to look at."""
    parts = [Part(row.contender, is_name=True)]
    inside: list[Part] = [Part(row.subline)] if row.subline else []
    if row.run_ids and with_runs:
        inside.append(Part((", " if inside else "") + _runs_words(row)))
        for place, run in enumerate(row.run_ids[:RUNS_LINKED]):
            inside += [*([Part(", ")] if place else []), Part(str(run), f"/runs/{run}/")]
        if len(row.run_ids) > RUNS_LINKED:
            inside.append(Part(f" and {len(row.run_ids) - RUNS_LINKED} more"))
    return [*parts, Part(" ("), *inside, Part(")")] if inside else parts


def _runs_words(row: DeltaRow) -> str:
    """What stands before the numbers of a row's runs.

    Links and scores of before each score kept its runs name all of the series: some of these may
    not have measured the test, and a selection may be without some.
    """
    if len(row.run_ids) == 1:
        return "run "
    is_part = row.runs is not None and row.runs < len(row.run_ids)
    return f"{row.runs} of the runs " if is_part else "runs "


def _score(row: DeltaRow, table: DeltaTable) -> str:
    """As its table reads it: in the same unit, where that is another than the stored one."""
    if table.scale.unit != numbers.unit_name(table.unit):
        half = row.interval.half_width if row.interval else None
        return f"{table.scale.amount(row.score, half)} {table.scale.unit}"
    text = numbers.amount(row.score, table.unit, table.least_decimals)
    return text if table.unit in {"", "score"} else f"{text} {numbers.unit_name(table.unit)}"


def _title(table: DeltaTable) -> str:
    label = testnames.label(table.test)
    if table.category == categories.MEAN:
        return label
    return f"{label}, {table.category_in_sentence}"


def _spread(table: DeltaTable) -> float | None:
    """Delta 1 of the last row."""
    return table.rows[nearest_first(table)[-1]].delta1_percent
