"""Teams: their members and LUNs."""

from typing import Any

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Schema, Status
from pydantic import Field

from fsbench_web.accounts.models import Team
from fsbench_web.accounts.people import accounts as people
from fsbench_web.accounts.people.forms import TeamForm, TeamNameForm
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.accounts import lookup
from fsbench_web.api.protocol.answers import IfMatch, require_match
from fsbench_web.api.protocol.auth import user_of
from fsbench_web.api.protocol.bodies import Strict, cleaned, given_fields
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.pages import Page, PageOut, page
from fsbench_web.api.protocol.router import Router

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
        return lookup.granted_luns(team)


class TeamsOut(PageOut):
    teams: list[TeamOut]


class TeamIn(Strict):
    name: str = Field(max_length=200)


class TeamChange(Strict):
    """What is left out stays as it is; a list that is given replaces the whole."""

    name: str | None = Field(None, max_length=200)
    members: list[str] | None = Field(None, max_length=2000)
    luns: list[str] | None = Field(None, max_length=1000, description="as worker/LUN")


@router.get("/teams", response=TeamsOut, summary="All teams")
@requires(Action.ADMINISTER)
def list_teams(
    request: HttpRequest, response: HttpResponse, filters: Query[Page]
) -> dict[str, Any]:
    """By name, with members and granted LUNs."""
    rows, paging = page(request, response, _all_teams().order_by("name"), filters)
    return {**paging, "teams": rows}


@router.post("/teams", response={201: TeamOut}, summary="Make a team")
@requires(Action.ADMINISTER)
def create_team(request: HttpRequest, team: TeamIn) -> Status[Team]:
    """Without members and LUNs at first."""
    values = cleaned(TeamNameForm({"name": team.name}))
    try:
        row = people.create_team(values["name"], user_of(request))
    except people.NameTaken as taken:
        raise Refused(422, [("name", str(taken))]) from None
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
                user.pk for user in (now["members"] if members is None else lookup.users(members))
            ],
            "luns": [lun.pk for lun in now["luns"]] if luns is None else lookup.luns(luns),
        }
        checked = cleaned(TeamForm(values, team=Team.objects.get(pk=team_id)))
        try:
            people.change_team(
                _team_or_404(team_id),
                name=checked["name"],
                members=checked["members"],
                luns=checked["luns"].values_list("pk", flat=True),
                by=user_of(request),
            )
        except people.NameTaken as taken:
            raise Refused(422, [("name", str(taken))]) from None
        return _team_or_404(team_id)


def _all_teams() -> Any:
    return Team.objects.prefetch_related("members", "lun_grants__lun__worker")


def _team_or_404(team_id: int) -> Team:
    team: Team | None = _all_teams().filter(pk=team_id).first()
    if team is None:
        raise Http404(f"There is no team {team_id}; /api/v1/teams lists them.")
    return team
