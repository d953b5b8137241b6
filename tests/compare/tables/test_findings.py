"""Sentences say what the tables say, and nothing beyond."""

import re
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsbench_web.compare.tables.findings import (
    Finding,
    findings,
    findings_by_test,
    pairs_tested,
    summary,
)
from fsbench_web.compare.tables.verdicts.uncertainty import effect, what_would_decide
from fsbench_web.core import numbers
from fsbench_web.core.comparison import significance
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.comparison.significance import Rule
from fsbench_web.core.stats.intervals import Interval
from fsbench_web.core.stats.verdicts import FREENIX
from tests.compare.conftest import make_run, make_score, make_series
from tests.compare.tables.verdicts.test_ratio_verdicts import in_blocks
from tests.compare.tables.verdicts.test_significance import (
    interval_around,
    judged_tables,
    row,
    table,
)

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
NAMES = ["ext", "jfs", "xfs", "reiser", "btrfs"]


def sentence(*rows: DeltaRow, **more: Any) -> str:
    [finding] = findings(judged_tables([table(*rows, **more)]))
    return finding.text


def test_a_significant_winner() -> None:
    text = sentence(
        row("ext3", 50, interval_around(50)),
        row("xfs", 80, interval_around(80), configuration="xfs_noatime"),
        row("jfs", 100, interval_around(100), configuration="jfs_noatime"),
    )
    assert text == (
        "Write, overall: jfs (jfs_noatime) leads with 100.00 KB/s, ahead of xfs (xfs_noatime) "
        "with 80.00 KB/s: 25.00% faster, significant. "
        "Last is ext3 with 50.00 KB/s, 50.00% slower."
    )


def test_a_winner_that_is_not_significant_is_a_tie_in_words() -> None:
    text = sentence(row("xfs", 95, interval_around(95)), row("jfs", 100, interval_around(100)))
    assert "leads with" not in text
    assert text == (
        "Write, overall: jfs has the best score, 100.00 KB/s, ahead of xfs with 95.00 KB/s: "
        "inconclusive."
    )


def test_where_nobody_can_know_the_sentence_says_so_and_why() -> None:
    text = sentence(row("xfs", 10), row("jfs", 100))
    assert "not known (one run has no scatter)" in text
    assert "significant" not in text


def test_several_that_are_best_share_the_score() -> None:
    text = sentence(row("a", 4), row("b", 4), row("c", 2))
    assert text == "Write, overall: a and b share the best score, 4 KB/s.".replace(
        "4 KB/s.", "4.00 KB/s, ahead of c with 2.00 KB/s: not known."
    )


def test_of_times_the_shortest_is_first_and_faster_is_of_speed() -> None:
    text = sentence(
        row("slow", 20, interval_around(20)),
        row("fast", 10, interval_around(10)),
        lower=True,
        unit="s",
        test="mkfs",
        category="mean",
    )
    assert "fast leads with 10 s, ahead of slow with 20 s: 100.00% faster" in text


def test_an_only_contender_beats_nobody() -> None:
    assert "nothing to compare it with" in sentence(row("jfs", 100, interval_around(100)))


def test_a_unit_without_a_direction_is_not_ranked() -> None:
    table = DeltaTable("x", "mean", "widgets", False, (row("a", 1), row("b", 2)))
    [finding] = findings([table])
    assert finding.status == "not ranked"
    assert not NUMBER.findall(finding.text)


def test_several_with_the_last_score_are_all_last() -> None:
    text = sentence(row("a", 2), row("b", 2), row("c", 4))
    assert text.endswith(" Last are a and b with 2.00 KB/s, 50.00% slower.")


BLOCKS = [1000.0, 1090.0, 920.0, 1050.0, 960.0]
SAME = [value * (1 + way / 1e4) for value, way in zip(BLOCKS, (1, -1, 2, -2, 0), strict=True)]
APART = [value * way for value, way in zip(BLOCKS, (0.9, 1.08, 0.95, 1.05, 0.97), strict=True)]


def ratio_sentence(*rows: DeltaRow) -> str:
    [finding] = findings(significance.with_verdicts([table(*rows)]))
    return finding.text


def test_a_lead_that_is_open_says_against_whom_it_is_not() -> None:
    """Who is in neither list would be taken for slower."""
    best, same, apart = (
        in_blocks(name, values)
        for name, values in (
            ("best", [v * 1.001 for v in BLOCKS]),
            ("same", SAME),
            ("apart", APART),
        )
    )
    text = ratio_sentence(best, same, apart)
    assert "inconclusive against apart, equivalent to same. " in text
    once = row("once", 900.0)
    assert "against apart, not known against once. " in ratio_sentence(best, apart, once)
    once = row("once", 90.0)
    text = sentence(
        row("xfs", 95, interval_around(95)), row("jfs", 100, interval_around(100)), once
    )
    assert "inconclusive against xfs, not known against once. Last is" in text


def test_behind_a_shared_score_a_difference_stands_only_where_it_is_one() -> None:
    tied = [in_blocks(name, BLOCKS) for name in ("a", "b")]
    text = ratio_sentence(*tied, in_blocks("c", APART))
    assert text.endswith(
        "share the best score, 1,004.00 KB/s, ahead of c with 996.98 KB/s: "
        "inconclusive, paired in 5 rounds."
    )
    text = ratio_sentence(*tied, in_blocks("c", [value / 2 for value in SAME]))
    assert re.search(
        r"ahead of c with 502\.\S+ KB/s: 100\.0% faster, \S+ to \S+%, paired in 5 rounds\.$", text
    )


def test_what_reads_the_same_is_no_span() -> None:
    tables = judged_tables(
        [
            table(row("a", 100), row("b", 50 + part), test=test)
            for test, part in (("write", 0), ("read", 1e-9))
        ]
    )
    assert not [finding for finding in summary(tables) if "furthest behind" in finding.text]


def test_a_difference_too_small_to_print_is_not_printed_as_none() -> None:
    text = sentence(row("a", 99_999), row("b", 100_000), row("c", 100_001))
    assert "0.00%" not in text
    assert "less than 0.01% slower" in text


def test_the_runs_behind_a_winner_are_linked() -> None:
    jfs = row("jfs", 100, run_ids=(1, 2, 3, 4, 5), runs=5)
    [finding] = findings([table(jfs, row("xfs", 50))])
    assert "jfs (runs 1, 2, 3 and 2 more)" in finding.text
    assert [p.href for p in finding.parts if p.href] == [
        "#test-write",
        "/runs/1/",
        "/runs/2/",
        "/runs/3/",
    ]


def test_a_score_of_some_of_the_runs_says_of_how_many() -> None:
    # Two of the five measured this test, or three are contended and left out of a sound score.
    text = sentence(row("jfs", 100, run_ids=(1, 2, 3, 4, 5), runs=2), row("xfs", 50))
    assert "jfs (2 of the runs 1, 2, 3 and 2 more)" in text
    text = sentence(row("jfs", 100, run_ids=(1, 2), runs=1, configuration="jfs_a"), row("xfs", 50))
    assert "jfs (jfs_a, 1 of the runs 1, 2)" in text
    # A paper's score has no runs here, and nobody said how many there were.
    assert "of the runs" not in sentence(row("jfs", 100, runs=None), row("xfs", 50))


def test_the_overall_score_is_the_headline_of_its_test() -> None:
    rows = (row("a", 1), row("b", 2))
    tables = [table(*rows, category=c) for c in ("maximum", "minimum", "overall")]
    tables.append(table(*rows, test="read", category="maximum"))
    by_test = findings_by_test(tables)
    assert [(t.headline.category, len(t.others)) for t in by_test.tests] == [
        ("overall", 2),
        ("maximum", 0),
    ]


def test_the_summary_says_where_first_and_last_are_furthest_apart() -> None:
    """Who is best how often stands in the answer above it."""
    sure = table(
        row("a", 50, interval_around(50)), row("b", 100, interval_around(100)), test="write"
    )
    close = table(
        row("a", 99, interval_around(99)), row("b", 100, interval_around(100)), test="read"
    )
    lone = table(row("a", 100), row("b", 10), test="reread")
    [finding] = summary(judged_tables([sure, close, lone]))
    assert "furthest behind in Reread, overall (90.00% slower than the fastest)" in finding.text
    assert "closest in Read, overall (1.00%)" in finding.text


def test_nothing_is_furthest_apart_where_all_are_level() -> None:
    level = [table(row("a", 5), row("b", 5), test=test) for test in ("write", "read")]
    assert not any("furthest" in finding.text for finding in summary(judged_tables(level)))


def test_what_is_as_far_apart_everywhere_is_furthest_nowhere() -> None:
    """Not *furthest in Read: 50%; and closest in Read: 50%*."""
    alike = [table(row("a", 5), row("b", 10), test=test) for test in ("read", "write")]
    assert not any("furthest" in finding.text for finding in summary(judged_tables(alike)))


def test_a_best_time_of_zero_has_no_ratio_and_a_whole_sentence() -> None:
    text = sentence(
        row("btrfs", 1.0, interval_around(1.0, 1.0)),
        row("ext4", 0.0, interval_around(0.0, 1.0)),
        unit="s",
        lower=True,
    )
    assert "ext4 has the best score, 0 s, ahead of btrfs with 1" in text
    assert "1 s: inconclusive." in text


def test_a_table_of_another_unit_is_no_further_category() -> None:
    tables = [
        table(row("a", 1.0), row("b", 2.0), unit=unit, category=category)
        for unit, category in (("MiB/s", "mean"), ("MB/s", "mean"))
    ]
    assert findings_by_test(judged_tables(tables)).tests[0].others_in_words == "1 more table"
    tables = [
        table(row("a", 1.0), row("b", 2.0), category=category)
        for category in ("overall", "maximum", "minimum")
    ]
    assert findings_by_test(judged_tables(tables)).tests[0].others_in_words == "2 more categories"


def test_a_single_table_needs_no_summary() -> None:
    assert summary([table(row("a", 1), row("b", 2))]) == []


def test_how_many_were_tested_is_told() -> None:
    delta_table = table(row("a", 50, interval_around(50)), row("b", 100, interval_around(100)))
    assert pairs_tested(judged_tables([delta_table] * 3)) == 1, "of a table"
    assert pairs_tested(judged_tables([table(row("a", 50), row("b", 100))])) == 0


# --- never beyond the numbers -------------------------------------------------------------------

SCORES = st.decimals(min_value=0, max_value=10**7, places=2).map(float)
INTERVALS = st.none() | st.builds(
    Interval,
    mean=SCORES,
    half_width=st.floats(min_value=0, max_value=1e5),
    count=st.integers(min_value=2, max_value=30),
)


@st.composite
def shown_tables(draw: st.DrawFn) -> list[DeltaTable]:
    tables = []
    for category in draw(
        st.lists(st.sampled_from(["maximum", "minimum", "overall"]), min_size=1, unique=True)
    ):
        rows = [
            row(
                name,
                draw(SCORES),
                draw(INTERVALS),
                run_ids=tuple(range(3, 3 + draw(st.integers(min_value=0, max_value=5)))),
                origin=draw(st.sampled_from(["computed", "published"])),
            )
            for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
        ]
        lower = draw(st.booleans())
        tables.append(table(*rows, lower=lower, unit="s" if lower else "KB/s", category=category))
    margin, name = draw(st.sampled_from([0.0, 2.5, 10.0])), draw(st.sampled_from(["", FREENIX]))
    return significance.with_verdicts(tables, Rule(name, margin, margin))


def numbers_of(tables: list[DeltaTable]) -> set[str]:
    """Every number of the tables, as pages write them."""
    written_numbers = {"0.05", "95", "0.0001", "0.01"}
    for delta_table in tables:
        least = numbers.least_decimals(each.score for each in delta_table.rows)
        for each in delta_table.rows:
            half = each.interval.half_width if each.interval else None
            written_numbers |= {numbers.amount(each.score, delta_table.unit, least)}
            written_numbers |= {delta_table.scale.amount(each.score, half)}
            written_numbers |= {str(each.runs), *map(str, each.run_ids)}
            if len(each.run_ids) > 3:
                written_numbers.add(str(len(each.run_ids) - 3))
            for delta in (each.delta1_percent, each.delta2_percent):
                if delta is not None:
                    written_numbers.add(numbers.percent(abs(delta)))
            if each.verdict is not None:
                written_numbers |= {f"{each.verdict.margin_percent:g}", str(each.verdict.tested)}
                if each.verdict.difference_percent is not None:
                    written_numbers |= {
                        numbers.number(each.verdict.difference_percent, decimals)
                        for decimals in (2, 3, 5, 10)
                    }
                # A sentence about the best says it of the best.
                sentences = [
                    f"{v.equivalence_percent or 0:g} {effect(v)} {what_would_decide(v)}"
                    for v in (each.verdict, each.verdict.turned())
                ]
                written_numbers |= set(NUMBER.findall(" ".join(sentences)))
                for p in (each.verdict.p_value, each.verdict.p_holm):
                    written_numbers.add("" if p is None else numbers.probability(p))
        # Others of many that tie, and the counts of the summary.
        written_numbers |= {str(n) for n in range(len(delta_table.rows) + 1)}
    return written_numbers | {str(n) for n in range(len(tables) + 1)}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(shown_tables())
def test_every_number_in_a_sentence_is_in_the_tables(tables: list[DeltaTable]) -> None:
    written_numbers = numbers_of(tables)
    for finding in [*findings(tables), *summary(tables)]:
        for number in NUMBER.findall(finding.text):
            assert number.rstrip(",") in written_numbers, finding.text


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(shown_tables())
def test_no_sentence_claims_what_its_table_does_not(tables: list[DeltaTable]) -> None:
    for delta_table, finding in zip(tables, findings(tables), strict=True):
        best = [each for each in delta_table.rows if each.best]
        claims = "leads with" in finding.text
        assert claims == (finding.status == "significant")
        if claims:
            others = [each for each in delta_table.rows if not each.best]
            assert len(best) == 1
            assert all(o.verdict and o.verdict.status == "significant" for o in others)
        if finding.status == "unknown":
            assert "not known" in finding.text or "inconclusive" in finding.text
        if finding.status == "tie":
            words = ("share the best score", "inconclusive")
            assert any(word in finding.text for word in words)
        # The first is the one with the best score, by the numbers themselves.
        target = (min if delta_table.lower_is_better else max)(
            Decimal(str(r.score)) for r in delta_table.rows
        )
        assert {Decimal(str(each.score)) for each in best} == {target}


def test_the_same_sentence_for_the_same_numbers_in_any_order() -> None:
    rows = [
        row("a", 50, interval_around(50)),
        row("b", 80, interval_around(80)),
        row("c", 100, interval_around(100)),
    ]
    assert sentence(*rows) == sentence(*rows[::-1])


# --- on pages -----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_names_from_imports_are_text_in_findings(client: Client) -> None:
    make_score("<b>x</b>", 100, filesystem="<b>x</b>")
    make_score("xfs", 50)
    assert "<b>x" not in client.get("/compare/?papers=yes").content.decode()


@pytest.mark.django_db
def test_the_page_links_findings_to_tables_and_runs(client: Client) -> None:
    make_score("ext4", 100)
    make_score("xfs", 50)
    run = make_run(make_series("ext4"))
    html = client.get("/compare/?papers=yes").content.decode()
    section = html[html.index('id="findings"') :].split("</section>")[0]
    assert '<a href="#write-maximum">Write, maximum</a>' in section
    assert f'<a href="/runs/{run.pk}/">{run.pk}</a>' in section
    assert 'id="test-write"' in html


@pytest.mark.django_db
def test_nothing_measured_is_nothing_found(client: Client) -> None:
    assert 'id="findings"' not in client.get("/compare/?papers=yes").content.decode()


def test_a_finding_is_its_parts() -> None:
    assert Finding("", "", "tie", ()).text == ""
