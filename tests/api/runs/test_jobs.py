"""Jobs over the API: previewed, submitted from a document, followed and steered."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.jobs.documents import text
from fsbench_web.studies.models import Job, Run, RunState
from fsbench_web.studies.runs import lifecycle
from tests.studies.conftest import complete, start

JOBS = "/api/v1/jobs"
SUMMARY = [
    *("id", "study", "lun", "worker", "state", "priority", "paused_at", "created_by"),
    *("created_at", "runs", "links"),
]


@pytest.fixture
def document() -> dict[str, Any]:
    return {
        "study": "Array test",
        "lun": "lun0",
        "configurations": [
            {"filesystem": "ext4", "options": {"journal_mode": ["default", "writeback"]}},
            "xfs",
        ],
        "schedulers": ["none"],
        "workloads": ["iozone-small"],
        "repeats": 2,
        "seed": 3,
        "reference": {"every": 3, "configuration": {"filesystem": "xfs"}},
    }


@pytest.fixture
def post(writer: Client, lun: Lun) -> Callable[..., Any]:
    def send(path: str = "", body: Any = None, **headers: str) -> Any:
        return writer.post(
            JOBS + path, body or {}, content_type="application/json", headers=headers
        )

    return send


@pytest.fixture
def job(post: Callable[..., Any], document: dict[str, Any]) -> Job:
    assert post("", {"document": document, "confirm": "lun0"}).status_code == 201
    return Job.objects.get()


def messages(response: Any) -> dict[str | None, str]:
    return {error["field"]: error["message"] for error in response.json()["errors"]}


def test_a_preview_says_what_would_be_run_and_submits_nothing(post, document) -> None:
    response = post("/preview", {"document": document})
    assert response.status_code == 200, response.content
    body = response.json()
    # 3 configurations twice, and the reference before, between and after.
    assert len(body["runs"]) == 9
    assert [run["reference"] for run in body["runs"]] == [i % 4 == 0 for i in range(9)]
    assert (body["erasures"], body["most_runs"], body["confirm"]) == (9, 9, "lun0")
    assert (body["estimated_s"], body["estimated_known_s"], body["runs_not_known"]) == (None, 0, 9)
    assert body["at_least_s"] is None
    assert body["document"] == document
    assert not Run.objects.exists()


def test_a_job_makes_what_the_preview_said(post, document) -> None:
    planned = post("/preview", {"document": document}).json()["runs"]
    response = post("", {"document": document, "confirm": "lun0"})
    assert response.status_code == 201
    body = response.json()
    assert list(body) == [*SUMMARY, "planned"]
    assert [(run["configuration"], run["reference"]) for run in body["planned"]] == [
        (run["configuration"], run["reference"]) for run in planned
    ]
    assert body["study"] == "array-test"
    assert body["runs"] == {
        **dict.fromkeys(("running", "done", "failed", "cancelled"), 0),
        **{"total": 9, "waiting": 9},
    }


@pytest.mark.parametrize("form", [json.dumps, text.write])
def test_a_document_may_be_a_text(post, document, form) -> None:
    response = post("", {"document": form(document), "confirm": "lun0"})
    assert response.status_code == 201
    assert Job.objects.get().document == document


def test_a_seed_is_chosen_where_none_is_given(post, document) -> None:
    del document["seed"]
    previewed = post("/preview", {"document": document}).json()["document"]
    assert isinstance(previewed.pop("seed"), int)
    assert previewed == document


def test_sent_twice_with_one_key_it_is_one_job(post, document) -> None:
    body = {"document": document, "confirm": "lun0"}
    first = post("", body, **{"Idempotency-Key": "k"}).json()
    assert post("", body, **{"Idempotency-Key": "k"}).json() == first
    assert Run.objects.count() == 9


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"lun": "lun9"}, "lun", 'There is no LUN "lun9"'),
        ({"configurations": ["hammer2"]}, "configurations[0].filesystem", "hammer2"),
        ({"schedulers": ["bfq"]}, "schedulers[0]", "choose one of none, mq-deadline"),
        ({"workloads": ["x"]}, "workloads[0]", "There is no workload"),
        (
            {
                "workloads": [
                    "iozone-small",
                    {"name": "iozone-small", "parameters": {"maximum_file_kb": 4096}},
                ]
            },
            "workloads[1]",
            "twice with the same parameters",
        ),
        ({"priority": 11}, "priority", "from -10 to 10"),
        ({"time_limit_s": 1}, "time_limit_s", "The time limit of a run"),
        ({"seed": -1}, "seed", "needs a seed"),
        ({"repeats": 21}, "repeats", "1 to 20 times"),
        ({"repeat": 3}, "repeat", "means nothing here"),
    ],
)
def test_problems_have_their_place_and_nothing_is_queued(
    post, document, change, field, words
) -> None:
    response = post("", {"document": document | change, "confirm": "wrong"})
    assert response.status_code == 422
    by_field = messages(response)
    assert words in by_field[field]
    if field != "lun":
        assert "does not match" in by_field["confirm"]
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "document",
    ["", "a: *x", "[", [1], 3, None, {"a": "\x00"}, {"a": 10**400}, {"a": "x" * 70_000}],
)
def test_what_is_no_document_is_refused(post, document) -> None:
    response = post("", {"document": document, "confirm": "lun0"})
    assert response.status_code == 422
    assert list(response.json()) == ["detail", "errors", "type", "title", "status"]


@pytest.mark.parametrize("levels", [100, 300, 900, 3000, 200_000])
def test_a_document_that_is_nested_without_end_is_refused(writer, lun, levels: int) -> None:
    """Python's reader stops at a thousand, and from 3.12 on at ten thousand and more."""
    for opened, closed in (('{"a":', "}"), ("[", "]")):
        body = f'{{"document": {opened * levels}1{closed * levels}}}'
        response = writer.post(JOBS, body, content_type="application/json")
        assert response.status_code == 400
        assert response.json()["detail"] == "The body is nested more than 64 levels deep."


def test_a_body_that_is_no_json_is_told_where(writer) -> None:
    for body, words in (
        (b"{\n1", "line 2, column 1"),
        (b"\xff{}", "not UTF-8 text"),
        (b'{"document": ' + b"9" * 6000 + b"}", "a number that is far too large"),
    ):
        response = writer.post(JOBS, body, content_type="application/json")
        assert response.status_code == 400
        assert words in response.json()["detail"]


def test_writing_needs_a_token(client, lun, document, db) -> None:
    for path in ("", "/preview", "/1/pause", "/1/resume", "/1/cancel", "/1/retry", "/1/priority"):
        response = client.post(JOBS + path, {"document": document}, content_type="application/json")
        assert response.status_code == 401


def test_one_follows_a_job(client, post, job) -> None:
    first, second = job.runs.order_by("id")[:2]
    complete(first)
    lifecycle.finish(start(second), RunState.FAILED, "x")
    body = client.get(f"{JOBS}/{job.pk}").json()
    assert list(body)[: len(SUMMARY)] == SUMMARY
    assert (body["state"], body["share_ended"]) == ("waiting", pytest.approx(2 / 9))
    assert body["runs"]["done"] == body["runs"]["failed"] == 1
    assert body["remaining_s"] is not None
    assert body["confirm"] == "lun0"
    assert [point["run"] for point in body["drift"]] == [first.pk] * 6
    assert body["drift"][0]["change_percent"] == 0
    assert [run["state"] for run in body["planned"]][:3] == ["done", "failed", "queued"]
    run = client.get(f"/api/v1/runs/{first.pk}").json()
    assert (run["sweep"], run["reference"], run["retry_of"]) == (job.pk, True, None)


def test_the_list_is_open_and_pages(client, post, job, django_assert_num_queries) -> None:
    with django_assert_num_queries(3):
        body = client.get(JOBS).json()
    assert (body["total"], [row["id"] for row in body["jobs"]]) == (1, [job.pk])
    assert client.get(f"{JOBS}?offset=1").json()["jobs"] == []


def test_the_old_name_answers_the_same(client, post, job) -> None:
    now, former = (client.get(f"/api/v1/{name}").json() for name in ("jobs", "sweeps"))
    assert former.pop("sweeps") == now.pop("jobs")
    assert former == now
    jobs = [client.get(f"/api/v1/{name}/{job.pk}").content for name in ("jobs", "sweeps")]
    assert jobs[0] == jobs[1]


def test_a_job_is_steered(client, post, job) -> None:
    path = f"/{job.pk}"
    paused = post(f"{path}/pause").json()
    assert (paused["state"], paused["paused_at"] is not None) == ("paused", True)
    assert post(f"{path}/resume").json()["state"] == "waiting"
    assert post(f"{path}/priority", {"priority": 4}).json()["priority"] == 4
    assert messages(post(f"{path}/priority", {"priority": 40}))["priority"]
    assert post(f"{path}/priority", {"priority": "4"}).status_code == 422
    start(job.runs.order_by("id")[0])
    body = post(f"{path}/cancel").json()
    assert (body["cancelled_now"], body["asked_to_stop"], body["state"]) == (8, 1, "running")


def test_failed_runs_are_submitted_again(client, post, job, alice: User) -> None:
    path = f"/{job.pk}/retry"
    first, second = job.runs.order_by("id")[:2]
    lifecycle.finish(start(first), RunState.FAILED, "x")
    lifecycle.cancel(second.pk, "alice")
    assert "does not match" in messages(post(path, {"confirm": "x"}))["confirm"]
    (retry,) = post(path, {"confirm": "lun0"}).json()["runs"]
    assert (retry["retry_of"], retry["state"], retry["reference"]) == (first.pk, "queued", True)
    assert post(path, {"confirm": "lun0"}).json() == {"runs": []}
    body = {"confirm": "lun0", "states": ["cancelled"]}
    assert [run["retry_of"] for run in post(path, body).json()["runs"]] == [second.pk]
    assert post(path, {"confirm": "lun0", "states": ["done"]}).status_code == 422


@pytest.mark.parametrize("act", ["", "/pause", "/resume", "/cancel", "/retry", "/priority"])
def test_a_job_that_is_not_there(client, post, act) -> None:
    body = {"priority": 1}
    response = post(f"/4711{act}", body) if act == "/priority" else None
    response = response or (post(f"/4711{act}") if act else client.get(f"{JOBS}/4711"))
    assert response.status_code == 404
    assert "There is no job 4711" in response.json()["detail"]


def test_a_race_says_where_it_stands(
    post: Callable[..., Any], document: dict[str, Any], client: Client
) -> None:
    del document["repeats"], document["reference"]
    race_document = document | {"race": {"runs": 40, "test": "read"}}
    created = post("", {"document": race_document, "confirm": "lun0"}).json()
    race = client.get(f"{JOBS}/{created['id']}").json()["race"]
    assert (race["phase"], race["leader"], race["blocks"]) == ("halving", None, 0)
    assert (race["test"], race["category"], race["budget_runs"]) == ("read", "total_average", 40)
    for run, value in zip(Run.objects.order_by("id"), (900.0, 300.0, 1000.0), strict=True):
        complete(run, value)
    race = client.get(f"{JOBS}/{created['id']}").json()["race"]
    by_name = {contender["configuration"]: contender for contender in race["contenders"]}
    assert len(by_name) == 3
    assert by_name[race["leader"]]["state"] == "leading"
    assert sorted(contender["ratio"] or 0 for contender in by_name.values()) == pytest.approx(
        [0, 0.3, 0.9]
    )
    assert {contender["ratio_low"] for contender in by_name.values()} == {None}
    assert race["status"] is None
    assert Run.objects.filter(state=RunState.QUEUED).count() == 3


def test_a_job_without_a_race_says_so(job: Job, client: Client) -> None:
    assert client.get(f"{JOBS}/{job.pk}").json()["race"] is None
