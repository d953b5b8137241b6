"""Small presets in containers: their programs are in the image, and find all they need there."""

from collections.abc import Callable

import pytest

from fsbench_web.core.workloads import presets
from fsbench_web.studies.models import Run, RunState
from runner.executors.docker import DockerExecutor
from runner.worker import Host
from tests.measured import measured

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]


@pytest.mark.parametrize(
    "slug",
    [
        *("random-access-small", "mongo-small", "kernel-build-small", "source-copy-small"),
        # Servers that refuse to be root, and a module that the smallest Python lacks.
        *("file-creation-small", "pgbench-small", "mariadb-small", "sqlite-small"),
    ],
)
def test_it_measures_in_a_container(
    slug: str,
    docker_host: str,
    runner_image: str,
    monkeypatch: pytest.MonkeyPatch,
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    host = make_host(DockerExecutor(runner_image, "test"))
    preset = presets()[slug]
    queued_run = submitted(
        host, "ext4", tool=preset.tool, parameters=dict(preset.parameters), scheduler="none"
    )
    run = carry_out(queued_run, host)
    assert run.state == RunState.DONE, run.reason
    values = {
        (value.test, value.load, value.record_size_kb, value.file_size_kb)
        for value in measured(run)
    }
    assert set(preset.workload().expected()) <= values
