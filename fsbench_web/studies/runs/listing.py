"""Runs as lists show them: filters in the address, rows in a constant number of queries."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple, Self

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import QueryDict
from django.urls import get_script_prefix, reverse
from django.utils.timezone import localtime

from fsbench_web.catalog.models import FilesystemConfiguration, Lun
from fsbench_web.studies.models import ACTIVE_STATES, Run, RunState, Series, StackLun, Study

MOST_NAMED = 200
_IN_STACK = "series__stack__lun"
_NUMBER = re.compile("[0-9]{1,18}")
UNFINISHED_STATES = [RunState.QUEUED, *ACTIVE_STATES]
STATES = [
    ("unfinished", "waiting or running"),
    *((state.value, state.label.lower()) for state in RunState),
]


class AddressFilter:
    """Base of data classes: filters of a list by their names in the address; "" takes all."""

    @classmethod
    def from_query(cls, query: QueryDict) -> Self:
        # PostgreSQL refuses NUL in any text, also in one that is only looked for.
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        return cls(
            **{name: query.get(name, "").strip().replace("\x00", "\ufffd") for name in names}
        )

    def to_query(self) -> str:
        """The query string without empty values."""
        query = QueryDict(mutable=True)
        query.update({name: value for name, value in vars(self).items() if value})
        return query.urlencode()


@dataclass(frozen=True)
class RunFilter(AddressFilter):
    """Which runs to list; an empty value takes all. ``state`` is a state or ``unfinished``. ``job``
    is a number, ``runs`` are numbers with commas.
    """

    study: str = ""
    state: str = ""
    filesystem: str = ""
    lun: str = ""
    job: str = ""
    runs: str = ""

    @classmethod
    def from_query(cls, query: QueryDict) -> Self:
        if query.get("order"):  # the old name of a job in addresses
            query = query.copy()
            query["job"] = query.get("job", "") or query.get("order", "")
        return super().from_query(query)

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
            (self.lun, ("series__lun", "series__journal_lun", _IN_STACK)),
            (self.job, ("job",)),
        ):
            if value:
                is_number = value.isascii() and value.isdigit() and len(value) < 19
                wanted = [_is(lookup, int(value)) for lookup in lookups] if is_number else []
                runs = runs.filter(reduce(or_, wanted)) if wanted else runs.none()
        if self.runs:
            ids = [int(text) for text in self.runs.split(",") if _NUMBER.fullmatch(text)]
            runs = runs.filter(pk__in=ids[:MOST_NAMED])
        return runs


def _is(lookup: str, number: int) -> Q:
    if lookup == _IN_STACK:  # no join: a run is listed once, however many LUNs its stack has
        return Q(series__in=StackLun.objects.filter(lun=number).values("series"))
    return Q(**{lookup: number})


class RunAddresses(NamedTuple):
    """Where runs are shown: the address of the list, and how that of a run begins."""

    runs: str
    run: str

    def of(self, run_ids: Sequence[int]) -> str:
        """The page of one run, or a list of several, MOST_NAMED at most; "" for none."""
        if not run_ids:
            return ""
        if len(run_ids) == 1:
            return f"{self.run}{run_ids[0]}/"
        return f"{self.runs}?runs={','.join(map(str, run_ids[:MOST_NAMED]))}"


def run_addresses() -> RunAddresses:
    """For hundreds of rows; for one row, ``address_of``."""
    return _addresses(get_script_prefix())


def address_of(run_ids: Sequence[int]) -> str:
    """``RunAddresses.of``."""
    return run_addresses().of(run_ids)


@lru_cache(maxsize=8)
def _addresses(prefix: str) -> RunAddresses:
    """Those below ``prefix``."""
    return RunAddresses(
        reverse("studies:runs"), reverse("studies:run", args=[0]).removesuffix("0/")
    )


def dates_of(run_ids: Iterable[int]) -> dict[int, tuple[str, str]]:
    """The day of each run over time, and where it is from (``Run.date_is_of``). One query."""
    runs = Run.objects.filter(pk__in=run_ids).only("origin", "measured_at", "ended_at")
    return {
        run.pk: (f"{localtime(run.date):%Y-%m-%d}" if run.date else "", run.date_is_of)
        for run in runs
    }


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
    """The file systems that any run was made with. Asks configurations, which are few."""
    with_runs = Series.objects.filter(
        Exists(Run.objects.filter(series=OuterRef("pk"))), configuration=OuterRef("pk")
    )
    column = "filesystem"
    return list(
        FilesystemConfiguration.objects.filter(Exists(with_runs))
        .order_by(column)
        .values_list(column, flat=True)
        .distinct()
    )


def studies() -> QuerySet[Study, tuple[str, str]]:
    """(slug, title) of the studies that have runs."""
    with_runs = Series.objects.filter(
        Exists(Run.objects.filter(series=OuterRef("pk"))), study=OuterRef("pk")
    )
    return Study.objects.filter(Exists(with_runs)).order_by("title").values_list("slug", "title")
