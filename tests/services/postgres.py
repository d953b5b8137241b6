"""A throwaway PostgreSQL that listens on a unix socket in its own folder and nowhere else."""

import os
import pwd
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from tests.services.process import Service, ServiceFailed, program


def _folder_of_programs() -> Path:
    """Debian keeps the server's programs out of PATH, one folder for each major version."""
    versions = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"),
        key=lambda path: int(path.parent.parent.name),
    )
    if versions:
        return versions[-1].parent
    return Path(program("initdb", "postgresql")).parent


# Nothing of the tests outlives them: no write has to be on the disk.
FORGETFUL = ("fsync=off", "full_page_writes=off", "synchronous_commit=off")


class Postgres(Service):
    """``url`` is the DATABASE_URL of an empty database.

    ``durable`` leaves commits as a site has them: on the disk before they are answered.
    """

    def __init__(self, folder: Path, durable: bool = False) -> None:
        programs = _folder_of_programs()
        # PostgreSQL refuses to run as root; its Debian package brings this user.
        user = "postgres" if os.geteuid() == 0 else None
        data = folder / "data"
        if user:
            os.chown(folder, *_ids(user))
        created = subprocess.run(
            [
                *(["runuser", "-u", user, "--"] if user else []),
                *(str(programs / "initdb"), "--pgdata", str(data), "--username", "fsbench"),
                *("--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"),
            ],
            capture_output=True,
            text=True,
            cwd=folder,
        )
        if created.returncode:
            raise ServiceFailed(f"initdb failed:\n{created.stderr}")
        super().__init__(
            [
                *(str(programs / "postgres"), "-D", str(data), "-k", str(folder)),
                *self._network(data, user),
                *(word for setting in FORGETFUL if not durable for word in ("-c", setting)),
                *("-c", "max_connections=100"),
                # A query the tests left hanging shows up as an error, not as a stuck suite.
                *("-c", "statement_timeout=60s"),
            ],
            log=folder / "log",
            user=user,
            stop_signal=signal.SIGINT,  # "fast": disconnects clients; SIGTERM waits for them
        )
        self._is_ready = lambda: _answers(programs, folder)
        # As a parameter, because a host's name in a URL is made lower case when it is read.
        self.url = f"postgresql://fsbench@/postgres?host={quote(str(folder))}"
        self.wait_until_ready()

    def _network(self, data: Path, user: str | None) -> list[str]:
        """Options that say where it listens. Called between initdb and the start."""
        return ["-c", "listen_addresses="]

    def wait_until_ready(self) -> None:
        self.wait_until(self._is_ready)

    def stop_immediately(self) -> None:
        """What `pg_ctl stop -m immediate` does: every process ends at once, without a checkpoint;
        the next start recovers from the log (pg_ctl(1)).
        """
        self.kill(signal.SIGQUIT)


@contextmanager
def postgres_server(durable: bool = False) -> Iterator[Postgres]:
    """Start PostgreSQL. Raises ServiceFailed."""
    with TemporaryDirectory(prefix="fsbench-postgres-") as name:
        service = Postgres(Path(name), durable)
        try:
            yield service
        finally:
            service.stop()


@contextmanager
def postgres(durable: bool = False) -> Iterator[str]:
    """Start PostgreSQL; gives the DATABASE_URL of an empty database. Raises ServiceFailed."""
    with postgres_server(durable) as server:
        yield server.url


def _ids(user: str) -> tuple[int, int]:
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        raise ServiceFailed(f"there is no user {user}: install the package postgresql") from None
    return entry.pw_uid, entry.pw_gid


def _answers(programs: Path, folder: Path) -> bool:
    probe = [str(programs / "pg_isready"), "-q", "-h", str(folder), "-U", "fsbench"]
    return subprocess.run(probe).returncode == 0
