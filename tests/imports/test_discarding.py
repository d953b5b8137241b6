"""An upload that is stored at the moment at which it is discarded, or too old, stays stored."""

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import Person, Role
from fsbench_web.imports import uploads
from fsbench_web.imports.models import Import, ImportState
from fsbench_web.imports.sources import Target, unpack
from fsbench_web.serving.supervisor import keep_house
from fsbench_web.studies.models import Run

pytestmark = pytest.mark.django_db(transaction=True)
HOLDS_S = 1.0


@pytest.fixture
def ada(db: None) -> User:
    user = User.objects.create_user("ada")
    Person.objects.create(user=user, role=Role.CONTRIBUTOR)
    return user


@pytest.fixture
def waiting(ada: User) -> Import:
    table = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,1,KB/s\n"
    target = Target("Lab", filesystem="ext4", configuration="ext4")
    return uploads.keep_upload(unpack([("1.csv", io.BytesIO(table))]), target, ada)


@contextmanager
def being_stored(row: Import, user: User) -> Iterator[None]:
    """Another thread has stored it, and commits while the block goes on."""
    is_stored = threading.Event()
    errors: list[BaseException] = []

    def store() -> None:
        try:
            with transaction.atomic():
                uploads.commit_stashed(row.pk, user)
                is_stored.set()
                threading.Event().wait(HOLDS_S)
        except BaseException as error:
            errors.append(error)
        finally:
            is_stored.set()
            connection.close()

    thread = threading.Thread(target=store)
    thread.start()
    assert is_stored.wait(60)
    try:
        yield
    finally:
        thread.join()
    assert not errors


def by_the_page(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def by_the_api(user: User) -> Client:
    _, token = tokens.create(user, "imports", can_import=True)
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.mark.parametrize(
    ("signed_in", "method", "path"),
    [(by_the_page, "POST", "/imports/{}/discard/"), (by_the_api, "DELETE", "/api/v1/imports/{}")],
)
def test_what_is_stored_meanwhile_is_not_discarded(
    ada: User, waiting: Import, signed_in: Callable[[User], Client], method: str, path: str
) -> None:
    client = signed_in(ada)
    with being_stored(waiting, ada):
        assert client.generic(method, path.format(waiting.pk)).status_code == 404
    row = Import.objects.get(pk=waiting.pk)
    assert row.state == ImportState.DONE
    assert list(row.runs.all()) == list(Run.objects.all()) != []


def test_what_is_stored_meanwhile_is_not_too_old(ada: User, waiting: Import) -> None:
    long_ago = timezone.now() - uploads.KEPT_FOR - timedelta(hours=1)
    Import.objects.filter(pk=waiting.pk).update(created_at=long_ago)
    with being_stored(waiting, ada):
        uploads.remove_expired()
    assert Import.objects.get(pk=waiting.pk).state == ImportState.DONE


def test_housekeeping_deletes_what_nobody_imported_for_a_day(waiting: Import) -> None:
    keep_house()
    assert Import.objects.filter(pk=waiting.pk).exists()
    long_ago = timezone.now() - uploads.KEPT_FOR - timedelta(hours=1)
    Import.objects.filter(pk=waiting.pk).update(created_at=long_ago)
    keep_house()
    assert not Import.objects.filter(pk=waiting.pk).exists()
