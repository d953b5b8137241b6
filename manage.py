#!/usr/bin/env python3
"""Django's command line for fsbench."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        _ = settings.INSTALLED_APPS  # reads the settings, which refuse what makes no sense
        execute_from_command_line(sys.argv)  # and so do commands with settings of their own
    except ImproperlyConfigured as problem:
        from fsbench_web.platform import log_lines

        log_lines.refuse(f"fsbench cannot start: {problem}")


if __name__ == "__main__":
    main()
