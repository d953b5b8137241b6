#!/usr/bin/env python3
"""Django's command line for fsbench."""

import gc
import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
    # What is loaded stays: looking through it for garbage again and again, and once more at the
    # end, was a tenth of a worker's start and end, and a fifth of `check`.
    gc.set_threshold(50_000)
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import InterfaceError, OperationalError

    try:
        _ = settings.INSTALLED_APPS  # reads the settings, which refuse what makes no sense
        execute_from_command_line(sys.argv)  # and so do commands with settings of their own
    except ImproperlyConfigured as problem:
        from fsbench_web.platform import log_lines

        log_lines.refuse(f"fsbench cannot start: {problem}")
    except (InterfaceError, OperationalError) as away:
        if "--traceback" in sys.argv or settings.DEBUG:
            raise
        from fsbench_web.platform import log_lines

        said = log_lines.hide_secrets(" ".join(str(away).split()), [])
        log_lines.refuse(
            f"The database cannot be used: {said} Check DATABASE_URL and that the database runs; "
            "`manage.py prepare` makes the tables of this version."
        )
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
