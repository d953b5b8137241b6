"""Orders of a database of before are jobs: no row, number or relation is another one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import StateApps
from django.db.utils import IntegrityError

BEFORE, AFTER = ("studies", "0017_order_body_digest"), ("studies", "0018_jobs")
pytestmark = pytest.mark.django_db(transaction=True)


def migrate(*, back: bool) -> StateApps:
    """The models once this migration is applied, or taken back; those after it are left alone."""
    loader = MigrationLoader(connection, replace_migrations=False)
    migration, state = loader.get_migration(*AFTER), loader.project_state(BEFORE)
    with connection.schema_editor() as editor:
        (migration.unapply if back else migration.apply)(state, editor)
    return loader.project_state(BEFORE if back else AFTER).apps


@pytest.fixture
def tables() -> Iterator[None]:
    """SQLite makes a table anew of the models of then: columns of later would be gone for good."""
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    with closing(sqlite3.connect(":memory:")) as backup:
        connection.connection.backup(backup)
        yield
        backup.backup(connection.connection)


@pytest.fixture
def before(tables: None) -> Iterator[StateApps]:
    apps = migrate(back=True)
    is_back = True
    try:
        yield apps
        is_back = "studies_submission" in connection.introspection.table_names()
    finally:
        if is_back:
            migrate(back=False)


def test_every_order_is_a_job_and_has_its_runs(before: StateApps) -> None:
    def create(app: str, name: str, **values: Any) -> Any:
        return before.get_model(app, name).objects.create(**values)

    study = create("studies", "Study", slug="lab", title="Lab")
    configuration = create("catalog", "FilesystemConfiguration", filesystem="ext4", label="ext4")
    series = create("studies", "Series", key="k", study=study, configuration=configuration)
    orders = [
        create(
            *("studies", "Submission"),
            **{"token": f"t{number}", "study": study, "priority": number},
            document={"seed": number},
        )
        for number in range(3)
    ]
    runs = [
        create("studies", "Run", series=series, repeat=repeat, origin="measured", submission=order)
        for repeat, order in enumerate([orders[0], orders[2], orders[2], None], start=1)
    ]
    now = migrate(back=False)
    job, run = now.get_model("studies", "Job"), now.get_model("studies", "Run")
    rows = job.objects.order_by("pk").values_list("pk", "token", "study", "priority", "document")
    assert list(rows) == [
        (order.pk, order.token, study.pk, order.priority, order.document) for order in orders
    ]
    assert list(run.objects.order_by("pk").values_list("pk", "job")) == [
        (old_run.pk, old_run.submission_id) for old_run in runs
    ]
    with pytest.raises(IntegrityError):
        job.objects.create(token="far", priority=11)
    # The next number is one that no job had.
    assert job.objects.create(token="next").pk > orders[-1].pk


def test_it_can_be_taken_back(before: StateApps) -> None:
    before.get_model("studies", "Submission").objects.create(token="kept", priority=3)
    job = migrate(back=False).get_model("studies", "Job")
    assert job.objects.get().token == "kept"
    again = migrate(back=True)
    assert again.get_model("studies", "Submission").objects.get().priority == 3
