"""What docs/settings.md offers reaches the containers of docker-compose.yml from .env."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
# The compose file decides these by itself, and the document says so.
DECIDED = {
    *("FSBENCH_DATA", "FSBENCH_STATIC", "HOST", "PORT", "DATABASE_URL", "CELERY_BROKER_URL"),
    *("FSBENCH_DEBUG", "FSBENCH_LUNS", "FSBENCH_EXECUTOR", "FSBENCH_INSTALL", "DOCKER_HOST"),
}
OF_NO_CONTAINER = ("Uploading from elsewhere", "Docker Compose", "Building the benchmark image")
OF_THE_WORKER = "Workers"


def documented() -> dict[str, str]:
    """The variables that processes of a site read, and the heading that each stands under."""
    heading, found = "", {}
    for line in (ROOT / "docs/settings.md").read_text().splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif match := re.match(r"\| `([A-Z][A-Z_0-9]+)`", line):
            found[match[1]] = heading
    return {
        name: heading
        for name, heading in found.items()
        if heading not in OF_NO_CONTAINER and name not in DECIDED
    }


@pytest.mark.parametrize("service", ["migrate", "web", "worker"])
def test_every_setting_reaches_it(service: str) -> None:
    """One that does not is ignored without a word, also one that closes something."""
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    given = services[service]["environment"]
    names = {
        name
        for name, heading in documented().items()
        if service == "worker" or heading != OF_THE_WORKER
    }
    assert {"FSBENCH_OIDC_ISSUER", "FSBENCH_PASSWORD_SIGN_IN", "FSBENCH_EMAIL_URL"} <= names
    assert {name for name in names if f"${{{name}:-" not in given.get(name, "")} == {
        "FSBENCH_SECRET_KEY"  # which is refused where it is missing (:?)
    }
