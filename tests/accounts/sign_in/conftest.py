"""A provider on loopback, and fsbench set up for it."""

from collections.abc import Iterator

import pytest
from pytest_django.fixtures import Settings

from fsbench_web.platform.openid_settings import SignOn
from tests.accounts.provider import CLIENT_ID, CLIENT_SECRET, Provider, provider


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    with provider() as started:
        yield started


@pytest.fixture
def service(running: Provider, settings: Settings) -> Provider:
    """The provider as new."""
    running.begin()
    settings.SIGN_ON = SignOn(running.issuer, CLIENT_ID, CLIENT_SECRET, name="Example Login")
    settings.DEFAULT_ROLE = "viewer"
    return running
