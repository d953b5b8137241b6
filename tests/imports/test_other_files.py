"""Archives as they are: what is no result is listed and left out."""

import io
from collections.abc import Callable

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.imports.plan import Plan, plan_files
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.imports.sources import Target, leave_out, unpack
from tests.imports.test_folders import zipped

Sample = Callable[[str], bytes]
FIND = (
    b"rank,errors,unknown,found,total,checked,time\n0,0,0,12,400,400,0.51\n1,0,0,9,390,390,0.52\n"
)
RESULT = b"[run]\nversion = io500-isc24_v1\n\n[ior-easy-write]\nt_start = 2024-05-01\nscore = 2.5\n"
LOG = b"time MB/s IOPS\n12:00:00 starting\n12:00:05 still starting, 3 of 4\n"


def planned(files: list[tuple[str, bytes]], *patterns: str) -> Plan:
    sources = unpack([("results.zip", io.BytesIO(zipped(files)))])
    return plan_files(leave_out(sources, patterns), Target("Lab", "ext4", "ext4"))


def test_a_result_folder_of_io500_is_taken_as_it_is(sample: Sample) -> None:
    results = {
        "result_summary.txt": sample("io500-isc24"),
        "ior-hard-write.txt": sample("ior-3.4-no-summary"),
        "mdtest-easy-stat.txt": sample("mdtest-3.4-easy-stat"),
        "mdtest-hard-stat.txt": sample("mdtest-3.4-hard-stat"),
    }
    others = {
        "config.ini": b"[global]\ndatadir = ./datafiles\n\n[debug]\nstonewall-time = 300\n",
        "find.csv": FIND,
        "find.txt": b"MATCHED 2534000/5068000\n",
        "ior-easy.stonewall": b"12345\n",
        "mdtest-easy-stat.csv": sample("mdtest-4.1-ranks-csv"),
        "result.txt": RESULT,
        "timestampfile": b"",
    }
    files = [(f"2024.05.01/{name}", data) for name, data in {**results, **others}.items()]
    plan = planned(files)
    assert plan.all_problems == []
    assert {file.source.name for file in plan.files} == results.keys()
    assert {file.source.name for file in plan.passed_over} == others.keys()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("README.md", b"# Results\nMeasured in May.\n"),
        ("empty.txt", b""),
        ("picture.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
        ("hosts.csv", b"host,cores,memory\nlab,8,64\nlab2,8,64\n"),
        ("progress.log", LOG),
        ("settings.json", b'{"mount": "noatime", "size": 12}\n'),
        ("fio_lat.1.log", b"1, 2000, 0, 4096, 0\n2, 3000, 0, 4096, 0\n"),
    ],
)
def test_what_lies_beside_results_is_listed(sample: Sample, name: str, data: bytes) -> None:
    plan = planned([("lab/fio.json", sample("fio-3.33-json")), (f"lab/{name}", data)])
    assert plan.all_problems == []
    assert [file.path for file in plan.passed_over] == [f"lab/{name}"]
    assert any(warning.file == f"lab/{name}" for warning in plan.warnings)


def test_a_table_that_needs_columns_is_asked_about_among_tables() -> None:
    good = b"test,value,unit\nwrite,100,MB/s\n"
    plan = planned([("lab/good.csv", good), ("lab/other.csv", FIND)])
    assert [problem.file for problem in plan.all_problems] == ["lab/other.csv"]


def test_files_are_left_out_by_name(sample: Sample) -> None:
    files = [(f"lab/{name}.txt", sample("dbench-4.00")) for name in ("one", "two", "two-b")]
    for pattern, kept in {
        "two.txt": ["one", "two-b"],
        "two*": ["one"],
        "lab/t?o.txt": ["one", "two-b"],
        "lab/*": [],
        "none*": ["one", "two", "two-b"],
    }.items():
        plan = planned(files, pattern)
        assert {file.path for file in plan.files} == {f"lab/{name}.txt" for name in kept}, pattern
        assert len(plan.left_out) == 3 - len(kept)
    with pytest.raises(ImportRefused):
        planned(files, "three.txt")


@pytest.mark.django_db
def test_a_call_says_what_is_left_out(signed_in: Client, sample: Sample) -> None:
    data = zipped([("ext4/a.txt", sample("dbench-4.00")), ("ext4/old.txt", b"dbench, old\n" * 3)])
    for path, status in (("", 201), ("/previews", 201)):
        answer = signed_in.post(
            f"/api/v1/imports{path}",
            {
                **{"study": "Lab", "filesystem": "ext4", "configuration": "ext4"},
                **{"leave_out": "old.txt, *.log", "strict": "true"},
                "file": SimpleUploadedFile("lab.zip", data),
            },
        )
        assert answer.status_code == status, answer.content
        assert [warning["file"] for warning in answer.json()["warnings"]][:1] == ["ext4/old.txt"]
