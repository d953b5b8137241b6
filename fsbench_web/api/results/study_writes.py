"""Studies: making one, who sees it, its report."""

from typing import Literal

from django.db import transaction
from django.http import HttpRequest
from django.urls import reverse
from ninja import Query, Status
from pydantic import Field

from fsbench_web.accounts import audit, rights
from fsbench_web.accounts.models import Team
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.answers import IfMatch, require_match
from fsbench_web.api.protocol.auth import user_of
from fsbench_web.api.protocol.bodies import Strict, cleaned, given_fields
from fsbench_web.api.protocol.errors import Error, Refused
from fsbench_web.api.protocol.objects import Answer, With, value_at
from fsbench_web.api.results.deltas import WorkFilters
from fsbench_web.api.results.studies import StudyOut, get_study, router, study_or_404
from fsbench_web.platform import plain_text
from fsbench_web.studies.jobs import new_study
from fsbench_web.studies.models import Study
from fsbench_web.studies.views.access import AccessForm

# One address answers all of its methods from one router.


class StudyIn(Strict):
    title: str = Field(max_length=400, examples=["Array test"])
    summary: str = Field("", max_length=4000)


class AccessOut(Answer):
    """``team`` is the name of the team that owns it, or null."""

    visibility: str
    team: str | None = value_at("team.name", None)
    created_by: str | None = value_at("created_by.username", None)


class AccessIn(Strict):
    """What is left out stays as it is. ``team``: a name, or null for none."""

    visibility: Literal["public", "team", "private"] | None = None
    team: str | None = None


@router.post("/studies", response={201: StudyOut, 409: Error}, summary="Make a study")
@requires(Action.IMPORT)
def create_study(request: HttpRequest, study: StudyIn) -> Status[With]:
    """An empty study; jobs and imports make theirs by themselves. 409 where its address is
    taken, also by one that you may not see.
    """
    if problem := plain_text.problem(study.summary, is_multiline=True):
        raise Refused(422, [("summary", problem)])
    try:
        title = new_study.checked_title(study.title)
        with transaction.atomic():
            row = new_study.create_study(title, user_of(request), summary=study.summary)
    except new_study.InvalidTitle as error:
        raise Refused(422, [("title", str(error))]) from None
    except new_study.StudyExists as error:
        raise Refused(409, [("title", str(error))]) from None
    return Status(201, get_study(request, row.slug))


@router.get("/studies/{slug:slug}/access", response=AccessOut, summary="Who sees a study")
@requires(Action.OWN)
def get_study_access(request: HttpRequest, slug: str) -> Study:
    """For its maker, its team and administrators."""
    study = study_or_404(slug)
    rights.require(user_of(request), rights.Action.OWN, study)
    return study


@router.patch("/studies/{slug:slug}/access", response=AccessOut, summary="Say who sees a study")
@requires(Action.OWN)
def change_study_access(
    request: HttpRequest, slug: str, access: AccessIn, if_match: IfMatch = ""
) -> Study:
    """Its visibility, and the team that owns it. With `If-Match`, only if nobody changed it."""
    user = user_of(request)
    unlocked = study_or_404(slug)
    with transaction.atomic():
        study = Study.objects.select_for_update().get(pk=unlocked.pk)
        rights.require(user, rights.Action.OWN, study)
        if study.is_published:
            raise Refused(422, [("visibility", "A published study is public and stays so.")])
        require_match(request)
        data = given_fields(access)
        values = {
            "visibility": data.get("visibility") or study.visibility,
            "team": _team(data["team"]) if "team" in data else study.team_id,
        }
        form = AccessForm(values, instance=study, user=user)
        cleaned(form)
        changed = form.save(commit=False)
        changed.save(update_fields=["visibility", "team"])
        audit.note(
            user,
            "study access changed",
            f"study {slug}",
            visibility=changed.visibility,
            team=str(changed.team) if changed.team else None,
        )
        return changed


@router.get(
    "/studies/{slug:slug}/report.pdf",
    response={410: Error},
    summary="Gone: the report is a page, which browsers print",
    deprecated=True,
)
@requires(Action.READ)
def get_study_report(
    request: HttpRequest,
    slug: str,
    work: Query[WorkFilters],
    by: str = Query("", description="what its tables rank"),
    units: str = Query("", description="binary, decimal or printed, as of a comparison"),
) -> None:
    """410 with the address of the page; the page takes the same parameters."""
    study_or_404(slug)
    query = request.GET.urlencode()
    path = reverse("report", args=[slug]) + (f"?{query}" if query else "")
    address = request.build_absolute_uri(path)
    raise Refused(410, [(None, f"fsbench makes no PDF. Print the page of the report: {address}")])


def _team(name: str | None) -> int | None:
    if not name:
        return None
    team = Team.objects.filter(name=name).first()
    if team is None:
        raise Refused(422, [("team", f'There is no team "{name[:80]}".')])
    return team.pk
