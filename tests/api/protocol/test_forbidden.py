"""What a right is missing for is 403, as the description says, and not a mistake of the body."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import LunGrant, Role, Team
from fsbench_web.catalog.models import Lun
from fsbench_web.studies.models import Job, Run, RunState, Study
from tests.accounts.people import person
from tests.api.conftest import TABLE, JobBody
from tests.api.protocol.test_hostile import PROBLEM
from tests.api.protocol.test_idempotency import DOCUMENT, sent

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(lun: Lun) -> User:
    return person(Role.OPERATOR, "olga")


@pytest.fixture
def hers(operator: User) -> Client:
    return Client(headers={"Authorization": f"Bearer {tokens.create(operator, 'o')[1]}"})


def refused(response: Any, field: str) -> None:
    assert response.status_code == 403, response.content
    assert response["Content-Type"] == PROBLEM
    assert field in [error["field"] for error in response.json()["errors"]]
    assert not Run.objects.filter(state=RunState.QUEUED).exists()


def test_a_job_on_a_lun_that_was_not_granted(hers: Client, job: JobBody) -> None:
    refused(sent(hers, "runs", job), "lun")
    by_document = {"document": DOCUMENT, "confirm": "lun0"}
    refused(sent(hers, "sweeps", by_document), "lun")
    refused(sent(hers, "sweeps/preview", {"document": DOCUMENT}, key=""), "lun")
    # Whatever else is wrong is told too.
    both = sent(hers, "runs", job | {"confirm": ""})
    refused(both, "lun")
    assert {error["field"] for error in both.json()["errors"]} == {"lun", "confirm"}


def test_a_job_into_a_study_of_another_team(
    hers: Client, operator: User, lun: Lun, job: JobBody
) -> None:
    LunGrant.objects.create(lun=lun, user=operator)
    Study.objects.create(
        slug="array-test", title="Array test", team=Team.objects.create(name="Others")
    )
    refused(sent(hers, "runs", job), "study")
    assert sent(hers, "runs", job | {"study": "Mine"}).status_code == 201


def test_a_retry_after_the_grant_is_gone(
    hers: Client, operator: User, lun: Lun, job: JobBody
) -> None:
    grant = LunGrant.objects.create(lun=lun, user=operator)
    runs = sent(hers, "runs", job).json()["runs"]
    Run.objects.update(state=RunState.FAILED)
    grant.delete()
    refused(sent(hers, f"runs/{runs[0]['id']}/retry", {"confirm": "lun0"}, key=""), "confirm")
    job_id = Job.objects.get().pk
    refused(sent(hers, f"sweeps/{job_id}/retry", {"confirm": "lun0"}, key=""), "confirm")


@pytest.mark.parametrize("path", ["imports", "imports/previews"])
def test_an_import_into_a_study_of_another_team(path: str, hers: Client) -> None:
    team = Team.objects.create(name="Others")
    Study.objects.create(slug="lab", title="Lab", team=team)

    fields = {"study": "lab", "filesystem": "ext4", "configuration": "ext4"}
    file = SimpleUploadedFile("a.csv", TABLE % 1)
    response = hers.post(f"/api/v1/{path}", fields | {"file": file})
    assert response.status_code == 403, response.content
    assert response["Content-Type"] == PROBLEM
    assert set(response.json()["errors"][0]) == {
        *("file", "line", "column", "message"),
        *("code", "parameters"),
    }
    assert not Run.objects.exists()
