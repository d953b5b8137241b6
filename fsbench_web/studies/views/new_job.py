"""Submitting runs: a form in the address, a review of what will follow, a confirmation."""

import secrets

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.configurations.labels import configuration_label
from fsbench_web.catalog.configurations.preparation import MAXIMUM_FILL_PERCENT
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import (
    EXECUTORS,
    LEAST_MEMORY_BYTES,
    MIB,
    GuestAbility,
    GuestKernel,
)
from fsbench_web.core.scoring.categories import CATEGORIES
from fsbench_web.core.traces.tracers import TRACERS
from fsbench_web.studies.causes import MOST_RUN_AGAIN
from fsbench_web.studies.jobs import possible_runs, submitting
from fsbench_web.studies.jobs.features import clients, race
from fsbench_web.studies.jobs.features.durability import MOST_POINTS
from fsbench_web.studies.jobs.features.preparation import sprandom_problem
from fsbench_web.studies.jobs.features.probe import MOST_PROBE_S
from fsbench_web.studies.jobs.features.repeats import MAXIMUM_REPEATS, MOST_REPEATS
from fsbench_web.studies.jobs.features.tracing import why_not_traced
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.jobs.forms.configuration_fields import offered_layers as layers_offered
from fsbench_web.studies.jobs.forms.options import STEERING_FIELDS, by_field
from fsbench_web.studies.jobs.forms.workload import by_question
from fsbench_web.studies.jobs.planned_runs import Plan
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.models import Study
from fsbench_web.studies.sequence import MAXIMUM_SEED
from fsbench_web.studies.views import prefilled_forms
from fsbench_web.studies.views.job_review import review_context


@login_required
@never_cache
@require_GET
@requires(Action.RUN)
def new_job(request: HttpRequest) -> HttpResponse:
    """The form. Everything it shows comes from the query string."""
    form = job_form.read(request.GET)
    response = _form_page(request, form)
    if request.headers.get("HX-Request") == "true":
        # The page has other rows now. Under its old address "Back" would load the old ones, and
        # the browser would put its ticks, which it remembers by their order, beside the wrong ones.
        response["HX-Replace-Url"] = f"{request.path}?{form.to_query(with_rows=True)}"
    return response


@login_required
@never_cache
@require_GET
@requires(Action.RUN)
def possible(request: HttpRequest) -> HttpResponse:
    """What the form polls: how far workers set themselves up, and a digest of what can be run."""
    assert isinstance(request.user, User)
    cards = possible_runs.lun_cards(request.user)
    return render(request, "studies/job_possible.html", _possible_context(cards))


def _possible_context(cards: list[possible_runs.LunCard]) -> dict[str, object]:
    return {
        "setups": possible_runs.setups(cards),
        "possible_digest": possible_runs.digest(cards),
        "possible_every_s": possible_runs.refresh_every_s(cards),
    }


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.RUN)
def review(request: HttpRequest) -> HttpResponse:
    """What the job in the query string would do; POST with the LUN's name does it."""
    form = job_form.read(request.GET)
    form.suggested = ""  # what the page ticked is chosen once it is submitted
    form.choose_seed()
    spec = form.spec()
    if request.method != "POST":
        try:
            return _review_page(request, form, submitting.planned(spec), secrets.token_urlsafe(24))
        except JobRefused as refused:
            return _form_page(request, form, refused)
    assert isinstance(request.user, User)
    token = request.POST.get("token", "")[:64]
    try:
        confirmation, seen = (request.POST.get(name, "") for name in ("confirmation", "seen"))
        runs = submitting.submit(spec, confirmation, request.user, token, seen=seen)
    except JobRefused as refused:
        if set(refused.by_part) != {"confirmation"}:
            return _form_page(request, form, refused)
        return _review_page(request, form, submitting.planned(spec), token, refused)
    if len(runs) == 1:
        messages.success(request, "One run is queued.")
        return redirect("studies:run", run_id=runs[0].pk)
    messages.success(request, f"{len(runs)} runs are queued.")
    return redirect("studies:job", job_id=runs[0].job_id)


def _form_page(
    request: HttpRequest, form: job_form.JobForm, refused: JobRefused | None = None
) -> HttpResponse:
    """A form that was refused keeps what it had; any other gets what it lacks."""
    assert isinstance(request.user, User)
    cards = possible_runs.lun_cards(request.user)
    is_new = refused is None
    if is_new and not form.lun:
        only = possible_runs.usual_lun(cards)
        form.lun = str(only.pk) if only else ""
    lun = next((card.lun for card in cards if str(card.lun.pk) == form.lun), None)
    context = {
        "may_upload": rights.may(request.user, rights.Action.UPLOAD),
        "form": form,
        "lun_cards": cards,
        "lun": lun,
        **prefilled_forms.origin(request, cards, is_new=is_new),
        "outlook": _window_words(form) if is_new else "",
        "site_zone": timezone.get_current_timezone_name(),
        **_LIMITS,
        **_executor(form, lun, is_new),
        **_studies(request.user, form, lun, is_new),
        **_choices(form, lun, cards, is_new),
        **_workloads(form, lun, is_asked=is_new and _is_asked(request)),
        "no_sprandom": sprandom_problem(lun) if lun else "",
        **_refusal(refused),
        "marked": form.wrong_fields([*refused.places, *refused.by_part]) if refused else set(),
        **_possible_context(cards),
    }
    wrong = set(by_field(refused.by_part)) if refused else set()
    context["is_advanced_open"] = bool(
        wrong - _ALWAYS_SHOWN
        or (form.tuned_count and wrong.intersection(("configurations", "workload")))
        or _ASKING.intersection(request.GET)
        or request.headers.get("HX-Trigger-Name") in ("executor", "kernel")
    )
    return render(request, "studies/job_form.html", context, status=200 if is_new else 422)


def _window_words(form: job_form.JobForm) -> str:
    """What the time to stop leaves out, as soon as it is said and the job is one; else ""."""
    if not form["stop_before"]:
        return ""
    seed = form["seed"]
    form.choose_seed()
    try:
        window = submitting.planned(form.spec()).window
    except JobRefused as refused:
        return " ".join(refused.by_part.get("stop_before", []))
    finally:
        form.texts["seed"] = seed
    return window.words if window else ""


_LIMITS = {
    "executors": EXECUTORS,
    "least_memory_mib": LEAST_MEMORY_BYTES // MIB,
    "maximum_repeats": MAXIMUM_REPEATS,
    "most_repeats": MOST_REPEATS,
    "categories": tuple(CATEGORIES.values()),
    "least_hours": race.LEAST_HOURS,
    "most_hours": race.MOST_HOURS,
    "maximum_fill": MAXIMUM_FILL_PERCENT,
    "maximum_seed": MAXIMUM_SEED,
    "most_run_again": MOST_RUN_AGAIN,
    "most_probe_s": MOST_PROBE_S,
    "most_crash_points": MOST_POINTS,
}


_ALWAYS_SHOWN = {"lun", "configurations", "workload", "repeats", "race"}
"""The parts of the form that are not folded under Advanced; options and parameters are."""
_ASKING = {"add", "remove_variant", "executor_shown"}
"""The buttons under Advanced that ask for the form again."""


def _ability(lun: Lun | None) -> GuestAbility | None:
    return availability.guest(lun.worker) if lun else None


def _executor(form: job_form.JobForm, lun: Lun | None, is_new: bool) -> dict[str, object]:
    """What the LUN's worker can boot, and the schedulers to choose from."""
    ability = _ability(lun)
    if is_new and ability is not None and form.is_guest:
        form.fit(ability)
        usable = [kernel.name for kernel in ability.usable_kernels]
        if not set(form["kernels"]) & set(usable):
            form.texts["kernels"] = usable[:1]
    kernels = form.chosen_kernels(ability)
    names = list(lun.schedulers) if lun else []
    if form.is_guest:
        names = list(dict.fromkeys(name for kernel in kernels for name in kernel.elevators))
    if is_new and lun and not set(form.schedulers) & set(names):
        form.schedulers = names[:1]
    others = form.schedulers if lun and form.schedulers != names[:1] else []
    return {
        "other_schedulers": others,
        "advanced_count": form.changed_count + form.tuned_count + bool(others) + bool(form.study),
        "guest": ability,
        "guest_problems": list(availability.guest_problems(lun)) if lun else [],
        "most_memory_mib": ((ability.most_memory_bytes if ability else None) or 0) // MIB,
        "schedulers": _schedulers(names, kernels),
    }


def _studies(
    user: User, form: job_form.JobForm, lun: Lun | None, is_new: bool
) -> dict[str, object]:
    """The studies that runs can be added to, and why one that a link names is none of them."""
    all_studies = list(Study.objects.filter(is_published=False).order_by("title"))
    offered = rights.accepting(user, all_studies)
    why = ""
    if is_new:  # a form that was refused has its reason already
        titles = {study.title for study in all_studies}
        if form.new_study in ("", _default_title(None, titles)):
            form.new_study = _default_title(lun, titles)
        closed = (study for study in all_studies if study not in offered)
        named = next((study for study in closed if study.slug == form.study), None)
        why = rights.decide(user, rights.Action.RUN, named).why if named else ""
    return {"studies": offered, "study_problem": why}


def _is_asked(request: HttpRequest) -> bool:
    """Whether a link or another LUN asks for the form; other changes keep what is ticked."""
    is_changed = request.headers.get("HX-Request") == "true"
    return not is_changed or request.headers.get("HX-Trigger-Name") == "lun"


def _workloads(form: job_form.JobForm, lun: Lun | None, *, is_asked: bool) -> dict[str, object]:
    """The workloads with what keeps each from being run; what does not fit is not ticked."""
    presets = possible_runs.presets(form, lun)
    left_out = possible_runs.leave_out(form, presets) if is_asked else []
    if left_out:
        presets = possible_runs.presets(form, lun)
    ticked = (problem for preset in presets if preset.is_chosen for problem in preset.problems)
    return {
        "questions": by_question(presets),
        "picks": possible_runs.picked(presets),
        "left_out": left_out,
        "missing": list(dict.fromkeys(ticked)),
        "race_tests": race.tests_of(form.workloads[:1]),
    }


def _mounted_label(lun: Lun | None) -> str:
    """What a LUN that is a mount is compared as: ``nfs4.2_nconnect4``; "" of every other one."""
    mount = availability.mounted_contender(lun) if lun else None
    return configuration_label(mount.filesystem, mount.options) if mount else ""


def _choices(
    form: job_form.JobForm, lun: Lun | None, cards: list[possible_runs.LunCard], is_new: bool
) -> dict[str, object]:
    """File systems, workloads and journals, with what keeps each from being run."""
    kernels = form.chosen_kernels(_ability(lun))
    problems = possible_runs.filesystem_problems(lun, kernels, form.is_guest) if lun else {}
    if is_new:
        possible_runs.suggest(form, lun, problems)
    journals = availability.journal_luns(lun.worker) if lun else []
    members = availability.member_luns(lun) if lun else []
    groups = form.filesystem_groups(problems)
    offered_layers = layers_offered() if form.is_guest else []
    return {
        "filesystems": [group for group in groups if group.is_possible],
        "impossible": [group for group in groups if not group.is_possible],
        "mounted": _mounted_label(lun),
        "journals": journals,
        "offered_layers": offered_layers,
        "offered_labels": [label for label, _ in offered_layers],
        "stack_luns": [member for member in members if member.role == Lun.Role.DATA],
        "journal_names": [journal.name for journal in journals],
        "tracers": [
            (tracer, why_not_traced(tracer.slug, lun, is_guest=form.is_guest))
            for tracer in TRACERS.values()
        ],
        **_clients(form, lun),
        "setup": availability.setup(lun.worker) if lun else None,
        "nothing": possible_runs.why_nothing_runs(form, cards, lun, problems) if is_new else "",
    }


def _clients(form: job_form.JobForm, lun: Lun | None) -> dict[str, object]:
    """The workers that can measure at the same time, each with what keeps it from that."""
    by_name = clients.luns_by_name(lun)
    usual_names = {client.pk: name for name, client in reversed(by_name.items())}
    client_problems = {
        name: next(clients.problems_of(lun, by_name[name]), "")
        for name in sorted(usual_names.values())[: clients.MOST_CLIENTS]
        if lun is not None
    }
    chosen = [
        usual_names[by_name[name].pk] if name in by_name else name for name in form["clients"]
    ]
    return {
        "client_choices": list(client_problems.items()),
        "chosen_clients": list(dict.fromkeys(chosen)),
        "unknown_clients": [name for name in chosen if name not in client_problems],
    }


def _refusal(refused: JobRefused | None) -> dict[str, object]:
    """What is wrong by the fields of the form; order and reference have several."""
    if refused is None:
        return {"refused": None, "refused_plan": [], "refused_steering": False}
    by_part = by_field(refused.by_part)
    plan = [
        sentence
        for part in by_part
        if part.startswith(("order", "reference"))
        for sentence in by_part[part]
    ]
    is_steering = bool(plan) or not STEERING_FIELDS.isdisjoint(by_part)
    return {"refused": JobRefused(by_part), "refused_plan": plan, "refused_steering": is_steering}


def _schedulers(names: list[str], kernels: list[GuestKernel]) -> list[tuple[str, str]]:
    """(scheduler by today's name, what to know of it with these guest kernels)."""
    schedulers = []
    for name in names:
        supporting = [kernel for kernel in kernels if name in kernel.elevators]
        parts = [
            f"{kernel.elevators[name]} in {kernel.name}"
            for kernel in supporting
            if kernel.elevators[name] != name
        ]
        if len(supporting) < len(kernels):
            parts.append(f"only with {', '.join(kernel.name for kernel in supporting)}")
        schedulers.append((name, "; ".join(parts)))
    return schedulers


def _default_title(lun: Lun | None, taken: set[str]) -> str:
    now = timezone.localtime()
    title = f"{lun.name if lun else 'Runs'}, {now:%-d %B %Y}"
    return f"{title}, {now:%H:%M}" if title in taken else title


def _review_page(
    request: HttpRequest,
    form: job_form.JobForm,
    plan: Plan,
    token: str,
    refused: JobRefused | None = None,
) -> HttpResponse:
    query = form.to_query()
    context = review_context(form.spec(), plan, token, refused) | {
        "change_url": f"{reverse('studies:new_job')}?{query}",
        "action_url": f"{reverse('studies:review_job')}?{query}",
    }
    return render(request, "studies/job_review.html", context, status=422 if refused else 200)
