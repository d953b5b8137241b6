"""A work profile over kernels: each run scored by itself, and watched like any category."""

from dataclasses import replace

import pytest
from django.test import Client

from fsbench_web.accounts.models import Role
from fsbench_web.compare.history import choices, lines
from fsbench_web.compare.profiles import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import comparison
from fsbench_web.compare.watches import watching
from fsbench_web.core.scoring.profiles.presets import LATEST
from fsbench_web.studies.models import Run, Series
from fsbench_web.studies.series import series_for
from tests.accounts.people import person
from tests.compare.tables.test_work_profiles import GB, SIZES, at, make
from tests.studies.scores.test_cells import finished

pytestmark = pytest.mark.django_db
OLTP = "profile:oltp@1"


def on(
    kernel: str, speed: float, *, tests: tuple[str, ...] = ("random_read", "random_write")
) -> Series:
    first = make("ext4")
    series = series_for(first.study, first.configuration, workload=first.workload, kernel=kernel)
    for wobble in (0.99, 1.0, 1.01):
        finished(series, *[at(test, *cell, speed * wobble) for test in tests for cell in SIZES])
    return series


def test_the_slower_kernel_is_found_by_the_work_that_got_slower():
    series = on("6.1", 100)
    on("6.2", 100)
    on("6.3", 50)
    assert dict(choices.choices(series))["work"] == [OLTP, "profile:virtual-machines@1"]
    history = lines.history(series, "work", OLTP, "kernel", 10)
    assert history.unit == "×"
    assert [point.mean for point in history.points] == pytest.approx([1, 1, 0.5])
    [change] = history.changes
    assert change.is_slower
    assert change.change.change_percent == pytest.approx(-50, abs=0.5)


def test_the_newest_point_of_a_profile_is_set_against_the_one_before(client: Client):
    series = on("6.1", 100)
    on("6.2", 80)
    latest = lines.history(series, "work", OLTP, "kernel", 10).latest
    assert latest is not None
    assert (latest.previous, latest.current) == ("6.1", "6.2")
    assert (latest.verdict.direction, latest.verdict.ratio) == ("slower", pytest.approx(0.8))
    query = f"series={series.pk}&test=work&category={OLTP}"
    assert client.get(f"/api/v1/history?{query}").json()["latest"] == latest.as_dict()
    assert 'data-verdict="slower"' in client.get(f"/history/?{query}").content.decode()


def test_a_run_without_every_data_point_is_no_point_of_the_line():
    series = on("6.1", 100)
    on("6.2", 100, tests=("random_read",))
    history = lines.history(series, "work", OLTP, "kernel", 10)
    assert [point.name for point in history.points] == ["6.1"]


def test_a_point_is_scored_as_a_contender_is_with_the_interval_of_its_repeats():
    series = on("6.1", 100)
    database = on("6.2", 200)
    history = lines.history(series, "work", OLTP, "kernel", 10)
    [old, new] = history.points
    assert len(new.runs) == len(new.values) == 3
    assert new.interval is not None
    [table] = comparison(ComparisonSpec.from_query("profile=oltp&by=configuration")).tables
    row = next(row for row in table.rows if row.series_id == database.pk)
    assert new.mean == pytest.approx(row.score)
    assert new.interval.half_width == pytest.approx(row.interval.half_width)
    assert old.mean == 1


def test_runs_of_one_block_are_one_repeat_where_each_measured_a_part():
    series = on("6.1", 100)
    first = make("ext4")
    parts = series_for(first.study, first.configuration, workload=first.workload, kernel="6.2")
    for block, speed in (("b1", 190), ("b2", 210)):
        for test in ("random_read", "random_write"):
            run = finished(parts, *[at(test, *cell, speed) for cell in SIZES])
            Run.objects.filter(pk=run.pk).update(block=block)
    history = lines.history(series, "work", OLTP, "kernel", 10)
    point = history.points[1]
    assert len(point.runs) == 4
    assert point.values == pytest.approx((1.9, 2.1))
    assert point.mean == pytest.approx(2)
    # Without blocks nobody knows which belong together: all of them have a score, none has one.
    Run.objects.filter(series=parts).update(block="")
    point = lines.history(series, "work", OLTP, "kernel", 10).points[1]
    assert (point.values, point.interval) == (pytest.approx((2.0,)), None)
    # A block that measured a cell twice is no repeat: each of its runs is.
    Run.objects.filter(series=series).update(block="b0")
    assert len(lines.history(series, "work", OLTP, "kernel", 10).points[0].values) == 3


def test_a_line_without_any_says_so():
    series = make("ext4")
    finished(series, at("random_read", 8, GB, 1), at("random_write", 8, GB, 1))
    history = lines.history(series, "work", OLTP, "kernel", 10)
    assert history.problem == (
        "No run of this line has all 12 data points of OLTP database, version 1: nobody measured "
        "random read, 16 KB in 1 GB; random read, 8 KB in 2 GB; random read, 16 KB in 2 GB; and "
        "7 more."
    )


def test_a_watch_keeps_the_version_that_it_was_made_with(client: Client) -> None:
    ada = person(Role.CONTRIBUTOR, "ada")
    version = records.create(replace(LATEST["oltp"], title="Ours", slug="", version=0), ada)
    series = on("6.1", 100)
    watch = watching.watch(
        ada,
        series,
        test="work",
        category="profile:ours@1",
        along="kernel",
        margin_percent=10,
        email="",
        webhook_url="",
        site="https://fsbench.example",
    )
    records.change(version.profile, replace(LATEST["mail"], title="Ours"), ada)
    on("6.2", 100)
    on("6.3", 50)
    watching.run_maintenance()
    [message] = watch.messages.filter(kind="slower")
    assert "From 6.2 to 6.3: −50.0%" in message.sentence
    assert message.sentence.endswith("1.00 is 6.1.")
    # Its link leads to the very version, which is none of those that are offered to others.
    client.force_login(ada)
    page = client.get(watching.address_of(watch))
    assert page.context["category"] == "profile:ours@1"
    assert "profile:ours@1" not in dict(choices.choices(series))["work"]
    query = {"series": series.pk, "test": "work", "category": "profile:ours@1", "along": "kernel"}
    answer = client.get("/api/v1/history", query).json()
    assert [point["name"] for point in answer["points"]] == ["6.1", "6.2", "6.3"]
    for other in ("profile:ours@9", "profile:ours", "profile:nobodys@1"):
        assert client.get("/api/v1/history", query | {"category": other}).status_code == 422


def test_what_was_told_is_told_once_also_when_another_point_is_the_first() -> None:
    """1.00 is the first point of the line: an older kernel that is measured later takes its
    place, and so does the next where the oldest runs fall out of the line.
    """
    ada = person(Role.CONTRIBUTOR, "ada")
    on("6.0", 100)
    series = on("6.1", 100)
    watch = watching.watch(
        ada,
        series,
        test="work",
        category=OLTP,
        along="kernel",
        margin_percent=10,
        email="",
        webhook_url="",
        site="https://fsbench.example",
    )
    on("6.2", 50)
    watching.run_maintenance()
    [message] = watch.messages.filter(kind="slower")
    change = message.payload["change"]
    assert (change["from"], change["to"], change["unit"]) == ("6.1", "6.2", "×")
    assert change["after"] == pytest.approx(0.5)
    assert change["after"] * change["reference"] == pytest.approx(50 * 1024)
    # The step moves to another point, and all levels are now multiples of a tenth of the speed.
    on("5.9", 10)
    on("6.1.5", 50)
    watching.run_maintenance()
    watch.refresh_from_db()
    assert [point.mean for point in lines.history(series, "work", OLTP, "kernel", 10).points] == (
        pytest.approx([1, 10, 10, 5, 5])
    )
    assert list(watch.messages.filter(kind="slower")) == [message]
