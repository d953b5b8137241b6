"""Scripts of deploy/ find the Docker Compose that is there; fake programs say which was called."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.services.image import ROOT

SCRIPTS = {
    "backup": ["{}/new.tar"],
    "restore": ["{}/kept.tar"],
    "restart-worker": [],
}
# What the scripts call beside it.
PROGRAMS = ("sh", "dirname", "hostname", "realpath", "mv", "rm", "cat")


class Machine:
    """A PATH with nothing but what is put there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.calls = folder, folder / "calls"
        self.bin = folder / "bin"
        self.bin.mkdir()
        (folder / "kept.tar").touch()
        for name in PROGRAMS:
            (self.bin / name).symlink_to(str(shutil.which(name)))

    def put(self, name: str, text: str) -> None:
        program = self.bin / name
        program.write_text(f'#!/bin/sh\necho "{name} $1 $2" >>"$CALLS"\n{text}\n')
        program.chmod(0o755)

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        arguments = [argument.format(self.folder) for argument in SCRIPTS[script]]
        return subprocess.run(
            [str(ROOT / "deploy" / script), *arguments],
            env={"PATH": str(self.bin), "CALLS": str(self.calls)} | variables,
            cwd=self.folder,
            capture_output=True,
            text=True,
        )

    def used(self) -> set[str]:
        """The first word or two of every call but those that ask for a version."""
        lines = self.calls.read_text().splitlines()
        return {
            " ".join(line.split()[: 1 + line.startswith("docker compose")])
            for line in lines
            if "version" not in line
        }


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_plugin_is_used_where_it_is(machine: Machine, script: str) -> None:
    machine.put("docker", '[ "$1" = compose ]')
    machine.put("docker-compose", "")
    done = machine.run(script)
    assert done.returncode == 0, done.stderr
    assert machine.used() == {"docker compose"}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("has_docker", [True, False])
def test_else_debians_program(machine: Machine, script: str, has_docker: bool) -> None:
    if has_docker:
        machine.put("docker", "exit 1")  # as without the plugin: no such command
    machine.put("docker-compose", "")
    done = machine.run(script)
    assert done.returncode == 0, done.stderr
    assert machine.used() == {"docker-compose"}


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_is_named_goes_before_both(machine: Machine, script: str) -> None:
    machine.put("docker", "")
    machine.put("podman-compose", "")
    done = machine.run(script, COMPOSE="podman-compose -p lab")
    assert done.returncode == 0, done.stderr
    assert machine.used() == {"podman-compose"}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("programs", [[], ["docker"], ["docker", "docker-compose"]])
def test_without_any_it_says_so_and_does_nothing(
    machine: Machine, script: str, programs: list[str]
) -> None:
    for name in programs:
        machine.put(name, "exit 1")  # Ubuntu 24.04's docker-compose does not start
    before = set(machine.folder.iterdir())
    done = machine.run(script)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    for words in (f"{script}: neither", '"docker compose"', '"docker-compose"', "COMPOSE="):
        assert words in done.stderr
    assert set(machine.folder.iterdir()) - {machine.calls} == before
