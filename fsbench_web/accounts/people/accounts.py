"""What an administrator changes: accounts, roles, teams, grants; all of it in the audit log."""

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q

from fsbench_web.accounts import audit, names, passwords, tokens
from fsbench_web.accounts.models import ApiToken, LunGrant, Person, Role, Team
from fsbench_web.accounts.people import closing
from fsbench_web.accounts.rights import role_of

# 96 random bits: nobody guesses them, and they can be read out over the telephone.
_PASSWORD_BYTES = 12


class LastAdministrator(ValueError):
    """Nobody would be left who can give rights."""


class NameTaken(ValueError):
    """Somebody else gave this name a moment ago, behind the form's back."""


class PasswordNotAllowed(ValueError):
    """The caller cannot set this password; the text says what to do instead."""


@contextmanager
def _refuse_taken_name(sentence: str) -> Iterator[None]:
    """NameTaken for what two people wrote at once; the transaction around it can go on."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise NameTaken(sentence) from None


@transaction.atomic
def create(name: str, password: str, role: Role, by: User) -> User:
    """A new account with a checked name and password, or without a password. Raises NameTaken."""
    # Two who make "admin" and "Admin" at once wait for each other here.
    lock_administrators()
    if problem := names.problem(name):
        raise NameTaken(problem)
    with _refuse_taken_name(f'There is an account "{name}" already, made a moment ago.'):
        user = User.objects.create_user(
            name, password=password or None, is_staff=role is Role.ADMINISTRATOR
        )
    Person.objects.create(user=user, role=role)
    audit.note(by, "account made", f"account {user}", role=str(role))
    if password:
        passwords.note_given(user)
        audit.note(by, "password set", f"account {user}", by="an administrator", at_first="change")
    return user


@transaction.atomic
def change(
    user_id: int,
    *,
    by: User | str | None,
    role: Role | None = None,
    is_active: bool | None = None,
    teams: Iterable[Team] | None = None,
    luns: Iterable[int] | None = None,
    email: str | None = None,
    permalinks: closing.Permalinks | None = None,
    facts: Mapping[str, str] | None = None,
) -> User:
    """Change what is given of an account, all at once.

    Closing an account ends its sessions, revokes its tokens and pauses its watches; opening it
    again brings none of them back. ``permalinks`` says what becomes of those that a closed account
    shared, ``facts`` what the audit log says of ``by``.
    Raises LastAdministrator, closing.DispositionError.
    """
    user = _locked(user_id, role=role, is_active=is_active)
    was_open = user.is_active
    before: dict[str, object] = {}
    after: dict[str, object] = {}
    if role is not None:
        before["role"], after["role"] = str(role_of(user) or ""), str(role)
    if is_active is not None:
        before["open"], after["open"] = was_open, is_active
        user.is_active = is_active
    if email is not None and email != user.email:
        user.email = email
        audit.note(by, "e-mail address changed", f"account {user}", by="an administrator")
    if role is not None:
        user.is_staff = role is Role.ADMINISTRATOR
        user.is_superuser = user.is_superuser and user.is_staff
        Person.objects.update_or_create(user=user, defaults={"role": role})
    user.save(update_fields=["is_staff", "is_active", "is_superuser", "email"])
    if teams is not None:
        before["teams"] = _teams(user)
        user.teams.set(teams)
        after["teams"] = _teams(user)
    if after != before:
        audit.note(
            by, "account changed", f"account {user}", before=before, after=after, **(facts or {})
        )
    if luns is not None:
        grant(luns, by, user=user)
    if user.is_active != was_open:
        closing.end_all(user, by, closing.OPENED if is_active else closing.CLOSED)
    if is_active is False:
        closing.apply_to_permalinks(user, by, permalinks, is_asked=was_open)
    return user


@transaction.atomic
def close(
    user: User,
    by: User | str,
    permalinks: closing.Permalinks | None = None,
    facts: Mapping[str, str] | None = None,
) -> None:
    """Close the account alone. Raises LastAdministrator, closing.DispositionError."""
    locked = lock_account(user.pk)
    change(
        locked.pk,
        role=kept_role(locked),
        is_active=False,
        teams=list(locked.teams.all()),
        by=by,
        permalinks=permalinks,
        facts=facts,
    )


@transaction.atomic
def set_password(user_id: int, by: User, *, revokes_tokens: bool) -> str:
    """Set a new random password, to be shown once. Raises PasswordNotAllowed.

    The account's sessions end. Its tokens end only where asked for, so that scripts go on.
    """
    user = User.objects.select_for_update().get(pk=user_id)
    if user.pk == by.pk:
        raise PasswordNotAllowed("This is your own account: the account page changes its password.")
    if not user.is_active:
        raise PasswordNotAllowed(f"The account of {user} is closed: reopen it first.")
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    user.set_password(password)
    user.save(update_fields=["password"])
    passwords.note_given(user)
    audit.note(by, "password set", f"account {user}", by="an administrator", at_first="change")
    if revokes_tokens:
        for row in ApiToken.objects.filter(user=user):
            tokens.revoke(row, by)
    return password


def lock_administrators() -> list[int]:
    """Lock all administrators until the transaction ends, and return their keys.

    Lock them before any other account, always: two callers in another order would deadlock.
    """
    marked = Q(is_staff=True) | Q(is_superuser=True)
    rows = User.objects.select_for_update().order_by("pk")
    return [user.pk for user in rows.filter(marked, is_active=True)]


def lock_account(user_id: int) -> User:
    """The account as it is until the transaction ends. Raises User.DoesNotExist."""
    lock_administrators()
    return User.objects.select_for_update().get(pk=user_id)


def _locked(user_id: int, *, role: Role | None, is_active: bool | None) -> User:
    """The account, to be changed to this. Raises LastAdministrator."""
    administrators = lock_administrators()
    user = User.objects.select_for_update().get(pk=user_id)
    is_demoted = role not in (None, Role.ADMINISTRATOR)
    if (is_demoted or is_active is False) and administrators == [user.pk]:
        raise LastAdministrator(
            f"{user.get_username()} is the last administrator: make another one first."
        )
    return user


def kept_role(user: User) -> Role:
    """The role, also the one that a closed account has again when it is opened."""
    if user.is_superuser or user.is_staff:
        return Role.ADMINISTRATOR
    person = getattr(user, "person", None)
    return role_of(user) or Role(person.role if person is not None else Role.VIEWER)


def _teams(user: User) -> list[str]:
    return list(user.teams.order_by("name").values_list("name", flat=True))


@transaction.atomic
def grant(
    luns: Iterable[int],
    by: User | str | None,
    *,
    user: User | None = None,
    team: Team | None = None,
) -> None:
    """These LUNs and no others are granted to the person or the team."""
    rows = LunGrant.objects.filter(user=user, team=team).select_related("lun__worker")
    wanted, present = set(luns), {row.lun_id: row for row in rows}
    whom = f"team {team}" if team else f"account {user}"
    for lun_id, row in present.items():
        if lun_id not in wanted:
            row.delete()
            audit.note(by, "LUN grant withdrawn", _name(row), whom=whom)
    for lun_id in sorted(wanted - present.keys()):
        granted = LunGrant.objects.create(lun_id=lun_id, user=user, team=team)
        audit.note(by, "LUN granted", _name(granted), whom=whom)


def _name(row: LunGrant) -> str:
    return f"LUN {row.lun.worker.name}/{row.lun.name}"


@transaction.atomic
def create_team(name: str, by: User | None) -> Team:
    """Raises NameTaken."""
    with _refuse_taken_name(f'There is a team "{name}" already, made a moment ago.'):
        team = Team.objects.create(name=name)
    audit.note(by, "team made", f"team {name}")
    return team


@transaction.atomic
def change_team(
    team: Team, *, name: str, members: Iterable[User], luns: Iterable[int], by: User
) -> None:
    """Name, members and LUNs. Raises NameTaken."""
    # What a form was given may have the new name on it already.
    stored = Team.objects.select_for_update().get(pk=team.pk)
    before = {"name": stored.name, "members": _members(team)}
    team.name = name
    with _refuse_taken_name(f'There is a team "{name}" already, made a moment ago.'):
        team.save(update_fields=["name"])
    team.members.set(members)
    after = {"name": team.name, "members": _members(team)}
    if after != before:
        audit.note(by, "team changed", f"team {before['name']}", before=before, after=after)
    grant(luns, by, team=team)


def _members(team: Team) -> list[str]:
    return list(team.members.order_by("username").values_list("username", flat=True))
