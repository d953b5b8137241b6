"""Search over studies, configurations and runs: every word must match, in any case.

Only small tables are searched for text; runs are found by their series. Counts stop at MOST.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast

from fsbench_web.accounts.rights import hidden_studies
from fsbench_web.catalog.configurations.labels import canonical_scheduler, current_label
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile, Lun, Workload
from fsbench_web.studies.models import Run, RunState, Series, Study

KINDS = {"studies": "Studies", "configurations": "Configurations", "runs": "Runs"}
MOST = 1000
NEWEST_SERIES = 300
"""Of four runs or more each, these have MOST."""
MOST_WORDS = 8
LONGEST = 200


@dataclass(frozen=True)
class Query:
    """What is looked for: the text as typed, and its words. Without words nothing is found."""

    text: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> "Query":
        """Read what somebody typed. PostgreSQL refuses NUL, also in what is looked for."""
        trimmed = " ".join(text.replace("\x00", " ").split())[:LONGEST]
        return cls(trimmed, tuple(dict.fromkeys(trimmed.lower().split()))[:MOST_WORDS])


class SearchMatches(Sequence[Any]):
    """What matches, in its order, at most MOST. Its keys are known at once, of its rows a part."""

    def __init__(self, keys: list[int], rows: QuerySet[Any]):
        self._keys, self._rows = keys, rows

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, part: Any) -> list[Any]:
        """Those of the slice ``part``."""
        rows = self._rows.in_bulk(self._keys[part])
        # Some may be gone by now.
        return [rows[key] for key in self._keys[part] if key in rows]


def find(query: Query, kind: str) -> SearchMatches:
    """What matches of a kind of KINDS. One query, for runs two or three, and one for each part."""
    if kind == "studies":
        return SearchMatches(_keys(_studies(query)), Study.objects.all())
    if kind == "configurations":
        return SearchMatches(_keys(_configurations(query)), FilesystemConfiguration.objects.all())
    related = ("series__study", "series__configuration", "series__workload", "series__lun__worker")
    return SearchMatches(_runs(query), Run.objects.select_related(*related))


def _keys(matching: QuerySet[Any]) -> list[int]:
    return list(matching.values_list("pk", flat=True)[:MOST])


def _studies(query: Query) -> QuerySet[Study]:
    fields = ("title", "summary", "slug", "authors", "organisation")

    def condition(word: str) -> Q:
        entries = _with_options().filter(_of_configuration(word)).values("pk")
        having = Series.objects.filter(configuration__in=entries).values("study")
        return _contains(fields, word) | Q(pk__in=having)

    return Study.objects.filter(_every_word(query, condition)).order_by(
        "-created_at", "title", "pk"
    )


def _configurations(query: Query) -> QuerySet[FilesystemConfiguration]:
    configurations = _with_options().filter(_every_word(query, _of_configuration))
    if hidden_studies():
        # A name that only a hidden study has is a part of that study.
        configurations = configurations.filter(
            Exists(Series.objects.filter(configuration=OuterRef("pk")))
        )
    return configurations.order_by("filesystem", "label", "pk")


def _runs(query: Query) -> list[int]:
    """Keys, newest first; a number is the run's own as well, a state's name that of all in it."""
    runs, of_series = Run.objects.order_by("-pk"), Series.objects.all()
    is_narrowed = False
    for word in query.words:
        number = word.removeprefix("#")
        condition = Q(state=word) if word in RunState.values else None
        if number.isascii() and number.isdigit() and len(number) < 19:
            condition = Q(pk=int(number))
        if condition is None:
            # Series are asked for all words at once: they are few beside their runs.
            of_series, is_narrowed = of_series.filter(_of_series(word)), True
        else:
            runs = runs.filter(condition | Q(series__in=Series.objects.filter(_of_series(word))))
    if not query.words:
        return []
    return _of_any(runs, of_series) if is_narrowed else _keys(runs)


def _of_any(runs: QuerySet[Run], series: QuerySet[Series]) -> list[int]:
    """The newest MOST of ``runs`` that are of these series, at the same cost for any number.

    Few series are asked by key. Of many, the newest have MOST runs; newer runs of older series are
    added. All series are asked only where the newest have too few runs.
    """
    for count in (NEWEST_SERIES, MOST):
        keys = list(series.order_by("-pk").values_list("pk", flat=True)[: count + 1])
        newest = _keys(runs.filter(series__in=keys[:count]))
        if len(keys) <= count:
            return newest
        if len(newest) == MOST:
            newer = runs.filter(pk__gt=newest[-1], series__lt=keys[count - 1], series__in=series)
            return sorted([*newest, *_keys(newer)], reverse=True)[:MOST]
    return _keys(runs.filter(Q(series__in=series) | Q(pk__lt=0)))


def _of_series(word: str) -> Q:
    studies = Study.objects.filter(_contains(("title", "slug"), word))
    luns = Lun.objects.filter(_contains(("name", "worker__name"), word))
    hardware = HardwareProfile.objects.filter(_contains(("name", "slug"), word))
    workloads = Workload.objects.filter(_contains(("title", "slug", "tool"), word))
    configurations = _with_options().filter(_of_configuration(word))
    return (
        Q(study__in=studies.values("pk"))
        | Q(configuration__in=configurations.values("pk"))
        | Q(hardware__in=hardware.values("pk"))
        | Q(lun__in=luns.values("pk"))
        | Q(workload__in=workloads.values("pk"))
        | _contains(("kernel", "distribution"), word)
    )


def _with_options() -> QuerySet[FilesystemConfiguration]:
    # Options are JSON, which SQLite and PostgreSQL write differently; words are found in both.
    return FilesystemConfiguration.objects.annotate(option_text=Cast("options", TextField()))


def _of_configuration(word: str) -> Q:
    condition = _contains(("label", "filesystem", "scheduler", "option_text"), word)
    # By its old word, and by its old label.
    renamed = canonical_scheduler(word.lower()), current_label(word.lower())
    return reduce(
        or_,
        [
            condition,
            *([Q(scheduler=renamed[0])] if renamed[0] != word.lower() else []),
            *([Q(label=renamed[1])] if renamed[1] != word.lower() else []),
        ],
    )


def _contains(fields: tuple[str, ...], word: str) -> Q:
    return reduce(or_, (Q(**{f"{field}__icontains": word}) for field in fields))


def _every_word(query: Query, condition_of: Any) -> Q:
    if not query.words:
        return Q(pk__in=[])
    return reduce(and_, (condition_of(word) for word in query.words))
