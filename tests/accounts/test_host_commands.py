"""What somebody with a shell on the server does to accounts is in the audit log, too."""

import getpass
import os
import pwd
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError

from fsbench_web.accounts import audit, command_line, rights
from fsbench_web.accounts.models import AuditEntry, GivenPassword, Role
from fsbench_web.accounts.people import accounts
from fsbench_web.serving.preparation import prepare_admin
from tests.accounts.conftest import PASSWORD
from tests.accounts.people import person

pytestmark = pytest.mark.django_db
NEW = "a password of my own"
ME = command_line.actor().removeprefix("host:")


def typed(monkeypatch: pytest.MonkeyPatch, *passwords: str) -> None:
    remaining = iter(passwords)
    monkeypatch.setattr(getpass, "getpass", lambda *_, **__: next(remaining))


def run(*command: str, **options: object) -> str:
    out = StringIO()
    call_command(*command, stdout=out, stderr=out, **options)
    return out.getvalue()


@pytest.fixture
def somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the environment says of who it is can be written by anybody."""
    for name in ("LOGNAME", "USER", "USERNAME", "SUDO_USER"):
        monkeypatch.setenv(name, "mallory")


def test_a_changed_password_is_an_entry_that_says_who_and_where(
    alice: User, monkeypatch: pytest.MonkeyPatch, somebody_else: None
) -> None:
    typed(monkeypatch, NEW, NEW)
    assert "changed" in run("changepassword", "alice")
    assert User.objects.get().check_password(NEW)
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.what, entry.thing) == (f"host:{ME}", "password set", "account alice")
    assert entry.detail["at"] == "the command line of a host"
    assert entry.detail["system_user"] == ME
    assert entry.detail["host"]
    assert NEW not in str(entry.detail)


def test_no_account_can_have_the_name_of_such_an_entry(alice: User) -> None:
    with pytest.raises(CommandError):
        run("createsuperuser", username=f"host:{ME}", email="", interactive=False)


def test_without_the_entry_there_is_no_new_password(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise RuntimeError("the database went away")

    monkeypatch.setattr(audit, "note", away)
    typed(monkeypatch, NEW, NEW)
    with pytest.raises(RuntimeError):
        run("changepassword", "alice")
    assert User.objects.get().check_password(PASSWORD)
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", NEW)
    with pytest.raises(RuntimeError):
        run("createsuperuser", username="root", email="", interactive=False)
    assert User.objects.count() == 1


def test_what_an_administrator_changes_while_somebody_types_stays(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: object, **__: object) -> str:
        User.objects.update(is_active=False, email="new@example.org")
        return NEW

    monkeypatch.setattr(getpass, "getpass", slow)
    run("changepassword", "alice")
    user = User.objects.get()
    assert (user.is_active, user.email) == (False, "new@example.org")
    assert user.check_password(NEW)


def test_it_asks_for_no_other_password(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be the owner who sits there."""
    accounts.set_password(alice.pk, person(Role.ADMINISTRATOR, "root"), revokes_tokens=False)
    typed(monkeypatch, NEW, NEW)
    run("changepassword", "alice")
    assert not GivenPassword.objects.exists()


@pytest.mark.parametrize(
    ("name", "passwords"),
    [
        ("nobody", []),
        ("alice", [""]),
        ("alice", ["one of mine ...", "another ........"] * 3),
        ("alice", ["short", "short"] * 3),
        ("alice", ["password123", "password123"] * 3),
    ],
)
def test_what_is_refused_leaves_password_and_log_alone(
    alice: User, monkeypatch: pytest.MonkeyPatch, name: str, passwords: list[str]
) -> None:
    typed(monkeypatch, *passwords)
    with pytest.raises(CommandError):
        run("changepassword", name)
    assert User.objects.get().check_password(PASSWORD)
    assert not AuditEntry.objects.exists()


def test_a_superuser_is_an_entry(monkeypatch: pytest.MonkeyPatch, somebody_else: None) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", NEW)
    run("createsuperuser", username="ada", email="", interactive=False)
    user = User.objects.get()
    assert rights.role_of(user) == Role.ADMINISTRATOR
    assert user.check_password(NEW)
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.what, entry.thing) == (f"host:{ME}", "account made", "account ada")
    assert entry.detail["role"] == "administrator"
    assert entry.detail["at"] == "the command line of a host"
    assert NEW not in str(entry.detail)


def test_a_superuser_can_be_made_by_typing(monkeypatch: pytest.MonkeyPatch, alice: User) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    answers = iter(["alice", "fsbench", "ada", ""])
    monkeypatch.setattr("builtins.input", lambda *_: next(answers))
    typed(monkeypatch, NEW, NEW)
    output = run("createsuperuser", stdin=Terminal())
    assert "already taken" in output
    assert "The audit log uses this name" in output
    assert User.objects.get(username="ada").is_superuser
    assert AuditEntry.objects.get().thing == "account ada"


@pytest.mark.parametrize("name", ["fsbench", "FSBENCH", "\uff46sbench", "alice", "", "a b"])
def test_names_that_are_taken_or_reserved_are_refused(alice: User, name: str) -> None:
    with pytest.raises(CommandError):
        run("createsuperuser", username=name, email="", interactive=False)
    assert User.objects.count() == 1
    assert not AuditEntry.objects.exists()


def test_a_token_made_there_is_not_said_to_be_its_owners_doing(alice: User) -> None:
    run("create_token", "alice")
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.what) == (f"host:{ME}", "token made")
    assert entry.detail["account"] == "alice"
    assert entry.detail["system_user"] == ME


def test_the_first_account_is_an_entry(tmp_path: Path, db: None) -> None:
    line = prepare_admin(tmp_path, is_private=True)
    prepare_admin(tmp_path, is_private=True)
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.what, entry.thing) == ("fsbench", "account made", "account admin")
    assert entry.detail["role"] == "administrator"
    assert line.rpartition(" ")[2] not in str(entry.detail)


def test_a_system_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 3_999_999_999)
    assert command_line.actor() == "host:uid 3999999999"


@pytest.mark.parametrize(
    ("text", "expected"), [("4294967295\n", None), ("0", None), ("", None), ("x", None)]
)
def test_who_signed_in_on_the_host_is_said_where_it_is_somebody_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, expected: None
) -> None:
    """The kernel keeps it through sudo and su (proc(5), loginuid)."""
    monkeypatch.setattr(os, "getuid", lambda: 0)
    loginuid = tmp_path / "loginuid"
    loginuid.write_text(text)
    monkeypatch.setattr(command_line, "_LOGIN", loginuid)
    assert command_line.facts().get("signed_in_as") is expected
    loginuid.write_text("1")
    assert command_line.facts()["signed_in_as"] == pwd.getpwuid(1).pw_name
