"""Several worker hosts, wrong clocks, TLS, and one that is cut off in mid-run."""

import contextlib
import json
import time
import urllib.error
import urllib.request
from datetime import timedelta
from urllib.parse import quote

import psycopg
import pytest
import redis as redis_client
from celery import Celery
from django.utils import timezone

from fsbench_web.catalog.workers import availability
from fsbench_web.studies.models import Lease, Run, RunState
from tests.crash.lab import FOR_MINUTES
from tests.hosts.lab import SILENT_AFTER_S, Hosts
from tests.hosts.secured import PASSWORD

pytestmark = [pytest.mark.postgres, pytest.mark.redis, pytest.mark.root]
CUT, OTHERS = 1, (0, 2)
# Of the clocks themselves, which are an hour apart; the machine may be slow.
CLOSE = timedelta(seconds=20)


def test_the_services_take_nobody_without_tls_and_password(hosts: Hosts) -> None:
    address, port = hosts.network.address, hosts.redis.port
    password = quote(PASSWORD, safe="")
    for user, options in ((f"fsbench:{password}", "sslmode=disable"), ("fsbench:no", "")):
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(f"postgresql://{user}@{address}/shared?{options}")
    with pytest.raises(redis_client.ConnectionError):
        redis_client.Redis(host=address, port=port, password=PASSWORD).ping()
    with pytest.raises(redis_client.AuthenticationError):
        redis_client.Redis(host=address, port=port, ssl=True, ssl_cert_reqs="none").ping()
    with psycopg.connect(hosts.postgres.url) as admin:
        unencrypted = admin.execute(
            "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) "
            "WHERE NOT ssl AND client_addr IS NOT NULL"
        ).fetchone()
    assert unencrypted == (0,)


def test_every_host_shows_its_lun_and_answers_its_own_queue(hosts: Hosts) -> None:
    service, address = hosts.web()
    try:

        def answers() -> list[str]:
            try:
                with urllib.request.urlopen(f"{address}/api/v1/health", timeout=60) as answer:
                    return list(json.load(answer)["workers"])
            except urllib.error.HTTPError:
                return []

        hosts.wait_until(lambda: len(answers()) == len(hosts.names))
        assert answers() == sorted(f"fsbench@{name}" for name in hosts.names)
        with urllib.request.urlopen(f"{address}/luns/") as page:
            text = page.read().decode()
        request = urllib.request.Request(
            f"{address}/metrics", headers={"Authorization": "Bearer the-scraper-of-the-tests"}
        )
        with urllib.request.urlopen(request) as page:
            metrics = page.read().decode()
    finally:
        service.stop()
    for name in hosts.names:
        assert name in text
        assert f'fsbench_lun_usable{{lun="disk",worker="{name}"}} 1.0' in metrics
        assert f'fsbench_worker_up{{worker="{name}"}} 1.0' in metrics


def test_wrong_clocks_write_right_times(hosts: Hosts) -> None:
    before = timezone.now() - CLOSE
    runs = [hosts.submit(index) for index in range(len(hosts.names))]
    for run in runs:
        hosts.wait_for(run, RunState.DONE)
    after = timezone.now() + CLOSE
    for index, run in enumerate(runs):
        assert run.series.lun.worker.name == hosts.names[index]
        times = [run.started_at, run.ended_at]
        times += run.changes.values_list("at", flat=True)
        times += run.log_lines.values_list("at", flat=True)
        assert len(times) > 8
        assert all(before < at < after for at in times), hosts.names[index]
        assert 0 < run.took_s < 60
        assert not run.is_contended
        worker = hosts.worker(index)
        assert before < worker.seen_at < after
        assert availability.is_alive(worker)


def test_monitors_hear_what_happens_to_messages(hosts: Hosts) -> None:
    monitor, heard = Celery("monitor", broker=hosts.redis.shared_url), []
    with monitor.connection_for_read() as broker:
        receiver = monitor.events.Receiver(broker, handlers={"*": heard.append})
        # It listens on a copy of the connection that it was given: draining that one hears nothing.
        with receiver.consumer_context() as (connection, _, _):

            def has_heard(kind: str) -> bool:
                with contextlib.suppress(TimeoutError):
                    connection.drain_events(timeout=0.5)
                return any(event["type"] == kind for event in heard)

            # Redis keeps nothing for who is not listening yet: a short run would go by unheard.
            hosts.wait_until(lambda: has_heard("worker-heartbeat"))
            run = hosts.submit(0)
            hosts.wait_until(lambda: has_heard("task-succeeded"))
    mine = [event for event in heard if event.get("hostname") == f"fsbench@{hosts.names[0]}"]
    tasks = {event["type"]: event for event in mine if event["type"].startswith("task-")}
    assert tasks.keys() >= {"task-received", "task-started", "task-succeeded"}
    assert tasks["task-received"]["name"] == "runner.execute"
    assert tasks["task-received"]["args"] == f"[{run.pk}]"
    assert len({event["uuid"] for event in tasks.values()}) == 1
    assert {event["hostname"] for event in heard if event["type"] == "worker-heartbeat"} <= {
        f"fsbench@{name}" for name in hosts.names
    }
    hosts.wait_for(run, RunState.DONE)


def test_a_host_that_is_cut_off_stops_in_time_and_comes_back(hosts: Hosts) -> None:
    cut = hosts.submit(CUT, **FOR_MINUTES)
    hosts.wait_for(cut, RunState.RUNNING)
    hosts.wait_until(lambda: any("iozone" in command for command in hosts.at_work(CUT)))
    token = Lease.objects.get(run=cut).token
    others = [hosts.submit(index) for index in OTHERS for _ in range(2)]

    hosts.network.cut(CUT)
    began = time.monotonic()
    hosts.wait_until(lambda: not hosts.at_work(CUT), SILENT_AFTER_S + 5)
    assert time.monotonic() - began <= SILENT_AFTER_S, "it touched its LUN after its lease"
    hosts.wait_for(cut, RunState.LOST)
    assert time.monotonic() - began < SILENT_AFTER_S + 6
    assert "sent no heartbeat" in cut.reason
    assert not Lease.objects.exclude(lun=None).filter(run=cut).exists()
    for run in others:
        hosts.wait_for(run, RunState.DONE)
    cut.refresh_from_db()
    outcome = (cut.state, cut.reason, cut.ended_at, cut.log_lines.count(), cut.artefacts.count())
    # Its last heartbeat may be younger than its lease.
    hosts.wait_until(lambda: not availability.is_alive(hosts.worker(CUT)), SILENT_AFTER_S)

    following = hosts.submit(CUT)
    hosts.network.heal(CUT)
    hosts.wait_for(following, RunState.DONE)
    # Its next heartbeat may come after a run of a second.
    hosts.wait_until(lambda: availability.is_alive(hosts.worker(CUT)))
    cut = Run.objects.get(pk=cut.pk)
    assert outcome == (
        cut.state,
        cut.reason,
        cut.ended_at,
        cut.log_lines.count(),
        cut.artefacts.count(),
    )
    assert not cut.measurement_blocks.exists()
    assert following.measurement_blocks.exists()
    assert Lease.objects.get(lun=cut.series.lun_id).token == token + 1
    assert Run.objects.filter(state=RunState.LOST).count() == 1


def test_every_line_of_the_workers_is_json_and_tells_no_secret(hosts: Hosts) -> None:
    """Including those that were written while the database could not be reached."""
    run = Run.objects.filter(state=RunState.LOST).get()
    for index, worker in enumerate(hosts.workers):
        text = worker.log.read_text()
        assert PASSWORD not in text
        assert quote(PASSWORD, safe="") not in text
        lines = [json.loads(line) for line in text.splitlines()]
        assert {line["service"] for line in lines} == {"worker"}
        assert {line["worker"] for line in lines} == {hosts.names[index]}
        if index == CUT:
            about = [line for line in lines if line.get("run") == run.pk]
            assert any("lost its lease" in line["message"] for line in about)
            assert all("lease" in line for line in about if "begins" in line["message"])
