from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken


def test_it_prints_the_token_alone(alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_token", "alice")
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert tokens.user_of(out.rstrip("\n")) == alice


def test_it_can_be_called_again(alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_token", "alice")
    call_command("create_token", "alice")
    assert len(set(capsys.readouterr().out.split())) == 2
    assert ApiToken.objects.count() == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["carol"], 'There is no user "carol"'),
        (["alice", "--name", "taken"], 'has a token named "taken"'),
        (["alice", "--name", "x" * 81], "longer than 80"),
    ],
)
def test_it_refuses_with_a_sentence(alice: User, arguments: list[str], says: str) -> None:
    tokens.create(alice, "taken")
    with pytest.raises(CommandError, match=says):
        call_command("create_token", *arguments)
    assert ApiToken.objects.count() == 1


def test_an_inactive_user_gets_none(alice: User) -> None:
    User.objects.update(is_active=False)
    with pytest.raises(CommandError, match="not active"):
        call_command("create_token", "alice")


@pytest.mark.django_db
def test_a_token_is_read_with_its_user_in_one_query(django_assert_num_queries: Any) -> None:
    user = User.objects.create_user("ada", "ada@example.org", "x", last_name="L")
    _, token = tokens.create(user, "laptop", can_run=False)
    tokens.row_of(token)  # notes its use
    with django_assert_num_queries(1):
        row = tokens.row_of(token)
        assert row is not None
        assert (row.user.username, row.user.last_name, row.can_run) == ("ada", "L", False)
