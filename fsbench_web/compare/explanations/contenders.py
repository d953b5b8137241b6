"""Explanations of contenders against the first one, from what is kept of their runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from fsbench_web.compare.explanations import words
from fsbench_web.compare.explanations.setups import setups
from fsbench_web.core import units
from fsbench_web.core.explanation import Explanation, RunCosts, explained
from fsbench_web.core.scoring.deltas import delta_rows
from fsbench_web.studies.models import UNTRACED, RunActivity, RunState, Score, Series

MOST_SERIES = 12
MOST_RUNS = 200
"""Of each contender, the latest."""


@dataclass(frozen=True)
class Contender:
    """A configuration; ``score`` is None where it has none of the test."""

    series: Series
    label: str
    score: float | None
    unit: str
    runs: int


@dataclass(frozen=True)
class ContenderExplanation:
    """``slower`` against the reference; ``behind_percent`` is its delta 1, None without scores."""

    slower: Contender
    behind_percent: float | None
    explanation: Explanation
    sentence: str


@dataclass(frozen=True)
class Explanations:
    """``reference`` is the fastest, or the first where nobody knows."""

    test: str
    category: str
    reference: Contender
    others: list[ContenderExplanation]

    @property
    def has_samples(self) -> bool:
        return any(one.explanation.work or one.explanation.waits for one in self.others)


def explanations(series_ids: Sequence[int], test: str, category: str) -> Explanations | None:
    """The fastest of the series against each other one, worst last; None below two of them."""
    asked = list(dict.fromkeys(series_ids))[:MOST_SERIES]
    found = {
        one.pk: one
        for one in Series.objects.filter(pk__in=asked).select_related(
            *("configuration", "study", "workload", "lun", "hardware")
        )
    }
    if len(found) < 2:
        return None
    costs = _costs_of(list(found))
    scores = {
        one.series_id: one
        for one in Score.objects.filter(series__in=found, test=test, category=category)
    }
    labels = _labels([found[pk] for pk in asked if pk in found])
    contenders = [
        Contender(
            found[pk],
            labels[pk],
            scores[pk].value if pk in scores else None,
            scores[pk].unit if pk in scores else "",
            len(costs.get(pk, ())),
        )
        for pk in asked
        if pk in found
    ]
    reference, deltas = _against_the_best(contenders)
    others = []
    for one in contenders:
        if one is reference:
            continue
        explanation = explained(
            costs.get(one.series.pk, []),
            costs.get(reference.series.pk, []),
            setups(one.series, reference.series),
        )
        behind = deltas.get(one.series.pk)
        text = words.sentence(one.label, reference.label, behind, explanation)
        others.append(ContenderExplanation(one, behind, explanation, text))
    others.sort(key=lambda one: one.behind_percent or 0.0)
    return Explanations(test, category, reference, others)


def _costs_of(series_ids: Sequence[int]) -> dict[int, list[RunCosts]]:
    """What is kept of the finished runs of each series, the latest first."""
    found: dict[int, list[RunCosts]] = {}
    rows = RunActivity.objects.filter(
        run__series__in=series_ids, run__state=RunState.DONE, run__tracing=UNTRACED, is_whole=True
    ).order_by("-run_id")
    for series_id, block, costs in rows.values_list("run__series", "run__block", "costs")[
        : MOST_RUNS * len(series_ids)
    ]:
        some = found.setdefault(series_id, [])
        if len(some) < MOST_RUNS:
            some.append(RunCosts(block, costs))
    return found


def _labels(listed: Sequence[Series]) -> dict[int, str]:
    """What tells them apart: the configuration and its limits; else the study, too."""
    labels = [_label(one) for one in listed]
    return {
        one.pk: label
        if labels.count(label) == 1
        else f"{label} ({one.study.title}, series {one.pk})"
        for one, label in zip(listed, labels, strict=True)
    }


def _label(one: Series) -> str:
    limits = one.runs_on.limits.words
    return f"{one.configuration.label}, {limits}" if limits else one.configuration.label


def _against_the_best(contenders: Sequence[Contender]) -> tuple[Contender, dict[int, float]]:
    """The fastest, and delta 1 of each by series; the first alone where they have no order."""
    scored = [one for one in contenders if one.score is not None]
    known = {one.unit for one in scored}
    if len(scored) < len(contenders) or len(known) != 1 or not units.is_known(min(known)):
        return contenders[0], {}
    deltas = delta_rows([one.score or 0.0 for one in scored], units.lower_is_better(min(known)))
    best = next(one for one, delta in zip(scored, deltas, strict=True) if delta.best)
    return best, {
        one.series.pk: delta.delta1_percent
        for one, delta in zip(scored, deltas, strict=True)
        if delta.delta1_percent is not None
    }
