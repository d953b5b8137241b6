"""Who works on the command line of a host: for entries of the audit log that no account writes."""

import os
import pwd
import socket
from pathlib import Path

# Who signed in on the host, kept by the kernel through sudo and su (proc(5)).
_LOGIN = Path("/proc/self/loginuid")
_NOBODY = 2**32 - 1


def actor() -> str:
    """``host:root``: no account can have this name, a colon is in none."""
    return f"host:{_name(os.getuid())}"


def facts() -> dict[str, str]:
    """What an entry says of it. Nothing is taken from the environment, which anybody can write."""
    uid = os.getuid()
    detail = {
        "at": "the command line of a host",
        "host": socket.gethostname(),
        "system_user": _name(uid),
    }
    login = _login()
    if login not in (None, uid):
        detail["signed_in_as"] = _name(login)
    return detail


def _name(uid: int | None) -> str:
    try:
        return pwd.getpwuid(uid or 0).pw_name
    except KeyError:
        return f"uid {uid}"


def _login() -> int | None:
    try:
        uid = int(_LOGIN.read_text())
    except (OSError, ValueError):
        return None
    return None if uid == _NOBODY else uid
