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
    """A new account. The form has checked name and password; without one it opens with none.

    The next person to sign in with the password chooses another one first (accounts.passwords).
    Raises NameTaken.
    """
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
    role: Role,
    is_active: bool,
    teams: Iterable[Team],
    luns: Iterable[int],
    by: User | str,
    email: str | None = None,
    permalinks: closing.Permalinks | None = None,
    facts: Mapping[str, str] | None = None,
) -> User:
    """Role, whether the account is open, its teams, LUNs and e-mail address, all at once.

    ``email`` None leaves the address as it is. Closing an account ends its sessions, revokes its
    tokens and pauses its watches; opening it again brings none of them back. ``permalinks`` says
    what becomes of those that a closed account shared, ``facts`` what the audit log says of ``by``.
    Raises LastAdministrator, closing.DispositionError.
    """
    user = _locked(user_id, role=role, is_active=is_active)
    before = {"role": str(role_of(user) or ""), "open": user.is_active, "teams": _teams(user)}
    user.is_active = is_active
    if email is not None and email != user.email:
        user.email = email
        audit.note(by, "e-mail address changed", f"account {user}", by="an administrator")
    _store_role(user, role)
    user.teams.set(teams)
    after = {"role": str(role), "open": is_active, "teams": _teams(user)}
    if after != before:
        audit.note(
            by, "account changed", f"account {user}", before=before, after=after, **(facts or {})
        )
    grant(luns, by, user=user)
    if is_active != before["open"]:
        closing.end_all(user, by, closing.OPENED if is_active else closing.CLOSED)
    if not is_active:
        closing.apply_to_permalinks(user, by, permalinks, is_asked=bool(before["open"]))
    return user


@transaction.atomic
def close(
    user: User,
    by: User | str,
    permalinks: closing.Permalinks | None = None,
    facts: Mapping[str, str] | None = None,
) -> None:
    """Close the account and leave all else as it is.

    Raises LastAdministrator, closing.DispositionError.
    """
    locked = lock_account(user.pk)
    change(
        locked.pk,
        role=kept_role(locked),
        is_active=False,
        teams=list(locked.teams.all()),
        luns=list(LunGrant.objects.filter(user=locked).values_list("lun", flat=True)),
        by=by,
        permalinks=permalinks,
        facts=facts,
    )


@transaction.atomic
def set_password(user_id: int, by: User, *, revokes_tokens: bool) -> str:
    """A new random password, which nothing stores readably: shown once, to be handed over.

    The account's sessions end with the old one; its tokens only where asked for, because scripts go
    on when somebody only forgot a password. The next person to sign in with the new one chooses
    another first. Raises PasswordNotAllowed.
    """
    user = User.objects.select_for_update().get(pk=user_id)
    if user.pk == by.pk:
        raise PasswordNotAllowed("This is your own account: the account page changes its password.")
    if not user.is_active:
        raise PasswordNotAllowed(
            f"The account of {user} is closed, and no password opens it: open it."
        )
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    user.set_password(password)
    user.save(update_fields=["password"])
    passwords.note_given(user)
    audit.note(by, "password set", f"account {user}", by="an administrator", at_first="change")
    if revokes_tokens:
        for row in ApiToken.objects.filter(user=user):
            tokens.revoke(row, by)
    return password


@transaction.atomic
def set_role(user_id: int, role: Role, by: User | None) -> None:
    """The role alone. Raises LastAdministrator."""
    user = _locked(user_id, role=role, is_active=True)
    before = role_of(user)
    if before != role:
        _store_role(user, role)
        audit.note(
            by, "account changed", f"account {user}", before={"role": before}, after={"role": role}
        )


@transaction.atomic
def set_teams(user: User, teams: Iterable[Team], by: User | None) -> None:
    """The teams alone."""
    before = _teams(user)
    user.teams.set(teams)
    after = _teams(user)
    if after != before:
        audit.note(
            by,
            "account changed",
            f"account {user}",
            before={"teams": before},
            after={"teams": after},
        )


def lock_administrators() -> list[int]:
    """The keys of all of them, who wait for each other here until the transaction ends.

    Everybody locks them first, in one order, and the account that is to be changed then: two who
    began with each other's would wait for ever.
    """
    marked = Q(is_staff=True) | Q(is_superuser=True)
    rows = User.objects.select_for_update().order_by("pk")
    return [user.pk for user in rows.filter(marked, is_active=True)]


def lock_account(user_id: int) -> User:
    """The account as it is until the transaction ends. Raises User.DoesNotExist."""
    lock_administrators()
    return User.objects.select_for_update().get(pk=user_id)


def _locked(user_id: int, *, role: Role, is_active: bool) -> User:
    """The account, to be changed to this. Raises LastAdministrator."""
    administrators = lock_administrators()
    user = User.objects.select_for_update().get(pk=user_id)
    stays = role is Role.ADMINISTRATOR and is_active
    if not stays and administrators == [user.pk]:
        raise LastAdministrator(
            f"{user.get_username()} is the last administrator: make another one first."
        )
    return user


def _store_role(user: User, role: Role) -> None:
    is_administrator = role is Role.ADMINISTRATOR
    user.is_staff = is_administrator
    user.is_superuser = user.is_superuser and is_administrator
    user.save(update_fields=["is_staff", "is_active", "is_superuser", "email"])
    Person.objects.update_or_create(user=user, defaults={"role": role})


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
    luns: Iterable[int], by: User | str, *, user: User | None = None, team: Team | None = None
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
