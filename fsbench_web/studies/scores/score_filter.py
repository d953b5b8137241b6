"""Which scores are asked for: one filter for whatever reads them, in the database or at hand."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from fsbench_web.studies.models import Score, Selection

Row = TypeVar("Row")

NO_PAPERS, ONLY_PAPERS = "no", "only"

PRINTED_UNIT = Coalesce("summed_unit", "unit")
"""The unit that its tool printed: sums of unlike units are no more alike than what they sum."""

_COLUMNS = {
    "studies": ("series__study__slug", "study"),
    "tests": ("test", "test"),
    "categories": ("category", "category"),
    "filesystems": ("series__configuration__filesystem", "filesystem"),
    "workloads": ("series__workload__slug", "workload"),
    "hardware": ("series__hardware__slug", "hardware"),
}
"""What is filtered by a list of values: the column of a score, and the name in its row."""


@dataclass(frozen=True)
class Condition:
    """What is asked of a series, or of its configuration, that no column says.

    ``takes`` decides by the facts of one (``studies.scores.queries``); ``is_of_configuration``: a
    ConfigurationFacts is enough for that.
    """

    takes: Callable[[Any], bool]
    is_of_configuration: bool = False


@dataclass(frozen=True)
class ScoreFilter:
    """Which scores pass; what is empty takes all.

    ``studies``, ``workloads`` and ``hardware`` are slugs, ``tests`` names with their loads.
    ``selection`` says of which cells: a series of which it leaves nothing has no score there.
    ``min_runs`` is the least number of runs behind a score; above 1 one that does not say how many
    stand behind it does not pass. ``conditions`` are asked of series that were read: ``scores``
    knows nothing of them. ``papers`` says what becomes of published studies: "" takes them with the
    others, NO_PAPERS leaves them out, ONLY_PAPERS takes nothing else. It is asked in the database
    alone: rows at hand were read through ``tables``, which asks the same.
    """

    studies: Collection[str] = ()
    tests: Collection[str] = ()
    categories: Collection[str] = ()
    filesystems: Collection[str] = ()
    workloads: Collection[str] = ()
    hardware: Collection[str] = ()
    selection: str = Selection.ALL
    min_runs: int = 1
    conditions: tuple[Condition, ...] = ()
    papers: str = ""

    @property
    def scores(self) -> QuerySet[Score]:
        """The scores that pass, but for the conditions."""
        columns: dict[str, Any] = {
            f"{_COLUMNS[name][0]}__in": list(values) for name, values in self._lists.items()
        }
        if self.papers:
            columns["series__study__is_published"] = self.papers == ONLY_PAPERS
        scores = Score.selections.filter(selection=self.selection, **columns)
        return scores.filter(repeats__gte=self.min_runs) if self.min_runs > 1 else scores

    def passing(self, rows: Iterable[Row]) -> list[Row]:
        """Of ScoreRows of this selection those that pass, conditions included."""
        lists = [(_COLUMNS[name][1], frozenset(values)) for name, values in self._lists.items()]
        return [
            row
            for row in rows
            if all(getattr(row, name) in values for name, values in lists)
            and (self.min_runs <= 1 or (getattr(row, "repeats", None) or 0) >= self.min_runs)
            and self.takes(row)
        ]

    def takes(self, facts: Any) -> bool:
        """Whether the facts of a series, or of a configuration, meet the conditions."""
        return all(condition.takes(facts) for condition in self.conditions)

    @property
    def of_configuration(self) -> bool:
        """Whether the facts of a configuration are enough for ``takes``."""
        return all(condition.is_of_configuration for condition in self.conditions)

    @property
    def tables(self) -> "ScoreFilter":
        """Everything in the tables that any score that passes is in."""
        return ScoreFilter(
            *(self.studies, self.tests, self.categories),
            selection=self.selection,
            papers=self.papers,
        )

    @property
    def of_all_cells(self) -> "ScoreFilter":
        """The same series and tests: their scores of every category, over all cells."""
        return replace(self, categories=(), selection=Selection.ALL, min_runs=1)

    @property
    def _lists(self) -> dict[str, Collection[str]]:
        return {name: getattr(self, name) for name in _COLUMNS if getattr(self, name)}
