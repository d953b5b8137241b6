"""The page of pictures, and the numbers of the one it shows as CSV."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.pictures import (
    cells as pictures_cells,
)
from fsbench_web.compare.pictures import (
    lines as pictures_lines,
)
from fsbench_web.compare.pictures import (
    phases as pictures_phases,
)
from fsbench_web.compare.pictures import (
    scores,
)
from fsbench_web.compare.pictures.kinds import (
    KINDS,
    LOADS,
    MATRIX,
    PAIRS,
    PHASES,
    SCORES,
    PictureSpec,
)
from fsbench_web.compare.pictures.offer import (
    Contender,
    Offer,
    category_of,
    contenders,
    offer,
    tables,
)
from fsbench_web.compare.pictures.parts import Picture
from fsbench_web.compare.pictures.table import as_csv
from fsbench_web.compare.selection import folds
from fsbench_web.compare.selection.spec import SpecError
from fsbench_web.compare.tables import csv
from fsbench_web.core.scoring import categories, phases, testnames
from fsbench_web.figures.lines import MOST_LINES
from fsbench_web.figures.sizes import size_name
from fsbench_web.platform import limits
from fsbench_web.studies.models import Series
from fsbench_web.studies.scores import cells

MOST_OFFERED = limits.MOST_OPTIONS
"""Contenders in a select box."""


@dataclass
class Shown:
    """The picture with all that its form offers. ``problem`` says why there is no picture."""

    spec: PictureSpec
    offer: Offer
    test: str = ""
    category: str = ""
    contenders: list[Contender] = field(default_factory=list)
    a: Contender | None = None
    b: Contender | None = None
    lines: list[Contender] = field(default_factory=list)
    records: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    record_kb: int | None = None
    file_kb: int | None = None
    picture: Picture = field(default_factory=lambda: Picture(None))
    notices: list[str] = field(default_factory=list)
    problem: str = ""


@gzip_page
@require_safe
@requires(Action.READ)
def page(request: HttpRequest) -> HttpResponse:
    """The picture that the address says, with the form that chooses another."""
    try:
        shown = _shown(PictureSpec.from_query(request.GET))
    except SpecError as error:
        context = {"problems": error.problems}
        return render(request, "compare/pictures.html", context, status=400)
    return render(request, "compare/pictures.html", _context(shown))


@require_safe
@requires(Action.READ)
def csv_file(request: HttpRequest) -> HttpResponse:
    """The numbers of the picture as CSV, unrounded; a refusal is plain text."""
    try:
        shown = _shown(PictureSpec.from_query(request.GET))
    except SpecError as error:
        return _plain(error.problems, 400)
    table = shown.picture.table
    if table is None:
        return _plain([shown.problem or "There is no such picture.", *shown.picture.notes], 404)
    name = f"fsbench-{shown.spec.kind}-{testnames.slug(shown.test)}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(as_csv(table), content_type=csv.MEDIA_TYPE, headers=headers)


def _plain(sentences: Sequence[str], status: int) -> HttpResponse:
    text = "\n".join([*sentences, ""])
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")


def _shown(spec: PictureSpec) -> Shown:
    shown = Shown(spec, offer(spec.comparison))
    tests = shown.offer.of(KINDS[spec.kind].needs)
    if not tests:
        shown.problem = _NOTHING[KINDS[spec.kind].needs]
        return shown
    shown.test = spec.test if spec.test in tests else _like(spec.test, tests)
    if spec.test and shown.test != spec.test and shown.test not in phases.tests_of(spec.test):
        shown.notices.append(
            f"{testnames.label(spec.test)} cannot be drawn like this; "
            f"shown is {testnames.label(shown.test)}."
        )
    try:
        _draw(shown)
    except cells.TooManyValues as error:
        shown.problem = str(error)
    return shown


_NOTHING = {
    "scores": "No score matches this comparison.",
    "pair": "This comparison has no test that writes together with the one that reads.",
    "matrix": "No finished run of this comparison has a matrix of record and file sizes. Scores "
    "that were published have no cells: nothing is read off a printed picture.",
    "loads": "No finished run of this comparison was measured at a load, as threads=8. Curves that "
    "a paper printed without numbers, as those of FREENIX 2002, cannot be drawn: nothing is read "
    "off a printed picture. Import results at several loads to draw them here.",
    PHASES: "No test of this comparison is a phase of a work, as those of Mongo and of a "
    "compilation are.",
    "runs": "No finished run matches this comparison. Scores that were published have no repeats.",
}


def _like(test: str, tests: Sequence[str]) -> str:
    """The test of ``tests`` that is nearest to one of another kind of picture, else the first."""
    same_work = [one for one in tests if one in phases.tests_of(test)]
    if same_work:
        return same_work[0]
    name = testnames.parts(test)[0]
    return next((one for one in tests if testnames.parts(one)[0] == name), tests[0])


def _draw(shown: Shown) -> None:
    spec = shown.spec
    if spec.kind in ("bars", "stacked"):
        _draw_scores(shown)
        return
    if spec.kind == "phases":
        shown.category = categories.MEAN
        there = shown.offer.of(SCORES)
        wanted = [test for test in phases.tests_of(shown.test) if test in there]
        found, emulated = tables(spec, wanted, categories.MEAN)
        shown.notices += [emulated] if emulated else []
        shown.picture = pictures_phases.phases(shown.test, found)
        return
    needs = KINDS[spec.kind].needs
    loaded = [test for test in shown.offer.of("runs") if testnames.parts(test)[0] == shown.test]
    shown.contenders, emulated = contenders(
        spec.comparison, [shown.test] if needs != LOADS else [t for t in loaded if "@" in t]
    )
    shown.notices += [emulated] if emulated else []
    if not shown.contenders:
        shown.problem = _NOTHING[needs]
    elif "a" in KINDS[spec.kind].asks:
        _draw_one_or_two(shown)
    else:
        _draw_several(shown)


def _draw_scores(shown: Shown) -> None:
    spec = shown.spec
    known = shown.offer.categories[shown.test]
    if spec.kind == "stacked":
        read = PAIRS[shown.test]
        known = [slug for slug in known if slug in shown.offer.categories[read]]
    if spec.comparison.categories:
        known = [slug for slug in known if slug in spec.comparison.categories] or known
    shown.category = category_of(spec, known)
    if spec.kind == "bars":
        found, emulated = tables(spec, [shown.test], shown.category)
        shown.notices += [emulated] if emulated else []
        if not found:
            shown.problem = _NOTHING["scores"]
            return
        shown.picture = scores.best_cases(max(found, key=lambda table: len(table.rows)))
        return
    pair = (shown.test, PAIRS[shown.test])
    found, emulated = tables(spec, pair, shown.category)
    shown.notices += [emulated] if emulated else []
    by_test = {table.test: table for table in found}
    shown.picture = scores.write_and_read(
        by_test.get(pair[0]), by_test.get(pair[1]), shown.test, shown.category
    )


def _draw_one_or_two(shown: Shown) -> None:
    spec, known = shown.spec, {one.key: one for one in shown.contenders}
    first, *others = shown.contenders
    asked = [key for key in (spec.a, spec.b) if key is not None]
    gone = [key for key in asked if key not in known]
    if (gone and spec.kind == "ratio") or spec.a in gone:
        shown.problem = (
            "A contender of this address is not in this comparison, or has no finished run of the "
            "test any more. Choose another."
        )
        shown.a = known.get(spec.a or 0, first)
        shown.b = known.get(spec.b or 0)
        return
    shown.a = known[spec.a] if spec.a is not None else first
    if spec.kind != "ratio":
        found = cells.matrices([shown.a.key], shown.test)
        quality = Series.objects.values_list("quality", flat=True).get(pk=shown.a.key)
        shown.picture = pictures_cells.matrix(shown.test, shown.a, found, spec.kind, quality)
        return
    others = [one for one in shown.contenders if one.key != shown.a.key]
    if spec.b is not None:
        shown.b = known[spec.b]
    elif others:
        shown.b = others[0]
    else:
        shown.problem = "A ratio takes two contenders, and this comparison has one of this test."
        return
    found = cells.matrices({shown.a.key, shown.b.key}, shown.test)
    shown.picture = pictures_cells.ratio(shown.test, shown.a, shown.b, found)


def _draw_several(shown: Shown) -> None:
    spec = shown.spec
    wanted = set(spec.lines)
    shown.lines = [one for one in shown.contenders if one.key in wanted] or shown.contenders
    if wanted - {one.key for one in shown.contenders}:
        shown.notices.append("Some contenders of this address are not in this comparison any more.")
    if len(shown.lines) > MOST_LINES:
        shown.notices.append(
            f"{MOST_LINES} of {len(shown.lines)} contenders are drawn, the best ones: more colours "
            "nobody tells apart. Choose others in the form."
        )
        shown.lines = shown.lines[:MOST_LINES]
    keys = [one.key for one in shown.lines]
    if spec.kind == "load":
        found = cells.load_curves(keys, shown.test)
        shown.picture = pictures_lines.load(shown.test, shown.lines, found)
        return
    shown.records, shown.files = cells.sizes_of(keys, shown.test)
    shown.record_kb, shown.file_kb = spec.record_kb, spec.file_kb
    if spec.kind == "repeats":
        measured = cells.repeats(keys, shown.test, record_kb=shown.record_kb, file_kb=shown.file_kb)
        shown.picture = pictures_lines.repeats(
            shown.test, shown.lines, measured, shown.record_kb, shown.file_kb
        )
        return
    if shown.record_kb is not None and shown.file_kb is not None:
        shown.problem = (
            "A profile is taken at one record size or at one file size: "
            "set the other to every size."
        )
        return
    if shown.record_kb is None and shown.file_kb is None:
        shown.record_kb = shown.records[0] if shown.records else None
    of_size = cells.matrices(keys, shown.test, record_kb=shown.record_kb, file_kb=shown.file_kb)
    shown.picture = pictures_lines.profile(
        shown.test, shown.lines, of_size, shown.record_kb, shown.file_kb
    )


def _some(tests: Sequence[str], chosen: str) -> tuple[Sequence[str], int]:
    """As many of the tests as a select box shows, the chosen one among them, and how many more."""
    if len(tests) <= limits.MOST_OPTIONS:
        return tests, 0
    at = tests.index(chosen) if chosen in tests else 0
    at = min(at, len(tests) - limits.MOST_OPTIONS)
    return tests[at : at + limits.MOST_OPTIONS], len(tests) - limits.MOST_OPTIONS


def _context(shown: Shown) -> dict[str, object]:
    spec = shown.spec
    comparison = spec.comparison.to_query()
    kind = KINDS[spec.kind]
    named = phases.label if kind.needs == PHASES else testnames.label
    offered, more_tests = _some(shown.offer.of(kind.needs), shown.test)
    return {
        "more_tests": more_tests,
        "shown": shown,
        "kind": kind,
        "query": spec.to_query(),
        "comparison": comparison,
        "hidden": parse_qsl(comparison),
        "kinds": [
            (slug, one, replace(spec.of_kind(slug), test=shown.test or spec.test).to_query())
            for slug, one in KINDS.items()
            if shown.offer.of(one.needs)
        ],
        "tests": folds.placed(
            [(test, named(test)) for test in offered],
            lambda entry: entry[0],
            spec.comparison.tests,
        ),
        "categories": [
            (slug, categories.label(slug)) for slug in shown.offer.categories.get(shown.test, [])
        ],
        "offered": shown.contenders[:MOST_OFFERED],
        "too_many": len(shown.contenders) > MOST_OFFERED,
        "records": [(size, size_name(size)) for size in shown.records],
        "files": [(size, size_name(size)) for size in shown.files],
        "line_keys": {one.key for one in shown.lines},
        "is_matrix": kind.needs == MATRIX,
    }
