"""Output of commands: sentences for people, or JSON lines for programs."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management.base import CommandError

from fsbench_web.platform import log_lines

logger = logging.getLogger("fsbench.serve")


def is_for_people() -> bool:
    """Whether the output is read as it is."""
    return bool(settings.LOG_FORMAT != "json")


def announce(echo: Callable[[str], None], sentence: str, level: int = logging.INFO) -> None:
    """By ``echo`` to a person, else as a line of the logs."""
    if is_for_people():
        echo(sentence)
    else:
        logger.log(level, sentence.strip())


@contextmanager
def refusals() -> Iterator[None]:
    """A command that refuses to start says so in the form that the logs have; its status is 1."""
    try:
        yield
    except CommandError as refused:
        if is_for_people():
            raise
        logger.critical(log_lines.hide_secrets(str(refused), []))
        raise SystemExit(refused.returncode) from None
