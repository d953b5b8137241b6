"""Pages of triggers: one's own, one of them, and the forms that save and steer them."""

import secrets
from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.models import Lun
from fsbench_web.studies.jobs.documents import text as job_document
from fsbench_web.studies.jobs.documents.writer import without_times
from fsbench_web.studies.jobs.planned_runs import Plan
from fsbench_web.studies.models import Job, Trigger, TriggerOrder
from fsbench_web.studies.triggers import ordering, records
from fsbench_web.studies.triggers.form import TriggerForm, schedule_times
from runner.safety import lun_identity

SHOWN_ORDERS = 50


@never_cache
@require_safe
@login_required
@requires(Action.ACCOUNT)
def trigger_list(request: HttpRequest) -> HttpResponse:
    """The triggers of this person, each with its next time and its last order."""
    last = TriggerOrder.objects.filter(trigger=OuterRef("pk")).order_by("-id").values("pk")
    triggers = list(_own(request).annotate(last_order=Subquery(last[:1])))
    orders = TriggerOrder.objects.in_bulk({row.last_order for row in triggers})
    rows = [(row, orders.get(row.last_order)) for row in triggers]
    return render(request, "studies/triggers/list.html", {"rows": rows})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@requires(Action.RUN)
def new(request: HttpRequest) -> HttpResponse:
    """A new trigger, of the job in ``?job=`` if there is one."""
    return _form_page(request, None)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@requires(Action.RUN)
def edit(request: HttpRequest, trigger_id: int) -> HttpResponse:
    """Change a trigger, and confirm it again."""
    return _form_page(request, _own_trigger(request, trigger_id))


def _form_page(request: HttpRequest, trigger: Trigger | None) -> HttpResponse:
    user, problems = _user(request), []
    if request.method == "POST":
        form = TriggerForm(request.POST, user=user, trigger=trigger)
        if form.is_valid():
            assert form.plan is not None
            try:
                saved = records.save(user, form.cleaned_data, form.plan, trigger)
            except records.TooManyTriggers as error:
                form.add_error(None, str(error))
            else:
                messages.success(request, "Saved. It orders its job from now on.")
                return redirect("studies:trigger", saved.pk)
    else:
        initial = TriggerForm.initial_of(trigger) if trigger else _initial(request)
        form = TriggerForm(initial=initial, user=user, trigger=trigger)
        problems = form.plan_of(initial["document"]) if initial.get("document") else []
    context = {
        "form": form,
        "trigger": trigger,
        "problems": problems,
        "plan": form.plan,
        "confirmed": _devices(form.plan),
        "erasures": sum(run.erases for run in form.plan.runs) if form.plan else 0,
    }
    status = 422 if form.is_bound else 200
    return render(request, "studies/triggers/form.html", context, status=status)


def _devices(plan: Plan | None) -> list[tuple[Lun, str]]:
    return [(lun, lun_identity.in_words(lun.fingerprint)) for lun in plan.luns] if plan else []


def _initial(request: HttpRequest) -> dict[str, str]:
    number = request.GET.get("job", "")
    job = None
    if number.isascii() and number.isdigit() and len(number) < 19:
        job = Job.objects.select_related("study").filter(pk=int(number)).first()
    if job is None or not job.document or job.study is None:
        return {}
    document = without_times(job.document)
    document.pop("seed", None)
    return {"title": f"{job.study.title} again"[:120], "document": job_document.write(document)}


@never_cache
@require_safe
@login_required
@requires(Action.ACCOUNT)
def page(request: HttpRequest, trigger_id: int) -> HttpResponse:
    """One trigger: what it orders when, and what it ordered."""
    return _page(request, _own_trigger(request, trigger_id))


def _page(request: HttpRequest, trigger: Trigger, token: str = "") -> HttpResponse:
    orders = trigger.orders.select_related("job")
    fire = reverse("api:fire_trigger", args=[trigger.pk])
    context = {
        "trigger": trigger,
        "orders": orders[:SHOWN_ORDERS],
        "total": orders.count(),
        "coming": schedule_times(trigger.schedule, trigger.zone) if trigger.is_active else [],
        "running": ordering.unfinished_job(trigger),
        "text": job_document.write(trigger.document),
        "token": token,
        "fire_url": request.build_absolute_uri(fire),
    }
    status = 201 if token else 200
    return render(request, "studies/triggers/trigger.html", context, status=status)


@require_POST
@login_required
@requires(Action.ACCOUNT)
def pause(request: HttpRequest, trigger_id: int) -> HttpResponse:
    """Let it order nothing."""
    return _act(request, trigger_id, records.pause, "Paused: it orders nothing.")


@require_POST
@login_required
@requires(Action.RUN)
def resume(request: HttpRequest, trigger_id: int) -> HttpResponse:
    """Let it order from now on."""
    try:
        return _act(request, trigger_id, records.resume, "It orders its job from now on.")
    except records.NotConfirmed:
        messages.error(request, "The job or a LUN has changed. Look at it, then confirm it again.")
        return redirect("studies:edit_trigger", trigger_id)


@require_POST
@login_required
@requires(Action.ACCOUNT)
def delete(request: HttpRequest, trigger_id: int) -> HttpResponse:
    """Delete it for good."""
    records.delete(_own_trigger(request, trigger_id))
    messages.success(request, "Deleted. Its jobs and their results stay.")
    return redirect("studies:triggers")


@require_POST
@login_required
@requires(Action.RUN)
def order_now(request: HttpRequest, trigger_id: int) -> HttpResponse:
    """Order its job by hand."""
    trigger, key = _own_trigger(request, trigger_id), f"person {secrets.token_hex(8)}"
    order = ordering.order(trigger.pk, TriggerOrder.Cause.PERSON, key)
    if order is None:
        messages.error(request, "It is paused. Resume it first.")
    elif order.job is not None:
        messages.success(request, f"Job {order.job.pk} is queued.")
    else:
        messages.error(request, f"Nothing was ordered: {order.get_problem_display()}.")
    return redirect("studies:trigger", trigger_id)


@never_cache
@require_POST
@login_required
@requires(Action.RUN)
def make_token(request: HttpRequest, trigger_id: int) -> HttpResponse:
    """Make its token. The answer shows it: a redirect would have to store it in between."""
    trigger = _own_trigger(request, trigger_id)
    token = records.make_token(trigger)
    return _page(request, _own_trigger(request, trigger_id), token)


def _act(
    request: HttpRequest, trigger_id: int, act: Callable[[Trigger], None], notice: str
) -> HttpResponse:
    act(_own_trigger(request, trigger_id))
    messages.success(request, notice)
    return redirect("studies:trigger", trigger_id)


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _own(request: HttpRequest) -> QuerySet[Trigger]:
    return Trigger.objects.filter(user=_user(request)).select_related(
        "lun__worker", "token", "user"
    )


def _own_trigger(request: HttpRequest, trigger_id: int) -> Trigger:
    trigger = _own(request).filter(pk=trigger_id).first()
    if trigger is None:
        raise Http404(f"You have no trigger {trigger_id}. /triggers/ lists yours.")
    return trigger
