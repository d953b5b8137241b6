"""The series of a study, in words, page by page."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count
from django.http import QueryDict

from fsbench_web.catalog.configurations import preparation
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.studies.models import END_STATES, UNTRACED, Run, RunState, Study
from fsbench_web.studies.runs import repeats
from fsbench_web.studies.scores.queries import on_worker

SERIES_SHOWN = 50


class ShownSeries(NamedTuple):
    """A series in words, how its rules of repetition stand, and its runs.

    What nobody stated is empty.
    """

    configuration: str
    is_known: bool
    preparation: str
    machine: Machine
    repeats: list[str]
    workload: str
    lun: str
    hardware: str
    hardware_name: str
    kernel: str
    done_count: int
    failed_count: int
    run_count: int


_OF_SERIES = (
    *("pk", "configuration__label", "configuration__is_known", "preparation", "machine"),
    *("workload__title", "lun__name", "lun__worker__name"),
    *("hardware__slug", "hardware__name", "kernel"),
)
SeriesColumns = tuple[Any, ...]
"""The columns ``_OF_SERIES`` of one series."""


def page_of(study: Study, query: QueryDict) -> Page[SeriesColumns]:
    """A page of the study's series (``?configurations=``). One query, and one when it is read."""
    series = study.series.order_by("configuration__filesystem", "configuration__label", "id")
    return Paginator(series.values_list(*_OF_SERIES), SERIES_SHOWN).get_page(
        query.get("configurations")
    )


def shown_rows(rows: Iterable[SeriesColumns]) -> list[ShownSeries]:
    """The rows with what is said of them. Two queries."""
    page = list(rows)
    keys = [key for key, *_ in page]
    rules = repeats.rules_of(keys)
    counts: dict[int, dict[str, int]] = defaultdict(dict)
    counted = Run.objects.filter(series__in=keys, tracing=UNTRACED).order_by()
    states = counted.values_list("series_id", "state")
    for series_id, state, count in states.annotate(Count("pk")):
        counts[series_id][state] = count
    listed = []
    for key, label, is_known, prepared, machine, workload, lun, worker, slug, name, kernel in page:
        of_series = counts[key]
        ended = sum(count for state, count in of_series.items() if state in END_STATES)
        done = of_series.get(RunState.DONE, 0)
        listed.append(
            ShownSeries(
                configuration=label,
                is_known=is_known,
                preparation=preparation.in_words(prepared) if prepared else "",
                machine=Machine.of(machine),
                repeats=[repeats.in_words(rule) for rule in rules.get(key, ())],
                workload=workload or "",
                lun=on_worker(lun, worker) or "",
                hardware=slug or "",
                hardware_name=name or "",
                kernel=kernel,
                done_count=done,
                failed_count=ended - done,
                run_count=sum(of_series.values()),
            )
        )
    return listed
