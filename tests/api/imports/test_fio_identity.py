"""Our own fio preset and a colleague's file of the same settings: one table, two rows."""

import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.models import Workload as WorkloadRow
from fsbench_web.core.scoring.profiles.coverage import NOTES
from fsbench_web.core.workloads import Place, Workload, presets
from fsbench_web.studies.models import Series, Study
from fsbench_web.studies.series import series_for
from tests.studies.scores.test_cells import finished

pytestmark = pytest.mark.django_db

RATE = "random_8k_read_iops"
SAMPLES = Path(__file__).parents[2] / "core/formats/samples"


def report(options: Mapping[str, str], iops: float) -> bytes:
    """fio's JSON of one job."""
    way = "write" if "write" in options["rw"] else "read"
    side = {"io_bytes": 9, "total_ios": 9, "bw": int(iops * 8), "iops": iops}
    job = {"jobname": options["name"], "error": 0, "job options": options, way: side}
    return json.dumps({"fio version": "fio-3.33", "jobs": [job]}, indent=1).encode()


def outputs(workload: Workload, iops: float) -> dict[str, bytes]:
    """What fio prints for each command of our own workload."""
    printed = {}
    for command in workload.commands(Place("/m")):
        if command.output and command.output.endswith(".json"):
            words = [word.removeprefix("--").partition("=") for word in command.argv[1:]]
            printed[command.output] = report({word[0]: word[2] for word in words}, iops)
    return printed


def send(writer: Client, name: str, data: bytes, filesystem: str) -> dict[str, Any]:
    fields = {"study": "Lab", "filesystem": filesystem, "configuration": filesystem}
    file = SimpleUploadedFile(name, data, "application/json")
    response = writer.post("/api/v1/imports", {"file": file, **fields})
    assert response.status_code == 201, response.content
    return response.json()


COLLEAGUE = {
    **{"name": "myjob", "filename": "/srv/data/t", "rw": "randread", "bs": "8k", "size": "10g"},
    **{"iodepth": "8", "ioengine": "libaio", "direct": "1", "numjobs": "1", "runtime": "120"},
    **{"time_based": "", "group_reporting": ""},
}


def test_our_preset_and_a_file_of_the_same_settings_are_two_rows_of_one_table(
    writer: Client,
) -> None:
    ours = outputs(presets()["fio-8k"].workload(), 5000.0)
    for repeat in (0, 1, 2):
        send(
            writer,
            "ours.json",
            ours["fio-read-8.json"].replace(b"5000.0", b"50%d0.5" % repeat),
            "ext4",
        )
        send(writer, f"c{repeat}.json", report(COLLEAGUE, 9000.5 + repeat), "xfs")
    assert Series.objects.values("workload").distinct().count() == 2
    body = writer.get("/api/v1/comparison?study=lab&category=mean").json()
    tables = [table for table in body["tables"] if table["test"].startswith(RATE)]
    assert [table["test"] for table in tables] == [f"{RATE}@iodepth=8"]
    assert {row["contender"] for row in tables[0]["rows"]} == {"ext4", "xfs"}
    answer = body["answer"]
    assert (answer["status"], answer["leader"], answer["tests"]) == ("faster", "xfs", 1)
    assert [work["entries"] for work in answer["workloads"]] == [["xfs", "ext4"]]
    assert "conditions_differ" in answer["caveats"]


def test_what_our_preset_measured_has_the_names_of_its_import() -> None:
    workload = presets()["fio-8k"].workload()
    read = workload.parse(outputs(workload, 5000.0))
    cells = {
        (value.test, value.load)
        for result in read.values()
        for value in result.values
        if value.test.endswith("_iops")
    }
    assert cells == {
        (f"random_8k_{way}_iops", f"iodepth={depth}")
        for way in ("read", "write")
        for depth in (1, 8, 32)
    }


def work_answer(client: Client, profile: str = "oltp") -> dict[str, Any]:
    return client.get(f"/api/v1/comparison?study=lab&profile={profile}").json()


def test_a_work_profile_counts_the_cells_that_our_preset_measured(writer: Client) -> None:
    workload = presets()["fio-8k"].workload()
    row = WorkloadRow.objects.create(
        slug="fio-8k", title="fio, random 8 KB", tool=workload.tool, parameters={"block_kb": 8}
    )
    series = series_for(
        Study.objects.create(slug="lab", title="Lab"), configuration_for("ext4", {}), workload=row
    )
    for repeat in range(6):
        read = workload.parse(outputs(workload, 5000.0 + repeat))
        finished(series, *[value for result in read.values() for value in result.values])
    body = work_answer(writer)
    # 8 KB in files of 1, 2 and 4 GB, read and written; nobody measured 16 KB.
    assert body["answer"]["coverage"] == {"measured": 6, "total": 12}
    [coverage] = body["work"][0]["coverage"]
    assert (coverage["contender"], coverage["measured"]) == ("ext4", 6)
    assert "smaller_data_set" in body["answer"]["caveats"]
    assert body["work"][0]["notes"] == ["smaller_data_set"]
    page = writer.get("/compare/?study=lab&profile=oltp").content.decode()
    assert NOTES["smaller_data_set"] in html.unescape(page)


def database(iops: float) -> list[bytes]:
    """A colleague's files of all that the profile of a database asks for."""
    return [
        report(COLLEAGUE | {"rw": way, "bs": block, "iodepth": "1", "size": "2g"}, iops)
        for way in ("randread", "randwrite")
        for block in ("8k", "16k")
    ]


def test_imported_files_complete_a_work_profile_with_what_we_measured(writer: Client) -> None:
    for repeat in range(3):
        for filesystem, iops in (("ext4", 5000.5), ("xfs", 9000.5)):
            for place, data in enumerate(database(iops + repeat)):
                send(writer, f"{filesystem}{repeat}{place}.json", data, filesystem)
    body = work_answer(writer)
    assert body["answer"]["coverage"] == {"measured": 12, "total": 12}
    assert (body["answer"]["status"], body["answer"]["leader"]) == ("faster", "xfs")
    [table] = body["tables"]
    scores = {row["contender"]: row["score"] for row in table["rows"]}
    assert scores["xfs"] == pytest.approx(9001.5 / 5001.5, rel=1e-3)


@pytest.mark.parametrize(
    ("changed", "measured"),
    [
        ({}, 3),  # direct I/O: 1, 2 and 4 GB
        ({"direct": "0", "size": "2g"}, 1),  # buffered: files of this size alone
        ({"direct": "0", "size": "10g"}, 0),
        ({"iodepth": "8"}, 0),
        ({"iodepth": "8", "ioengine": "psync"}, 3),  # waits for each request
        ({"numjobs": "4"}, 0),
        ({"bs": "4k"}, 0),
        ({"rate_iops": "500"}, 0),
        ({"rw": "read"}, 0),
        ({"rw": "randrw"}, 0),
    ],
)
def test_a_cell_is_covered_by_what_has_its_identity(
    writer: Client, changed: dict[str, str], measured: int
) -> None:
    options = COLLEAGUE | {"iodepth": "1"} | changed
    send(writer, "a.json", report(options, 5000.5), "ext4")
    assert work_answer(writer)["answer"]["coverage"] == {"measured": measured, "total": 12}


@pytest.mark.parametrize(
    ("sample", "changes", "measured"),
    [
        # 8 KB at random, direct, one thread: written in files of 1, 2 and 4 GB.
        ("sysbench-1.1", {"size 4KiB": "size 8KiB", "of threads: 4": "of threads: 1"}, 3),
        ("sysbench-1.1", {"size 4KiB": "size 8KiB"}, 0),
        (
            "diskspd-2.2.0",
            {
                "block size: 4KiB": "block size: 8KiB",
                "operations per thread: 16": "operations per thread: 1",
                "thread count:\t\t4": "thread count:\t\t1",
            },
            3,
        ),
    ],
)
def test_other_tools_cover_cells_too(
    writer: Client, sample: str, changes: dict[str, str], measured: int
) -> None:
    text = (SAMPLES / f"{sample}.txt").read_text()
    for before, after in changes.items():
        text = text.replace(before, after)
    send(writer, "a.txt", text.encode(), "ext4")
    assert work_answer(writer)["answer"]["coverage"] == {"measured": measured, "total": 12}


IOZONE = """\tIozone: Performance Test of File I/O
\tVersion $Revision: 3.489 $

\tO_DIRECT feature enabled
\tCommand line used: iozone -i 0 -i 2 -r 8 -s 2g -I -t 4
\tOutput is in kBytes/sec
\tThroughput test with 4 processes
\tEach process writes a 2097152 kByte file in 8 kByte records

\tChildren see throughput for 4 random readers \t=  187393.91 kB/sec

iozone test complete.
"""


@pytest.mark.parametrize(
    ("text", "measured"),
    [
        (IOZONE, 1),
        (IOZONE.replace("r 8", "r 4").replace("in 8", "in 4"), 0),
        (IOZONE.replace("O_DIRECT feature enabled", ""), 0),
        (IOZONE.replace("with 4", "with 2").replace("for 4", "for 2"), 0),
    ],
)
def test_processes_of_iozone_cover_what_jobs_of_fio_do(
    writer: Client, text: str, measured: int
) -> None:
    part = {"operation": "random_read", "weight": 1, "block_sizes_kb": [8, 8], "load": "jobs=4"}
    part |= {"file_sizes_kb": [2 * 1024 * 1024] * 2, "cached": False}
    body = {"title": "Shop", "parts": [part]}
    made = writer.post("/api/v1/profiles", body, "application/json")
    assert made.status_code == 201, made.content
    send(writer, "a.txt", text.encode(), "ext4")
    fio = report(COLLEAGUE | {"iodepth": "1", "numjobs": "4", "size": "2g"}, 5000.5)
    send(writer, "b.json", fio, "xfs")
    body = work_answer(writer, "shop")
    coverage = {one["contender"]: one["measured"] for one in body["work"][0]["coverage"]}
    assert coverage == {"ext4": measured, "xfs": 1}
