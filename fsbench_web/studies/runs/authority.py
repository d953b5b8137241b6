"""Whether what waits may still start: the author's rights now, not when it was submitted."""

from django.contrib.auth.models import User
from django.db.models import QuerySet

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import Team
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.studies.models import Run, Study, client_luns

RETRY = "Somebody who may erase it can submit the run again."


def refusals(runs: QuerySet[Run]) -> list[str]:
    """Why runs of these must not start, in sentences; empty where all may. Few queries. Only a
    command on the host submits runs without an author, and it may.
    """
    # A row for each LUN of a stack; None where there is none.
    of_series = ("lun", "journal_lun", "stack__lun", "study")
    fields = ("created_by", *(f"series__{name}" for name in of_series))
    submitted = runs.exclude(created_by=None)
    jobs = list(submitted.order_by(*fields).values_list(*fields, "series__machine").distinct())
    # Read now, whoever asks: a user object keeps its role from when that was first asked.
    authors = User.objects.select_related("person").in_bulk({row[0] for row in jobs})
    luns = Lun.objects.in_bulk({pk for row in jobs for pk in row[1:4] if pk is not None})
    studies = Study._base_manager.select_related("team").in_bulk({row[4] for row in jobs})
    reasons = []
    for author, lun, journal, member, study, machine in jobs:
        used = [luns[pk] for pk in (lun, journal, member) if pk in luns]
        used += client_luns(Machine.of(machine).clients)
        reasons.append(rights.why_not_any_more(authors[author], used, studies[study]))
    return [sentence for sentence in dict.fromkeys(reasons) if sentence]


def remedy(runs: QuerySet[Run]) -> str:
    """Who can do what about runs of these that must not start."""
    authors = User.objects.filter(pk__in=runs.values("created_by")).order_by("username")
    teams = Team.objects.filter(members__in=authors).distinct().order_by("name")
    subject = "An administrator"
    if names := list(teams.values_list("name", flat=True)):
        subject += (
            f", or an operator of the team {' or '.join(names)} who may erase the LUN and add to "
            "the study,"
        )
    return (
        f"{subject} can cancel what waits, and submit it again from here in their own name. "
        f"Until then the runs wait; when their turn comes, fsbench refuses them and erases nothing."
    )


def refusal(run_id: int) -> str:
    """Why this run must not start; empty where it may."""
    return " ".join(refusals(Run._base_manager.filter(pk=run_id)))
