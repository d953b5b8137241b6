"""Explanations of contenders against the first one, from what is kept of their runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.configurations import preparation
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.configurations.limits import LIMITS
from fsbench_web.core import units
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.explanation import ALIKE_PERCENT, Explanation, RunCosts, explained
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.deltas import delta_rows
from fsbench_web.studies.models import UNTRACED, RunActivity, RunState, Score, Series

# Recorded differences between the set-ups of two series, and what each is known to change.

MOST_SETUPS = 20
_PROCESSORS = ("process_cpu_seconds_per_gib", "cpu_seconds_per_gib")
_JOURNAL = ("write_amplification", "flushes_per_1000_operations", "mean_write_request")
_WAITED = ("wait_outside_device",)
FITS: dict[str, tuple[str, ...]] = {
    "scheduler": (
        *("merged_share", "mean_read_request", "mean_write_request"),
        "process_cpu_seconds_per_gib",
    ),
    "journal": _JOURNAL,
    "limits.read_mib_s": _WAITED,
    "limits.write_mib_s": _WAITED,
    "limits.read_iops": _WAITED,
    "limits.write_iops": _WAITED,
    "limits.cpus": ("cpu_pressure",),
    "limits.memory_mib": ("memory_pressure", "read_amplification"),
    "option.barrier": ("flushes_per_1000_operations",),
    "option.journal_mode": _JOURNAL,
    "option.journal_size_mb": _JOURNAL,
    "option.log_size_mb": _JOURNAL,
    "option.fast_commit": _JOURNAL,
    "option.compression": ("write_amplification", "space_amplification", *_PROCESSORS),
    "option.checksum": _PROCESSORS,
    "option.copy_on_write": ("write_amplification", "mean_write_request"),
    "option.data_profile": ("write_amplification", "space_amplification"),
    "option.metadata_profile": ("write_amplification", "space_amplification"),
    "option.block_size": ("space_amplification", "write_amplification"),
    "option.cluster_size": ("space_amplification", "write_amplification"),
    "option.recordsize": ("write_amplification", "read_amplification", "mean_write_request"),
    "option.layout": ("write_amplification", "space_amplification"),
    "option.logbias": ("write_amplification", "mean_write_request"),
    "option.sync": ("flushes_per_1000_operations", "write_amplification"),
    "option.primarycache": ("read_amplification",),
    "option.atime": ("write_amplification",),
    "option.lazytime": ("write_amplification",),
}
"""Costs that a setting is known to change, by its name."""


@dataclass(frozen=True)
class SetupDifference:
    """What was set up differently: ``value`` of the contender, ``other`` of the reference."""

    name: str
    label: str
    value: str
    other: str

    @property
    def fits(self) -> tuple[str, ...]:
        """The costs and waits that it is known to change."""
        return FITS.get(self.name, ())


_Recorded = dict[str, tuple[str, str]]
"""(label, value) by name; "" is nothing, or the tool's default."""


def setups(first: Series, second: Series) -> list[SetupDifference]:
    """What is on record of both and differs: of ``first``, then of ``second``. At most some."""
    is_known = first.configuration.is_known and second.configuration.is_known
    of_first, of_second = (
        recorded_settings(series, with_options=is_known) for series in (first, second)
    )
    return list(_setup_differences(of_first, of_second))[:MOST_SETUPS]


def recorded_settings(series: Series, *, with_options: bool = True) -> _Recorded:
    """(label, value) of each setting on record, by name; options only if they are known."""
    settings = dict(_series_settings(series))
    if with_options and series.configuration.is_known:
        settings |= dict(_configuration_settings(series))
    return settings


def _setup_differences(of_first: _Recorded, of_second: _Recorded) -> Iterator[SetupDifference]:
    for name in dict.fromkeys([*of_first, *of_second]):
        label = (of_first.get(name) or of_second[name])[0]
        values = [side.get(name, ("", ""))[1] for side in (of_first, of_second)]
        usual = "default" if name.startswith("option.") else "none"
        if values[0] != values[1] and (all(values) or name not in _NEVER_NONE):
            yield SetupDifference(name, label, values[0] or usual, values[1] or usual)


_NEVER_NONE = ("filesystem", "kernel", "workload", "lun", "hardware")
"""Every run has them: where there is none, nobody wrote it down."""


def _configuration_settings(series: Series) -> Iterator[tuple[str, tuple[str, str]]]:
    """Of a configuration with known options."""
    configuration = series.configuration
    spec = FILESYSTEMS.get(configuration.filesystem)
    names = {option.key: option.name for option in spec.options} if spec else {}
    for key, value in sorted(configuration.options.items()):
        yield f"option.{key}", (names.get(key, key), str(value))
    yield "scheduler", ("I/O scheduler", configuration.scheduler)
    where = "on a LUN of its own" if configuration.external_journal else "on the data LUN"
    yield "journal", ("journal", where)


def _series_settings(series: Series) -> Iterator[tuple[str, tuple[str, str]]]:
    machine = series.runs_on
    yield "filesystem", ("file system", series.configuration.filesystem)
    for name, limit in machine.limits.stored().items():
        yield f"limits.{name}", (LIMITS[name].name, str(limit))
    if machine.is_guest:
        yield "guest", ("guest", machine.words)
    yield "stack", ("other LUNs", series.stack_luns)
    yield "preparation", ("preparation", preparation.in_words(series.preparation))
    yield "kernel", ("kernel", series.kernel)
    yield "workload", ("workload", series.workload.title if series.workload else "")
    yield "lun", ("LUN", series.lun.name if series.lun else "")
    yield "hardware", ("hardware", series.hardware.name if series.hardware else "")


MOST_SERIES = 12
MOST_RUNS = 200
"""Of each contender, the latest."""
CAUTION = (
    "These are associations with speed, not causes. Only a run in which nothing else changes can "
    "show a cause."
)


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
    setups: list[SetupDifference]


@dataclass(frozen=True)
class Explanations:
    """``reference`` is the fastest, or the first where nobody knows."""

    test: str
    category: str
    reference: Contender
    others: list[ContenderExplanation]

    @property
    def has_samples(self) -> bool:
        return any(other.explanation.differences for other in self.others)


def explanations(series_ids: Sequence[int], test: str, category: str) -> Explanations | None:
    """The fastest of the series against each other one, worst last; None below two of them."""
    requested_ids = list(dict.fromkeys(series_ids))[:MOST_SERIES]
    by_id = {
        series.pk: series
        for series in Series.objects.filter(pk__in=requested_ids).select_related(
            *("configuration", "study", "workload", "lun", "hardware")
        )
    }
    if len(by_id) < 2:
        return None
    costs = _costs_of(list(by_id))
    scores = {
        score.series_id: score
        for score in Score.objects.filter(series__in=by_id, test=test, category=category)
    }
    labels = _labels([by_id[pk] for pk in requested_ids if pk in by_id])
    contenders = [
        Contender(
            by_id[pk],
            labels[pk],
            scores[pk].value if pk in scores else None,
            scores[pk].unit if pk in scores else "",
            len(costs.get(pk, ())),
        )
        for pk in requested_ids
        if pk in by_id
    ]
    reference, deltas = _best_and_deltas(contenders)
    others = []
    for contender in contenders:
        if contender is reference:
            continue
        explanation = explained(
            costs.get(contender.series.pk, []),
            costs.get(reference.series.pk, []),
        )
        behind = deltas.get(contender.series.pk)
        different = setups(contender.series, reference.series)
        others.append(ContenderExplanation(contender, behind, explanation, different))
    others.sort(key=lambda other: other.behind_percent or 0.0)
    return Explanations(test, category, reference, others)


def _costs_of(series_ids: Sequence[int]) -> dict[int, list[RunCosts]]:
    """What is kept of the finished runs of each series, the latest first."""
    by_series: dict[int, list[RunCosts]] = {}
    rows = RunActivity.objects.filter(
        run__series__in=series_ids, run__state=RunState.DONE, run__tracing=UNTRACED, is_whole=True
    ).order_by("-run_id")
    for series_id, block, costs in rows.values_list("run__series", "run__block", "costs")[
        : MOST_RUNS * len(series_ids)
    ]:
        of_series = by_series.setdefault(series_id, [])
        if len(of_series) < MOST_RUNS:
            of_series.append(RunCosts(block, costs))
    return by_series


def _labels(listed: Sequence[Series]) -> dict[int, str]:
    """What tells them apart: the configuration and its limits; else the study, too."""
    labels = [_label(series) for series in listed]
    return {
        series.pk: label
        if labels.count(label) == 1
        else f"{label} ({series.study.title}, series {series.pk})"
        for series, label in zip(listed, labels, strict=True)
    }


def _label(series: Series) -> str:
    limits = series.runs_on.limits.words
    return f"{series.configuration.label}, {limits}" if limits else series.configuration.label


def _best_and_deltas(contenders: Sequence[Contender]) -> tuple[Contender, dict[int, float]]:
    """The fastest, and delta 1 of each by series; the first alone where they have no order."""
    scored = [contender for contender in contenders if contender.score is not None]
    known_units = {contender.unit for contender in scored}
    if (
        len(scored) < len(contenders)
        or len(known_units) != 1
        or not units.is_known(min(known_units))
    ):
        return contenders[0], {}
    deltas = delta_rows(
        [contender.score or 0.0 for contender in scored], units.lower_is_better(min(known_units))
    )
    best = next(contender for contender, delta in zip(scored, deltas, strict=True) if delta.best)
    return best, {
        contender.series.pk: delta.delta1_percent
        for contender, delta in zip(scored, deltas, strict=True)
        if delta.delta1_percent is not None
    }


def why_address(table: DeltaTable) -> str:
    """The page that explains the rows, the fastest and the slowest at least; "" without samples."""
    if testnames.is_cost(table.test) or table.test in testnames.CREATION_TESTS:
        return ""
    series = [
        row.series_id
        for row in reversed(table.rows)
        if row.series_id is not None and row.lun is not None and row.run_ids
    ]
    if len(series) < 2:
        return ""
    chosen = series if len(series) <= MOST_SERIES else [*series[: MOST_SERIES - 1], series[-1]]
    query = [
        ("test", table.test),
        ("category", table.category),
        *(("series", series_id) for series_id in chosen),
    ]
    return f"{reverse('compare:why')}?{urlencode(query)}"


_LONGEST = 200


@require_safe
@requires(Action.READ)
def page(request: HttpRequest) -> HttpResponse:
    """The fastest of the series in the address against each of the others."""
    series_ids = [
        int(text)
        for text in request.GET.getlist("series")
        if text.isascii() and text.isdigit() and len(text) < 19
    ]
    test = request.GET.get("test", "")[:_LONGEST].replace("\x00", "")
    category = request.GET.get("category", "")[:_LONGEST].replace("\x00", "")
    explained = explanations(series_ids, test, category)
    if explained is None:
        raise Http404(
            "An explanation needs two configurations that can be seen here: come from a table."
        )
    context = {"found": explained, "caution": CAUTION, "alike_percent": ALIKE_PERCENT}
    return render(request, "compare/explanations.html", context)
