"""How much of what nobody imported one account may have in the database."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.imports import uploads
from fsbench_web.imports.models import Import, ImportFile, ImportState
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.imports.sources import Target, unpack

pytestmark = pytest.mark.django_db
TABLE = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,%d,KB/s\n"
FORM = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}


@pytest.fixture(autouse=True)
def three(settings: Any) -> None:
    settings.MOST_PREVIEWS = 3


def upload(client: Client, number: int = 1, content: bytes = b"") -> Any:
    file = SimpleUploadedFile(f"{number}.csv", content or TABLE % number)
    return client.post("/imports/new/", {**FORM, "file": file})


def preview(client: Client, number: int = 1) -> Any:
    file = SimpleUploadedFile(f"{number}.csv", TABLE % number)
    return client.post("/api/v1/imports/previews", {**FORM, "file": file})


@pytest.fixture
def api(ada: User) -> Client:
    _, token = tokens.create(ada, "imports", can_import=True)
    return Client(headers={"Authorization": f"Bearer {token}"})


def test_one_more_than_the_site_keeps_is_refused_and_says_which_to_discard(
    signed_in: Client, api: Client
) -> None:
    responses = [upload(signed_in, 1), preview(api, 2), upload(signed_in, 3)]
    assert [response.status_code for response in responses] == [302, 201, 302]
    first = Import.objects.order_by("pk").first()
    assert first is not None
    refused = upload(signed_in, 4)
    assert refused.status_code == 422
    page = refused.content.decode()
    assert f"/imports/{first.pk}/discard/" in page
    body = preview(api, 5)
    assert body.status_code == 422
    (error,) = body.json()["errors"]
    assert f"import {first.pk} (1.csv, " in error["message"]
    assert f"DELETE /api/v1/imports/{first.pk}" in error["message"]
    assert Import.objects.count() == 3
    # It does what the sentence says.
    assert api.delete(f"/api/v1/imports/{first.pk}").status_code == 204
    assert preview(api, 5).status_code == 201
    second = Import.objects.order_by("pk").first()
    assert second is not None
    assert signed_in.post(f"/imports/{second.pk}/discard/").status_code == 302
    assert upload(signed_in, 6).status_code == 302


def test_nothing_is_read_for_one_that_is_refused(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    assert upload(signed_in).status_code == 302
    settings.MOST_PREVIEWS = 1

    def read(*args: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr(uploads, "plan_files", read)
    assert upload(signed_in).status_code == 422


def test_what_is_imported_does_not_count(signed_in: Client) -> None:
    for number in range(1, 6):
        assert upload(signed_in, number).status_code == 302
        row = Import.objects.get(state=ImportState.PREVIEWED)
        file = row.files.get()
        form = {"study": "Lab", f"take-{file.pk}": "on", f"filesystem-{file.pk}": "ext4"}
        signed_in.post(f"/imports/{row.pk}/commit/", {**form, f"configuration-{file.pk}": "ext4"})
        row.refresh_from_db()
        assert row.state == ImportState.DONE


def test_another_account_has_room_of_its_own(signed_in: Client) -> None:
    other = Client()
    other.force_login(User.objects.create_user("eve"))
    assert [upload(signed_in, n).status_code for n in range(1, 5)] == [302, 302, 302, 422]
    assert upload(other).status_code == 302


def test_bytes_are_counted_and_the_largest_named(signed_in: Client, settings: Any) -> None:
    settings.MOST_PREVIEW_BYTES = 3 * len(TABLE % 1)
    assert upload(signed_in, 1).status_code == 302
    large_one = TABLE % 2 + b"read,4,64,7,KB/s\n"
    assert upload(signed_in, 2, large_one).status_code == 302
    refused = upload(signed_in, 3)
    assert refused.status_code == 422
    last = Import.objects.order_by("-pk").first()
    assert last is not None
    assert f"such as import {last.pk} (2.csv" in refused.content.decode()


def test_a_single_upload_is_never_too_large_for_the_quota(signed_in: Client, settings: Any) -> None:
    settings.MOST_PREVIEW_BYTES = 1
    assert upload(signed_in, 1).status_code == 302
    assert upload(signed_in, 2).status_code == 422


def test_those_being_stored_are_waited_for(signed_in: Client) -> None:
    for number in range(3):
        assert upload(signed_in, number).status_code == 302
    assert upload(signed_in, 4).status_code == 422
    Import.objects.update(state=ImportState.ACCEPTED)
    page = upload(signed_in, 4).content.decode()
    assert "try again when the importer is done" in page


@pytest.mark.django_db(transaction=True)
def test_many_at_once_are_no_more_than_one_after_the_other(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them find room when they begin, and then none is left."""
    together = threading.Barrier(8, timeout=60)
    read = uploads.plan_files

    def all_at_once(*arguments: Any) -> Any:
        together.wait()
        return read(*arguments)

    monkeypatch.setattr(uploads, "plan_files", all_at_once)

    def stash(number: int) -> bool:
        try:
            sources = unpack([(f"{number}.csv", SimpleUploadedFile("x", TABLE % number))])
            uploads.store_upload(sources, Target("Lab", "ext4", "ext4"), ada)
        except ImportRefused:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(stash, range(8))) == 3
    assert Import.objects.count() == ImportFile.objects.count() == 3


def test_the_page_lists_what_waits(signed_in: Client) -> None:
    assert b"Not imported yet" not in signed_in.get("/imports/new/").content
    upload(signed_in, 7)
    page = signed_in.get("/imports/new/").content.decode()
    assert "Not imported yet" in page
    assert "7.csv" in page


def test_a_failed_one_can_be_discarded() -> None:
    assert set(uploads.DISCARDABLE) == set(ImportState) - {ImportState.ACCEPTED, ImportState.DONE}
