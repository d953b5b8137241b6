"""Which programs users' own commands may call on this host: its own configuration says it."""

import re

from django.core.exceptions import ImproperlyConfigured

from fsbench_web.platform import env

VARIABLE = "FSBENCH_OWN_PROGRAMS"
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")


def allowed_names() -> list[str]:
    """Names without paths; none unless the host names them. Raises ImproperlyConfigured."""
    names = env.words("FSBENCH_OWN_PROGRAMS", [])
    for name in names:
        if not _PROGRAM.fullmatch(name):
            raise ImproperlyConfigured(
                f'{VARIABLE} has "{name}"; it must be names of programs without paths, separated '
                "by commas."
            )
    return names
