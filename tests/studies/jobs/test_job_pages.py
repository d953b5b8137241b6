"""Submitting a job by form and by document, and its pages."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from fsbench_web.api.runs import jobs as job_api
from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.maintenance import set_drained
from fsbench_web.studies.jobs.documents import text as job_document
from fsbench_web.studies.jobs.lookup import spec_of
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Job, Run, RunState
from fsbench_web.studies.runs import control, lifecycle
from fsbench_web.studies.views import job as job_views
from tests.studies.conftest import complete, start

DOCUMENT = """
study: Journal modes
lun: disk1
configurations:
  - filesystem: [ext2, ext4]
    options: {journal_mode: [default, writeback]}
schedulers: [none, bfq]
workloads: [iozone-small]
repeats: 2
seed: 7
reference: {every: 4, configuration: {filesystem: xfs, schedulers: none}}
priority: 2
time_limit_s: 900
"""


@pytest.fixture
def signed_in(client: Client, ann: User, worker: Worker) -> Client:
    client.force_login(ann)
    return client


@pytest.fixture
def job(ann: User, worker: Worker) -> Job:
    """The job of DOCUMENT: 12 runs and 4 of the reference."""
    submit(spec_of(job_document.read(DOCUMENT)), "disk1", ann)
    return Job.objects.get()


def text_of(response) -> str:
    return response.content.decode()


class TestDocument:
    def test_it_is_reviewed_and_submits_nothing(self, signed_in):
        response = signed_in.post("/runs/new/document/", {"document": DOCUMENT})
        assert response.status_code == 200
        text = text_of(response)
        assert "16 runs on disk1" in text
        assert "Everything on disk1 will be erased, 16 times" in text
        assert "4 reference runs" in text
        assert 'seed <span class="mono">7</span>' in text
        assert "unknown: no run of this workload has finished yet" in text
        assert "ext2 journal_mode=writeback scheduler=bfq" in text
        assert "has no option &quot;journal_mode&quot;" in text
        assert "15 min for each whole run" in text
        assert not Run.objects.exists()

    def test_confirmed_it_makes_what_was_reviewed(self, signed_in):
        review = signed_in.post("/runs/new/document/", {"document": DOCUMENT})
        planned = [(run.configuration, run.is_reference) for run, _ in review.context["rows"]]
        sent = {
            "document": review.context["document_text"],
            "token": review.context["token"],
            "confirmation": "disk1",
        }
        response = signed_in.post("/runs/new/document/", sent)
        job = Job.objects.get()
        assert response["Location"] == f"/jobs/{job.pk}/"
        runs = job.runs.order_by("id").select_related("series__configuration")
        assert [(run.series.configuration.label, run.is_reference) for run in runs] == planned
        assert (job.priority, job.time_limit_s) == (2, 900)
        assert len(job.left_out) == 2
        signed_in.post("/runs/new/document/", sent)
        assert Run.objects.count() == 16

    def test_a_seed_that_was_not_given_is_the_same_in_review_and_job(self, signed_in):
        text = DOCUMENT.replace("seed: 7\n", "")
        review = signed_in.post("/runs/new/document/", {"document": text})
        seed = review.context["job"].seed
        assert f"seed: {seed}" in review.context["document_text"]
        signed_in.post(
            "/runs/new/document/",
            {"document": review.context["document_text"], "confirmation": "disk1", "token": "t"},
        )
        assert Job.objects.get().document["seed"] == seed

    def test_a_file_is_taken_too(self, signed_in):
        data = json.dumps(job_document.read(DOCUMENT)).encode()
        file = SimpleUploadedFile("job.json", data)
        response = signed_in.post("/runs/new/document/", {"file": file, "document": "x: 1"})
        assert response.status_code == 200
        assert "16 runs on disk1" in text_of(response)

    def test_a_file_that_is_too_large_is_not_read(self, signed_in):
        file = SimpleUploadedFile("job.yaml", b"a: 1\n" * 20_000)
        response = signed_in.post("/runs/new/document/", {"file": file})
        assert response.status_code == 422
        assert "larger than 64 KiB" in text_of(response)

    def test_every_problem_is_shown_with_its_place(self, signed_in):
        text = DOCUMENT.replace("writeback", "wb").replace("lun: disk1", "lun: disk9")
        text = text.replace("time_limit_s: 900", "time_limit_s: 1").replace(
            "priority: 2", "priority: 11"
        )
        response = signed_in.post("/runs/new/document/", {"document": text})
        assert response.status_code == 422
        page = text_of(response)
        for place in (
            "configurations[0].options.journal_mode[1]",
            "lun",
            "priority",
            "time_limit_s",
        ):
            assert f"<code>{place}</code>" in page
        assert "journal_mode: [default, wb]" in page  # what was typed stays

    def test_what_depends_on_the_lun_has_its_place_too(self, signed_in):
        text = DOCUMENT.replace("schedulers: [none, bfq]", "schedulers: [none, kyber]")
        text = text.replace("[ext2, ext4]", "[ext4, btrfs]").replace(
            "workloads: [iozone-small]",
            "workloads: [{name: nothing}, {name: iozone-small, parameters: {maximum_file_kb: 3}}]",
        )
        response = signed_in.post("/runs/new/document/", {"document": text})
        assert response.status_code == 422
        places = {place for place, _ in response.context["problems"]}
        assert places == {
            *("schedulers[1]", "configurations[0].filesystem[1]", "workloads[0]", "workloads[1]"),
        }

    def test_a_wrong_confirmation_submits_nothing(self, signed_in):
        sent = {"document": DOCUMENT, "token": "t", "confirmation": "disk2"}
        response = signed_in.post("/runs/new/document/", sent)
        assert response.status_code == 422
        assert "does not match" in text_of(response)
        assert not Run.objects.exists()

    @pytest.mark.parametrize(
        "document", ["", "a: *x", "[1", "\x00", "- a", '{"study": "\\u0000"}', "[" * 9000]
    )
    def test_what_cannot_be_read_is_said(self, signed_in, document):
        response = signed_in.post("/runs/new/document/", {"document": document})
        assert response.status_code == 422
        assert "fsbench submitted and erased nothing" in text_of(response)

    def test_the_example_can_be_submitted(self, signed_in, client):
        page = text_of(signed_in.get("/runs/new/document/"))
        example = page.split('id="example">')[1].split("</pre>")[0]
        response = signed_in.post("/runs/new/document/", {"document": example})
        assert response.status_code == 200, response.context["problems"]

    def test_it_needs_a_sign_in(self, client, worker):
        for response in (client.get("/runs/new/document/"), client.post("/runs/new/document/")):
            assert response.status_code == 302
            assert "sign-in" in response["Location"]


class TestDownload:
    def test_the_document_of_a_document_is_the_document(self, client, job):
        response = client.get(f"/jobs/{job.pk}/document.yaml")
        assert response["Content-Type"].startswith("application/yaml")
        assert f'filename="job-{job.pk}.yaml"' in response["Content-Disposition"]
        assert job_document.read(response.content) == job_document.read(DOCUMENT)

    def test_the_document_of_a_form_makes_the_same_runs(self, client, runs, ann):
        first = Job.objects.get()
        data = job_document.read(client.get(f"/jobs/{first.pk}/document.yaml").content)
        assert data["study"] == "First look"
        again = submit(spec_of(data), "disk1", ann)
        assert [run.series_id for run in again] == [run.series_id for run in runs]
        assert Job.objects.get(pk=again[0].job_id).document == first.document


class TestForm:
    QUERY = (
        ("lun", "LUN"),
        *(("fs", key) for key in ("ext4.1", "ext4.2", "xfs.1")),
        *(("ext4.2.journal_mode", "writeback"), ("scheduler", "none"), ("scheduler", "bfq")),
        *(("workload", "iozone-small"), ("workload", "iozone-direct"), ("repeats", "2")),
        *(("new_study", "By form"), ("order", "random"), ("reference", "ext4.2")),
        *(("reference_every", "6"), ("priority", "-2"), ("time_limit_s", "3600")),
    )

    def url(self, disk, **changes) -> str:
        pairs = [(k, str(disk.pk) if v == "LUN" else v) for k, v in self.QUERY if k not in changes]
        return "/runs/new/review/?" + urlencode(pairs + list(changes.items()))

    def test_everything_multiplies(self, signed_in, disk):
        response = signed_in.get(self.url(disk))
        assert response.status_code == 200
        text = text_of(response)
        # 3 file systems x 2 schedulers x 2 workloads x 2 repeats, and 24 / 6 + 1 references.
        assert "29 runs on disk1" in text
        assert "6 configurations, 2 workloads, 2 repeats, 5 reference runs" in text
        seed = response.context["job"].seed
        assert f"seed={seed}" in response.context["action_url"]
        response = signed_in.post(
            response.context["action_url"],
            {"confirmation": "disk1", "token": response.context["token"]},
        )
        job = Job.objects.get()
        assert response["Location"] == f"/jobs/{job.pk}/"
        assert job.document["seed"] == seed
        assert job.document["reference"]["configuration"]["options"] == {
            "journal_mode": "writeback"
        }
        assert (job.priority, job.time_limit_s) == (-2, 3600)

    def test_the_form_keeps_what_was_chosen(self, signed_in, disk):
        response = signed_in.get(self.url(disk).replace("/review", ""))
        text = text_of(response)
        for fragment in (
            'name="workload" value="iozone-direct" checked',
            '<option value="ext4.2" selected>',
            'name="priority" type="number" min="-10" max="10" step="1" value="-2"',
            'value="3600"',
        ):
            assert fragment in text, fragment

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"order": "sideways"}, "is not an order"),
            ({"seed": "x"}, "is not a whole number"),
            ({"seed": "99999999999"}, "needs a seed"),
            ({"reference": "hammer2.1"}, "hammer2"),
            ({"reference": "nothing"}, "is none of the configurations"),
            ({"reference_every": "x"}, "is not a whole number"),
            ({"reference_every": "0"}, "after every N runs"),
            ({"priority": "11"}, "from -10 to 10"),
            ({"priority": "high"}, "is not a whole number"),
            ({"time_limit_s": "5"}, "The time limit of a run is"),
            ({"workload": "nope"}, "There is no workload"),
        ],
    )
    def test_it_refuses(self, signed_in, disk, changes, message):
        response = signed_in.get(self.url(disk, **changes))
        assert response.status_code == 422
        assert message in text_of(response)

    def test_no_workload_is_no_job(self, signed_in, disk):
        pairs = [pair for pair in self.QUERY if pair[0] != "workload"]
        query = urlencode([(k, str(disk.pk) if v == "LUN" else v) for k, v in pairs])
        assert signed_in.get(f"/runs/new/review/?{query}").status_code == 200  # the usual one
        response = signed_in.get(f"/runs/new/review/?{query}&workload=")
        assert response.status_code == 422
        assert "Choose at least one workload" in text_of(response)


class TestPage:
    def test_it_shows_plan_progress_and_runs(self, client, job):
        complete(job.runs.order_by("id")[0])
        lifecycle.finish(start(job.runs.order_by("id")[1]), RunState.FAILED, "no <space> left")
        text = text_of(client.get(f"/jobs/{job.pk}/"))
        assert "2 of 16: 1 done, 1 failed or lost" in text
        assert "no &lt;space&gt; left" in text
        assert text.count(">reference</span>") == 5 - 1
        assert "seed: 7" in text
        assert "random within each repeat" in text
        assert "15 min for each whole run" in text
        assert "ext2 journal_mode=writeback" in text
        assert "Cancel all" not in text  # not signed in

    @pytest.mark.parametrize(
        ("module", "name", "address", "text"),
        [
            (job_views, "job_or_404", "/jobs/{}/", "1 running, 15 waiting"),
            (job_api, "_job_or_404", "/api/v1/sweeps/{}", '"waiting": 15, "running": 1'),
        ],
        ids=["page", "api"],
    )
    def test_what_a_worker_takes_meanwhile_is_counted(
        self, client, job, monkeypatch, module, name, address, text
    ):
        """Between the query of the counts and that of the runs which stand beside them."""
        read = getattr(module, name)

        def then_start(job_id: int) -> Job:
            counted = read(job_id)
            start(job.runs.order_by("pk")[0])
            return counted

        monkeypatch.setattr(module, name, then_start)
        assert text in client.get(address.format(job.pk)).content.decode()

    def test_the_end_is_estimated_once_enough_is_known(self, client, job):
        def take(run: Run, seconds: int) -> None:
            complete(run)
            now = timezone.now()
            Run.objects.filter(pk=run.pk).update(
                started_at=now - timedelta(seconds=seconds), ended_at=now
            )

        page = client.get(f"/jobs/{job.pk}/")
        assert page.context["progress"].ends_at is None
        assert "unknown until a run of this workload finishes" in text_of(page)
        first = job.runs.order_by("id")[0]
        assert first.is_reference
        take(first, 60)
        page = client.get(f"/jobs/{job.pk}/")
        # 15 runs like the one that is done.
        assert page.context["progress"].remaining.duration_s == pytest.approx(15 * 60, abs=1)
        assert "Estimated end" in text_of(page)
        control.pause(job.pk)
        page = client.get(f"/jobs/{job.pk}/")
        assert "Estimated end" not in text_of(page)
        assert "Paused since" in text_of(page)

    def test_it_says_why_nothing_starts(self, client, job, worker):
        """An end that is estimated while the worker takes nothing would be a promise."""
        complete(job.runs.order_by("id")[0])
        text = text_of(client.get(f"/jobs/{job.pk}/"))
        assert "Its runs wait" not in text
        assert "Estimated end" in text
        set_drained(worker, True, by="ann")
        text = text_of(client.get(f"/jobs/{job.pk}/"))
        assert f"Its runs wait. The worker {worker.name} was drained for maintenance" in text
        assert "Estimated end" not in text
        set_drained(worker, False, by="ann")
        Worker.objects.update(seen_at=timezone.now() - timedelta(hours=1))
        text = text_of(client.get(f"/jobs/{job.pk}/"))
        assert "has sent no heartbeat" in text
        assert "Estimated end" not in text

    def test_the_drift_of_the_reference_is_shown(self, client, job):
        page = client.get(f"/jobs/{job.pk}/")
        assert "No reference run has finished yet." in text_of(page)
        for run in job.runs.order_by("id"):
            complete(run, value=1000.0 if run.pk % 2 else 1000.0 - 10 * run.pk)
        page = client.get(f"/jobs/{job.pk}/")
        drift = page.context["drift"]
        references = list(job.runs.filter(is_reference=True).order_by("id"))
        assert [point.run_id for point in drift.points] == [run.pk for run in references]
        assert drift.category == "overall"
        assert set(drift.points[0].changes_percent) == {0.0}

        def value(run: Run) -> float:
            return 1000.0 if run.pk % 2 else 1000.0 - 10 * run.pk

        expected = [
            100 * (value(run) - value(references[0])) / value(references[0]) for run in references
        ]
        assert [point.changes_percent[0] for point in drift.points] == pytest.approx(expected)
        assert 'id="drift"' in text_of(page)

    def test_it_takes_a_constant_number_of_queries(
        self, client, job, ann, django_assert_num_queries
    ):
        for run in job.runs.order_by("id")[:6]:
            complete(run)
        # Four of them ask whether who submitted what waits still may.
        with django_assert_num_queries(16):
            client.get(f"/jobs/{job.pk}/")
        with django_assert_num_queries(3):
            client.get("/jobs/")
        for number in range(3):
            text = DOCUMENT.replace("Journal modes", f"Study {number}")
            submit(spec_of(job_document.read(text)), "disk1", ann)
        with django_assert_num_queries(3):
            client.get("/jobs/")

    def test_the_list_says_how_each_is(self, client, job):
        text = text_of(client.get("/jobs/"))
        assert "Journal modes" in text
        assert ">waiting</span>" in text
        control.pause(job.pk)
        assert ">paused</span>" in text_of(client.get("/jobs/"))
        control.resume(job.pk)
        control.cancel(job.pk, "ann")
        assert ">ended</span>" in text_of(client.get("/jobs/"))

    def test_an_empty_list_says_what_to_do(self, client, db):
        assert "No jobs yet." in text_of(client.get("/jobs/"))

    @pytest.mark.parametrize("path", ["", "document.yaml"])
    def test_a_job_that_is_not_there(self, client, db, path):
        response = client.get(f"/jobs/4711/{path}")
        assert response.status_code == 404
        assert "There is no job 4711." in text_of(response)

    def test_it_refreshes_by_itself_while_something_is_left(self, client, job):
        response = client.get(f"/jobs/{job.pk}/", headers={"HX-Request": "true"})
        parts = text_of(response)
        assert "<html" not in parts
        assert re.findall(r'id="([^"]+)" data-live-part', parts) == [
            "job-progress",
            "job-actions",
            "job-control",
            "job-drift",
        ]
        assert 'data-live-every="5"' in parts
        control.cancel(job.pk, "ann")
        assert "data-live-every" not in text_of(client.get(f"/jobs/{job.pk}/"))


class TestActions:
    @pytest.fixture
    def act(self, signed_in, job) -> Callable:
        def post(action: str, **values: str):
            return signed_in.post(f"/jobs/{job.pk}/{action}/", values, follow=True)

        return post

    def test_pause_and_resume(self, act, job):
        assert "is paused" in text_of(act("pause"))
        job.refresh_from_db()
        assert job.paused_at is not None
        assert "was paused already" in text_of(act("pause"))
        assert "goes on." in text_of(act("resume"))
        assert "was not paused" in text_of(act("resume"))

    def test_cancel(self, act, job):
        start(job.runs.order_by("id")[0])
        text = text_of(act("cancel"))
        assert "15 waiting runs cancelled. 1 running: the worker is asked to stop" in text

    def test_priority(self, act, job):
        assert "is -3." in text_of(act("priority", priority="-3"))
        job.refresh_from_db()
        assert job.priority == -3
        for wrong in ("", "x", "99", "1e3", "٣", "--1"):
            response = act("priority", priority=wrong)
            assert response.status_code == 422
            assert "Nothing was changed." in text_of(response)

    def test_retry(self, act, job):
        first, second = job.runs.order_by("id")[:2]
        lifecycle.finish(start(first), RunState.FAILED, "x")
        lifecycle.cancel(second.pk, "ann")
        assert "does not match" in text_of(act("retry", confirmation="disk2"))
        text = text_of(act("retry", confirmation="disk1"))
        assert "1 run submitted again." in text
        assert f'run <a href="/runs/{first.pk}/">{first.pk}</a> rerun' in text
        assert "There is nothing to submit again." in text_of(act("retry", confirmation="disk1"))
        assert "1 run submitted again." in text_of(
            act("retry", confirmation="disk1", cancelled="yes")
        )
        assert job.runs.count() == 18

    def test_one_run_is_tried_again_from_its_page(self, signed_in, job):
        run = job.runs.order_by("id")[0]
        assert "Rerun" not in text_of(signed_in.get(f"/runs/{run.pk}/"))
        lifecycle.finish(start(run), RunState.FAILED, "x")
        assert "Rerun" in text_of(signed_in.get(f"/runs/{run.pk}/"))
        response = signed_in.post(f"/runs/{run.pk}/retry/", {"confirmation": "x"}, follow=True)
        assert "does not match" in text_of(response)
        response = signed_in.post(f"/runs/{run.pk}/retry/", {"confirmation": "disk1"}, follow=True)
        assert f"is submitted again as run {Run.objects.latest('id').pk}" in text_of(response)
        text = text_of(signed_in.get(f"/runs/{run.pk}/"))
        assert "It was rerun as" in text
        assert "Rerun" not in text
        assert signed_in.post("/runs/4711/retry/").status_code == 404

    @pytest.mark.parametrize("action", ["pause", "resume", "cancel", "retry", "priority"])
    def test_it_needs_a_sign_in_and_a_post(self, client, job, ann, action):
        assert "sign-in" in client.post(f"/jobs/{job.pk}/{action}/")["Location"]
        client.force_login(ann)
        assert client.get(f"/jobs/{job.pk}/{action}/").status_code == 405
        sent = {"priority": "1", "confirmation": "x"}
        assert client.post(f"/jobs/4711/{action}/", sent).status_code == 404

    def test_a_waiting_run_of_a_paused_job_says_so(self, signed_in, job):
        control.pause(job.pk)
        run = job.runs.order_by("id")[0]
        assert "is paused. Resume it" in text_of(signed_in.get(f"/runs/{run.pk}/"))


def test_the_review_shows_what_is_run_around_the_benchmark(signed_in, disk):
    text = text_of(signed_in.get(TestForm().url(disk)))
    assert "sync -f /mnt/fsbench" in text
    assert set(re.findall(r'data-host-step="([a-z-]+)"', text)) == {
        *("scheduler", "drop-caches", "processors", "wipe-layers"),
    }
    assert "/proc/sys/vm/drop_caches" in text
