"""Comparisons and permalinks as files, and the pages that offer them."""

from dataclasses import replace
from datetime import UTC, datetime

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.answers import plain_refusal, refused_form
from fsbench_web.compare.exports.document import Document
from fsbench_web.compare.exports.formats import FORMATS, Format
from fsbench_web.compare.models import Permalink
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.permalinks.views import not_intact, of_permalink
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.selection.wording import describe
from fsbench_web.compare.tables.bounds import BoundedComparison, bounded_answer
from fsbench_web.compare.tables.delta_tables import comparison, refuse_missing_baseline
from fsbench_web.platform import limits
from fsbench_web.renderings import answers

TEXT_TABLES = 6
"""Up to so many tables the page shows texts to copy."""


@require_safe
@requires(Action.READ)
def comparison_page(request: HttpRequest) -> HttpResponse:
    """The formats in which the comparison of the address can be had."""
    try:
        spec = ComparisonSpec.of_address(request.GET)
        document = _of_comparison(request, spec)
    except SpecError as error:
        return refused_form(request, error)
    back = reverse("compare:page")
    return _page(request, document, "compare/deltas.", spec.to_query(), back)


@require_safe
@requires(Action.READ)
def comparison_file(
    request: HttpRequest, suffix: str, is_for_program: bool = False
) -> HttpResponse:
    """The comparison of the address as a file; a refusal is plain text."""
    file_format = _format(suffix)
    try:
        spec = ComparisonSpec.of_address(request.GET)
        spec = spec.for_programs if is_for_program else spec
        document = _of_comparison(request, spec)
        if is_for_program:
            refuse_missing_baseline(spec, document.tables)
    except SpecError as error:
        return plain_refusal(error)
    # One that says the same and was made earlier today is as good; where it does not say when, one
    # that was made on any day.
    same = replace(document, as_of=_midnight(document.as_of) if file_format.is_dated else _UNDATED)
    return _file(request, file_format, document, "fsbench-deltas", cache_key=same)


@require_safe
@of_permalink
@requires(Action.READ)
def permalink_page(request: HttpRequest, link: Permalink) -> HttpResponse:
    """The formats in which the pinned numbers can be had."""
    pinned = records.read(link)
    if not pinned.is_intact:
        return not_intact(link)
    document = _of_permalink(request, link, pinned)
    back = reverse("compare:permalink", args=[link.key])
    return _page(request, document, f"p/{link.key}/deltas.", request.GET.urlencode(), back)


@require_safe
@of_permalink
@requires(Action.READ)
def permalink_file(request: HttpRequest, link: Permalink, suffix: str) -> HttpResponse:
    """The pinned numbers as a file; none when they were changed."""
    file_format = _format(suffix)
    pinned = records.read(link)
    if not pinned.is_intact:
        return not_intact(link)
    return _file(request, file_format, _of_permalink(request, link, pinned), f"fsbench-{link.key}")


def _of_comparison(request: HttpRequest, spec: ComparisonSpec) -> Document:
    limited = bounded_answer(spec, limits.FILE)
    live = comparison(limited.spec)
    address = f"{reverse('compare:page')}?{limited.address.on_page.to_query()}"
    return Document(
        title="fsbench comparison",
        description=" ".join(
            filter(
                None,
                (
                    describe(spec, live.choices),
                    *(sentence for work_answer in live.work for sentence in work_answer.sentences),
                    live.emulated.sentence if live.emulated else "",
                    _part_remark(request, limited),
                ),
            )
        ),
        address=request.build_absolute_uri(address),
        as_of=timezone.localtime(),
        tables=live.tables,
    )


def _part_remark(request: HttpRequest, limited: BoundedComparison) -> str:
    """Where a file holds a part, how much it is and where the next part is."""
    if limited.part is None:
        return ""
    part = limited.part
    tests = f"{part.shown_tests:,} of {len(part.tests):,} tests"
    text = f"This is a part: {part.shown_rows:,} rows, those of {tests}."
    if limited.next_part is None:
        return text
    following = f"{request.path}?{limited.next_part.to_query()}"
    return f"{text} The next: {request.build_absolute_uri(following)}"


def _of_permalink(
    request: HttpRequest, link: Permalink, pinned: records.PinnedComparison
) -> Document:
    """``?test=`` and ``?category=`` choose among the pinned tables. Raises Http404 for none."""
    tables = pinned.tables_of(request.GET)
    if not tables:
        raise Http404("This permalink has no such table. Leave out test and category for all.")
    address = reverse("compare:permalink", args=[link.key])
    return Document(
        title=records.title_of(link),
        description=pinned.description,
        address=request.build_absolute_uri(address),
        as_of=timezone.localtime(link.created_at),
        tables=tables,
        sha256=link.sha256,
    )


def _page(
    request: HttpRequest, document: Document, prefix: str, query: str, back: str
) -> HttpResponse:
    is_few = 0 < len(document.tables) <= TEXT_TABLES
    context = {
        "document": document,
        "formats": [
            (file_format, f"/{prefix}{file_format.suffix}" + (f"?{query}" if query else ""))
            for file_format in FORMATS.values()
        ],
        "texts": [
            (file_format, file_format.write(document).decode())
            for file_format in FORMATS.values()
            if file_format.text and is_few
        ],
        "text_tables": TEXT_TABLES,
        "back": back + (f"?{query}" if query and prefix.startswith("compare") else ""),
    }
    return render(request, "compare/export.html", context)


def _file(
    request: HttpRequest,
    file_format: Format,
    document: Document,
    name: str,
    cache_key: Document | None = None,
) -> HttpResponse:
    return answers.answer(
        request,
        file_format.write,
        document,
        cache_key=cache_key,
        media_type=file_format.media_type,
        disposition=f'attachment; filename="{name}.{file_format.suffix}"',
    )


_UNDATED = datetime(1970, 1, 1, tzinfo=UTC)


def _midnight(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0)


def _format(suffix: str) -> Format:
    if suffix not in FORMATS:
        raise Http404(f"Tables can be had as {', '.join(FORMATS)}, and not as “{suffix[:20]}”.")
    return FORMATS[suffix]
