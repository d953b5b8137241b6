"""Chosen runs side by side: what differs in their set-ups, and what each measured."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.explanations.contenders import recorded_settings
from fsbench_web.core.comparison.rows import slug_of
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import listing
from fsbench_web.studies.runs.shown.results import RunResult, run_results

MOST_RUNS = 8
MOST_TESTS = 12


class Row(NamedTuple):
    """One property, or one test, with a value for each run in their order."""

    label: str
    values: Sequence[str]


@never_cache
@require_safe
@requires(Action.READ)
def chosen_runs(request: HttpRequest) -> HttpResponse:
    """``?run=1&run=2``: at most MOST_RUNS; runs that the reader may not see are left out."""
    asked = [text for text in request.GET.getlist("run") if text.isascii() and text.isdigit()]
    numbers = list(dict.fromkeys(int(text) for text in asked if len(text) < 19))
    rows = listing.listed_runs().select_related("environment", "series__hardware")
    found = rows.in_bulk(numbers[:MOST_RUNS])
    runs = [found[number] for number in numbers if number in found]
    differing, alike = _settings(runs)
    context = {
        "runs": runs,
        "left_out": len(numbers) - len(runs),
        "most": MOST_RUNS,
        "differing": differing,
        "alike": alike,
        "results": _results(runs),
        "comparison": _comparison(runs),
    }
    return render(request, "compare/chosen_runs.html", context)


def _settings(runs: Sequence[Run]) -> tuple[list[Row], list[Row]]:
    """The recorded settings that differ between the runs, and those that are equal."""
    recorded = [_recorded(run) for run in runs]
    labels = {name: label for settings in recorded for name, (label, _) in settings.items()}
    rows = [
        Row(label, [settings.get(name, ("", ""))[1] for settings in recorded])
        for name, label in labels.items()
    ]
    return (
        [row for row in rows if len(set(row.values)) > 1],
        [row for row in rows if len(set(row.values)) == 1 and row.values[0]],
    )


def _recorded(run: Run) -> Mapping[str, tuple[str, str]]:
    """(label, value) by name: settings of its series, then facts of its environment."""
    settings = dict(recorded_settings(run.series))
    facts = run.environment.shown_facts if run.environment else {}
    for group, entries in facts.items():
        settings |= {f"{group} {label}": (f"{group}: {label}", value) for label, value in entries}
    return settings


def _results(runs: Sequence[Run]) -> list[tuple[str, list[RunResult | None]]]:
    """The tests that at least two runs measured, each with the run's own values."""
    by_run = {
        run: {(result.test, result.unit): result for result in results}
        for run, results in run_results(runs, MOST_TESTS).items()
    }
    keys = dict.fromkeys(key for results in by_run.values() for key in results)
    lines = [(key[0], [by_run.get(run.pk, {}).get(key) for run in runs]) for key in keys]
    return [line for line in lines if sum(result is not None for result in line[1]) > 1]


def _comparison(runs: Sequence[Run]) -> str:
    """The comparison of their series with all repeats; "" if nothing can be compared."""
    done = [run.series for run in runs if run.state == RunState.DONE and not run.is_extra]
    if len({series.pk for series in done}) < 2:
        return ""
    ticks = {
        "configuration": {series.configuration.label for series in done},
        "kernel": {slug_of(series.kernel) for series in done if series.kernel},
        "hardware": {series.hardware.slug for series in done if series.hardware},
        "lun": {slug_of(f"{lun.name} on {lun.worker.name}") for s in done if (lun := s.lun)},
        "workload": {series.workload.slug for series in done if series.workload},
        "study": {series.study.slug for series in done},
    }
    by = next((name for name, values in ticks.items() if len(values) > 1), "")
    if not by:
        return ""
    chosen = {name: sorted(values) for name, values in ticks.items() if values}
    return f"{reverse('compare:page')}?{urlencode({'by': by, **chosen}, doseq=True)}"
