"""The stack of docker-compose.yml on the tests' Docker daemon, and a person who uses it."""

import http.cookiejar
import json
import os
import re
import secrets
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.services.image import IMAGE, ROOT
from tests.services.process import ServiceFailed, program
from tests.services.redis import free_port

WORKER = f"stack-{os.getpid()}"
LUN = """
[[lun]]
name = "scratch"
kind = "sparse-file"
path = "/data/scratch.img"
size = "400 MiB"
"""


def compose_command() -> list[str]:
    """`docker compose` where the client has it, else Debian's docker-compose."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True)
    if plugin.returncode == 0:
        return ["docker", "compose"]
    return [program("docker-compose", "docker-compose")]


class Person:
    """A browser without a window: cookies, the form of the sign-in, and calls of the API."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.password = ""
        self.cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def _cookie(self, name: str) -> str:
        return next(cookie.value or "" for cookie in self.cookies if cookie.name == name)

    def get(self, path: str) -> bytes:
        with self._opener.open(self.address + path, timeout=90) as answer:
            body: bytes = answer.read()
            return body

    def read(self, path: str) -> Any:
        return json.loads(self.get(f"/api/v1{path}"))

    def sign_in(self, name: str, password: str) -> None:
        form = self.get("/account/sign-in/").decode()
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
        assert token, form
        fields = {"csrfmiddlewaretoken": token[1], "username": name, "password": password}
        data = urllib.parse.urlencode(fields).encode()
        with self._opener.open(f"{self.address}/account/sign-in/", data, timeout=90) as answer:
            assert not answer.url.endswith("/sign-in/"), answer.read().decode()

    def choose_password(self, old: str, new: str) -> None:
        """As somebody must who signed in with a password that others know."""
        form = self.get("/").decode()  # every page leads to this one
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
        assert token, form
        fields = {
            "csrfmiddlewaretoken": token[1],
            "old_password": old,
            "new_password1": new,
            "new_password2": new,
        }
        data = urllib.parse.urlencode(fields).encode()
        with self._opener.open(f"{self.address}/account/password/", data, timeout=90) as answer:
            assert not answer.url.endswith("/password/"), answer.read().decode()

    def send(self, path: str, body: object) -> Any:
        request = urllib.request.Request(
            f"{self.address}/api/v1{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "X-CSRFToken": self._cookie("csrftoken")},
        )
        try:
            with self._opener.open(request, timeout=90) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.code} {error.read().decode()}") from None


class Stack:
    """``address`` is the web's; ``compose("ps")`` runs a command of Compose on this project."""

    def __init__(self, folder: Path, docker_host: str) -> None:
        self.folder, self.port = folder, free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.docker_host = docker_host
        self.project = WORKER
        self._env_file = folder / "stack.env"
        subnet = f"10.213.{os.getpid() % 200}.0/24"
        values = {name: secrets.token_hex(32) for name in SECRETS} | {
            "PORT": str(self.port),
            # No proxy does TLS here.
            "FSBENCH_HTTPS": "False",
            "FSBENCH_POSTGRES_IMAGE": "fsbench-postgres",
            "FSBENCH_REDIS_IMAGE": "fsbench-redis",
            "FSBENCH_IMAGE": IMAGE,
            "FSBENCH_WORKER": WORKER,
            "FSBENCH_SUBNET": subnet,
            "FSBENCH_TRUSTED_PROXIES": subnet,
            "FSBENCH_DOCKER_SOCKET": docker_host.removeprefix("unix://"),
        }
        self._env_file.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
        self.command = [
            *compose_command(),
            *("--project-name", self.project, "--env-file", str(self._env_file)),
            *("--file", str(ROOT / "docker-compose.yml")),
        ]
        ours = re.compile(r"FSBENCH_|DJANGO_|DATABASE_URL|CELERY_|COMPOSE|PORT$")
        inherited = {name: value for name, value in os.environ.items() if not ours.match(name)}
        self.environment = inherited | {"DOCKER_HOST": docker_host}

    def run(self, *argv: str, stdin: str = "") -> str:
        """What it printed. Raises ServiceFailed."""
        done = subprocess.run(
            argv, env=self.environment, capture_output=True, text=True, input=stdin, timeout=600
        )
        if done.returncode:
            raise ServiceFailed(f"{' '.join(argv)}: {done.stdout}\n{done.stderr}")
        return done.stdout

    def compose(self, *argv: str, stdin: str = "") -> str:
        return self.run(*self.command, *argv, stdin=stdin)

    def start(self) -> None:
        """As docs/deployment.md says; the LUN is listed before the worker first looks."""
        self.compose("up", "--no-start", "--no-build", "--no-deps", "worker")
        lun_file = self.folder / "luns.toml"
        lun_file.write_text(LUN)
        lun_file.chmod(0o600)
        self.run("docker", "cp", str(lun_file), f"{self.container('worker')}:/data/luns.toml")
        self.compose("up", "--detach", "--no-build")
        self.wait_until(self.is_healthy)

    def container(self, service: str) -> str:
        """By the labels that Compose gives: whoever waits asks often, and a start of Debian's
        docker-compose takes half a second of a processor.
        """
        label = "label=com.docker.compose"
        ours = ("--filter", f"{label}.project={self.project}", "--filter", f"{label}.oneoff=False")
        named = ("--filter", f"{label}.service={service}")
        return self.run("docker", "ps", "--all", "--quiet", "--no-trunc", *ours, *named).split()[0]

    def inside(self, service: str, *argv: str) -> list[str]:
        """A command for a service's container, standard input included."""
        return ["docker", "exec", "--interactive", self.container(service), *argv]

    def logged(self, service: str) -> str:
        """All that the service has written, on both streams."""
        done = subprocess.run(
            ["docker", "logs", self.container(service)],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        return done.stdout

    def inspect(self, service: str, template: str) -> str:
        name = self.container(service)
        return self.run("docker", "inspect", "--format", template, name).strip()

    def is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/api/v1/health", timeout=10) as answer:
                return bool(json.load(answer)["status"] == "ok")
        except (OSError, ValueError):
            return False

    def wait_until(
        self, condition: Callable[[], bool], timeout_s: float = 300, every_s: float = 0.3
    ) -> None:
        deadline = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() > deadline:
                raise ServiceFailed(self.compose("ps") + self.compose("logs", "--tail", "40"))
            time.sleep(every_s)

    def administrator(self) -> Person:
        """Signed in with the password that the step of the migrations printed, once."""
        return first_sign_in(self.address, self.logged("migrate"))


def first_sign_in(address: str, printed: str) -> Person:
    """The administrator who read the first password and chose another, as the site wants."""
    passwords = re.findall(r"user admin, password (\S+)", printed)
    assert len(passwords) == 1, printed
    person = Person(address)
    person.sign_in("admin", passwords[0])
    person.password = secrets.token_urlsafe(12)
    person.choose_password(passwords[0], person.password)
    return person


SECRETS = ("FSBENCH_SECRET_KEY", "FSBENCH_DB_PASSWORD", "FSBENCH_REDIS_PASSWORD")


@contextmanager
def stack(folder: Path, docker_host: str) -> Iterator[Stack]:
    """Start the stack; its images must be there. Raises ServiceFailed."""
    new_stack = Stack(folder, docker_host)
    try:
        new_stack.start()
        yield new_stack
    finally:
        # The worker gives its loop device back.
        subprocess.run(
            [*new_stack.command, "down", "--volumes", "--timeout", "30"],
            env=new_stack.environment,
            capture_output=True,
        )
