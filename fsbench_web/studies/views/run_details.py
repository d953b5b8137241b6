"""What the page of one run shows, made of its rows. No HTTP here."""

import gzip
import io
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet

from fsbench_web.catalog.configurations.filesystems import ALL, OptionError
from fsbench_web.catalog.configurations.planned import PlannedCommand
from fsbench_web.catalog.configurations.preparation import Preparation, PreparationError
from fsbench_web.catalog.configurations.stacks import LunCounts
from fsbench_web.catalog.workers.machines import CONSOLE, OOPS
from fsbench_web.core.scoring import testnames
from fsbench_web.core.units import is_known, lower_is_better
from fsbench_web.core.workloads import ParameterError, workload_of
from fsbench_web.figures import heatmap
from fsbench_web.platform import limits
from fsbench_web.studies.jobs import imported_fio, possible_runs
from fsbench_web.studies.jobs.features.repeats import FORM_REPEATS
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.jobs.forms import workload as workload_form
from fsbench_web.studies.jobs.planned_runs import PlannedRun
from fsbench_web.studies.jobs.repeating import configurations_of, repeating_job
from fsbench_web.studies.jobs.spec import JobSpec, WorkloadSpec
from fsbench_web.studies.models import Artefact, Run, RunState, Series
from fsbench_web.studies.runs.shown import quality
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.scores.measurements import Measurement
from fsbench_web.studies.sequence import RANDOM
from fsbench_web.studies.series import members_of

STEPS = [
    RunState.QUEUED,
    RunState.LEASED,
    RunState.PREPARING,
    RunState.RUNNING,
    RunState.COLLECTING,
    RunState.DONE,
]


def steps(run: Run) -> list[tuple[RunState, bool, bool]]:
    """(state, whether it is past, whether it is now) of a run that has not ended badly."""
    try:
        now = STEPS.index(RunState(run.state))
    except ValueError:
        now = len(STEPS)
    return [(state, index < now, index == now) for index, state in enumerate(STEPS)]


@dataclass
class TestMatrix:
    """The measurements of one test: ``cells`` are {(record KB, file KB): value in unit}."""

    test: str
    unit: str
    element_id: str
    cells: dict[tuple[int, int], float] = field(default_factory=dict)
    measured: dict[tuple[int, int], Measurement] = field(default_factory=dict)
    without_sizes: list[Measurement] = field(default_factory=list)
    figure: go.Figure | None = None

    @property
    def records(self) -> list[int]:
        """Record sizes in KB, smallest first."""
        return sorted({record for record, _ in self.cells})

    @property
    def measurements(self) -> list[Measurement]:
        return [*self.measured.values(), *self.without_sizes]

    @property
    def rows(self) -> list[tuple[int, list[Measurement | None]]]:
        """(file size in KB, a value a record size); None where nothing was measured."""
        records = self.records
        return [
            (file, [self.measured.get((record, file)) for record in records])
            for file in sorted({file for _, file in self.cells})
        ]


def shown_numbers(run: Run) -> list[Measurement] | None:
    """The run's measurements; None where they, or their tests, are more than a page shows."""
    rows = measurements.rows_of(run.pk, limits.MOST_NUMBERS)
    if rows is None or len({(row.test, row.load, row.unit) for row in rows}) > limits.MOST_TESTS:
        return None
    return rows


def test_matrices(run: Run, numbers: Iterable[Measurement]) -> list[TestMatrix]:
    """The run's measurements by test, in the order of all other pages."""
    matrices: dict[tuple[str, str], TestMatrix] = {}
    for measurement in numbers:
        key = (testnames.at_load(measurement.test, measurement.load), measurement.unit)
        if key not in matrices:
            matrices[key] = TestMatrix(*key, element_id=f"matrix-{len(matrices)}")
        if measurement.record_size_kb is None or measurement.file_size_kb is None:
            matrices[key].without_sizes.append(measurement)
        else:
            cell = (measurement.record_size_kb, measurement.file_size_kb)
            matrices[key].cells[cell] = measurement.value
            matrices[key].measured[cell] = measurement
    for matrix in matrices.values():
        if matrix.cells:
            less = is_known(matrix.unit) and lower_is_better(matrix.unit)
            name = testnames.label(matrix.test)
            matrix.figure = heatmap.matrix(
                matrix.cells,
                matrix.unit,
                name,
                less,
                notes=quality.notes(matrix.measured),
                flagged=quality.flagged_cells(matrix.measured),
                edges=quality.edges(run.series.quality, matrix.test),
                block=testnames.block_word(matrix.test, is_published=run.series.study.is_published),
            )
    return sorted(matrices.values(), key=lambda matrix: testnames.place(matrix.test))


def artefacts(run: Run, numbers: Sequence[Measurement] | None = None) -> QuerySet[Artefact]:
    """The raw output of the run's ``numbers``, also if it was kept with another run."""
    artefact_ids: Any = measurements.of_run(run.pk).exclude(artefact=None)
    artefact_ids = artefact_ids.order_by().values("artefact_id")
    if numbers is not None:
        artefact_ids = {measurement.artefact_id for measurement in numbers} - {None}
    outputs = Artefact.objects.filter(Q(run=run) | Q(pk__in=artefact_ids))
    return outputs.defer("content_gzip").order_by("id")


def commands(run: Run) -> list[dict[str, Any]]:
    """The commands as run, with ``line``: quoted for a shell, to be shown and copied."""
    return [
        {**command, "line": shlex.join(str(word) for word in command.get("argv", []))}
        for command in run.commands
    ]


def planned_commands(run: Run) -> list[PlannedCommand]:
    """The commands that will follow; empty for runs that fsbench does not make."""
    series = run.series
    if run.origin != Run.Origin.MEASURED or series.lun is None or series.workload is None:
        return []
    log = series.journal_lun
    if series.configuration.external_journal and log is None:
        return []  # It is no longer known; the worker will say so and fail the run.
    luns = members_of(series)
    if len(luns) < len(series.members):
        return []
    try:
        return PlannedRun(
            repeat=run.repeat,
            filesystem=series.configuration.filesystem,
            options=series.configuration.options,
            scheduler=series.configuration.scheduler,
            configuration=series.configuration.label,
            lun=series.lun,
            workload=("", workload_of(series.workload.tool, series.workload.parameters)),
            journal=log,
            members=tuple(luns),
            shape=LunCounts.of(series.configuration.stack),
            preparation=Preparation.of(series.preparation),
            machine=series.runs_on,
        ).commands
    except (OptionError, ParameterError, PreparationError):
        # An option that a later release no longer allows: the worker will say so and fail the run.
        return []


def named_options(run: Run) -> list[tuple[str, str]]:
    """The configuration's options under the names that the form gives them."""
    configuration = run.series.configuration
    spec = ALL.get(configuration.filesystem)
    names = (
        {option.key: f"{option.name} ({option.stage})" for option in spec.options} if spec else {}
    )
    return [(names.get(key, key), str(value)) for key, value in configuration.options.items()]


def stack_words(run: Run) -> str:
    """On how many LUNs it stands, and through what."""
    return LunCounts.of(run.series.configuration.stack).words


def named_parameters(run: Run) -> list[tuple[str, str]]:
    """The workload's parameters with their units."""
    workload = run.series.workload
    if workload is None:
        return []
    return workload_form.named_parameters(workload.tool, workload.parameters)


def submit_again(run: Run) -> str:
    """Query string of the form that submits this run once more, or "" where that cannot be."""
    return "" if run.origin != Run.Origin.MEASURED else submit_together([run.series], 1)


def repeat_import(run: Run, user: User | AnonymousUser) -> tuple[str, str]:
    """Query string of the form that repeats an imported fio job, and why not all of it."""
    workload = run.series.workload
    if run.origin != Run.Origin.IMPORTED or workload is None or workload.tool != "fio":
        return "", ""
    specs, problems = imported_fio.workloads_of(workload, imported_fio.stored_names([run.series]))
    if not specs:
        return "", "; ".join(problems)
    lun = None
    if isinstance(user, User):
        lun = possible_runs.usual_lun(possible_runs.lun_cards(user))
    configurations = list(configurations_of(run.series))
    specs = [imported_fio.bounded(spec, lun, configurations) for spec in specs]
    query = measure_together([run.series], specs, lun.pk if lun else None)
    return query, "; ".join(problems)


def submit_together(serieses: Sequence[Series], repeats: int, probe_s: int = 0) -> str:
    """Query string of the form that runs these in so many blocks, or "" where it cannot be."""
    spec = repeating_job(serieses, repeats)
    if spec is None:
        return ""
    changes = {"probe_s": probe_s, "seed": None}
    return job_form.prefilled(spec.model_copy(update=changes)).to_query()


def measure_together(
    serieses: Sequence[Series], workloads: Sequence[WorkloadSpec], lun_id: int | None
) -> str:
    """Query string of the form that runs these workloads on the series' configurations."""
    first, *more = workloads
    series = serieses[0] if serieses else None
    spec = JobSpec(
        lun_id=lun_id,
        configurations=tuple(
            configuration
            for each_series in serieses
            for configuration in configurations_of(each_series)
        ),
        workload=first.name,
        parameters=first.parameters,
        more_workloads=tuple(more),
        repeats=FORM_REPEATS,
        order=RANDOM,
        study=series.study.slug if series and not series.study.is_published else "",
    )
    return job_form.prefilled(spec).to_query()


MOST_LINES, MOST_BYTES = 80, 64 * 1024


def crash_of(run: Run) -> dict[str, Any] | None:
    """The crash of a run in a guest; None where there was none, or no guest. One query, or two.

    The first ``lines`` of it, how many follow, and the artefacts with all of it.
    """
    if not run.series.runs_on.is_guest:
        return None
    by_name = {
        artefact.name: artefact
        for artefact in run.artefacts.filter(name__in=(CONSOLE, OOPS))
        .defer("content_gzip")
        .order_by("-id")
    }
    oops, console = by_name.get(OOPS), by_name.get(CONSOLE)
    if oops is None:
        return {"console": console} if console and run.has_ended else None
    with gzip.GzipFile(fileobj=io.BytesIO(oops.content_gzip)) as file:
        text = file.read(MOST_BYTES).decode("utf-8", "replace")
    lines = text.splitlines()
    return {
        "lines": lines[:MOST_LINES],
        "further_lines": max(0, len(lines) - MOST_LINES),
        "oops": oops,
        "console": console,
    }
