"""import_files: all or nothing, repeats, and never the same numbers twice."""

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import DjangoAssertNumQueries

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import Person, Role
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile, Workload
from fsbench_web.imports.models import Import
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.imports.sources import FileDescription, Target, unpack
from fsbench_web.imports.storing.commit import ImportResult, import_sources, safe_name
from fsbench_web.studies.models import Artefact, MeasurementBlock, Run, Score, Series, Study
from fsbench_web.studies.scores.ingest import rescore
from tests.importing import import_files
from tests.measured import measured

pytestmark = pytest.mark.django_db
Sample = Callable[[str], bytes]
FIRST, SECOND = "iozone-3.489-tests-0-1-2", "iozone-3.489-tests-0-1-2-again"


def table(*rows: str, header: str = "test,record_size_kb,file_size_kb,value,unit") -> bytes:
    return "\n".join([header, *rows]).encode()


def do(*files: tuple[str, bytes], **fields: Any) -> ImportResult:
    target = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4_noatime"} | fields
    return import_files(files, **{"user": None, **target})


def refused(*files: tuple[str, bytes], **fields: Any) -> list[dict[str, Any]]:
    before = [model.objects.count() for model in (Study, Run, Series, MeasurementBlock, Import)]
    with pytest.raises(ImportRefused) as refusal:
        do(*files, **fields)
    after = [model.objects.count() for model in (Study, Run, Series, MeasurementBlock, Import)]
    assert before == after, "something was stored"
    return [dict(row) for row in refusal.value.errors]


@pytest.mark.parametrize(
    ("first", "second"),
    [("C", "C++"), ("測試 1", "數據 1"), ("x" * 150 + "a", "x" * 150 + "b"), ("Ext4!", "Ext4?")],
)
def test_two_names_with_one_address_are_not_one_study(first: str, second: str) -> None:
    """Their runs would become repeats of each other."""
    do(("a.csv", table("write,4,64,100,KB/s")), study=first)
    [problem] = refused(("b.csv", table("write,4,64,1,KB/s")), study=second)
    assert first in problem["message"]
    assert "choose another name" in problem["message"]
    do(("c.csv", table("write,4,64,2,KB/s")), study="one", hardware=first)
    [problem] = refused(("d.csv", table("write,4,64,3,KB/s")), study="one", hardware=second)
    assert (problem["file"], "The hardware" in problem["message"]) == ("d.csv", True)


@pytest.mark.parametrize("name", ["RAID test", "raid-test", "raid  TEST", "RAID - test"])
def test_a_study_may_be_named_by_title_or_address(name: str) -> None:
    do(("a.csv", table("write,4,64,100,KB/s")), study="RAID test")
    do(("b.csv", table("write,4,64,90,KB/s")), study=name)
    assert Study.objects.get().slug == "raid-test"


def test_it_stores_two_files_as_repeats(sample: Sample, ada: User) -> None:
    result = import_files(
        [("a.txt", sample(FIRST)), ("b.txt", sample(SECOND))],
        study="Lab 7",
        filesystem="ext4",
        configuration="ext4_noatime",
        hardware="Rack 3",
        user=ada,
    )
    assert (result.state, result.errors) == ("done", [])
    runs = list(Run.objects.filter(pk__in=result.runs).order_by("id"))
    assert [(r.repeat, r.state, r.origin) for r in runs] == [
        (1, "done", "imported"),
        (2, "done", "imported"),
    ]
    series = Series.objects.get()
    assert {run.series_id for run in runs} == {series.pk}
    assert (series.study.slug, series.study.title) == ("lab-7", "Lab 7")
    assert series.configuration.label == "ext4_noatime"
    assert series.configuration.is_known
    assert series.hardware is not None
    assert series.hardware.slug == "rack-3"
    assert runs[0].changes.get().reason == "Imported from a.txt."
    assert runs[0].environment is not None
    assert ["Build", "linux-AMD64"] in runs[0].environment.facts["As the imported file says"]
    assert Import.objects.get().created_by == ada


def test_every_value_points_to_its_line_of_the_raw_output(sample: Sample) -> None:
    from fsbench_web.studies.scores.ingest import artefact_bytes

    do(("a.txt", sample(FIRST)))
    artefact = Artefact.objects.get()
    assert artefact_bytes(artefact) == sample(FIRST)
    lines = sample(FIRST).decode().split("\n")
    assert len(measured()) == 90
    for measurement in measured():
        assert measurement.artefact_id == artefact.pk
        assert measurement.line is not None
        assert f"{measurement.value:.0f}" in lines[measurement.line - 1].split()


def test_repeats_are_numbered_on(sample: Sample) -> None:
    do(("a.txt", sample(FIRST)))
    do(("b.txt", sample(SECOND)))
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 2]
    assert set(Score.objects.values_list("repeats", flat=True)) == {2}


def test_the_same_numbers_are_not_stored_twice(sample: Sample) -> None:
    done = do(("a.txt", sample(FIRST)))
    [error] = refused(("renamed.txt", sample(FIRST) + b"\n\n"))
    assert error["file"] == "renamed.txt"
    assert f"already there, as run {done.runs[0]} (repeat 1 of ext4_noatime" in error["message"]


def test_the_same_file_twice_in_one_call_is_refused(sample: Sample) -> None:
    [error] = refused(("a.txt", sample(FIRST)), ("b.txt", sample(FIRST)))
    assert error["file"] == "b.txt"
    assert error["message"].startswith("a.txt holds the very same numbers")


@pytest.mark.django_db(transaction=True)
def test_the_same_file_imported_many_times_at_once_is_stored_once(sample: Sample) -> None:
    def attempt(number: int) -> bool:
        try:
            do((f"{number}.txt", sample(FIRST)))
        except ImportRefused:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(attempt, range(4))) == [False, False, False, True]
    assert Run.objects.count() == 1
    assert Study.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_repeats_imported_at_once_are_numbered_and_scored_together() -> None:
    def import_table(number: int) -> int:
        try:
            rows = (f"write,4,{size},{100 + number},KB/s" for size in (64, 128))
            return len(do((f"{number}.csv", table(*rows))).runs)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(import_table, range(8))) == [1] * 8
    assert sorted(Run.objects.values_list("repeat", flat=True)) == list(range(1, 9))
    score = Score.objects.get(category="total_average")
    assert (score.repeats, score.value) == (8, 103.5)


def test_a_further_repeat_takes_few_statements(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    """Twenty uploads at one moment are what a site is slowest at: docs/performance.md."""
    for number in (1, 2):
        do(("a.csv", table(f"write,4,64,{number},KB/s")))
    with django_assert_max_num_queries(20):
        do(("a.csv", table("write,4,64,3,KB/s")))


def test_a_further_repeat_is_judged_as_if_all_were_read_again() -> None:
    """The import knows the runs of the series already; ``rescore`` reads them."""
    do(("a.csv", table("write,4,64,100,KB/s")))
    memory = {"before": {"memory_total_bytes": 2**33}}
    Run.objects.update(is_contended=True, drift_percent=7.5, conditions=memory)
    do(("a.csv", table("write,4,64,110,KB/s")))
    series = Series.objects.get()
    columns = ("category", "selection", "value", "flags", "left_out", "repeats")
    scores = list(Score.selections.order_by("category", "selection").values(*columns))
    judged_by = series.quality
    assert judged_by is not None
    assert judged_by["memory_kb"] == 2**23
    assert {"contended", "drifted"} <= {flag for score in scores for flag in score["flags"]}
    Series.objects.update(quality=None)
    rescore(Series.objects.get())
    assert list(Score.selections.order_by("category", "selection").values(*columns)) == scores
    assert Series.objects.get().quality == judged_by


def test_who_may_not_see_a_study_imports_with_as_few_statements(
    ada: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    Study.objects.create(slug="hidden", title="Hidden", visibility="private")
    Person.objects.create(user=ada, role=Role.CONTRIBUTOR)
    for number in (1, 2):
        do(("a.csv", table(f"write,4,64,{number},KB/s")), user=ada)
    with (
        rights.as_user(ada),  # of whom nothing is known yet, as at the beginning of a request
        django_assert_max_num_queries(20),
    ):
        do(("a.csv", table("write,4,64,3,KB/s")), user=ada)


def test_the_same_numbers_may_belong_to_another_configuration(sample: Sample) -> None:
    do(("a.txt", sample(FIRST)))
    do(("a.txt", sample(FIRST)), configuration="ext4_dl")
    assert Run.objects.count() == 2


def test_one_bad_file_refuses_all(sample: Sample) -> None:
    bad = table("write,4,64,fast,KB/s", "read,4,64,-1,KB/s")
    errors = refused(("good.txt", sample(FIRST)), ("bad.csv", bad), ("empty.txt", b""))
    assert [(e["file"], e["line"], e["column"]) for e in errors] == [
        ("bad.csv", 2, 4),
        ("bad.csv", 3, 4),
        ("empty.txt", None, None),
    ]


def test_nothing_that_was_made_on_the_way_stays_after_a_refusal(sample: Sample) -> None:
    refused(("a", sample(FIRST)), ("b", sample(FIRST)), configuration="new", hardware="New box")
    assert not HardwareProfile.objects.exists()
    assert not FilesystemConfiguration.objects.exists()
    assert not Workload.objects.exists()


def test_a_published_study_takes_no_runs(sample: Sample) -> None:
    Study.objects.create(slug="paper-2005", title="A paper", is_published=True)
    [error] = refused(("a.txt", sample(FIRST)), study="Paper 2005")
    assert "published studies take no further runs" in error["message"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"study": ""}, "study is missing"),
        ({"study": "!?"}, "needs a Latin letter"),
        ({"study": "x" * 201}, "200 characters"),
        ({"study": "a\x00b"}, "cannot be shown"),
        ({"filesystem": ""}, "filesystem is missing"),
        ({"filesystem": "a b"}, "is not a name"),
        ({"configuration": ""}, "configuration is missing"),
        ({"configuration": "Ext4 fast"}, "lower-case"),
        ({"configuration": "x" * 121}, "120 at most"),
        ({"configuration": "xfs_noatime"}, "is one of xfs, and the file system is said to be ext4"),
        ({"hardware": "***"}, "needs a Latin letter"),
    ],
)
def test_what_is_said_beside_the_files_is_checked(
    sample: Sample, fields: dict[str, str], words: str
) -> None:
    [error] = refused(("a.txt", sample(FIRST)), **fields)
    assert words in error["message"]
    assert (error["file"], error["line"]) == (None, None)


def test_no_file_is_refused() -> None:
    [error] = refused()
    assert (error["file"], error["line"], error["code"]) == (None, None, "no_file")


def test_a_table_may_say_what_its_rows_belong_to() -> None:
    header = "filesystem,configuration,repeat,test,value,unit"
    rows = ["xfs,xfs,1,untar,10,s", "xfs,xfs,2,untar,12,s", "Ext4,ext4_noatime,1,untar,20,s"]
    result = do(("t.csv", table(*rows, header=header)), filesystem="", configuration="")
    runs = Run.objects.filter(pk__in=result.runs).order_by("id")
    assert [(run.series.configuration.label, run.repeat) for run in runs] == [
        ("xfs", 1),
        ("xfs", 2),
        ("ext4_noatime", 1),
    ]
    scores = Score.objects.order_by("series_id").values_list("category", "value", "unit", "repeats")
    assert list(scores) == [("mean", 11.0, "s", 2), ("mean", 20.0, "s", 1)]


def test_a_repeat_that_is_there_is_refused() -> None:
    header = "repeat,test,value,unit"
    do(("t.csv", table("1,untar,10,s", header=header)))
    [error] = refused(("u.csv", table("1,untar,11,s", header=header)))
    assert error["file"] == "u.csv"
    assert "Repeat 1 of ext4_noatime is already there" in error["message"]


def test_direct_io_and_cached_runs_are_not_repeats_of_each_other(sample: Sample) -> None:
    do(("a.txt", sample(FIRST)))
    do(("b.txt", sample("iozone-3.489-direct-io")))
    assert Series.objects.count() == 2
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 1]


def test_two_units_of_one_test_are_refused() -> None:
    do(("a.csv", table("write,4,64,100,KB/s")))
    [error] = refused(("b.csv", table("write,4,64,7,ops/s")))
    assert "write was measured in KB/s and in ops/s" in error["message"]


def test_a_unit_nobody_can_rank_is_refused_with_its_line() -> None:
    [error] = refused(("a.csv", table("write,4,64,100,bananas")))
    assert (error["file"], error["line"]) == ("a.csv", 2)
    assert "bananas" in error["message"]


def test_a_wrong_unit_is_told_along_with_wrong_rows() -> None:
    rows = ("write,4,64,5,furlongs", "read,4,64,inf,KB/s", "read,4,128,7,")
    problems = refused(("a.csv", table(*rows)))
    assert sorted(row["line"] for row in problems) == [2, 3, 4]
    assert any("furlongs" in row["message"] for row in problems)


def test_what_a_file_lacks_is_told_in_the_runs_reason(sample: Sample) -> None:
    do(("a.txt", sample("iozone-3.489-no-space")))
    assert "ends before the tool did; the 8 values" in Run.objects.get().reason


def test_a_name_is_kept_without_its_path() -> None:
    assert safe_name("../../etc/pass\x00wd\n") == "passwd"
    assert safe_name("C:\\results\\out.txt") == "out.txt"
    assert safe_name("/") == "unnamed"


def test_the_command_imports_files(
    sample: Sample, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    paths[0].write_bytes(sample(FIRST))
    paths[1].write_bytes(sample(SECOND))
    options = {"study": "Lab", "filesystem": "xfs", "configuration": "xfs"}
    call_command("import_results", *map(str, paths), **options)
    assert "2 runs stored" in capsys.readouterr().out
    with pytest.raises(CommandError, match=r"Nothing was imported.\na.txt: These numbers"):
        call_command("import_results", str(paths[0]), **options)
    with pytest.raises(CommandError, match="No such file"):
        call_command("import_results", str(tmp_path / "none"), **options)


def test_repeats_that_a_table_numbers_may_be_equal() -> None:
    """Two runs of mkfs may both take 2 s: who numbers them says that they are two."""
    text = table("mkfs,2,s,1", "mkfs,2,s,2", "mkfs,3,s,3", header="test,value,unit,repeat")
    do(("a.csv", text))
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 2, 3]
    score = Score.objects.get()
    assert (score.repeats, score.value) == (3, pytest.approx(7 / 3))
    do(("b.csv", table("mkfs,2,s,4", header="test,value,unit,repeat")))
    # The same file once more is still told.
    assert "already there" in refused(("a.csv", text))[0]["message"]


def test_somebody_may_insist_that_equal_numbers_are_two_repeats(sample: Sample) -> None:
    """A coarse clock can give them; without a number they are taken for the same file again."""
    names = ("a.txt", "b.txt")
    sources = unpack([(name, io.BytesIO(sample(FIRST))) for name in names])
    target = Target("Lab", "ext4", "ext4_noatime")
    with pytest.raises(ImportRefused, match="say which repeat it is"):
        import_sources(sources, target, None)
    described = [
        replace(source, description=FileDescription(repeat=repeat))
        for source, repeat in zip(sources, (1, 2), strict=True)
    ]
    import_sources(described, target, None)
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 2]
    with pytest.raises(ImportRefused, match="already there"):
        import_sources(described[1:], target, None)
    import_sources([replace(described[1], description=FileDescription(repeat=3))], target, None)
    assert Run.objects.count() == 3


def test_one_repeat_twice_in_an_import_links_to_no_run_that_will_not_be(sample: Sample) -> None:
    files = [("a.txt", io.BytesIO(sample(FIRST))), ("b.txt", io.BytesIO(sample(SECOND)))]
    sources = [replace(source, description=FileDescription(repeat=1)) for source in unpack(files)]
    with pytest.raises(ImportRefused) as refusal:
        import_sources(sources, Target("Lab", "ext4", "ext4"), None)
    [problem] = refusal.value.problems
    assert ("Repeat 1 of ext4 is already there" in problem.message, problem.run_id) == (True, None)


def test_iterations_of_one_file_may_print_the_same(sample: Sample) -> None:
    data = sample("ior-3.2-two-iterations")
    data = data[: data.index(b"Summary of all tests")]
    first, second = (line for line in data.splitlines() if line.startswith(b"read      "))
    equal = data.replace(second, first.rstrip()[:-1] + b"1")
    result = do(("ior.txt", equal))
    assert [run.repeat for run in Run.objects.filter(pk__in=result.runs).order_by("pk")] == [1, 2]
    with pytest.raises(ImportRefused, match="already there"):
        do(("ior.txt", equal))


def test_where_a_table_names_file_systems_alone_each_is_a_configuration() -> None:
    rows = b"fs,test,value,unit\nEXT4,write,10,KB/s\nxfs,write,20,KB/s\n"
    do(("a.csv", rows), filesystem="", configuration="")
    labels = Series.objects.order_by("pk").values_list("configuration__label", flat=True)
    assert list(labels) == ["ext4", "xfs"]
    [problem] = refused(("b.csv", table("read,4,64,1,KB/s")), configuration="")
    assert "configuration is missing" in problem["message"]
