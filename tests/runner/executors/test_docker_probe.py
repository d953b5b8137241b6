"""The LUN is measured in a container as it is without one: fio, the agent and the device in it."""

from collections.abc import Callable

import pytest

from fsbench_web.core.scoring.ceilings import read_probe
from fsbench_web.studies.models import Job, LunProbe, Run, RunState
from runner.executors.docker import DockerExecutor
from runner.worker import Host

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]


def test_the_lun_is_measured_in_a_container(
    docker_host: str,
    runner_image: str,
    monkeypatch: pytest.MonkeyPatch,
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    host = make_host(DockerExecutor(runner_image, "test"))
    job = Job.objects.create(token="t", probe_s=1)
    run = submitted(host, job=job, scheduler="none")
    Run.objects.filter(pk=run.pk).update(block="job 1 block 1")
    carry_out(run, host)
    assert run.state == RunState.DONE, run.reason
    assert run.commands[0]["phase"] == "probe"
    probe = LunProbe.objects.get()
    assert run.probe == probe
    assert read_probe(probe.result).device_bytes == 400 * 2**20
