"""The audit log as administrators read it."""

import pytest
from django.test import Client

from fsbench_web.accounts import audit
from fsbench_web.accounts.models import Role
from tests.accounts.people import person

pytestmark = pytest.mark.django_db


def test_details_are_words_and_sizes_have_units(client: Client) -> None:
    audit.note(
        "worker:bench-1",
        "LUN erased",
        "LUN bench-1/lun0",
        run=7,
        submitted_by="ada",
        serial=None,
        size_bytes=4 * 2**30,
    )
    client.force_login(person(Role.ADMINISTRATOR))
    page = client.get("/audit/").content.decode()
    # PostgreSQL keeps the keys of JSON in an order of its own.
    for detail in ("run: 7", "submitted by: ada", "serial: –", "size: 4 GiB"):
        assert detail in page
    assert "4294967296" not in page
