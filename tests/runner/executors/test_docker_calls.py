"""What docs/security.md tells a filter before the daemon's socket to let through is enough."""

import re
from collections.abc import Callable
from pathlib import Path

import docker
import pytest
import requests
from django.conf import settings

from fsbench_web.studies.models import Run, RunState
from runner.executors.docker import DockerExecutor
from runner.worker import Host

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]


def allowed_calls() -> set[str]:
    """Of the row *a socket proxy*: ``GET /version``, ``PUT /containers/*/archive``."""
    text = (Path(settings.BASE_DIR) / "docs" / "security.md").read_text()
    (row,) = (line for line in text.splitlines() if line.startswith("| a socket proxy"))
    gives = row.split("|")[2].partition("No exec")[0]
    return set(re.findall(r"`((?:GET|POST|PUT|DELETE) /[^`]*)`", gives))


def test_a_run_makes_no_other_calls_than_a_filter_is_told_to_allow(
    docker_host: str,
    runner_image: str,
    monkeypatch: pytest.MonkeyPatch,
    make_host: Callable[..., Host],
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    calls = set()
    send = docker.APIClient.send

    def note(
        self: docker.APIClient, request: requests.PreparedRequest, **options: object
    ) -> requests.Response:
        path = re.sub(r"^/v[\d.]+", "", request.path_url.partition("?")[0])
        if path not in ("/containers/json", "/containers/create"):
            path = re.sub(r"^/(images/.+(?=/json)|containers/[^/]+)", _any, path)
        calls.add(f"{request.method} {path}")
        return send(self, request, **options)

    monkeypatch.setenv("DOCKER_HOST", docker_host)
    monkeypatch.setattr(docker.APIClient, "send", note)
    host = make_host(DockerExecutor(runner_image, "test"))
    run = carry_out(submitted(host, "ext4"), host)
    assert run.state == RunState.DONE, run.reason
    assert "PUT /containers/*/archive" in calls
    assert calls <= allowed_calls()


def _any(match: re.Match[str]) -> str:
    """The name of an image or a container as a star."""
    return f"/{match[1].partition('/')[0]}/*"
