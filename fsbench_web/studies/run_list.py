"""Runs as lists show them: filters in the address, rows in a constant number of queries."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Count, Q, QuerySet
from django.http import QueryDict

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.models import ACTIVE_STATES, Run, RunState

UNFINISHED_STATES = [RunState.QUEUED, *ACTIVE_STATES]
STATES = [
    ("unfinished", "waiting or running"),
    *((state.value, state.label.lower()) for state in RunState),
]


@dataclass(frozen=True)
class RunFilter:
    """Which runs to list; an empty value takes all. ``order`` is the number of a submission.

    ``state`` is a state, or ``unfinished`` for all that wait or run.
    """

    study: str = ""
    state: str = ""
    filesystem: str = ""
    lun: str = ""
    order: str = ""

    @classmethod
    def from_query(cls, query: QueryDict) -> "RunFilter":
        # PostgreSQL refuses NUL in any text, also in one that is only looked for.
        return cls(
            **{
                name: query.get(name, "").strip().replace("\x00", "\ufffd")
                for name in cls.__dataclass_fields__
            }
        )

    def to_query(self) -> str:
        """The query string without empty values."""
        query = QueryDict(mutable=True)
        for name in self.__dataclass_fields__:
            if getattr(self, name):
                query[name] = getattr(self, name)
        return query.urlencode()

    def apply(self, runs: QuerySet[Run]) -> QuerySet[Run]:
        """The runs that match every filter. A value that nothing can have matches nothing."""
        if self.study:
            runs = runs.filter(series__study__slug=self.study)
        if self.state == "unfinished":
            runs = runs.filter(state__in=UNFINISHED_STATES)
        elif self.state:
            runs = runs.filter(state=self.state)
        if self.filesystem:
            runs = runs.filter(series__configuration__filesystem=self.filesystem)
        for value, lookups in (
            (self.lun, ("series__lun", "series__journal_lun")),
            (self.order, ("submission",)),
        ):
            if value:
                is_number = value.isascii() and value.isdigit() and len(value) < 19
                wanted = [Q(**{lookup: int(value)}) for lookup in lookups] if is_number else []
                runs = runs.filter(reduce(or_, wanted)) if wanted else runs.none()
        return runs


def listed_runs() -> QuerySet[Run]:
    """Runs with all that a row of a list shows, in one query; newest first."""
    return Run.objects.select_related(
        "series__study", "series__configuration", "series__workload", "series__lun__worker"
    ).order_by("-id")


def runs_before(luns: Iterable[Lun]) -> dict[int, int]:
    """How many runs of each LUN wait or run: {LUN's key: count}."""
    rows = (
        Run.objects.filter(series__lun__in=list(luns), state__in=UNFINISHED_STATES)
        .values("series__lun")
        .annotate(count=Count("id"))
        .order_by()
    )
    return {row["series__lun"]: row["count"] for row in rows}


def filesystems() -> list[str]:
    """The file systems that any run was made with."""
    column = "series__configuration__filesystem"
    return list(Run.objects.order_by(column).values_list(column, flat=True).distinct())
