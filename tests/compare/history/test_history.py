"""A configuration over kernels and dates: each run scored by itself, changes in words."""

import copy
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from fsbench_web.accounts.models import Team
from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.models import HardwareProfile, Workload
from fsbench_web.catalog.workers.machines import EMULATED, Machine
from fsbench_web.compare.history.lines import history
from fsbench_web.compare.views.history import chart
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.versions import version_key
from fsbench_web.platform import limits
from fsbench_web.studies.models import Run, RunState, Series, Study
from fsbench_web.studies.runs.environments import environment_for
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.series import next_repeat, series_for

pytestmark = pytest.mark.django_db
DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


def measured(
    kernel: str,
    value: float,
    day: int = 0,
    study: str = "nightly",
    unit="KB/s",
    filesystem: str = "ext4",
) -> Run:
    """A finished run, one test, every cell ``value``, in a study of the team Lab."""
    row, _ = Study.objects.get_or_create(
        slug=study, defaults={"title": study, "team": Team.objects.get_or_create(name="Lab")[0]}
    )
    hardware, _ = HardwareProfile.objects.get_or_create(slug="array", defaults={"name": "Array"})
    with transaction.atomic():
        series = series_for(
            row, configuration_for(filesystem, {}), hardware=hardware, kernel=kernel
        )
        run = Run.objects.create(
            series=series,
            repeat=next_repeat(series),
            origin=Run.Origin.IMPORTED,
            state=RunState.DONE,
            ended_at=DAY + timedelta(days=day),
        )
        cells = [(4, 64), (4, 128), (8, 64)]
        values = [ParsedValue("write", *cell, value, unit, line) for line, cell in enumerate(cells)]
        ingest.store_values(run, None, values)
        ingest.rescore(series)
    return run


@pytest.fixture(scope="module")
def of_kernels(module_db) -> Series:
    for kernel, level in (("6.10.0", 80), ("6.1.0", 100), ("6.9.0", 100), ("6.1.0-rc1", 100)):
        for part in (-1, 0, 1):
            # Two studies of a team measured it; what they measured is the same.
            measured(kernel, level + part, study="nightly" if part else "weekly")
    return Series.objects.get(kernel="6.1.0", study__slug="nightly")


@pytest.fixture
def line(of_kernels, db) -> Series:
    return copy.deepcopy(of_kernels)


def test_kernels_come_in_the_order_of_versions_with_intervals(line):
    line_history = history(line, "write", "total_average", "kernel", 10)
    assert [point.name for point in line_history.points] == [
        "6.1.0-rc1",
        "6.1.0",
        "6.9.0",
        "6.10.0",
    ]
    assert [point.mean for point in line_history.points] == pytest.approx([100, 100, 100, 80])
    assert line_history.points[0].interval.half_width == pytest.approx(2.484, abs=0.001)
    assert all(len(point.runs) == 3 for point in line_history.points)


def test_a_change_is_said_in_words(line):
    line_history = history(line, "write", "total_average", "kernel", 10)
    (change,) = line_history.changes
    assert change.sentence == (
        "From 6.9.0 to 6.10.0: \u221220.0%, from 100.00 KB/s to 80.00 KB/s: slower, "
        "significant (p is below 0.0001). One point, not confirmed."
    )
    assert "evening" not in change.sentence
    assert change.is_slower
    assert change.change.p_value < 0.0001
    assert history(line, "write", "total_average", "kernel", 30).changes == []


def test_a_change_that_is_just_sure_is_not_said_to_be_at_the_limit(db):
    """0.0499 with three decimals is 0.050, which would be no change."""
    for kernel, levels in (("6.1", (100, 104.9196)), ("6.2", (85, 89.9196))):
        for level in levels:
            run = measured(kernel, level)
    (change,) = history(run.series, "write", "maximum", "kernel", 10).changes
    assert 0.0495 < change.change.p_value < 0.05
    assert f"significant (p is {change.change.p_value:.3g}). " in change.sentence
    assert "0.050" not in change.sentence


def test_a_change_without_any_scatter_says_that_there_was_none(db):
    for kernel, level in (("6.1", 100), ("6.2", 80)):
        for _ in range(2):
            run = measured(kernel, level)
    (change,) = history(run.series, "write", "maximum", "kernel", 10).changes
    assert change.sentence.endswith(
        "significant (p is below 0.0001). "
        "All repeats of each side were equal, so there was no scatter to judge by. "
        "With two points, noise is the scatter of their repeats: it lacks the difference between "
        "evenings."
    )


def test_intervals_are_drawn_so_that_they_are_seen(line):
    """Their ends reach beyond the marker sideways, however short they are."""
    (trace,) = chart(history(line, "write", "maximum", "kernel", 10), "x", "kernel").data
    assert trace.error_y.array == pytest.approx([2.484] * 4, abs=0.001)
    assert trace.error_y.arrayminus == pytest.approx([2.484] * 4, abs=0.001)
    assert 2 * trace.error_y.width > trace.marker.size


def test_more_seconds_are_slower(db):
    for kernel, level in (("5.1", 10), ("5.2", 20)):
        for part in (0, 0.1, 0.2):
            run = measured(kernel, level + part, unit="s")
    (change,) = history(run.series, "write", "maximum", "kernel", 10).changes
    assert change.change.change_percent == pytest.approx(100, rel=0.02)
    assert change.is_slower


def test_days_are_points_of_their_own(db):
    for day in range(8):
        run = measured("6.1", 100 + day % 2, day)
        measured("6.1", 100.5, day)
    line_history = history(run.series, "write", "maximum", "date", 10)
    assert [point.name for point in line_history.points][:2] == ["2026-03-01", "2026-03-02"]
    assert [len(point.runs) for point in line_history.points] == [2] * 8
    assert line_history.changes == []


def test_other_hardware_and_failed_runs_are_not_in_the_line(line):
    before = history(line, "write", "maximum", "kernel", 10)
    Run.objects.filter(series=line).update(state=RunState.FAILED)
    after = history(line, "write", "maximum", "kernel", 10)
    assert len(before.points[1].runs) == 3
    assert len(after.points[1].runs) == 1
    other = HardwareProfile.objects.create(slug="other", name="Other")
    Series.objects.filter(kernel="6.9.0").update(hardware=other)
    assert len(history(line, "write", "maximum", "kernel", 10).points) == 3


def test_a_line_is_of_a_team_or_of_a_study(line):
    def runs(**studies: object) -> int:
        line_history = history(line, "write", "maximum", "kernel", 10, **studies)
        return sum(len(point.runs) for point in line_history.points)

    line.study.refresh_from_db()
    own, other = line.study, Study.objects.get(slug="weekly")
    assert runs() == 12
    Study.objects.update(team=None)
    own.team = None
    assert runs() == 8
    assert runs(studies=[own.pk, other.pk]) == 12
    # Nobody says that two studies had the same machine, even where they are named together.
    Series.objects.update(hardware=None)
    line.hardware = None
    assert runs(studies=[own.pk, other.pk]) == 8
    Study.objects.update(team=Team.objects.get())
    own.team = Team.objects.get()
    assert runs() == 8


def test_two_units_are_no_line(line):
    measured("6.11.0", 5, unit="MB/s", study="other")
    line_history = history(line, "write", "maximum", "kernel", 10)
    assert line_history.points == []
    assert "KB/s and in MB/s" in line_history.problem


def test_a_unit_that_changes_is_one_line(line, client):
    """100 KB/s of 1024 bytes is 0.09765625 MiB/s: the level stays, and so does the verdict."""
    workload = Workload.objects.create(slug="iozone-x", title="IOzone", tool="iozone")
    Series.objects.update(workload=workload)
    measured("6.11.0", 80 / 1024, unit="MiB/s")
    newest = Series.objects.get(kernel="6.11.0")
    newest.workload = workload
    newest.save()
    line.workload = workload
    line_history = history(line, "write", "maximum", "kernel", 10)
    assert (line_history.unit, line_history.printed_units) == ("MiB/s", ("KB/s", "MiB/s"))
    assert [point.name for point in line_history.points][-2:] == ["6.10.0", "6.11.0"]
    assert line_history.points[-1].mean == line_history.points[-2].values[1] == 80 / 1024
    (change,) = line_history.changes
    assert change.sentence.startswith("From 6.9.0 to 6.10.0: \u221220.")
    query = {"series": line.pk, "test": "write", "category": "maximum"}
    page = client.get("/history/", query | {"units": "decimal"}).content.decode()
    assert "The runs have KB/s and MiB/s, converted exactly to MB/s" in page
    answer = client.get("/api/v1/history", query).json()
    assert (answer["unit"], answer["points"][-1]["mean"]) == ("MiB/s", 80 / 1024)
    overall = history(line, "write", "overall", "kernel", 10)
    assert (overall.unit, overall.printed_units) == ("score", ("KB/s", "MiB/s"))
    printed = history(line, "write", "maximum", "kernel", 10, units="printed")
    assert "no line can hold both" in printed.problem


@pytest.mark.parametrize(
    ("older", "newer"),
    [("6.9", "6.10"), ("6.1.0-rc1", "6.1.0"), ("6.1.0", "6.1.0-1"), ("2.6.32-5-amd64", "3.2")],
)
def test_versions_are_compared_as_versions(older, newer):
    assert version_key(older) < version_key(newer)


def test_the_page_shows_line_changes_numbers_and_runs(client, line):
    page = client.get(f"/history/?series={line.pk}&test=write&category=total_average")
    text = page.content.decode()
    assert "From 6.9.0 to 6.10.0" in text
    assert f'href="/runs/{Run.objects.first().pk}/"' in text
    assert page.context["figure"] is not None
    assert "ext4" in client.get("/history/?study=nightly").content.decode()


@pytest.mark.parametrize(
    "query",
    ["series=0", "series=x", "series=" + "9" * 40, "series=%00", "series=%C2%B2"],
)
def test_a_line_that_is_not_there_is_not_found(client, query):
    assert client.get(f"/history/?{query}").status_code == 404


def test_a_change_is_said_with_what_is_known_of_its_runs(client, line):
    """Another run beside them, or a reference that moved, may be all that changed."""
    later = Run.objects.filter(series__kernel="6.10.0").order_by("pk")
    later.filter(pk=later[0].pk).update(is_contended=True, drift_percent=-7.0)
    later.filter(pk=later[1].pk).update(is_contended=True)
    (change,) = history(line, "write", "maximum", "kernel", 10).changes
    assert change.sentence.endswith(" Flagged runs of 6.10.0: contended 2, drifted 1.")
    query = f"series={line.pk}&test=write&category=maximum"
    page = client.get(f"/history/?{query}").content.decode()
    assert page.count(">contended</span>") == 2
    assert page.count(">drifted</span>") == 1
    body = client.get(f"/api/v1/history?{query}").json()
    assert body["points"][-1]["flags"] == {"contended": 2, "drifted": 1}
    assert body["points"][0]["flags"] == {}
    assert body["is_emulated"] is False


def test_an_emulated_line_is_said_to_be_one(client, line):
    emulated = Machine("debian", EMULATED, 2**30, 1).stored()
    Series.objects.update(machine=emulated)
    line.refresh_from_db()
    (change,) = history(line, "write", "maximum", "kernel", 10).changes
    sentence = "This line was emulated: for function, not for speed."
    assert change.sentence.endswith(sentence)
    assert (
        f"<strong>{sentence}</strong>" in client.get(f"/history/?series={line.pk}").content.decode()
    )
    assert client.get(f"/api/v1/history?series={line.pk}").json()["is_emulated"] is True


def test_odd_choices_fall_back(client, line):
    odd = "test=%00&category=nonsense&along=x&margin=" + "9" * 400
    assert client.get(f"/history/?series={line.pk}&{odd}").status_code == 200
    assert client.get("/history/?study=%00<b>").status_code == 200
    odd = client.get(f"/history/?series={line.pk}&margin=7.5&units=furlongs").content.decode()
    assert "from 0 to 100, not &quot;7.5&quot;: changes of 5% or more are shown." in odd
    assert "There are no units &quot;furlongs&quot;" in odd
    page = client.get(f"/history/?series={line.pk}&margin=5&units=decimal").content.decode()
    assert "fsbench did not understand all of this address" not in page
    Study.objects.all().delete()
    assert "No runs yet." in client.get("/history/").content.decode()


def test_it_takes_the_same_queries_for_much_and_for_little(client, line, django_assert_num_queries):
    address = f"/history/?series={line.pk}&test=write"
    with django_assert_num_queries(9):
        client.get(address)
    for day in range(10):
        measured("6.12.0", 90, day)
    with django_assert_num_queries(9):
        client.get(address)
    with django_assert_num_queries(4):
        client.get("/history/")


def test_of_many_studies_the_newest_are_offered_and_the_one_that_is_asked_for(
    client, line, monkeypatch, django_assert_max_num_queries
):
    monkeypatch.setattr(limits, "MOST_OPTIONS", 2)
    for number in range(3):
        measured("6.1.0", 100, study=f"later-{number}")
    page = client.get("/history/")
    assert [study.slug for study in page.context["studies"]] == ["later-2", "later-1"]
    assert "Only the 2 newest studies with runs are listed" in page.content.decode()
    with django_assert_max_num_queries(6):
        older = client.get("/history/?study=nightly")
    assert [study.slug for study in older.context["studies"]] == ["later-2", "later-1", "nightly"]
    assert '<option value="nightly" selected>' in older.content.decode()
    assert "No study “none”" in client.get("/history/?study=none").content.decode()
    assert client.get("/history/?study=%00").status_code == 200


def days(*levels: float, repeats: int = 3, scatter: float = 0.004) -> Series:
    for day, level in enumerate(levels):
        for part in range(repeats):
            run = measured("6.1.0", level * (1 + (part - 1) * scatter), day=day)
    return run.series


def test_the_newest_point_is_set_against_the_one_before(client):
    """Three days at about one percent each: no step of the whole line, and yet a fall."""
    series = days(1213, 1223, 1090)
    line_history = history(series, "write", "total_average", "date", 5)
    assert line_history.changes == []
    latest = line_history.latest
    assert latest is not None
    assert (latest.previous, latest.current) == ("2026-03-02", "2026-03-03")
    assert latest.verdict.direction == "slower"
    assert latest.verdict.ratio == pytest.approx(1090 / 1223)
    assert latest.verdict.ratio_low < 1090 / 1223 < latest.verdict.ratio_high < 0.92
    query = f"series={series.pk}&test=write&category=total_average&along=date"
    answer = client.get(f"/api/v1/history?{query}").json()
    assert answer["latest"] == latest.as_dict()
    assert set(answer["latest"]) == {
        *("previous", "current", "verdict"),
        *("ratio", "ratio_low", "ratio_high"),
    }
    # Two days before it: the newest against their level too.
    level = answer["latest_level"]
    assert (level["points"], level["verdict"]) == (2, "slower")
    assert level["ratio"] == pytest.approx(1090 / (1213 * 1223) ** 0.5, rel=0.001)
    assert 'data-verdict="slower"' in client.get(f"/history/?{query}").content.decode()


@pytest.mark.parametrize(
    ("newest", "scatter", "status"),
    [(200, 0.004, "faster"), (100.1, 0.004, "equivalent"), (103, 0.02, "inconclusive")],
)
def test_it_is_faster_equivalent_or_inconclusive_too(newest, scatter, status):
    latest = history(
        days(100, newest, scatter=scatter), "write", "total_average", "date", 10
    ).latest
    assert latest is not None
    assert latest.verdict.direction == status


def test_without_repeats_on_both_sides_nothing_is_said_of_the_newest(client):
    series = days(100, 200, repeats=1)
    assert history(series, "write", "total_average", "date", 10).latest is None
    answer = client.get(f"/api/v1/history?series={series.pk}&along=date").json()
    assert answer["latest"] is None
    assert (
        "data-verdict"
        not in client.get(f"/history/?series={series.pk}&along=date").content.decode()
    )


def test_points_that_share_rounds_are_paired(db):
    """Rounds that scatter by 10% for both kernels hide a difference of 5% from unpaired repeats."""
    for number, round_level in enumerate((100.0, 110.0, 92.0, 104.0, 97.0)):
        for kernel, factor in (("6.1", 1.0), ("6.2", 0.95)):
            run = measured(kernel, round_level * factor * (1 + number * 0.0001))
            Run.objects.filter(pk=run.pk).update(block=f"round {number}")
    latest = history(run.series, "write", "total_average", "kernel", 5).latest
    assert latest is not None
    assert (latest.verdict.direction, latest.verdict.blocks) == ("slower", 5)
    Run.objects.update(block="")
    latest = history(run.series, "write", "total_average", "kernel", 5).latest
    assert latest is not None
    assert (latest.verdict.direction, latest.verdict.blocks) == ("inconclusive", 0)


def test_changes_below_the_limit_are_said(client):
    series = days(*(1213, 1223, 1219, 1210, 1217, 1221), *(1100, 1103, 1099, 1101))
    query = f"series={series.pk}&test=write&category=total_average&along=date&margin=10"
    answer = client.get(f"/api/v1/history?{query}").json()
    assert answer["changes"] == []
    (small,) = answer["small_changes"]
    assert (small["to"], small["is_confirmed"]) == ("2026-03-07", True)
    assert small["change_percent"] == pytest.approx(-9.4, abs=0.2)
    assert 'id="small-changes"' in client.get(f"/history/?{query}").content.decode()


def test_spikes_and_modes_are_named(client):
    series = days(100, 101, 99, 100, 70, 100.5, 99.5, 100, 101)
    query = f"series={series.pk}&test=write&category=total_average&along=date"
    answer = client.get(f"/api/v1/history?{query}").json()
    assert (answer["changes"], answer["spikes"]) == ([], ["2026-03-05"])
    page = client.get(f"/history/?{query}").content.decode()
    assert 'id="spikes"' in page
    assert 'id="modes"' not in page
    Run.objects.all().delete()
    series = days(*(100, 120, 100, 120, 120, 100, 120, 100, 100, 120))
    query = f"series={series.pk}&test=write&category=total_average&along=date"
    answer = client.get(f"/api/v1/history?{query}").json()
    assert (answer["changes"], answer["modes"]["switches"]) == ([], 7)
    assert 'id="modes"' in client.get(f"/history/?{query}").content.decode()


def test_a_change_names_what_else_changed(client):
    for day, level in enumerate((100, 101, 99, 80, 81, 79)):
        microcode = "0x10" if day < 3 else "0x11"
        facts = {"Processor": [["Model", "X"], ["Microcode", microcode]], "Day": [["n", str(day)]]}
        for part in (0, 0.2):
            run = measured("6.1", level + part, day=day)
            Run.objects.filter(pk=run.pk).update(environment=environment_for(facts))
    query = f"series={run.series.pk}&test=write&category=total_average&along=date"
    (change,) = client.get(f"/api/v1/history?{query}").json()["changes"]
    assert change["events"] == ["Day, n: 2 to 3", "Processor, Microcode: 0x10 to 0x11"]
    assert "0x10 to 0x11" in client.get(f"/history/?{query}").content.decode()
    # What is known of one side alone says nothing.
    Run.objects.filter(ended_at__lt=DAY + timedelta(days=3)).update(environment=None)
    (change,) = client.get(f"/api/v1/history?{query}").json()["changes"]
    assert change["events"] == []
