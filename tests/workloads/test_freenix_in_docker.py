"""The FREENIX workloads in the container, where memory and processors can be limited."""

from collections.abc import Callable
from typing import Any

import docker
import pytest

from fsbench_web.studies.models import Run, RunState
from fsbench_web.workloads import presets
from runner.executors.docker import DockerExecutor
from runner.host import Host

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]

SHORT = {
    "pgmeter-small": {
        **dict.fromkeys(("sequential_read", "web_server", "file_server"), False),
        "outstanding": [4],
        "file_mb": 160,
        "memory_mb": 80,
    },
    "filemark-small": {"threads": [8], "memory_mb": 80},
    "multiuser-small": {},
}


@pytest.mark.parametrize("preset", SHORT)
def test_it_measures_within_its_limits(
    docker_host: str,
    runner_image: str,
    monkeypatch: pytest.MonkeyPatch,
    make_host: Callable[..., Host],
    order: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    preset: str,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    client = docker.from_env()
    host = make_host(DockerExecutor(runner_image, "test"))
    limits: list[dict[str, Any]] = []
    create = DockerExecutor._create

    def noting(*arguments: Any) -> Any:
        container = create(*arguments)
        limits.append(client.api.inspect_container(container.id)["HostConfig"])
        return container

    monkeypatch.setattr(DockerExecutor, "_create", noting)
    chosen = presets()[preset]
    run = order(
        host,
        "ext4",
        tool=chosen.tool,
        parameters={**chosen.parameters, **SHORT[preset]},
        scheduler="none",
    )
    run = carry_out(run, host)
    client.close()
    assert run.state == RunState.DONE, run.reason
    assert run.measurements.exclude(load="").exists()
    wanted = chosen.workload().limits()
    assert limits[0]["Memory"] == SHORT[preset].get("memory_mb", 0) * 2**20
    assert limits[0]["CpusetCpus"] == ("0-0" if wanted.cpus == 1 else "")
