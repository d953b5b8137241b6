"""Pages of watches: the list, each watch, and the forms that make, try and end them."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.accounts.rights import decide
from fsbench_web.compare.history import choices as offered_lines
from fsbench_web.compare.models import Watch, WatchDelivery, WatchMessage
from fsbench_web.compare.selection import profiles
from fsbench_web.compare.selection.spec import LONGEST_VALUE
from fsbench_web.compare.watches import confirming, deliveries, rights, watching, webhook
from fsbench_web.compare.watches.confirming import CannotConfirm
from fsbench_web.compare.watches.form import BudgetForm, TriageForm, WatchForm
from fsbench_web.compare.watches.triage import MOST_TOGETHER, causes, set_state
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.studies.jobs.problems import JobRefused

SHOWN_MESSAGES = 50


@never_cache
@require_safe
@login_required
@requires(Action.ACCOUNT)
def watch_list(request: HttpRequest) -> HttpResponse:
    """The watches of this person, newest first, and what they found, by cause."""
    return _list(request)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@requires(Action.ACCOUNT)
def new(request: HttpRequest) -> HttpResponse:
    """The form, and what the form on a line's page posts to."""
    if request.method != "POST":
        form = WatchForm(
            initial=request.GET.dict() | {"email": _user(request).email}, user=_user(request)
        )
        return render(request, "compare/watch_new.html", {"form": form} | _line(request.GET))
    form = WatchForm(request.POST, user=_user(request))
    line = _line(request.POST)
    if not form.is_valid():
        return render(request, "compare/watch_new.html", {"form": form} | line, status=422)
    try:
        watch = form.watch(line["series"], line["test"], line["category"], request)
    except watching.AlreadyWatched as error:
        messages.info(
            request,
            "You watch this line already, so nothing changed: delete this watch first.",
        )
        return redirect("compare:watch", error.watch.pk)
    except watching.TooManyWatches as error:
        form.add_error(None, str(error))
        return render(request, "compare/watch_new.html", {"form": form} | line, status=422)
    # The answer itself shows the secret: a redirect would have to store it in between.
    return _page(request, watch, secret=deliveries.secret_of(watch), status=201)


@never_cache
@require_safe
@login_required
@requires(Action.ACCOUNT)
def page(request: HttpRequest, watch_id: int) -> HttpResponse:
    """One watch: what it looks at, and what became of its messages."""
    return _page(request, _own_watch(request, watch_id))


@require_POST
@login_required
@requires(Action.ACCOUNT)
def test(request: HttpRequest, watch_id: int) -> HttpResponse:
    """Send a test to the addresses of the watch, and say what became of it."""
    watch = _own_watch(request, watch_id)
    if not rights.is_visible(watch):
        messages.info(request, "There is nothing to send: you may no longer see this line.")
        return redirect("compare:watch", watch.pk)
    if not watch.email and not watch.webhook_url:
        messages.info(request, "This watch has no address to write to; its messages appear here.")
        return redirect("compare:watch", watch.pk)
    try:
        sent = watching.send_test(watch)
    except watching.TestedLately as error:
        messages.warning(request, str(error))
        return redirect("compare:watch", watch.pk)
    for delivery in sent.deliveries.all():
        channel = delivery.get_channel_display()
        if delivery.state == WatchDelivery.State.DELIVERED:
            messages.success(request, f"The test was delivered by {channel}.")
        else:
            messages.error(request, f"The test by {channel} failed. {delivery.last_error}")
    return redirect("compare:watch", watch.pk)


@require_POST
@login_required
@requires(Action.ACCOUNT)
def pause(request: HttpRequest, watch_id: int) -> HttpResponse:
    watch = _own_watch(request, watch_id)
    watching.pause(watch)
    messages.success(request, "Paused: fsbench checks and sends nothing.")
    return redirect("compare:watch", watch.pk)


@require_POST
@login_required
@requires(Action.ACCOUNT)
def resume(request: HttpRequest, watch_id: int) -> HttpResponse:
    watch = _own_watch(request, watch_id)
    not_sent = watching.resume(watch)
    notice = "Resumed. Slowdowns since the pause are listed."
    if not_sent:
        subject = "The message that had" if not_sent == 1 else f"The {not_sent} messages that had"
        notice += f" {subject} waited since before the pause will not be sent."
    messages.success(request, notice)
    return redirect("compare:watch", watch.pk)


@require_POST
@login_required
@requires(Action.RUN)
def confirmation(request: HttpRequest, watch_id: int) -> HttpResponse:
    """Set what the watch may measure to confirm a change."""
    watch = _own_watch(request, watch_id)
    form = BudgetForm(request.POST, watch=watch)
    if form.is_valid():
        values = form.cleaned_data
        try:
            budget = (values["rounds"], values["hours"] or 0)
            confirming.set_budget(watch, *budget, values["confirm"], values["against"])
        except CannotConfirm as why:
            form.add_error("rounds", str(why))
        except JobRefused as refused:
            place = "confirm" if "confirmation" in refused.by_part else "rounds"
            form.add_error(place, refused.problems)
        else:
            messages.success(request, "The budget is set.")
            return redirect("compare:watch", watch.pk)
    return _page(request, watch, form=form, status=422)


@require_POST
@login_required
@requires(Action.ACCOUNT)
def triage(request: HttpRequest) -> HttpResponse:
    """Say of one's own changes (``change``, several) that they are expected or fixed."""
    form = TriageForm(request.POST)
    numbers = request.POST.getlist("change")[:MOST_TOGETHER]
    keys = [int(text) for text in numbers if text.isascii() and text.isdecimal() and len(text) < 19]
    changes = rights.visible_messages(_own_changes(request).filter(pk__in=keys))
    if not changes:
        raise Http404("None of your watches found such a change.")
    if not form.is_valid():
        return _list(request, form=form, failed=keys, status=422)
    set_state(_user(request), changes, form.cleaned_data["state"], form.cleaned_data["note"])
    messages.success(request, "Saved.")
    return redirect("compare:watches")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@requires(Action.ACCOUNT)
def delete(request: HttpRequest, watch_id: int) -> HttpResponse:
    """Ask, then delete for good."""
    watch = _own_watch(request, watch_id)
    title = watching.title_of(watch)
    if request.method != "POST":
        return render(request, "compare/watch_delete.html", {"watch": watch, "title": title})
    watching.delete(watch)
    messages.success(request, f"You no longer watch {title}.")
    return redirect("compare:watches")


def _list(
    request: HttpRequest,
    *,
    form: TriageForm | None = None,
    failed: Sequence[int] = (),
    status: int = 200,
) -> HttpResponse:
    """``failed``: the changes that ``form``, which has errors, is of."""
    changes = rights.visible_messages(_own_changes(request)[:SHOWN_MESSAGES])
    titles = {message.watch_id: watching.title_of(message.watch) for message in changes}
    groups = []
    for cause in causes(changes):
        first = cause.messages[0].pk
        of_group = form if form is not None and first in failed else TriageForm()
        of_group.auto_id = f"change-{first}-%s"
        rows = [(message, titles[message.watch_id]) for message in cause.messages]
        groups.append({"cause": cause, "rows": rows, "form": of_group})
    context = {
        "watches": [
            {
                "watch": watch,
                "title": watching.title_of(watch),
                "line": watching.address_of(watch),
            }
            for watch in watching.watches_of(_user(request))
        ],
        "groups": groups,
        "shown": SHOWN_MESSAGES,
        "sends_email": settings.SENDS_EMAIL,
    }
    return render(request, "compare/watches.html", context, status=status)


def _page(
    request: HttpRequest,
    watch: Watch,
    *,
    secret: str = "",
    form: BudgetForm | None = None,
    status: int = 200,
) -> HttpResponse:
    budget = {
        "rounds": watch.confirm_rounds,
        "hours": watch.confirm_hours or None,
        "against": watch.confirm_against_id,
    }
    all_messages = watch.messages.prefetch_related("deliveries")
    newest_messages = list(all_messages[:SHOWN_MESSAGES])
    shown_messages = rights.visible_messages(newest_messages)
    context = {
        "watch": watch,
        "title": watching.title_of(watch),
        "line": watching.address_of(watch),
        "is_there": rights.is_visible(watch),
        "latest": rights.visible_latest(watch),
        "listed": shown_messages,
        "total": all_messages.count() - len(newest_messages) + len(shown_messages),
        "secret": secret if watch.webhook_url else "",
        "is_new": status == 201,
        "signature_header": webhook.SIGNATURE_HEADER,
        "most_tries": deliveries.MOST_TRIES,
        "sends_email": settings.SENDS_EMAIL,
        "form": form or BudgetForm(initial=budget, watch=watch),
        "why_not_confirm": decide(_user(request), Action.RUN).why,
        "luns": confirming.luns_to_type(watch),
    }
    return render(request, "compare/watch.html", context, status=status)


def _line(query_dict: QueryDict) -> dict[str, Any]:
    """The line that is to be watched, with its words. Raises Http404 when there is none."""
    series = offered_lines.series_of(query_dict.get("series", ""))
    test, category = query_dict.get("test", "")[:LONGEST_VALUE], query_dict.get("category", "")
    offered = dict(offered_lines.choices(series, test, category=category))
    if category not in offered.get(test, []):
        raise Http404(
            "This configuration has no such test or category. Its page under Over time, /history/, "
            "offers those it has."
        )
    label = profiles.label_of(category)
    return {
        "series": series,
        "test": test,
        "category": category,
        "title": f"{series.configuration}: {testnames.label(test)}, "
        f"{categories.in_sentence(label)}",
    }


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _own_watch(request: HttpRequest, watch_id: int) -> Watch:
    watch = watching.watches_of(_user(request)).filter(pk=watch_id).first()
    if watch is None:
        raise Http404(
            f"You have no watch {watch_id}. It may be deleted or belong to another account: "
            f"yours are under /watches/."
        )
    return watch


def _own_changes(request: HttpRequest) -> QuerySet[WatchMessage]:
    """What got slower on lines of this person, newest first, with its deliveries."""
    related = ("watch__configuration", "watch__hardware", "watch__lun", "job")
    return (
        WatchMessage.objects.filter(watch__user=_user(request), kind=WatchMessage.Kind.SLOWER)
        .select_related(*related)
        .prefetch_related("deliveries")
    )
