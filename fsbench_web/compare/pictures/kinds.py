"""Which picture of a comparison is shown: the address is the whole state of the page."""

from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from django.http import QueryDict

from fsbench_web.compare.selection.spec import LONGEST_VALUE, ComparisonSpec, SpecError
from fsbench_web.core.scoring import categories

LARGEST_KEY = 2**63 - 1


@dataclass(frozen=True)
class Kind:
    """A kind of picture. ``needs`` is what a test must have to be drawn so: see ``Tests``."""

    label: str
    words: str
    needs: str
    asks: tuple[str, ...] = ()


MATRIX, LOADS, SCORES, PAIR, RUNS = "matrix", "loads", "scores", "pair", "runs"
PHASES = "phases"

KINDS: dict[str, Kind] = {
    "bars": Kind("Best cases", "The score of each contender.", SCORES, ("category",)),
    "stacked": Kind(
        "Write and read",
        "Write and read on top of each other, as the combined charts of the Unisys paper.",
        PAIR,
        ("category",),
    ),
    "matrix": Kind("Heat map", "One contender: record size by file size.", MATRIX, ("a",)),
    "ratio": Kind(
        "Ratio of two",
        "How many times as fast one contender is as another, cell by cell, where both have one.",
        MATRIX,
        ("a", "b"),
    ),
    "surface": Kind("3-D surface", "One contender, as IOzone draws it.", MATRIX, ("a",)),
    "profile": Kind(
        "Profile lines",
        "Several contenders at one record size or one file size.",
        MATRIX,
        ("lines", "size"),
    ),
    "load": Kind(
        "Load curves",
        "Several contenders at more and more load, each number with its 95% interval.",
        LOADS,
        ("lines",),
    ),
    "phases": Kind(
        "Phases",
        "What each phase of a work takes, several contenders side by side, each with its 95% "
        "interval.",
        PHASES,
    ),
    "repeats": Kind(
        "Repeats", "Every run a point: how far repeats scatter.", RUNS, ("lines", "cell")
    ),
}
PAIRS = {
    "write": "read",
    "rewrite": "reread",
    "random_write": "random_read",
    "fwrite": "fread",
    "refwrite": "refread",
}
"""Tests that are drawn on top of each other, the one that writes first."""

_NUMBERS = {"a": "a", "b": "b", "record": "record_kb", "file": "file_kb"}
PARAMETERS = ("picture", "of", "in", "line", *_NUMBERS)


@dataclass(frozen=True)
class PictureSpec:
    """A picture of a comparison. None and "" stand for what is shown first.

    ``a`` and ``b`` are contenders of pictures of one or two, ``lines`` those of pictures of
    several: keys of series, since a contender's name may mean another configuration tomorrow.
    ``PictureSpec.from_query(spec.to_query()) == spec``.
    """

    comparison: ComparisonSpec = field(default_factory=ComparisonSpec)
    kind: str = "bars"
    test: str = ""
    category: str = ""
    a: int | None = None
    b: int | None = None
    lines: tuple[int, ...] = ()
    record_kb: int | None = None
    file_kb: int | None = None

    @classmethod
    def from_query(cls, query: QueryDict | str) -> "PictureSpec":
        """The picture of a query string; what is not of the picture is of the comparison.

        Raises SpecError with all problems of both.
        """
        given = QueryDict(query) if isinstance(query, str) else query
        rest = QueryDict(mutable=True)
        for name, texts in given.lists():
            if name not in PARAMETERS:
                rest.setlist(name, texts)
        problems: list[str] = []
        comparison = ComparisonSpec()
        try:
            comparison = ComparisonSpec.from_query(rest)
        except SpecError as error:
            problems += error.problems
        kind = given.get("picture") or "bars"
        if kind not in KINDS:
            problems.append(f'picture is "{kind[:60]}"; it can be {", ".join(KINDS)}.')
        test, category = given.get("of") or "", given.get("in") or ""
        if len(test) > LONGEST_VALUE or "\x00" in test:
            problems.append("of is not the name of a test that fsbench could have given.")
        if category and category not in categories.all_slugs():
            known = ", ".join(categories.all_slugs())
            problems.append(f'There is no category "{category[:60]}"; there is {known}.')
        numbers: dict[str, int | None] = {}
        for parameter, name in _NUMBERS.items():
            text = given.get(parameter) or ""
            numbers[name] = _number(text) if text else None
            if text and numbers[name] is None:
                problems.append(f'{parameter} is "{text[:60]}"; it is a whole number.')
        lines = [_number(text) for text in given.getlist("line") if text]
        if None in lines:
            problems.append("line is a whole number, the key of a contender.")
        if problems:
            raise SpecError(problems)
        kept = sorted({line for line in lines if line is not None})
        return cls(comparison, kind, test, category, lines=tuple(kept), **numbers)

    def to_query(self) -> str:
        """The canonical query string, without "?"."""
        pairs = [("picture", self.kind)] if self.kind != "bars" else []
        pairs += [("of", self.test)] if self.test else []
        pairs += [("in", self.category)] if self.category else []
        pairs += [("line", str(line)) for line in self.lines]
        pairs += [
            (parameter, str(getattr(self, name)))
            for parameter, name in _NUMBERS.items()
            if getattr(self, name) is not None
        ]
        return "&".join(part for part in (self.comparison.to_query(), urlencode(pairs)) if part)

    def of_kind(self, kind: str) -> "PictureSpec":
        """Another kind of picture of the same test and contenders."""
        return replace(self, kind=kind, record_kb=None, file_kb=None)


def _number(text: str) -> int | None:
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        return None
    number = int(text)
    return number if number <= LARGEST_KEY else None
