"""What was backed up comes back: the same scores and raw bytes, and nothing goes on by itself."""

import json
import shutil
import signal
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

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
    made: list[str] = []

    def make() -> Site:
        name = f"backup_{next(_numbers)}"
        folder = tmp_path_factory.mktemp("sites") / name
        if request.param == "sqlite":
            return Site(folder)
        url = request.getfixturevalue("postgres_url")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        made.append(name)
        head, _, parameters = url.partition("?")
        return Site(folder, f"{head.rpartition('/')[0]}/{name}?{parameters}")

    yield make
    for name in made:
        with psycopg.connect(request.getfixturevalue("postgres_url"), autocommit=True) as there:
            there.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


class Kept:
    """A site with data and runs that are not over, and its backup."""

    def __init__(self, site: Site, folder: Path) -> None:
        site.manage("migrate", "--verbosity", "0", "--skip-checks")
        site.manage(
            *("import_results", str(SAMPLE), "--study", "Kept"),
            *("--filesystem", "ext4", "--configuration", "ext4"),
        )
        self.site, self.folder = site, folder
        self.under_way, self.waiting = site.step("runs_that_are_not_over")
        self.content = site.step("content")
        self.said = site.manage("backup", str(folder))

    def copy(self, folder: Path) -> Path:
        return Path(shutil.copytree(self.folder, folder))


@pytest.fixture(scope="module")
def kept(new_site: Callable[[], Site], tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return Kept(new_site(), tmp_path_factory.mktemp("kept") / "backup")


def manifest_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def test_what_was_backed_up_comes_back(kept: Kept, new_site: Callable[[], Site]) -> None:
    assert kept.content["scores"]
    assert kept.content["raw"]
    assert "rows of" in kept.said
    assert kept.folder.stat().st_mode & 0o777 == 0o700
    manifest = manifest_of(kept.folder)
    assert manifest["counts"]["studies_artefact"] == len(kept.content["raw"])
    name = {"sqlite": "database.sqlite3", "postgresql": "database.dump"}[manifest["database"]]
    assert name in {file["path"] for file in manifest["files"]}

    other = new_site()
    said = other.manage("restore", str(kept.folder))
    assert f"are lost: [{kept.under_way}]" in said
    assert other.step("content") == kept.content
    there = other.step("states")
    assert there["runs"][str(kept.under_way)][0] == "lost"
    assert there["runs"][str(kept.waiting)] == ["queued", ""]
    assert there["leases"] == 0
    # Nobody erases a disk for a job of last week before somebody has looked.
    assert there["drained"] == [["lab", "manage.py restore"]]

    # What is there now is not lost without its name.
    done = other.try_to("restore", str(kept.folder))
    assert done.returncode == 1
    assert "is not empty" in done.stderr
    database = done.stderr.strip().rpartition("--overwrite ")[2]
    done = other.try_to("restore", str(kept.folder), "--overwrite", "another")
    assert done.returncode == 1
    assert other.step("content") == kept.content
    assert other.step("spoil_raw_output") > 0
    other.manage("restore", str(kept.folder), "--overwrite", database)
    assert other.step("content") == kept.content


def test_a_damaged_backup_is_refused_before_anything_is_lost(
    kept: Kept, new_site: Callable[[], Site], tmp_path: Path
) -> None:
    folder = kept.copy(tmp_path / "damaged")
    (dump,) = folder.glob("database.*")
    data = bytearray(dump.read_bytes())
    data[len(data) // 2] ^= 1
    dump.write_bytes(data)
    other = new_site()
    done = other.try_to("restore", str(folder))
    assert done.returncode == 1
    assert "The backup is damaged" in done.stderr
    assert "Traceback" not in done.stderr
    dump.unlink()
    assert "is missing" in other.try_to("restore", str(folder)).stderr


def test_raw_output_that_is_not_what_it_was_is_told(
    kept: Kept, new_site: Callable[[], Site], tmp_path: Path
) -> None:
    site = new_site()
    site.manage("restore", str(kept.folder))
    site.step("spoil_raw_output")
    site.manage("backup", str(tmp_path / "spoiled"))
    done = new_site().try_to("restore", str(tmp_path / "spoiled"))
    assert done.returncode == 1
    assert "Raw output does not have its digest" in done.stderr


def test_measurements_that_cannot_be_read_are_told(
    kept: Kept, new_site: Callable[[], Site], tmp_path: Path
) -> None:
    site = new_site()
    site.manage("restore", str(kept.folder))
    assert site.step("measurements")
    site.step("spoil_measurements")
    site.manage("backup", str(tmp_path / "spoiled"))
    done = new_site().try_to("restore", str(tmp_path / "spoiled"))
    assert done.returncode == 1
    assert "Measurements cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_backup_of_before_measurements_were_columns_comes_back(
    new_site: Callable[[], Site], tmp_path: Path
) -> None:
    """And so does what somebody migrates where it is, also when that is killed on its way."""
    old = new_site()
    old.step("tables_of_before")
    rows = old.step("old_rows")
    assert len(rows) == 40 * 117
    old.manage("backup", str(tmp_path / "old"))
    other = new_site()
    other.manage("restore", str(tmp_path / "old"))
    assert other.step("measurements") == rows

    assert old.try_step("killed_while_moving").returncode == -signal.SIGKILL
    assert len(old.step("measurements")) == 3 * 117
    old.manage("migrate", "--verbosity", "0", "--skip-checks")
    assert old.step("measurements") == rows


def test_a_backup_of_a_later_version_is_refused(
    kept: Kept, new_site: Callable[[], Site], tmp_path: Path
) -> None:
    folder = kept.copy(tmp_path / "later")
    manifest = manifest_of(folder)
    manifest["migrations"].append("studies.9999_from_the_future")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    done = new_site().try_to("restore", str(folder))
    assert done.returncode == 1
    assert "later version" in done.stderr


@pytest.mark.parametrize("change", [{"format": 99}, {"files": [{"path": "../x"}]}, {"counts": 1}])
def test_a_manifest_that_makes_no_sense_is_refused(
    kept: Kept, new_site: Callable[[], Site], tmp_path: Path, change: dict[str, object]
) -> None:
    folder = kept.copy(tmp_path / "odd")
    (folder / "manifest.json").write_text(json.dumps(manifest_of(folder) | change))
    done = new_site().try_to("restore", str(folder))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("CommandError: ")


def test_a_folder_that_is_there_is_not_written_to(tmp_path: Path) -> None:
    done = Site(tmp_path / "site").try_to("backup", str(tmp_path))
    assert done.returncode == 1
    assert "is there already" in done.stderr
