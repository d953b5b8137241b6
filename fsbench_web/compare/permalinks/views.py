"""Permalinks: share a comparison, show it again, say who may see it, delete it."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from fsbench_web.accounts import audit, rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.answer_image import SIZE_PX
from fsbench_web.compare.answers import charts_answer, refused_form
from fsbench_web.compare.models import LinkVisibility, Permalink
from fsbench_web.compare.permalinks import embed, records, sharing
from fsbench_web.compare.permalinks.sharing import SharingForm
from fsbench_web.compare.pictures.sections import contenders_of, sections
from fsbench_web.compare.selection.properties import PROPERTIES
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.selection.table_view import FORM, TableView, joined, without_view
from fsbench_web.compare.selection.wording import describe
from fsbench_web.compare.tables.delta_tables import answer_of
from fsbench_web.core.comparison.answer import matrix_of
from fsbench_web.core.comparison.answer_shown import answer_context
from fsbench_web.studies.scores.choices import ScoreChoices, score_choices

View = Callable[..., HttpResponse]
NOT_INTACT = (
    "These numbers are not those that were shared: the stored row of {} was changed. "
    "Restore it from a backup, or make a new comparison.\n"
)
LISTED = 200


def of_permalink(view: View) -> View:
    """Give the view the permalink: 404 if hidden or unknown, 410 if expired; cached if public."""

    @wraps(view)
    def wrapper(request: HttpRequest, key: str, **kwargs: str) -> HttpResponse:
        link = visible_permalink(request, key)
        answer = (
            expired_page(request, link) if sharing.is_over(link) else view(request, link, **kwargs)
        )
        if (
            link.visibility != LinkVisibility.PUBLIC
            or rights.is_personal()
            or answer.status_code != 200
        ):
            add_never_cache_headers(answer)
        return answer

    return wrapper


def visible_permalink(request: HttpRequest, key: str, *, to_withdraw: bool = False) -> Permalink:
    """The permalink, expired or not. Raises Http404 for who may not see it.

    ``to_withdraw``: the author may still withdraw a link to a study hidden from them since.
    """
    link = Permalink.objects.select_related("created_by").filter(key=key).first()
    # Nobody is asked who they are for what anyone may see: no cookie, and caches may keep it.
    if (
        link is None
        or (link.visibility != LinkVisibility.PUBLIC and not sharing.may_see(link, request.user))
        or (
            sharing.shows_hidden(link)
            and not (to_withdraw and sharing.may_withdraw(link, request.user))
        )
    ):
        raise Http404(
            f'There is no permalink "{key}" that you may see. The address may be cut off or '
            "mistyped, or somebody deleted the permalink. Sign in, ask the sender, or make a new "
            "comparison under Compare."
        )
    return link


def expired_page(request: HttpRequest, link: Permalink) -> HttpResponse:
    """410: it has expired, when, and what to do."""
    context = {
        "permalink": link,
        "latest_query": records.latest_query(link),
        **_permissions(request, link),
        "kept_days": sharing.KEPT_DAYS,
    }
    return render(request, "compare/permalink_over.html", context, status=410)


def _permissions(request: HttpRequest, link: Permalink) -> dict[str, bool]:
    return {
        "is_own": request.user.is_authenticated and link.created_by_id == request.user.pk,
        "may_change": sharing.may_change(link, request.user),
        "may_withdraw": sharing.may_withdraw(link, request.user),
    }


def _comparison(request: HttpRequest) -> str:
    query = request.POST.get("query", "")
    try:
        spec, view = _shared_comparison(query, request.POST.get("view"))
        query = joined(spec.to_query(), view.to_query())
    except SpecError:
        pass  # the page says what is wrong with it
    return f"{reverse('compare:page')}?{query}"


@require_POST
@requires(Action.SHARE)
def pin(request: HttpRequest) -> HttpResponse:
    """Keep the comparison of the posted query under a short address."""
    assert request.user.is_authenticated  # accounts.gate
    query, back = request.POST.get("query", ""), _comparison(request)
    form = SharingForm(request.POST)
    try:
        spec, view = _shared_comparison(query, request.POST.get("view"))
        if not form.is_valid():
            context = {
                "form": form,
                "query": spec.to_query(),
                "view": view.with_sort,
                "description": describe(spec, score_choices()),
            }
            return render(request, "compare/permalink_new.html", context, status=422)
        link = records.pin(spec, request.user, view=view.to_query(), **form.cleaned_data)
    except SpecError as error:
        return refused_form(request, error)
    except records.EmptyComparison as error:
        messages.error(request, str(error))
        return redirect(back)
    return redirect("compare:permalink", link.key)


def _shared_comparison(query: str, seen: str | None) -> tuple[ComparisonSpec, TableView]:
    """What is shared, with rows sorted as the page showed them (``seen``). Raises SpecError."""
    spec = ComparisonSpec.of_address(without_view(QueryDict(query)))
    view = TableView.from_query(QueryDict(query if seen is None else seen))
    if view.problems:
        raise SpecError(view.problems)
    return (spec if seen is None else replace(spec, sort=view.sort)), view


pin.after_sign_in = _comparison  # type: ignore[attr-defined]


@require_safe
@of_permalink
@requires(Action.READ)
def show(request: HttpRequest, link: Permalink) -> HttpResponse:
    """The pinned numbers, unchanged, and whether there are newer ones."""
    pinned = records.read(link)
    view = records.view_of(link, pinned, request.GET)
    address = request.build_absolute_uri(reverse("compare:permalink", args=[link.key]))
    context = {
        "permalink": link,
        "latest_query": records.latest_query(link),
        "closed_studies": sharing.closed_studies(link)
        if sharing.may_change(link, request.user)
        else [],
        "pinned": pinned,
        "heading": records.title_of(link),
        **_answer_of(link, pinned),
        "sections": sections(pinned.tables),
        "table_view": view,
        "table_form": FORM,
        "differences": pinned.differences,
        "compared": PROPERTIES.get(pinned.by),
        "tables": len(pinned.tables),
        "changes": records.changes_since(link, pinned),
        "address": address,
        # The checksum in the address: a chat does not keep the image of other numbers.
        "image": f"{address}image.png?{link.sha256[:12]}",
        "image_size": SIZE_PX,
        "is_public": link.visibility == LinkVisibility.PUBLIC,
        **_permissions(request, link),
        "embed": embed.snippet(link, f"{address}embed/"),
        "embed_origins": embed.origins(),
    }
    return render(request, "compare/permalink.html", context)


def _answer_of(link: Permalink, pinned: records.PinnedComparison) -> dict[str, Any]:
    """The answer to the pinned numbers, as the page says that was shared (answer.html)."""
    if not pinned.is_intact:
        return {}
    answer = answer_of(pinned.tables, pinned.baseline)
    context = answer_context(answer) | {"matrix": matrix_of(pinned.tables, answer)}
    words = (link.title, *context["details"], context["basis"], pinned.description)
    return context | {"preview": " · ".join(word for word in words if word)}


@require_safe
@of_permalink
@requires(Action.READ)
def charts(request: HttpRequest, link: Permalink, test: str) -> HttpResponse:
    tables = records.read(link).tables
    return charts_answer(request, tables, test, contenders_of(tables))


@require_safe
@of_permalink
@requires(Action.READ)
def snapshot(request: HttpRequest, link: Permalink) -> HttpResponse:
    """The very bytes that the checksum is of, so that anybody can check it."""
    headers = {"Content-Disposition": f'attachment; filename="fsbench-{link.key}-snapshot.json"'}
    return HttpResponse(link.snapshot, content_type="application/json", headers=headers)


def not_intact(link: Permalink) -> HttpResponse:
    """409: files and pictures have no room for a warning."""
    text = NOT_INTACT.format(link.key)
    return HttpResponse(text, status=409, content_type="text/plain; charset=utf-8")


@never_cache
@require_safe
@login_required
@requires(Action.ACCOUNT)
def own_permalinks(request: HttpRequest) -> HttpResponse:
    """Everything that this person has shared, newest first."""
    links = Permalink.objects.filter(created_by=request.user.pk).defer("snapshot")
    may_change = rights.may(request.user, rights.Action.SHARE)
    shown_links = list(links[:LISTED])
    choices = score_choices() if shown_links else None
    context: dict[str, Any] = {
        "total": links.count(),
        "may_change": may_change,
        "permalinks": [
            {
                "link": link,
                "title": records.title_of(link),
                "what": choices and _subject_of(link, choices),
                "is_over": sharing.is_over(link),
            }
            for link in shown_links
        ],
    }
    return render(request, "compare/permalinks.html", context)


def _subject_of(link: Permalink, choices: ScoreChoices) -> str:
    """What a link compares, in words; "" where its query is no longer understood."""
    try:
        return describe(ComparisonSpec.of_address(link.query), choices)
    except SpecError:
        return ""


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@requires(Action.SHARE)
def edit(request: HttpRequest, key: str) -> HttpResponse:
    """Title, note, who may see it and until when. The numbers stay as they are."""
    link = _changeable_permalink(request, key)
    form = SharingForm(request.POST or None, instance=link)
    if request.method != "POST":
        return render(request, "compare/permalink_edit.html", {"permalink": link, "form": form})
    if not form.is_valid():
        context = {"permalink": _changeable_permalink(request, key), "form": form}
        return render(request, "compare/permalink_edit.html", context, status=422)
    # The numbers are not written again: whatever happened to them meanwhile stays visible.
    with transaction.atomic():
        Permalink.objects.select_for_update().filter(pk=link.pk).first()
        _changeable_permalink(request, key)  # it may be deleted or another's by now
        form.save(commit=False).save(update_fields=SharingForm.Meta.fields)
        audit.note(request.user, "permalink changed", f"permalink {key}", fields=form.changed_data)
    messages.success(request, "Saved. The numbers and the address are the same as before.")
    return redirect("compare:permalink", key)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@requires(Action.WITHDRAW)
def delete(request: HttpRequest, key: str) -> HttpResponse:
    link = _withdrawable_permalink(request, key)
    if request.method != "POST":
        context = {"permalink": link, **_permissions(request, link)}
        return render(request, "compare/permalink_delete.html", context)
    records.delete(link, _user(request))
    messages.success(request, f"The permalink {key} is deleted; its address no longer works.")
    return redirect("compare:permalinks")


@require_POST
@login_required
@requires(Action.WITHDRAW)
def withdraw(request: HttpRequest, key: str) -> HttpResponse:
    """Take it out of everybody else's sight; the numbers stay."""
    link = _withdrawable_permalink(request, key)
    if records.withdraw(key, _user(request)):
        messages.success(
            request,
            f"The permalink {key} is withdrawn: its address opens for its author and "
            "administrators alone.",
        )
    else:
        messages.info(request, f"The permalink {key} was withdrawn already.")
    # Its own page may show what is hidden from whoever withdrew it.
    return (
        redirect("compare:permalinks")
        if sharing.shows_hidden(link)
        else redirect("compare:permalink", key)
    )


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _changeable_permalink(request: HttpRequest, key: str) -> Permalink:
    link = visible_permalink(request, key)
    if not sharing.may_change(link, request.user):
        raise PermissionDenied(
            "Only its author can change a permalink. "
            "You can share the comparison again: choose “Continue from here” on its page."
        )
    return link


def _withdrawable_permalink(request: HttpRequest, key: str) -> Permalink:
    link = visible_permalink(request, key, to_withdraw=True)
    if not sharing.may_withdraw(link, request.user):
        raise PermissionDenied(sharing.NOT_YOURS)
    return link
