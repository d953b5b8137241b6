"""Runs that were active at the same time on one host mark each other."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.scores import ingest
from tests.studies.conftest import GB, complete, start, worker_announcement

MakeSpec = Callable[..., JobSpec]


@pytest.fixture
def on(spec: MakeSpec, ann: User) -> Callable[[Lun], Run]:
    """``on(lun)``: a queued run there."""

    def make(lun: Lun) -> Run:
        request = spec(
            lun_id=lun.pk,
            configurations=(ConfigurationSpec("ext4", {}, "none"),),
            repeats=1,
            new_study=f"On {lun.name} of {lun.worker.name}",
        )
        return submit(request, lun.name, ann)[0]

    return make


@pytest.fixture
def second(worker: Worker) -> Lun:
    Lun.objects.filter(worker=worker, name="small1").update(size_bytes=20 * GB)
    return worker.luns.get(name="small1")


def finish(handle: lifecycle.LeaseHandle) -> Run:
    lifecycle.finish(handle, RunState.DONE, "")
    return Run.objects.get(pk=handle.run_id)


def test_two_at_once_mark_each_other(on: Callable[[Lun], Run], disk: Lun, second: Lun) -> None:
    run, other = on(disk), on(second)
    first, later = start(run), start(other)
    for ended, meanwhile, lun in ((finish(first), other, second), (finish(later), run, disk)):
        assert ended.is_contended
        assert ended.conditions["others"] == [
            {"run": meanwhile.pk, "lun": lun.name, "same": "host"}
        ]


def test_one_after_the_other_does_not(on: Callable[[Lun], Run], disk: Lun, second: Lun) -> None:
    for run in (on(disk), on(second)):
        assert not finish(start(run)).is_contended


def test_a_run_that_only_waits_or_was_cancelled_does_not(
    on: Callable[[Lun], Run], disk: Lun, second: Lun
) -> None:
    waiting = on(second)
    handle = start(on(disk))
    lifecycle.cancel(waiting.pk, "ann")
    ended = finish(handle)
    assert not ended.is_contended
    assert ended.conditions["others"] == []


def test_another_host_does_not(on: Callable[[Lun], Run], disk: Lun) -> None:
    lun = LunAnnouncement("disk1", "data", "device", "/dev/sdx", 20 * GB, [], ["none"])
    other = announce(worker_announcement(name="lab2", luns=[lun]))
    handle = start(on(other.luns.get()))
    assert not finish(start(on(disk))).is_contended
    assert not finish(handle).is_contended


def test_a_lost_run_marks_too(on: Callable[[Lun], Run], disk: Lun, second: Lun) -> None:
    handle = start(on(disk))
    start(on(second))
    assert len(lifecycle.recover(disk.worker)) == 2
    assert Run.objects.get(pk=handle.run_id).is_contended


def test_scores_and_pages_say_so(
    on: Callable[[Lun], Run], disk: Lun, second: Lun, client: Client
) -> None:
    measured = on(disk)
    beside = start(on(second))
    complete(measured)
    finish(beside)
    scores = list(measured.series.scores.all())
    assert scores
    assert all(score.flags == ["contended"] for score in scores)
    html = client.get(f"/runs/{measured.pk}/").content.decode()
    assert "This repeat was contended." in html
    assert f'href="/runs/{beside.run_id}/"' in html
    assert "contended" in client.get("/runs/").content.decode()
    study = client.get(f"/studies/{measured.series.study.slug}/").content.decode()
    assert "Another run was active on the same host or controller" in study


def test_the_flag_goes_when_the_contended_repeat_does(
    on: Callable[[Lun], Run], disk: Lun, second: Lun
) -> None:
    measured = on(disk)
    start(on(second))
    complete(measured)
    Run.objects.filter(pk=measured.pk).update(is_contended=False)
    ingest.rescore(measured.series)
    assert not any(score.flags for score in measured.series.scores.all())
