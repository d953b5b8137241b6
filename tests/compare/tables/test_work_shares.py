"""Somebody's work in percent of what the LUN would do of it by itself."""

import pytest
from django.test import Client

from fsbench_web.catalog.models import Lun, Workload
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.workloads import presets
from fsbench_web.platform import clock
from fsbench_web.studies.models import LunProbe, Run, Series
from tests.compare.tables.test_contenders import make_lun
from tests.compare.tables.test_work_profiles import GB, at, comparison_of, database, make
from tests.core.scoring.test_ceilings import KIB, document, point
from tests.studies.scores.test_cells import finished

pytestmark = pytest.mark.django_db
READS, WRITES = 800, 400
"""KB/s of the LUN, at 8 and at 16 KB."""


def probed(*series: Series, blocks: tuple[int, ...] = (8, 16)) -> None:
    lun = Lun.objects.filter(name="sdb").first() or make_lun("sdb")
    points = [
        point("random", direction, block * KIB, 1, *[rate / block] * 3)
        for direction, rate in (("read", READS), ("write", WRITES))
        for block in blocks
    ]
    probe = LunProbe.objects.create(lun=lun, at=clock.now(), result=document(*points))
    Run.objects.filter(series__in=series).update(probe=probe)
    # Past the cache, one process waits for each record: that is what the LUN did alone.
    past_the_cache = presets()["iozone-direct"].parameters | {"direct_io": True}
    Workload.objects.filter(series__in=series).update(parameters=past_the_cache)


def test_the_share_is_put_together_as_the_score_is(client: Client) -> None:
    probed(database("ext4", 200, 100), database("xfs", 400, 400))
    [table] = comparison_of("profile=oltp").tables
    rows = {row.contender: row for row in table.rows}
    assert rows["ext4"].share.percent == pytest.approx(25)
    percent = 100 * 0.5**0.65 * 1**0.35
    assert rows["xfs"].share.percent == pytest.approx(percent)
    # In the unit of the table the LUN is one number, whoever is set against it.
    assert rows["ext4"].share.ceiling == pytest.approx(4)
    assert rows["xfs"].share.ceiling == pytest.approx(4)
    assert rows["xfs"].share.of == "requests of the same work, 12 cells by their weights"
    assert table.work.unceiled == ()
    assert DeltaTable.from_dict(table.as_dict()) == table
    page = client.get("/compare/?profile=oltp&column=share").content.decode()
    assert "Of the LUN, %" in page
    chart = client.get("/compare/pictures/?in=profile:oltp").context["shown"].picture.figure
    assert [line.x0 for line in chart.layout.shapes] == [pytest.approx(4)]
    # Another baseline changes no share.
    [against] = comparison_of("profile=oltp&baseline=xfs").tables
    assert {row.contender: row.share.percent for row in against.rows} == pytest.approx(
        {name: row.share.percent for name, row in rows.items()}
    )


def test_the_work_of_a_range_is_the_harmonic_mean_of_both() -> None:
    probed(database("ext4", 200, 100))
    query = "operation=random_write&block=8k-16k&file=1g-4g"
    [table] = comparison_of(query).tables
    [row] = table.rows
    assert (row.score, row.share.percent) == (pytest.approx(100), pytest.approx(25))
    assert row.share.ceiling == pytest.approx(WRITES)


def test_a_cell_without_a_ceiling_leaves_no_share_and_is_counted(client: Client) -> None:
    # 16 KB lie further from 4 KB than twice as much.
    probed(database("ext4", 200, 100), blocks=(4,))
    database("xfs", 400, 400)  # nobody measured its LUN: nothing is said of it
    [table] = comparison_of("profile=oltp").tables
    assert [row.share for row in table.rows] == [None, None]
    assert table.work.unceiled == ("6 of 12 cells of ext4",)
    sentence = "No share of the LUN, for want of a ceiling: 6 of 12 cells of ext4."
    assert sentence in table.work.sentences
    assert sentence in client.get("/compare/?profile=oltp").content.decode()
    answer = client.get("/api/v1/deltas?profile=oltp").json()
    assert answer["work"][0]["unceiled"] == ["6 of 12 cells of ext4"]


def test_parts_of_two_workloads_have_the_ceilings_of_each() -> None:
    cells = [(block, file) for file in (GB, 2 * GB, 4 * GB) for block in (8, 16)]
    read, write = make("ext4", workload="reads"), make("ext4", workload="writes")
    finished(read, *[at("random_read", *cell, 400) for cell in cells])
    finished(write, *[at("random_write", *cell, 400) for cell in cells])
    probed(read)
    [table] = comparison_of("profile=oltp").tables
    assert table.rows[0].share is None
    assert table.work.unceiled == ("6 of 12 cells of ext4",)
    probed(write)
    [table] = comparison_of("profile=oltp").tables
    assert table.rows[0].share.percent == pytest.approx(100 * 0.5**0.65)
