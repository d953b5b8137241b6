"""An installation of its own, in which the commands of the documents run as a reader types them."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from django.conf import settings

from tests.client.local_files import folders_of
from tests.services.process import Service, holds
from tests.services.redis import free_port
from tests.services.server import get

ROOT = Path(settings.BASE_DIR)
WORKER = "host-a"
LUNS = """
[[lun]]
name = "{name}"
kind = "sparse-file"
path = "{folder}/{name}.img"
size = "{size}"
role = "{role}"
"""
JOB = """
study: {study}
lun: {lun}
configurations:
  - filesystem: ext4
    journals: [{journals}]
workloads: [{{name: iozone-small, parameters: {{maximum_file_kb: 128}}}}]
repeats: 1
"""
SCOPES = [word for scope in ("import", "run", "administer") for word in ("--scope", scope)]
# Folders of a reader's machine, which are folders of the test.
PLACES = ("/backup", "/mnt/nas", "/srv/fsbench", "/tmp/b")
# A token of a trigger is on its page alone.
NEW_TRIGGER_TOKEN = (
    "from fsbench_web.studies.models import Trigger; from fsbench_web.studies.triggers import "
    "records; print(records.make_token(Trigger.objects.get()))"
)


class Forge(BaseHTTPRequestHandler):
    """Takes what is sent to GitHub and GitLab, if it is a form or JSON."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_json = self.headers["Content-Type"] == "application/json"
        is_valid = bool(json.loads(body)) if is_json else b"name=" in body
        self.send_response(201 if is_valid else 400)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Installation:
    """Web and worker on a SQLite database; ``work`` is the folder in which a reader types."""

    def __init__(self, folder: Path, forge: str) -> None:
        self.folder, self.data, self.work = folder, folder / "data", folder / "work"
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self.settings = {
            "FSBENCH_DATA": str(self.data),
            "FSBENCH_EXECUTOR": "local",
            "FSBENCH_INSTALL": "no",
            "FSBENCH_DROP_CACHES": "False",
            "FSBENCH_WORKER": WORKER,
            "PORT": str(port),
        }
        self.variables = {
            "FSBENCH_URL": self.address,
            "GITHUB_API_URL": forge,
            "GITHUB_REPOSITORY": "lab/array",
            "GITHUB_SHA": "4711" * 10,
            "GH_TOKEN": "secret",
            "CI_API_V4_URL": forge,
            "CI_PROJECT_ID": "1",
            "CI_COMMIT_SHA": "4711",
            "CI_MERGE_REQUEST_IID": "2",
            "CI_PIPELINE_ID": "3",
        }
        for each in (self.data, self.work, *(folder / place[1:] for place in PLACES[:3])):
            each.mkdir(parents=True)
        (folder / "mnt/nas/backup").mkdir()
        (folder / "tmp").mkdir()

    @contextmanager
    def running(self) -> Iterator[None]:
        """``manage.py serve`` and ``manage.py worker``, as on two machines."""
        luns = (
            ("lun0", "data", "1 GiB"),
            ("log0", "journal", "64 MiB"),
            ("disk1", "data", "1 GiB"),
        )
        self.write(
            self.data / "luns.toml",
            *(
                LUNS.format(name=name, role=role, size=size, folder=self.folder)
                for name, role, size in luns
            ),
        )
        services = [self._start("serve", "--without-worker")]
        try:
            services[0].wait_until(lambda: get(f"{self.address}/api/v1/health/live")[0] == 200)
            services.append(self._start("worker"))
            services[1].wait_until(lambda: get(f"{self.address}/api/v1/health")[0] == 200)
            yield
        finally:
            for service in reversed(services):
                service.stop()

    def _start(self, *words: str) -> Service:
        argv = [sys.executable, str(ROOT / "manage.py"), *words]
        return Service(argv, log=self.folder / f"{words[0]}.log", env=self.environment())

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        left_out = ("DATABASE_URL", "DJANGO_SETTINGS_MODULE", "CELERY_BROKER_URL")
        own = {name: value for name, value in os.environ.items() if name not in left_out}
        client = {"PYTHONPATH": f"{ROOT}/client:{ROOT}", "HOME": str(self.work)}
        return own | self.settings | self.variables | client | dict(more or {})

    def prepare(self) -> None:
        """The files, studies and accounts that the documents speak of."""
        for account in ("ada", "eve"):
            password = {"DJANGO_SUPERUSER_PASSWORD": f"of {account} alone"}
            words = (
                "createsuperuser",
                "--noinput",
                "--username",
                account,
                "--email",
                "a@lab.example",
            )
            self.run("manage.py", *words, more=password)
        printed = self.run("manage.py", "create_token", "ada", *SCOPES)
        (self.variables["TOKEN"],) = re.findall(r"fsb_\S+", printed)
        self.variables["FSBENCH_TOKEN"] = self.variables["TOKEN"]
        folders_of("iozone-3.489-operations.txt", self.work)
        (self.work / "results/ext4").mkdir(parents=True)
        self.copy("ext4/repeat-1", "first")
        self.copy("ext4/repeat-2", "second")
        self.copy("xfs/repeat-1", "results/ext4/1")
        self.copy("xfs/repeat-2", "results/ext4/2")
        shutil.copy(ROOT / ".env.example", self.work)
        self.write(self.work / "sheet.csv", "test,ext4,xfs,note\nwrite,100,120,a\nread,200,210,b\n")
        self.write(self.work / "check.json", '{"name": "fsbench"}')
        self.write(self.work / "check.md", "Nothing fell.")
        self.write(self.work / "lines.csv", "".join(_lines()))
        for study in ("release", "nightly"):
            self.run("fsbench", "import", "lines.csv", "--study", study, "--hardware", "array")
        self.run("fsbench", "seal", "release", "-o", "lab.zip")

    def copy(self, output: str, place: str) -> None:
        """Put the output of a tool there, both below ``work``."""
        shutil.copy(self.work / f"{output}.txt", self.work / f"{place}.txt")

    def write(self, path: Path, *parts: str) -> None:
        path.write_text("".join(parts))
        path.chmod(0o600)

    def run(self, *words: str, more: Mapping[str, str] | None = None, stdin: str = "") -> str:
        """What the command printed; fails if it does."""
        done = subprocess.run(
            self._argv(list(words)),
            cwd=ROOT if words[0] == "make" else self.work,
            env=self.environment(more),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def _argv(self, words: list[str]) -> list[str]:
        own = {"fsbench": ["-m", "fsbench"], "manage.py": [str(ROOT / "manage.py")]}
        program = words[0].removeprefix("./")
        return [sys.executable, *own[program], *words[1:]] if program in own else words

    def typed(self, word: str) -> str:
        """A word of a document with this installation's places, addresses and variables."""
        for address in (
            "http://localhost:8000",
            "http://127.0.0.1:8000",
            "https://fsbench.example",
        ):
            word = word.replace(address, self.address)
        if word.startswith(PLACES):
            word = f"{self.folder}{word}"
        return re.sub(r"\$(\w+)", lambda match: self.variables[match[1]], word)

    def settle(self) -> None:
        """Until no run waits or is under way."""

        def is_quiet() -> bool:
            found = [self.read(f"/runs?state={state}")["total"] for state in ("queued", "running")]
            return not any(found)

        deadline = time.monotonic() + 300
        while not holds(is_quiet):
            assert time.monotonic() < deadline

    def read(self, path: str) -> Any:
        status, body = get(f"{self.address}/api/v1{path}", 30)
        assert status == 200, body
        return json.loads(body)

    def write_job(self, study: str, lun: str, journal: str = "internal") -> None:
        text = JOB.format(study=study, lun=lun, journals=journal)
        self.write(self.work / "job.yaml", text)

    def make_trigger(self) -> None:
        """Trigger 7 of the documents."""
        self.write_job("Triggered", "disk1")
        document = (self.work / "job.yaml").read_text()
        body = {"title": "Nightly", "document": document, "confirm": "disk1"}
        self.run(
            *("curl", "--fail-with-body", "-H", f"Authorization: Bearer {self.variables['TOKEN']}"),
            *("--json", json.dumps(body), f"{self.address}/api/v1/triggers"),
        )
        printed = self.run("manage.py", "shell", "--no-imports", "-c", NEW_TRIGGER_TOKEN)
        self.variables["TRIGGER_TOKEN"] = printed.strip().splitlines()[-1]


def _lines() -> Iterator[str]:
    """A table of three kernels and days with two repeats of a matrix each."""
    yield "test,record_size_kb,file_size_kb,value,unit,"
    yield "filesystem,configuration,kernel,repeat,date\n"
    for day in (1, 2, 3):
        for repeat in (1, 2):
            for filesystem, rate in (("ext4", 100), ("xfs", 120)):
                for file_kb in (64, 1024, 16384):
                    for record_kb in (4, 16, 64):
                        value = rate * 1000 + repeat * 100 + day + file_kb / 64 + record_kb
                        yield (
                            f"write,{record_kb},{file_kb},{value},KB/s,{filesystem},{filesystem},"
                            f"6.{day},{repeat},2026-11-0{day}\n"
                        )


@contextmanager
def installation(folder: Path) -> Iterator[Installation]:
    """It runs and has what the documents speak of."""
    forge = ThreadingHTTPServer(("127.0.0.1", 0), Forge)
    threading.Thread(target=forge.serve_forever, daemon=True).start()
    site = Installation(folder, f"http://127.0.0.1:{forge.server_port}/_API_")
    try:
        with site.running():
            site.prepare()
            yield site
    finally:
        forge.shutdown()
        forge.server_close()
