"""In what contenders differ besides what is compared: said in words, and never guessed."""

from dataclasses import replace
from typing import Any

import pytest

from fsbench_web.compare.tables.differences import Group, differences
from fsbench_web.compare.templatetags.compare import also_differ
from fsbench_web.core.comparison.delta_tables import Contender
from fsbench_web.core.comparison.rows import ScoreRow
from fsbench_web.studies.models import Run
from fsbench_web.studies.runs.environments import environment_for
from fsbench_web.studies.scores.source_runs import environments_of
from tests.compare.conftest import make_run, make_score

PLAIN = ScoreRow(
    study="lab",
    study_title="Lab",
    series_id=1,
    configuration="ext4",
    configuration_id=1,
    configuration_is_known=True,
    filesystem="ext4",
    workload="small",
    workload_title="Small",
    hardware="old",
    hardware_name="Old",
    lun="a on host",
    kernel="6.1",
    distribution="Debian 12",
    test="write",
    category="maximum",
    value=1.0,
    unit="KB/s",
    repeats=1,
    cells=None,
    cells_expected=None,
    origin="computed",
)


def _numbered(number: int, name: str) -> dict[str, Any]:
    """A series of a configuration of its own."""
    return {"series_id": number, "configuration_id": number, "filesystem": name}


def table(**rows: dict[str, Any]) -> list[Contender]:
    return [
        Contender(name, name, replace(PLAIN, **_numbered(number, name) | columns), 1)
        for number, (name, columns) in enumerate(rows.items())
    ]


def test_what_is_compared_is_no_warning():
    table_differences = differences([table(ext4={}, xfs={})], "filesystem")
    assert [(d.one, d.is_compared) for d in table_differences.properties] == [("file system", True)]
    assert table_differences.unintended == ()


def test_an_option_belongs_to_the_stage_it_has_with_that_file_system():
    """Compression is a mount option of Btrfs, and a mkfs option of ZFS."""
    for filesystem, stage, other in (("btrfs", "mount", "mkfs"), ("zfs", "mkfs", "mount")):
        both = table(
            one={"filesystem": filesystem, "options": {"compression": "zstd"}},
            two={"filesystem": filesystem, "options": {}},
        )
        compared = {d.one: d.is_compared for d in differences([both], stage).properties}
        assert compared == {f"{stage} options": True, "compression (compression)": True}
        compared = {d.one: d.is_compared for d in differences([both], other).properties}
        assert compared == {"compression (compression)": False}


def test_series_of_one_configuration_differ_in_what_is_their_own():
    same = {"configuration_id": 7, "filesystem": "ext4"}
    table_differences = differences([table(old=same, new=same | {"kernel": "6.12"})], "kernel")
    assert [(d.one, [g.value for g in d.groups]) for d in table_differences.properties] == [
        ("kernel", ["6.1", "6.12"])
    ]


def test_another_kernel_and_another_lun_are_told_with_who_has_which():
    table_differences = differences(
        [table(ext4={}, xfs={"kernel": "6.12", "lun": "b on host"}, jfs={"kernel": "6.12"})],
        "filesystem",
    )
    assert [d.one for d in table_differences.unintended] == ["kernel", "LUN"]
    assert table_differences.unintended[0].groups == (
        Group("6.1", ("ext4",)),
        Group("6.12", ("jfs", "xfs")),
    )
    assert (
        also_differ(table_differences.unintended, 1)
        == "They also differ in kernel and LUN (in the table)."
    )


def test_rows_of_different_tables_are_not_set_against_each_other():
    write = table(ext4={}, xfs={})
    read = [
        each._replace(row=replace(each.row, series_id=each.row.series_id + 10, kernel="6.12"))
        for each in write
    ]
    assert differences([write, read], "filesystem").unintended == ()


def test_it_says_in_how_many_tables():
    same, other = table(ext4={}, xfs={}), table(ext4={}, jfs={}, xfs={"kernel": "6.12"})
    other = [
        each._replace(row=replace(each.row, series_id=each.row.series_id + 10)) for each in other
    ]
    table_differences = differences([same, same, other], "filesystem")
    assert also_differ(table_differences.unintended, table_differences.tables) == (
        "They also differ in kernel (in 1 of 3 tables)."
    )


def test_tuning_belongs_to_a_file_system_and_not_to_a_kernel():
    tuned = {"options": {"atime": "noatime"}, "scheduler": "bfq", "kernel": "6.12"}
    tables = [table(ext4={}, xfs=tuned)]
    assert [d.one for d in differences(tables, "filesystem").unintended] == ["kernel"]
    assert [d.one for d in differences(tables, "kernel").unintended] == [
        "file system",
        "I/O scheduler",
        "access times (atime)",
    ]


def test_another_option_than_the_one_compared_is_told():
    rows = table(
        noatime={"filesystem": "ext4", "options": {"atime": "noatime"}},
        default={"filesystem": "ext4", "options": {"inode_size": "256"}},
    )
    table_differences = differences([rows], "option.atime")
    assert [d.one for d in table_differences.unintended] == ["inode size (bytes) (inode_size)"]


def test_another_lun_belongs_to_other_hardware():
    tables = [table(ext4={}, xfs={"filesystem": "ext4", "hardware": "new", "lun": "b on other"})]
    assert differences(tables, "hardware").unintended == ()


def test_what_is_not_known_of_some_is_not_called_a_difference():
    table_differences = differences([table(ext4={}, xfs={"kernel": ""})], "filesystem")
    assert table_differences.unintended == ()
    assert [d.one for d in table_differences.unsure] == ["kernel"]
    assert table_differences.unsure[0].groups[-1] == Group("not known", ("xfs",))


def test_facts_of_environments_are_set_against_each_other():
    facts = {
        0: {"Tools": {"fio": frozenset({"3.33"})}, "LUN": {"Device": frozenset({"/dev/a"})}},
        1: {"Tools": {"fio": frozenset({"3.36"})}, "LUN": {"Device": frozenset({"/dev/a"})}},
    }
    table_differences = differences([table(ext4={}, xfs={}, jfs={})], "filesystem", facts)
    assert [(d.title, d.groups) for d in table_differences.facts] == [
        ("Tools: fio", (Group("3.33", ("ext4",)), Group("3.36", ("xfs",))))
    ]


@pytest.mark.django_db
def test_environments_are_read_in_two_queries(django_assert_num_queries):
    series = []
    for number in range(10):
        run = make_run(make_score(f"ext{number}").series)
        facts = {"Tools": [["fio", f"3.{number}"], ["fio", "again"]]}
        Run.objects.filter(pk=run.pk).update(environment=environment_for(facts))
        series.append(run.series_id)
    with django_assert_num_queries(2):
        environments = environments_of(series)
    assert environments[series[3]] == {"Tools": {"fio": frozenset({"3.3", "again"})}}


@pytest.mark.django_db
def test_the_page_warns_in_words_above_the_tables(client):
    make_score("ext4", 90, kernel="6.1")
    make_score("xfs", 120, kernel="6.12")
    text = client.get("/compare/?papers=yes").content.decode()
    assert "These entries differ in more than the file system." in text
    assert "They also differ in kernel (in the table)." in text
    assert text.index("differ in more than") < text.index('class="table is-dense deltas')
    assert "<strong>6.12</strong>" in text
    alike = client.get("/compare/?by=kernel&filesystem=xfs").content.decode()
    assert "differ in more than" not in alike


@pytest.mark.django_db
def test_names_in_the_differences_are_escaped(client):
    make_score("ext4", 90, kernel="<b>6.1")
    make_score("xfs", 120, kernel="6.12")
    assert "<b>6.1" not in client.get("/compare/?papers=yes").content.decode()


def test_tuning_that_is_the_same_where_it_is_known_is_not_laid_side_by_side():
    rows = table(
        a={"filesystem": "xfs"},
        b={"filesystem": "xfs", "hardware": "n", "hardware_name": "N", "lun": ""},
    )
    table_differences = differences([rows], "hardware")
    assert [d.one for d in table_differences.listed] == ["hardware"]
    assert [d.one for d in table_differences.half_known] == ["LUN"]
