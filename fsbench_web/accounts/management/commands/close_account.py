"""``manage.py close_account USERNAME``: as the people page does."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from fsbench_web.accounts import command_line
from fsbench_web.accounts.people import accounts, closing
from fsbench_web.platform.commands import SiteCommand


class Command(SiteCommand):
    help = (
        "Close an account: its sessions end, its tokens are revoked, its watches are paused. "
        "The audit log says which system user did it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument(
            "--permalinks",
            choices=["withdraw", "keep"],
            help="what becomes of those it shared; must be said where there are any",
        )
        parser.add_argument(
            "--permalinks-to", metavar="ACCOUNT", help="hand them over to this account"
        )

    def handle(self, *args: Any, username: str, **options: Any) -> str:
        user = _account(username)
        if not user.is_active and not (options["permalinks"] or options["permalinks_to"]):
            raise CommandError(f"The account of {user} is closed already.")
        if options["permalinks"] and options["permalinks_to"]:
            raise CommandError("Say either --permalinks or --permalinks-to, not both.")
        try:
            accounts.close(
                user, command_line.actor(), _permalinks_of(options), command_line.facts()
            )
        except closing.DispositionError as error:
            raise CommandError(
                f"{error} (--permalinks withdraw, --permalinks keep, --permalinks-to ACCOUNT)"
            ) from None
        except accounts.LastAdministrator as refused:
            raise CommandError(str(refused)) from None
        return f"The account of {user} is closed. Its sessions, tokens and watches have ended."


def _account(name: str) -> User:
    user = User.objects.filter(username=name).first()
    if user is None:
        raise CommandError(f'There is no account "{name}".')
    return user


def _permalinks_of(options: dict[str, Any]) -> closing.Permalinks | None:
    if options["permalinks_to"]:
        return closing.Permalinks(
            closing.PermalinkDisposition.HAND_OVER, _account(options["permalinks_to"])
        )
    return (
        closing.Permalinks(closing.PermalinkDisposition(options["permalinks"]))
        if options["permalinks"]
        else None
    )
