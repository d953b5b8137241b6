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

    try:
        _ = settings.INSTALLED_APPS  # reads the settings, which refuse what makes no sense
        execute_from_command_line(sys.argv)  # and so do commands with settings of their own
    except ImproperlyConfigured as problem:
        from fsbench_web.platform import log_lines

        log_lines.refuse(f"fsbench cannot start: {problem}")
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
