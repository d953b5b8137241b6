"""What the commands of `manage.py` have in common."""

from django.core.management.base import BaseCommand


class SiteCommand(BaseCommand):
    """A command that begins at once: Django's checks would load every page, for two seconds."""

    requires_system_checks: list[str] = []
