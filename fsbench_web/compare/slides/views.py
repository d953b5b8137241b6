"""The page of a slide, with its sentence to be changed, and its files."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.answers import plain_refusal, refused
from fsbench_web.compare.models import Permalink
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.permalinks.sharing import SharingForm
from fsbench_web.compare.permalinks.views import not_intact, of_permalink
from fsbench_web.compare.pictures.offer import category_of, offer, tables
from fsbench_web.compare.pictures.sections import contenders_of
from fsbench_web.compare.pictures.spec import PictureSpec
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.slides import drawing as slides
from fsbench_web.compare.slides.drawing import Slide
from fsbench_web.compare.slides.files import FORMATS
from fsbench_web.compare.slides.sentence import LONGEST, sentence
from fsbench_web.compare.tables.field import field_of
from fsbench_web.compare.tables.rows import DeltaTable
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.platform import limits, plain_text
from fsbench_web.renderings import answers

PARAMETERS = ("of", "in", "sentence", "was")
NOTHING = "No score matches this comparison: there is nothing to put on a slide."


@dataclass(frozen=True)
class Choice:
    """What there is to choose from: tests, and categories of the one that is shown."""

    tests: Sequence[str]
    categories: Sequence[str]


@require_safe
@requires(Action.READ)
def comparison_page(request: HttpRequest) -> HttpResponse:
    """The slide of one table of a comparison."""
    try:
        slide, choice, _ = _of_comparison(request)
    except SpecError as error:
        return refused(request, error)
    files = reverse("compare:slide_file", args=["png"]).removesuffix("png")
    back = f"{reverse('compare:page')}?{_comparison(request.GET).urlencode()}"
    share = SharingForm() if rights.may(request.user, rights.Action.SHARE) else None
    return _page(request, slide, choice, files, back, share)


@require_safe
@requires(Action.READ)
def comparison_file(request: HttpRequest, suffix: str) -> HttpResponse:
    """The same as a file; a refusal is plain text."""
    _known(suffix)
    try:
        slide, _, among = _of_comparison(request)
    except SpecError as error:
        return plain_refusal(error)
    return _file(request, suffix, slide, among)


@require_safe
@of_permalink
@requires(Action.READ)
def permalink_page(request: HttpRequest, link: Permalink) -> HttpResponse:
    """The slide of one table that a permalink keeps."""
    pinned = records.read(link)
    if not pinned.is_intact:
        return not_intact(link)
    try:
        slide, choice, _ = _of_permalink(request, link, pinned)
    except SpecError as error:
        return plain_refusal(error)
    files = reverse("compare:permalink_slide_file", args=[link.key, "png"]).removesuffix("png")
    back = reverse("compare:permalink", args=[link.key])
    return _page(request, slide, choice, files, back, None)


@require_safe
@of_permalink
@requires(Action.READ)
def permalink_file(request: HttpRequest, link: Permalink, suffix: str) -> HttpResponse:
    """The same as a file."""
    _known(suffix)
    pinned = records.read(link)
    if not pinned.is_intact:
        return not_intact(link)
    try:
        slide, _, among = _of_permalink(request, link, pinned)
    except SpecError as error:
        return plain_refusal(error)
    return _file(request, suffix, slide, among)


def _known(suffix: str) -> None:
    if suffix not in FORMATS:
        raise Http404(f'A slide is no "{suffix[:20]}"; it can be {", ".join(FORMATS)}.')


def _of_comparison(request: HttpRequest) -> tuple[Slide, Choice, Iterable[str]]:
    """Raises SpecError."""
    query = _comparison(request.GET)
    spec = ComparisonSpec.from_query(query)
    there = offer(spec)
    if not there.scored:
        raise SpecError([NOTHING])
    test = _asked(request.GET.get("of"), list(there.scored), "test")
    known = there.categories[test]
    category = _asked(request.GET.get("in"), known, "category") if "in" in request.GET else ""
    category = category or category_of(PictureSpec(spec), known)
    found, _ = tables(PictureSpec(spec), [test], category)
    if not found:
        raise SpecError([NOTHING])
    table = max(found, key=lambda one: len(one.rows))
    address = request.build_absolute_uri(f"{reverse('compare:page')}?{query.urlencode()}")
    as_of = f"numbers of {timezone.localdate():%Y-%m-%d}"
    slide = Slide(_sentence(request.GET, table), table, address, as_of)
    among = {value.slug for value in field_of(spec).values.values()}
    return slide, Choice(list(there.scored), known), among


def _of_permalink(
    request: HttpRequest, link: Permalink, pinned: records.Pinned
) -> tuple[Slide, Choice, Iterable[str]]:
    """Raises SpecError."""
    tests = list(dict.fromkeys(table.test for table in pinned.tables))
    if not tests:
        raise SpecError([NOTHING])
    test = _asked(request.GET.get("of"), tests, "test")
    known = {table.category: table for table in pinned.tables if table.test == test}
    category = _asked(request.GET.get("in"), list(known), "category")
    address = request.build_absolute_uri(reverse("compare:permalink", args=[link.key]))
    kept = f"kept on {timezone.localtime(link.created_at):%Y-%m-%d}"
    table = known[category]
    slide = Slide(_sentence(request.GET, table), table, address, kept)
    return slide, Choice(tests, list(known)), contenders_of(pinned.tables)


def _comparison(given: QueryDict) -> QueryDict:
    """What of the address says what is compared."""
    rest = given.copy()
    for name in PARAMETERS:
        rest.pop(name, None)
    return rest


def _asked(wanted: str | None, known: Sequence[str], what: str) -> str:
    """What is asked for, the first without it. Raises SpecError for what is not there."""
    if not wanted:
        return known[0]
    if wanted not in known:
        raise SpecError([f'This comparison has no {what} "{wanted[:60]}".'])
    return wanted


def _sentence(given: QueryDict, table: DeltaTable) -> str:
    """Somebody's own, else what the table says. Raises SpecError."""
    text = " ".join((given.get("sentence") or "").split())
    if not text or text == given.get("was"):  # what the table said that was shown before
        return sentence(table)
    if len(text) > LONGEST:
        raise SpecError([f"The sentence of a slide has up to {LONGEST} characters."])
    if problem := plain_text.problem(text):
        raise SpecError([problem])
    return text


def _page(
    request: HttpRequest,
    slide: Slide,
    choice: Choice,
    files: str,
    back: str,
    share: SharingForm | None,
) -> HttpResponse:
    table = slide.table
    own = slide.sentence if slide.sentence != sentence(table) else ""
    rest = [(name, value) for name, values in _comparison(request.GET).lists() for value in values]
    chosen = [("of", table.test), ("in", table.category)]
    asked = urlencode([*rest, *chosen, *([("sentence", own)] if own else [])])
    context = {
        "slide": slide,
        "said": sentence(table),
        "longest": LONGEST,
        "back": back,
        "rest": rest,
        "query": urlencode(rest),
        "share_form": share,
        "tests": [
            (test, testnames.label(test), test == table.test)
            for test in choice.tests[: limits.MOST_OPTIONS]
        ],
        "categories": [
            (slug, categories.label(slug), slug == table.category) for slug in choice.categories
        ],
        "preview": f"{files}svg?{asked}",
        "files": [(suffix.upper(), f"{files}{suffix}?{asked}") for suffix in FORMATS],
        "foot": slides.foot_of(slide),
    }
    return render(request, "compare/slide.html", context)


def _file(request: HttpRequest, suffix: str, slide: Slide, among: Iterable[str]) -> HttpResponse:
    name = f"fsbench-{testnames.slug(slide.table.test)}-{slide.table.category}.{suffix}"
    return answers.answer(
        request,
        FORMATS[suffix].write,
        slides.drawing(slide, among),
        media_type=FORMATS[suffix].media_type,
        disposition=f'inline; filename="{name}"',
    )
