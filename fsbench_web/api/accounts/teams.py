"""Teams: their members and LUNs."""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema, Status
from pydantic import Field

from fsbench_web.accounts.models import Team
from fsbench_web.accounts.people import accounts as people
from fsbench_web.accounts.people.forms import TeamForm, TeamNameForm
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.answers import IfMatch, require_match
from fsbench_web.api.protocol.errors import Refused
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
from fsbench_web.catalog.models import Lun

router = Router()


class TeamOut(Schema):
    id: int
    name: str
    members: list[str]
    luns: list[str]

    @staticmethod
    def resolve_members(team: Team) -> list[str]:
        return sorted(user.get_username() for user in team.members.all())

    @staticmethod
    def resolve_luns(team: Team) -> list[str]:
        return granted_luns(team)


class TeamIn(Strict):
    name: str = Field(max_length=200)


class TeamChange(Strict):
    """What is left out stays as it is; a list that is given replaces the whole."""

    name: str | None = Field(None, max_length=200)
    members: list[str] | None = Field(None, max_length=2000)
    luns: list[str] | None = Field(None, max_length=1000, description="as worker/LUN")


@router.get("/teams", response=page_of("TeamsOut", teams=TeamOut), summary="All teams")
@requires(Action.ADMINISTER)
def list_teams(
    request: HttpRequest, response: HttpResponse, filters: Query[Page]
) -> dict[str, Any]:
    """By name, with members and granted LUNs."""
    return page(request, response, _all_teams().order_by("name"), filters, "teams")


@router.post("/teams", response={201: TeamOut}, summary="Make a team")
@requires(Action.ADMINISTER)
def create_team(request: HttpRequest, team: TeamIn) -> Status[Team]:
    """Without members and LUNs at first."""
    values = cleaned(TeamNameForm({"name": team.name}))
    row = people.create_team(values["name"], user_of(request))
    return Status(201, _team_or_404(row.pk))


@router.get("/teams/{int:team_id}", response=TeamOut, summary="One team")
@requires(Action.ADMINISTER)
def get_team(request: HttpRequest, team_id: int) -> Team:
    """Its members and the LUNs granted to it."""
    return _team_or_404(team_id)


@router.patch("/teams/{int:team_id}", response=TeamOut, summary="Change a team")
@requires(Action.ADMINISTER)
def change_team(
    request: HttpRequest, team_id: int, team: TeamChange, if_match: IfMatch = ""
) -> Team:
    """Name, members, LUNs."""
    with transaction.atomic():
        Team.objects.select_for_update().filter(pk=team_id).first()
        row = _team_or_404(team_id)
        require_match(request)
        data = given_fields(team)
        name = data.get("name") or row.name
        members, luns = data.get("members"), data.get("luns")
        now = TeamForm(team=row).initial
        values = {
            "name": name,
            "members": [
                user.pk for user in (now["members"] if members is None else users_named(members))
            ],
            "luns": [lun.pk for lun in now["luns"]] if luns is None else luns_named(luns),
        }
        checked = cleaned(TeamForm(values, team=Team.objects.get(pk=team_id)))
        people.change_team(
            _team_or_404(team_id),
            name=checked["name"],
            members=checked["members"],
            luns=checked["luns"].values_list("pk", flat=True),
            by=user_of(request),
        )
        return _team_or_404(team_id)


def _all_teams() -> QuerySet[Team]:
    return Team.objects.prefetch_related("members", "lun_grants__lun__worker")


def _team_or_404(team_id: int) -> Team:
    rows = _all_teams().filter(pk=team_id)
    return found(rows, f"There is no team {team_id}; /api/v1/teams lists them.")


def granted_luns(row: Any) -> list[str]:
    """The LUNs granted to an account or a team, as worker/LUN."""
    return sorted(f"{grant.lun.worker.name}/{grant.lun.name}" for grant in row.lun_grants.all())


def teams_named(names: list[str]) -> list[Team]:
    """Those teams. Raises Refused, as the two below do."""
    by_name = {team.name: team for team in Team.objects.filter(name__in=names)}
    _refuse_unknown("teams", "team", set(names) - by_name.keys())
    return list(by_name.values())


def users_named(names: list[str], field: str = "members") -> list[User]:
    """Those accounts; ``field`` is what of the call names them."""
    by_name = {user.get_username(): user for user in User.objects.filter(username__in=names)}
    _refuse_unknown(field, "account", set(names) - by_name.keys())
    return list(by_name.values())


def luns_named(names: list[str]) -> list[int]:
    """The numbers of those LUNs, each once."""
    rows = Lun.objects.select_related("worker").filter(
        name__in={name.partition("/")[2] for name in names}
    )
    numbers = {f"{row.worker.name}/{row.name}": row.pk for row in rows}
    _refuse_unknown("luns", "LUN", set(names) - numbers.keys())
    return [numbers[name] for name in dict.fromkeys(names)]


def _refuse_unknown(field: str, word: str, names: set[str]) -> None:
    if names:
        raise Refused(
            422, [(field, f'There is no {word} "{name[:100]}".') for name in sorted(names)[:20]]
        )
