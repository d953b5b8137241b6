"""A data folder that cannot be used ends a command with one sentence, and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from fsbench_web.platform import disk_room, private_files
from fsbench_web.serving.data_folder import exclusive_use

IN_MEMORY = {"CELERY_BROKER_URL": "memory://", "FSBENCH_SECRET_KEY": "k" * 50}
SERVE = ("serve", "--without-worker", "--port", "0")


def refusal(folder: Path, *command: str, prefix: str = "", **variables: str) -> str:
    """What the command says on standard error, and nothing of it is a traceback.

    ``prefix``: shell commands before it, in a mount namespace of its own.
    """
    argv = [sys.executable, "manage.py", *command]
    if prefix:
        argv = ["unshare", "--mount", "sh", "-ec", f'{prefix}; exec "$@"', "sh", *argv]
    done = subprocess.run(
        argv,
        cwd=settings.BASE_DIR,
        env={"PATH": os.environ["PATH"], "FSBENCH_DATA": str(folder)} | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


@pytest.mark.root
@pytest.mark.parametrize(
    ("command", "variables", "place"),
    [
        (SERVE, {}, "broker"),
        (SERVE, IN_MEMORY, "serve.lock"),
        (("prepare",), IN_MEMORY, ""),
    ],
)
def test_a_read_only_folder(
    command: tuple[str, ...], variables: dict[str, str], place: str, tmp_path: Path
) -> None:
    (tmp_path / "secret-key").write_text("k" * 50)
    mount = f"mount --bind {tmp_path} {tmp_path}; mount -o remount,ro,bind {tmp_path}"
    said = refusal(tmp_path, *command, prefix=mount, **variables)
    assert str(tmp_path / place) in said
    assert "FSBENCH_DATA" in said


def test_a_file_in_its_place(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert "is not a folder" in refusal(file, *SERVE)


def test_something_else_in_the_place_of_its_files(tmp_path: Path) -> None:
    lock, broker = tmp_path / "serve.lock", tmp_path / "broker"
    lock.mkdir()
    broker.touch()
    with pytest.raises(IsADirectoryError) as no_file, exclusive_use(tmp_path):
        pass
    with pytest.raises(FileExistsError) as no_folder:
        private_files.make_folder(broker)
    assert str(lock) in disk_room.data_folder_problem(no_file.value, tmp_path)
    assert str(broker) in disk_room.data_folder_problem(no_folder.value, tmp_path)


@pytest.mark.root
@pytest.mark.parametrize("kilobytes", [16, 3000])
def test_a_disk_without_room(kilobytes: int, tmp_path: Path) -> None:
    """Noticed when the database is opened, and while its tables are made."""
    mount = f"mount -t tmpfs -o size={kilobytes}k none {tmp_path}"
    assert "room" in refusal(tmp_path, *SERVE, prefix=mount)
