"""The account of the first start: user ``admin`` with a random password kept in the data folder.

On a private machine that password is printed at every start until its owner chose another: who
reads the terminal there has the data folder anyway. Elsewhere the output ends in logs that others
read. There it is printed once, and it is a given password as those that administrators set
(accounts.passwords): the next person to sign in with it replaces it first.
"""

import os
import secrets
from pathlib import Path

from django.contrib.auth import get_user_model
from django.db import transaction

from fsbench_web.accounts import audit, passwords
from fsbench_web.accounts.models import GivenPassword, Role

NAME = "admin"


def prepare_admin(folder: Path, *, is_private: bool) -> str:
    """Make the account when the site has no user at all; returns a line that says how to sign in.

    ``is_private``: only this machine reaches the site, and only its user reads the line. The
    password is written (mode 0600) before the account is made, so that a start that is broken
    off in between leaves no account that nobody knows the password of.
    """
    file = folder / "admin-password"
    users = get_user_model().objects
    if not users.exists():
        password = secrets.token_urlsafe(12)
        _write_private(file, password)
        with transaction.atomic():
            admin = users.create_superuser(NAME, password=password)
            audit.note(None, "account made", f"account {admin}", role=Role.ADMINISTRATOR)
            if not is_private:
                passwords.note_given(admin)
        text = f"user {NAME}, password {password}"
        return text if is_private else f"{text} (said this once: at the sign-in choose another)"
    first_password = file.read_text().strip() if file.exists() else ""
    user = users.filter(username=NAME, is_active=True).first()
    if user is None:
        return f"with your own account (there is no user {NAME} any more)"
    if first_password and user.check_password(first_password):
        if is_private:
            return f"user {NAME}, password {first_password}"
        # Also where the site was private until now, or an older version printed it every time.
        passwords.note_given(user)
        return (
            f"user {NAME}, with the first password, which nobody has replaced yet: it is in {file} "
            f"(or make a new one: manage.py changepassword {NAME})"
        )
    # What no longer opens anything should not lie about.
    file.unlink(missing_ok=True)
    if GivenPassword.objects.filter(user=user).exists():
        return (
            f"user {NAME}, with the password that was made for it, which nobody has replaced yet: "
            f"another host's first start said it (or make a new one: manage.py changepassword "
            f"{NAME})"
        )
    return (
        f"user {NAME}, with the password you chose "
        f"(forgotten? .venv/bin/python manage.py changepassword {NAME})"
    )


def _write_private(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as output:
        output.write(text + "\n")
