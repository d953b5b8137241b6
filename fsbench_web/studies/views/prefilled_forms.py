"""Ways to the job form from what was measured: more blocks of it, or a study that goes on."""

from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.core.formats.values import count_of
from fsbench_web.core.stats.verdicts import LEAST_BLOCKS
from fsbench_web.studies.jobs import lookup, possible_runs
from fsbench_web.studies.jobs.features.repeats import MAXIMUM_REPEATS
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.models import Job, Series, Study
from fsbench_web.studies.views import run_details, study_continuation

CONTINUED = "continued"
"""The key in the form's address that names the job which it continues."""

TAKEN_FROM = "taken_from"
"""The key that names the study, without a job, that the form was filled in from."""

MOST_TOGETHER = 12
"""Configurations that a verdict orders more blocks of."""


@login_required
@require_GET
@requires(Action.RUN)
def more_blocks(request: HttpRequest) -> HttpResponse:
    """Lead to the form that measures ``series`` together, in ``blocks`` blocks."""
    numbers = (count_of(text, 12) for text in request.GET.getlist("series")[:MOST_TOGETHER])
    ids = [number for number in numbers if number is not None]
    blocks = count_of(request.GET.get("blocks", ""), 12)
    related = ("study", "workload", "configuration", "journal_lun")
    by_id = Series.objects.select_related(*related).in_bulk(ids)
    serieses = [by_id[key] for key in dict.fromkeys(ids) if key in by_id]
    repeats = LEAST_BLOCKS if blocks is None else min(blocks, MAXIMUM_REPEATS)
    jobs = Job.objects.filter(runs__series__in=serieses).order_by("-pk")
    probe_s = jobs.values_list("probe_s", flat=True).first() or 0
    query = run_details.submit_together(serieses, max(repeats, 1), probe_s) if serieses else ""
    if query and blocks is not None and blocks > repeats:
        messages.info(
            request,
            f"A job has at most {MAXIMUM_REPEATS} blocks: these are the first of {blocks}. "
            "Less noise (an idle machine, longer runs) may help more.",
        )
    if not query:
        messages.error(
            request,
            "fsbench cannot repeat these as they were, or they used several LUNs or workloads: "
            "choose what to measure.",
        )
    return redirect(f"{reverse('studies:new_job')}?{query}" if query else "studies:new_job")


@login_required
@require_GET
@requires(Action.RUN)
def continue_study(request: HttpRequest) -> HttpResponse:
    """The form as the last job of a study had it, without times; of an import what is known."""
    slug = request.GET.get("study", "").replace("\x00", "")
    job = Job.objects.filter(study__slug=slug).exclude(document={}).order_by("-pk").first()
    if job is None or job.study is None:
        taken = _taken_from(request, slug, None)
        query = f"{taken.query}&{urlencode({TAKEN_FROM: slug})}" if taken else ""
        return redirect(f"{reverse('studies:new_job')}?{query or urlencode({'study': slug})}")
    spec = lookup.spec_of(job.document)
    names = [wanted.name for wanted in spec.workloads]
    if len(set(names)) < len(names):
        messages.info(
            request,
            "The last job of this study ran one workload with several sets of parameters, which "
            "the form cannot say: this is its job file.",
        )
        return redirect(f"{reverse('studies:document_job')}?job={job.pk}")
    # Times are of one job: a night that is over does not come back.
    changes = {"study": job.study.slug, "new_study": "", "seed": None}
    changes |= {"start_at": None, "stop_before": None}
    query = job_form.prefilled(spec.model_copy(update=changes)).to_query()
    return redirect(f"{reverse('studies:new_job')}?{query}&{CONTINUED}={job.pk}")


def origin(
    request: HttpRequest, cards: list[possible_runs.LunCard], *, is_new: bool
) -> dict[str, object]:
    """The ``continued`` job or ``taken`` study of the form; one or none is there."""
    taken_from = request.GET.get(TAKEN_FROM, "") if is_new else ""
    return {
        "continued": _continued(request) if is_new else None,
        "taken": _taken_from(request, taken_from, cards) if taken_from else None,
    }


def _continued(request: HttpRequest) -> Job | None:
    """The job that the form continues, where its address names one."""
    key = count_of(request.GET.get(CONTINUED, ""), 12)
    return None if key is None else Job.objects.filter(pk=key).first()


def _taken_from(
    request: HttpRequest, slug: str, cards: list[possible_runs.LunCard] | None
) -> study_continuation.ContinuedForm | None:
    """What the form can take of a study; None of one that is none, is empty or is published."""
    assert isinstance(request.user, User)
    study = Study.objects.filter(slug=slug.replace("\x00", ""), is_published=False).first()
    if not slug or study is None:
        return None
    cards = possible_runs.lun_cards(request.user) if cards is None else cards
    return study_continuation.continued_form(study, cards)
