"""Log lines of every process: one shape, what they are about, and never a secret.

A context variable holds what a line is about. Start threads with ``in_same_context``.
A JSON line has ``at`` (UTC), ``level``, ``logger``, ``message``, ``service``, ``host``, ``pid``;
and where known ``worker``, ``run``, ``lease``, ``request``, ``method``, ``route``, ``status``,
``duration_ms``, ``error`` (the traceback).
"""

import json
import logging
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NoReturn, ParamSpec, TypeVar
from urllib.parse import unquote

_P = ParamSpec("_P")
_R = TypeVar("_R")
_facts: ContextVar[Mapping[str, Any]] = ContextVar(
    "fsbench_log_about", default=MappingProxyType({})
)
# What holds for all lines of this process, such as the name of its worker.
_process: dict[str, Any] = {}

HIDDEN = "***"
# user:password@ of an address, and what follows Bearer: whatever the secret is.
_PATTERNS = (
    (re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s:/@]*):[^\s@]+@", re.IGNORECASE), rf"\1:{HIDDEN}@"),
    (re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]{6,}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (
        re.compile(r"((?:pass(?:word|wd)?|secret|token)\s*[=:]\s*)[^\s,;&'\"]+", re.I),
        rf"\1{HIDDEN}",
    ),
)
# Given with ``extra=``: the facts of one line alone.
_OF_ONE_LINE = ("run", "method", "route", "status", "duration_ms")


@contextmanager
def log_context(**facts: Any) -> Iterator[None]:
    """Every line written inside carries these facts, also in coroutines that are started there."""
    token = _facts.set({**_facts.get(), **facts})
    try:
        yield
    finally:
        _facts.reset(token)


def add_context(**facts: Any) -> None:
    """Every further line of what ``log_context`` surrounds carries these facts, too."""
    _facts.set({**_facts.get(), **facts})


def current(name: str) -> Any:
    """What the lines of this moment say of ``name``, or None."""
    return _facts.get().get(name)


def of_process(**facts: Any) -> None:
    """Every further line of this process carries these facts."""
    _process.update(facts)


def in_same_context(work: Callable[_P, _R]) -> Callable[_P, _R]:
    """``work`` for another thread, where its lines are about the same as here."""
    context = copy_context()

    def run_in_context(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        return context.run(work, *args, **kwargs)

    return run_in_context


def _about(record: logging.LogRecord) -> dict[str, Any]:
    """What the line is about. Call it in the thread that wrote the record."""
    own = {name: getattr(record, name) for name in _OF_ONE_LINE if hasattr(record, name)}
    return {**_process, **_facts.get(), **own}


def hide_secrets(text: str, secrets: Sequence[str]) -> str:
    """``text`` without these secrets and without what looks like one."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def secrets_of(*values: str | None) -> list[str]:
    """What must not be printed, also percent-decoded; longest first, from six characters on."""
    forms = {form for value in values if value for form in (value, unquote(value))}
    return sorted((form for form in forms if len(form) >= 6), key=len, reverse=True)


class _Line(logging.Formatter):
    def __init__(self, fmt: str | None = None, secrets: Sequence[str] = ()) -> None:
        super().__init__(fmt)
        self.secrets = list(secrets)


class TextLine(_Line):
    """A line for people, with what it is about at its end: ``[run=7 request=4f1d...]``."""

    def format(self, record: logging.LogRecord) -> str:
        facts = _about(record)
        named = " ".join(
            f"{name}={facts[name]}" for name in ("run", "lease", "request") if facts.get(name)
        )
        first, newline, rest = super().format(record).partition("\n")
        return hide_secrets(f"{first} [{named}]" if named else first, self.secrets) + hide_secrets(
            newline + rest, self.secrets
        )


class JsonLine(_Line):
    """One JSON object a line; see the module."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": hide_secrets(record.getMessage(), self.secrets),
            "service": service(),
            "host": socket.gethostname(),
            "pid": record.process,
            **_about(record),
        }
        if record.exc_info:
            line["error"] = hide_secrets(self.formatException(record.exc_info), self.secrets)
        return json.dumps(line, ensure_ascii=False, default=str)


def service() -> str:
    """web, worker, importer, serve or the name of the command that runs."""
    if "service" in _process:
        return str(_process["service"])
    program = os.path.basename(sys.argv[0]) if sys.argv else ""  # noqa: PTH119 - a name, no file
    if program == "manage.py" and len(sys.argv) > 1:
        return sys.argv[1]
    return "web"


def refuse(sentence: str) -> NoReturn:
    """End with status 1 and this sentence, before there are settings to log by."""
    sentence = sentence.replace("\n", "\\n")  # of a value: the sentence is one line
    if os.environ.get("FSBENCH_LOG_FORMAT") != "json":
        sys.exit(sentence)
    line = logging.makeLogRecord(
        {"name": "fsbench.settings", "levelno": logging.CRITICAL, "levelname": "CRITICAL"}
        | {"msg": sentence}
    )
    print(JsonLine().format(line), file=sys.stderr)
    sys.exit(1)


def _as_a_sentence(record: logging.LogRecord) -> bool:
    """A warning without a traceback."""
    record.exc_info = record.exc_text = None
    record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
    return True


def configuration(log_format: str, secrets: Sequence[str]) -> dict[str, Any]:
    """Django's LOGGING for ``text`` or ``json``."""
    json_line = {"()": "fsbench_web.platform.log_lines.JsonLine", "secrets": secrets}
    text_line = {
        "()": "fsbench_web.platform.log_lines.TextLine",
        "fmt": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        "secrets": secrets,
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            # A 503 is a considered answer, and whoever gives it logs the reason; at every start
            # the health check gives some until the worker is there.
            "no_503": {
                "()": "django.utils.log.CallbackFilter",
                "callback": lambda record: getattr(record, "status_code", None) != 503,
            },
            # Whoever sends too much is told so (error_pages); where in Django it was noticed says
            # nothing.
            "a_sentence": {
                "()": "django.utils.log.CallbackFilter",
                "callback": _as_a_sentence,
            },
        },
        "formatters": {"line": json_line if log_format == "json" else text_line},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "line"},
        },
        "root": {"handlers": ["stderr"], "level": "WARNING"},
        "loggers": {
            "fsbench": {"level": "INFO"},
            # One line a request is for machines that collect them, not for a terminal.
            "fsbench.access": {"level": "INFO" if log_format == "json" else "WARNING"},
            # Django brings handlers of its own, which know neither shape nor secrets.
            "django": {"handlers": [], "propagate": True, "level": "WARNING"},
            "django.server": {"handlers": [], "propagate": True},
            "django.request": {"level": "ERROR", "filters": ["no_503"]},
            "django.security.TooManyFieldsSent": {"filters": ["a_sentence"]},
            "django.security.RequestDataTooBig": {"filters": ["a_sentence"]},
            # So does who asks for another host, as scanners do all day.
            "django.security.DisallowedHost": {"filters": ["a_sentence"]},
            # It warns that a broker in a folder has no host name.
            "kombu.connection": {"level": "ERROR"},
        },
    }
