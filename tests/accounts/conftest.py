import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def quick_passwords(settings: Settings) -> None:
    """The real hasher is slow on purpose; nothing here depends on which one it is."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def alice(db: None, quick_passwords: None) -> User:
    return User.objects.create_user("alice", password=PASSWORD)


@pytest.fixture
def bob(db: None, quick_passwords: None) -> User:
    return User.objects.create_user("bob", password=PASSWORD)
