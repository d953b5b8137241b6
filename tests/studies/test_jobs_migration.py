"""Orders of a database of before are jobs: no row, number or relation is another one."""

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import IntegrityError

BEFORE, AFTER = ("studies", "0017_order_body_digest"), ("studies", "0018_jobs")


def migrated(target: tuple[str, str]) -> Any:
    """The models of the database once it is at ``target``."""
    executor = MigrationExecutor(connection)
    executor.migrate([target])
    return executor.loader.project_state([target]).apps


@pytest.fixture
def former(transactional_db: None) -> Any:
    yield migrated(BEFORE)
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_every_order_is_a_job_and_has_its_runs(former: Any) -> None:
    study = former.get_model("studies", "Study").objects.create(slug="lab", title="Lab")
    configuration = former.get_model("catalog", "FilesystemConfiguration").objects.create(
        filesystem="ext4", label="ext4"
    )
    series = former.get_model("studies", "Series").objects.create(
        key="k", study=study, configuration=configuration
    )
    orders = [
        former.get_model("studies", "Submission").objects.create(
            token=f"t{number}", study=study, priority=number, document={"seed": number}
        )
        for number in range(3)
    ]
    runs = [
        former.get_model("studies", "Run").objects.create(
            series=series, repeat=repeat, origin="measured", submission=order
        )
        for repeat, order in enumerate([orders[0], orders[2], orders[2], None], start=1)
    ]
    now = migrated(AFTER)
    job, run = now.get_model("studies", "Job"), now.get_model("studies", "Run")
    kept = job.objects.order_by("pk").values_list("pk", "token", "study", "priority", "document")
    assert list(kept) == [
        (order.pk, order.token, study.pk, order.priority, order.document) for order in orders
    ]
    assert list(run.objects.order_by("pk").values_list("pk", "job")) == [
        (one.pk, one.submission_id) for one in runs
    ]
    with pytest.raises(IntegrityError):
        job.objects.create(token="far", priority=11)
    # The next number is one that no job had.
    assert job.objects.create(token="next").pk > orders[-1].pk
    job.objects.filter(pk=orders[2].pk).delete()
    back = migrated(BEFORE)
    again = back.get_model("studies", "Run").objects.order_by("pk").values_list("submission")
    assert [row[0] for row in again] == [orders[0].pk, None, None, None]
