"""The command line as a process of its own, against a real server."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from fsbench_web.accounts import tokens
from tests.importing import import_files
from tests.runner.conftest import lun_file, make_host

__all__ = ["lun_file", "make_host"]
CLIENT = Path(settings.BASE_DIR) / "client"
Values = dict[str, list[float]]


@dataclass
class Command:
    """``fsbench(...)`` runs the command and gives what it said; ``on_terminal`` types into it."""

    site: str
    home: Path
    token: str = ""

    def environment(self, **more: str) -> dict[str, str]:
        variables = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(CLIENT),
            "HOME": str(self.home),
            "FSBENCH_URL": self.site,
            "LANG": "C.UTF-8",
            **({"FSBENCH_TOKEN": self.token} if self.token else {}),
        }
        return {name: value for name, value in (variables | more).items() if value}

    def __call__(
        self, *arguments: object, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "fsbench", *map(str, arguments)],
            env=self.environment(**environment),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def on_terminal(
        self, *arguments: object, typed: str = "", columns: int = 100, **environment: str
    ) -> tuple[int, str]:
        """Exit code, and everything that a person saw."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "fsbench", *map(str, arguments)],
            env=self.environment(COLUMNS=str(columns), TERM="xterm", **environment),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            close_fds=True,
        )
        os.close(slave)
        screen, deadline = b"", time.monotonic() + 120
        while time.monotonic() < deadline:
            if select.select([master], [], [], 0.2)[0]:
                try:
                    piece = os.read(master, 65536)
                except OSError:  # the other end is closed
                    break
                if not piece:
                    break
                screen += piece
                if typed and b"go on:" in screen:
                    os.write(master, typed.encode() + b"\n")
                    typed = ""
            elif process.poll() is not None:
                break
        os.close(master)
        return process.wait(30), screen.decode()


@pytest.fixture
def ada(site: str) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def fsbench(site: str, ada: User, tmp_path: Path) -> Command:
    """The command with a token that imports and runs."""
    home = tmp_path / "home"
    home.mkdir()
    return Command(site, home, tokens.create(ada, "client")[1])


@pytest.fixture
def measured(ada: User) -> Callable[..., None]:
    """``measured("Nightly", ext4=[100, 101])`` imports a matrix for each repeat."""

    def measure(study: str, **filesystems: list[float]) -> None:
        for filesystem, rates in filesystems.items():
            for rate in rates:
                lines = ["test,record_size_kb,file_size_kb,value,unit"]
                for file_kb in (64, 1024, 16384):
                    for record_kb in (4, 16, 64):
                        value = rate * 1000 + file_kb / 64 + record_kb
                        lines.append(f"write,{record_kb},{file_kb},{value},KB/s")
                import_files(
                    [("result.csv", "\n".join(lines).encode())],
                    study=study,
                    filesystem=filesystem,
                    configuration=filesystem,
                    hardware="Array",
                    user=ada,
                )

    return measure
