"""What the commands of `manage.py` have in common."""

from django.core.management.base import BaseCommand


class SiteCommand(BaseCommand):
    """A command that begins with its work.

    Django's checks of the code would load every page and every schema of the API first: two
    seconds of a processor, and memory that a worker keeps. `make lint` has them; what a site may
    set wrong is refused by its settings.
    """

    requires_system_checks: list[str] = []
