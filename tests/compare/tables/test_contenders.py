"""Contenders by any property, a baseline of one's own choice, and the filters that go with them."""

import pytest
from django.utils import timezone

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.compare.selection import properties
from fsbench_web.compare.selection.fields import CONTENDERS
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import comparison, delta_tables, relaxed_filters
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.scoring.deltas import change_percent
from fsbench_web.studies.models import Score
from fsbench_web.studies.series import series_for
from tests.compare.conftest import make_run, make_score, make_study

database = pytest.mark.django_db


def names(table: DeltaTable) -> list[str]:
    return [row.contender for row in table.rows]


def make_lun(name: str) -> Lun:
    now = timezone.now()
    worker, _ = Worker.objects.get_or_create(
        name="host-1", defaults={"executor": "fake", "started_at": now, "seen_at": now}
    )
    return Lun.objects.create(
        worker=worker,
        name=name,
        role="data",
        kind="device",
        device=f"/dev/{name}",
        announced_at=now,
    )


def make_known(value: float, filesystem: str = "ext4", scheduler: str = "", **options: str) -> None:
    external_journal = bool(options.pop("xj", ""))
    configuration = configuration_for(filesystem, options, scheduler, external_journal)
    Score.objects.create(
        series=series_for(make_study("lab"), configuration),
        test="write",
        category="maximum",
        value=value,
        unit="KB/s",
        repeats=1,
    )


def rows_by(by: str) -> list[tuple[str, str | None, float]]:
    [table] = delta_tables(ComparisonSpec(by=by))
    return [(row.contender, row.configuration, row.score) for row in table.rows]


@database
def test_kernels_compete_each_with_its_best_configuration():
    make_score("ext4_a", 90, kernel="6.1 Debian")
    make_score("xfs_b", 120, kernel="6.1 Debian")
    make_score("ext4_a", 110, kernel="6.12")
    make_score("ext4_a", 10)
    [table] = delta_tables(ComparisonSpec(by="kernel"))
    assert [(row.contender, row.label, row.configuration, row.score) for row in table.rows] == [
        ("unknown", "not known", "ext4_a", 10.0),
        ("6.12", "6.12", "ext4_a", 110.0),
        ("6.1-debian", "6.1 Debian", "xfs_b", 120.0),
    ]
    assert [row.configurations for row in table.rows] == [1, 1, 2]


@database
def test_options_schedulers_and_journals_compete():
    make_known(100, atime="noatime")
    make_known(80)
    make_known(120, atime="noatime", scheduler="mq-deadline", xj="yes", inode_size="256")
    make_score("ext4_by_hand", 1, study="lab")
    assert [row[0] for row in rows_by("option.atime")] == ["unknown", "default", "noatime"]
    assert [row[0] for row in rows_by("scheduler")] == ["unknown", "default", "mq-deadline"]
    assert [row[0] for row in rows_by("journal")] == ["unknown", "internal", "external"]
    assert [row[0] for row in rows_by("mount")] == ["unknown", "defaults", "atime=noatime"]
    assert [row[0] for row in rows_by("mkfs")] == ["unknown", "defaults", "inode_size=256"]


@database
def test_everything_else_competes_too():
    lun = make_lun("loop1")
    make_score("ext4", 1, study="lab", workload="small", hardware="old", distribution="Debian 12")
    make_score("xfs", 2, study="lab", lun=lun, preparation={"discard": True}, journal_lun=lun)
    expected = {
        "hardware": ["old", "unknown"],
        "workload": ["small", "unknown"],
        "distribution": ["debian-12", "unknown"],
        "lun": ["unknown", "loop1-on-host-1"],
        "journal_lun": ["unknown", "loop1-on-host-1"],
        "preparation": ["plain", "discarded"],
        "study": ["lab"],
        "filesystem": ["ext4", "xfs"],
    }
    assert {by: [row[0] for row in rows_by(by)] for by in expected} == expected


@database
@pytest.mark.parametrize("by", sorted(CONTENDERS))
def test_every_property_can_be_compared_in_the_same_number_of_queries(
    by, django_assert_num_queries
):
    for number in range(5):
        make_run(make_score(f"ext{number}", number, kernel=f"6.{number}").series)
    # The series are read before the best are chosen, or after: with single configurations they are
    # read before, and once more which of them have scores.
    is_of_configuration = properties.PROPERTIES[by].is_of_configuration
    with django_assert_num_queries(4 if is_of_configuration else 3):
        [table] = delta_tables(ComparisonSpec(by=by))
    assert table.rows[-1].score == 4.0


@database
def test_a_contender_can_be_chosen_as_a_filter_by_the_name_it_has():
    make_score("ext4_A", 90, kernel="6.1 Debian", lun=make_lun("loop1"), distribution="Debian 12")
    make_score("xfs", 120)
    for by in ("kernel", "lun", "distribution", "configuration"):
        tables = delta_tables(ComparisonSpec(by=by))
        worst = tables[0].rows[0].contender
        [table] = delta_tables(ComparisonSpec.from_query(f"{by}={worst}"))
        assert names(table) == ["ext4"], by


@database
def test_only_scores_of_enough_runs():
    make_score("ext4", 90, repeats=3)
    make_score("xfs", 120, repeats=2)
    make_score("jfs", 120, repeats=None)
    [table] = delta_tables(ComparisonSpec(min_runs=3))
    assert names(table) == ["ext4"]
    assert relaxed_filters(ComparisonSpec(min_runs=4)) == [("min_runs", ComparisonSpec())]


@database
def test_all_are_set_against_a_baseline_of_ones_own_choice():
    make_score("ext4", 80)
    make_score("xfs", 100)
    make_score("jfs", 120)
    [table] = delta_tables(ComparisonSpec(baseline="xfs"))
    assert [(row.contender, row.change_percent, row.is_baseline) for row in table.rows] == [
        ("ext4", -20.0, False),
        ("xfs", 0.0, True),
        ("jfs", 20.0, False),
    ]
    assert [row.delta1_percent for row in table.rows][-1] == 0.0
    assert DeltaTable.from_dict(table.as_dict()) == table


@database
def test_a_table_without_the_baseline_shows_no_change():
    make_score("ext4", 80)
    make_score("xfs", 100, test="read")
    write, read = delta_tables(ComparisonSpec(baseline="xfs"))
    assert [row.change_percent for row in (*write.rows, *read.rows)] == [None, 0.0]


@database
def test_nothing_is_set_against_a_baseline_where_nothing_is_ranked():
    make_score("ext4", 80, unit="furlongs")
    make_score("xfs", 100, unit="furlongs")
    [table] = delta_tables(ComparisonSpec(baseline="xfs"))
    assert [row.change_percent for row in table.rows] == [None, None]


@pytest.mark.parametrize(
    ("value", "baseline", "lower_is_better", "change"),
    [
        (120, 100, False, 20.0),
        (80, 100, False, -20.0),
        (100, 100, False, 0.0),
        (0, 100, False, -100.0),
        (100, 0, False, None),
        (0, 0, False, None),
        (5, 10, True, 100.0),  # half the time is twice the speed
        (20, 10, True, -50.0),
        (0, 10, True, None),
        (10, 0, True, -100.0),
        (0.3, 0.1, False, 200.0),
    ],
)
def test_a_change_speaks_of_speed(value, baseline, lower_is_better, change):
    assert change_percent(value, baseline, lower_is_better) == change


@database
def test_the_runs_considered_are_counted_without_being_read():
    best, other = make_score("ext4_a", 100), make_score("ext4_b", 90)
    for score in (best, best, other):
        make_run(score.series)
    make_run(make_score("xfs", study="other").series, "failed")
    ext4_comparison = comparison(ComparisonSpec(filesystems=("ext4",)))
    assert ext4_comparison.run_count == 3
    assert len(ext4_comparison.run_ids) == 3
    assert len(ext4_comparison.tables[0].rows[0].run_ids) == 2


def made(label: str, workload: str, seconds: float, repeats: int = 3) -> None:
    make_score(
        label, seconds, test="mkfs", category="mean", unit="s", workload=workload, repeats=repeats
    )


@database
@pytest.mark.parametrize("by", ["filesystem", "kernel"])
def test_making_a_file_system_is_compared_between_runs_of_one_workload(by, client):
    """The best of each was of another workload, with which it shares no round."""
    for workload, ext4, xfs in (("fio", 1.0, 0.9), ("iozone", 1.2, 0.7), ("postmark", 0.5, 2.0)):
        for name, seconds in (("ext4", ext4), ("xfs", xfs)):
            repeats = 5 if workload == "fio" else 3
            make_score(
                *(name, seconds),
                **{"test": "mkfs", "category": "mean", "unit": "s", "workload": workload},
                **{"repeats": repeats, "kernel": f"6.{len(name)}"},
            )
    [table] = delta_tables(ComparisonSpec(by=by))
    # Of fio there are most repeats.
    assert [(row.workload, row.score, row.runs) for row in table.rows] == [
        ("fio", 1.0, 5),
        ("fio", 0.9, 5),
    ]
    by_workload = delta_tables(ComparisonSpec(by="workload"))[0]
    assert {row.workload: row.score for row in by_workload.rows} == {
        "fio": 0.9,
        "iozone": 0.7,
        "postmark": 0.5,
    }
    page = client.get(f"/compare/?by={by}&tab=setup").content.decode()
    assert "in workload" not in page


@database
def test_without_a_workload_that_all_have_the_best_of_each_stays_and_the_page_warns(client):
    made("ext4", "fio", 1.0)
    made("ext4", "iozone", 1.2)
    made("xfs", "iozone", 0.7)
    made("btrfs", "fio", 0.8)
    [table] = delta_tables(ComparisonSpec())
    assert [(row.contender, row.workload) for row in table.rows] == [
        ("ext4", "fio"),
        ("btrfs", "fio"),
        ("xfs", "iozone"),
    ]
    assert "in workload" in client.get("/compare/?tab=setup").content.decode()
    # Without who was measured by another one it is of that which is left.
    [table] = delta_tables(ComparisonSpec(filesystems=("ext4", "xfs")))
    assert {row.workload for row in table.rows} == {"iozone"}


@database
def test_nothing_more_is_asked_where_all_are_of_one_workload(django_assert_num_queries):
    for name, seconds in (("ext4", 1.0), ("xfs", 0.9)):
        made(name, "fio", seconds)
    with django_assert_num_queries(4):
        delta_tables(ComparisonSpec(studies=("lab",)))
    made("xfs", "iozone", 0.5)
    made("ext4", "iozone", 0.6)
    with django_assert_num_queries(4):
        delta_tables(ComparisonSpec(studies=("lab",)))
    made("xfs", "fio", 0.4)
    with django_assert_num_queries(7):
        delta_tables(ComparisonSpec(studies=("lab",)))
