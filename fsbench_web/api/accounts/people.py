"""Accounts: their role, teams and LUNs, their password, and how they are closed."""

from datetime import datetime
from typing import Any, Literal

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema, Status
from pydantic import Field, StrictBool

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import Role
from fsbench_web.accounts.people import accounts as people
from fsbench_web.accounts.people import closing
from fsbench_web.accounts.people.forms import AccountForm, PersonForm
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.accounts.teams import granted_luns, luns_named, teams_named, users_named
from fsbench_web.api.protocol.answers import IfMatch, require_match
from fsbench_web.api.protocol.errors import Error, Refused
from fsbench_web.api.protocol.router import Router, user_of
from fsbench_web.api.protocol.schemas import (
    Page,
    Strict,
    cleaned,
    found,
    given_fields,
    page,
    page_of,
)

router = Router()
RoleName = Literal["viewer", "contributor", "operator", "administrator"]


class PersonOut(Schema):
    """``luns`` are those granted to the account itself, as worker/LUN; its teams' come on top."""

    id: int
    username: str
    role: str
    is_active: bool
    teams: list[str]
    luns: list[str]
    last_login: datetime | None

    @staticmethod
    def resolve_role(user: User) -> str:
        return str(rights.role_of(user) or PersonForm(user=user).initial["role"])

    @staticmethod
    def resolve_teams(user: User) -> list[str]:
        return sorted(team.name for team in user.teams.all())

    @staticmethod
    def resolve_luns(user: User) -> list[str]:
        return granted_luns(user)


class AccountIn(Strict):
    username: str = Field(max_length=150)
    password: str = Field(
        "", max_length=4096, description="none where sign-in with a password is switched off"
    )
    role: RoleName


class PersonIn(Strict):
    """What is left out stays as it is; a list that is given replaces the whole."""

    role: RoleName | None = None
    is_active: StrictBool | None = None
    teams: list[str] | None = Field(None, max_length=500)
    luns: list[str] | None = Field(None, max_length=1000, description="as worker/LUN")
    permalinks: Literal["withdraw", "hand_over", "keep"] | None = Field(
        None, description="of an account that is closed; must be said where it shared any"
    )
    permalinks_to: str | None = Field(
        None, max_length=150, description="the account that takes them over, of `hand_over`"
    )


class PasswordIn(Strict):
    revokes_tokens: StrictBool = Field(False, description="end the account's API tokens too")


class PasswordOut(Schema):
    """Nothing stores it readably: this answer is the only one that has it."""

    password: str


@router.get("/people", response=page_of("PeopleOut", people=PersonOut), summary="All accounts")
@requires(Action.ADMINISTER)
def list_people(
    request: HttpRequest, response: HttpResponse, filters: Query[Page]
) -> dict[str, Any]:
    """Closed ones too, by name."""
    return page(request, response, _people().order_by("username"), filters, "people")


@router.post("/people", response={201: PersonOut}, summary="Make an account")
@requires(Action.ADMINISTER)
def create_person(request: HttpRequest, account: AccountIn) -> Status[User]:
    """With a password to be handed over safely: its first sign-in leads to choosing another.
    Where sign-in with a password is switched off, without one: a subject is linked to it.
    """
    values = cleaned(AccountForm(account.model_dump()))
    if account.password and not settings.PASSWORD_SIGN_IN:
        sentence = "Sign-in with a password is switched off here: leave it out."
        raise Refused(422, [("password", sentence)])
    try:
        user = people.create(
            values["username"], values.get("password", ""), Role(values["role"]), user_of(request)
        )
    except people.NameTaken as taken:
        raise Refused(422, [("username", str(taken))]) from None
    return Status(201, _person_or_404(user.pk))


@router.get("/people/{int:user_id}", response=PersonOut, summary="One account")
@requires(Action.ADMINISTER)
def get_person(request: HttpRequest, user_id: int) -> User:
    """Its role, teams and LUNs, and whether it is open."""
    return _person_or_404(user_id)


@router.patch(
    "/people/{int:user_id}", response={200: PersonOut, 409: Error}, summary="Change an account"
)
@requires(Action.ADMINISTER)
def change_person(
    request: HttpRequest, user_id: int, person: PersonIn, if_match: IfMatch = ""
) -> User:
    """Role, teams, LUNs, whether it is open. Closing it ends its sessions, revokes its tokens
    and pauses its watches; `permalinks` says what becomes of those it shared. 409 for the last
    administrator's.
    """
    with transaction.atomic():
        people.lock_administrators()
        User.objects.select_for_update(of=("self",)).filter(pk=user_id).first()
        user = _person_or_404(user_id)
        require_match(request)
        form = PersonForm(user=user)
        values = given_fields(person)
        now = form.initial
        luns = values.get("luns")
        teams = values.get("teams")
        is_active = now["is_active"] if values.get("is_active") is None else values["is_active"]
        people.change(
            user_id,
            role=Role(values.get("role") or now["role"]),
            is_active=is_active,
            teams=list(now["teams"]) if teams is None else teams_named(teams),
            luns=[lun.pk for lun in now["luns"]] if luns is None else luns_named(luns),
            by=user_of(request),
            permalinks=_permalinks(values, is_active=is_active),
        )
        return _person_or_404(user_id)


@router.post(
    "/people/{int:user_id}/password",
    response={201: PasswordOut, 409: Error},
    summary="Set a new password",
)
@requires(Action.ADMINISTER)
def set_password(
    request: HttpRequest, response: HttpResponse, user_id: int, wanted: PasswordIn
) -> Status[dict[str, Any]]:
    """A random one, shown once, which must be changed at the first sign-in. Ends the account's
    sessions. 409 for one's own or a closed one.
    """
    _person_or_404(user_id)
    if not settings.PASSWORD_SIGN_IN:
        raise PermissionDenied("Sign-in with a password is switched off here.")
    password = people.set_password(user_id, user_of(request), revokes_tokens=wanted.revokes_tokens)
    response["Cache-Control"] = "no-store"
    return Status(201, {"password": password})


def _people() -> QuerySet[User]:
    return User.objects.select_related("person").prefetch_related(
        "teams", "lun_grants__lun__worker"
    )


def _person_or_404(user_id: int) -> User:
    rows = _people().filter(pk=user_id)
    return found(rows, f"There is no account {user_id}; /api/v1/people lists them.")


def _permalinks(data: dict[str, Any], *, is_active: bool) -> closing.Permalinks | None:
    """What becomes of them. Raises Refused for what would be dropped in silence."""
    if (
        data.get("permalinks_to")
        and data.get("permalinks") != closing.PermalinkDisposition.HAND_OVER
    ):
        raise Refused(422, [("permalinks_to", "An account takes them over: hand_over says so.")])
    if data.get("permalinks") is None:
        return None
    if is_active:
        raise Refused(422, [("permalinks", "The account stays open, and has its permalinks.")])
    heirs = (
        users_named([data["permalinks_to"]], "permalinks_to") if data.get("permalinks_to") else []
    )
    return closing.Permalinks(
        closing.PermalinkDisposition(data["permalinks"]), next(iter(heirs), None)
    )
