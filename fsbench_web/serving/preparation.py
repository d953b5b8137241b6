"""Prepares what must be there before the first request: tables, account, LUN, static files."""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections, transaction

from fsbench_web.accounts import audit, passwords
from fsbench_web.accounts.models import GivenPassword, Role
from fsbench_web.imports.sealed import keys
from fsbench_web.platform import database_problems, private_files, table_version

ADMIN = "admin"
MIB = 2**20
LARGEST_BYTES = 4 * 1024 * MIB
# mkfs.xfs refuses less than 300 MiB; a smaller LUN is of little use.
SMALLEST_BYTES = 512 * MIB

_HEAD = """\
# The LUNs of this machine that fsbench may ERASE. See docs/operating.md before you add a disk.
# Made at the first start; fsbench never changes it again, and reads it before every run.
"""


def connect() -> None:
    """Raises CommandError where the database cannot be reached."""
    try:
        connections[DEFAULT_DB_ALIAS].ensure_connection()
    except OperationalError as error:
        raise CommandError(database_problems.sentences(error)) from None


def prepare_database(echo: Callable[[str], None], *, is_private: bool = False) -> str:
    """Tables, published studies and an account; returns how to sign in (``prepare_admin``)."""
    echo("Preparing the database ...")
    connect()
    # Of two hosts that start at once, the second finds it done.
    with table_version.changing():
        if reason := table_version.unsuited():
            raise CommandError(reason)
        call_command("migrate", interactive=False, verbosity=0)
        echo("Loading the published studies ...")
        call_command("load_published", verbosity=0, stdout=StringIO())
        _make_signing_key(echo)
        return prepare_admin(settings.DATA_DIR, is_private=is_private)


def _make_signing_key(echo: Callable[[str], None]) -> None:
    """A site without a key works, but seals no results."""
    try:
        keys.ensure()
    except keys.KeyUnusable as error:
        echo(f"No results can be sealed: {error}")


def collect_static_files() -> None:
    """Those of the last version go where the folder is fsbench's own. One that FSBENCH_STATIC names
    may have other files in it.
    """
    is_own = Path(settings.STATIC_ROOT) == settings.DATA_DIR / "static"
    if not is_own:
        # By their times alone an unpacked archive is older than what was collected before it.
        for name in _stale_files():
            (Path(settings.STATIC_ROOT) / name).unlink(missing_ok=True)
    call_command("collectstatic", interactive=False, verbosity=0, clear=is_own)


def require_static_files() -> None:
    """Raises CommandError unless the static files are those of this version: pages name them by
    their content, and would have none of them, or older ones.
    """
    for name in _stale_files():
        raise CommandError(
            f"The static files are not those of this version: {name}. Run "
            "`manage.py prepare --static-files` first (docs/deployment.md)."
        )


def _stale_files() -> Iterator[str]:
    """The static files that are not collected as they are."""
    for finder in get_finders():
        for name, storage in finder.list([]):
            collected = Path(settings.STATIC_ROOT) / name
            with storage.open(name) as file:
                if not collected.is_file() or collected.read_bytes() != file.read():
                    yield name


def require_prepared() -> None:
    """Raises CommandError unless somebody prepared the database for this version."""
    connect()
    if problem := table_version.problem():
        raise CommandError(problem)


def prepare_admin(folder: Path, *, is_private: bool) -> str:
    """Make the account when the site has no user at all; returns a line that says how to sign in.

    ``is_private``: only the user of this machine reaches the site and reads the line. Elsewhere
    others read the logs, so the first password is printed once, and its user must replace it. The
    file is written first: a start that breaks off leaves no account with an unknown password.
    """
    file = folder / "admin-password"
    users = get_user_model().objects
    if not users.exists():
        password = secrets.token_urlsafe(12)
        _write_private(file, password)
        with transaction.atomic():
            admin = users.create_superuser(ADMIN, password=password)
            audit.note(None, "account made", f"account {admin}", role=Role.ADMINISTRATOR)
            if not is_private:
                passwords.note_given(admin)
        text = f"user {ADMIN}, password {password}"
        return text if is_private else f"{text} (said this once: at the sign-in choose another)"
    first_password = file.read_text().strip() if file.exists() else ""
    user = users.filter(username=ADMIN, is_active=True).first()
    if user is None:
        return f"with your own account (there is no user {ADMIN} any more)"
    if first_password and user.check_password(first_password):
        if is_private:
            return f"user {ADMIN}, password {first_password}"
        # Also where the site was private until now, or an older version printed it every time.
        passwords.note_given(user)
        return (
            f"user {ADMIN}, with the first password, which nobody has replaced yet: it is in "
            f"{file} (or make a new one: manage.py changepassword {ADMIN})"
        )
    # What no longer opens anything should not lie about.
    file.unlink(missing_ok=True)
    if GivenPassword.objects.filter(user=user).exists():
        return (
            f"user {ADMIN}, with the password that was made for it, which nobody has replaced yet: "
            f"another host's first start said it (or make a new one: manage.py changepassword "
            f"{ADMIN})"
        )
    return (
        f"user {ADMIN}, with the password you chose "
        f"(forgotten? .venv/bin/python manage.py changepassword {ADMIN})"
    )


def _write_private(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as output:
        output.write(text + "\n")


def prepare_luns_file(folder: Path, *, is_root: bool) -> str | None:
    """Write ``folder/luns.toml`` unless it is there. Returns a sentence about its LUN."""
    file = folder / "luns.toml"
    if file.exists():
        return None
    size_bytes = sparse_size(shutil.disk_usage(folder).free)
    has_loop_devices = Path("/dev/loop-control").exists()
    if is_root and has_loop_devices and size_bytes:
        place = folder / "luns" / "scratch.img"
        lun = {"kind": "sparse-file", "path": str(place), "size": f"{size_bytes // MIB} MiB"}
        sentence = f"Made the LUN “scratch”: a sparse file of {size_bytes // MIB} MiB, {place}"
    else:
        place = folder / "luns" / "scratch"
        private_files.make_folder(place)
        lun = {"kind": "directory", "path": str(place)}
        reason = "not root" if not is_root else "no loop devices, or too little free space"
        sentence = f"Made the LUN “scratch”: the folder {place}, without mkfs ({reason})"
    private_files.make_folder(place.parent)
    lines = [_HEAD, "[[lun]]", 'name = "scratch"']
    # A JSON text without \\u escapes is a TOML basic string.
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in lun.items()]
    unfinished = file.with_suffix(".part")
    unfinished.write_text("\n".join(lines) + "\n", encoding="utf-8")
    unfinished.chmod(0o600)
    unfinished.rename(file)
    return sentence


def sparse_size(free_bytes: int) -> int:
    """Half of the free space in steps of 256 MiB, at most 4 GiB; 0 when that is too little."""
    size = min(LARGEST_BYTES, free_bytes // 2 // (256 * MIB) * (256 * MIB))
    return size if size >= SMALLEST_BYTES else 0
