"""From an order ("these file systems on that LUN, twice") to runs. No HTTP here.

Everything that can be known before a disk is touched is checked here, and all problems are told at
once. What is checked is what the worker announced; before it erases anything the worker checks
again on its own (runner.luns).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.db import transaction

from fsbench_web.catalog import availability
from fsbench_web.catalog.commands import PlannedCommand, run_commands
from fsbench_web.catalog.configurations import configuration_for
from fsbench_web.catalog.filesystems import OptionError, validated_options
from fsbench_web.catalog.labels import configuration_label
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.names import slug_of
from fsbench_web.catalog.option_conflicts import option_conflicts
from fsbench_web.catalog.stored_workloads import stored_workload
from fsbench_web.catalog.workloads import (
    MOUNT_POINT,
    PRESETS,
    IozoneMatrix,
    ParameterError,
    matrix_of,
)
from fsbench_web.figures.numbers import size
from fsbench_web.studies import lifecycle
from fsbench_web.studies.models import Run, Series, Study, Submission
from fsbench_web.studies.series import next_repeat, series_for

MAXIMUM_REPEATS = 20
MAXIMUM_RUNS = 400
TITLE_LENGTH = Study._meta.get_field("title").max_length or 200


@dataclass(frozen=True)
class ConfigurationRequest:
    """One file system with options of ``catalog.filesystems`` and one scheduler of the LUN."""

    filesystem: str
    options: Mapping[str, object] = field(default_factory=dict)
    scheduler: str = ""


@dataclass(frozen=True)
class RunRequest:
    """What somebody wants to be run, unchecked.

    Either ``study`` is the slug of an existing study, or ``new_study`` the title of one to make.
    ``parameters`` replace those of the preset named ``workload``. ``repeats`` is how often each
    configuration is run.
    """

    lun_id: int | None
    configurations: tuple[ConfigurationRequest, ...]
    workload: str
    parameters: Mapping[str, int | bool] = field(default_factory=dict)
    repeats: int = 2
    study: str = ""
    new_study: str = ""
    # What the reader of a form or of JSON could not even turn into a value: {part: [sentence]}.
    unreadable: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class PlannedRun:
    """One run as it will be: ``repeat`` counts from 1 within this order."""

    repeat: int
    filesystem: str
    options: Mapping[str, str]
    scheduler: str
    configuration: str
    commands: tuple[PlannedCommand, ...]
    lun: Lun

    @property
    def erases(self) -> bool:
        return any(command.phase == "mkfs" for command in self.commands)


class SubmissionRefused(Exception):
    """Nothing was written. ``by_part`` holds every problem under the part of the order it is in:

    lun, configurations, schedulers, workload, repeats, study, confirmation.
    """

    def __init__(self, by_part: Mapping[str, list[str]]) -> None:
        self.by_part = dict(by_part)
        super().__init__(" ".join(self.problems))

    @property
    def problems(self) -> list[str]:
        """Every problem as a sentence that says what to do."""
        return [problem for problems in self.by_part.values() for problem in problems]


class _Problems:
    """Collects sentences by part, each once."""

    def __init__(self, by_part: Mapping[str, list[str]]) -> None:
        self.by_part: dict[str, list[str]] = {}
        for part, sentences in by_part.items():
            for sentence in sentences:
                self.add(part, sentence)

    def add(self, part: str, sentence: str) -> None:
        sentences = self.by_part.setdefault(part, [])
        if sentence not in sentences:
            sentences.append(sentence)

    def refuse_if_any(self) -> None:
        if self.by_part:
            raise SubmissionRefused(self.by_part)


@dataclass(frozen=True)
class _Plan:
    lun: Lun
    workload: tuple[str, IozoneMatrix]
    runs: list[PlannedRun]
    study: Study | None


def preview(request: RunRequest) -> list[PlannedRun]:
    """The runs that ``submit`` would make, in the order in which they will be run.

    All configurations of the first repeat come before the second repeat, so that a drift of the
    machine falls on all of them alike. Raises SubmissionRefused.
    """
    problems = _Problems(request.unreadable)
    plan = _checked(request, problems)
    problems.refuse_if_any()
    assert plan is not None
    return plan.runs


def submit(request: RunRequest, confirmation: str, user: User | None, token: str = "") -> list[Run]:
    """Write the runs as queued and nudge their worker once they are committed.

    ``confirmation`` must be the LUN's name, letter by letter. ``token`` is the form's: a second
    order with the same token makes nothing and returns the runs of the first. Raises
    SubmissionRefused, and then nothing is written.
    """
    with transaction.atomic():
        submission = None
        if token:
            submission, is_new = Submission.objects.get_or_create(
                token=token, defaults={"created_by": user}
            )
            if not is_new:
                if submission.created_by_id != (user.pk if user else None):
                    raise SubmissionRefused(
                        {"confirmation": ["This form was sent by somebody else: open a new one."]}
                    )
                return list(submission.runs.order_by("id"))
        problems = _Problems(request.unreadable)
        plan = _checked(request, problems)
        name = (
            Lun.objects.filter(pk=request.lun_id).values_list("name", flat=True).first()
            if request.lun_id is not None
            else None
        )
        if name is not None and confirmation != name:
            problems.add(
                "confirmation",
                f'The confirmation does not match: type the name of the LUN, "{name}", '
                "exactly as it is written.",
            )
        problems.refuse_if_any()
        assert plan is not None
        runs = _write(plan, request, user, submission)
        lifecycle.nudge_after_commit(runs)
        return runs


def _write(
    plan: _Plan, request: RunRequest, user: User | None, submission: Submission | None
) -> list[Run]:
    study = plan.study or _new_study(request.new_study.strip(), user)
    workload = stored_workload(*plan.workload)
    worker = plan.lun.worker
    series: dict[str, Series] = {}
    repeats: dict[str, int] = {}
    runs = []
    for planned in plan.runs:
        key = planned.configuration
        if key not in series:
            series[key] = series_for(
                study,
                configuration_for(planned.filesystem, planned.options, planned.scheduler),
                workload=workload,
                hardware=worker.hardware,
                lun=plan.lun,
                kernel=availability.kernel(worker),
                distribution=availability.distribution(worker),
            )
            repeats[key] = next_repeat(series[key])
        runs.append(
            lifecycle.create_queued(series[key], repeats[key], by=user, submission=submission)
        )
        repeats[key] += 1
    return runs


def _new_study(title: str, user: User | None) -> Study:
    study, is_new = Study.objects.get_or_create(
        slug=slug_of(title), defaults={"title": title, "created_by": user}
    )
    if not is_new:  # Somebody else made it between the check and now.
        raise SubmissionRefused({"study": [_study_exists(study.slug)]})
    return study


def _study_exists(slug: str) -> str:
    return (
        f'A study with the address "{slug}" exists already: choose it from the list, or give '
        "another title."
    )


def _checked(request: RunRequest, problems: _Problems) -> _Plan | None:
    """The plan, or None with at least one problem noted. A plan may come with problems too."""
    lun = _checked_lun(request, problems)
    matrix = _checked_workload(request, lun, problems)
    configurations = _checked_configurations(request, lun, problems)
    study = _checked_study(request, problems)
    if not 1 <= request.repeats <= MAXIMUM_REPEATS:
        if "repeats" not in problems.by_part:
            problems.add(
                "repeats",
                f"Each configuration can be run 1 to {MAXIMUM_REPEATS} times, not "
                f"{request.repeats}: choose a number between them.",
            )
        return None
    if lun is None or matrix is None or not configurations:
        return None
    runs = [
        planned
        for repeat in range(1, request.repeats + 1)
        for planned in _planned(repeat, configurations, matrix, lun)
    ]
    return _Plan(lun=lun, workload=(request.workload, matrix), runs=runs, study=study)


def _planned(
    repeat: int, configurations: list[ConfigurationRequest], matrix: IozoneMatrix, lun: Lun
) -> Iterator[PlannedRun]:
    makes_filesystem = lun.kind != Lun.Kind.DIRECTORY
    for wanted in configurations:
        options = {key: str(value) for key, value in wanted.options.items()}
        yield PlannedRun(
            repeat=repeat,
            filesystem=wanted.filesystem,
            options=options,
            scheduler=wanted.scheduler,
            configuration=configuration_label(wanted.filesystem, options, wanted.scheduler),
            commands=tuple(
                run_commands(
                    wanted.filesystem,
                    options,
                    matrix,
                    lun.device,
                    MOUNT_POINT if makes_filesystem else lun.device,
                    makes_filesystem,
                )
            ),
            lun=lun,
        )


def _checked_lun(request: RunRequest, problems: _Problems) -> Lun | None:
    if request.lun_id is None:
        if "lun" not in problems.by_part:
            problems.add("lun", "Choose the LUN to run on.")
        return None
    lun = (
        Lun.objects.select_related("worker__hardware")
        .filter(pk=request.lun_id, worker__isnull=False)
        .first()
    )
    if lun is None:
        problems.add(
            "lun",
            f"No worker has announced a LUN with the number {request.lun_id}: choose one of the "
            "list on the LUNs page.",
        )
        return None
    for sentence in availability.lun_problems(lun):
        problems.add("lun", sentence)
    return lun


def _checked_workload(
    request: RunRequest, lun: Lun | None, problems: _Problems
) -> IozoneMatrix | None:
    preset = PRESETS.get(request.workload)
    if preset is None:
        problems.add(
            "workload",
            f'There is no workload "{request.workload}": choose one of {", ".join(PRESETS)}.',
        )
        return None
    try:
        matrix = matrix_of("iozone", {**preset.parameters, **request.parameters})
    except ParameterError as error:
        problems.add("workload", str(error))
        return None
    if lun is None:
        return matrix
    missing = availability.missing_tool(lun.worker, "iozone")
    if missing:
        problems.add("workload", missing)
    if lun.size_bytes is not None and matrix.space_needed_bytes() > lun.size_bytes:
        problems.add(
            "workload",
            f"The largest file of the workload needs {size(matrix.space_needed_bytes())}"
            f" with what the file system adds, and {lun.name} has "
            f"{size(lun.size_bytes)}: make the largest file smaller, or choose a "
            "larger LUN.",
        )
    return matrix


def _checked_configurations(
    request: RunRequest, lun: Lun | None, problems: _Problems
) -> list[ConfigurationRequest]:
    if not request.configurations:
        if "configurations" not in problems.by_part:
            problems.add("configurations", "Choose at least one file system.")
        return []
    total = len(request.configurations) * request.repeats
    if total > MAXIMUM_RUNS:
        problems.add(
            "configurations",
            f"The order would make {total} runs, and {MAXIMUM_RUNS} is the most one may have: "
            "order them in parts, into the same study.",
        )
        return []
    checked: list[ConfigurationRequest] = []
    for wanted in request.configurations:
        try:
            options = validated_options(wanted.filesystem, wanted.options)
        except OptionError as error:
            problems.add("configurations", str(error))
            continue
        clean = ConfigurationRequest(wanted.filesystem, options, wanted.scheduler)
        if clean in checked:
            label = configuration_label(clean.filesystem, options, clean.scheduler)
            problems.add(
                "configurations",
                f"{label} is in the order twice: remove one of them, or change its options. To "
                "run it more often, raise the repeats.",
            )
            continue
        checked.append(clean)
        for sentence in option_conflicts(clean.filesystem, options, lun):
            problems.add("configurations", sentence)
        if lun is not None:
            for sentence in availability.filesystem_problems(lun, clean.filesystem):
                problems.add("configurations", sentence)
            sentence = availability.scheduler_problem(lun, clean.scheduler)
            if sentence:
                problems.add("schedulers", sentence)
    return checked


def _checked_study(request: RunRequest, problems: _Problems) -> Study | None:
    """The existing study; None where a new one is to be made (or a problem was noted)."""
    title = request.new_study.strip()
    if request.study and title:
        problems.add("study", "Choose a study or give the title of a new one, not both.")
        return None
    if request.study:
        study = Study.objects.filter(slug=request.study).first()
        if study is None:
            problems.add(
                "study",
                f'There is no study "{request.study}": choose one of the list, or give the title '
                "of a new one.",
            )
        elif study.is_published:
            problems.add(
                "study",
                f'"{study.title}" is a published study and takes no further runs: give the title '
                "of a new one; the two can be compared.",
            )
        return study
    slug = slug_of(title)
    if not title:
        problems.add("study", "Choose the study that the runs belong to, or name a new one.")
    elif len(title) > TITLE_LENGTH:
        problems.add("study", f"The study's title is longer than {TITLE_LENGTH} characters.")
    elif not slug:
        problems.add("study", "The study's title needs a letter or a digit for its address.")
    elif Study.objects.filter(slug=slug).exists():
        problems.add("study", _study_exists(slug))
    return None
