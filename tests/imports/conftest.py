from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

SAMPLES = Path(__file__).parent.parent / "core" / "formats" / "samples"


@pytest.fixture
def sample() -> Callable[[str], bytes]:
    """Real output of IOzone: a file of tests/core/formats/samples by its name without .txt."""
    return lambda name: (SAMPLES / f"{name}.txt").read_bytes()


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def signed_in(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client
