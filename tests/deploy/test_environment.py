"""`make run` on a fresh copy of the tree, as somebody who has just cloned it would type it."""

import http.cookiejar
import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import distributions
from pathlib import Path

import pytest
from django.conf import settings

from tests.services.redis import accepts, free_port

ROOT = Path(settings.BASE_DIR)
PUBLISHED = {"unisys-2005", "galli-2001", "hilzinger-2006", "freenix-2002", "sun-2004"}

pytestmark = pytest.mark.install


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The tracked files of this tree as they are now, in a folder with a blank in its name."""
    folder = tmp_path_factory.mktemp("make") / "fresh clone"
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.split("\0"):
        source = ROOT / name
        if name and source.is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    yield folder
    _kill(_processes_of(folder))
    shutil.rmtree(folder)


@pytest.fixture
def data(clone: Path, tmp_path: Path) -> Iterator[Path]:
    """A data folder. What a failed test left ends here: its site, its loop device."""
    folder = tmp_path / "data"
    yield folder
    _kill(_processes_of(clone))
    for line in _loop_devices().splitlines():
        device, _, file = line.partition(" ")
        if Path(file.strip()).is_relative_to(folder):
            subprocess.run(["losetup", "--detach", device], check=False)


def _processes_of(clone: Path) -> list[int]:
    """Processes that run the clone's own Python."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            works_in = (entry / "cwd").readlink()
            zombie = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            continue
        if works_in.is_relative_to(clone) and not zombie:
            found.append(int(entry.name))
    return found


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Site:
    """One `make run` with a data folder and a port of its own."""

    def __init__(self, clone: Path, data: Path, port: int) -> None:
        self.clone, self.port = clone, port
        self.log = clone / "make-run.log"
        self.env = environment(FSBENCH_DATA=str(data), PORT=str(port))
        self.started_at = time.monotonic()
        with self.log.open("w") as output:
            self.make = subprocess.Popen(
                ["make", "run"],
                cwd=clone,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def printed(self) -> str:
        return self.log.read_text()

    def wait_until_ready(self, timeout_s: float) -> float:
        """Seconds until the address was printed."""
        while "fsbench is ready" not in self.printed:
            assert self.make.poll() is None, self.printed
            assert time.monotonic() - self.started_at < timeout_s, self.printed
            time.sleep(0.1)
        return time.monotonic() - self.started_at

    def matched(self, pattern: str) -> str:
        found = re.search(pattern, self.printed)
        assert found, self.printed
        return found[1]

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            body: bytes = answer.read()
            return body

    def wait_until_ended(self, timeout_s: float = 120) -> None:
        """All of it ended and nothing stayed behind."""
        try:
            self.make.wait(timeout_s)
        except subprocess.TimeoutExpired:
            pytest.fail(f"make did not end:\n{self.printed}")
        assert _processes_of(self.clone) == []
        assert not accepts(self.port)
        assert "Stopped." in self.printed
        assert "was killed" not in self.printed


def environment(**variables: str) -> dict[str, str]:
    """What a fresh shell has: nothing of the tests' own settings, and nothing is installed."""
    ours = re.compile(r"FSBENCH_|DJANGO_|DATABASE_URL|CELERY_|MAKE|MFLAGS|VIRTUAL_ENV|DOCKER_HOST")
    kept = {name: value for name, value in os.environ.items() if not ours.match(name)}
    return kept | {"FSBENCH_INSTALL": "no"} | variables


def _loop_devices() -> str:
    """A line for each: device and file."""
    listed = subprocess.run(
        ["losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE"],
        capture_output=True,
        text=True,
    )
    return listed.stdout


def _sign_in(site: Site, password: str) -> str:
    """The address one is on after signing in as admin."""
    browser = urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    )
    address = f"http://127.0.0.1:{site.port}/account/sign-in/"
    token = re.search(
        r'name="csrfmiddlewaretoken" value="(\w+)"', browser.open(address).read().decode()
    )
    assert token
    form = {"csrfmiddlewaretoken": token[1], "username": "admin", "password": password}
    with browser.open(address, urllib.parse.urlencode(form).encode()) as answer:
        where: str = answer.url
        return where


def test_from_nothing_to_a_site_and_back(clone: Path, data: Path) -> None:
    port = free_port()

    # The first start. Interrupting `make` alone ends it, too; Ctrl-C, which all its group gets, is
    # tests/first_start's.
    site = Site(clone, data, port)
    site.wait_until_ready(timeout_s=900)
    assert site.matched(r"ready:\s+(\S+)") == f"http://127.0.0.1:{port}"
    password = site.matched(r"user admin, password (\S+)")
    pinned = re.search(r"^pip==(\S+)", (clone / "requirements.txt").read_text(), re.M)
    assert pinned
    assert _installers(clone) == {"pip": pinned[1]}
    health = json.loads(site.get("/api/v1/health"))
    assert health["status"] == "ok", health
    assert health["workers"]
    studies = json.loads(site.get("/api/v1/studies"))
    assert {study["slug"] for study in studies} >= PUBLISHED
    page = site.get("/").decode()
    assert "Unisys" in page
    style = re.search(r'href="(/static/css/[^"]+)"', page)
    assert style
    assert site.get(style[1])
    assert not _sign_in(site, password).endswith("/sign-in/")
    _a_second_one_is_refused(clone, data, port)
    site.make.send_signal(signal.SIGINT)
    site.wait_until_ended()
    # What people read is about what they did: nothing of the libraries' own affairs.
    assert not re.search(r"Warning|Error|Exception|Warm shutdown|kombu", site.printed), site.printed
    assert str(data) not in _loop_devices()

    # The second start takes seconds and keeps all.
    site = Site(clone, data, port)
    site.wait_until_ready(timeout_s=300)
    assert "Installing" not in site.printed
    assert site.matched(r"user admin, password (\S+)") == password
    assert not _sign_in(site, password).endswith("/sign-in/")

    # A worker that crashes comes back; SIGTERM, as from a service manager, ends cleanly.
    for pid in _processes_of(clone):
        with suppress(OSError):  # what the worker asks of its host ends by itself
            if "worker" in Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
                os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 120
    while "The worker was ended by SIGKILL; it is started again" not in site.printed:
        assert time.monotonic() < deadline, site.printed
        time.sleep(0.2)
    while not _is_healthy(site):
        assert time.monotonic() < deadline, site.printed
        time.sleep(0.5)
    site.make.send_signal(signal.SIGTERM)
    site.wait_until_ended()


def _installers(clone: Path) -> dict[str, str]:
    """What Python brings along in its own version: {name: version} in the environment."""
    packages = next((clone / ".venv/lib").glob("python3*")) / "site-packages"
    found = {dist.name: dist.version for dist in distributions(path=[str(packages)])}
    return {name: found[name] for name in ("pip", "setuptools", "wheel") if name in found}


def _is_healthy(site: Site) -> bool:
    try:
        return bool(json.loads(site.get("/api/v1/health"))["status"] == "ok")
    except OSError:
        return False


def _a_second_one_is_refused(clone: Path, data: Path, port: int) -> None:
    """By the data folder's lock, or else because the port is taken; each in a sentence."""

    def serve(**variables: str) -> str:
        done = subprocess.run(
            [".venv/bin/python", "manage.py", "serve"],
            cwd=clone,
            env=environment(**variables),
            capture_output=True,
            text=True,
            timeout=180,
        )
        assert done.returncode == 1, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr

    said = serve(FSBENCH_DATA=str(data), PORT=str(free_port()))
    assert "already uses the data folder" in said
    said = serve(FSBENCH_DATA=str(data.with_name("other")), PORT=str(port))
    assert f"127.0.0.1:{port} cannot be used: Address already in use" in said
    assert "PORT=" in said
    said = serve(FSBENCH_DATA=str(data.with_name("other")), PORT="eight")
    assert said.strip() == 'fsbench cannot start: PORT is "eight"; it must be a whole number.'


def test_it_says_what_is_missing(clone: Path, tmp_path: Path) -> None:
    """Python too old, or without the modules that make virtual environments."""
    old = tmp_path / "old-python"
    # A stand-in that answers like Python 3.9 would.
    old.write_text('#!/bin/sh\ncase "$2" in *print*) echo 3.9 ;; *) exit 1 ;; esac\n')
    old.chmod(0o755)
    done = subprocess.run(
        ["sh", "deploy/environment.sh", str(old), "requirements.txt"],
        cwd=clone,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "is Python 3.9; fsbench needs 3.11 or newer" in done.stderr

    bare = tmp_path / "bare-python"
    bare.write_text(
        '#!/bin/sh\ncase "$2" in *print*) echo 3.11 ;; *ensurepip*) exit 1 ;; *) exit 0 ;; esac\n'
    )
    bare.chmod(0o755)
    done = subprocess.run(
        ["sh", "deploy/environment.sh", str(bare), "requirements.txt"],
        cwd=clone,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "apt install python3.11-venv" in done.stderr

    done = subprocess.run(
        ["sh", "deploy/environment.sh", "", "requirements.txt"],
        cwd=clone,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "needs Python 3.11 or newer, and found none" in done.stderr
