"""How tables are shown: rows, columns, digits. Part of an address; changes no number or file."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from fsbench_web.compare.selection.fields import SORTS, percent, query_of

DIFFERENT, EQUIVALENT, INCONCLUSIVE, NOT_KNOWN = (
    "different",
    "equivalent",
    "inconclusive",
    "unknown",
)
VERDICTS = {
    DIFFERENT: "different for sure",
    EQUIVALENT: "equivalent",
    INCONCLUSIVE: "inconclusive",
    NOT_KNOWN: "not known",
}
PAIR, AGAINST_BEST = "pair", "best"
DELTAS = {
    "": "As the paper has them, else against the best",
    AGAINST_BEST: "Against the best",
    PAIR: "Delta 1 and delta 2",
}
EXACT = "exact"
NUMBERS = {"": "Readable", EXACT: "Exact"}
COLUMNS = {
    "score": "Score",
    "interval": "Interval",
    "behind": "Against the best",
    "change": "Change",
    "share": "Of the LUN",
    "cells": "Data points",
    "runs": "Runs",
    "configuration": "Configuration",
    "workload": "Workload",
    "hardware": "Hardware",
    "lun": "LUN",
    "kernel": "Kernel",
    "study": "Study",
}
_LISTS = {"verdict": VERDICTS, "column": COLUMNS, "pin": COLUMNS}
_CHOICES = {"deltas": DELTAS, "numbers": NUMBERS, "sort": SORTS}
PARAMETERS = {
    "important": "important",
    "least": "least_text",
    "verdict": "verdicts",
    "column": "columns",
    "pin": "pinned",
    "deltas": "deltas",
    "numbers": "numbers",
}
"""Parameters of a view alone, each with its attribute. A comparison has ``sort`` too."""


def unknown_names(query: str) -> list[str]:
    """Names in a query that are of no view, a sentence each; for programs, which nobody watches."""
    parameters = ", ".join(PARAMETERS)
    return [
        f'A view has no "{name[:60]}"; it has {parameters}.'
        for name in QueryDict(query)
        if name not in PARAMETERS
    ]


@dataclass(frozen=True)
class TableView:
    """How tables are shown. ``verdicts``, ``columns``, ``pinned``: keys of VERDICTS and COLUMNS."""

    important: bool = False
    verdicts: tuple[str, ...] = ()
    least_percent: float = 0.0
    columns: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    deltas: str = ""
    numbers: str = ""
    sort: str = ""
    problems: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def from_query(cls, query: QueryDict) -> "TableView":
        """The view of an address; ``problems`` name what is invalid."""
        problems: list[str] = []
        values: dict[str, Any] = {}
        for name, options in _LISTS.items():
            texts = dict.fromkeys(text for text in query.getlist(name) if text)
            problems += _option_problems(name, texts, options)
            values[PARAMETERS[name]] = tuple(text for text in options if text in texts)
        for name, choices in _CHOICES.items():
            text = query.get(name) or ""
            if name != "sort" and text not in choices:
                problems += _option_problems(name, {text: None}, choices)
            values[name] = text if text in choices else ""
        important = query.get("important") or ""
        if important not in ("", "1"):
            problems.append("important can be 1, or left out.")
        try:
            values["least_percent"] = percent(query.get("least") or "0", 10000)
        except ValueError as error:
            problems.append(f"least is {error}.")
        return cls(important == "1", **values, problems=tuple(problems))

    def to_query(self) -> str:
        """What of it is not as usual, but for the order of rows, which a comparison says itself."""
        return query_of(self, USUAL, PARAMETERS)

    @property
    def least_text(self) -> str:
        return f"{self.least_percent:g}" if self.least_percent else ""

    @property
    def with_sort(self) -> str:
        """The query with the order of rows: what a permalink is opened with."""
        return joined(urlencode({"sort": self.sort} if self.sort else {}), self.to_query())

    @classmethod
    def chosen(cls, query: QueryDict, stored_query: str) -> "TableView":
        """The view of an address that says anything of it, also nothing; else ``stored_query``."""
        is_asked = any(name in query for name in (*PARAMETERS, "sort"))
        return cls.from_query(query if is_asked else QueryDict(stored_query))

    @property
    def is_filtered(self) -> bool:
        return bool(self.important or self.verdicts or self.least_percent)

    @property
    def is_usual(self) -> bool:
        return replace(self, important=False, sort="") == USUAL

    @property
    def is_exact(self) -> bool:
        return self.numbers == EXACT


USUAL = TableView()
FORM = "table-view"
"""The id of the form that shows tables another way, where no other form of the page does."""


def without_view(query: QueryDict) -> QueryDict:
    """The query without parameters of the view; of several ``sort`` the last, which was pressed."""
    rest = query.copy()
    for name in PARAMETERS:
        rest.pop(name, None)
    if "sort" in rest:
        rest.setlist("sort", rest.getlist("sort")[-1:])
    return rest


def joined(*queries: str) -> str:
    return "&".join(filter(None, queries))


def _option_problems(name: str, texts: Mapping[str, None], options: Mapping[str, str]) -> list[str]:
    wrong = [text for text in texts if text not in options]
    listed = ", ".join(filter(None, options))
    return [f'{name} is "{wrong[0][:60]}"; it can be {listed}.'] if wrong else []
