"""Our own fio preset and a colleague's file of the same settings: one table, two rows."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.core.workloads import Place, Workload, presets
from fsbench_web.studies.models import Series

pytestmark = pytest.mark.django_db

RATE = "random_8k_read_iops"


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
