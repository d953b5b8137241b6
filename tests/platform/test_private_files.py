"""What fsbench keeps in its data folder is closed to other accounts, under any umask."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fsbench_web.platform import private_files
from fsbench_web.serving.data_folder import exclusive_use
from fsbench_web.serving.preparation import prepare_luns_file
from tests.services.image import ROOT

FILES = ("fsbench.sqlite3", "fsbench.sqlite3-wal", "fsbench.sqlite3-shm")
FOLDERS = ("broker", "broker/queue", "broker/control", "luns", "spool")
# With its database, its log and its folder of messages, as every process begins.
_USE = """
import os
os.umask(0)
import django
django.setup()
from django.conf import settings
from django.db import connection
import fsbench_web.celery
connection.cursor().execute("CREATE TABLE IF NOT EXISTS t (a)")
for name in os.listdir(settings.DATA_DIR):
    print(oct(os.stat(settings.DATA_DIR / name).st_mode & 0o777), name)
"""


def _use(folder: Path) -> dict[str, str]:
    """The modes of what is in the data folder while the database is open, by name."""
    done = subprocess.run(
        [sys.executable, "-c", _USE],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "FSBENCH_DATA": str(folder),
            "DJANGO_SETTINGS_MODULE": "fsbench_web.settings",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return {name: mode for mode, name in map(str.split, done.stdout.splitlines())}


def test_in_a_new_folder_nothing_is_open_to_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    modes = _use(tmp_path)
    assert {modes[name] for name in FILES} == {"0o600"}
    assert modes["broker"] == "0o700"
    assert [name for name, mode in modes.items() if not mode.endswith("00")] == []


def test_what_an_older_version_left_open_is_closed(tmp_path: Path) -> None:
    for name in FOLDERS:
        (tmp_path / name).mkdir()
    for name in (*FILES, "serve.lock", "prepare.lock"):
        (tmp_path / name).touch()
    kept = tmp_path / "notes.txt"
    kept.touch()
    for path in tmp_path.rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
    _use(tmp_path)
    opened = [path.name for path in tmp_path.rglob("*") if path.stat().st_mode & 0o077]
    assert opened == [kept.name]


def test_the_database_and_a_link_keep_what_they_are(tmp_path: Path) -> None:
    database, elsewhere = tmp_path / "fsbench.sqlite3", tmp_path / "elsewhere"
    database.write_bytes(b"rows")
    elsewhere.mkdir(mode=0o755)
    (tmp_path / "luns").symlink_to(elsewhere)
    private_files.close(tmp_path, database)
    assert database.read_bytes() == b"rows"
    assert elsewhere.stat().st_mode & 0o777 == 0o755


@pytest.mark.root
def test_a_new_database_is_of_who_has_the_folder(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    private_files.close(tmp_path, tmp_path / "fsbench.sqlite3")
    status = (tmp_path / "fsbench.sqlite3").stat()
    assert (status.st_uid, status.st_mode & 0o777) == (65534, 0o600)


def test_folders_of_luns_and_runs_are_made_closed(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert prepare_luns_file(tmp_path, is_root=False)
        private_files.make_folder(tmp_path / "spool" / "worker")
        with exclusive_use(tmp_path):
            pass
    finally:
        os.umask(before)
    assert [path.name for path in tmp_path.rglob("*") if path.stat().st_mode & 0o077] == []
