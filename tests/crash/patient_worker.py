"""``manage.py worker`` that waits longer for what a busy machine may be late with."""

import sys

import django


def main() -> None:
    django.setup()
    from django.core.management import execute_from_command_line

    from runner.execution import clients, places

    # A container is started within it, whatever else the machine does.
    clients.START_AHEAD_S = 15.0
    # So long a test may hold up what comes before "ready".
    places.LOCK_WAIT_S = 600.0
    execute_from_command_line([sys.argv[0], "worker"])


if __name__ == "__main__":
    main()
