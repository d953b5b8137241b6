"""A permalink inside a wiki: a page without scripts, forms and cookies that may be framed."""

from dataclasses import replace

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.models import LinkVisibility, Permalink
from fsbench_web.compare.permalinks import records, sharing
from fsbench_web.compare.pictures.sections import sections
from fsbench_web.compare.selection import folds
from fsbench_web.compare.tables.delta_tables import answer_of
from fsbench_web.core.comparison.answer_shown import answer_context

HEIGHT_PX = 520


def origins() -> list[str]:
    """The sites that may frame an embedded view (FSBENCH_EMBED_ORIGINS); none by default."""
    return list(settings.EMBED_ORIGINS)


def policy() -> str:
    """The content security policy of an embedded view: style and nothing else."""
    ancestors = " ".join(["'self'", *origins()])
    return (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
        f"form-action 'none'; frame-ancestors {ancestors}"
    )


def snippet(link: Permalink, address: str) -> SafeString:
    return format_html(
        '<iframe src="{}" title="{}" width="100%" height="{}" loading="lazy" '
        'referrerpolicy="no-referrer" sandbox="allow-popups" style="border:1px solid #d5dbe3">'
        "</iframe>",
        address,
        records.title_of(link),
        HEIGHT_PX,
    )


@require_safe
@xframe_options_exempt
@requires(Action.READ)
def view(request: HttpRequest, key: str) -> HttpResponse:
    """The pinned tables of a public permalink, or one test and category; 404 for all others."""
    link = Permalink.objects.select_related("created_by").filter(key=key).first()
    # Asked as a stranger: the answer may be kept for everybody, also where a member looks at it.
    with rights.as_user(AnonymousUser()):
        is_hidden = link is None or sharing.shows_hidden(link)
    if link is None or link.visibility != LinkVisibility.PUBLIC or is_hidden:
        return _answer({"problem": "There is no comparison here that anyone may see."}, 404)
    if sharing.is_over(link):
        problem = f"This comparison has expired: {link.expires_on:%Y-%m-%d} was its last day."
        return _answer({"problem": problem}, 410)
    pinned = records.read(link)
    tables = pinned.tables_of(request.GET)
    if not pinned.is_intact:
        problem = "These numbers are not those that were shared: the stored row was changed."
        return _answer({"problem": problem}, 409)
    if not tables:
        problem = "This comparison has no such table. Leave out test and category for all."
        return _answer({"problem": problem}, 404)
    # All rows: a wiki has nothing to show hidden ones with.
    stored_view = records.view_of(link, pinned, QueryDict())
    view = replace(stored_view, important=False, verdicts=(), least_percent=0.0)
    context = answer_context(answer_of(tables, pinned.baseline)) | {
        "permalink": link,
        "is_embedded": True,
        "title": records.title_of(link),
        "pinned": pinned,
        "table_view": view,
        "address": request.build_absolute_uri(reverse("compare:permalink", args=[key])),
        "placed": folds.with_folds(sections(tables), lambda section: section.test),
    }
    return _answer(context, 200)


def _answer(context: dict[str, object], status: int) -> HttpResponse:
    # Rendered without the request: no session is opened, and no cookie is set.
    answer = HttpResponse(render_to_string("compare/embed.html", context), status=status)
    answer["Content-Security-Policy"] = policy()
    is_cacheable = status == 200 and settings.ANONYMOUS_READING
    answer["Cache-Control"] = "public, max-age=60" if is_cacheable else "no-store"
    return answer
