"""``manage.py create_token USERNAME``: prints a new API token, and nothing else, on stdout."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError, transaction

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import ApiToken


class Command(BaseCommand):
    help = "Make an API token for a user and print it. It cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", default="", help="what the token is for")

    def handle(self, *args: Any, username: str, name: str, **options: Any) -> str:
        user = User.objects.filter(username=username).first()
        if user is None:
            raise CommandError(
                f'There is no user "{username}". `manage.py createsuperuser` makes one.'
            )
        if not user.is_active:
            raise CommandError(f'The user "{username}" is not active; a token would open nothing.')
        longest = ApiToken._meta.get_field("name").max_length
        if longest is not None and len(name) > longest:
            raise CommandError(f"The name is longer than {longest} characters.")
        try:
            with transaction.atomic():
                _, token = tokens.create(user, name)
        except IntegrityError:
            raise CommandError(f'"{username}" has a token named "{name}".') from None
        return token
