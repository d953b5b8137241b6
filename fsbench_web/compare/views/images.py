"""The answer of a comparison or permalink as an image, and old addresses that lead there."""

from collections.abc import Sequence

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.answer_image import MEDIA_TYPES, answer_image
from fsbench_web.compare.answers import plain_refusal
from fsbench_web.compare.models import Permalink
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.permalinks.views import not_intact, of_permalink
from fsbench_web.compare.selection import profiles
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError, without_set_aside
from fsbench_web.compare.tables.bounds import bounded_answer
from fsbench_web.compare.tables.delta_tables import answer_of, comparison, refuse_unknown_parts
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.scoring import categories
from fsbench_web.platform import limits
from fsbench_web.renderings import answers

_OF_SLIDE = {"of": "test", "in": "category"}
"""What the addresses of slides called a test and a category."""


@require_safe
@requires(Action.READ)
def comparison_image(request: HttpRequest, suffix: str) -> HttpResponse:
    """The answer of the comparison that the address says; a refusal is plain text."""
    try:
        spec = ComparisonSpec.of_address(request.GET)
        refuse_unknown_parts(spec)
        limited = bounded_answer(profiles.with_version(without_set_aside(spec)), limits.FILE)
        found = comparison(limited.spec).by_default
    except SpecError as error:
        return plain_refusal(error)
    address = f"{reverse('compare:page')}?{limited.address.on_page.to_query()}"
    as_of = f"numbers of {timezone.localdate():%Y-%m-%d}"
    return _image(request, suffix, found.tables, found.spec.baseline, address, as_of)


@require_safe
@of_permalink
@requires(Action.READ)
def permalink_image(request: HttpRequest, link: Permalink, suffix: str) -> HttpResponse:
    """The answer to the pinned numbers: what chats and wikis show of the link."""
    pinned = records.read(link)
    if not pinned.is_intact:
        return not_intact(link)
    address = reverse("compare:permalink", args=[link.key])
    kept_on = f"kept on {timezone.localtime(link.created_at):%Y-%m-%d}"
    return _image(request, suffix, pinned.tables, pinned.baseline, address, kept_on, is_public=True)


def _image(
    request: HttpRequest,
    suffix: str,
    tables: Sequence[DeltaTable],
    baseline: str,
    address: str,
    as_of: str,
    *,
    is_public: bool = False,
) -> HttpResponse:
    if suffix not in MEDIA_TYPES:
        raise Http404(f'There is no image "{suffix[:20]}"; choose {" or ".join(MEDIA_TYPES)}.')
    write, media_type = MEDIA_TYPES[suffix]
    image = answer_image(
        answer_of(tables, baseline), tables, request.build_absolute_uri(address), as_of
    )
    return answers.answer(
        request,
        write,
        image,
        media_type=media_type,
        cache_control="public, max-age=300" if is_public else answers.REVALIDATED,
    )


@require_safe
@requires(Action.READ)
def slide(request: HttpRequest, suffix: str = "") -> HttpResponse:
    """Slides are gone: their page leads to the comparison, their files to its image."""
    query = QueryDict(mutable=True)
    for name, values in request.GET.lists():
        if name not in ("sentence", "was"):
            query.setlist(_OF_SLIDE.get(name, name), values)
    work = query.get("category", "")
    if work.startswith(categories.PROFILE):
        del query["category"]
        query["profile"] = work.removeprefix(categories.PROFILE)
    is_image = suffix in MEDIA_TYPES
    page = reverse("compare:image", args=[suffix]) if is_image else reverse("compare:page")
    return redirect(f"{page}?{query.urlencode()}", permanent=True)


@require_safe
@of_permalink
@requires(Action.READ)
def permalink_slide(request: HttpRequest, link: Permalink, suffix: str = "") -> HttpResponse:
    """The same of a permalink; its picture.png was at an address of its own."""
    if suffix in MEDIA_TYPES:
        return redirect("compare:permalink_image", link.key, suffix, permanent=True)
    return redirect("compare:permalink", link.key, permanent=True)
