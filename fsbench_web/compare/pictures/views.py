"""The page of pictures, and the numbers of the one it shows as CSV."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.pictures.base import (
    CDF,
    COMPLETIONS,
    MOST_HIDDEN,
    NUMBERS,
    OVER_TIME,
    PARAMETERS,
    PERCENTILES,
    PERCENTS,
    SCALES,
    SHOWS,
    CategoryPicture,
    DrawableTests,
    Picture,
    PictureKind,
    PictureSpec,
    PictureUnavailable,
    offer,
)
from fsbench_web.compare.pictures.latencies import Latencies
from fsbench_web.compare.pictures.line_charts import LoadCurves, Profile, Roofline
from fsbench_web.compare.pictures.runs import HeatMap, Ratio, RepeatsOfRuns
from fsbench_web.compare.pictures.scores import (
    BestCases,
    Multiples,
    Phases,
    QueueDepth,
    WriteAndRead,
)
from fsbench_web.compare.pictures.table import as_csv
from fsbench_web.compare.selection import folds
from fsbench_web.compare.selection.fields import shortened, sizes_of
from fsbench_web.compare.selection.spec import LONGEST_VALUE, ComparisonSpec, SpecError
from fsbench_web.compare.tables import csv
from fsbench_web.compare.tables.delta_tables import refuse_unknown_parts
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.figures.frame import note_omitted_lines, plain_text
from fsbench_web.platform import limits
from fsbench_web.studies.scores.cells import TooManyValues

MOST_NAMED = 12


@dataclass(frozen=True)
class RequestedPicture:
    """The picture of an address; ``kind`` is None if no test can be drawn like this.

    ``problem``: why there is no picture. ``substitutions``: that another one is shown.
    """

    spec: PictureSpec
    offer: DrawableTests
    test: str = ""
    kind: PictureKind | None = None
    picture: Picture = field(default_factory=lambda: Picture(None))
    problem: str = ""
    substitutions: Sequence[str] = ()

    @property
    def notices(self) -> list[str]:
        return [*self.substitutions, *(self.kind.notices if self.kind else ())]

    @property
    def as_drawn(self) -> PictureSpec:
        """The address of the very picture, where another is drawn than was asked for."""
        if not self.substitutions or self.kind is None:
            return self.spec
        category = self.kind.category if isinstance(self.kind, CategoryPicture) else ""
        comparison = self.spec.comparison
        if not categories.is_of_work(category):
            comparison = comparison.without_work
        if category not in comparison.categories:
            comparison = replace(comparison, categories=())
        return replace(self.spec, comparison=comparison, test=self.kind.test, category=category)


@gzip_page
@require_safe
@requires(Action.READ)
def page(request: HttpRequest) -> HttpResponse:
    """The picture of the address, with its form. Removed kinds redirect to their successors."""
    try:
        spec = spec_of(request.GET)
        if request.GET.get("picture") in REPLACED:
            return redirect(f"{request.path}?{spec.to_query()}", permanent=True)
        requested = _requested_picture(spec)
    except SpecError as error:
        context = {"problems": error.problems}
        return render(request, "compare/pictures.html", context, status=400)
    return render(request, "compare/pictures.html", _context(requested))


@require_safe
@requires(Action.READ)
def csv_file(request: HttpRequest) -> HttpResponse:
    """The numbers of the picture as CSV, unrounded; a refusal is plain text."""
    try:
        requested = _requested_picture(spec_of(request.GET))
    except SpecError as error:
        return _plain(error.problems, 400)
    table = requested.picture.table
    if requested.substitutions:  # a file has no room for a warning
        names = ", ".join(
            map(shortened, requested.offer.of(KINDS[requested.spec.kind].needs)[:MOST_NAMED])
        )
        return _plain(
            [*requested.substitutions, f"Tests that can be drawn like this: {names}."], 400
        )
    if table is None:
        return _plain(
            [requested.problem or "There is no such chart.", *requested.picture.notes], 404
        )
    name = f"fsbench-{requested.spec.kind}-{testnames.slug(requested.test)}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(as_csv(table), content_type=csv.MEDIA_TYPE, headers=headers)


def _plain(sentences: Sequence[str], status: int) -> HttpResponse:
    text = "\n".join([*sentences, ""])
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")


def _requested_picture(spec: PictureSpec) -> RequestedPicture:
    refuse_unknown_parts(spec.comparison)
    offered = offer(spec.comparison)
    needs = KINDS[spec.kind].needs
    tests = offered.of(needs)
    if not tests:
        return RequestedPicture(spec, offered, problem=needs.refusal)
    label_of = KINDS[spec.kind].label_of
    test = spec.test if spec.test in tests else _nearest_test(spec.test, tests, label_of)
    kind = KINDS[spec.kind](spec, test, offered)
    substitutions = kind.substitutions
    if spec.test and label_of(spec.test) != label_of(test):
        substitutions = [
            f"{testnames.label(spec.test)} cannot be drawn like this; shown is "
            f"{testnames.label(test)}.",
            *substitutions,
        ]
    picture, problem = Picture(None), ""
    try:
        picture = kind.draw()
        _hide_lines(picture, spec.hide)
        if picture.figure is not None:
            note_omitted_lines(picture.figure, kind.undrawn)
    except (PictureUnavailable, TooManyValues) as error:
        problem = str(error)
    return RequestedPicture(spec, offered, test, kind, picture, problem, substitutions)


def _hide_lines(picture: Picture, names: Collection[str]) -> None:
    """Lines that the address puts out are in the legend alone."""
    if picture.figure is None or not names:
        return
    hidden = {plain_text(name) for name in names}
    picture.figure.for_each_trace(
        lambda trace: trace.update(visible="legendonly"),
        selector=lambda trace: trace.name in hidden,
    )


def _nearest_test(test: str, tests: Sequence[str], label_of: Callable[[str], str]) -> str:
    """The test of ``tests`` that is nearest to one of another kind of picture."""
    name = testnames.parts(test)[0]
    alike = (other for other in tests if label_of(other) == label_of(test))
    named = (other for other in tests if testnames.parts(other)[0] == name)
    return next(alike, None) or next(named, tests[0])


def _offered_tests(tests: Sequence[str], chosen: str) -> tuple[Sequence[str], int]:
    """As many of the tests as a select box shows, the chosen one among them, and how many more."""
    if len(tests) <= limits.MOST_OPTIONS:
        return tests, 0
    start = tests.index(chosen) if chosen in tests else 0
    start = min(start, len(tests) - limits.MOST_OPTIONS)
    return tests[start : start + limits.MOST_OPTIONS], len(tests) - limits.MOST_OPTIONS


def _context(requested: RequestedPicture) -> dict[str, object]:
    spec = requested.spec
    comparison = spec.comparison.to_query()
    kind = KINDS[spec.kind]
    offered, more_tests = _offered_tests(requested.offer.of(kind.needs), requested.test)
    contenders = requested.kind.contenders if requested.kind else ()
    lines = requested.kind.lines if requested.kind else None
    return {
        "more_tests": more_tests,
        "shown": requested,
        "label": kind.label,
        "words": kind.words,
        "query": requested.as_drawn.to_query(),
        "comparison": comparison,
        "hidden": parse_qsl(comparison),
        "kinds": [
            (
                slug,
                other.label,
                replace(spec.of_kind(slug), test=requested.test or spec.test).to_query(),
            )
            for slug, other in KINDS.items()
            if requested.offer.of(other.needs)
        ],
        "tests": folds.with_folds(
            [(test, kind.label_of(test)) for test in offered],
            lambda entry: entry[0],
            spec.comparison.tests,
        ),
        "contenders": contenders,
        "offered": contenders[: limits.MOST_OPTIONS],
        "lines": lines,
        "line_keys": {contender.key for contender in lines or ()},
    }


# All kinds of pictures, in the order in which they are offered, and which one an address says.

_ALL: tuple[type[PictureKind], ...] = (
    *(BestCases, WriteAndRead, HeatMap, Ratio),
    *(Profile, LoadCurves, QueueDepth, Latencies, Multiples, Roofline, Phases, RepeatsOfRuns),
)
KINDS: dict[str, type[PictureKind]] = {kind.slug: kind for kind in _ALL}
REPLACED = {
    "surface": (HeatMap.slug, ""),
    "percentiles": (Latencies.slug, PERCENTILES),
    "cdf": (Latencies.slug, CDF),
    "tails": (Latencies.slug, COMPLETIONS),
    "latency-time": (Latencies.slug, OVER_TIME),
}
"""Removed kinds, with the kind and its ``show`` that have the same numbers: old addresses work."""
LARGEST_KEY = 2**63 - 1


def spec_of(query: QueryDict | str) -> PictureSpec:
    """The picture of a query string; the other parameters are of the comparison.

    Raises SpecError with all problems of both.
    """
    parsed = QueryDict(query) if isinstance(query, str) else query
    comparison, problems = _comparison(parsed)
    kind = parsed.get("picture") or "bars"
    kind, show = REPLACED.get(kind, (kind, parsed.get("show") or ""))
    test, category = parsed.get("of") or "", parsed.get("in") or ""
    if kind not in KINDS:
        problems.append(f'picture is "{kind[:60]}"; it can be {", ".join(KINDS)}.')
    if len(test) > LONGEST_VALUE or "\x00" in test:
        problems.append("of is not the name of a test that fsbench could have given.")
    is_of_work = categories.is_of_work(category) and category != categories.PROFILE
    if category and not is_of_work and category not in categories.all_slugs():
        choices = ", ".join(categories.all_slugs())
        problems.append(f'There is no category "{category[:60]}"; there is {choices}.')
    if category == categories.RANGE and not comparison.has_range:
        problems.append("in is range, and no range is given: say block=8k-16k and file=1g-4g.")
    scale, percent = parsed.get("scale") or "", parsed.get("percent") or ""
    for name, chosen, offered, more in (
        ("scale", scale, SCALES, ""),
        ("show", show, {"": "", **SHOWS}, ""),
        ("percent", percent, PERCENTS, ", and none is 99"),
    ):
        if chosen not in offered:
            listed = ", ".join(filter(None, offered))
            problems.append(f'{name} is "{chosen[:60]}"; it can be {listed}{more}.')
    hide = tuple(dict.fromkeys(name for name in parsed.getlist("hide") if name))
    if len(hide) > MOST_HIDDEN or any(len(name) > LONGEST_VALUE or "\x00" in name for name in hide):
        problems.append(f"hide has up to {MOST_HIDDEN} names of the legend.")
    numbers, lines, wrong = _keys_and_sizes(parsed)
    problems += wrong
    if problems:
        raise SpecError(problems)
    return PictureSpec(
        comparison,
        kind,
        test,
        category,
        lines=lines,
        scale=scale,
        show=show if kind == Latencies.slug else "",
        percent=percent,
        hide=hide,
        **numbers,
    )


def _keys_and_sizes(
    query: QueryDict,
) -> tuple[dict[str, int | None], tuple[int, ...], list[str]]:
    """The numbers of the address by field, the keys of ``lines``, and problems."""
    problems = []
    numbers = {}
    for parameter, name in NUMBERS.items():
        text = next(
            (text for text in query.getlist(parameter)[::-1] if _is_own(parameter, text)), ""
        )
        numbers[name] = _number(text)
        if text and numbers[name] is None:
            problems.append(f'{parameter} is "{text[:60]}"; it is a whole number.')
    lines = {_number(text) for text in query.getlist("line") if text}
    if None in lines:
        problems.append("line is a whole number, the key of an entry.")
    return numbers, tuple(sorted(line for line in lines if line is not None)), problems


def _comparison(query: QueryDict) -> tuple[ComparisonSpec, list[str]]:
    """What is drawn, and its problems."""
    rest = QueryDict(mutable=True)
    for name, texts in query.lists():
        texts = [text for text in texts if not _is_own(name, text)]
        if texts:
            rest.setlist(name, texts)
    try:
        return ComparisonSpec.of_address(rest), []
    except SpecError as error:
        return ComparisonSpec(), [*error.problems]


def _is_own(parameter: str, text: str) -> bool:
    """Whether a parameter is of the picture: ``file=65536`` is a size that it draws, and
    ``file=1g-4g`` a range of those that a comparison ranks by."""
    if parameter == "file" and not text.isdecimal():
        try:
            return not sizes_of(text)
        except ValueError:
            return True  # of neither, and refused there
    return parameter in PARAMETERS


def _number(text: str) -> int | None:
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        return None
    number = int(text)
    return number if number <= LARGEST_KEY else None
