"""The worker sets itself up: what it begins, when, how often, and what it says of that.

Installer and image builder are scripts of the test in a tree of its own; locks, processes, database
and (at the end) the Docker daemon and its images are real.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest
from django.conf import settings

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.studies.models import Run, RunState
from runner.config import OWN_IMAGE
from runner.execution import execute
from runner.executors.base import Capabilities
from runner.image import inputs
from runner.safety import locks
from runner.setup import setup as runner_setup
from runner.setup import setup_needs
from runner.setup.install_process import reason_in
from runner.setup.setup import RETRY_AFTER_S, Setup
from runner.worker import Host
from tests.runner.fake import FakeExecutor, all_capabilities

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.root]
ROOT = Path(settings.BASE_DIR)
SOON_S = 60

INSTALLER = """
import os, signal, sys
from pathlib import Path
here = Path(__file__).resolve().parent.parent
signal.signal(signal.SIGTERM, lambda *_: (here / "stopped").touch() or sys.exit(1))
with (here / "started").open("a") as log:
    print(os.getpid(), *sys.argv[1:], file=log)
said = (here / "go_on").open().read().strip()
if said == "fail":
    print("E: The mirror is away.")
    sys.exit(1)
program = here / "bin" / "postmark"
program.write_text("#!/bin/sh\\n")
program.chmod(0o755)
"""


class LocalFake(FakeExecutor):
    """Its abilities are those of a folder of programs, looked at when it is probed."""

    name = "local"

    def __init__(self, programs: Path) -> None:
        super().__init__()
        self.programs, self.probes = programs, 0

    def probe(self) -> Capabilities:
        self.probes += 1
        can = all_capabilities()
        usable = (self.programs / "postmark").exists()
        return replace(can, tools={**can.tools, "postmark": {"usable": usable, "reason": "No."}})


class Lab:
    """A worker with one look at a time, a clock of its own, and a tree with an installer."""

    def __init__(self, folder: Path, make_host: Callable[..., Host]) -> None:
        self.folder, self.now, self.said = folder, 1000.0, list[str]()
        self.programs = folder / "bin"
        self.host = make_host(LocalFake(self.programs))
        self.host.config = replace(self.host.config, may_install=True, image=OWN_IMAGE)
        self.setup = self.another(self.host)

    def another(self, host: Host) -> Setup:
        return Setup(host, self.said.append, root=self.folder, clock=lambda: self.now)

    def look(self) -> dict[str, Any] | None:
        """After the shortest time between two looks: what the worker has announced then."""
        self.now += runner_setup.LOOK_EVERY_S
        self.setup.look()
        announced: dict[str, Any] | None = Worker.objects.get(name=self.host.name).capabilities.get(
            "setup"
        )
        return announced

    def look_until(self, state: str | None) -> dict[str, Any] | None:
        deadline = time.monotonic() + SOON_S
        while True:
            setup = self.look()
            if (setup["state"] if setup else None) == state:
                return setup
            assert time.monotonic() < deadline, setup
            time.sleep(0.02)

    @property
    def starts(self) -> list[list[str]]:
        log = self.folder / "started"
        return [line.split() for line in log.read_text().splitlines()] if log.exists() else []

    def let(self, how: str) -> None:
        """Let the installer that was started ``fail`` or go ``on``."""
        (self.folder / "go_on").write_text(f"{how}\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with the inputs of the image, an installer, and programs of its own."""
    folder = tmp_path / "tree"
    for path in inputs.context_files():
        target = folder / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for name, text in (("deploy/install_tools.py", INSTALLER), ("bin/fio", "#!/bin/sh\n")):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    os.mkfifo(folder / "go_on")
    # Nothing but PostMark is missing, on whatever machine this runs.
    monkeypatch.setattr(
        setup_needs,
        "has_program",
        lambda name: name != "postmark" or (folder / "bin/postmark").exists(),
    )
    # Its packages stay as they are: they are part of the image's digest.
    monkeypatch.setattr(setup_needs.requirements, "HEADERS", {"/": "libc6-dev"})
    monkeypatch.setattr(setup_needs, "PATH", f"{folder / 'bin'}:{setup_needs.PATH}")
    # Runs of other tests do not wait for these, nor these for them.
    monkeypatch.setattr(locks, "lock_folder", lambda: tmp_path)
    monkeypatch.setattr(locks, "_LOOK_S", 0.0)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-docker.sock")
    return folder


@pytest.fixture
def lab(folder: Path, make_host: Callable[..., Host]) -> Iterator[Lab]:
    lab = Lab(folder, make_host)
    announce(lab.host.announcement(has_started=True))
    yield lab
    lab.setup.stop()


def test_what_is_missing_is_installed_and_found_without_a_restart(lab: Lab) -> None:
    setup = lab.look()
    assert setup is not None
    assert (setup["kind"], setup["state"], setup["problem"]) == ("packages", "running", "")
    assert setup["command"] == "sudo make tools"
    assert setup["reason"] == "No Docker daemon answers. This host lacks postmark."
    assert not lab.host.capabilities.tools["postmark"]["usable"]
    lab.let("on")
    assert lab.look_until(None) is None
    assert [words[1:] for words in lab.starts] == [["--lock-held"]]
    tools = Worker.objects.get(name=lab.host.name).capabilities["tools"]
    assert tools["postmark"]["usable"]
    begun, ended = lab.said
    assert "postmark" in begun
    assert "FSBENCH_INSTALL=no" in begun
    assert "are installed" in ended


def test_it_has_not_ended_before_what_it_brought_is_known(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A heartbeat in between would say that all is done, and that PostMark is not there."""
    lab.look()
    states, probe = list[object](), lab.host.executor.probe

    def probing() -> Capabilities:
        states.append(lab.host.announcement().capabilities["setup"]["state"])
        return probe()

    monkeypatch.setattr(lab.host.executor, "probe", probing)
    lab.let("on")
    lab.look_until(None)
    assert states == ["running"]


def test_the_first_word_of_a_worker_says_what_it_is_about_to_do(lab: Lab) -> None:
    lab.setup.foresee()
    assert lab.host.announcement().capabilities["setup"]["state"] == "running"
    assert lab.starts == []
    lab.look()
    lab.let("on")
    assert lab.look_until(None) is None
    lab.setup.foresee()
    assert "setup" not in lab.host.announcement().capabilities


def test_it_announces_itself_while_it_installs(lab: Lab) -> None:
    lab.look()
    setup = lab.look()
    assert setup is not None
    assert setup["state"] == "running"
    seen_at = Worker.objects.get(name=lab.host.name).seen_at
    lab.now += 1  # of the worker's clock: no look comes sooner
    lab.setup.look()
    assert Worker.objects.get(name=lab.host.name).seen_at > seen_at
    lab.let("on")
    lab.look_until(None)


def test_no_run_begins_meanwhile_and_the_queue_goes_on_then(
    lab: Lab, submitted: Callable[..., Run]
) -> None:
    run = submitted(lab.host)
    lab.look()
    execute.work_on(run.pk, lab.host)
    run.refresh_from_db()
    assert run.state == RunState.QUEUED
    lab.let("on")
    lab.look_until(None)
    execute.work_on(run.pk, lab.host)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.reason


def test_nothing_is_installed_while_a_run_is_being_measured(lab: Lab) -> None:
    probes = lab.host.executor.probes  # type: ignore[attr-defined]
    (lab.programs / "iozone").write_text("")  # a change that would be looked at
    with lab.host.reserve("scratch"):
        assert lab.look() is None
    with locks.while_measuring():  # by another worker of this host
        setup = lab.look()
        assert setup is not None
        assert setup["state"] == "missing"
        assert "when the run that this host measures" in setup["problem"]
        assert lab.starts == []
        assert lab.host.executor.probes == probes  # type: ignore[attr-defined]
    setup = lab.look()
    assert setup is not None
    assert setup["state"] == "running"
    lab.let("on")
    lab.look_until(None)


def test_of_two_workers_one_installs(
    lab: Lab, make_host: Callable[..., Host], folder: Path
) -> None:
    other = Lab(folder, lambda executor: make_host(executor, name="host-two"))
    lab.look()
    setup = other.look()
    assert setup is not None
    assert setup["state"] == "missing"
    lab.let("on")
    lab.look_until(None)
    assert other.look() is None
    assert len(lab.starts) == 1
    assert other.host.capabilities.tools["postmark"]["usable"]


def test_a_failure_says_why_and_is_tried_again_later_or_when_something_changed(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.look()
    lab.let("fail")
    setup = lab.look_until("failed")
    assert setup is not None
    assert setup["problem"].startswith("The mirror is away. It is tried again in 10 minutes")
    assert setup["problem"].endswith("By hand: sudo make tools")
    lab.now += RETRY_AFTER_S[0] - 8 * runner_setup.LOOK_EVERY_S
    for _ in range(3):
        lab.look()
    assert len(lab.starts) == 1
    lab.now += 6 * runner_setup.LOOK_EVERY_S
    lab.look_until("running")
    lab.let("fail")
    setup = lab.look_until("failed")
    assert setup is not None
    assert "in 60 minutes" in setup["problem"]
    assert len(lab.starts) == 2
    # Another thing is missing: that is worth a try at once.
    monkeypatch.setattr(setup_needs, "has_program", lambda name: name not in ("postmark", "fio"))
    setup = lab.look_until("running")
    assert setup is not None
    assert "fio, postmark" in setup["reason"]


def test_what_the_release_does_not_have_is_not_asked_for_again(lab: Lab) -> None:
    lab.look()
    lab.programs.rename(lab.folder / "elsewhere")
    (lab.folder / "bin").mkdir()
    lab.let("on")
    lab.look_until(None)
    (lab.programs / "postmark").unlink()
    for _ in range(5):
        assert lab.look() is None
    assert len(lab.starts) == 1


@pytest.mark.parametrize(
    ("user", "may_install", "why"),
    [(0, False, "FSBENCH_INSTALL=no"), (1000, True, "Only root")],
)
def test_where_it_may_not_it_says_the_one_command_in_one_line(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, user: int, may_install: bool, why: str
) -> None:
    monkeypatch.setenv("FSBENCH_INSTALL", "yes" if may_install else "no")
    monkeypatch.setattr("os.geteuid", lambda: user)
    lab.setup.config = replace(lab.setup.config, may_install=may_install)
    for _ in range(3):
        setup = lab.look()
        assert setup is not None
        assert (setup["state"], setup["command"]) == ("missing", "sudo make tools")
        assert why in setup["problem"]
    assert lab.starts == []
    (line,) = lab.said
    assert "sudo make tools" in line


def test_it_ends_with_the_worker_and_leaves_the_next_one_free(lab: Lab) -> None:
    lab.look_until("running")
    deadline = time.monotonic() + SOON_S
    while not lab.starts:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    pid = int(lab.starts[0][0])
    lab.setup.stop()
    assert (lab.folder / "stopped").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    os.close(locks.acquire_setup_lock())
    lab.host.stopping.set()
    lab.look()
    assert len(lab.starts) == 1


def test_it_ends_with_a_worker_that_is_killed(folder: Path, tmp_path: Path) -> None:
    script = (
        "import os, time\nfrom runner.setup.install_process import InstallProcess\n"
        f"InstallProcess(['{shutil.which('python3')}', '{folder}/deploy/install_tools.py'], {{}}, "
        f"os.open('{tmp_path}/lock', os.O_CREAT), ends_as_group=False)\ntime.sleep(600)"
    )
    worker = subprocess.Popen([ROOT / ".venv/bin/python", "-c", script], cwd=ROOT)
    deadline = time.monotonic() + SOON_S
    while not (folder / "started").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    while not (folder / "stopped").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_tool_and_a_file_system_of_anybody_are_found(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_needs, "has_program", lambda name: True)
    executor: Any = lab.host.executor
    lab.look()
    before = executor.probes
    for _ in range(3):
        lab.look()
    assert executor.probes == before  # nothing changed, nothing was probed
    tool = lab.programs / "postmark"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    lab.look()
    assert executor.probes == before + 1
    assert lab.host.capabilities.tools["postmark"]["usable"]
    loaded = setup_needs.mountable()
    monkeypatch.setattr(setup_needs, "mountable", lambda: loaded ^ {"jfs"})
    lab.look()
    lab.look()
    assert executor.probes == before + 2


# In containers


@pytest.fixture
def daemon(
    docker_host: str, runner_image: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[docker.DockerClient]:
    """The tests' daemon without an image of the worker's own name; the builder gives it one."""
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    builder = folder / "runner/image/build"
    builder.write_text(f'echo "$@" >>"$(dirname "$0")/built"\ndocker tag {runner_image} "$1"\n')
    client = docker.from_env()
    yield client
    with contextlib.suppress(docker.errors.ImageNotFound):
        client.images.remove(OWN_IMAGE, force=True, noprune=True)
    client.close()


def _built(folder: Path) -> list[str]:
    log = folder / "runner/image/built"
    return log.read_text().splitlines() if log.exists() else []


def _other_image(client: docker.DockerClient, runner_image: str) -> None:
    """Of other files, under the worker's own name."""
    subprocess.run(
        ["docker", "build", "--label", f"{inputs.LABEL}=0123", "--tag", OWN_IMAGE, "-"],
        input=f"FROM {runner_image}\n",
        text=True,
        check=True,
        capture_output=True,
    )


def test_the_image_says_what_it_was_made_of(daemon: docker.DockerClient, runner_image: str) -> None:
    assert daemon.images.get(runner_image).labels[inputs.LABEL] == inputs.digest()


def test_the_image_is_made_and_used_without_a_restart(
    daemon: docker.DockerClient, lab: Lab, submitted: Callable[..., Run]
) -> None:
    setup = lab.look()
    assert setup is not None
    assert (setup["kind"], setup["state"], setup["command"]) == ("image", "running", "make image")
    assert lab.host.executor.name == "local"
    lab.look_until(None)
    worker = Worker.objects.get(name=lab.host.name)
    assert worker.executor == "docker"
    assert worker.capabilities["tools"]["iozone"]["path"] == "/usr/bin/iozone"
    assert _built(lab.folder) == [OWN_IMAGE]
    assert "in containers from now on" in " ".join(lab.said)
    run = submitted(lab.host, "ext4")
    execute.work_on(run.pk, lab.host)
    run.refresh_from_db()
    assert run.state == RunState.DONE, run.reason
    assert any("/dev/fsbench/scratch" in step["argv"] for step in run.commands)


def test_an_image_of_other_files_is_made_anew_once(
    daemon: docker.DockerClient, lab: Lab, runner_image: str
) -> None:
    _other_image(daemon, runner_image)
    setup = lab.look()
    assert setup is not None
    assert setup["state"] == "running"
    assert "other files" in setup["reason"]
    lab.look_until(None)
    assert lab.host.executor.name == "docker"
    # Another checkout makes its own again: the two do not take turns for ever.
    _other_image(daemon, runner_image)
    setup = lab.look_until("failed")
    assert setup is not None
    assert "FSBENCH_IMAGE" in setup["problem"]
    lab.now += 2 * RETRY_AFTER_S[-1]
    lab.look()
    assert len(_built(lab.folder)) == 1
    # What there is can be used, and its runs say which image it was.
    assert lab.host.capabilities.is_usable
    assert ["Image made of", "other files than the worker's (0123)"] in lab.host.executor.facts()


def test_a_failed_build_leaves_local_runs_possible(
    daemon: docker.DockerClient, lab: Lab, runner_image: str
) -> None:
    daemon.images.get(runner_image).tag(OWN_IMAGE)  # removed with the test
    daemon.images.remove(OWN_IMAGE, noprune=True)
    (lab.folder / "runner/image/build").write_text("echo 'build: no mirror answers.' >&2; exit 1\n")
    setup = lab.look_until("failed")
    daemon.images.get(runner_image).tag(OWN_IMAGE)
    assert setup is not None
    assert "build: no mirror answers." in setup["problem"]
    assert setup["problem"].endswith("By hand: make image")
    assert lab.host.capabilities.is_usable
    # Somebody made it by hand meanwhile: it is used, without a word.
    lab.look_until(None)
    assert lab.host.executor.name == "docker"


def test_a_daemon_that_comes_later_is_found(
    daemon: docker.DockerClient,
    docker_host: str,
    lab: Lab,
    runner_image: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    daemon.images.get(runner_image).tag(OWN_IMAGE)
    monkeypatch.setattr(setup_needs, "has_program", lambda name: True)
    later = tmp_path / "later.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{later}")
    lab.look()
    lab.look()
    assert lab.host.executor.name == "local"
    later.symlink_to(docker_host.removeprefix("unix://"))
    lab.look()
    assert lab.host.executor.name == "docker"
    assert lab.host.capabilities.is_usable


# Pure


def test_a_reason_is_found_in_what_was_printed() -> None:
    assert reason_in(["E: Unable to locate package x", "The command '/bin/sh -c set' returned 100"])
    assert reason_in(["#8 0.5 E: No space left.", "ERROR: process did not complete"]) == (
        "No space left."
    )
    assert reason_in(["+ echo tools", "build: no Docker daemon answers."]) == (
        "build: no Docker daemon answers."
    )
    assert reason_in([]) == "It said nothing."
