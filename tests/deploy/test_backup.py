"""What was backed up comes back: the same scores and raw bytes, and nothing goes on by itself.

Backup and restore are processes of their own, as an administrator has them; what surrounds them
shares one where it can. What is refused before the database is asked is shown without any.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError
from django.utils import timezone
from pytest_django.fixtures import Settings

from fsbench_web.operations import backups
from fsbench_web.platform import clock
from fsbench_web.serving import backup as backing_up
from fsbench_web.serving.backup import describe
from tests.deploy.site import ROOT, Site

SAMPLE = ROOT / "tests/core/formats/samples/iozone-3.489-tests-0-1-2.txt"
_numbers = count()


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def new_site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Site]]:
    """``new_site()`` gives a site whose database is empty."""
    names: list[str] = []

    def make() -> Site:
        name = f"backup_{next(_numbers)}"
        folder = tmp_path_factory.mktemp("sites") / name
        if request.param == "sqlite":
            return Site(folder)
        url = request.getfixturevalue("postgres_url")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        names.append(name)
        head, _, parameters = url.partition("?")
        return Site(folder, f"{head.rpartition('/')[0]}/{name}?{parameters}")

    yield make
    for name in names:
        with psycopg.connect(
            request.getfixturevalue("postgres_url"), autocommit=True
        ) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


class BackedUpSite:
    """A site with data and runs that are not over, and its backup."""

    def __init__(self, site: Site, folder: Path) -> None:
        *_, (self.under_way, self.waiting), self.content = site.steps(
            ["migrate", "--verbosity", "0", "--skip-checks"],
            [
                *("import_results", str(SAMPLE), "--study", "Kept"),
                *("--filesystem", "ext4", "--configuration", "ext4"),
            ],
            "runs_that_are_not_over",
            "content",
        )
        self.site, self.folder = site, folder
        self.said = site.manage("backup", str(folder))

    def copy(self, folder: Path) -> Path:
        return Path(shutil.copytree(self.folder, folder))


@pytest.fixture(scope="module")
def backup(new_site: Callable[[], Site], tmp_path_factory: pytest.TempPathFactory) -> BackedUpSite:
    return BackedUpSite(new_site(), tmp_path_factory.mktemp("kept") / "backup")


def manifest_of(folder: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return manifest


def test_what_was_backed_up_comes_back(
    backup: BackedUpSite, new_site: Callable[[], Site], tmp_path: Path
) -> None:
    assert backup.content["scores"]
    assert backup.content["raw"]
    assert backup.folder.stat().st_mode & 0o777 == 0o700
    manifest = manifest_of(backup.folder)
    assert f"{manifest['database']}, " in backup.said
    name = {"sqlite": "database.sqlite3", "postgresql": "database.dump"}[manifest["database"]]
    assert name in {file["path"] for file in manifest["files"]}

    other = new_site()
    output = other.manage("restore", str(backup.folder))
    assert f"are lost: [{backup.under_way}]" in output
    content, states, unnamed, misnamed, still, spoiled, _ = other.steps(
        "content",
        "states",
        ["restore", str(backup.folder)],
        ["restore", str(backup.folder), "--overwrite", "another"],
        "content",
        "spoil_raw_output",
        ["backup", str(tmp_path / "spoiled")],
    )
    assert content == backup.content
    assert states["runs"][str(backup.under_way)][0] == "lost"
    assert states["runs"][str(backup.waiting)] == ["queued", ""]
    assert states["leases"] == 0
    # Nobody erases a disk for a job of last week before somebody has looked.
    assert states["drained"] == [["lab", "manage.py restore"]]
    assert states["noted"] == 1
    assert states["sessions"] == 0
    # It has made none of its own.
    assert states["backups"] == 0
    assert backup.site.step("states")["backups"] == 1

    # What is there now is not lost without its name.
    assert "is not empty" in unnamed
    assert misnamed.startswith("refused: ")
    assert still == backup.content
    database = unnamed.strip().rpartition("--overwrite ")[2]
    assert spoiled > 0
    third = new_site()
    done = third.try_to("restore", str(tmp_path / "spoiled"))
    assert done.returncode == 1
    assert "Raw output does not have its digest" in done.stderr
    assert "restore an older backup" in done.stderr
    assert "all its workers are drained" in done.stderr
    assert third.step("states")["drained"] == [["lab", "manage.py restore"]]
    other.manage("restore", str(backup.folder), "--overwrite", database)
    content, measurements, _, _ = other.steps(
        "content", "measurements", "spoil_measurements", ["backup", str(tmp_path / "unreadable")]
    )
    assert content == backup.content

    assert measurements
    done = new_site().try_to("restore", str(tmp_path / "unreadable"))
    assert done.returncode == 1
    assert "Measurements cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_site_that_began_with_an_older_version_is_restored(
    backup: BackedUpSite, new_site: Callable[[], Site], tmp_path: Path
) -> None:
    folder = backup.copy(tmp_path / "older")
    manifest = manifest_of(folder)
    # Its squashed migrations had other names, and its manifest counted rows.
    manifest["migrations"].append("studies.0001_squashed_0021_drop_measurement_rows")
    manifest |= {"counts": {"studies_run": 1}, "server": "of 0.3.0"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    other = new_site()
    other.manage("restore", str(folder))
    assert other.step("states")["drained"] == [["lab", "manage.py restore"]]


def test_a_restore_that_is_killed_behind_its_commit_leaves_no_queue(
    backup: BackedUpSite, new_site: Callable[[], Site]
) -> None:
    other = new_site()
    done = other.try_steps(f"killed_behind_loading {backup.folder}")
    assert done.returncode == -signal.SIGKILL
    [states] = other.steps("states")
    assert states["runs"][str(backup.waiting)] == ["queued", ""]
    assert states["drained"] == [["lab", "manage.py restore"]]


@pytest.mark.parametrize("new_site", ["sqlite"], indirect=True)
def test_who_has_sqlites_file_open_is_noticed(backup: BackedUpSite) -> None:
    """As a worker has that nobody stopped, whatever its user and container."""
    (file,) = backup.site.folder.glob("*.sqlite3")
    with closing(sqlite3.connect(file)) as worker:
        worker.execute("SELECT count(*) FROM catalog_worker").fetchone()
        done = backup.site.try_to("restore", str(backup.folder), "--overwrite", file.name)
    assert done.returncode == 1
    assert "has the file open" in done.stderr
    assert backup.site.step("content") == backup.content
    assert not list(backup.site.folder.glob("tmp*"))


@pytest.mark.parametrize(
    "new_site", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)
def test_who_is_connected_as_another_role_is_noticed(backup: BackedUpSite) -> None:
    """PostgreSQL tells a role little of the connections of others, and not what they are."""
    url = backup.site.environment["DATABASE_URL"]
    variables = backup.site.environment
    with psycopg.connect(url, autocommit=True) as worker:
        worker.execute("CREATE ROLE of_the_web")
        backup.site.environment = variables | {"PGOPTIONS": "-c role=of_the_web"}
        done = backup.site.try_to("restore", str(backup.folder), "--overwrite", "postgres")
        backup.site.environment = variables
        worker.execute("DROP ROLE of_the_web")
    assert done.returncode == 1
    assert "Somebody is connected to the database: unknown address (" in done.stderr


NO_TOOL = ""
ANOTHER_FORMAT = "#!/bin/sh\necho 'unsupported version (1.16) in file header' >&2; exit 1\n"
# The dump itself, up to a point: killed, damaged behind what the server can know, too much for it.
CUT = """#!/bin/sh
{0} "$@" | head -n 300
exit 137
"""
REFUSED = """#!/bin/sh
{0} "$@"
echo 'SELECT 1/0;'
yes 'SELECT 1;' | head -n 1000000
"""


@pytest.mark.parametrize(
    "new_site", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)
@pytest.mark.parametrize(
    ("script", "says"),
    [
        (NO_TOOL, "pg_restore is not installed"),
        (ANOTHER_FORMAT, "unsupported version"),
        (CUT, "pg_restore failed"),
        (REFUSED, "division by zero"),
    ],
    ids=["no tool", "another format", "cut", "refused"],
)
def test_nothing_is_lost_where_the_dump_cannot_be_loaded(
    backup: BackedUpSite, tmp_path: Path, script: str, says: str
) -> None:
    database = backup.site.try_to("restore", str(backup.folder)).stderr.strip().rpartition(" ")[2]
    variables = backup.site.environment
    real = shutil.which("pg_restore")
    if script:
        (tmp_path / "pg_restore").write_text(script.format(real))
        (tmp_path / "pg_restore").chmod(0o755)
    behind = f":{variables['PATH']}" if script else ""
    backup.site.environment = variables | {"PATH": f"{tmp_path}{behind}"}
    done = backup.site.try_to("restore", str(backup.folder), "--overwrite", database)
    backup.site.environment = variables
    assert done.returncode == 1
    assert says in done.stderr
    assert "Nothing changed" in done.stderr
    assert backup.site.step("content") == backup.content


@pytest.mark.parametrize("new_site", ["sqlite"], indirect=True)
def test_nothing_is_lost_where_there_is_no_room(backup: BackedUpSite, tmp_path: Path) -> None:
    other = tmp_path / "large"
    (dump,) = backup.copy(other).glob("database.*")
    with sqlite3.connect(dump) as database:
        database.execute("CREATE TABLE more AS SELECT zeroblob(8000000) AS bytes")
    manifest = manifest_of(other) | {"files": [describe(dump).model_dump()]}
    (other / "manifest.json").write_text(json.dumps(manifest))
    name = backup.site.try_to("restore", str(other)).stderr.strip().rpartition(" ")[2]
    done = backup.site.try_to("restore", str(other), "--overwrite", name, largest_file=4 << 20)
    assert done.returncode == 1
    assert "Nothing changed" in done.stderr
    assert backup.site.step("content") == backup.content


@pytest.fixture
def refusal(tmp_path: Path, settings: Settings) -> Callable[[Path], str]:
    """Why this process refuses to restore a folder. It may ask no database: pytest-django fails
    the test that does.
    """
    settings.DATA_DIR = tmp_path / "site"
    settings.DATA_DIR.mkdir()

    def refused(folder: Path) -> str:
        with pytest.raises(CommandError) as error:
            call_command("restore", str(folder))
        return str(error.value)

    return refused


# What of a folder is looked at before the database is the same on any.
on_one = pytest.mark.parametrize("new_site", ["sqlite"], indirect=True)


@on_one
def test_a_damaged_backup_is_refused_before_anything_is_lost(
    backup: BackedUpSite, refusal: Callable[[Path], str], tmp_path: Path
) -> None:
    folder = backup.copy(tmp_path / "damaged")
    (dump,) = folder.glob("database.*")
    data = bytearray(dump.read_bytes())
    data[len(data) // 2] ^= 1
    dump.write_bytes(data)
    assert "The backup is damaged" in refusal(folder)
    os.truncate(dump, 2**43)  # a hole, which nobody has the time to read
    assert "The backup is damaged" in refusal(folder)
    dump.unlink()
    assert "is missing" in refusal(folder)


@on_one
def test_a_backup_of_a_later_version_is_refused(
    backup: BackedUpSite, refusal: Callable[[Path], str], tmp_path: Path
) -> None:
    folder = backup.copy(tmp_path / "later")
    manifest = manifest_of(folder)
    manifest["migrations"].append("studies.9999_from_the_future")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert "later version" in refusal(folder)


@on_one
def test_a_backup_of_before_0_11_is_refused(
    backup: BackedUpSite, refusal: Callable[[Path], str], tmp_path: Path
) -> None:
    folder = backup.copy(tmp_path / "old")
    manifest = manifest_of(folder)
    manifest["migrations"].remove("studies.0047_trials_judged_again")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert "with 0.11" in refusal(folder)


@on_one
@pytest.mark.parametrize(
    "change",
    [
        *({"format": 99}, {"files": [{"path": "../x"}]}, {"migrations": [1]}),
        *({"files": []}, {"taken_at": None}, {"database": ["sqlite"]}),
        {"files": [{"path": 1, "size_bytes": 1, "sha256": ""}]},
        {"files": [{"path": "database.\0", "size_bytes": 1, "sha256": ""}]},
    ],
    ids=str,
)
def test_a_manifest_that_makes_no_sense_is_refused(
    backup: BackedUpSite, refusal: Callable[[Path], str], tmp_path: Path, change: dict[str, object]
) -> None:
    folder = backup.copy(tmp_path / "odd")
    (folder / "manifest.json").write_text(json.dumps(manifest_of(folder) | change))
    assert refusal(folder)


@on_one
@pytest.mark.parametrize("text", ['"a text"', "[]", "[" * 100_000, "nothing"], ids=len)
def test_a_manifest_of_another_kind_is_refused(
    backup: BackedUpSite, refusal: Callable[[Path], str], tmp_path: Path, text: str
) -> None:
    folder = backup.copy(tmp_path / "another")
    (folder / "manifest.json").write_text(text)
    assert "cannot be read" in refusal(folder)


@on_one
def test_a_manifest_that_names_two_databases_is_refused(
    backup: BackedUpSite, refusal: Callable[[Path], str], tmp_path: Path
) -> None:
    folder = backup.copy(tmp_path / "two")
    shutil.copyfile(folder / "database.sqlite3", folder / "database.dump")
    manifest = manifest_of(folder)
    manifest["files"].append(describe(folder / "database.dump").model_dump())
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert "2 files of a database" in refusal(folder)


@pytest.mark.parametrize("fails", [True, False])
def test_a_stack_whose_restore_failed_says_that_it_is_stopped(tmp_path: Path, fails: bool) -> None:
    """With a compose that writes down what it is asked for."""
    (tmp_path / "compose").write_text(
        f'#!/bin/sh\necho "$1" >>{tmp_path}/asked\n[ "$1" != run ] || exit {int(fails)}\n'
    )
    (tmp_path / "compose").chmod(0o755)
    (tmp_path / "backup.tar").touch()
    done = subprocess.run(
        [str(ROOT / "deploy/restore"), str(tmp_path / "backup.tar")],
        env=os.environ | {"COMPOSE": str(tmp_path / "compose")},
        capture_output=True,
        text=True,
    )
    commands = (tmp_path / "asked").read_text().split()
    assert commands == ["stop", "run", *([] if fails else ["start"])]
    assert (done.returncode != 0) == fails
    assert ("are stopped" in done.stderr) == fails


@pytest.mark.parametrize(
    ("fails_at", "asked", "said"),
    [
        ("", ["made"], ""),
        ("taking", ["failed"], ""),
        ("noting", ["made"], "is whole, but the page of operations could not be told"),
    ],
)
def test_a_backup_of_the_stack_is_noted_when_its_file_is_there(
    tmp_path: Path, fails_at: str, asked: list[str], said: str
) -> None:
    (tmp_path / "compose").write_text(
        f"""#!/bin/sh
        case "$*" in
            *--note*) echo "$9 $7" >>{tmp_path}/asked; [ "{fails_at}" != noting ];;
            *) for place; do :; done; echo "$place" >{tmp_path}/place
               echo tar; [ "{fails_at}" != taking ];;
        esac
        """
    )
    (tmp_path / "compose").chmod(0o755)
    done = subprocess.run(
        [str(ROOT / "deploy/backup"), "b.tar"],
        cwd=tmp_path,
        env=os.environ | {"COMPOSE": str(tmp_path / "compose")},
        capture_output=True,
        text=True,
    )
    is_there = fails_at != "taking"
    assert (done.returncode == 0) == is_there
    assert (tmp_path / "b.tar").exists() == is_there
    assert not (tmp_path / "b.tar.part").exists()
    place = (tmp_path / "place").read_text().strip()
    assert place.endswith(f":{tmp_path}/b.tar")
    assert (tmp_path / "asked").read_text().split("\n")[:-1] == [f"{asked[0]} {place}"]
    assert said in done.stderr


@on_one
@pytest.mark.parametrize(
    "why",
    [CommandError("Runs [1] are not the same"), OperationalError("disk is full"), KeyError("x")],
)
def test_whatever_ends_it_behind_the_loading_the_database_is_said_to_be_replaced(
    backup: BackedUpSite,
    refusal: Callable[[Path], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    why: Exception,
) -> None:
    def fails(*names: object, **options: object) -> None:
        raise why

    monkeypatch.setattr(backing_up, "_refuse_to_overwrite", lambda overwrite: None)
    monkeypatch.setattr(clock, "now", timezone.now)
    monkeypatch.setattr(backing_up, "load", lambda dump, drained_at: None)
    monkeypatch.setattr(backing_up, "call_command", fails)
    if not isinstance(why, KeyError):
        said = refusal(backup.folder)
        assert str(why) in said
    else:
        with pytest.raises(KeyError):
            call_command("restore", str(backup.folder))
        said = capsys.readouterr().out
    assert "The database was replaced anyway; all its workers are drained." in said
    assert "restore again with --overwrite" in said


@pytest.mark.parametrize("new_site", ["sqlite"], indirect=True)
def test_a_backup_for_which_there_is_no_room_is_refused_and_leaves_nothing(
    backup: BackedUpSite, tmp_path: Path
) -> None:
    done = backup.site.try_to("backup", str(tmp_path / "large"), largest_file=1 << 18)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backups, "begin", lambda place: None)
    with pytest.raises(CommandError, match="is there already"):
        call_command("backup", str(tmp_path))
    assert list(tmp_path.iterdir()) == []
