"""All kinds of pictures, in the order in which they are offered, and which one an address says."""

from django.http import QueryDict

from fsbench_web.compare.pictures.base import PictureKind
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
from fsbench_web.compare.pictures.spec import (
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
    PictureSpec,
)
from fsbench_web.compare.selection.fields import sizes_of
from fsbench_web.compare.selection.spec import LONGEST_VALUE, ComparisonSpec, SpecError
from fsbench_web.core.scoring import categories

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
        problems.append("line is a whole number, the key of a contender.")
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
