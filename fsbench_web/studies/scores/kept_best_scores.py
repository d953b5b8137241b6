"""The best scores of each configuration of a large study, kept beside it.

A page shows one score of each contender in each table. With thousands of series in a study it would
read a hundred thousand scores for two hundred, so the highest and the lowest of each configuration
are kept: all that can be best, whichever configurations compete for whatever contender.

Nobody can be shown what is no longer so: whoever writes scores of a series gives it another stamp
(``Series.scores_stamp``), and what is kept of a configuration counts for as long as the stamps of
its series add up to what they did before its scores were read. Of any other configuration all
scores are read. So writers wait for nobody here, and ``keep`` may run when
it likes; ``manage.py serve`` has it run all the time.
"""

import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count, F, Max, Min, Q, QuerySet, Sum, Window

from fsbench_web.studies.models import KeptBestScore, KeptBestScores, Score, Series, Study
from fsbench_web.studies.scores.rows import insert_rows
from fsbench_web.studies.scores.score_filter import PRINTED_UNIT

LARGE = 100
"""Series of a study whose best scores are kept: with fewer, reading them all costs 10 ms."""
AT_MOST_S = 3.0
"""Of one round of ``keep``."""


_COLUMNS = ("score_id", "series_id", "test", "category", "unit", "value", "is_printed")


class Configuration(NamedTuple):
    """A configuration in a study, by their keys."""

    study: int
    configuration: int


@dataclass(frozen=True)
class KeptState:
    """What is kept of some studies: ``ids`` hold, and of the ``outdated`` configurations none."""

    ids: list[int]
    outdated: list[int]

    @property
    def rows(self) -> "QuerySet[KeptBestScore, tuple[Any, ...]]":
        """_COLUMNS of the best scores, with the configuration, twice."""
        configuration = F("of__configuration")
        return (
            KeptBestScore.objects.filter(of__in=self.ids)
            .order_by()
            .annotate(configuration=configuration, member=configuration)
            .values_list(*_COLUMNS, "configuration", "member")
        )


def kept_of(studies: Collection[str]) -> KeptState | None:
    """What is kept of these studies, by their slugs; None where nothing is. Two queries."""
    by_configuration = {
        row[:2]: row[2:]
        for row in KeptBestScores.objects.filter(study__slug__in=list(studies)).values_list(
            "study", "configuration", "pk", "stamps"
        )
    }
    series = Series.objects.filter(study__slug__in=list(studies)).order_by()
    ids: dict[int, list[int]] = defaultdict(list)
    outdated: set[int] = set()
    now = series.values_list("study", "configuration").annotate(stamps=Sum("scores_stamp"))
    for study, configuration, stamps in now:
        pk, stamps_then = by_configuration.get((study, configuration), (0, None))
        if stamps_then == stamps:
            ids[configuration].append(pk)
        else:
            outdated.add(configuration)
    valid = [
        pk for configuration, pks in ids.items() if configuration not in outdated for pk in pks
    ]
    return KeptState(valid, sorted(outdated)) if valid else None


def keep(at_most_s: float | None = AT_MOST_S) -> int:
    """Keep the best scores of what has changed; returns of how many configurations.

    It stops after ``at_most_s`` and goes on in the next round; None: when all is done. Several
    processes may do it at once.
    """
    began, count = time.monotonic(), 0
    for configuration in outdated():
        if at_most_s is not None and time.monotonic() - began >= at_most_s:
            break
        _keep(configuration)
        count += 1
    return count


def outdated() -> Iterator[Configuration]:
    """The configurations of large studies of which nothing, or nothing that holds, is kept."""
    large = (
        Study.objects.filter(is_published=False)
        .order_by("pk")
        .annotate(series_count=Count("series"))
        .filter(series_count__gte=LARGE)
        .values_list("pk", flat=True)
    )
    for study in large:
        kept_stamps = dict(
            KeptBestScores.objects.filter(study=study).values_list("configuration", "stamps")
        )
        for configuration, stamps in _stamps(study):
            if kept_stamps.get(configuration) != stamps:
                yield Configuration(study, configuration)


def wrongly_kept() -> list[Configuration]:
    """Those of which something else is kept than there is, though it seems to hold: a defect.

    It reads all scores of large studies.
    """
    configurations = []
    for best_scores in KeptBestScores.objects.order_by("pk"):
        key = Configuration(best_scores.study_id, best_scores.configuration_id)
        with transaction.atomic():
            stamps = dict(_stamps(key.study, key.configuration)).get(key.configuration)
            differs = set(best_scores.scores.values_list(*_COLUMNS)) != set(_ends(key))
            is_still = dict(_stamps(key.study, key.configuration)).get(key.configuration) == stamps
        if differs and is_still and stamps == best_scores.stamps:
            configurations.append(key)
    return configurations


def _keep(key: Configuration) -> None:
    with transaction.atomic():
        # Before the scores: what is written from here on makes another stamp.
        stamps = dict(_stamps(*key)).get(key.configuration)
        if stamps is None:
            return
        best_scores, _ = KeptBestScores.objects.update_or_create(
            study_id=key.study, configuration_id=key.configuration, defaults={"stamps": stamps}
        )
        best_scores.scores.all().delete()
        insert_rows(
            KeptBestScore, ("of_id", *_COLUMNS), [(best_scores.pk, *row) for row in _ends(key)]
        )


def _stamps(study: int, configuration: int | None = None) -> list[tuple[int, int]]:
    series = Series.objects.filter(study=study)
    if configuration is not None:
        series = series.filter(configuration=configuration)
    return list(series.order_by().values_list("configuration").annotate(stamps=Sum("scores_stamp")))


def _ends(key: Configuration) -> Iterator[tuple[Any, ...]]:
    """_COLUMNS of the highest and lowest scores of each table, all that are equal."""
    table: dict[str, Any] = {"partition_by": ["test", "category", PRINTED_UNIT]}
    scores = (
        Score.objects.filter(series__study=key.study, series__configuration=key.configuration)
        .order_by()
        .annotate(
            printed_unit=PRINTED_UNIT,
            is_printed=Q(published__isnull=False),
            high=Window(Max("value"), **table),
            low=Window(Min("value"), **table),
        )
        .filter(Q(value=F("high")) | Q(value=F("low")))
    )
    columns = ("pk", "series_id", "test", "category", "printed_unit", "value", "is_printed")
    yield from scores.values_list(*columns)
