"""An address with an old name of a scheduler means the name of today."""

import pytest
from django.test import Client

from tests.compare.conftest import make_score

pytestmark = pytest.mark.django_db


def test_an_old_label_in_an_address_means_todays(client: Client) -> None:
    make_score("ext4_none", 100)
    make_score("xfs_none", 200)
    address = "/api/v1/deltas?study=lab&by=configuration&configuration=ext4_noop"
    [table] = client.get(address).json()["tables"]
    assert [row["contender"] for row in table["rows"]] == ["ext4_none"]
    page = client.get("/compare/?study=lab&by=configuration&baseline=ext4_noop").content.decode()
    assert "ext4_none" in page
    answer = client.get("/compare/?study=lab&by=configuration&configuration=jfs_noop")
    assert answer.status_code == 400
    results = client.get("/search/?kind=configurations&q=ext4_noop").content.decode()
    assert "ext4_none" in results
