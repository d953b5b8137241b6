"""A work profile over time whose parts several workloads measured, and the LUN's own line of it."""

import pytest
from django.test import Client

from fsbench_web.accounts.models import Role
from fsbench_web.compare.history import choices, lines
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import comparison
from fsbench_web.compare.watches import watching
from fsbench_web.studies.models import Run, Series
from fsbench_web.studies.series import series_for
from tests.accounts.people import person
from tests.compare.history.test_profile_line import OLTP, on
from tests.compare.tables.test_work_profiles import SIZES, at, make
from tests.compare.tables.test_work_shares import probed
from tests.studies.scores.test_cells import finished

pytestmark = pytest.mark.django_db
READ, WRITE = "random_read", "random_write"


def half(workload: str, test: str, kernel: str, *speeds: float, blocks: bool = False) -> Series:
    """One of two workloads, each of which measures a half of the profile."""
    first = make("ext4", workload=workload)
    series = series_for(first.study, first.configuration, workload=first.workload, kernel=kernel)
    for place, speed in enumerate(speeds):
        run = finished(series, *[at(test, *cell, speed) for cell in SIZES])
        if blocks:
            Run.objects.filter(pk=run.pk).update(block=f"{kernel}-{place}")
    return series


def both_halves(kernel: str, *speeds: float, blocks: bool = False) -> tuple[Series, Series]:
    return (
        half("reads", READ, kernel, *speeds, blocks=blocks),
        half("writes", WRITE, kernel, *speeds, blocks=blocks),
    )


@pytest.mark.parametrize("blocks", [False, True])
def test_parts_of_two_workloads_are_one_line_as_they_are_one_contender(
    client: Client, blocks: bool
) -> None:
    reads, writes = both_halves("6.1", 99, 101, blocks=blocks)
    both_halves("6.2", 199, 201, blocks=blocks)
    both_halves("6.3", 99, 101, blocks=blocks)
    for series in (reads, writes):
        assert OLTP in dict(choices.choices(series))["work"]
        history = lines.history(series, "work", OLTP, "kernel", 10)
        assert [point.name for point in history.points] == ["6.1", "6.2", "6.3"]
        assert [point.mean for point in history.points] == pytest.approx([1, 2, 1], rel=1e-3)
        assert [len(point.runs) for point in history.points] == [4, 4, 4]
        assert history.workloads == ("reads", "writes")
    # Scored as a contender is, with the interval of its repeats.
    query = "profile=oltp&by=kernel"
    [table] = comparison(ComparisonSpec.from_query(query)).tables
    row = max(table.rows, key=lambda row: row.score)
    assert row.score == pytest.approx(history.points[1].mean, rel=1e-3)
    assert history.points[1].interval is not None
    line_query = {"series": reads.pk, "test": "work", "category": "profile:oltp"}
    answer = client.get("/api/v1/history", line_query)
    assert answer.status_code == 200, answer.content
    assert answer.json()["category"] == OLTP
    assert answer.json()["workloads"] == ["reads", "writes"]
    page = client.get("/history/", line_query).content.decode()
    assert "measured by 2 workloads in the same place: reads; writes" in page


def test_what_is_no_line_is_refused_and_never_another(client: Client) -> None:
    series = on("6.1", 100)
    first = make("ext4", workload="other")
    other = series_for(first.study, first.configuration, workload=first.workload, kernel="6.1")
    finished(other, at("reread", 8, 8, 1))
    for query, problem in (
        ({"series": series.pk, "test": "work", "category": "profile:build"}, "nothing in this"),
        ({"series": series.pk, "category": "profile:build"}, "nothing in this place measured"),
        ({"series": series.pk, "test": "work", "category": "profile:nope"}, "no work profile"),
        ({"series": series.pk, "test": READ, "category": OLTP}, "is not a category of Random read"),
        ({"series": series.pk, "test": "nope"}, "has no test &quot;nope&quot;"),
        ({"series": series.pk, "test": READ, "category": "nope"}, "no category &quot;nope&quot;"),
        ({"series": other.pk, "category": OLTP}, "measures none of its parts"),
    ):
        answer = client.get("/history/", query)
        assert not answer.context["shown"].points
        assert answer.context["figure"] is None
        assert problem in answer.content.decode()
        refused = client.get("/api/v1/history", query)
        assert refused.status_code == 422
        assert problem.replace("&quot;", '\\"') in refused.content.decode()
    # The category of a test that was chosen before is another's: it is said what is shown.
    page = client.get("/history/", {"series": series.pk, "test": READ, "category": "mean"})
    assert page.context["shown"].points
    assert "Random read has no mean: shown is its total average." in page.content.decode()


def test_a_watch_of_two_workloads_looks_when_either_has_news() -> None:
    ada = person(Role.CONTRIBUTOR, "ada")
    both_halves("6.0", 99, 101)
    series, _ = both_halves("6.1", 99, 101)
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
    half("reads", READ, "6.2", 49, 51)
    watching.run_maintenance()
    assert not watch.messages.filter(kind="slower")
    half("writes", WRITE, "6.2", 49, 51)
    watching.run_maintenance()
    [message] = watch.messages.filter(kind="slower")
    assert "From 6.1 to 6.2: −50.0%" in message.sentence


def test_several_units_are_no_amount_of_work_and_it_is_said(client: Client) -> None:
    first = make("ext4")
    series = series_for(first.study, first.configuration, workload=first.workload, kernel="6.1")
    finished(series, *[at(READ, *cell, 1) for cell in SIZES])
    history = lines.history(series, "work", OLTP, "kernel", 10)
    assert history.problem.startswith("No run of this line has all 12 data points of OLTP database")
    assert "nobody measured random write, 8 KB in 1 GB" in history.problem
    assert history.problem.endswith("; and 3 more.")


def test_the_own_line_of_the_lun_tells_a_slower_disk_from_a_slower_file_system(
    client: Client,
) -> None:
    series = []
    for kernel, speed in (("6.1", 200.0), ("6.2", 200.0), ("6.3", 100.0)):
        series.append(on(kernel, speed))
    probed(*series)
    history = lines.history(series[0], "work", OLTP, "kernel", 10)
    assert history.lun_line.is_known
    # 800 KB/s of reads and 400 of writes, by their shares, of 200: what a table says of it.
    [table] = comparison(ComparisonSpec.from_query("profile=oltp&by=kernel")).tables
    rows = {row.contender: row.share.percent for row in table.rows}
    assert [share for _, _, share in history.rows] == [
        pytest.approx(rows[kernel], rel=1e-2) for kernel in ("6.1", "6.2", "6.3")
    ]
    assert [own for _, own, _ in history.rows] == pytest.approx([4 * 0.5**0.35] * 3, rel=1e-2)
    [change] = history.changes
    assert change.disk.startswith("It is not the disk: the score went from")
    page = client.get("/history/", {"series": series[0].pk, "test": "work", "category": OLTP})
    assert "The LUN itself" in page.content.decode()
    points = client.get(
        "/api/v1/history", {"series": series[0].pk, "test": "work", "category": OLTP}
    ).json()["points"]
    assert points[0]["share_percent"] == pytest.approx(rows["6.1"], rel=1e-2)


@pytest.mark.parametrize(
    ("is_probed", "problem"),
    [
        (True, "6 of 12 cells have no counterpart among what was measured of it (random read, 16"),
        (False, "No probe measured the LUN itself with these runs"),
    ],
)
def test_without_ceilings_it_is_said_why_there_is_no_own_line(
    client: Client, is_probed: bool, problem: str
) -> None:
    series = on("6.1", 100)
    if is_probed:
        probed(series, blocks=(4,))
    history = lines.history(series, "work", OLTP, "kernel", 10)
    assert not history.lun_line.is_known
    assert problem in history.lun_line.why
    query = {"series": series.pk, "test": "work", "category": OLTP}
    assert problem in client.get("/history/", query).content.decode()
    assert problem in client.get("/api/v1/history", query).json()["lun_problem"]
