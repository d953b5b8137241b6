#!/usr/bin/env python3
"""Django's command line for fsbench."""

import gc
import os
import select
import sys
from pathlib import Path


def use_environment() -> None:
    """Start again with the Python of .venv, because this one has no Django."""
    environment = Path(__file__).resolve().parent / ".venv"
    python = environment / "bin" / "python"
    if sys.prefix == str(environment) or not python.exists():
        sys.exit(f"fsbench is not installed: {environment} has no Django. `make run` makes it.")
    os.execv(python, [str(python), *sys.argv])


READER_HAS_LEFT = 141
"""The exit status where the reader left (``| head``), as of programs that SIGPIPE ends."""


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
    # What is loaded stays: looking through it for garbage again and again, and once more at the
    # end, was a tenth of a worker's start and end, and a fifth of `check`.
    gc.set_threshold(50_000)
    try:
        from django.conf import settings
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "django":
            raise
        use_environment()
        return
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import InterfaceError, OperationalError

    try:
        _ = settings.INSTALLED_APPS  # reads the settings, which refuse what makes no sense
        execute_from_command_line(sys.argv)  # and so do commands with settings of their own
        sys.stdout.flush()
    except BrokenPipeError:
        if not _has_reader_left():
            raise
        # At its end Python writes what is left, and would complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(READER_HAS_LEFT)
    except ImproperlyConfigured as problem:
        from fsbench_web.platform import log_lines

        log_lines.refuse(f"fsbench cannot start: {problem}")
    except (InterfaceError, OperationalError) as away:
        if "--traceback" in sys.argv or settings.DEBUG:
            raise
        from fsbench_web.platform import database_problems, log_lines

        log_lines.refuse(database_problems.sentences(away))
    except OSError as error:
        from fsbench_web.platform import disk_room, log_lines

        problem = disk_room.data_folder_problem(error, settings.DATA_DIR)
        if not problem or "--traceback" in sys.argv or settings.DEBUG:
            raise
        log_lines.refuse(problem)
    finally:
        gc.freeze()


def _has_reader_left() -> bool:
    """Whether it is standard output that nobody reads, and no connection of the command."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


if __name__ == "__main__":
    main()
