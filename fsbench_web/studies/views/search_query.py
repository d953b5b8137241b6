"""Search over studies, configurations and runs. Every word must be found somewhere in what matches.

Words are looked for as parts of text, in any case. Runs are found by what their series is: large
tables are never searched for text, only studies, configurations, workloads, hardware and LUNs,
which are few; the series of those are then found by key. Counts stop at MOST.
"""

from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast

from fsbench_web.accounts.rights import hidden_studies
from fsbench_web.catalog.configurations.labels import canonical_scheduler, todays_label
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile, Lun, Workload
from fsbench_web.studies.models import Run, RunState, Series, Study

KINDS = {"studies": "Studies", "configurations": "Configurations", "runs": "Runs"}
MOST = 1000
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
        kept = " ".join(text.replace("\x00", " ").split())[:LONGEST]
        return cls(kept, tuple(dict.fromkeys(kept.lower().split()))[:MOST_WORDS])


def find(query: Query, kind: str) -> QuerySet[Any]:
    """What matches, best known order first, at most MOST rows. ``kind`` is one of KINDS."""
    return {"studies": _studies, "configurations": _configurations, "runs": _runs}[kind](query)


def _studies(query: Query) -> QuerySet[Study]:
    fields = ("title", "summary", "slug", "authors", "organisation")
    found = Study.objects.filter(_every_word(query, lambda word: _contains(fields, word)))
    return found.order_by("-created_at", "title", "pk")[:MOST]


def _configurations(query: Query) -> QuerySet[FilesystemConfiguration]:
    found = _with_options().filter(_every_word(query, _of_configuration))
    if hidden_studies():
        # A name that only a hidden study has is a part of that study.
        found = found.filter(Exists(Series.objects.filter(configuration=OuterRef("pk"))))
    return found.order_by("filesystem", "label", "pk")[:MOST]


def _runs(query: Query) -> QuerySet[Run]:
    """Newest first; a number is the run's own as well."""

    def of_run(word: str) -> Q:
        wanted = Q(series__in=Series.objects.filter(_of_series(word)))
        number = word.removeprefix("#")
        if number.isascii() and number.isdigit() and len(number) < 19:
            wanted |= Q(pk=int(number))
        if word in RunState.values:
            wanted |= Q(state=word)
        return wanted

    found = Run.objects.filter(_every_word(query, of_run)).select_related(
        "series__study", "series__configuration", "series__workload", "series__lun__worker"
    )
    return found.order_by("-pk")[:MOST]


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
    found = _contains(("label", "filesystem", "scheduler", "option_text"), word)
    # By its old word, and by its old label.
    renamed = canonical_scheduler(word.lower()), todays_label(word.lower())
    return reduce(
        or_,
        [
            found,
            *([Q(scheduler=renamed[0])] if renamed[0] != word.lower() else []),
            *([Q(label=renamed[1])] if renamed[1] != word.lower() else []),
        ],
    )


def _contains(fields: tuple[str, ...], word: str) -> Q:
    return reduce(or_, (Q(**{f"{field}__icontains": word}) for field in fields))


def _every_word(query: Query, of: Any) -> Q:
    if not query.words:
        return Q(pk__in=[])
    return reduce(and_, (of(word) for word in query.words))
