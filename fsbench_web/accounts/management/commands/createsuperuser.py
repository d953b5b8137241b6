"""``manage.py createsuperuser``: Django's command, with an entry in the audit log."""

from copy import copy
from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.contrib.auth.models import User, UserManager
from django.core.exceptions import ValidationError
from django.db import transaction

from fsbench_web.accounts import audit, command_line, names
from fsbench_web.accounts.models import Role


class _AuditedUserManager(UserManager[User]):
    """Accounts, where making an administrator is an entry, too: both or neither."""

    @transaction.atomic
    def create_superuser(self, *args: Any, **fields: Any) -> User:
        user = super().create_superuser(*args, **fields)
        facts = command_line.facts()
        audit.note(
            command_line.actor(),
            "account made",
            f"account {user}",
            role=Role.ADMINISTRATOR,
            **facts,
        )
        return user


class _Accounts:
    """The user model as Django's command asks it. It writes in one place, by the manager."""

    _meta, DoesNotExist = User._meta, User.DoesNotExist
    USERNAME_FIELD, REQUIRED_FIELDS = User.USERNAME_FIELD, User.REQUIRED_FIELDS
    _default_manager = _AuditedUserManager()
    _default_manager.model = User

    def __new__(cls, **fields: Any) -> User:  # type: ignore[misc]
        return User(**fields)


class Command(createsuperuser.Command):
    help = "Make an administrator's account. The audit log says which system user did it."
    # As of all commands here (fsbench_web.platform.commands): they would load every page first.
    requires_system_checks: list[str] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.UserModel = _Accounts  # type: ignore[assignment]
        self.username_field = copy(self.username_field)
        self.username_field.validators = [*self.username_field.validators, _may_be_called]


def _may_be_called(name: str) -> None:
    if problem := names.problem(name):
        raise ValidationError(problem)
