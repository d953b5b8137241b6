"""Containers that belong to no run that is going on are removed while the worker lives: its own."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import docker
import pytest
from docker.errors import NotFound

from fsbench_web.accounts.models import AuditEntry
from runner import leftovers
from runner.executors.docker import DockerExecutor
from runner.guests.executor import GuestExecutor
from runner.worker import Host

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]


@pytest.fixture
def client(
    docker_host: str, runner_image: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[docker.DockerClient]:
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    client = docker.from_env()
    yield client
    client.close()


@pytest.fixture
def container(client: docker.DockerClient, runner_image: str) -> Iterator[Callable[..., str]]:
    """Make one that was never started, as a run's is at first; gives its name."""
    with ExitStack() as stack:

        def make(**labels: str) -> str:
            values = {"site": "test", "worker": "host-one", "lun": "scratch", **labels}
            container = client.containers.create(
                runner_image, labels={f"fsbench.{key}": value for key, value in values.items()}
            )
            stack.callback(_remove, client, str(container.id))
            return str(container.name)

        yield make


def _remove(client: docker.DockerClient, container_id: str) -> None:
    with suppress(NotFound):
        client.api.remove_container(container_id, force=True)


def test_only_what_is_ours_and_of_no_run_that_goes_on(
    make_host: Callable[..., Host],
    client: docker.DockerClient,
    runner_image: str,
    container: Callable[..., str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    host = make_host(DockerExecutor(runner_image, "test"))
    others = {
        container(run="5"),  # goes on
        container(run="7", worker="host-two"),
        container(run="8", site="another"),
        container(),  # of no run: a probe, which removes itself
    }
    leftover = container(run="6")
    with host.carrying_out(5):
        assert leftovers.remove_leftovers(host) == [leftover]
        assert leftovers.remove_leftovers(host) == []
    names = {listed.name for listed in client.containers.list(all=True)}
    assert others <= names
    assert leftover not in names
    assert f"removed container {leftover}, which run 6 had left" in caplog.text
    entry = AuditEntry.objects.get(what="leftover removed")
    assert (entry.who, entry.detail) == ("worker:host-one", {"run": 6})


def test_a_daemon_that_is_away_is_asked_again_later(
    make_host: Callable[..., Host],
    runner_image: str,
    docker_host: str,
    container: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host = make_host(DockerExecutor(runner_image, "test"))
    leftover = container(run="6")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nosuch/docker.sock")
    host.executor = DockerExecutor(runner_image, "test")
    assert leftovers.remove_leftovers(host) == []
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    host.executor = DockerExecutor(runner_image, "test")
    assert leftovers.remove_leftovers(host) == [leftover]


def test_a_host_whose_runs_need_no_daemon_is_not_told_of_it_again_and_again(
    make_host: Callable[..., Host],
    runner_image: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nosuch/docker.sock")
    folder = tmp_path / "kernels"
    guests = GuestExecutor(runner_image, "test", folder=folder, cache=tmp_path / "cache")
    host = make_host(guests=guests)
    assert leftovers.remove_leftovers(host) == []
    assert "cannot be looked for" not in caplog.text
    host.executor = guests
    assert leftovers.remove_leftovers(host) == []
    assert "cannot be looked for" in caplog.text
