"""A study without a job is continued: what of it the form can take, and what it cannot."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Count

from fsbench_web.catalog.configurations.filesystems import OptionError, validated_options
from fsbench_web.catalog.configurations.stacks import PLAIN_STACK
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workloads.own_workloads import offered_presets
from fsbench_web.studies.jobs import imported_fio, possible_runs
from fsbench_web.studies.jobs.features.repeats import FORM_REPEATS, MAXIMUM_REPEATS
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.jobs.repeating import configurations_of
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, WorkloadSpec
from fsbench_web.studies.models import UNTRACED, Run, RunState, Series, Study
from fsbench_web.studies.sequence import RANDOM

MOST_READ = 500
"""Series of a study that are looked at."""

MOST_CONFIGURATIONS = 12
"""As many as the form has variants of one file system."""

NAMED = 6


@dataclass
class ContinuedForm:
    """A query string of the form, and in words what of the study is in it and what could not be."""

    study: Study
    query: str = ""
    included: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def continued_form(study: Study, cards: Sequence[possible_runs.LunCard]) -> ContinuedForm | None:
    """The form with a study's configurations, repeats and workloads; None without a series."""
    related = ("configuration", "workload", "lun__worker", "journal_lun")
    all_series = Series.objects.filter(study=study).select_related(*related).order_by("pk")
    serieses = list(all_series[:MOST_READ])
    if not serieses:
        return None
    continued = ContinuedForm(study)
    lun = _lun(serieses, cards, continued)
    configurations = _configurations(serieses, lun, continued)
    repeats = _repeats(serieses, continued)
    workloads = _workloads(serieses, lun, configurations, continued)
    if any(series.runs_on.is_guest for series in serieses):
        continued.left_out.append("its virtual machine")
    if any(series.preparation for series in serieses):
        continued.left_out.append("its preparation")
    first, *more = workloads or [WorkloadSpec("")]
    spec = JobSpec(
        lun_id=lun.pk if lun else None,
        configurations=tuple(configurations),
        workload=first.name,
        parameters=first.parameters,
        more_workloads=tuple(more),
        repeats=repeats,
        order=RANDOM,
        study=study.slug,
    )
    form = job_form.prefilled(spec)
    # An empty name: nothing else is suggested where no workload can be repeated.
    form.workloads = [workload.name for workload in workloads] or [""]
    continued.query = form.to_query()
    return continued


def _lun(
    serieses: Sequence[Series], cards: Sequence[possible_runs.LunCard], continued: ContinuedForm
) -> Lun | None:
    """The LUN that most were measured on, if it can be chosen; else the form's own."""
    usable = {card.lun.pk: card.lun for card in cards if not card.problems}
    counts = Counter(series.lun_id for series in serieses if series.lun_id in usable)
    if counts:
        lun = usable[counts.most_common(1)[0][0] or 0]
        continued.included.append(f"LUN {lun.name}")
        return lun
    usual = possible_runs.usual_lun(cards)
    none = "LUN (none of its LUNs can be used here"
    continued.left_out.append(
        f"{none}: {usual.name} is the only one that can)" if usual else f"{none})"
    )
    return usual


def _configurations(
    serieses: Sequence[Series], lun: Lun | None, continued: ContinuedForm
) -> list[ConfigurationSpec]:
    problems = possible_runs.filesystem_problems(lun, [], is_guest=False) if lun else None
    offered_here = possible_runs.offered_filesystems(lun)
    schedulers = lun.schedulers if lun else ()
    possible: list[tuple[str, ConfigurationSpec]] = []
    unknown, impossible, gone, seen = list[str](), list[str](), list[str](), set[int]()
    for series in serieses:
        row = series.configuration
        if row.pk in seen:
            continue
        seen.add(row.pk)
        if row.filesystem not in offered_here or (problems or {}).get(row.filesystem):
            impossible.append(row.label)
            continue
        wanted = next(configurations_of(series), None)
        if wanted is None or not _is_plain(wanted):
            unknown.append(row.label)
            continue
        scheduler = wanted.scheduler if wanted.scheduler in schedulers else ""
        gone += [wanted.scheduler] if wanted.scheduler and not scheduler else []
        possible.append(
            (row.label, ConfigurationSpec(wanted.filesystem, wanted.options, scheduler))
        )
    labels = [label for label, _ in possible]
    selected = [configuration for _, configuration in possible[:MOST_CONFIGURATIONS]]
    if selected:
        continued.included.append(f"file systems {_named(labels[:MOST_CONFIGURATIONS])}")
    if any(configuration.scheduler for configuration in selected):
        used = _named(
            configuration.scheduler for configuration in selected if configuration.scheduler
        )
        continued.included.append(f"I/O scheduler {used} for each")
    here = f"on {lun.worker.name}" if lun else "here"
    for dropped, why in (
        (impossible, f"cannot be made {here}"),
        (unknown, "not as it was made: options, journal, layers or other LUNs are not known here"),
        (labels[MOST_CONFIGURATIONS:], f"the form takes {MOST_CONFIGURATIONS}"),
    ):
        continued.left_out += [f"{_named(dropped)} ({why})"] if dropped else []
    if gone:
        continued.left_out.append(f"I/O scheduler {_named(gone)}")
    return selected


def _is_plain(wanted: ConfigurationSpec) -> bool:
    """On one LUN, with options that are still allowed."""
    try:
        validated_options(wanted.filesystem, wanted.options)
    except OptionError:
        return False
    return not wanted.journal and wanted.stack == PLAIN_STACK


def _repeats(serieses: Sequence[Series], continued: ContinuedForm) -> int:
    """As often as most were measured, as the form bounds it; else the form's usual number."""
    done = Run.objects.filter(
        series__in=[series.pk for series in serieses],
        state=RunState.DONE,
        tracing=UNTRACED,
        is_reference=False,
    )
    of_each = done.order_by().values("series_id").annotate(count=Count("pk"))
    counts = Counter(row["count"] for row in of_each)
    if not counts:
        continued.left_out.append("repeats (nothing of it has ended)")
        return FORM_REPEATS
    repeats = max(counts, key=lambda count: (counts[count], count))
    bounded = min(repeats, MAXIMUM_REPEATS)
    words = f"{bounded} repeat{'' if bounded == 1 else 's'}"
    continued.included.append(words if bounded == repeats else f"{words} of its {repeats}")
    return bounded


def _workloads(
    serieses: Sequence[Series],
    lun: Lun | None,
    configurations: Sequence[ConfigurationSpec],
    continued: ContinuedForm,
) -> list[WorkloadSpec]:
    rows = {series.workload.pk: series.workload for series in serieses if series.workload}
    presets = {preset.slug: preset for preset in offered_presets()}
    workloads: list[WorkloadSpec] = []
    titles = list[str]()
    unknown: dict[str, list[str]] = {}
    for row in rows.values():
        preset = presets.get(row.slug)
        definition = (preset.tool, preset.workload().values) if preset else None
        if preset is not None and definition == (row.tool, row.parameters):
            workloads.append(WorkloadSpec(row.slug))
            titles.append(preset.title)
            continue
        problems = ["no preset of this site"]
        if row.tool == "fio":
            of_row = [series for series in serieses if series.workload_id == row.pk]
            taken = [workload.name for workload in workloads]
            names = imported_fio.stored_names(of_row)
            specs, problems = imported_fio.workloads_of(row, names, taken)
            workloads += [imported_fio.bounded(spec, lun, configurations) for spec in specs]
            titles += [row.title] if specs else []
        for problem in problems:
            unknown.setdefault(problem, []).append(row.title)
    if titles:
        continued.included.append(f"workload {_named(titles)}")
    for problem, of_problem in unknown.items():
        continued.left_out.append(f"workload {_named(of_problem)} ({problem})")
    if not rows:
        continued.left_out.append("workload (it names none)")
    return workloads


def _named(all_of_them: Iterable[str]) -> str:
    """Each once, the first of them by name."""
    names = list(dict.fromkeys(all_of_them))
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
