from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from fsbench_web.accounts.models import AuditEntry
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement
from fsbench_web.studies.models import LogLine, Run, RunState, Score, Study
from fsbench_web.studies.runs import lifecycle
from tests.api.conftest import MIB, JobBody, MakeRun, announced

RUNS = "/api/v1/runs"
SUMMARY = [
    "id",
    "study",
    "configuration",
    "workload",
    "lun",
    "journal",
    "stack",
    "worker",
    "repeat",
    "block",
    "job",
    "sweep",
    "reference",
    "tracing",
    "retry_of",
    "retried_as",
    "rerun",
    "contended",
    "preparation",
    "machine",
    "emulated",
    "origin",
    "state",
    "reason",
    "cause",
    "phase",
    "progress",
    "remaining_s",
    "cancel_requested",
    "created_at",
    "started_at",
    "ended_at",
    "date",
    "date_is_of",
    "date_source",
    "links",
]


def send(client: Client, body: object, **headers: str):
    return client.post(RUNS, body, content_type="application/json", headers=headers)


def test_it_queues_a_job(writer: Client, lun: Lun, job: JobBody, alice: User) -> None:
    response = send(writer, job)
    assert response.status_code == 201, response.content
    body = response.json()
    assert list(body) == ["study", "runs"]
    assert body["study"] == "array-test"
    labels = [(run["configuration"]["label"], run["repeat"]) for run in body["runs"]]
    assert labels == [
        ("ext4_noatime_none", 1),
        ("xfs_ag4_none", 1),
        ("ext4_noatime_none", 2),
        ("xfs_ag4_none", 2),
    ]
    assert all(list(run) == SUMMARY and run["state"] == "queued" for run in body["runs"])
    assert set(Run.objects.values_list("pk", "created_by")) == {
        (run["id"], alice.pk) for run in body["runs"]
    }


@pytest.fixture
def log(lun: Lun) -> Lun:
    """A LUN of the same worker that may keep journals."""
    row = LunAnnouncement("log0", "journal", "sparse-file", "/dev/loop8", 128 * MIB)
    return announced("bench-1", "lun0", row).worker.luns.get(name="log0")


def test_a_journal_on_another_lun_is_confirmed_with_it(
    writer: Client, log: Lun, job: JobBody
) -> None:
    for configuration in job["configurations"]:
        configuration["journal"] = "log0"
    refused = send(writer, job)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["field"] == "confirm"
    assert 'type the names of the LUNs, "lun0 log0"' in error["message"]
    assert not Run.objects.exists()

    response = send(writer, job | {"confirm": "lun0 log0", "repeats": 1})
    assert response.status_code == 201, response.content
    first, second = response.json()["runs"]
    assert [first["configuration"]["label"], second["configuration"]["label"]] == [
        "ext4_noatime_none_xj",
        "xfs_ag4_none_xj",
    ]
    assert (first["lun"], first["journal"]) == ("lun0", "log0")
    assert first["configuration"]["external_journal"] is True


def test_a_stack_names_the_other_luns_and_is_answered_with_them(
    writer: Client, job: JobBody
) -> None:
    second = LunAnnouncement("lun1", "data", "sparse-file", "/dev/loop8", 8 * 1024 * MIB)
    worker = announced("bench-1", "lun0", second).worker
    worker.capabilities["filesystems"]["btrfs"] = {"usable": True, "reason": ""}
    worker.save()
    stacked = {"filesystem": "btrfs", "scheduler": "none", "stack": {"luns": ["lun1"]}}
    body = job | {"configurations": [stacked], "confirm": "lun0 lun1", "repeats": 1}
    (run,) = send(writer, body).json()["runs"]
    assert run["stack"] == [{"role": "data", "lun": "lun1"}]
    assert run["configuration"]["stack"] == {"data": 2}
    assert run["configuration"]["label"] == "btrfs_2luns_none"
    (listed,) = writer.get("/api/v1/runs?lun=lun1").json()["runs"]
    assert listed["id"] == run["id"]
    refused = send(writer, body | {"configurations": [stacked | {"stack": {"disks": ["lun1"]}}]})
    assert refused.status_code == 422


@pytest.mark.parametrize(
    ("filesystem", "journal", "words"),
    [
        ("ext4", "lun0", "lun0 is a LUN for data"),
        ("ext4", "sda", 'has no LUN "sda" for journals: choose one of log0'),
        ("ext4", "../log0", 'has no LUN "../log0" for journals'),
    ],
)
def test_a_journal_that_cannot_be_is_refused(
    writer: Client, log: Lun, job: JobBody, filesystem: str, journal: str, words: str
) -> None:
    job["configurations"] = [
        {"filesystem": filesystem, "journal": journal, "scheduler": "none"},
    ]
    refused = send(writer, job | {"confirm": f"lun0 {journal}"})
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["field"] == "configurations"
    assert words in error["message"]


def test_a_study_that_exists_is_joined_by_slug_or_title(
    writer: Client, lun: Lun, job: JobBody
) -> None:
    send(writer, job)
    for name in ("array-test", "Array test"):
        assert send(writer, job | {"study": name}).status_code == 201
    assert Study.objects.count() == 1
    assert Run.objects.count() == 12


def test_the_same_idempotency_key_makes_nothing_new(writer: Client, lun: Lun, job: JobBody) -> None:
    first = send(writer, job, **{"Idempotency-Key": "a"}).json()
    again = send(writer, job, **{"Idempotency-Key": "a"})
    assert again.status_code == 201
    assert again.json() == first
    assert Run.objects.count() == 4
    send(writer, job, **{"Idempotency-Key": "b"})
    assert Run.objects.count() == 8


def test_all_problems_are_told_at_once(writer: Client, lun: Lun, job: JobBody) -> None:
    job["configurations"][0]["options"] = {"atime": "; rm -rf /"}
    job |= {"confirm": "lun1", "repeats": 0, "workload": "sleep"}
    response = send(writer, job)
    assert response.status_code == 422
    errors = response.json()["errors"]
    assert {error["field"] for error in errors} == {
        "configurations",
        "confirm",
        "repeats",
        "workload",
    }
    assert all(error["message"].endswith(".") for error in errors)
    assert not Run.objects.exists()
    assert not Study.objects.exists()


def test_it_takes_preparation_and_repeats_until_sure(
    writer: Client, lun: Lun, job: JobBody, client: Client
) -> None:
    job |= {
        "until": {"half_width_percent": 2.5, "least": 3, "most": 7},
        "preparation": {"precondition": True, "fill_percent": 20},
    }
    response = send(writer, job)
    assert response.status_code == 201, response.content
    runs = response.json()["runs"]
    assert len(runs) == 6
    assert runs[0]["preparation"] == {"precondition": True, "fill_percent": 20}
    assert client.get(f"{RUNS}/{runs[0]['id']}").json()["repeat_rule"] == {
        "half_width_percent": 2.5,
        "least": 3,
        "most": 7,
        "stop_reason": "",
    }


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"preparation": {"discard": True}}, "preparation", "takes no discard"),
        ({"preparation": {"fill_percent": 91}}, "body.job.preparation.fill_percent", "90"),
        ({"preparation": {"discard": "yes"}}, "body.job.preparation.discard", "boolean"),
        ({"preparation": {"format": True}}, "body.job.preparation.format", "not permitted"),
        ({"until": {"half_width_percent": 5, "least": 1}}, "repeats", "one has no interval"),
        ({"until": {"half_width_percent": 5, "least": 6, "most": 5}}, "repeats", "not less"),
        ({"until": {"half_width_percent": 0}}, "repeats", "0.1 to 50 percent"),
        ({"race": {"hours": 0}}, "race", "0.05 to 240 hours"),
    ],
)
def test_a_method_that_cannot_be_is_refused(
    writer: Client, lun: Lun, job: JobBody, change: dict[str, object], field: str, words: str
) -> None:
    response = send(writer, job | change)
    assert response.status_code == 422
    (error,) = response.json()["errors"]
    assert error["field"].removeprefix("body.job.") == field.removeprefix("body.job.")
    assert words in error["message"]
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"confirm": ""}, "confirm"),
        ({"confirm": "LUN0"}, "confirm"),
        ({"lun": "sda"}, "lun"),
        ({"lun": "../../dev/sda"}, "lun"),
        ({"worker": "elsewhere"}, "lun"),
        ({"configurations": []}, "configurations"),
        ({"configurations": [{"filesystem": "jfs"}]}, "configurations"),
        ({"configurations": [{"filesystem": "ext4", "scheduler": "cfq"}]}, "configurations"),
        ({"parameters": {"maximum_file_kb": 3}}, "workload"),
        ({"parameters": {"maximum_file_kb": 10**400}}, "workload"),
        ({"parameters": {"command": 1}}, "workload"),
        ({"parameters": {"maximum_file_kb": "1024"}}, None),
        ({"parameters": {"maximum_file_kb": 1.5}}, None),
        ({"repeats": 21}, "repeats"),
        ({"repeats": 10**30}, "repeats"),
        ({"repeats": "2"}, "repeats"),
        ({"repeats": True}, "repeats"),
        ({"study": ""}, "study"),
        ({"study": "!!!"}, "study"),
        ({"study": "x" * 5000}, "study"),
        ({"sheduler": "none"}, "sheduler"),
        ({"study": "a\x00b"}, None),
        ({"lun": "a\x00b"}, None),
        ({"lun": "\ud800"}, None),
        ({"configurations": [{"filesystem": "ext4", "options": {"a\x00": "b"}}]}, None),
        ({"configurations": "ext4"}, "configurations"),
        ({"configurations": [{"filesystem": "ext4", "scheduler": "none"}] * 401}, "configurations"),
    ],
)
def test_it_refuses_a_bad_job(
    writer: Client, lun: Lun, job: JobBody, change: JobBody, field: str | None
) -> None:
    response = send(writer, job | change)
    assert response.status_code == 422, response.content
    body = response.json()
    assert body["detail"]
    if field:
        assert field in {error["field"] for error in body["errors"]}
    assert not Run.objects.exists()
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("", 422),
        ("{", 400),
        ("null", 422),
        ("[]", 422),
        ('"text"', 422),
        ("[" * 100_000, 400),
        ('{"repeats": NaN}', 422),
        ("9" * 5000, 400),
        (b"\xff\xfe", 400),
    ],
)
def test_it_refuses_bad_json(writer: Client, lun: Lun, body: str | bytes, status: int) -> None:
    response = writer.post(RUNS, body, content_type="application/json")
    assert response.status_code == status
    assert list(response.json()) == ["detail", "errors", "type", "title", "status"]


def test_a_study_that_only_shares_the_address_is_not_joined(
    writer: Client, lun: Lun, job: JobBody
) -> None:
    Study.objects.create(slug="1", title="測試 1")
    response = send(writer, job | {"study": "數據 1"})
    assert response.status_code == 422
    assert [error["field"] for error in response.json()["errors"]] == ["study"]
    assert not Run.objects.exists()


def test_a_published_study_takes_no_runs(
    writer: Client, lun: Lun, job: JobBody, published: None
) -> None:
    response = send(writer, job | {"study": "unisys-2005"})
    assert response.status_code == 422
    assert "published" in response.json()["detail"]


def test_a_silent_worker_is_named(writer: Client, lun: Lun, job: JobBody) -> None:
    Worker.objects.update(seen_at=timezone.now() - timedelta(hours=1))
    response = send(writer, job)
    assert response.status_code == 422
    assert "heartbeat" in response.json()["detail"]


def test_a_lun_name_of_two_workers_needs_the_worker(writer: Client, lun: Lun, job: JobBody) -> None:
    other = announced("bench-2")
    refused = send(writer, job)
    assert refused.status_code == 422
    assert "bench-1, bench-2" in refused.json()["detail"]
    assert send(writer, job | {"worker": "bench-2"}).status_code == 201
    assert set(Run.objects.values_list("series__lun", flat=True)) == {other.pk}


def test_one_follows_a_run(client: Client, make_run: MakeRun, lun: Lun) -> None:
    run = make_run()
    handle = lifecycle.claim(run.pk, lun.worker)
    assert handle is not None
    lifecycle.advance(handle, RunState.RUNNING)
    lifecycle.heartbeat(handle, phase="write", progress=0.25, remaining_s=12.5)
    body = client.get(f"{RUNS}/{run.pk}").json()
    assert list(body)[: len(SUMMARY)] == SUMMARY
    assert (body["state"], body["phase"], body["progress"], body["remaining_s"]) == (
        "running",
        "write",
        0.25,
        12.5,
    )
    assert [change["state"] for change in body["changes"]] == ["leased", "running"]
    assert body["scores"] == []


def test_a_finished_run_shows_its_scores(client: Client, make_run: MakeRun) -> None:
    run = make_run(RunState.DONE)
    Score.objects.create(
        series=run.series,
        test="read",
        category="overall",
        value=1234.5678901,
        unit="score",
        repeats=1,
        cells=3,
        cells_expected=3,
    )
    (score,) = client.get(f"{RUNS}/{run.pk}").json()["scores"]
    assert score == {
        "test": "read",
        "category": "overall",
        "value": 1234.5678901,
        "unit": "score",
        "repeats": 1,
        "half_width": None,
        "half_width_percent": None,
        "interval": None,
        "cells": 3,
        "cells_expected": 3,
        "share": None,
        "flags": [],
        "run_value": None,
        "repeats_mean": None,
        "percent_from_mean": None,
    }


def test_a_single_run_has_the_interval_that_its_page_shows(
    client: Client, make_run: MakeRun
) -> None:
    run = make_run(RunState.DONE)
    of_samples = {"mean": 200.0, "half_width": 5.0, "count": 30, "of": "samples"}
    Score.objects.create(
        series=run.series,
        **{"test": "read", "category": "mean", "value": 200.0, "unit": "ops/s", "repeats": 1},
        interval=of_samples,
    )
    (score,) = client.get(f"{RUNS}/{run.pk}").json()["scores"]
    assert score["half_width_percent"] is None
    assert score["interval"] == of_samples
    assert "± 2.5%" in client.get(f"/runs/{run.pk}/").content.decode()


def test_a_failed_run_shows_no_scores(client: Client, make_run: MakeRun) -> None:
    run = make_run(RunState.FAILED, reason="mkfs failed.")
    Score.objects.create(series=run.series, test="read", category="overall", value=1, unit="score")
    body = client.get(f"{RUNS}/{run.pk}").json()
    assert body["scores"] == []
    assert body["reason"] == "mkfs failed."


def test_a_queued_run_is_cancelled_at_once(writer: Client, make_run: MakeRun) -> None:
    run = make_run()
    body = writer.post(f"{RUNS}/{run.pk}/cancel").json()
    assert body["state"] == "cancelled"
    assert "alice" in body["reason"]
    assert writer.post(f"{RUNS}/{run.pk}/cancel").status_code == 200
    # Once: the second call found nothing to cancel.
    assert AuditEntry.objects.get(what="run cancelled").detail == {"state": "cancelled"}


def test_an_active_run_is_asked_to_stop(writer: Client, make_run: MakeRun, lun: Lun) -> None:
    run = make_run()
    assert lifecycle.claim(run.pk, lun.worker) is not None
    body = writer.post(f"{RUNS}/{run.pk}/cancel").json()
    assert (body["state"], body["cancel_requested"]) == ("leased", True)


def test_a_run_that_ended_cannot_be_cancelled(writer: Client, make_run: MakeRun) -> None:
    run = make_run(RunState.DONE)
    response = writer.post(f"{RUNS}/{run.pk}/cancel")
    assert response.status_code == 409
    assert "ended as done" in response.json()["detail"]
    assert not AuditEntry.objects.filter(what="run cancelled").exists()


def test_cancelling_an_unknown_run_is_a_404(writer: Client) -> None:
    assert writer.post(f"{RUNS}/4711/cancel").status_code == 404


@pytest.fixture
def logged(make_run: MakeRun) -> Run:
    run = make_run(RunState.DONE)
    LogLine.objects.bulk_create(
        LogLine(run=run, at=timezone.now(), stream="stdout", text=f"line {n} <ü>") for n in range(5)
    )
    LogLine.objects.create(run=make_run(), at=timezone.now(), stream="stdout", text="another run")
    return run


def test_the_log_is_read_in_parts(client: Client, logged: Run) -> None:
    path = f"{RUNS}/{logged.pk}/log"
    texts, after, more = [], 0, True
    while more:
        body = client.get(f"{path}?limit=2&after={after}").json()
        assert list(body) == ["run", "state", "lines", "after", "more"]
        assert all(list(line) == ["id", "at", "stream", "text"] for line in body["lines"])
        texts += [line["text"] for line in body["lines"]]
        after, more = body["after"], body["more"]
    assert texts == [f"line {n} <ü>" for n in range(5)]
    assert client.get(f"{path}?after={after}").json()["lines"] == []
    assert client.get(f"{path}?after={after}").json()["after"] == after


def test_the_log_comes_as_text_when_asked(client: Client, logged: Run) -> None:
    path = f"{RUNS}/{logged.pk}/log"
    by_format = client.get(f"{path}?format=text")
    by_header = client.get(path, headers={"Accept": "text/plain"})
    assert by_format["Content-Type"] == "text/plain; charset=utf-8"
    assert by_format.content == by_header.content
    assert [line.split(" stdout ")[1] for line in by_format.content.decode().splitlines()] == [
        f"line {n} <ü>" for n in range(5)
    ]
    assert client.get(path, headers={"Accept": "*/*"})["Content-Type"].startswith(
        "application/json"
    )


@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", f"after={2**63}", "limit=0", "limit=10001", "format=xml"]
)
def test_the_log_refuses_odd_parameters(client: Client, logged: Run, query: str) -> None:
    assert client.get(f"{RUNS}/{logged.pk}/log?{query}").status_code == 422


def test_the_list_is_filtered_and_paged(client: Client, make_run: MakeRun) -> None:
    runs = [make_run(RunState.DONE), make_run(), make_run(study="other"), make_run()]
    everything = client.get(RUNS).json()
    assert (everything["total"], [run["id"] for run in everything["runs"]]) == (
        4,
        [run.pk for run in reversed(runs)],
    )
    page = client.get(f"{RUNS}?study=array-test&state=queued&limit=1&offset=1").json()
    assert (page["total"], [run["id"] for run in page["runs"]]) == (2, [runs[1].pk])
    both = client.get(f"{RUNS}?state=queued&state=done").json()
    assert both["total"] == 4
    assert client.get(f"{RUNS}?study=nope").status_code == 404
    assert client.get(f"{RUNS}?state=sleeping").status_code == 422
    assert client.get(f"{RUNS}?offset={2**63 - 1}").json()["runs"] == []


def test_the_number_of_queries_does_not_grow(
    client: Client, make_run: MakeRun, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for n in range(20):
        make_run(study=f"study-{n}")
    with django_assert_num_queries(3):
        client.get(RUNS)
    with django_assert_num_queries(5):
        client.get("/api/v1/studies")
    with django_assert_num_queries(6):
        client.get("/api/v1/studies/study-3")


def test_a_bare_name_is_answered_with_what_to_write(writer: Client, job: JobBody) -> None:
    response = send(writer, job | {"configurations": [{"filesystem": "ext4"}, "jfs"]})
    assert response.status_code == 422
    (problem,) = response.json()["errors"]
    assert problem["field"] == "configurations.1"
    assert 'write {"filesystem": "jfs"}' in problem["message"]
    assert not Run.objects.exists()


def test_it_takes_every_option_of_a_job(writer: Client, lun: Lun, job: JobBody) -> None:
    options = {"order": "random", "seed": 42, "priority": 3, "time_limit_s": 900, "run_again": 0}
    assert send(writer, job | options).status_code == 201
    stored = Run.objects.latest("id").job
    assert stored is not None
    assert (stored.priority, stored.time_limit_s, stored.run_again) == (3, 900, 0)
    assert (stored.document["order"], stored.document["seed"]) == ("random", 42)
    refused = send(writer, job | {"order": "random", "priority": 11, "time_limit_s": 1})
    assert refused.status_code == 422
    fields = {error["field"] for error in refused.json()["errors"]}
    assert fields == {"seed", "priority", "time_limit_s"}
