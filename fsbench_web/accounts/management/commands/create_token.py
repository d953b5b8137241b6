"""``manage.py create_token USERNAME``: prints a new API token, and nothing else, on stdout."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction
from django.utils import timezone

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken
from fsbench_web.platform import plain_text
from fsbench_web.platform.commands import SiteCommand


class Command(SiteCommand):
    help = "Make an API token for a user and print it. It cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument(
            "--scope",
            action="append",
            choices=["read", "import", "run", "administer"],
            help="what it may do beyond reading; may be repeated (default: import and run)",
        )
        parser.add_argument("--days", type=int, default=0, help="it expires then; 0: never")
        parser.add_argument("--name", default="", help="what the token is for")

    def handle(self, *args: Any, username: str, name: str, days: int = 0, **options: Any) -> str:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(
                f'There is no user "{username}". `manage.py createsuperuser` makes one.'
            )
        if not user.is_active:
            raise CommandError(f'The user "{username}" is not active, so a token would not work.')
        longest = ApiToken._meta.get_field("name").max_length
        if longest is not None and len(name) > longest:
            raise CommandError(f"The name is longer than {longest} characters.")
        if problem := plain_text.problem(name):
            raise CommandError(f"The token's name cannot be so. {problem}")
        if not 0 <= days <= 3650:
            raise CommandError("A token lasts 1 to 3650 days, or 0 for one that never expires.")
        scopes = options.get("scope") or ["import", "run"]
        try:
            with transaction.atomic():
                _, token = tokens.create(
                    user,
                    name,
                    can_import="import" in scopes,
                    can_run="run" in scopes,
                    can_administer="administer" in scopes,
                    expires_at=timezone.now() + timedelta(days=days) if days else None,
                    on_host=True,
                )
        except IntegrityError:
            raise CommandError(f'"{username}" has a token named "{name}".') from None
        return token
