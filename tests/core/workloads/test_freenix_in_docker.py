"""The FREENIX workloads on ext4 in the container, where memory and processors can be limited.

On XFS, without it: test_pgmeter.py, test_filemark.py, test_multiuser.py.
"""

from collections.abc import Callable
from typing import Any

import docker
import pytest

from fsbench_web.core.scoring.steady_state import WINDOW
from fsbench_web.core.workloads import presets
from fsbench_web.studies.models import Run
from runner.executors.docker import DockerExecutor
from runner.worker import Host
from tests.core.workloads.test_filemark import check_phases
from tests.core.workloads.test_multiuser import check_peak
from tests.core.workloads.test_pgmeter import ONE_TEST, check_samples

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]

# What is changed of each preset, and what its numbers have to be.
SHORT: dict[str, tuple[dict[str, Any], Callable[[Run], None]]] = {
    "pgmeter-small": (
        {**ONE_TEST, "outstanding": [4], "file_mb": 160, "memory_mb": 80},
        # As long as the preset says: enough to tell a steady state.
        lambda run: check_samples(run, {"iodepth=4,jobs=1"}, WINDOW, 6),
    ),
    "filemark-small": ({"threads": [8], "memory_mb": 80}, lambda run: check_phases(run, 8)),
    "multiuser-small": ({}, check_peak),
}


@pytest.mark.parametrize("preset", SHORT)
def test_it_measures_within_its_limits(
    docker_host: str,
    runner_image: str,
    monkeypatch: pytest.MonkeyPatch,
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
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
    changes, check = SHORT[preset]
    run = submitted(
        host,
        "ext4",
        tool=chosen.tool,
        parameters={**chosen.parameters, **changes},
        scheduler="none",
    )
    run = carry_out(run, host)
    client.close()
    check(run)
    workload_limits = chosen.workload().limits()
    assert limits[0]["Memory"] == changes.get("memory_mb", 0) * 2**20
    assert limits[0]["CpusetCpus"] == ("0" if workload_limits.cpus == 1 else "")
