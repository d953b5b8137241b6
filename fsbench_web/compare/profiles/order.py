"""From what a work profile lacks to the form of a job that measures it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.compare.answers import plain_refusal
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.tables.bounds import bounded_page
from fsbench_web.compare.tables.work.entries import Entry
from fsbench_web.compare.tables.work.ranking import fullest_of, ranking_data
from fsbench_web.core.scoring.profiles.definition import Profile, RequiredCell
from fsbench_web.core.workloads import Preset, Workload, presets
from fsbench_web.core.workloads.measuring import covering_presets, measuring_plan
from fsbench_web.studies.jobs import possible_runs
from fsbench_web.studies.jobs.checks.workload import space_problem
from fsbench_web.studies.jobs.repeating import configurations_of
from fsbench_web.studies.jobs.spec import ConfigurationSpec, WorkloadSpec
from fsbench_web.studies.models import Series
from fsbench_web.studies.scores.profile_values import kind_of
from fsbench_web.studies.views.run_details import measure_together

MOST_CONFIGURATIONS = 12
LEFT_NAMED = 3
ROOM_BYTES = 3 * 1024**3
"""What presets that a profile's page offers may need: the default LUN of 4 GiB has as much free."""


def measured_by(profile: Profile) -> tuple[list[Preset], set[RequiredCell]]:
    """(the presets that measure a profile on a small LUN, its cells that none measures)."""

    def problem(workload: Workload) -> str:
        return "too large" if workload.space_needed_bytes() > ROOM_BYTES else ""

    slugs, left = covering_presets(
        (cell for part in profile.parts for cell in part.demands), problem
    )
    left_plan = measuring_plan([cell for cell in left if cell.record_kb is None], problem)
    slugs += [slug for slug in left_plan.workloads if slug not in slugs]
    left = {cell for cell in left if cell.record_kb is not None}
    return [presets()[slug] for slug in slugs], {*left, *left_plan.without_workload}


@login_required
@require_GET
@requires(Action.RUN)
def order(request: HttpRequest) -> HttpResponse:
    """The New-run form with a workload that measures the cells that contenders lack, for each of
    them. The query is that of a comparison by a profile or a range.
    """
    try:
        spec = bounded_page(ComparisonSpec.of_address(request.GET)).spec
        missing = find_missing(spec) if spec.is_of_work else MissingCells((), ())
    except SpecError as error:
        return plain_refusal(error)
    serieses = _series_of_one_job(missing.series_ids)
    lun = _lun(request, serieses)
    configurations = _configurations(serieses, lun)

    def problem(workload: Workload) -> str:
        return space_problem(workload, lun, configurations) if lun else ""

    plan = measuring_plan(missing.demands, problem)
    if not missing.demands:
        messages.info(request, "Nothing is missing: every entry has every cell.")
    unmeasured = {*plan.without_workload, *(demand for demand, _ in plan.refused)}
    again = [demand for demand in missing.repeated_demands if demand not in unmeasured]
    if again:
        messages.info(
            request,
            f"Measured again, too: {_cells_in_words(again)}. What the job measures may not be put "
            "together with what is there (another way of measuring, or other circumstances): so it "
            "measures every cell on its own.",
        )
    if plan.without_workload:
        messages.warning(
            request,
            f"No workload of fsbench measures {_cells_in_words(plan.without_workload)}: "
            "upload a job file of fio for it, or import a measurement.",
        )
    if plan.refused:
        rest = (
            "The ticked workloads measure the others."
            if plan.workloads
            else "Measure it on a larger LUN with New run, or import a measurement."
        )
        cells = _cells_in_words([demand for demand, _ in plan.refused])
        messages.warning(request, f"Not chosen: {cells}. {plan.refused[0][1]} {rest}")
    workloads = [
        WorkloadSpec(slug, dict(parameters)) for slug, parameters in plan.workloads.items()
    ]
    if not workloads:
        return redirect(f"{reverse('compare:page')}?{spec.to_query()}")
    query = measure_together(serieses, workloads, lun.pk if lun else None)
    return redirect(f"{reverse('studies:new_job')}?{query}")


def _cells_in_words(demands: Sequence[RequiredCell]) -> str:
    """The first cells in words, and how many more there are."""
    more = len(demands) - LEFT_NAMED
    named = "; ".join(demand.words for demand in demands[:LEFT_NAMED])
    return f"{named}{f' and {more} more' if more > 0 else ''}"


def _lun(request: HttpRequest, serieses: Sequence[Series]) -> Lun | None:
    """That of the series; of numbers that no LUN of this site gave, what the form would choose."""
    if serieses and serieses[0].lun:
        return serieses[0].lun
    assert isinstance(request.user, User)
    return possible_runs.usual_lun(possible_runs.lun_cards(request.user))


def _configurations(serieses: Sequence[Series], lun: Lun | None) -> list[ConfigurationSpec]:
    """What the form will have ticked on the LUN."""
    configurations = [
        configuration for series in serieses for configuration in configurations_of(series)
    ]
    return configurations or (possible_runs.usual_configurations(lun) if lun else [])


def _series_of_one_job(series_ids: Sequence[int]) -> list[Series]:
    """Of the series those that one job can measure: of the study and LUN that most are of."""
    related = ("study", "lun", "configuration", "journal_lun")
    rows = Series.objects.select_related(*related).in_bulk(list(series_ids))
    serieses = [rows[pk] for pk in series_ids if pk in rows]
    if not serieses:
        return []
    places = Counter((series.study_id, series.lun_id) for series in serieses)
    place = places.most_common(1)[0][0]
    by_configuration = {
        series.configuration_id: series
        for series in serieses
        if (series.study_id, series.lun_id) == place
    }
    return list(by_configuration.values())[:MOST_CONFIGURATIONS]


# What would have to be measured for every contender to have a score.


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
