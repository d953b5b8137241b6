"""What would have to be measured for every contender to have a score."""

from collections.abc import Iterable
from dataclasses import dataclass

from fsbench_web.catalog.workers import availability
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.work.entries import Entry
from fsbench_web.compare.tables.work.ranking import fullest_of, ranking_data
from fsbench_web.core.scoring.profiles.definition import RequiredCell
from fsbench_web.core.workloads import presets
from fsbench_web.core.workloads.measuring import measuring_plan
from fsbench_web.studies.models import Series
from fsbench_web.studies.scores.profile_values import kind_of


@dataclass(frozen=True)
class MissingCells:
    """The cells to measure, and the fullest series of each entry that lacks any.

    ``repeated_demands``: cells that every entry has, but that a job must measure again.
    """

    demands: tuple[RequiredCell, ...]
    series_ids: tuple[int, ...]
    repeated_demands: tuple[RequiredCell, ...] = ()


def find_missing(spec: ComparisonSpec) -> MissingCells:
    """Three queries more than the comparison. Raises SpecError."""
    data = ranking_data(spec)
    incomplete = [
        entry
        for requested in data.profiles
        for entry in fullest_of(data.entries(requested, spec)).values()
        if entry.missing
    ]
    series = dict.fromkeys(entry.lead.series_id for entry in incomplete)
    # Of workloads as contenders the job's is another one: it has every cell or none of use.
    continued = _continued_series(series) if spec.by != "workload" else set()
    demands: dict[RequiredCell, None] = {}
    for entry in incomplete:
        demands |= dict.fromkeys(
            _demands_to_measure(entry, is_continued=entry.lead.series_id in continued)
        )
    lacked = {demand for entry in incomplete for demand in entry.missing}
    again = (demand for demand in demands if demand not in lacked)
    return MissingCells(tuple(demands), tuple(series), tuple(again))


def _demands_to_measure(entry: Entry, *, is_continued: bool) -> list[RequiredCell]:
    """What completes an entry: all cells where the job's numbers are of other circumstances."""
    if not is_continued:
        return list(entry.demands)
    wanted = []
    for kind in dict.fromkeys(kind_of(demand) for demand in entry.missing):
        of_kind = [demand for demand in entry.demands if kind_of(demand) == kind]
        missing = [demand for demand in of_kind if not entry.numbers(demand)]
        measurements = {source.measurement_of(kind.test) for source in entry.sources.get(kind, ())}
        wanted += missing if measurements == {_measurement_of(missing)} else of_kind
    return wanted


def _measurement_of(demands: Iterable[RequiredCell]) -> str:
    """How what would be ordered measures cells; "" where no one workload does."""
    workloads = measuring_plan(demands).workloads
    if len(workloads) != 1:
        return ""
    [(slug, parameters)] = workloads.items()
    preset = presets()[slug]
    return type(preset.workload())(**{**preset.parameters, **parameters}).measurement


def _continued_series(series_ids: Iterable[int]) -> set[int]:
    """Series that a job can continue: worker and study are still the same."""
    rows = Series.objects.select_related("study", "lun__worker").filter(pk__in=list(series_ids))
    return {
        series.pk
        for series in rows
        if series.lun is not None
        and not series.study.is_published
        and not series.preparation
        and not series.machine
        and series.kernel == availability.kernel(series.lun.worker)
        and series.distribution == availability.distribution(series.lun.worker)
    }
