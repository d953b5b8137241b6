"""/metrics: what it says, to whom, and at what price."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django.fixtures import Settings

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.operations import chores, metrics
from fsbench_web.operations.gauges import read_gauges
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import lifecycle
from tests.runner.conftest import write_run
from tests.studies.conftest import worker_announcement

pytestmark = pytest.mark.django_db
TOKEN = "a-token-for-the-scraper"


@pytest.fixture
def worker() -> Worker:
    return announce(worker_announcement())


@pytest.fixture
def run(worker: Worker) -> Run:
    return write_run(worker, lun="disk1")


class Samples(dict[tuple[str, frozenset[str]], float]):
    """Values by name and values of the labels, in any order."""

    def __missing__(self, key: tuple[str, frozenset[str] | tuple[str, ...]]) -> float:
        name, labels = key
        if isinstance(labels, frozenset):
            raise KeyError(key)
        return self[name, frozenset(labels)]

    def has(self, name: str, *labels: str) -> bool:
        return (name, frozenset(labels)) in self


def scrape(settings: Settings) -> Samples:
    settings.METRICS_TOKEN = TOKEN
    answer = Client().get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    return Samples(
        ((sample.name, frozenset(sample.labels.values())), sample.value)
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    )


def test_it_tells_queues_states_and_luns(run: Run, settings: Settings) -> None:
    name = run.series.lun.worker.name
    before = scrape(settings)
    assert before["fsbench_runs", ("queued",)] == 1
    assert before["fsbench_runs", ("lost",)] == 0
    assert before["fsbench_queue_length", (name,)] == 1
    assert before["fsbench_queue_oldest_seconds", (name,)] >= 0
    assert before["fsbench_worker_up", (name,)] == 1
    assert before["fsbench_lun_in_use", (name, "disk1")] == 0
    assert lifecycle.claim(run.pk, run.series.lun.worker) is not None
    Run.objects.update(started_at=timezone.now() - timedelta(minutes=5))
    after = scrape(settings)
    assert after["fsbench_runs", ("leased",)] == 1
    assert after["fsbench_queue_length", (name,)] == 0
    assert not after.has("fsbench_queue_oldest_seconds", name)
    assert after["fsbench_lun_in_use", (name, "disk1")] == 1
    assert 299 < after["fsbench_lun_busy_seconds_last_day", (name, "disk1")] < 360


def test_lun_use_counts_the_last_day_only(run: Run, settings: Settings) -> None:
    name, now = run.series.lun.worker.name, timezone.now()
    Run.objects.update(
        state=RunState.DONE,
        started_at=now - timedelta(hours=25),
        ended_at=now - timedelta(hours=23),
    )
    samples = scrape(settings)
    assert samples["fsbench_runs_ended_last_day", ("done",)] == 1
    assert samples["fsbench_lun_busy_seconds_last_day", (name, "disk1")] == pytest.approx(
        3600, abs=5
    )


def test_a_silent_worker_is_down(worker: Worker, settings: Settings) -> None:
    Worker.objects.update(seen_at=timezone.now() - timedelta(hours=1))
    samples = scrape(settings)
    assert samples["fsbench_worker_up", (worker.name,)] == 0
    assert samples["fsbench_worker_silent_seconds", (worker.name,)] == pytest.approx(3600, abs=5)


def test_chores_have_an_age(settings: Settings) -> None:
    chores.run_chore("Logs of ended runs", lambda: None)
    with pytest.raises(ValueError, match="full"):
        chores.run_chore("Snapshots", lambda: int("full"))
    samples = scrape(settings)
    assert samples["fsbench_chore_age_seconds", ("Logs of ended runs",)] < 5
    assert not samples.has("fsbench_chore_age_seconds", "Snapshots")


def test_requests_are_counted_by_the_name_of_their_address(settings: Settings) -> None:
    key = "fsbench_http_request_duration_seconds_count"
    before = scrape(settings)
    for number in range(5):
        Client().get(f"/runs/{number}/")
        Client().get(f"/no/such/page/{number}")
        Client().generic(f"METHOD{number}", "/studies/")
    after = scrape(settings)

    def grew(name: str, *labels: str) -> float:
        return after[name, labels] - (before[name, labels] if before.has(name, *labels) else 0)

    assert grew(key, "studies:run", "GET") == 5
    assert grew("fsbench_http_requests_total", "studies:run", "GET", "4xx") == 5
    assert grew(key, "none", "GET") == 5
    assert grew(key, "studies:list", "other") == 5
    assert not any("METHOD" in label or "/" in label for _, labels in after for label in labels)


def test_the_number_of_queries_does_not_grow(worker: Worker) -> None:
    write_run(worker, lun="disk1")
    with CaptureQueriesContext(connection) as few:
        read_gauges()
    for number in range(5):
        announce(worker_announcement(name=f"lab-{number}"))
        write_run(Worker.objects.get(name=f"lab-{number}"), lun="disk1")
    with CaptureQueriesContext(connection) as many:
        read_gauges()
    assert len(many) == len(few) == 10
    assert Lun.objects.count() > 5


def test_it_is_for_administrators_and_scrapers(settings: Settings) -> None:
    settings.METRICS_TOKEN = TOKEN
    for authorization in (
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong-token-of-some-sort",
        f"Basic {TOKEN}",
    ):
        answer = Client().get(
            "/metrics", headers={"authorization": authorization} if authorization else {}
        )
        assert answer.status_code == 401, authorization
        assert b"fsbench_runs" not in answer.content
    settings.METRICS_TOKEN = ""
    for authorization in ("Bearer ", f"Bearer {TOKEN}"):
        answer = Client().get("/metrics", headers={"authorization": authorization})
        assert answer.status_code == 401, "no token is set"
    person = Client()
    person.force_login(User.objects.create_user("ada"))
    assert person.get("/metrics").status_code == 401
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    assert root.get("/metrics").status_code == 200


def test_starting_up_reads_no_database() -> None:
    with CaptureQueriesContext(connection) as queries:
        list(metrics.FromDatabase().describe())
    assert len(queries) == 0
