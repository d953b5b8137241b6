"""What numbers are worth is judged when they come in, and scores of selections are made of it."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.models import HardwareProfile, Lun, Workload
from fsbench_web.core.formats import ParsedValue
from fsbench_web.core.scoring.quality import RULES
from fsbench_web.studies.models import MeasurementBlock, Run, Score, Series, Study
from fsbench_web.studies.scores import ingest, quality, rejudging
from fsbench_web.studies.scores.queries import ScoreFilter
from fsbench_web.studies.series import next_repeat, series_for
from tests.measured import finished_run, scores_for, without_flags
from tests.measured import measured as numbers_of

RECORDS = [4, 8, 16]
FILES = [2**n for n in range(10, 16)]
Cells = dict[tuple[int, int], float]


def flat(value: float = 1000.0) -> Cells:
    return {(record, file): value + record for record in RECORDS for file in FILES}


def falling() -> Cells:
    """Fast up to 4 MB, a tenth beyond."""
    return {cell: value if cell[1] <= 4096 else value / 10 for cell, value in flat(90_000).items()}


@pytest.fixture
def study(db: None) -> Study:
    return Study.objects.create(slug="lab", title="Lab")


def series_of(
    study: Study, tool: str = "iozone", parameters: dict[str, Any] | None = None, **more: Any
) -> Series:
    workload = Workload.objects.create(
        slug=f"w{Workload.objects.count()}", title="W", tool=tool, parameters=parameters or {}
    )
    return series_for(study, configuration_for("ext4", {}), workload=workload, **more)


def measured(
    series: Series, cells: Cells, test: str = "read", unit: str = "KB/s", **changes: Any
) -> Run:
    values = [
        ParsedValue(test, record, file, value, unit, line)
        for line, ((record, file), value) in enumerate(cells.items(), start=1)
    ]
    with transaction.atomic():
        run = finished_run(series, next_repeat(series))
        ingest.store_values(run, None, values)
        Run.objects.filter(pk=run.pk).update(**changes) if changes else None
        ingest.rescore(series)
    series.refresh_from_db()
    return run


def flagged(run: Run) -> dict[tuple[str, int | None, int | None], list[str] | None]:
    return {
        (m.test, m.record_size_kb, m.file_size_kb): m.flags
        for m in numbers_of(run)
        if m.flags is not None
    }


def facts(series: Series) -> dict[str, Any]:
    assert series.quality is not None
    return series.quality


def scores(series: Series, selection: str, category: str = "total_average") -> list[Score]:
    return list(Score.selections.filter(series=series, selection=selection, category=category))


def test_nothing_to_say_is_null_and_sound_is_the_same_as_all(study: Study) -> None:
    series = series_of(study)
    run = measured(series, flat())
    assert flagged(run) == {}
    [sound], [whole] = scores(series, "sound"), scores(series, "all")
    assert (sound.value, sound.cells, sound.left_out) == (whole.value, whole.cells, None)
    assert scores(series, "cached") == scores(series, "uncached") == []
    assert facts(series)["rules"] == RULES


def test_cells_limited_by_the_clock(study: Study) -> None:
    series = series_of(study)
    # 1 MB in 50 microseconds, where all others take a second and more.
    run = measured(series, flat() | {(4, 1024): 1024 / 50e-6})
    assert flagged(run)["read", 4, 1024] == ["clock", "spike"]
    [sound] = scores(series, "sound")
    assert sound.left_out == {"cells": 1, "numbers": 1, "of": 18, "why": {"clock": 1, "spike": 1}}
    assert sound.cells == len(flat()) - 1
    assert sound.value < 1020
    assert Score.objects.get(series=series, category="maximum").flags == ["clock", "spike"]
    assert Score.objects.get(series=series, category="minimum").flags == []
    assert Score.objects.get(series=series, category="total_average").flags == ["clock"]


def test_a_score_leaves_nothing_out_unless_asked(study: Study) -> None:
    series = series_of(study)
    measured(series, flat() | {(4, 1024): 1024 / 50e-6})
    assert series.scores.get(category="maximum").value == pytest.approx(1024 / 50e-6)
    assert {row.category for row in scores_for(ScoreFilter(["lab"]))} == set(
        series.scores.values_list("category", flat=True)
    )
    [maximum] = scores_for(ScoreFilter(["lab"], categories=["maximum"], selection="sound"))
    assert maximum.value == 1016
    assert maximum.left_out == {"cells": 1, "numbers": 1, "of": 18, "why": {"clock": 1, "spike": 1}}
    assert "partial" not in maximum.flags


def test_either_side_of_the_cache_is_scored(study: Study) -> None:
    series = series_of(study)
    measured(series, falling())
    boundary = quality.boundary_of(series.quality, "read")
    assert boundary is not None
    assert {(e.cached_kb, e.uncached_kb) for e in boundary.edges.values()} == {(4096, 8192)}
    [cached], [beyond] = scores(series, "cached"), scores(series, "uncached")
    assert cached.value == pytest.approx(90_000 + 28 / 3)
    assert beyond.value == pytest.approx(cached.value / 10)
    assert cached.left_out == {"cells": 9, "numbers": 9, "of": 18, "why": {"uncached": 9}}
    assert beyond.left_out == {"cells": 9, "numbers": 9, "of": 18, "why": {"cached": 9}}
    # Target average is over files up to 2 MB: nothing of it lies beyond, and there is no score.
    assert scores(series, "uncached", "target_average") == []
    assert scores(series, "uncached", "overall") == []


def test_rates_above_a_stated_device_are_memorys(study: Study) -> None:
    hardware = HardwareProfile.objects.create(slug="array", name="Array", deliverable_kb_s=50_000)
    series = series_of(study, hardware=hardware)
    run = measured(series, falling())
    assert {tuple(flags or ()) for flags in flagged(run).values()} == {("above_device",)}
    assert len(flagged(run)) == 9
    [sound] = scores(series, "sound")
    assert sound.left_out == {"cells": 9, "numbers": 9, "of": 18, "why": {"above_device": 9}}
    assert (facts(series)["limit_kb_s"], facts(series)["limit_from"]) == (50_000, "stated")


def test_what_direct_io_reached_on_the_lun_is_what_the_device_delivers(
    study: Study, disk: Lun
) -> None:
    buffered = series_of(study, lun=disk)
    run = measured(buffered, falling())
    assert flagged(run) == {}
    assert facts(buffered)["limit_kb_s"] is None
    measured(series_of(study, parameters={"direct_io": True}, lun=disk), flat(20_000))
    # What is known now reaches what was judged before when it is judged again.
    call_command("reflag", "--all", stdout=StringIO())
    buffered.refresh_from_db()
    assert facts(buffered)["limit_kb_s"] == pytest.approx(1.25 * 20_016)
    assert len(flagged(run)) == 9


def test_direct_io_does_not_reach_stdio(study: Study) -> None:
    series = series_of(study, parameters={"modes": ["O_DIRECT feature enabled"]})
    run = measured(series, flat(), test="fread")
    assert {tuple(flags or ()) for flags in flagged(run).values()} == {("buffered",)}
    assert len(flagged(run)) == len(flat())
    # Nothing is left, so there is no score: least of all one of 0.
    assert scores(series, "sound") == []
    assert scores(series, "all")[0].flags == ["buffered"]


def test_an_outlying_repeat_is_seen_once_there_are_four(study: Study) -> None:
    series = series_of(study)
    first = measured(series, flat() | {(8, 2048): 500.0})
    for value in (1000, 1001):
        measured(series, flat(value))
    assert flagged(first) == {}
    measured(series, flat(1002))
    # The first run's own number looks odd only beside the others.
    assert flagged(first) == {("read", 8, 2048): ["outlier"]}
    [sound] = scores(series, "sound")
    assert sound.left_out == {"cells": 0, "numbers": 1, "of": 72, "why": {"outlier": 1}}
    assert sound.cells == len(flat())
    assert "unequal_repeats" in sound.flags


def test_contended_and_drifted_repeats_are_not_sound(study: Study) -> None:
    series = series_of(study)
    measured(series, flat(1000))
    measured(series, flat(2000), is_contended=True)
    measured(series, flat(3000), drift_percent=-7.5)
    measured(series, flat(1000), drift_percent=4.9)
    [sound], [whole] = scores(series, "sound"), scores(series, "all")
    assert (sound.repeats, whole.repeats) == (2, 4)
    assert sound.value == pytest.approx(1000 + 28 / 3)
    assert {"contended", "drifted"} <= set(whole.flags)
    assert not {"contended", "drifted"} & set(sound.flags)
    n = len(flat())
    left_out = sound.left_out or {}
    assert (left_out["cells"], left_out["numbers"], left_out["of"]) == (0, 2 * n, 4 * n)
    assert left_out["why"]["contended"] == left_out["why"]["drifted"] == n


def test_a_test_that_never_became_steady_carries_a_flag_and_is_not_sound(study: Study) -> None:
    series = series_of(study)
    missed = {"steady_state": {"attained": ["write"], "missed": ["read"]}}
    measured(series, flat(1000), conditions=missed)
    measured(series, flat(2000))
    [whole], [sound] = scores(series, "all"), scores(series, "sound")
    assert "unsteady" in whole.flags
    assert "unsteady" not in sound.flags
    assert (whole.repeats, sound.repeats) == (2, 1)
    assert sound.left_out is not None
    assert sound.left_out["why"] == {"unsteady": len(flat())}


def test_where_all_repeats_are_contended_nothing_is_sound(study: Study) -> None:
    series = series_of(study)
    measured(series, flat(), is_contended=True)
    assert scores(series, "sound") == []


def test_postmark_counts_whole_seconds(study: Study) -> None:
    series = series_of(study, tool="postmark")

    def report(seconds: int) -> Run:
        values = [
            ParsedValue("postmark_total_time", None, None, seconds, "s", 1),
            ParsedValue("postmark_transactions_time", None, None, seconds - 20, "s", 2),
            ParsedValue("postmark_transactions", None, None, 500, "ops/s", 3),
            ParsedValue("postmark_data_read", None, None, 900, "KB/s", 4),
        ]
        with transaction.atomic():
            run = finished_run(series, next_repeat(series))
            ingest.store_values(run, None, values)
            ingest.rescore(series)
        return run

    assert {test for test, _, _ in flagged(report(110))} == {
        "postmark_transactions_time",
        "postmark_transactions",
    }
    assert len(flagged(report(99))) == 4
    assert flagged(report(120)) == {}


def test_a_tool_whose_clock_nobody_knows_is_not_judged_by_it(study: Study) -> None:
    assert flagged(measured(series_of(study, tool="fio"), flat(9e9))) == {}


def test_flags_go_when_their_reason_goes(study: Study) -> None:
    hardware = HardwareProfile.objects.create(slug="array", name="Array", deliverable_kb_s=50_000)
    series = series_of(study, hardware=hardware)
    run = measured(series, falling())
    call_command("device_rate", "array", "200MB/s", stdout=StringIO())
    call_command("reflag", "--all", stdout=StringIO())
    assert flagged(run) == {}
    assert not MeasurementBlock.objects.filter(flags__isnull=False).exists()


@pytest.mark.parametrize("command", [["device_rate", "200MB/s"], ["hardware_price", "12000"]])
def test_a_name_that_is_no_slug_is_answered_with_the_slugs(db: None, command: list[str]) -> None:
    name, amount = command
    HardwareProfile.objects.create(slug="array", name="The Array")
    with pytest.raises(CommandError, match="There are: array"):
        call_command(name, "The Array", amount, stdout=StringIO())


def test_a_rate_may_be_in_binary_units(db: None) -> None:
    HardwareProfile.objects.create(slug="array", name="The Array")
    call_command("device_rate", "array", "200MiB/s", stdout=StringIO())
    assert HardwareProfile.objects.get().deliverable_kb_s == 204_800


def test_reflag_judges_what_never_was_and_says_so(study: Study) -> None:
    series = series_of(study)
    run = measured(series, flat() | {(4, 1024): 1024 / 50e-6})
    before = list(series.scores.order_by("id").values_list("test", "category", "value"))
    without_flags()
    Series.objects.update(quality=None)
    Score.selections.exclude(selection="all").delete()
    output = StringIO()
    call_command("reflag", stdout=output)
    assert output.getvalue() == "1 series judged.\n"
    assert flagged(run)
    assert scores(series, "sound")
    assert list(series.scores.order_by("id").values_list("test", "category", "value")) == before
    again = StringIO()
    call_command("reflag", stdout=again)
    assert again.getvalue() == "Everything was judged already.\n"


def test_what_a_later_version_judged_is_left_to_it(study: Study) -> None:
    """Both would judge it anew in turn for as long as both are there."""
    series = series_of(study)
    measured(series, flat())
    Series.objects.update(quality={"rules": RULES + 1})
    assert rejudging.judge_waiting(60.0) == (0, True)
    output = StringIO()
    call_command("reflag", "--all", stdout=output)
    assert "1 were judged by a later version of fsbench" in output.getvalue()
    series.refresh_from_db()
    assert facts(series)["rules"] == RULES + 1


def test_reflag_takes_up_what_older_rules_judged(study: Study) -> None:
    series = series_of(study)
    measured(series, flat())
    Series.objects.update(quality={"rules": RULES - 1})
    call_command("reflag", stdout=StringIO())
    series.refresh_from_db()
    assert facts(series)["rules"] == RULES


def test_what_an_update_left_is_judged_bit_by_bit(study: Study, monkeypatch) -> None:
    for _ in range(3):
        measured(series_of(study), flat())
    judged_by = list(Series.objects.order_by("pk").values_list("quality", flat=True))
    Series.objects.update(quality={"rules": RULES - 1})
    moments = iter(range(1000))
    monkeypatch.setattr(rejudging.time, "monotonic", lambda: next(moments))
    assert [rejudging.judge_waiting(3.0) for _ in range(3)] == [(2, False), (1, True), (0, True)]
    assert list(Series.objects.order_by("pk").values_list("quality", flat=True)) == judged_by


def test_a_series_that_cannot_be_scored_holds_up_no_other(study: Study, monkeypatch) -> None:
    mixed, fine = series_of(study), series_of(study)
    for series in (mixed, fine):
        measured(series, flat())
    Series.objects.update(quality=None)
    rescore = ingest.rescore

    def refusing(series: Series) -> None:
        if series == mixed:
            raise ingest.MixedMeasurements("in KB/s and in ops/s")
        rescore(series)

    monkeypatch.setattr(ingest, "rescore", refusing)
    assert rejudging.judge_waiting(60.0) == (1, True)
    assert Series.objects.get(quality__isnull=True) == mixed


def test_commands_refuse_what_is_not_there(study: Study) -> None:
    with pytest.raises(CommandError, match="no study"):
        call_command("reflag", "--study", "nowhere")
    with pytest.raises(CommandError, match="no hardware profile"):
        call_command("device_rate", "nowhere", "1GB/s")
    for rate in ("fast", "-1MB/s", "0MB/s", "1e9MB/s"):
        with pytest.raises(CommandError):
            call_command("device_rate", "nowhere", rate)


def test_large_series_are_judged_alike(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = falling() | {(8, 2048): 1e9}

    def everything(series: Series) -> Any:
        return sorted(
            Score.selections.filter(series=series).values_list(
                "test", "category", "selection", "value", "cells", "half_width"
            ),
            key=str,
        ), [sorted(map(str, flagged(run).items())) for run in series.runs.order_by("id")]

    series = series_of(study)
    for n in range(4):
        measured(series, {cell: value * (1 + n / 100) for cell, value in cells.items()})
    small = everything(series)
    without_flags()
    monkeypatch.setattr(ingest, "MOST_AT_ONCE", 10)
    ingest.rescore(series)
    assert everything(series) == small
