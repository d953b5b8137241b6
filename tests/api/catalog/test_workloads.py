"""What can be run, as the API tells it, and jobs with lists of numbers."""

from typing import Any

import pytest
from django.test import Client

from fsbench_web.catalog.models import Lun, Workload
from fsbench_web.core.workloads import presets, workload_types
from tests.api.conftest import announced

SMALL = {"files": 50, "transactions": [30, 10, 20]}


@pytest.fixture
def able(db: None) -> Lun:
    """A LUN whose worker has PostMark too."""
    lun = announced("bench-1")
    tools = {name: {"usable": True, "version": "1.53"} for name in ("iozone", "postmark")}
    lun.worker.capabilities |= {"tools": tools}
    lun.worker.save()
    return lun


def job(**changes: Any) -> dict[str, Any]:
    return {
        "study": "Lists",
        "lun": "lun0",
        "confirm": "lun0",
        "configurations": [{"filesystem": "ext4", "scheduler": "none"}],
        "workload": "postmark-small",
        "parameters": SMALL,
        "repeats": 1,
    } | changes


def test_it_lists_every_workload_with_all_that_a_job_needs(client: Client, db: None) -> None:
    workloads = client.get("/api/v1/workloads").json()["workloads"]
    with_presets = {tool for tool, kind in workload_types().items() if kind.presets}
    assert {workload["tool"] for workload in workloads} == with_presets
    assert {preset["name"] for workload in workloads for preset in workload["presets"]} == set(
        presets()
    )
    (postmark,) = [workload for workload in workloads if workload["tool"] == "postmark"]
    assert postmark["paper"] == "Sun 2004"
    assert postmark["programs"] == {"postmark": "postmark"}
    (loads,) = [
        parameter for parameter in postmark["parameters"] if parameter["key"] == "transactions"
    ]
    assert (loads["kind"], loads["minimum"], loads["maximum"]) == ("wholes", 10, 100_000_000)
    assert loads["paper"] == "25,000 to 500,000 in nine steps"
    (remount,) = [
        parameter for parameter in postmark["parameters"] if parameter["key"] == "remount"
    ]
    assert (remount["default"], remount["minimum"]) == (True, None)
    for workload in workloads:
        keys = {parameter["key"] for parameter in workload["parameters"]}
        for preset in workload["presets"]:
            assert set(preset["parameters"]) == keys
            assert preset["space_needed_bytes"] > 0


def test_a_job_takes_a_list_of_numbers(writer: Client, able: Lun) -> None:
    answer = writer.post("/api/v1/runs", job(), content_type="application/json")
    assert answer.status_code == 201, answer.content
    assert Workload.objects.get(tool="postmark").parameters["transactions"] == [10, 20, 30]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "a list of 1 to 32 whole numbers"),
        ([10, 10], "names a number twice"),
        ([1], "10 to 100000000"),
        (["10; reboot"], "transactions"),
        ([10.5], "transactions"),
        ([True], "transactions"),
        ([[10]], "transactions"),
        (list(range(10, 43)), "a list of 1 to 32 whole numbers"),
        (10, "a list of 1 to 32 whole numbers"),
        (None, "transactions"),
    ],
)
def test_a_list_that_cannot_be_is_refused_in_words(
    writer: Client, able: Lun, value: Any, words: str
) -> None:
    bad = job(parameters={"transactions": value})
    answer = writer.post("/api/v1/runs", bad, content_type="application/json")
    assert answer.status_code == 422
    assert words in answer.json()["detail"]
    assert not Workload.objects.exists()


def test_a_job_document_takes_one_too(writer: Client, able: Lun) -> None:
    document = """
study: Lists
lun: lun0
configurations: [{filesystem: ext4, schedulers: [none]}]
workloads:
  - name: postmark-small
    parameters: {files: 50, transactions: [30, 10, 20], remount: false}
repeats: 1
"""
    body = {"document": document, "confirm": "lun0"}
    answer = writer.post("/api/v1/sweeps", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    stored = Workload.objects.get(tool="postmark").parameters
    assert (stored["transactions"], stored["remount"]) == ([10, 20, 30], False)
