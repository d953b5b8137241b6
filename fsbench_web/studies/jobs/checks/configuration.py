"""What is wrong with a job's configurations, each with its journal and stack. No HTTP here."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from fsbench_web.catalog.configurations.filesystems import OptionError, validated_options
from fsbench_web.catalog.configurations.labels import canonical_scheduler, configuration_label
from fsbench_web.catalog.configurations.layers import least_cache_bytes
from fsbench_web.catalog.configurations.option_conflicts import option_conflicts
from fsbench_web.catalog.configurations.stacks import CACHE
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.core.numbers import size
from fsbench_web.studies.jobs.problems import Problems
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.runs.races.standing import MOST_RUNS


def neighbours(lun: Lun | None) -> dict[str, Lun]:
    """The LUNs of the same worker by name: journals and stacks are of these. One query."""
    if lun is None:
        return {}
    return {neighbour.name: neighbour for neighbour in lun.worker.luns.select_related("worker")}


def checked_configurations(
    spec: JobSpec, lun: Lun | None, neighbours: Mapping[str, Lun], problems: Problems
) -> tuple[list[ConfigurationSpec], ConfigurationSpec | None]:
    """Those that can be read, with their options in canonical form, and the reference."""
    checked: list[ConfigurationSpec] = []
    seen: set[tuple[str, str, str]] = set()
    for wanted in spec.configurations if _is_count_possible(spec, problems) else ():
        configuration = _checked_configuration(
            wanted, lun, neighbours, spec.guest is None, problems
        )
        if configuration is None:
            continue
        label = configuration.label
        known_by = (label, configuration.journal, configuration.stack.words)
        if known_by in seen:
            problems.add(
                configuration.place(),
                f"{label} is in the job twice: remove one of them, or change its options. To "
                "run it more often, raise the repeats.",
            )
            continue
        seen.add(known_by)
        checked.append(configuration)
    if spec.reference is None:
        return checked, None
    every, wanted = spec.reference.every, spec.reference.configuration
    if not 1 <= every <= MOST_RUNS:
        problems.add(
            "reference.every",
            f"The reference is run after every so many runs, 1 to {MOST_RUNS}, not {every}.",
        )
    wanted = replace(wanted, places={"": "reference.configuration", **wanted.places})
    return checked, _checked_configuration(wanted, lun, neighbours, spec.guest is None, problems)


def _is_count_possible(spec: JobSpec, problems: Problems) -> bool:
    if not spec.configurations:
        if not problems.is_reported("configurations"):
            problems.add("configurations", "Choose at least one file system.")
    elif spec.run_count > MOST_RUNS:
        problems.add(
            "configurations",
            f"The job would make {spec.run_count} runs, and {MOST_RUNS} is the most one "
            "may have: submit them in parts, into the same study.",
        )
    else:
        return True
    return False


def _checked_configuration(
    wanted: ConfigurationSpec,
    lun: Lun | None,
    neighbours: Mapping[str, Lun],
    is_own: bool,
    problems: Problems,
) -> ConfigurationSpec | None:
    """The configuration with canonical options; None if they cannot be read.

    ``is_own``: by the worker's own executor; what a guest can depends on its kernel.
    """
    try:
        options = validated_options(wanted.filesystem, wanted.options)
    except OptionError as error:
        problems.add(wanted.place(), str(error))
        return None
    configuration = _as_mounted(replace(wanted, options=options), lun, problems)
    if configuration is None:
        return None
    if not is_own:
        # Old kernels call one and the same scheduler by another name: it is one configuration.
        configuration = replace(
            configuration, scheduler=canonical_scheduler(configuration.scheduler)
        )
    for part, sentence in _problems_of(configuration, lun, neighbours, is_own):
        problems.add(configuration.place(part), sentence)
    return configuration


def _problems_of(
    configuration: ConfigurationSpec, lun: Lun | None, neighbours: Mapping[str, Lun], is_own: bool
) -> Iterator[tuple[str, str]]:
    """(part of the configuration, what is wrong with it)."""
    journal = neighbours.get(configuration.journal) if configuration.journal else None
    options = {key: str(value) for key, value in configuration.options.items()}
    for sentence in option_conflicts(
        *(configuration.filesystem, options, lun, journal), configuration.stack.shape
    ):
        yield "", sentence
    if lun is None:
        return
    if is_own:
        yield from availability.configuration_problems(
            lun, configuration.filesystem, configuration.options, configuration.scheduler
        )
    for sentence in _journal_problems(configuration, lun, neighbours, is_own):
        yield "journal", sentence
    for sentence in _stack_problems(configuration, lun, neighbours, is_own):
        yield "stack", sentence


def _as_mounted(
    wanted: ConfigurationSpec, lun: Lun | None, problems: Problems
) -> ConfigurationSpec | None:
    """The configuration with the options of the LUN's mount; None where it asks for others."""
    mount = availability.mounted_contender(lun) if lun is not None else None
    if lun is None or mount is None:
        return wanted
    options = dict(mount.options)
    if wanted.options and wanted.options != options:
        label = configuration_label(mount.filesystem, options)
        problems.add(
            wanted.place("options"),
            f"{lun.name} is mounted as {label}: leave the options out, which are those of the "
            "mount, or have its host mount it otherwise.",
        )
        return None
    return replace(wanted, options=options) if mount.filesystem == wanted.filesystem else wanted


def _journal_problems(
    wanted: ConfigurationSpec, lun: Lun, neighbours: Mapping[str, Lun], is_own: bool
) -> Iterator[str]:
    if not wanted.journal:
        return
    journal = neighbours.get(wanted.journal)
    if journal is None:
        names = ", ".join(choice.name for choice in availability.journal_luns(lun.worker))
        yield (
            f'The worker {lun.worker.name} has no LUN "{wanted.journal}" for journals: '
            + (f"choose one of {names}, " if names else "list one in its LUN file, ")
            + "or keep the journal on the LUN itself."
        )
        return
    yield from availability.journal_problems(lun, journal, wanted.filesystem)
    if is_own and journal.schedulers and wanted.scheduler not in ("", *journal.schedulers):
        yield (
            f'{journal.name} has no I/O scheduler "{wanted.scheduler}", which is set on both LUNs: '
            f"choose one of {', '.join(journal.schedulers)}."
        )


def _stack_problems(
    wanted: ConfigurationSpec, lun: Lun, neighbours: Mapping[str, Lun], is_own: bool
) -> Iterator[str]:
    members = wanted.stack.members
    if is_own and wanted.stack.layers:
        yield (
            "Layers (md, LVM, dm-crypt, dm-integrity, bcache) are made in guests alone, which have "
            "no disk but the leased LUNs: choose a guest as the executor."
        )
    counts = Counter([*(name for _, name in members), wanted.journal or None])
    for name, count in counts.items():
        if name is not None and count > 1:
            yield f"{name} is in one stack twice: each LUN has one role."
    for role, name in members:
        member = neighbours.get(name)
        if member is None:
            choices = ", ".join(choice.name for choice in availability.member_luns(lun))
            yield (
                f'The worker {lun.worker.name} has no LUN "{name}" for a stack on {lun.name}: '
                + (f"choose of {choices}." if choices else "list further ones in its LUN file.")
            )
            continue
        yield from availability.member_problems(lun, member, role)
        least = least_cache_bytes(wanted.stack.layers) if role == CACHE else 0
        if member.size_bytes is not None and member.size_bytes < least:
            yield (
                f"bcache needs {size(least)} or more with buckets of this size, and {member.name} "
                f"has {size(member.size_bytes)}: choose a smaller bucket_kb, or a larger LUN."
            )
        if is_own and member.schedulers and wanted.scheduler not in ("", *member.schedulers):
            yield (
                f'{member.name} has no I/O scheduler "{wanted.scheduler}", which is set on all '
                f"LUNs: choose one of {', '.join(member.schedulers)}."
            )
