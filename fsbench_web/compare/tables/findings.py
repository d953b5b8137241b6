"""What delta tables say, one or two sentences a table. Pure. Every number is in the tables."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fsbench_web.compare.selection.folds import folded_tests
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.query import ONLY, OUT, WITH
from fsbench_web.compare.tables.verdicts.uncertainty import (
    NOT_KNOWN,
    effect,
    missing_words,
    names_in_words,
    pair_verdict,
    percents,
    rule,
    what_would_decide,
)
from fsbench_web.core import numbers
from fsbench_web.core.comparison.headlines import counted_tables, headline_of
from fsbench_web.core.comparison.rows import EMULATED, DeltaRow, DeltaTable, with_shown_names
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.core.scoring.deltas import is_same
from fsbench_web.core.stats.verdicts import EQUAL, SIGNIFICANT, TIE, UNKNOWN, Verdict

# How a comparison treats emulated results: they show function, not speed.


def with_emulation_choice(
    spec: ComparisonSpec, tables: Iterable[DeltaTable], hidden: int
) -> ComparisonSpec:
    """``spec`` that fixes what it shows of emulated results; ``hidden``: series it leaves out."""
    if spec.emulated:
        return spec
    if hidden:
        return replace(spec, emulated=OUT)
    return replace(spec, emulated=ONLY) if emulation_state(tables) == ONLY else spec


def emulation_state(tables: Iterable[DeltaTable]) -> str:
    """What tables show of emulated results: "", ``only`` them, or them ``with`` others."""
    emulated = {EMULATED in row.flags for table in tables for row in table.rows}
    if emulated == {True}:
        return ONLY
    return WITH if True in emulated else ""


@dataclass(frozen=True)
class EmulationNotice:
    """How many series are left out, what the tables show, and queries of the other choices."""

    left_out: int
    state: str
    queries: Mapping[str, str]

    @property
    def sentence(self) -> str:
        """The same in a sentence, for exports and reports; "" where there is nothing to say."""
        if self.left_out:
            is_one = self.left_out == 1
            return (
                f"{self.left_out} emulated series {'is' if is_one else 'are'} left out: emulated "
                "results are for function, not for speed."
            )
        return EMULATION_SENTENCES.get(self.state, "")


EMULATION_SENTENCES = {
    ONLY: "Everything shown was emulated: for function, not for speed.",
    WITH: (
        "Emulated results are shown next to real ones. They are for function, not for speed: a "
        "difference to them means nothing."
    ),
}


def emulation_notice(
    spec: ComparisonSpec, tables: Iterable[DeltaTable], hidden: int
) -> EmulationNotice | None:
    """What to say of a comparison; None where nothing of it was emulated."""
    state = emulation_state(tables)
    if not hidden and not state:
        return None
    return EmulationNotice(
        hidden,
        state,
        {choice: replace(spec, emulated=choice).to_query() for choice in (OUT, WITH, ONLY)},
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
    """Sentences of one table. ``decided_by``: series and number of blocks that would decide it."""

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
    """A finding for each table but costs, in their order; one of each test is a headline."""
    listed = [table for table in tables if table.rows and not testnames.is_cost(table.test)]
    by_test: dict[str, list[DeltaTable]] = defaultdict(list)
    for table in listed:
        by_test[table.test].append(table)
    first = {test: _headline(of_test) for test, of_test in by_test.items()}
    return [
        _finding(with_shown_names(table), places(table), first[table.test] is table)
        for table in listed
    ]


def _headline(tables: Sequence[DeltaTable]) -> DeltaTable:
    """The table of a test that its finding is of: as on every page."""
    is_printed = any(table.has_published_rows for table in tables)
    slug = headline_of((table.category for table in tables), is_printed=is_printed)
    return next(table for table in tables if table.category == slug)


def summary(tables: Iterable[DeltaTable], places: Places = section_place) -> list[Finding]:
    """In which test first and last are the furthest apart, and in which the closest."""
    ranked = [
        table
        for table in tables
        if table.is_ranked and len(table.rows) > 1 and not testnames.is_cost(table.test)
    ]
    spreads = [(spread, table) for table in ranked if (spread := _spread(table)) is not None]
    if len({percents(spread) for spread, _ in spreads}) < 2:
        return []
    widest = max(spreads, key=lambda pair: pair[0])
    narrowest = min(spreads, key=lambda pair: pair[0])
    parts = (
        Part("The slowest is furthest behind in "),
        Part(_title(widest[1]), places(widest[1])),
        Part(f" ({percents(widest[0])} slower than the fastest) and closest in "),
        Part(_title(narrowest[1]), places(narrowest[1])),
        Part(f" ({percents(narrowest[0])})."),
    )
    return [Finding("", "", UNKNOWN, parts)]


@dataclass(frozen=True)
class TestFindings:
    """The headline of a test, and the others; ``is_further``: of a percentile that pages fold."""

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
    """All findings of a comparison: tests that count first, ``shown`` of them are not folded.

    ``tested``: pairs tested at once. ``margin_percent``: of FREENIX 2002; None without verdicts.
    """

    summary: list[Finding]
    tests: list[TestFindings]
    shown: int
    tested: int
    margin_percent: float | None
    rule: str = ""

    @property
    def first(self) -> list[TestFindings]:
        return self.tests[: self.shown]

    @property
    def rest(self) -> list[TestFindings]:
        """Folded away: nobody reads fifty sentences at once."""
        return self.tests[self.shown :]


def findings_by_test(tables: Sequence[DeltaTable], places: Places = section_place) -> Findings:
    """Summary and findings of ``tables`` by test; further percentiles come last."""
    by_test: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings(tables, places):
        by_test[finding.test].append(finding)
    folded = folded_tests(by_test)
    counted = {table.test for table in counted_tables(tables)}
    first = [test for test in by_test if test in counted] or list(by_test)
    # Counted and explained is what sentences are of: costs are none of the answers.
    answers = [table for table in tables if not testnames.is_cost(table.test)]
    verdicts = [row.verdict for table in tables for row in table.rows if row.verdict is not None]
    return Findings(
        [
            *_of_emulated(tables),
            *summary([table for table in tables if table.test in first], places),
        ],
        [
            TestFindings(
                testnames.label(test),
                next(finding for finding in of_test if finding.is_headline),
                tuple(finding for finding in of_test if not finding.is_headline),
                test in folded,
            )
            for test, of_test in sorted(
                by_test.items(), key=lambda pair: (pair[0] not in first, pair[0] in folded)
            )
        ],
        min(len(first), TESTS_SHOWN),
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
    state = emulation_state(tables)
    if not state:
        return []
    return [Finding("", "", UNKNOWN, (Part(EMULATION_SENTENCES[state]),))]


def _finding(table: DeltaTable, place: str, is_headline: bool) -> Finding:
    opening = (Part(_title(table), place), Part(": "))
    order = table.best_first
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
    if not table.is_ranked:
        return NOT_RANKED, [Part("not ranked: the unit does not say whether more is better.")]
    best = [row for row in order if row.best]
    others = [row for row in order if not row.best]
    score = _score(best[0], table)
    if len(order) == 1:
        lead = _contender(best[0], with_runs=True)
        return ALONE, [*lead, Part(f" has {score}; there is nothing to compare it with.")]
    if len(best) > 1:
        names = Part(_names(best), is_name=True)
        parts = [names, Part(f" share the best score, {score}")]
        if others:
            parts += [*_before(others[0], table), Part(_difference(others[0].verdict, others[0]))]
        return TIE, [*parts, Part("."), *_last_parts(table, others)]
    verdict = best[0].verdict
    status = UNKNOWN if verdict is None else verdict.status
    word = "leads with" if status == SIGNIFICANT else "has the best score,"
    parts = [
        *_contender(best[0], with_runs=True),
        Part(f" {word} {score}"),
        *_before(others[0], table),
        Part(f"{_outcome(verdict, others)}."),
    ]
    if verdict is not None and (sentence := what_would_decide(verdict)):
        parts.append(Part(f" {sentence}"))
    return status, [*parts, *_last_parts(table, others)]


def _before(row: DeltaRow, table: DeltaTable) -> list[Part]:
    return [Part(", ahead of "), *_contender(row), Part(f" with {_score(row, table)}: ")]


def _outcome(verdict: Verdict | None, others: Sequence[DeltaRow]) -> str:
    if verdict is None:
        return NOT_KNOWN
    # One other is named already.
    names = names_in_words(verdict.against) if len(others) > 1 else ""
    if verdict.status == SIGNIFICANT:
        return _difference(others[0].verdict, others[0])
    if verdict.status == EQUAL:
        to = f" to {names}," if names else ""
        return f"equivalent{to} within {verdict.equivalence_percent:g}%"
    if verdict.status == TIE:
        # Who is in no list would be taken for slower.
        rest = [
            f"{word} {names_of_others}"
            for status, word in ((EQUAL, "equivalent to"), (UNKNOWN, "not known against"))
            if (names_of_others := _names_of(others, status))
        ]
        return ", ".join([f"inconclusive against {names}" if names else "inconclusive", *rest])
    return f"{NOT_KNOWN} ({missing_words(verdict)})"


def _names_of(others: Sequence[DeltaRow], status: str) -> str:
    return names_in_words(
        [row.contender for row in others if row.verdict and row.verdict.status == status]
    )


def _difference(verdict: Verdict | None, behind: DeltaRow) -> str:
    if verdict is None or verdict.status != SIGNIFICANT:
        return pair_verdict(verdict)
    if size := effect(verdict.turned()):
        return size
    percent = behind.delta2_percent
    return f"{percents(abs(percent))} faster, significant" if percent else "significant"


def _last_parts(table: DeltaTable, others: Sequence[DeltaRow]) -> list[Part]:
    """How far the last is behind the first: its delta 1. Who has just its score is last, too."""
    if len(others) < 2 or others[-1].delta1_percent is None:
        return []
    last = [row for row in others if is_same(row.score, others[-1].score)]
    names = _contender(last[0]) if len(last) == 1 else [Part(_names(last), is_name=True)]
    return [
        Part(f" Last {'is' if len(last) == 1 else 'are'} "),
        *names,
        Part(f" with {_score(last[-1], table)}, {percents(others[-1].delta1_percent)} slower."),
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
    """The words before the numbers of a row's runs; an old score may name runs of the series."""
    if len(row.run_ids) == 1:
        return "run "
    is_part = row.runs is not None and row.runs < len(row.run_ids)
    return f"{row.runs} of the runs " if is_part else "runs "


def _score(row: DeltaRow, table: DeltaTable) -> str:
    """As its table reads it: in the same unit, where that is another than the stored one."""
    if table.scale.unit != numbers.unit_name(table.unit):
        return f"{table.scale.amount(row.score, row.shown_half_width)} {table.scale.unit}"
    text = numbers.amount(row.score, table.unit, table.least_decimals)
    return text if table.unit in {"", "score"} else f"{text} {numbers.unit_name(table.unit)}"


def _title(table: DeltaTable) -> str:
    label = testnames.label(table.test)
    if table.category == categories.MEAN:
        return label
    return f"{label}, {table.category_in_sentence}"


def _spread(table: DeltaTable) -> float | None:
    return table.best_first[-1].delta1_percent
