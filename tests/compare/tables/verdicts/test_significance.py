"""What of the differences in delta tables is more than chance, by the rule of FREENIX 2002.

The other rules are in test_ratio_verdicts.py.
"""

import json
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables import findings
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.compare.tables.verdicts.uncertainty import reason_sentences
from fsbench_web.compare.views import table_cells
from fsbench_web.core import numbers
from fsbench_web.core.comparison import significance as subject
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.comparison.significance import Rule
from fsbench_web.core.scoring.deltas import delta_rows
from fsbench_web.core.stats.intervals import TRIALS, Interval, interval, sample_interval
from fsbench_web.core.stats.verdicts import FREENIX
from fsbench_web.studies.models import Score
from tests.compare.conftest import make_run, make_score, make_series


def judged_tables(tables: list[DeltaTable], margin_percent: float = 10.0) -> list[DeltaTable]:
    return subject.with_verdicts(tables, Rule(FREENIX, margin_percent))


def row(name: str, score: float, score_interval: Interval | None = None, **more: Any) -> DeltaRow:
    plain: dict[str, Any] = dict.fromkeys(DeltaRow._fields)
    return DeltaRow(
        **plain
        | {
            "contender": name,
            "score": score,
            "interval": score_interval,
            "flags": (),
            "run_ids": (),
            "filesystem": name,
            "study": "lab",
            "study_title": "Lab",
            "origin": "computed",
            "runs": score_interval.count if score_interval else 1,
            "best": False,
        }
        | more
    )


def interval_around(mean: float, half_width: float = 1.0, count: int = 5) -> Interval:
    return Interval(mean, half_width, count)


def table(*rows: DeltaRow, lower: bool = False, **more: Any) -> DeltaTable:
    deltas = delta_rows([each.score for each in rows], lower)
    compared_rows = [
        each._replace(
            best=delta.best,
            delta1_percent=delta.delta1_percent,
            delta2_percent=delta.delta2_percent,
        )
        for each, delta in zip(rows, deltas, strict=True)
    ]
    fields: dict[str, Any] = {"test": "write", "category": "overall", "unit": "KB/s"} | more
    return DeltaTable(lower_is_better=lower, rows=tuple(compared_rows), **fields)


def verdicts(table: DeltaTable) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {r.contender: (r.verdict.status, r.verdict.against) for r in table.rows if r.verdict}


def test_a_winner_ahead_of_all_is_significant() -> None:
    [judged_table] = judged_tables(
        [
            table(
                row("a", 50, interval_around(50)),
                row("b", 80, interval_around(80)),
                row("c", 100, interval_around(100)),
            )
        ]
    )
    assert verdicts(judged_table) == {
        "a": ("significant", ("c",)),
        "b": ("significant", ("c",)),
        "c": ("significant", ("b", "a")),
    }
    assert [uncertainty.verdict_words(each) for each in judged_table.rows] == [
        "slower, FREENIX rule",
        "slower, FREENIX rule",
        "faster, FREENIX rule",
    ]


def test_a_winner_ties_with_each_that_it_is_not_ahead_of() -> None:
    """Also with one further behind whose interval is wide, while the second is clearly behind."""
    [judged_table] = judged_tables(
        [
            table(
                row("wide", 70, interval_around(70, 60, 2)),
                row("second", 80, interval_around(80)),
                row("best", 100, interval_around(100)),
            )
        ]
    )
    assert verdicts(judged_table)["best"] == ("tie", ("wide",))
    assert verdicts(judged_table)["second"][0] == "significant"
    assert uncertainty.verdict_words(judged_table.rows[2]) == "inconclusive against wide"


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (row("a", 50), "one_run"),
        (row("a", 50, origin="published", runs=2), "published"),
        (row("a", 50, runs=2), "no_interval"),
        (row("a", 99.99), "one_run"),
    ],
)
def test_without_an_interval_nothing_is_claimed(other: DeltaRow, reason: str) -> None:
    [judged_table] = judged_tables([table(other, row("b", 100, interval_around(100, 0.01, 50)))])
    for each in judged_table.rows:
        assert each.verdict is not None
        assert (each.verdict.status, each.verdict.reasons) == ("unknown", (reason,))
    assert not uncertainty.has_standing(judged_table)


def test_equal_scores_tie_whatever_is_known_of_them() -> None:
    [judged_table] = judged_tables(
        [table(row("a", 100), row("b", 100, interval_around(100)), row("c", 10))]
    )
    assert verdicts(judged_table) == {
        "a": ("tie", ("b",)),
        "b": ("tie", ("a",)),
        "c": ("unknown", ("a",)),
    }


def test_means_of_the_same_decimals_are_the_same_score() -> None:
    [judged_table] = judged_tables([table(row("a", (0.1 + 0.2 + 0.3) / 3), row("b", 0.2))])
    [first, second] = [each.verdict for each in judged_table.rows]
    assert first is not None
    assert second is not None
    assert (first.status, first.reasons) == (second.status, second.reasons) == ("tie", ("equal",))


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.034, "0.034"),
        (0.05, "0.05"),
        (0.0501, "0.0501"),  # not "0.05, above 0.05"
        (0.05001, "0.05001"),
        (0.0499, "0.0499"),  # not "0.05", which is not below 0.05
        (0.049997, "0.049997"),
        (0.0497, "0.0497"),
        (0.00034, "0.00034"),
        (0.00001, "below 0.0001"),
        (0.0, "below 0.0001"),
        (1.0, "1"),
    ],
)
def test_a_probability_reads_on_its_side_of_the_limit(p: float, words: str) -> None:
    assert numbers.probability(p) == words


def test_a_difference_below_the_margin_reads_as_below() -> None:
    # 9.9991 of 99.9991 to 90: 9.99919%, which two decimals would make "10.00%, less than the 10%".
    [judged_table] = judged_tables(
        [table(row("a", 90, interval_around(90)), row("b", 99.9991, interval_around(99.9991)))]
    )
    [verdict] = [each.verdict for each in judged_table.rows if each.best]
    assert verdict is not None
    assert "The means differ by 9.999%, less than the rule's 10%." in reason_sentences(verdict)
    [judged_table] = judged_tables(
        [table(row("a", 95, interval_around(95)), row("b", 100, interval_around(100)))]
    )
    assert judged_table.rows[0].verdict is not None
    assert "differ by 5.00%, less than" in reason_sentences(judged_table.rows[0].verdict)


def test_of_times_the_shortest_is_ahead() -> None:
    [judged_table] = judged_tables(
        [
            table(
                row("slow", 20, interval_around(20)),
                row("fast", 10, interval_around(10)),
                lower=True,
            )
        ]
    )
    assert verdicts(judged_table)["fast"] == ("significant", ("slow",))


def test_a_single_contender_and_an_unranked_table_have_no_verdict() -> None:
    unranked = DeltaTable("x", "mean", "widgets", False, (row("a", 1), row("b", 2)))
    for each in judged_tables([table(row("a", 1, interval_around(1))), unranked]):
        assert verdicts(each) == {}


def test_the_pairs_of_a_table_are_tested_at_once_and_no_others() -> None:
    close = [row("a", 60, Interval(60, 12, 2)), row("b", 100, Interval(100, 12, 2))]
    [alone] = judged_tables([table(*close)])
    assert verdicts(alone)["b"] == ("significant", ("a",))
    assert {verdicts(each)["b"] for each in judged_tables([table(*close)] * 90)} == {
        ("significant", ("a",))
    }
    more = [row(str(number), 95 + number / 100, interval_around(95)) for number in range(90)]
    [among] = judged_tables([table(*close, *more)])
    verdict = next(each.verdict for each in among.rows if each.contender == "a")
    assert verdict is not None
    assert (verdict.status, verdict.reasons, verdict.tested) == ("tie", ("many",), 92 * 91 // 2)
    assert "not among all pairs shown" in reason_sentences(verdict)


def test_a_best_that_was_picked_by_its_numbers_is_tested_among_all_pairs() -> None:
    """Of eight that are alike the best is faster than another, by chance, in 5 of 100 tables at
    most. Corrected over the seven pairs of the best alone it was in 10: the best and the worst are
    farther apart than two that were named before.
    """
    draw = np.random.default_rng(20_261_127)
    wrong = 0
    for _ in range(400):
        values = 1000 * np.exp(0.02 * draw.normal(size=(8, 5)))
        rows = [
            row(
                str(name),
                float(np.mean(of_one)),
                interval(of_one.tolist()),
                repeat_scores=tuple((str(block), float(x)) for block, x in enumerate(of_one)),
            )
            for name, of_one in enumerate(values)
        ]
        [judged_table] = subject.with_verdicts([table(*rows)])
        statuses = {r.verdict.status for r in judged_table.rows if r.verdict is not None}
        wrong += "significant" in statuses
    assert wrong <= 28, "5% of 400 are 20; 29 or more have a chance of 3%"


def test_what_is_said_of_all_tables_is_not_the_number_of_one() -> None:
    two = table(row("a", 60, interval_around(60)), row("b", 100, interval_around(100)))
    three = table(
        row("a", 60, interval_around(60)),
        row("b", 80, interval_around(80)),
        row("c", 100, interval_around(100)),
    )
    all_findings = [
        findings.findings_by_test(judged_tables(some))
        for some in ([three, three], [two, three], [two])
    ]
    assert [by_test.tested for by_test in all_findings] == [3, 3, 1]


def test_without_repeats_a_row_is_in_no_pair() -> None:
    delta_table = table(
        row("a", 60, interval_around(60)), row("b", 100, interval_around(100)), row("c", 80)
    )
    by_contender = {r.contender: r.verdict for r in judged_tables([delta_table])[0].rows}
    assert by_contender["a"] is not None
    assert by_contender["c"] is not None
    assert (by_contender["a"].tested, by_contender["c"].tested) == (1, None)


def test_whoever_has_the_score_of_the_best_is_in_the_pairs_of_the_table() -> None:
    """Two that are equally good made one pair of three, and no correction of the third's."""
    rows = [row(name, 100, interval_around(100)) for name in "bc"]
    [judged_table] = judged_tables([table(row("a", 60, interval_around(60)), *rows)])
    by_contender = {r.contender: r.verdict for r in judged_table.rows}
    assert by_contender["a"] is not None
    assert by_contender["a"].tested == 3
    alone = table(row("a", 60, interval_around(60)), rows[0], row("c", 100))
    verdict = next(r.verdict for r in judged_tables([alone])[0].rows if r.contender == "a")
    assert verdict is not None
    assert verdict.tested == 1


def test_many_tied_entries_are_combined_once_and_each_names_all_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Combining them for every tied entry took 31 s of 8,000 entries."""
    calls: list[int] = []
    combined = subject._combined_verdict

    def counted(status: str, others: Any, rule: Rule) -> Any:
        calls.append(len(others))
        return combined(status, others, rule)

    monkeypatch.setattr(subject, "_combined_verdict", counted)
    names = [f"entry-{number:03}" for number in range(60)]
    [judged_table] = judged_tables(
        [table(*(row(name, 100, interval_around(100)) for name in names))]
    )
    assert calls == [59, 59]
    for each in judged_table.rows:
        assert each.verdict is not None
        assert each.verdict.status == "tie"
        assert sorted([*each.verdict.against, each.contender]) == names


def test_the_margin_is_that_of_the_comparison() -> None:
    delta_table = table(
        row("a", 95, interval_around(95, 0.1)), row("b", 100, interval_around(100, 0.1))
    )
    assert verdicts(judged_tables([delta_table])[0])["b"][0] == "tie"
    assert verdicts(judged_tables([delta_table], 5.0)[0])["b"][0] == "significant"


def test_the_order_of_the_rows_on_the_page_does_not_matter() -> None:
    rows = [
        row("a", 50, interval_around(50)),
        row("b", 80, interval_around(80)),
        row("c", 100, interval_around(100)),
    ]
    outcomes = {
        tuple(sorted(verdicts(judged_tables([table(*each)])[0]).items()))
        for each in (rows, rows[::-1])
    }
    assert len(outcomes) == 1


def test_against_a_baseline_each_row_is_judged_in_its_own_direction() -> None:
    [judged_table] = judged_tables(
        [
            table(
                row("slow", 50, interval_around(50)),
                row("base", 80, interval_around(80), is_baseline=True),
                row("fast", 100, interval_around(100)),
                row("near", 81, interval_around(81)),
            )
        ]
    )
    changes = {r.contender: r.change_verdict and r.change_verdict.status for r in judged_table.rows}
    assert changes == {"slow": "significant", "base": None, "fast": "significant", "near": "tie"}
    tested = {r.change_verdict.tested for r in judged_table.rows if r.change_verdict}
    assert tested == {6}, "whoever is best or the baseline, it is of the pairs of four"


def test_a_pair_of_the_best_and_the_baseline_is_tested_once() -> None:
    """Whoever is the baseline: of two contenders there is one question, with one p."""
    slow, fast = row("slow", 80, interval_around(80, 9)), row("fast", 100, interval_around(100, 9))
    [alone] = judged_tables([table(slow, fast)], 0.1)
    verdict = alone.rows[0].verdict
    assert verdict is not None
    assert verdict.p_value is not None
    assert (verdict.tested, verdict.p_holm) == (1, verdict.p_value)
    for of_slow, of_fast in ((True, False), (False, True)):
        [judged_table] = judged_tables(
            [table(slow._replace(is_baseline=of_slow), fast._replace(is_baseline=of_fast))], 0.1
        )
        pair_verdicts = [v for r in judged_table.rows for v in (r.verdict, r.change_verdict) if v]
        assert len(pair_verdicts) == 3
        assert {(v.tested, v.p_holm) for v in pair_verdicts} == {(1, verdict.p_value)}

    third = row("third", 60, interval_around(60, 9))
    [judged_table] = judged_tables([table(third, slow, fast._replace(is_baseline=True))])
    assert {r.change_verdict.tested for r in judged_table.rows if r.change_verdict} == {3}


def test_rows_survive_the_way_through_json() -> None:
    samples = sample_interval([79.0, 80.0, 81.0])
    [judged_table] = judged_tables(
        [table(row("a", 80, samples), row("b", 100, interval_around(100)))]
    )
    assert DeltaTable.from_dict(json.loads(json.dumps(judged_table.as_dict()))) == judged_table


def test_a_row_kept_before_there_were_verdicts_has_none() -> None:
    stored_row = row("a", 80).as_dict()
    for name in ("interval", "verdict", "change_verdict"):
        del stored_row[name]
    assert DeltaRow.from_dict(stored_row).verdict is None


def test_an_interval_says_around_what_it_is_and_of_what() -> None:
    assert table_cells.interval_sentence(interval_around(50, 2.5, 3), "KB/s") == (
        "95% interval 47.50 to 52.50 KB/s around 50.00 KB/s, the mean of 3 repeats."
    )
    samples = sample_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0])
    assert samples is not None
    wide = interval_around(50, 60, 3)
    sentence = table_cells.interval_sentence(wide, "KB/s")
    assert "95% interval \N{MINUS SIGN}10.00 to 110.00 KB/s around 50.00 KB/s" in sentence
    assert sentence.endswith(table_cells.BELOW_ZERO)
    assert table_cells.BELOW_ZERO not in table_cells.interval_sentence(
        interval_around(50, 50, 3), "KB/s"
    )
    sentence = table_cells.interval_sentence(samples, "KB/s")
    assert "12 samples of one run" in sentence
    assert "correlate by 0.75 (lag 1). So the interval is too narrow." in sentence
    trials = sample_interval([1.0, 3.0, 2.0], TRIALS)
    assert trials is not None
    sentence = table_cells.interval_sentence(trials, "KB/s")
    assert "the mean of 3 trials of one run" in sentence
    assert "Neighbouring trials correlate" in sentence


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (interval_around(100, 2.48), "± 2.5%"),
        (interval_around(100, 0.001), "± < 0.1%"),
        (interval_around(100, 0.0), "± 0.0%"),
        (interval_around(0.0, 3.0), "± 3.00 KB/s"),
    ],
)
def test_a_half_width_is_short_and_never_hidden(interval: Interval, words: str) -> None:
    assert table_cells.half_width(interval, "KB/s") == words


def measured(label: str, value: float, interval: Interval, **more: Any) -> None:
    score = make_score(label, value, repeats=interval.count, **more)
    Score.objects.filter(pk=score.pk).update(interval=interval.as_dict())


@pytest.mark.django_db
class TestPages:
    def test_scores_bring_their_intervals(self) -> None:
        measured("ext4", 100, interval_around(98, 1, 3))
        make_score("xfs", 50)
        [table] = delta_tables(ComparisonSpec())
        assert table.rows[1].interval == interval_around(98, 1, 3)
        assert table.rows[0].verdict is not None
        assert table.rows[0].verdict.status == "unknown"

    def test_the_page_says_tie_and_why(self, client: Client) -> None:
        measured("ext4", 100, interval_around(100))
        measured("xfs", 95, interval_around(95, 0.5))
        html = client.get("/compare/?rule=freenix").content.decode()
        assert "inconclusive against xfs" in html
        assert "The means differ by 5.00%, less than the rule&#x27;s 10%." in html
        assert "inconclusive against xfs" in html
        assert "99.00 to 101.00 KB/s" in html

    def test_the_margin_is_in_the_address(self, client: Client) -> None:
        measured("ext4", 100, interval_around(100))
        measured("xfs", 95, interval_around(95, 0.5))
        html = client.get("/compare/?margin=2").content.decode()
        assert "5.26% faster, significant" in html
        assert "at least 2%" in html

    def test_a_study_page_calls_what_is_not_known_inconclusive(self, client: Client) -> None:
        measured("ext4", 100, interval_around(100, 9))
        measured("xfs", 95, interval_around(95, 9))
        overview = client.get("/studies/lab/?tab=tests").content.decode()
        assert "inconclusive against xfs" in overview

    def test_a_permalink_keeps_its_verdicts(self, admin_client: Client) -> None:
        measured("ext4", 100, interval_around(100))
        measured("xfs", 95, interval_around(95, 0.5))
        make_run(make_series("ext4"))
        link = records.pin(ComparisonSpec(margin=2.0), User.objects.get(username="admin"))
        Score.objects.update(interval=None)
        html = admin_client.get(f"/p/{link.key}/").content.decode()
        assert "5.26% faster, significant" in html


def test_without_any_scatter_it_is_said_that_there_was_none_to_judge_by() -> None:
    """The rule holds for two repeats that are the same: p is 0. So much is said beside it."""
    still = [row("a", 100, interval_around(100, 0.0)), row("b", 50, interval_around(50, 0.0))]
    [judged_table] = judged_tables([table(*still)])
    best, other = judged_table.rows
    assert [each.verdict and each.verdict.status for each in judged_table.rows] == [
        "significant"
    ] * 2
    for each in judged_table.rows:
        assert each.verdict is not None
        assert "no scatter to judge by" in reason_sentences(each.verdict)
    assert uncertainty.verdict_words(best) == "faster, FREENIX rule, no scatter"
    assert uncertainty.verdict_words(other) == "slower, FREENIX rule, no scatter"


def test_where_one_side_scatters_nothing_is_said_of_it() -> None:
    [judged_table] = judged_tables(
        [table(row("a", 100, interval_around(100, 0.0)), row("b", 50, interval_around(50, 1.0)))]
    )
    verdict = judged_table.rows[1].verdict
    assert verdict is not None
    assert verdict.status == "significant"
    assert "no scatter" not in reason_sentences(verdict)
    assert "no scatter" not in uncertainty.verdict_words(judged_table.rows[1])
