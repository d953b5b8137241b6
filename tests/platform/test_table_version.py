"""Tables of another version are neither served nor written to."""

import fcntl
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from pytest_django.fixtures import Settings

from fsbench_web.platform import table_version
from fsbench_web.serving import preparation

pytestmark = pytest.mark.django_db
NEXT = ("studies", "9999_of_the_next_version")


@pytest.fixture
def upgraded() -> None:
    MigrationRecorder(connection).record_applied(*NEXT)


@pytest.fixture(autouse=True)
def _nothing_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_version, "_at_start", None)


def test_tables_of_this_version_are_no_problem() -> None:
    # Of an app that is not installed any more, as the admin was.
    MigrationRecorder(connection).record_applied("admin", "0001_initial")
    assert table_version.problem() == ""


def test_those_of_a_later_version_are_named(upgraded: None) -> None:
    assert "later version of fsbench (studies.9999" in table_version.unsuited()
    assert table_version.problem() == table_version.unsuited()


# Whoever installed 0.3.0, 0.4.0 and versions between has these.
SQUASHED = [
    "accounts.0001_squashed_0007_submitting",
    "catalog.0001_squashed_0008_lun_fingerprint",
    "catalog.0001_squashed_0011_mount_luns",
    "compare.0001_squashed_0008_watches_of_owners",
    "compare.0001_squashed_0012_permalink_views",
    "imports.0001_squashed_0002_pipeline",
    "imports.0001_squashed_0003_mappings_of_authors",
    "studies.0001_squashed_0021_drop_measurement_rows",
    "studies.0001_squashed_0043_alike_series",
]


@pytest.mark.parametrize("name", SQUASHED)
def test_what_an_earlier_version_had_squashed_is_known(name: str) -> None:
    """A site that began with it is upgraded, and its backups are restored."""
    app, _, migration = name.partition(".")
    MigrationRecorder(connection).record_applied(app, migration)
    assert table_version.unsuited() == ""


@pytest.mark.parametrize(
    "lacking",
    ["studies.0047_trials_judged_again", "operations.0002_backup", "compare.0003_watches"],
)
def test_tables_of_before_0_11_are_refused(lacking: str) -> None:
    """Django would call the migration unknown that replaces what they have in part."""
    MigrationRecorder(connection).record_unapplied(*lacking.split("."))
    assert "Upgrade it to 0.11 first" in table_version.problem()
    with pytest.raises(CommandError, match=r"0\.11 first"):
        preparation.prepare_database(lambda line: None)
    with pytest.raises(CommandError, match=r"0\.11 first"):
        call_command("migrate", skip_checks=False, verbosity=0)


def test_a_squash_of_what_is_not_known_is_later() -> None:
    assert table_version.unknown_migrations(
        [
            "studies.0001_squashed_9999_of_the_next_version",
            "studies.0001_initial",
            "new.0001_initial",
        ]
    ) == ["new.0001_initial", "studies.0001_squashed_9999_of_the_next_version"]


def test_those_of_an_earlier_version_are_counted() -> None:
    MigrationRecorder(connection).record_unapplied("sessions", "0001_initial")
    assert table_version.missing_migrations() == ["sessions.0001_initial"]
    assert "for this version: 1 migration is missing" in table_version.problem()


def _is_free() -> bool:
    """Whether another process could change the tables now."""
    if connection.vendor == "sqlite":
        with Path(connection.settings_dict["NAME"]).with_name("prepare.lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [table_version.CHANGING])
        return bool(cursor.fetchone()[0])


def test_of_two_that_prepare_the_tables_one_waits(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two hosts that are started at once would make the same tables, and one of them fail."""
    settings.DATA_DIR = tmp_path
    free: dict[str, bool] = {}
    monkeypatch.setattr(
        preparation, "call_command", lambda name, **options: free.update({name: _is_free()})
    )
    preparation.prepare_database(lambda line: None)
    assert free == {"migrate": False, "load_published": False}
    assert _is_free()


def test_nothing_is_prepared_or_served_on_tables_of_a_later_version(upgraded: None) -> None:
    """Going back to the version before is a restore; without one it would write into them."""
    with pytest.raises(CommandError, match="later version"):
        preparation.prepare_database(lambda line: None)
    with pytest.raises(CommandError, match="later version"):
        preparation.require_prepared()


def test_it_is_seen_that_somebody_migrated() -> None:
    assert not table_version.has_changed()  # nothing was noted: this process holds no run
    table_version.note()
    assert not table_version.has_changed()
    MigrationRecorder(connection).record_applied(*NEXT)
    assert table_version.has_changed()
