"""The ledger of a LUN: page and API say the same, of the runs that one may see."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.platform import clock
from fsbench_web.studies.models import LunProbe, Run, Study
from fsbench_web.studies.runs import ledger
from tests.core.scoring.test_ceilings import KIB, MIB, document, point
from tests.studies.conftest import GB

pytestmark = pytest.mark.django_db


def counted(run: Run, written: int | None, read: int = 0) -> None:
    device: dict[str, Any] = {}
    if written is not None:
        device = {
            "before": {"sectors_read": 100, "sectors_written": 1000, "sectors_discarded": 0},
            "after": {
                "sectors_read": 100 + read,
                "sectors_written": 1000 + written,
                "sectors_discarded": 8,
            },
        }
    Run.objects.filter(pk=run.pk).update(conditions={"device": device}, state="done")


def probe(lun: Lun, run: Run | None, iops: float, days: int, **state: Any) -> None:
    LunProbe.objects.create(
        lun=lun,
        run=run,
        at=clock.now() + timedelta(days=days),
        state=state,
        result=document(
            point("random", "read", 4 * KIB, 1, iops, iops, iops),
            point("random", "read", 4 * KIB, 32, 2 * iops, 2 * iops, 2 * iops),
            point("sequential", "write", MIB, 8, 150, 150, 150),
        ),
    )


def test_what_the_runs_wrote_is_added_up_of_those_that_say_it(
    disk: Lun, runs: list[Run], client: Client
) -> None:
    for run, written in zip(runs, (2**21, 2**21, None, -500), strict=True):
        counted(run, written, read=2048)
    totals = ledger.totals(disk)
    assert (totals.runs, totals.known) == (4, 3)
    # Counts that went back are of a device that was attached anew.
    assert totals.written_bytes == 2 * GB
    assert totals.read_bytes == 3 * 2**20
    assert totals.discarded_bytes == 3 * 4096
    assert totals.times(disk.size_bytes) == 0.1
    page = client.get(f"/luns/{disk.pk}/").content.decode()
    assert "0.10 times its size" in page
    assert "3 of 4 runs report it" in " ".join(page.split())
    assert "No probe of this LUN yet" in page
    answer = client.get(f"/api/v1/luns/{disk.pk}/ledger").json()
    assert answer["totals"]["written_bytes"] == 2 * GB
    assert answer["times_written"] == 0.1
    assert answer["probes"] == answer["drift"] == []


def test_probes_over_time_show_what_changed_of_the_disk(
    disk: Lun, runs: list[Run], client: Client
) -> None:
    health = {"passed": True, "power_on_hours": 3149, "temperature_c": 35, "percentage_used": 0}
    levels = (1000, 1010, 990, 1000, 500, 505, 495, 500)
    for day, iops in enumerate(levels):
        probe(disk, runs[0] if day == 0 else None, iops, day, temperature_c=30 + day)
    probe(disk, None, 500, 8, health=health)
    whole = ledger.ledger(disk)
    assert [drift.label for drift in whole.drifts] == ["Random read of 4 KiB"]
    assert whole.drifts[0].change.change_percent == pytest.approx(-50, abs=1)
    assert whole.temperatures == [*(30.0 + day for day in range(8)), 35.0]
    assert whole.health["passed"] is True
    assert whole.probes[-1].run == runs[0].pk
    assert whole.probes[0].figures[2] == (1000, 4000)
    assert whole.probes[0].figures[0] is None
    page = client.get(f"/luns/{disk.pk}/").content.decode()
    assert "Random read of 4 KiB: \u2212" in page
    assert "(p is below 0.0001)" in page
    assert "35 °C before the latest" in page
    assert "3,149 hours" in page
    answer = client.get(f"/api/v1/luns/{disk.pk}/ledger").json()
    assert answer["drift"][0]["name"] == "Random read of 4 KiB"
    assert len(answer["probes"]) == 9
    assert answer["probes"][-1]["run"] == runs[0].pk


def test_runs_of_studies_that_one_may_not_see_are_in_nothing(
    disk: Lun, runs: list[Run], client: Client
) -> None:
    counted(runs[0], 2**21)
    probe(disk, runs[0], 1000, 0)
    Study.objects.update(visibility="private")
    page = client.get(f"/luns/{disk.pk}/").content.decode()
    assert "xfs_noop" not in page
    answer = client.get(f"/api/v1/luns/{disk.pk}/ledger").json()
    assert answer["totals"]["runs"] == answer["totals"]["written_bytes"] == 0
    assert [row["run"] for row in answer["probes"]] == [None]


def test_a_folder_has_no_device_and_what_is_not_there_is_said(
    disk: Lun, client: Client, django_user_model: type[User]
) -> None:
    folder = disk.worker.luns.get(name="folder1")
    page = client.get(f"/luns/{folder.pk}/").content.decode()
    assert "so fsbench cannot probe it" in page
    assert client.get("/luns/999999/").status_code == 404
    assert client.get("/api/v1/luns/999999/ledger").status_code == 404


def test_as_many_queries_however_much_there_is(
    disk: Lun, runs: list[Run], django_assert_max_num_queries: Any
) -> None:
    for day in range(12):
        probe(disk, runs[day] if day < len(runs) else None, 1000, day)
    with django_assert_max_num_queries(4):
        ledger.ledger(disk)


@pytest.mark.parametrize(("newest", "expected"), [(110.0, []), (111.0, ["x"])])
def test_key_figures_of_probes_that_differ_by_more_than_10_percent_are_unreliable(
    monkeypatch: pytest.MonkeyPatch, newest: float, expected: list[str]
) -> None:
    monkeypatch.setattr(ledger, "KEY_FIGURES", (("x", "", "", False), ("y", "", "", False)))
    rows = [
        ledger.ProbeRow(key, clock.now(), None, {}, [(rate, rate), None], 1, 1)
        for key, rate in enumerate((newest, 100.0))
    ]
    assert ledger.differing_figures(rows) == expected
