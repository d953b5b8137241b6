"""An upload that is discarded while it is stored: one of both happens, never half of each."""

import io
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.imports import uploads
from fsbench_web.imports.models import Import, ImportedFile, ImportState
from fsbench_web.imports.sources import Target, unpack
from fsbench_web.imports.storing import commit
from fsbench_web.serving.housekeeping import do_chores
from fsbench_web.studies.models import Run

pytestmark = pytest.mark.django_db(transaction=True)
TABLE = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,100,KB/s\n"


@pytest.fixture
def api(ada: User) -> Client:
    _, token = tokens.create(ada, "imports", can_import=True)
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def row(ada: User) -> Import:
    sources = unpack([("a.csv", io.BytesIO(TABLE))])
    return uploads.store_upload(sources, Target("Lab", "ext4", "ext4"), ada)


def expire(row: Import) -> None:
    Import.objects.filter(pk=row.pk).update(created_at=row.created_at - 2 * uploads.KEPT_FOR)


@pytest.mark.parametrize("way", ["program", "page", "age"])
def test_what_is_being_stored_keeps_where_it_came_from(
    way: str, row: Import, ada: User, api: Client, signed_in: Client, monkeypatch: Any
) -> None:
    discard: dict[str, Callable[[], Any]] = {
        "program": lambda: api.delete(f"/api/v1/imports/{row.pk}").status_code,
        "page": lambda: signed_in.post(f"/imports/{row.pk}/discard/").status_code,
        "age": uploads.remove_expired,
    }
    expire(row)
    begun, store = threading.Event(), commit.store_runs

    def slowly(*args: Any, **kwargs: Any) -> Any:
        begun.set()
        threading.Event().wait(0.5)
        return store(*args, **kwargs)

    monkeypatch.setattr(commit, "store_runs", slowly)

    def storing() -> Any:
        try:
            return uploads.commit_stashed(row.pk, ada)
        finally:
            connections.close_all()

    def discarding() -> Any:
        try:
            assert begun.wait(10)
            return discard[way]()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        stored, discarded = pool.submit(storing), pool.submit(discarding)
        assert stored.result().runs == list(Run.objects.values_list("pk", flat=True))
        assert discarded.result() == (None if way == "age" else 404)
    assert Import.objects.get().state == ImportState.DONE
    assert ImportedFile.objects.get().import_of_id == row.pk


def test_what_is_discarded_before_is_not_stored(row: Import, api: Client) -> None:
    assert api.delete(f"/api/v1/imports/{row.pk}").status_code == 204
    assert api.post(f"/api/v1/imports/{row.pk}/commit").status_code == 404
    assert not Run.objects.exists()


def test_what_nobody_stored_within_a_day_goes(row: Import) -> None:
    uploads.remove_expired()
    assert Import.objects.exists()
    expire(row)
    uploads.remove_expired()
    assert not Import.objects.exists()


def test_a_preview_that_is_discarded_while_its_page_is_sent_is_not_found(
    row: Import, signed_in: Client, monkeypatch: Any
) -> None:
    correct = uploads.correct

    def late(*args: Any) -> None:
        Import.objects.all().delete()
        correct(*args)

    monkeypatch.setattr(uploads, "correct", late)
    assert signed_in.post(f"/imports/{row.pk}/commit/").status_code == 404


def test_housekeeping_deletes_what_nobody_imported_for_a_day(row: Import) -> None:
    do_chores()
    assert Import.objects.exists()
    expire(row)
    do_chores()
    assert not Import.objects.exists()
