"""Verdicts of ratios: paired where runs share rounds, else unpaired; the same words everywhere."""

import dataclasses
import json
import random
import re
from math import log
from typing import Any

import pytest
import scipy
from django.contrib.auth.models import User
from django.template import Context
from django.test import Client

from fsbench_web.api.results.comparison import table_of
from fsbench_web.compare.pictures.sections import charts
from fsbench_web.compare.tables import findings
from fsbench_web.compare.tables.verdicts import uncertainty
from fsbench_web.compare.tables.verdicts.uncertainty import reason_sentences
from fsbench_web.core.comparison.headlines import line_against
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.comparison.significance import Rule, family_of, verdict_of_pair, with_verdicts
from fsbench_web.core.stats.intervals import SAMPLES, TRIALS, interval, sample_interval
from fsbench_web.core.stats.verdicts import FREENIX, OF_MEANS, TOO_NOISY, Verdict, outlook_words
from fsbench_web.studies.jobs.features.repeats import MAXIMUM_REPEATS
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Job, Run
from tests.compare.tables.verdicts.test_significance import row, table
from tests.compare.written import html_of
from tests.importing import import_files
from tests.studies.conftest import ann, complete, disk, spec, worker

__all__ = ["ann", "disk", "spec", "worker"]

DRIFT = (1.0, 1.09, 0.92, 1.05, 0.96)
OWN = (1.01, 0.99, 1.0, 1.015, 0.985)
EXT4 = [1000 * drift for drift in DRIFT]
XFS = [1100 * drift * own for drift, own in zip(DRIFT, OWN, strict=True)]


def in_blocks(name: str, values: list[float], first: int = 1, **more: Any) -> DeltaRow:
    repeats = tuple((f"block {n}", value) for n, value in enumerate(values, start=first))
    score_interval = interval(values)
    score = sum(values) / len(values)
    return row(name, score, score_interval, repeat_scores=repeats, runs=len(values), **more)


def verdict_of(table: DeltaTable, name: str) -> Verdict:
    verdict = next(each.verdict for each in table.rows if each.contender == name)
    assert verdict is not None
    return verdict


@pytest.mark.parametrize("other", ["computed", "published"])
def test_a_bar_is_the_mean_that_is_tested_and_beside_a_paper_the_score(other: str) -> None:
    """A maximum is the best of all repeats: beyond the interval of the mean."""
    best = in_blocks("ext4", EXT4)._replace(score=2000.0)
    [judged_table] = with_verdicts([table(row("xfs", 500.0, origin=other, study="paper"), best)])
    [plain] = charts([judged_table], judged_table.test).values()
    bar, whiskers, dots = plain.to_plotly_json()["data"]
    mean = sum(EXT4) / len(EXT4)
    expected = pytest.approx([mean if other == "computed" else 2000.0, 500.0])
    assert bar["x"] == expected
    assert whiskers["x"] == [pytest.approx(mean)]
    assert dots["x"] == EXT4
    assert ("score 2,000" in bar["hovertemplate"][0]) is (other == "computed")


@pytest.mark.parametrize(
    ("category", "unit", "harmonic"),
    [("mean", "KB/s", 120.0), ("mean", "s", None), ("maximum", "KB/s", None)],
)
def test_the_harmonic_mean_stands_beside_the_arithmetic_one_of_rates_alone(
    category: str, unit: str, harmonic: float | None
) -> None:
    """600 KB at 100 KB/s and at 150 KB/s: 1200 KB in 10 s."""
    measured = in_blocks("ext4", [100.0, 150.0])
    delta_table = dataclasses.replace(table(measured), category=category, unit=unit)
    assert delta_table.harmonic_mean_of(measured) == (harmonic and pytest.approx(harmonic))
    [row] = table_of(delta_table)["rows"]
    assert row["harmonic_mean"] == delta_table.harmonic_mean_of(measured)
    assert (row["score"], row["interval"]["mean"]) == (125.0, 125.0)
    assert ("the harmonic mean counts: 120.00 KB/s" in html_of(Context(), delta_table)) is bool(
        harmonic
    )


SKEWED = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0, 106.0, 107.0, 900.0, 950.0]


def test_the_median_stands_beside_the_mean_with_an_interval_of_its_own() -> None:
    delta_table = table(in_blocks("ext4", SKEWED))
    [row] = table_of(delta_table)["rows"]
    assert row["median"] == {
        "median": 104.5,
        "low": 101.0,
        "high": 900.0,
        "count": 10,
        "level": pytest.approx(0.9785, abs=1e-4),
    }
    page = html_of(Context(), delta_table)
    assert "Median 104.50 KB/s, 95% interval 101.00 to 900.00 KB/s" in page
    assert "skewed" not in page  # the mean, 267.8, lies within both

    few = [*SKEWED[:8] * 2, 900.0]
    page = html_of(Context(), table(in_blocks("ext4", few)))
    assert "The mean lies outside of it: a few repeats are very large." in page

    short = table(in_blocks("ext4", SKEWED[:5]))
    assert table_of(short)["rows"][0]["median"] is None
    assert "Median" not in html_of(Context(), short)


def test_delta_ratio_interval_and_best_have_one_sign() -> None:
    """Blocks that differ more than the contenders: the mean of the ratios is another number."""
    of_ext4, of_xfs = [10.0, 100.0, 400.0, 90.0], [20.0, 110.0, 380.0, 120.0]
    [judged_table] = with_verdicts([table(in_blocks("ext4", of_ext4), in_blocks("xfs", of_xfs))])
    [best] = [each for each in judged_table.rows if each.best]
    [other] = [each for each in judged_table.rows if not each.best]
    assert best.verdict is not None
    assert other.verdict is not None
    assert best.contender == "xfs"
    assert best.verdict.ratio == pytest.approx(630 / 600)
    assert other.delta2_percent == pytest.approx(-100 * (best.verdict.ratio - 1))
    assert other.delta1_percent == pytest.approx(100 * (1 - other.verdict.ratio))
    matrix_family = family_of([judged_table])
    cell = verdict_of_pair(judged_table, best, other, matrix_family)
    assert cell is not None
    assert (cell.ratio, cell.status) == (best.verdict.ratio, best.verdict.status)


def test_it_is_said_where_the_interval_is_not_of_the_scores() -> None:
    """A maximum of the repeats is not their mean."""
    rows = [
        in_blocks("ext4", EXT4)._replace(score=max(EXT4)),
        in_blocks("xfs", XFS)._replace(score=max(XFS)),
    ]
    [judged_table] = with_verdicts([table(*rows)])
    assert OF_MEANS in verdict_of(judged_table, "ext4").reasons
    [of_means] = with_verdicts([table(in_blocks("ext4", EXT4), in_blocks("xfs", XFS))])
    assert verdict_of(of_means, "ext4").reasons == ()


def test_ten_percent_under_a_drift_of_eight_is_faster_paired_and_lost_unpaired() -> None:
    [judged_table] = with_verdicts([table(in_blocks("ext4", EXT4), in_blocks("xfs", XFS))])
    best = verdict_of(judged_table, "xfs")
    assert (best.status, best.method, best.blocks) == ("significant", "paired", 5)
    assert uncertainty.effect(best) == "10.0% faster, 8.3 to 11.8%, paired in 5 rounds"
    # By hand: what each block adds to the logarithm of the ratio of the means.
    ours, theirs = sum(XFS) / 5, sum(EXT4) / 5
    logs = [log(ours / theirs) + a / ours - b / theirs for a, b in zip(XFS, EXT4, strict=True)]
    assert best.p_value == pytest.approx(scipy.stats.ttest_1samp(logs, 0).pvalue)
    other = verdict_of(judged_table, "ext4")
    assert other.ratio == pytest.approx(1 / (best.ratio or 0))
    assert uncertainty.effect(other).startswith("9.1% slower, 7.6 to 10.5%, paired in 5")
    assert [uncertainty.verdict_words(each) for each in judged_table.rows] == [
        "slower, paired",
        "faster, paired",
    ]
    [finding] = findings.findings([judged_table])
    assert finding.text == (
        "Write, overall: xfs leads with 1,104.50 KB/s, ahead of ext4 with 1,004.00 KB/s: "
        "10.0% faster, 8.3 to 11.8%, paired in 5 rounds."
    )
    apart = table(in_blocks("ext4", EXT4), in_blocks("xfs", XFS, first=6))
    lone = verdict_of(with_verdicts([apart])[0], "xfs")
    assert (lone.status, lone.method, lone.blocks) == ("tie", "unpaired", 0)
    assert lone.more_blocks
    assert lone.more_blocks > 3
    assert "They share no round" in reason_sentences(lone)
    assert f"About {lone.more_blocks} shared rounds would decide." in reason_sentences(lone)


def test_two_blocks_are_too_few_and_studies_share_none() -> None:
    pair = (in_blocks("ext4", EXT4[:2]), in_blocks("xfs", XFS[:2]))
    two = verdict_of(with_verdicts([table(*pair)])[0], "xfs")
    assert (two.method, two.blocks) == ("unpaired", 2)
    assert "They share 2 rounds; pairing needs 3." in reason_sentences(two)
    apart = table(in_blocks("ext4", EXT4), in_blocks("xfs", XFS, study="other"))
    assert verdict_of(with_verdicts([apart])[0], "xfs").method == "unpaired"


def test_nothing_is_wanted_of_what_was_not_tested() -> None:
    [judged_table] = with_verdicts([table(row("ext4", 100.0), row("xfs", 100.0))])
    assert reason_sentences(verdict_of(judged_table, "ext4")) == "The scores are the same."


def test_who_has_the_same_score_is_tied_and_not_one_of_them_the_best() -> None:
    [judged_table] = with_verdicts([table(row("ext4", 100.0), row("xfs", 100.0))])
    page = str(html_of(Context(), judged_table))
    assert page.count(">tied</span>") == 2
    assert "best</span>" not in page
    assert [uncertainty.verdict_words(each) for each in judged_table.rows] == [
        "same score as xfs",
        "same score as ext4",
    ]
    line = line_against(judged_table, "")
    assert line.best_names == ["ext4", "xfs"]
    assert uncertainty.pair_verdict(line.verdict) == "same score"
    # Of runs that scatter the verdict stays, and neither leads.
    same = [EXT4[place] for place in (1, 2, 3, 4, 0)]
    [judged_table] = with_verdicts([table(in_blocks("ext4", EXT4), in_blocks("xfs", same))])
    assert [judged_table.mark_of(each) for each in judged_table.rows] == ["tied", "tied"]
    assert uncertainty.verdict_words(judged_table.rows[0]) == "inconclusive against xfs"
    # By the rule of FREENIX 2002 all of them are best, as papers mark them.
    [judged_table] = with_verdicts([table(*judged_table.rows)], Rule(FREENIX))
    assert [judged_table.mark_of(each) for each in judged_table.rows] == ["best", "best"]


def test_one_alone_is_the_best_of_nothing() -> None:
    [judged_table] = with_verdicts([table(in_blocks("ext4", EXT4))])
    page = str(html_of(Context(), judged_table))
    assert "badge" not in page
    assert '<td class="num">–</td>' in page


def test_what_is_equal_is_said_to_be_and_nobody_is_best_of_what_is_not_known() -> None:
    same = [value * own for value, own in zip(EXT4, (1.002, 1.001, 1.0, 1.001, 1.002), strict=True)]
    [judged_table] = with_verdicts([table(in_blocks("ext4", EXT4), in_blocks("xfs", same))])
    equal = verdict_of(judged_table, "xfs")
    assert (equal.status, uncertainty.verdict_words(judged_table.rows[1])) == (
        "equal",
        "equivalent to ext4",
    )
    assert "less than 2%" in reason_sentences(equal)
    assert "equivalent within 2%" in findings.findings([judged_table])[0].text
    [narrow] = with_verdicts([table(*judged_table.rows)], Rule(equivalence_percent=0.05))
    assert verdict_of(narrow, "xfs").status == "significant"
    noisy = [value * own for value, own in zip(EXT4, (1.15, 0.95, 1.1, 1.02, 1.13), strict=True)]
    [judged_table] = with_verdicts([table(in_blocks("ext4", EXT4), in_blocks("xfs", noisy))])
    lead = verdict_of(judged_table, "xfs")
    assert (lead.status, lead.reasons) == ("tie", ("scatter",))
    assert [judged_table.mark_of(each) for each in judged_table.rows] == ["", "top score"]
    [finding] = findings.findings([judged_table])
    assert "xfs has the best score, " in finding.text
    assert "faster" not in finding.text, "what is not known is no difference"
    assert f"About {lead.more_blocks} more rounds would decide." in finding.text


def test_against_several_the_worst_outlook_counts() -> None:
    """One of the others is too noisy to tell: more rounds would not decide them all."""
    noisy = [value * own for value, own in zip(EXT4, (2.6, 0.4, 0.4, 2.7, 0.41), strict=True)]
    near = [value * own for value, own in zip(EXT4, (1.15, 0.95, 1.1, 1.02, 1.13), strict=True)]
    rows = [in_blocks("ext4", EXT4), in_blocks("near", near), in_blocks("noisy", noisy)]
    [judged_table] = with_verdicts([table(*rows)])
    lead = next(row.verdict for row in judged_table.rows if row.best)
    assert lead is not None
    assert len(lead.against) == 2
    assert (lead.status, lead.more_blocks, lead.outlook) == ("tie", None, TOO_NOISY)
    said = uncertainty.what_would_decide(lead)
    assert said == outlook_words(TOO_NOISY, None)


def test_a_repeat_outside_of_the_shared_blocks_counts_like_the_others() -> None:
    """xfs has a sixth repeat, of a fast day: its score is better, and nothing is sure."""
    slower = [value * 0.97 for value in EXT4]
    delta_table = table(in_blocks("ext4", EXT4), in_blocks("xfs", [*slower, 5000.0]))
    [judged_table] = with_verdicts([delta_table])
    lead = verdict_of(judged_table, "xfs")
    assert (lead.status, lead.method) == ("tie", "paired")
    assert lead.ratio == pytest.approx(judged_table.rows[1].score / judged_table.rows[0].score)


def test_a_best_case_that_its_means_do_not_put_ahead_is_no_winner() -> None:
    """The largest of the repeats is xfs's, and its mean is the smaller one."""
    rows = [
        in_blocks("ext4", EXT4)._replace(score=2000.0),
        in_blocks("xfs", [value * 0.8 for value in EXT4])._replace(score=3000.0),
    ]
    [judged_table] = with_verdicts([table(*rows)])
    lead = verdict_of(judged_table, "xfs")
    assert (lead.status, lead.reasons) == ("tie", ("order", "of_means"))
    assert lead.candidate_p == 1
    # It is decided, and not as the scores stand: no blocks are wanted.
    assert "would decide" not in error_text(judged_table) + reason_sentences(lead)


@pytest.mark.parametrize("faster", [64_000_000.0, 55_857_768.0])
@pytest.mark.parametrize("blocks", [2, 3])
def test_ticks_of_a_timer_that_come_out_the_same_decide_nothing(faster: float, blocks: int) -> None:
    """One tick more or less is a seventh of them, and no repeat shows it."""
    ticks = [
        in_blocks("ext4", [faster] * blocks, flags=("clock",)),
        in_blocks("xfs", [55_857_768.0] * blocks, flags=("busy", "clock")),
    ]
    [judged_table] = with_verdicts([table(*ticks)])
    verdict = verdict_of(judged_table, "xfs")
    assert verdict.status == "tie"
    assert "clock" in verdict.reasons or verdict.reasons == ("equal",)
    assert not any(
        word in error_text(judged_table) for word in ("faster", "equivalent", "would decide")
    )
    if faster > 60_000_000:
        assert "The timer is too coarse" in reason_sentences(verdict)
        unflagged = [each._replace(flags=()) for each in ticks]
        assert verdict_of(with_verdicts([table(*unflagged)])[0], "xfs").status == "significant"


def error_text(table: DeltaTable) -> str:
    return " ".join(
        [each.text for each in findings.findings([table])]
        + [uncertainty.verdict_words(each) for each in table.rows]
        + [uncertainty.what_would_decide(each.verdict) for each in table.rows if each.verdict]
    )


def test_published_figures_and_who_asks_are_judged_by_freenix() -> None:
    published = table(in_blocks("ext4", EXT4), in_blocks("xfs", XFS, origin="published"))
    assert verdict_of(with_verdicts([published])[0], "xfs").method == "freenix"
    verdict = verdict_of(
        with_verdicts([table(in_blocks("ext4", EXT4), in_blocks("xfs", XFS))], Rule(FREENIX))[0],
        "xfs",
    )
    assert (verdict.method, verdict.ratio) == ("freenix", None)


def test_a_permalink_of_before_reads_as_it_did() -> None:
    stored_verdict = {
        "status": "tie",
        "reasons": ["margin"],
        "difference_percent": 5.0,
        "p_value": 0.01,
    }
    old = Verdict.from_dict(stored_verdict | {"against": ["xfs"], "margin_percent": 10.0})
    best_row = row("ext4", 100, best=True, verdict=old)
    assert uncertainty.verdict_words(best_row) == "inconclusive against xfs"
    assert table(best_row, row("xfs", 95)).mark_of(best_row) == "best"
    assert "The means differ by 5.00%" in reason_sentences(old)
    holm = {"reasons": ["holm"], "method": "paired", "p_value": 0.02, "p_holm": 0.2, "blocks": 5}
    among = Verdict.from_dict(stored_verdict | holm)
    assert (among.status, among.q_value, among.deviation) == ("tie", None, None)
    assert "p is 0.2 by Holm's correction" in reason_sentences(among)
    assert DeltaTable.from_dict(table(best_row, row("xfs", 95, verdict=among)).as_dict())


def test_rows_with_ratios_survive_the_way_through_json() -> None:
    [judged_table] = with_verdicts([table(in_blocks("ext4", EXT4), in_blocks("xfs", XFS))])
    assert DeltaTable.from_dict(json.loads(json.dumps(judged_table.as_dict()))) == judged_table


def barely(first: int = 1) -> tuple[DeltaRow, DeltaRow]:
    """Two that differ at p = 0.02."""
    own = (1.02, 0.99, 1.06, 1.04, 1.015)
    return (
        in_blocks("ext4", EXT4, first=first),
        in_blocks("xfs", [v * 1.02 * o for v, o in zip(EXT4, own, strict=True)], first=first),
    )


def test_marks_control_the_false_discovery_rate_of_all_tables_shown() -> None:
    [alone] = with_verdicts([table(*barely(), test="untar")])
    of_one = verdict_of(alone, "ext4")
    assert of_one.status == "significant"
    assert of_one.q_value == of_one.p_value == of_one.p_holm
    noisy = [v * o for v, o in zip(EXT4, (1.15, 0.9, 1.1, 0.95, 0.93), strict=True)]
    nothing = [
        table(in_blocks("ext4", EXT4), in_blocks("xfs", noisy), test=f"test{n}") for n in range(19)
    ]
    among = verdict_of(with_verdicts([table(*barely(), test="untar"), *nothing])[0], "ext4")
    assert among.q_value == pytest.approx(20 * (of_one.p_value or 0))
    assert (among.status, among.reasons[0]) == ("tie", "many")
    assert (among.p_holm, among.tested) == (of_one.p_holm, 1)  # of its table alone
    # The more differences there are, the less each has to be.
    many = with_verdicts([table(*barely(), test=f"test{n}") for n in range(20)])
    assert {verdict_of(each, "ext4").status for each in many} == {"significant"}


def test_further_tests_and_categories_are_families_of_their_own() -> None:
    """What is counted says the same, whatever else a page shows."""
    counted = table(*barely(), test="write")
    further = [table(*barely(), test="write", category="maximum")] * 3
    costs = [table(*barely(), test="write:cpu")] * 3
    [judged_table, *_] = with_verdicts([counted, *further, *costs])
    assert verdict_of(judged_table, "ext4") == verdict_of(with_verdicts([counted])[0], "ext4")


# --- from files to pages ------------------------------------------------------------------------

TESTS = ("untar", "compile")


@pytest.fixture
def lab(db: None) -> None:
    lines = ["filesystem,configuration,block,test,value,unit"]
    for name, values in (("ext4", EXT4), ("xfs", XFS), ("jfs", [v * 0.7 for v in EXT4])):
        lines += [
            f"{name},{name},night {block},{test},{value},KB/s"
            for test in TESTS
            for block, value in enumerate(values)
        ]
    import_files([("t.csv", "\n".join(lines).encode())], study="Lab", user=None)


def test_pages_files_and_api_say_the_same(client: Client, lab: None) -> None:
    queries = ["study=lab", "study=lab&test=untar", "study=lab&test=untar&category=mean"]
    for query in queries:
        rows = client.get(f"/api/v1/comparison?{query}").json()["tables"][-1]["rows"]
        best = next(row for row in rows if row["best"])["verdict"]
        assert (best["status"], best["method"], best["blocks"], best["tested"]) == (
            *("significant", "paired", 5),
            3,
        ), query
        assert best["ratio_low"] == pytest.approx(1.083, abs=0.001)
        [file] = client.get(f"/compare/deltas.json?{query}&part_test=untar").json()["tables"][-1:]
        assert next(row for row in file["rows"] if row["best"])["verdict"] == best
    study = "/studies/lab/?tab=tests"
    for address in ("/compare/?study=lab", study, "/compare/?study=lab&test=untar"):
        html = client.get(address).content.decode()
        assert "10.0% faster, 8.3 to 11.8%, paired in 5 rounds" in html, address
        assert "faster, paired" in html
    plain = client.get("/api/v1/deltas?study=lab").json()["tables"][0]["rows"][0]
    assert "verdict" not in plain


def test_what_is_not_decided_can_be_ordered(client: Client, spec: Any, ann: User) -> None:
    runs = submit(spec(), "disk1", ann)
    values = {"ext4": [1000.0, 1060.0], "xfs": [1070.0, 1130.0]}
    for run in runs:
        complete(run, values[run.series.configuration.filesystem].pop())
    Job.objects.update(probe_s=30)
    address = "/studies/first-look/"
    stranger = client.get(address).content.decode()
    assert "inconclusive" in stranger
    assert "Measure more" not in stranger
    client.force_login(ann)
    html = client.get(address).content.decode()
    link = re.search(r'href="(/runs/new/blocks/[^"]+)"', html)
    assert link is not None
    form = client.get(link[1].replace("&amp;", "&"))
    assert form.status_code == 302
    location = form["Location"]
    assert "fs=xfs.1&fs=ext4.1" in location
    assert "workload=iozone-small" in location
    assert "probe_s=30" in location
    assert "as-written" not in location, "one configuration would always be the first of a block"
    assert re.search(r"repeats=(\d+)", location)
    page = client.get(location)
    assert page.status_code == 200
    assert Run.objects.count() == 4, "nothing is ordered before it is confirmed"
    few = client.get(re.sub(r"blocks=\d+", "blocks=5", link[1].replace("&amp;", "&")), follow=True)
    assert "and a job has" not in few.content.decode()
    many = re.sub(r"blocks=\d+", "blocks=1528", link[1].replace("&amp;", "&"))
    page = client.get(many, follow=True)
    assert f"repeats={MAXIMUM_REPEATS}&" in page.redirect_chain[0][0]
    assert f"these are the first of {1528}" in page.content.decode()


@pytest.mark.parametrize("query", ["", "series=1", "series=x&blocks=-1", "series=99&blocks=9" * 20])
def test_an_order_of_nothing_is_the_plain_form(client: Client, ann: User, query: str) -> None:
    client.force_login(ann)
    assert client.get(f"/runs/new/blocks/?{query}")["Location"] == "/runs/new/"


def apart(name: str, values: list[float], **more: Any) -> DeltaRow:
    """Repeats that share no round with anything."""
    repeats = tuple(("", value) for value in values)
    score_interval = interval(values)
    return row(name, sum(values) / len(values), score_interval, repeat_scores=repeats, **more)


def test_a_step_of_the_last_digit_is_no_difference() -> None:
    """Of two that both are 100.5 in truth one is 100 twice and the other 101 in 1 of 8 cases."""
    [judged_table] = with_verdicts(
        [table(apart("ext4", [100.0, 100.0]), apart("xfs", [101.0, 101.0]))]
    )
    verdict = verdict_of(judged_table, "ext4")
    assert verdict.status == "equal"  # within 2%
    [judged_table] = with_verdicts([table(apart("ext4", [2.4, 2.4]), apart("xfs", [2.5, 2.5]))])
    verdict = verdict_of(judged_table, "ext4")
    assert (verdict.status, verdict.reasons) == ("tie", ("rounded", "no_scatter"))
    sentences = reason_sentences(verdict)
    assert "Rounding to the last digit" in sentences
    [judged_table] = with_verdicts([table(apart("ext4", [2.4, 2.4]), apart("xfs", [4.8, 4.8]))])
    verdict = verdict_of(judged_table, "ext4")
    assert (verdict.status, verdict.reasons) == ("significant", ("no_scatter",))


def test_a_unit_to_read_in_takes_no_verdict_away() -> None:
    """2.5 GB/s are 2,560 MB/s: the digits that count are those that the tool printed."""
    plain = [apart("ext4", [2.4, 2.4]), apart("xfs", [2.5, 2.5])]
    converted = [
        apart(row.contender, [row.score * 1024] * 2, printed_score=row.score, printed_unit="GB/s")
        for row in plain
    ]
    verdicts = [verdict_of(with_verdicts([table(*rows)])[0], "ext4") for rows in (plain, converted)]
    assert verdicts[0].p_value == pytest.approx(verdicts[1].p_value, rel=1e-9)
    assert verdicts[0].status == verdicts[1].status == "tie"


def test_no_baseline_changes_what_is_said_of_the_best() -> None:
    """Pairs of a baseline were corrected together with those of the best, whose p they made less:
    of eight contenders one row of 160 had another verdict for who chose a baseline.
    """
    draw = random.Random(1)
    for _ in range(40):
        drift = [draw.gauss(1, 0.05) for _ in range(5)]
        rows = [
            in_blocks(name, [level * factor * draw.gauss(1, 0.012) for factor in drift])
            for name in "abcdefgh"
            for level in [1000 * draw.choice([1, 1.03, 1.06])]
        ]
        [alone] = with_verdicts([table(*rows)])
        base = draw.randrange(len(rows))
        rows[base] = rows[base]._replace(is_baseline=True)
        [beside] = with_verdicts([table(*rows)])
        assert [row.verdict for row in beside.rows] == [row.verdict for row in alone.rows]
        best = next(row for row in beside.rows if row.best)
        if not best.is_baseline:  # the same pair, whoever asks
            base_verdict = beside.rows[base].verdict
            assert base_verdict is not None
            assert best.change_verdict is not None
            assert best.change_verdict.p_holm == base_verdict.p_holm


def test_among_many_contenders_it_takes_more_to_be_equivalent() -> None:
    """Just below 0.05 for the two of them; of eight 16 pairs could be just the margin apart."""
    scattered = [value * own**0.75 for value, own in zip(EXT4, OWN, strict=True)]
    near = [in_blocks("a", EXT4), in_blocks("b", scattered)]
    others = [in_blocks(f"c{n}", [value * 0.8 for value in XFS]) for n in range(6)]
    two, eight = with_verdicts([table(*near), table(*near, *others)])
    [of_two, of_eight] = [verdict_of(judged_table, "a") for judged_table in (two, eight)]
    assert of_two.p_equivalence == of_eight.p_equivalence
    assert of_two.p_equivalence_corrected == of_two.p_equivalence
    assert of_two.p_equivalence is not None
    assert of_eight.p_equivalence_corrected == pytest.approx(16 * of_two.p_equivalence)
    assert (of_two.status, of_eight.status) == ("equal", "tie")
    assert of_eight.more_blocks is not None


@pytest.mark.parametrize(
    ("contenders", "blocks", "needed"),
    [(3, 3, None), (4, 3, 5), (5, 5, None), (12, 4, 5), (13, 5, 8), (13, 8, None)],
)
def test_a_difference_of_few_blocks_among_many_says_so(
    contenders: int, blocks: int, needed: int | None
) -> None:
    """Where each second run is a quarter slower one of eight is called faster in 43 of 100."""
    drift, own = (DRIFT * 2)[:blocks], (OWN * 2)[:blocks]
    pairs = list(enumerate(zip(drift, own, strict=True)))
    rows = [
        in_blocks(f"c{n}", [(1000 + 300 * n) * d * o ** (n % 2) for _, (d, o) in pairs])
        for n in range(contenders)
    ]
    [judged_table] = with_verdicts([table(*rows)])
    verdict = verdict_of(judged_table, "c0")
    assert (verdict.status, verdict.method, verdict.blocks) == ("significant", "paired", blocks)
    sentences = reason_sentences(verdict)
    few = f"{blocks} rounds are few for {contenders} entries"
    assert (few in sentences) == (needed is not None)
    assert needed is None or f"Measure {needed} rounds." in sentences
    # Where the verdict is read, and not in its reasons alone.
    is_few = needed is not None
    assert (uncertainty.verdict_words(judged_table.rows[0]).endswith(", few rounds")) == is_few
    for text in (
        uncertainty.pair_verdict(verdict),
        uncertainty.effect(verdict),
        findings.findings([judged_table])[0].text,
    ):
        assert (f"{blocks} rounds, few for {contenders} entries" in text) == is_few


def single(name: str, level: float, of: str) -> DeltaRow:
    """A single run, with what its tool told beside the mean."""
    return row(name, level, sample_interval([level * factor for factor in OWN * 4], of), runs=1)


def test_samples_of_single_runs_call_nobody_faster() -> None:
    """Runs that scatter by 2% and samples by 3%: alike ones would be told apart in 58 of 100."""
    rows = [single("ext4", 1000.0, SAMPLES), single("xfs", 1100.0, SAMPLES)]
    [judged_table] = with_verdicts([table(*rows, single("btrfs", 1000.0, SAMPLES))])
    best = judged_table.rows[1]
    assert judged_table.mark_of(best) == "top score"
    for delta_row in judged_table.rows:
        assert delta_row.verdict is not None
        assert (delta_row.verdict.status, delta_row.verdict.reasons) == ("unknown", ("samples",))
        assert (delta_row.verdict.p_value, delta_row.verdict.ratio) == (None, None)
        sentences = reason_sentences(delta_row.verdict)
        assert "samples of one run do not tell the next run" in sentences
        assert "Measure both in at least 3 shared rounds" in sentences
    assert uncertainty.verdict_words(best) == "not known against btrfs and ext4"
    assert uncertainty.has_standing(judged_table), "why an interval beside a score decides nothing"


def test_samples_of_one_side_decide_nothing_either() -> None:
    """Of the other one repeats are known; and samples that are alike prove no equivalence."""
    for other in (apart("xfs", [1100.0, 1101.0, 1102.0]), single("xfs", 1000.001, SAMPLES)):
        [judged_table] = with_verdicts([table(single("ext4", 1000.0, SAMPLES), other)])
        for delta_row in judged_table.rows:
            assert delta_row.verdict is not None
            assert (delta_row.verdict.status, delta_row.verdict.reasons) == (
                "unknown",
                ("samples",),
            )
    without = row("xfs", 1100.0, None, runs=1)
    [judged_table] = with_verdicts([table(single("ext4", 1000.0, SAMPLES), without)])
    assert verdict_of(judged_table, "ext4").reasons == ("one_run", "samples")


def test_where_runs_are_told_apart_their_samples_take_nothing_away() -> None:
    """Three blocks that both share, whatever interval stands beside the scores."""
    rows = [
        row._replace(interval=sample_interval([row.score, 1.001 * row.score]))
        for row in (in_blocks("ext4", EXT4), in_blocks("xfs", XFS))
    ]
    with_repeats = [in_blocks("ext4", EXT4), in_blocks("xfs", XFS)]
    judged_table, expected = with_verdicts([table(*rows), table(*with_repeats)])
    assert [row.verdict for row in judged_table.rows] == [row.verdict for row in expected.rows]


def test_samples_stay_what_freenix_2002_takes_them_for() -> None:
    rows = [single("ext4", 1000.0, SAMPLES), single("xfs", 1200.0, SAMPLES)]
    [judged_table] = with_verdicts([table(*rows)], Rule(FREENIX))
    verdict = verdict_of(judged_table, "ext4")
    assert (verdict.status, verdict.reasons) == ("significant", ("samples",))
    assert "samples of one run" in reason_sentences(verdict)


def test_samples_around_zero_are_not_left_to_the_other_rule() -> None:
    """A mean of 0 has no logarithm, and repeats of it are judged by the rule of FREENIX 2002."""
    rows = [
        row("ext4", 0.0, sample_interval([-1.0, 1.0], SAMPLES), runs=1),
        single("xfs", 1200.0, SAMPLES),
    ]
    [judged_table] = with_verdicts([table(*rows)])
    assert verdict_of(judged_table, "ext4").reasons == ("samples",)


def test_a_difference_by_trials_of_single_runs_says_that_it_is_within_them() -> None:
    rows = [single("ext4", 1000.0, TRIALS), single("xfs", 1100.0, TRIALS)]
    [judged_table] = with_verdicts([table(*rows)])
    best, other = judged_table.rows[1], judged_table.rows[0]
    assert best.verdict is not None
    assert uncertainty.verdict_words(best) == "faster, unpaired, within one run"
    assert uncertainty.verdict_words(other) == "slower, unpaired, within one run"
    assert "trials of one run" in reason_sentences(best.verdict)
    whole = [in_blocks("ext4", EXT4), in_blocks("xfs", XFS, first=9)]
    [judged_table] = with_verdicts([table(*whole)])
    assert "within one run" not in "".join(map(uncertainty.verdict_words, judged_table.rows))


def test_who_has_some_speed_left_is_never_said_to_be_100_percent_slower() -> None:
    verdict = Verdict(
        "significant", method="paired", blocks=5, ratio=3e-4, ratio_low=2e-7, ratio_high=0.9
    )
    assert uncertainty.effect(verdict) == ("99.97% slower, 10.0 to 99.99998%, paired in 5 rounds")
    assert uncertainty.interval_of(verdict) == "\u221299.99998% to \u221210.0%"
    assert uncertainty.percents(99.998) == "99.998%"
    assert uncertainty.percents(100.0) == "100.00%"
