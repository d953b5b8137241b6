"""The page of a slide, with its sentence to be changed, and its files."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.answers import plain_refusal, refused_form
from fsbench_web.compare.models import Permalink
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.permalinks.sharing import SharingForm
from fsbench_web.compare.permalinks.views import not_intact, of_permalink
from fsbench_web.compare.selection import profiles
from fsbench_web.compare.selection.slide import rest_of, without_parameters
from fsbench_web.compare.selection.spec import SpecError
from fsbench_web.compare.slides import drawing as slides
from fsbench_web.compare.slides import tables
from fsbench_web.compare.slides.drawing import Slide
from fsbench_web.compare.slides.files import FORMATS
from fsbench_web.compare.slides.sentence import LONGEST, sentence
from fsbench_web.compare.slides.tables import SlideTable
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core.scoring import testnames
from fsbench_web.platform import limits, plain_text
from fsbench_web.renderings import answers


@require_safe
@requires(Action.READ)
def comparison_page(request: HttpRequest) -> HttpResponse:
    """The slide of one table of a comparison."""
    try:
        query, problems = _nearest_query(request.GET, tables.of_comparison)
        slide, slide_table = _of_comparison(request, query)
        compared = tables.comparison_query(query)
    except SpecError as error:
        return refused_form(request, error)
    files = reverse("compare:slide_file", args=["png"]).removesuffix("png")
    back = f"{reverse('compare:page')}?{compared.urlencode()}"
    share = SharingForm() if rights.may(request.user, rights.Action.SHARE) else None
    return _page(request, slide, slide_table, files, back, compared, share, problems)


@require_safe
@requires(Action.READ)
def comparison_file(request: HttpRequest, suffix: str) -> HttpResponse:
    """The same as a file; a refusal is plain text."""
    _require_format(suffix)
    try:
        slide, slide_table = _of_comparison(request, request.GET)
    except SpecError as error:
        return plain_refusal(error)
    return _file(request, suffix, slide, slide_table.among)


@require_safe
@of_permalink
@requires(Action.READ)
def permalink_page(request: HttpRequest, link: Permalink) -> HttpResponse:
    """The slide of one table that a permalink keeps."""
    pinned = records.read(link)
    if not pinned.is_intact:
        return not_intact(link)
    try:
        query, problems = _nearest_query(request.GET, partial(tables.of_tables, pinned.tables))
        slide, slide_table = _of_permalink(request, query, link, pinned)
    except SpecError as error:
        return plain_refusal(error)
    files = reverse("compare:permalink_slide_file", args=[link.key, "png"]).removesuffix("png")
    back = reverse("compare:permalink", args=[link.key])
    return _page(request, slide, slide_table, files, back, rest_of(query), None, problems)


@require_safe
@of_permalink
@requires(Action.READ)
def permalink_file(request: HttpRequest, link: Permalink, suffix: str) -> HttpResponse:
    """The same as a file."""
    _require_format(suffix)
    pinned = records.read(link)
    if not pinned.is_intact:
        return not_intact(link)
    try:
        slide, slide_table = _of_permalink(request, request.GET, link, pinned)
    except SpecError as error:
        return plain_refusal(error)
    return _file(request, suffix, slide, slide_table.among)


def _require_format(suffix: str) -> None:
    if suffix not in FORMATS:
        raise Http404(f'A slide is no "{suffix[:20]}"; it can be {", ".join(FORMATS)}.')


def _nearest_query(
    query: QueryDict, of_query: Callable[[QueryDict], SlideTable]
) -> tuple[QueryDict, list[str]]:
    """The address without what of it is not there, and what to say of that; the table that it
    means is the nearest: of the same test in another category. Raises SpecError where nothing is.
    """
    first: SpecError | None = None
    for names in ((), ("in",), ("of", "in")):
        if names and names[0] not in query:
            continue
        reduced = without_parameters(query, names)
        try:
            table = of_query(reduced).table
        except SpecError as error:
            first = first or error
            continue
        problems = list(first.problems) if first else []
        try:
            _sentence(reduced, table)
        except SpecError as error:
            reduced, problems = (
                without_parameters(reduced, ("sentence",)),
                [*problems, *error.problems],
            )
        return reduced, problems
    raise first or SpecError([tables.NOTHING])


def _of_comparison(request: HttpRequest, query: QueryDict) -> tuple[Slide, SlideTable]:
    """Raises SpecError."""
    slide_table = tables.of_comparison(query)
    address = request.build_absolute_uri(f"{reverse('compare:page')}?{slide_table.query}")
    as_of = f"numbers of {timezone.localdate():%Y-%m-%d}"
    slide = Slide(_sentence(query, slide_table.table), slide_table.table, address, as_of)
    return slide, slide_table


def _of_permalink(
    request: HttpRequest, query: QueryDict, link: Permalink, pinned: records.PinnedComparison
) -> tuple[Slide, SlideTable]:
    """Raises SpecError."""
    slide_table = tables.of_tables(pinned.tables, query)
    address = request.build_absolute_uri(reverse("compare:permalink", args=[link.key]))
    kept_on = f"kept on {timezone.localtime(link.created_at):%Y-%m-%d}"
    slide = Slide(_sentence(query, slide_table.table), slide_table.table, address, kept_on)
    return slide, slide_table


def _sentence(query: QueryDict, table: DeltaTable) -> str:
    """Somebody's own, else what the table says. Raises SpecError."""
    text = _typed_sentence(query)
    if not text:
        return sentence(table)
    if len(text) > LONGEST:
        raise SpecError([f"The sentence of a slide has up to {LONGEST} characters."])
    if problem := plain_text.problem(text):
        raise SpecError([problem])
    return text


def _typed_sentence(query: QueryDict) -> str:
    """The sentence that somebody typed: "" for what the table said that was shown before."""
    text = " ".join((query.get("sentence") or "").split())
    return "" if text == query.get("was") else text


def _page(
    request: HttpRequest,
    slide: Slide,
    slide_table: SlideTable,
    files: str,
    back: str,
    compared: QueryDict,
    share: SharingForm | None,
    problems: Sequence[str],
) -> HttpResponse:
    """400 with the form where there are ``problems``: what was typed stays in it."""
    table = slide.table
    own_sentence = slide.sentence if slide.sentence != sentence(table) else ""
    rest = [(name, value) for name, values in compared.lists() for value in values]
    chosen = [("of", table.test), ("in", table.category)]
    parts = [*chosen, *([("sentence", own_sentence)] if own_sentence else [])]
    file_query = urlencode([*rest, *parts])
    context = {
        "slide": slide,
        "problems": problems,
        "typed": _typed_sentence(request.GET) or slide.sentence if problems else slide.sentence,
        "said": sentence(table),
        "longest": LONGEST,
        "back": back,
        "rest": rest,
        "query": urlencode(rest),
        "slide_query": urlencode(parts),
        "share_form": share,
        "tests": [
            (test, testnames.label(test), test == table.test)
            for test in slide_table.tests[: limits.MOST_OPTIONS]
        ],
        "categories": [
            (slug, profiles.label_of(slug), slug == table.category)
            for slug in slide_table.categories
        ],
        "preview": f"{files}svg?{file_query}",
        "files": [(suffix.upper(), f"{files}{suffix}?{file_query}") for suffix in FORMATS],
        "foot": slides.foot_of(slide),
        "set_aside": slide_table.set_aside,
    }
    return render(request, "compare/slide.html", context, status=400 if problems else 200)


def _file(request: HttpRequest, suffix: str, slide: Slide, among: Iterable[str]) -> HttpResponse:
    name = f"fsbench-{testnames.slug(slide.table.test)}-{slide.table.category}.{suffix}"
    return answers.answer(
        request,
        FORMATS[suffix].write,
        slides.drawing(slide, among),
        media_type=FORMATS[suffix].media_type,
        disposition=f'inline; filename="{name}"',
    )
