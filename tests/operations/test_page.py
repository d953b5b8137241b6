"""The operations page: for administrators, and it says what is wrong."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.operations import chores, installation
from fsbench_web.platform import program_files
from fsbench_web.studies.models import Run, RunState
from tests.runner.conftest import write_run
from tests.studies.conftest import worker_announcement

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_it_is_for_administrators(client: Client) -> None:
    assert client.get("/operations/").status_code == 302
    client.force_login(User.objects.create_user("ada"))
    answer = client.get("/operations/")
    assert answer.status_code == 403
    assert "administrators" in answer.content.decode()


def test_an_empty_site_says_what_to_do(admin: Client) -> None:
    page = admin.get("/operations/").content.decode()
    assert "No worker has announced itself" in page
    assert "No maintenance yet" in page


def test_it_shows_what_goes_wrong(admin: Client) -> None:
    worker = announce(worker_announcement())
    run = write_run(worker, lun="disk1")
    Run.objects.update(
        state=RunState.LOST, ended_at=timezone.now(), reason="<b>Its worker</b> fell silent."
    )
    write_run(worker, lun="disk1")
    Worker.objects.update(seen_at=timezone.now() - timedelta(minutes=5))
    with pytest.raises(ValueError, match="disk"):
        chores.run_chore("Logs of ended runs", lambda: int("disk"))
    page = admin.get("/operations/").content.decode()
    assert f"{worker.name} is silent, with 1 run waiting" in page
    assert f"/runs/{run.pk}/" in page
    assert "&lt;b&gt;Its worker" in page
    assert "1 lost" in page
    assert "Logs of ended runs failed last time: ValueError" in page
    vendor = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[connection.vendor]
    assert vendor in page


def test_a_drained_worker_that_was_stopped_is_no_problem(admin: Client) -> None:
    announce(worker_announcement())
    past = timezone.now() - timedelta(minutes=5)
    Worker.objects.update(seen_at=past, drained_at=past)
    assert "is silent" not in admin.get("/operations/").content.decode()


def test_the_disk_is_measured(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100_000)
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10**9)
    disk = installation.disk_of(tmp_path)
    assert 100_000 <= disk.data_bytes < 10**6
    assert 0 < disk.free_bytes <= disk.total_bytes
    short = installation.Disk(tmp_path, 10**12, 10**9, 0)
    assert short.is_short
    assert not installation.Disk(tmp_path, 10**12, 10**11, 0).is_short


def test_a_disk_of_a_worker_that_is_nearly_full_is_a_problem(admin: Client) -> None:
    worker = announce(worker_announcement())
    Worker.objects.update(capabilities=worker.capabilities | {"full_disks": ["/var/lib/docker"]})
    sentence = f"The disk of /var/lib/docker on {worker.name} is nearly full"
    assert sentence in admin.get("/operations/").content.decode()
    Worker.objects.update(seen_at=timezone.now() - timedelta(minutes=5))
    assert sentence not in admin.get("/operations/").content.decode()


def test_so_is_that_of_the_database_where_it_is_here(
    admin: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(installation, "database_folder", lambda: tmp_path)
    monkeypatch.setattr(installation.disk_room, "short_folders", list)
    sentence = f"The disk of the database ({tmp_path}) is nearly full"
    assert sentence in admin.get("/operations/").content.decode()
    # Of one that is elsewhere nobody here knows.
    monkeypatch.setattr(installation, "database_folder", lambda: None)
    assert "disk of the database" not in admin.get("/operations/").content.decode()


def test_postgresql_tells_its_folder_where_it_is_here_and_may_tell() -> None:
    if connection.vendor == "sqlite":
        assert installation.database_folder() is None
        return
    assert (installation.database_folder() or Path()).name == "data"
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE of_the_web")
        cursor.execute("SET LOCAL ROLE of_the_web")
        assert installation.database_folder() is None
        cursor.execute("RESET ROLE")
        cursor.execute("DROP ROLE of_the_web")


def test_so_is_that_of_temporary_files(
    admin: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(installation.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(installation.disk_room, "short_folders", list)
    sentence = f"The disk of {tmp_path} is nearly full"
    assert sentence in admin.get("/operations/").content.decode()


def test_work_that_fails_keeps_when_it_last_succeeded(monkeypatch: pytest.MonkeyPatch) -> None:
    chores.run_chore("Work", lambda: None)
    monkeypatch.setattr(chores.socket, "gethostname", lambda: "lab2")
    with pytest.raises(ValueError, match="x"):
        chores.run_chore("Work", lambda: int("x"))
    chore = installation.Chore.objects.get()
    assert chore.done_at is not None
    assert chore.failed_at is not None
    assert chore.failed_at >= chore.done_at
    assert chore.by == "lab2"
    chores.run_chore("Work", lambda: None)
    assert installation.Chore.objects.get().problem == ""


def test_it_says_that_files_were_exchanged_and_reads_none_of_them(
    admin: Client, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new migration fits to no code of before: the page was an error until the restart."""
    settings.BASE_DIR = tmp_path
    new = tmp_path / "templates" / "new.html"
    monkeypatch.setenv("OWN_FILES_AT_START", "")  # and as it was in the end
    program_files.note()
    new.parent.mkdir()
    new.write_text("new")
    settings.MIGRATION_MODULES = {"compare": "fsbench_web.nosuch.migrations"}
    page = admin.get("/operations/").content.decode()
    assert "The files of fsbench changed" in page
    new.unlink()
    settings.MIGRATION_MODULES = {}
    assert "The files of fsbench" not in admin.get("/operations/").content.decode()
