"""Sweeps: the list, one with its progress, and what a person can do with it."""

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.core.scoring import testnames
from fsbench_web.figures.drift import reference_drift
from fsbench_web.studies.models import Run, RunState, Submission
from fsbench_web.studies.orders import sweeps
from fsbench_web.studies.orders.documents import text as sweep_document
from fsbench_web.studies.runs import authority, control
from fsbench_web.studies.runs.control import ControlRefused
from fsbench_web.studies.runs.listing import listed_runs
from fsbench_web.studies.runs.queue import IN_TURN
from fsbench_web.studies.scores.drift import Drift, drift_of

PAGE_SIZE = 50
RUNS_PAGE_SIZE = 100


@never_cache
@require_safe
@requires(Action.READ)
def sweep_list(request: HttpRequest) -> HttpResponse:
    """All orders, the newest first."""
    page = Paginator(sweeps.listed_sweeps().defer("document"), PAGE_SIZE).get_page(
        request.GET.get("page")
    )
    rows = [(order, sweeps.state_of(order)) for order in page]
    context = {
        "page": page,
        "rows": [(order, state, sweeps.BADGES[state]) for order, state in rows],
        "is_live": any(state in ("running", "waiting") for _, state in rows),
    }
    partial = request.headers.get("HX-Request") == "true"
    return render(request, "studies/sweep_rows.html" if partial else "studies/sweeps.html", context)


@never_cache
@require_safe
@requires(Action.READ)
def sweep(request: HttpRequest, order_id: int) -> HttpResponse:
    """One order: its plan, how far it is, its runs, and the drift of its reference."""
    return _page(request, order_id)


def _page(request: HttpRequest, order_id: int, problems: list[str] | None = None) -> HttpResponse:
    order = order_or_404(order_id)
    state = sweeps.state_of(order)
    standstill = sweeps.standstill_of(order)
    progress = sweeps.progress_of(order, is_standing_still=bool(standstill))
    runs = listed_runs().filter(submission=order).select_related("retried_as").order_by(*IN_TURN)
    page = Paginator(runs, RUNS_PAGE_SIZE).get_page(request.GET.get("page"))
    waiting = order.runs.filter(state=RunState.QUEUED)
    refusals = authority.refusals(waiting) if order.queued_count else []  # type: ignore[attr-defined]
    context = {
        "refusals": refusals,
        "remedy": authority.remedy(waiting) if refusals else "",
        "order": order,
        "state": state,
        "badge": sweeps.BADGES[state],
        "progress": progress,
        "standstill": standstill,
        "page": page,
        "is_live": state != "ended",
        "problems": problems or [],
    }
    drift = drift_of(order)
    again = {
        "failed": control.retriable(order, control.RETRIED_STATES),
        "cancelled": control.retriable(order, [RunState.CANCELLED]),
    }
    context |= {
        "steering": rights.decide(request.user, rights.Action.STEER, order),
        "document": order.document,
        "drift": drift,
        "drift_figure": _drift_figure(drift),
        "again": again,
        "confirmed": control.confirmed_by([*again["failed"], *again["cancelled"]]),
        "seen": control.seen_of([*again["failed"], *again["cancelled"]]),
        "confirmation_text": control.order_confirmation(order),
        "least_priority": control.LEAST_PRIORITY,
        "most_priority": control.MOST_PRIORITY,
    }
    if request.headers.get("HX-Request") == "true":
        return render(request, "studies/sweep_live.html", context)
    context["text"] = sweep_document.write(order.document) if order.document else ""
    return render(request, "studies/sweep.html", context, status=422 if problems else 200)


def _drift_figure(drift: Drift | None) -> object:
    if drift is None or len(drift.points) < 2:
        return None
    return reference_drift(
        [point.at for point in drift.points],
        {
            testnames.label(test): [point.changes_percent[index] for point in drift.points]
            for index, test in enumerate(drift.tests)
        },
        "Reference over time",
    )


def _action(request: HttpRequest, order_id: int, act: Callable[[User], str]) -> HttpResponse:
    """Do it, say what happened, and go back to the page."""
    assert isinstance(request.user, User)
    try:
        messages.success(request, act(request.user))
    except Submission.DoesNotExist:
        raise _not_there(order_id) from None
    except ControlRefused as refused:
        return _page(request, order_id, refused.problems)
    return redirect("studies:sweep", order_id=order_id)


@login_required
@require_POST
@requires(Action.STEER)
def pause(request: HttpRequest, order_id: int) -> HttpResponse:
    """No further run of it starts."""

    def act(user: User) -> str:
        if control.pause(order_id):
            return f"Sweep {order_id} is paused: what runs goes on, and nothing further starts."
        return f"Sweep {order_id} was paused already."

    return _action(request, order_id, act)


@login_required
@require_POST
@requires(Action.STEER)
def resume(request: HttpRequest, order_id: int) -> HttpResponse:
    """Its runs start again."""

    def act(user: User) -> str:
        if control.resume(order_id):
            return f"Sweep {order_id} goes on."
        return f"Sweep {order_id} was not paused."

    return _action(request, order_id, act)


@login_required
@require_POST
@requires(Action.STEER)
def cancel(request: HttpRequest, order_id: int) -> HttpResponse:
    """All that waits is cancelled, what runs is asked to stop."""

    def act(user: User) -> str:
        found = control.cancel(order_id, by=user.get_username())
        said = f"{found.at_once} waiting run{'' if found.at_once == 1 else 's'} cancelled."
        if found.asked:
            said += f" {found.asked} running: the worker is asked to stop and to unmount the LUN."
        return said

    return _action(request, order_id, act)


@login_required
@require_POST
@requires(Action.STEER)
def retry(request: HttpRequest, order_id: int) -> HttpResponse:
    """Failed and lost runs, and cancelled ones if that is ticked, are ordered once more."""
    states = [*control.RETRIED_STATES]
    if request.POST.get("cancelled") == "yes":
        states.append(RunState.CANCELLED)

    def act(user: User) -> str:
        confirmation, seen = request.POST.get("confirmation", ""), request.POST.get("seen", "")
        made = control.retry(order_id, confirmation, user, states, seen)
        if not made:
            return "There is nothing to order again."
        return f"{len(made)} run{'' if len(made) == 1 else 's'} ordered again."

    return _action(request, order_id, act)


@login_required
@require_POST
@requires(Action.STEER)
def priority(request: HttpRequest, order_id: int) -> HttpResponse:
    """Let its runs come before or after those of other orders."""

    def act(user: User) -> str:
        text = request.POST.get("priority", "").strip()
        number = text.removeprefix("-")
        if not (number.isascii() and number.isdigit() and len(number) < 6):
            raise ControlRefused([f'"{text}" is not a whole number: say -10 to 10.'])
        control.set_priority(order_id, int(text))
        return f"The priority of sweep {order_id} is {int(text)}."

    return _action(request, order_id, act)


@login_required
@require_POST
@requires(Action.STEER)
def retry_run(request: HttpRequest, run_id: int) -> HttpResponse:
    """Order one run that failed, was lost or was cancelled once more."""
    assert isinstance(request.user, User)
    try:
        confirmation, seen = request.POST.get("confirmation", ""), request.POST.get("seen", "")
        made = control.retry_run(run_id, confirmation, request.user, seen)
    except Run.DoesNotExist:
        raise Http404(f"There is no run {run_id}. The list of runs shows all there are.") from None
    except ControlRefused as refused:
        for problem in refused.problems:
            messages.error(request, problem)
        return redirect("studies:run", run_id=run_id)
    if made is None:
        messages.info(request, f"Run {run_id} was ordered again already, or did not end badly.")
        return redirect("studies:run", run_id=run_id)
    messages.success(request, f"Run {run_id} is ordered again as run {made.pk}.")
    return redirect("studies:run", run_id=made.pk)


def order_or_404(order_id: int) -> Submission:
    """The order with its counts (sweeps.listed_sweeps). Raises Http404 with a sentence."""
    order = sweeps.listed_sweeps().filter(pk=order_id).first()
    if order is None:
        raise _not_there(order_id)
    return order


def _not_there(order_id: int) -> Http404:
    return Http404(
        f"There is no sweep {order_id}. The list of sweeps shows all there are; one that was "
        "deleted with its study does not come back."
    )
