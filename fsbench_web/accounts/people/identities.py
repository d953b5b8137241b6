"""Finds the account of a person whom the sign-in service vouches for, by issuer and subject alone.

People can choose and change names and e-mail addresses, so these never lead to an account.
"""

import re
import unicodedata
from contextlib import suppress
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction

from fsbench_web.accounts import audit, names
from fsbench_web.accounts.models import Role, Team
from fsbench_web.accounts.openid import Claims, SignInRefused
from fsbench_web.accounts.people import accounts, closing
from fsbench_web.accounts.rights import role_of
from fsbench_web.platform.openid_settings import SUBJECT_LENGTH, SignOn

_NAME_LENGTH = 60
_TRIES = 5


class IdentityLinkError(ValueError):
    """A sentence for the administrator."""


def account_of(claims: Claims, sign_on: SignOn) -> User:
    """The account of this person, made if need be, with the role and teams of its groups.

    Raises SignInRefused.
    """
    _check_domain(claims, sign_on)
    with transaction.atomic():
        user = _user_of(claims)
        if user is None and not sign_on.makes_accounts:
            raise SignInRefused(
                "You have no account here yet. An administrator can link yours to an account: "
                f"your subject is {claims.subject}",
                "no account for the subject",
            )
        user = user or _make(claims)
        if not user.is_active:
            raise SignInRefused(
                "Your account here is closed. An administrator can open it.", "closed account"
            )
        _follow_groups(user, claims, sign_on)  # locks administrators before this account
        email = _usable(claims.email)
        if email and not user.email:
            audit.note(user, "e-mail address changed", f"account {user}", by="sign-in service")
            User.objects.filter(pk=user.pk).update(email=email)
    return User.objects.select_related("person").get(pk=user.pk)


def _check_domain(claims: Claims, sign_on: SignOn) -> None:
    if not sign_on.email_domains:
        return
    _, at, domain = _usable(claims.email).rpartition("@")
    if not at or domain.lower() not in sign_on.email_domains:
        raise SignInRefused(
            "Only people with a verified e-mail address of "
            f"{' or '.join(sign_on.email_domains)} may sign in here.",
            "e-mail domain",
        )


def _usable(email: str) -> str:
    """The address if it is one, else nothing: "a@good.example@bad.example" must not pass."""
    try:
        validate_email(email)
    except ValidationError:
        return ""
    return email if email.isascii() and email.count("@") == 1 else ""


def _user_of(claims: Claims) -> User | None:
    row = (
        SocialAccount.objects.select_related("user")
        .filter(provider=claims.issuer, uid=claims.subject)
        .first()
    )
    user: User | None = row.user if row is not None else None
    return user


def _make(claims: Claims) -> User:
    """A new account; two first sign-ins of one person at once make one."""
    for _ in range(_TRIES):
        try:
            with transaction.atomic():
                accounts.lock_administrators()
                user = User.objects.create_user(_free_name(claims.names))
                SocialAccount.objects.create(user=user, provider=claims.issuer, uid=claims.subject)
                audit.note(
                    None,
                    "account made",
                    f"account {user}",
                    role=settings.DEFAULT_ROLE,
                    issuer=claims.issuer,
                    subject=claims.subject,
                )
            return user
        except IntegrityError:
            existing = _user_of(claims)
            if existing is not None:
                return existing
    raise SignInRefused(
        "Your account could not be made just now. Begin again.", "no free name", 503
    )


def _free_name(wanted: tuple[str, ...]) -> str:
    """A name that no account has nor looks like, made of the person's own."""
    plain_names = [_ascii_name(text) for text in wanted]
    name = next((plain for plain in plain_names if plain), "person")
    number, candidate = 1, name
    while names.problem(candidate) or User.objects.filter(username=candidate).exists():
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def _ascii_name(name: str) -> str:
    """Letters, digits and @ . + - _ of ASCII: no look-alikes of another account's letters."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9@.+_-]+", "-", letters).strip("-.")[:_NAME_LENGTH]


def _follow_groups(user: User, claims: Claims, sign_on: SignOn) -> None:
    """Where the site maps groups, the provider says role and teams at every sign-in."""
    if sign_on.roles:
        order = [str(role) for role in Role]
        roles = [role for group, role in sign_on.roles if group in claims.groups]
        role = Role(max(roles or [settings.DEFAULT_ROLE], key=order.index))
        if role_of(user) != role:
            # The last administrator stays one: nobody could give rights any more.
            with suppress(accounts.LastAdministrator):
                accounts.change(user.pk, role=role, by=None)
    mapped = {name for _, name in sign_on.teams}
    if mapped:
        wanted = {name for group, name in sign_on.teams if group in claims.groups}
        current = set(user.teams.values_list("name", flat=True))
        if wanted - current or (mapped - wanted) & current:
            teams = [*user.teams.exclude(name__in=mapped - wanted)]
            teams += [_team(name) for name in sorted(wanted - current)]
            accounts.change(user.pk, teams=teams, by=None)


def _team(name: str) -> Team:
    """The team of this name, made if need be; two first sign-ins at once make one."""
    try:
        return Team.objects.filter(name=name).first() or accounts.create_team(name, None)
    except accounts.NameTaken:
        return Team.objects.get(name=name)


def of_account(user: User) -> Any:
    """The identities linked to an account."""
    return SocialAccount.objects.filter(user=user).order_by("pk")


@transaction.atomic
def link(user: User, issuer: str, subject: str, by: User) -> None:
    """From now on who signs in with this subject is this account. Raises IdentityLinkError."""
    if not 0 < len(subject) <= SUBJECT_LENGTH or "\0" in subject:
        raise IdentityLinkError(f"A subject has 1 to {SUBJECT_LENGTH} characters.")
    row = SocialAccount.objects.select_related("user").filter(provider=issuer, uid=subject).first()
    if row is not None:
        raise IdentityLinkError(
            f"This subject is linked to {row.user.get_username()} already: unlink it there first."
        )
    try:
        with transaction.atomic():
            SocialAccount.objects.create(user=user, provider=issuer, uid=subject)
    except IntegrityError:
        raise IdentityLinkError("This subject was linked a moment ago; look again.") from None
    audit.note(by, "identity linked", f"account {user}", issuer=issuer, subject=subject)


@transaction.atomic
def unlink(user: User, identity_id: int, by: User) -> bool:
    """The subject opens this account no more, and all sessions of it end. False: not there."""
    row = SocialAccount.objects.filter(pk=identity_id, user=user).first()
    if row is None:
        return False
    audit.note(by, "identity unlinked", f"account {user}", issuer=row.provider, subject=row.uid)
    row.delete()
    # Nothing says which of them the subject opened, and it may have been a stranger's.
    closing.end_sessions(user)
    if not user.has_usable_password():
        # A new random mark: a session that is made at this moment holds a digest of the old one.
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return True
