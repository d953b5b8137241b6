"""Reads settings from the environment, and names the variable that makes no sense."""

import os
import re
import secrets
from email.utils import parseaddr
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from fsbench_web.platform import private_files

_SHORTEST_KEY = 32
# A new connection is 13 ms of a processor, most of an upload's work: PostgreSQL reads its catalogue
# anew. One that broke is noticed before it is used (conn_health_checks).
_CONNECTED_S = 3600


def text(name: str, default: str) -> str:
    """The variable's value, or ``default`` when it is unset or empty."""
    return os.environ.get(name) or default


def flag(name: str, default: bool) -> bool:
    """A boolean: "True" or "False" and nothing else: ``FSBENCH_DEBUG=no`` must not mean yes."""
    value = os.environ.get(name)
    if not value:
        return default
    if value in ("True", "False"):
        return value == "True"
    raise ImproperlyConfigured(f'{name} is "{value}"; it must be True or False.')


def integer(name: str, default: int, *, minimum: int, maximum: int) -> int:
    """A whole number within its bounds."""
    value = os.environ.get(name)
    if not value:
        return default
    # int() takes more: 1_0, and the digits of other scripts.
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,40}\s*", value):
        raise ImproperlyConfigured(f'{name} is "{value}"; it must be a whole number.')
    number = int(value)
    if not minimum <= number <= maximum:
        raise ImproperlyConfigured(f"{name} is {number}; it must be {minimum} to {maximum}.")
    return number


def choice(name: str, default: str, allowed: list[str]) -> str:
    """One of the given words."""
    value = text(name, default)
    if value not in allowed:
        raise ImproperlyConfigured(f'{name} is "{value}"; it must be {" or ".join(allowed)}.')
    return value


def secret(name: str, *, minimum: int) -> str:
    """A secret of so many characters or more; empty when it is unset. No error repeats it."""
    value = os.environ.get(name) or ""
    if value and (len(value) < minimum or not value.isascii() or not value.isprintable()):
        raise ImproperlyConfigured(
            f"{name} must be {minimum} or more printable ASCII characters: openssl rand -hex 24"
        )
    return value


def words(name: str, default: list[str]) -> list[str]:
    """A comma-separated list, stripped; a list that names nothing is refused."""
    value = os.environ.get(name)
    if not value:
        return default
    words = [word.strip() for word in value.split(",") if word.strip()]
    if not words:
        raise ImproperlyConfigured(f'{name} is "{value}", which names nothing: leave it empty.')
    return words


def matching(name: str, default: list[str], pattern: str, wanted: str) -> list[str]:
    """``words`` that all match the pattern; ``wanted`` is what an error says of one."""
    found = words(name, default)
    for word in found:
        if not re.fullmatch(pattern, word):
            raise ImproperlyConfigured(f'{name} has "{word}"; each must be {wanted}.')
    return found


def hosts(name: str, default: list[str]) -> list[str]:
    """Names of the site as browsers send them: ``a.example``, ``.example``, ``*``, ``[::1]``."""
    return matching(
        name,
        default,
        r"\*|\.?[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\]",
        "a name such as fsbench.example, without https:// and without a port",
    )


def networks(name: str, default: list[str]) -> list[str]:
    """Addresses and networks such as ``127.0.0.1`` and ``10.0.0.0/24``; never all of them."""
    networks = []
    for text in words(name, default):
        try:
            network = ip_network(text)
        except ValueError as error:
            raise ImproperlyConfigured(
                f'{name} has "{text}"; each must be an address or a network such as 10.0.0.0/24 '
                f"({error})."
            ) from None
        if network.prefixlen == 0:
            raise ImproperlyConfigured(
                f'{name} has "{text}", which is everybody: name the proxies.'
            )
        networks.append(str(network))
    return networks


def origins(name: str, *, all_of_them: bool = True) -> list[str]:
    """Sites as ``https://wiki.example`` or ``https://*.example``; ``*`` only for ``all_of_them``.

    They go into a header as they are, so nothing else may be in them.
    """
    site = r"https?://(\*\.)?[A-Za-z0-9.-]+(:[0-9]{1,5})?"
    wanted = "a site such as https://wiki.example"
    if all_of_them:
        return matching(name, [], rf"\*|{site}", f"{wanted}, or *")
    return matching(name, [], site, wanted)


def database(name: str, default: str) -> dict[str, Any]:
    """A database by its address, as an entry of Django's DATABASES."""
    try:
        parsed = dj_database_url.parse(
            text(name, default), conn_max_age=_CONNECTED_S, conn_health_checks=True
        )
    except ValueError as error:
        # The address holds a password: the error must not repeat it.
        reason = f"{error}" if "://" not in f"{error}" else "the address cannot be read"
        raise ImproperlyConfigured(
            f"{name}: {reason}. It must be like postgresql://user:password@host:5432/name, "
            "or unset for SQLite in the data folder."
        ) from None
    engine = parsed["ENGINE"].rpartition(".")[2]
    if engine not in ("postgresql", "sqlite3") or parsed["NAME"] == ":memory:":
        raise ImproperlyConfigured(
            f"{name} must be like postgresql://user:password@host:5432/name, or unset for SQLite "
            "in the data folder."
        )
    return dict(parsed)


def email(name: str, timeout_s: int) -> dict[str, Any]:
    """How e-mail is sent, as Django's settings; without the variable none is (dummy backend)."""
    backends = "django.core.mail.backends."
    value = os.environ.get(name)
    if not value:
        return {"EMAIL_BACKEND": f"{backends}dummy.EmailBackend"}
    if value == "console://":
        return {"EMAIL_BACKEND": f"{backends}console.EmailBackend"}
    ports = {"smtp": 587, "smtps": 465, "smtp+plain": 25}
    # The address holds a password: no error may repeat it.
    try:
        parts = urlsplit(value)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ports or not host or parts.path.strip("/") or parse_qs(parts.query):
        raise ImproperlyConfigured(
            f"{name} must be like smtp://user:password@mail.example:587 (also smtps://, "
            "smtp+plain://) or console://; write / @ # ? : of a password as %2F %40 %23 %3F %3A."
        )
    return {
        "EMAIL_BACKEND": f"{backends}smtp.EmailBackend",
        "EMAIL_HOST": host,
        "EMAIL_PORT": port or ports[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp",
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_TIMEOUT": timeout_s,
    }


def url(name: str, default: str, schemes: list[str]) -> str:
    """An address with one of the given schemes."""
    value = text(name, default)
    if value.partition("://")[0] not in schemes or "://" not in value:
        prefixes = ", ".join(f"{scheme}://" for scheme in schemes)
        raise ImproperlyConfigured(f"{name} must start with one of {prefixes}.")
    _check_address(name, value)
    return value


def _check_address(name: str, value: str) -> None:
    """Host and port are ones. It may hold a password: no error repeats it."""
    try:
        parts = urlsplit(value)
        _ = parts.hostname, parts.port
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} cannot be read as an address: write / @ # ? : of a password as "
            "%2F %40 %23 %3F %3A, and the port as a number up to 65535."
        ) from None


def cache(name: str, broker: str) -> dict[str, Any]:
    """The cache of all web processes: Redis where there is one, else the memory of each process."""
    value = text(name, broker)
    if not value.startswith(("redis://", "rediss://")):
        if os.environ.get(name):
            raise ImproperlyConfigured(f"{name} must start with redis:// or rediss://.")
        return {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "shared"}
    _check_address(name, value)
    # Celery writes CERT_REQUIRED, redis-py required.
    address = re.sub(
        r"(ssl_cert_reqs=)CERT_(\w+)", lambda match: match[1] + match[2].lower(), value
    )
    return {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": address,
        "KEY_PREFIX": "fsbench",
        "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
    }


def sender(name: str, default: str) -> str:
    """An address that e-mail comes from: ``fsbench@lab.example``, or with a name before it."""
    value = text(name, default)
    _, address = parseaddr(value)
    if not re.fullmatch(r"[^\s@<>]+@[^\s@<>]+", address) or not value.isprintable():
        raise ImproperlyConfigured(
            f'{name} is "{value}"; it must be an e-mail address such as fsbench@lab.example.'
        )
    return value


def kept_key(name: str, path: Path) -> str:
    """The site's key: given by the environment, else made once and kept in this file."""
    environment_key = os.environ.get(name)
    if environment_key:
        if len(environment_key) < _SHORTEST_KEY:
            raise ImproperlyConfigured(f"{name} is shorter than {_SHORTEST_KEY} characters.")
        return environment_key
    if not path.exists():
        _make_key(name, path)
    try:
        key = path.read_bytes().decode("ascii", "replace").strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be read: {error.strerror}.") from None
    if len(key) < _SHORTEST_KEY:
        raise ImproperlyConfigured(
            f"{path} holds no key of {_SHORTEST_KEY} characters: remove it, and another one is "
            f"made (people sign in again), or set {name}."
        )
    return key


def _make_key(name: str, path: Path) -> None:
    try:
        private_files.write_once(path, secrets.token_urlsafe(48))
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} cannot be written: {error.strerror}. Make the data folder (FSBENCH_DATA) "
            f"writable, or set {name}."
        ) from None


def time_zone(name: str, default: str) -> str:
    """A time zone of the IANA database, such as Europe/Berlin."""
    value = text(name, default)
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        if not available_timezones():
            raise ImproperlyConfigured(
                "no time zones are installed: install tzdata (Debian, Ubuntu: apt install tzdata)."
            ) from None
        raise ImproperlyConfigured(
            f'{name} is "{value}"; it must be a time zone such as Europe/Berlin.'
        ) from None
    return value


def folder(name: str, default: Path) -> Path:
    """A folder for this user alone, made when it is missing."""
    value = os.environ.get(name)
    if value and not value.strip():
        raise ImproperlyConfigured(f'{name} is "{value}"; it must be a folder.')
    path = Path(value or default).expanduser().resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise ImproperlyConfigured(f"{name}: {path} is not a folder.") from None
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name}: the folder {path} cannot be made: {error.strerror}."
        ) from None
    return path
