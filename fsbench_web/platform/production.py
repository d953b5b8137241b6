"""What FSBENCH_ENV=production refuses: secrets that are missing, weak or from an example."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

MINIMUM_LENGTH = 12
# What `manage.py check --deploy` wants (security.W009).
MINIMUM_KEY_LENGTH = 50
# Parts of secrets that stand in examples, here and elsewhere.
_EXAMPLES = ("change", "example", "insecure", "default", "placeholder", "password", "secret")
_DEFAULTS = ("fsbench", "postgres", "redis", "admin", "root", "guest")


def weakness(secret: str, minimum: int = MINIMUM_LENGTH) -> str:
    """Why this is no secret, as the end of a sentence; empty when it may be one."""
    lower = secret.lower()
    if not secret:
        return "is missing"
    if lower in _DEFAULTS or any(part in lower for part in _EXAMPLES):
        return "looks like a default or an example"
    if len(secret) < minimum:
        return f"is shorter than {minimum} characters"
    if len(set(secret)) < 6:
        return "repeats a few characters"
    return ""


def problems(
    *,
    environment: Mapping[str, str],
    is_debug: bool,
    allowed_hosts: list[str],
    database: Mapping[str, Any],
    broker_url: str,
) -> list[str]:
    """What is wrong, one sentence each with the variable's name and without any secret."""
    problems = []
    if is_debug:
        problems.append("FSBENCH_DEBUG is True: every visitor would see tracebacks and settings.")
    if "*" in allowed_hosts:
        problems.append("FSBENCH_ALLOWED_HOSTS is *: name the hosts under which people reach it.")
    reason = weakness(environment.get("FSBENCH_SECRET_KEY", ""), minimum=MINIMUM_KEY_LENGTH)
    if reason:
        problems.append(f"FSBENCH_SECRET_KEY {reason}.")
    host = str(database.get("HOST") or "")
    is_remote = database["ENGINE"].endswith("postgresql") and host and not host.startswith("/")
    # A certificate instead of a password is as good (libpq, sslcert).
    if is_remote and "sslcert" not in database.get("OPTIONS", {}):
        reason = weakness(str(database.get("PASSWORD") or ""))
        if reason:
            problems.append(f"The password in DATABASE_URL {reason}.")
    broker = urlsplit(broker_url)
    if broker.scheme in ("redis", "rediss", "sentinel"):
        reason = weakness(broker.password or "")
        if reason:
            problems.append(f"The password in CELERY_BROKER_URL {reason}.")
    return problems
