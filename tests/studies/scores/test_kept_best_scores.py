"""Kept best scores show what all scores show, and nothing that is no longer so."""

import copy
import random
from collections.abc import Callable
from io import StringIO

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import CommandError, call_command

from fsbench_web.accounts.models import Visibility
from fsbench_web.accounts.rights import as_user
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables import best_scores
from fsbench_web.compare.tables.delta_tables import comparison, delta_tables
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.studies.models import (
    KeptBestScore,
    KeptBestScores,
    Score,
    Selection,
    Series,
    Study,
)
from fsbench_web.studies.scores import kept_best_scores
from tests.compare.conftest import make_score

pytestmark = pytest.mark.django_db
SPEC = ComparisonSpec(studies=("lab",))


def add(label: str, kernel: str, value: float, test: str = "write", category: str = "maximum"):
    """A score, written as ingest does: with another stamp."""
    unit = "s" if test == "mkfs" else "KB/s"
    score = make_score(label, value, kernel=kernel, test=test, category=category, unit=unit)
    stamp(score.series)
    return score


def stamp(series: Series) -> None:
    Series.objects.filter(pk=series.pk).update(scores_stamp=random.getrandbits(40))


@pytest.fixture(scope="module")
def studies(module_db) -> random.Random:
    """A study of six configurations under three kernels each, with ties; and a small one."""
    chance = random.Random(3)
    for label in ("ext4", "ext4_noatime", "xfs", "xfs_noatime", "btrfs", "jfs"):
        for kernel in ("6.1", "6.6", "6.12"):
            for test in ("write", "mkfs"):
                for category in ("maximum", "overall"):
                    add(label, kernel, float(chance.randint(1, 6)), test, category)
    make_score("ext4", 3.0, study="small")
    return chance


@pytest.fixture
def large(studies, monkeypatch) -> random.Random:
    monkeypatch.setattr(kept_best_scores, "LARGE", 6)
    return copy.copy(studies)


def of_all_scores(spec: ComparisonSpec) -> list[DeltaTable]:
    """The tables as they are where nothing is kept."""
    rows = list(KeptBestScores.objects.values_list("pk", "stamps"))
    KeptBestScores.objects.update(stamps=-1)
    try:
        return delta_tables(spec)
    finally:
        for pk, stamps in rows:
            KeptBestScores.objects.filter(pk=pk).update(stamps=stamps)


def test_tables_are_the_same_before_and_after_and_however_scores_change(large):
    before = delta_tables(SPEC)
    assert kept_best_scores.keep(None) == 6
    assert delta_tables(SPEC) == before != []
    assert kept_best_scores.keep(None) == 0
    for turn in range(12):
        series = large.choice(list(Series.objects.filter(study__slug="lab").order_by("pk")))
        label, kernel = series.configuration.label, series.kernel
        if turn % 4 == 3:
            series.delete()
        elif turn % 4 == 2:
            add(label, f"7.{turn}", float(large.randint(0, 7)), "mkfs", "overall")
        else:
            add(label, kernel, float(large.randint(0, 7)))
        assert delta_tables(SPEC) == of_all_scores(SPEC)
        if turn % 3 == 2:
            assert 0 < kept_best_scores.keep(None) <= 3
        assert kept_best_scores.wrongly_kept() == []


@pytest.mark.parametrize(
    "wishes",
    [
        {"tests": ("mkfs",)},
        {"categories": ("overall",)},
        {"filesystems": ("xfs",)},
        {"studies": ("lab", "small")},
        {"by": "kernel"},
        {"min_runs": 2},
        {"cells": Selection.SOUND.value},
    ],
)
def test_every_filter_shows_the_same(large, wishes):
    kept_best_scores.keep(None)
    spec = ComparisonSpec(**{"studies": ("lab",), **wishes})
    assert delta_tables(spec) == of_all_scores(spec)


def test_scores_of_series_that_were_emulated_are_left_out_as_ever(large):
    series = Series.objects.filter(study__slug="lab").order_by("pk")[0]
    series.machine = {"executor": "guest", "accelerator": "tcg"}
    series.save()
    add(series.configuration.label, series.kernel, 100.0)
    kept_best_scores.keep(None)
    for spec in (SPEC, ComparisonSpec(studies=("lab",), emulated="only")):
        assert delta_tables(spec) == of_all_scores(spec)


def test_only_what_is_kept_is_read_while_it_holds(large):
    kept_best_scores.keep(None)
    best = max(row.score for table in delta_tables(SPEC) for row in table.rows)
    KeptBestScore.objects.all().delete()
    assert delta_tables(SPEC) == []  # so these tables come from nowhere else
    stamp(Series.objects.filter(configuration__label="jfs")[0])
    tables = delta_tables(SPEC)
    assert {row.contender for table in tables for row in table.rows} == {"jfs"}
    assert best >= max(row.score for table in tables for row in table.rows)


def test_runs_behind_a_comparison_are_counted_as_ever(large):
    count = comparison(SPEC, counts_runs=True).run_count
    kept_best_scores.keep(None)
    assert comparison(SPEC, counts_runs=True).run_count == count


def test_a_score_that_was_replaced_in_between_is_chosen_anew(large, monkeypatch):
    kept_best_scores.keep(None)
    kept_of = best_scores.kept_of

    def replaced_meanwhile(studies: tuple[str, ...]) -> kept_best_scores.KeptState | None:
        state = kept_of(studies)
        Score.objects.filter(series__configuration__label="jfs").delete()
        add("jfs", "6.1", 50.0)
        return state

    monkeypatch.setattr(best_scores, "kept_of", replaced_meanwhile)
    rows = [row for table in delta_tables(SPEC) for row in table.rows if row.contender == "jfs"]
    assert [row.score for row in rows] == [50.0]


def test_what_is_kept_of_a_hidden_study_is_hidden(large):
    kept_best_scores.keep(None)
    Study.objects.filter(slug="lab").update(visibility=Visibility.PRIVATE)
    with as_user(AnonymousUser()):
        assert kept_best_scores.kept_of(("lab",)) is None
        assert not KeptBestScore.objects.exists()


def test_small_and_published_studies_keep_nothing(large, monkeypatch):
    Study.objects.filter(slug="lab").update(is_published=True)
    assert kept_best_scores.keep(None) == 0
    Study.objects.filter(slug="lab").update(is_published=False)
    monkeypatch.setattr(kept_best_scores, "LARGE", 19)
    assert kept_best_scores.keep(None) == 0


def test_a_round_ends_in_time_and_the_next_goes_on(large, monkeypatch):
    moments = iter(range(1000))
    monkeypatch.setattr(kept_best_scores.time, "monotonic", lambda: next(moments))
    rounds = [kept_best_scores.keep(3.0) for _ in range(4)]
    assert rounds == [2, 2, 2, 0]


def test_writing_scores_makes_another_stamp_of_their_series_alone(finished_series):
    series, rescore = finished_series
    others = Series.objects.exclude(pk=series.pk).values_list("pk", "scores_stamp")
    before, of_others = series.scores_stamp, list(others)
    rescore()
    series.refresh_from_db()
    assert series.scores_stamp != before
    assert list(others) == of_others


@pytest.fixture
def finished_series() -> tuple[Series, Callable[[], None]]:
    from fsbench_web.studies.scores import ingest

    add("xfs", "6.1", 1.0)
    series = add("ext4", "6.1", 1.0).series
    series.refresh_from_db()
    return series, lambda: ingest.rescore(series)


def test_the_command_keeps_and_checks(large):
    say = StringIO()
    call_command("keep_best_scores", stdout=say)
    call_command("keep_best_scores", "--check", stdout=say)
    assert say.getvalue().split("\n")[:2] == [
        "6 configurations were out of date.",
        "Everything that is kept and in use is right.",
    ]
    KeptBestScore.objects.order_by("pk")[0].delete()
    with pytest.raises(CommandError, match="What is kept is wrong"):
        call_command("keep_best_scores", "--check", stdout=say, stderr=say)
