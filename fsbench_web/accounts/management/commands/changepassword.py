"""``manage.py changepassword NAME``: Django's command, with an entry in the audit log."""

import getpass
from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from fsbench_web.accounts import passwords

_TRIES = 3


class Command(changepassword.Command):
    help = "Set an account's password. The audit log says which system user did it."

    def handle(self, *args: Any, **options: Any) -> str:
        # Django's own writes every column of the account as it was before somebody typed: an
        # account that is closed meanwhile would be open again.
        name = options["username"] or getpass.getuser()
        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f'There is no account "{name}".')
        self.stdout.write(f"Changing the password of {user}")
        passwords.set_on_host(user, self._typed(user))
        return f"The password of {user} is changed. Its sessions have ended."

    def _typed(self, user: User) -> str:
        """The new password. Raises CommandError after three that will not do."""
        for _ in range(_TRIES):
            first = getpass.getpass()
            if not first:
                raise CommandError("No password was typed.")
            second = getpass.getpass("Again: ")
            if first != second:
                self.stdout.write("The two passwords differ. Try again.")
                continue
            try:
                validate_password(first, user)
            except ValidationError as error:
                self.stderr.write("\n".join(error.messages))
            else:
                return first
        raise CommandError(f"The password of {user} is as before: {_TRIES} would not do.")
