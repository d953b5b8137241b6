"""What the job form offers, what keeps each from being run, and what is ticked at first."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.contrib.auth.models import User

from fsbench_web.accounts import rights
from fsbench_web.catalog.configurations.filesystems import ALL, ON_LUNS
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import GuestKernel
from fsbench_web.catalog.workers.setup import WorkerSetup, worker_setup
from fsbench_web.catalog.workers.shared_disks import note_other_use
from fsbench_web.catalog.workers.states import BUSY_EVERY_S, IDLE_EVERY_S, SETUP_EVERY_S
from fsbench_web.core.workloads import ParameterError, Workload, workload_of
from fsbench_web.core.workloads.base import QUESTIONS
from fsbench_web.core.workloads.registry import check_changes
from fsbench_web.studies.jobs.checks import workload
from fsbench_web.studies.jobs.forms.job_form import JobForm
from fsbench_web.studies.jobs.forms.workload import PresetFields
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.runs.listing import runs_before

# Two, because a comparison is what it is for; those that most people ask about first.
MOST_FILESYSTEMS = 2
# Most workloads need files.
_FOR_THOSE_WHO_ASK = ("raw",)
_FILESYSTEMS = ("ext4", "xfs", "btrfs", "ext3", "ext2")
# The first possible one is ticked, and the form shows the first of each question. Each takes a
# minute or so on any disk. The first three use direct I/O and so measure the disk; the others are
# for workers without fio and IOzone, or without O_DIRECT.
USUAL_WORKLOADS = (
    "fio-8k-small",
    "fio-stream-small",
    "iozone-messages",
    "random-access-small",
    "filemark-small",
    "mongo-small",
    "source-copy-small",
    "postmark-small",
    "file-creation-small",
    "pgmeter-small",
    "multiuser-small",
    "iozone-small",
)
_SHOWN = ("filesystems", "tools", "kernel", "is_usable", "reason")


@dataclass(frozen=True)
class LunCard:
    """A LUN as the form offers it, with why it cannot be chosen (if it cannot)."""

    lun: Lun
    problems: list[str]
    waiting: int

    @property
    def silent_since(self) -> datetime | None:
        """When its worker was last heard, if that is too long ago to know anything of it."""
        worker = self.lun.worker
        return None if availability.is_alive(worker) else worker.seen_at


def lun_cards(user: User) -> list[LunCard]:
    """Every listed LUN, those that can be used first. Three queries, or four."""
    refusals = _refusals(user)
    listed = Lun.objects.filter(is_listed=True)
    luns = list(listed.select_related("worker__hardware", "lease"))
    note_other_use(luns)
    waiting = runs_before(luns)
    cards = [
        LunCard(lun, [*availability.lun_problems(lun), *refusals(lun)], waiting.get(lun.pk, 0))
        for lun in luns
    ]
    return sorted(cards, key=lambda card: bool(card.problems))


def usual_lun(cards: Sequence[LunCard]) -> Lun | None:
    """The LUN where nobody names one: the single one that can be used; None where several can."""
    usable = [card.lun for card in cards if not card.problems]
    return usable[0] if len(usable) == 1 else None


def usual_configurations(lun: Lun) -> list[ConfigurationSpec]:
    """What is ticked on the LUN where nobody names file systems."""
    slugs = suggested_filesystems(filesystem_problems(lun, [], is_guest=False))
    return [ConfigurationSpec(slug) for slug in slugs]


def _refusals(user: User) -> Callable[[Lun], list[str]]:
    """What keeps this person from submitting on a LUN: one query for all of them."""
    if rights.is_administrator(user):
        return lambda lun: []
    granted = set(rights.granted_luns(user).values_list("lun_id", flat=True))
    return lambda lun: [] if lun.pk in granted else [rights.not_granted(lun)]


def offered_filesystems(lun: Lun | None) -> list[str]:
    """The file systems that the form shows: those that are made, or the one that is mounted."""
    mount = availability.mounted_contender(lun) if lun is not None else None
    return list(ON_LUNS) if mount is None else [mount.filesystem]


def filesystem_problems(
    lun: Lun, kernels: list[GuestKernel], is_guest: bool
) -> dict[str, list[str]]:
    """Why a file system cannot be chosen: with guests, because none of their kernels mounts it."""
    problems = {}
    for slug in offered_filesystems(lun):
        if not is_guest:
            problems[slug] = list(availability.filesystem_problems(lun, slug))
            continue
        parts = [list(availability.filesystem_problems(lun, slug, kernel)) for kernel in kernels]
        is_possible = any(not sentences for sentences in parts)
        problems[slug] = (
            []
            if is_possible
            else list(dict.fromkeys(sentence for sentences in parts for sentence in sentences))
        )
    return problems


def presets(form: JobForm, lun: Lun | None) -> list[PresetFields]:
    """All presets; with a LUN each says what keeps it from being run there with what is ticked."""
    all_presets = form.presets()
    if lun is None:
        return all_presets
    spec = form.spec()
    return [
        replace(
            preset,
            problems=tuple(_problems(form, preset, lun, spec)),
            no_room=workload.space_problem(_workload(form, preset), lun, spec.configurations),
        )
        for preset in all_presets
    ]


def picked(presets: Sequence[PresetFields]) -> list[PresetFields]:
    """The chosen presets and the usual one of each question that can be run, by question."""
    possible = {each.preset.slug: each for each in presets if not (each.no_room or each.problems)}
    usual: dict[str, PresetFields] = {}
    for preset in filter(None, map(possible.get, USUAL_WORKLOADS)):
        usual.setdefault(preset.preset.answers, preset)
    shown = [each for each in presets if each.is_chosen or each in usual.values()]
    return sorted(shown, key=lambda each: QUESTIONS.index(each.preset.answers))


def leave_out(form: JobForm, all_presets: Iterable[PresetFields]) -> list[PresetFields]:
    """Untick the workloads that have no room on the LUN, and return them."""
    without_room = [preset for preset in all_presets if preset.is_chosen and preset.no_room]
    if without_room:
        form.leave_out([preset_fields.preset.slug for preset_fields in without_room])
    return without_room


def suggest(form: JobForm, lun: Lun | None, problems: Mapping[str, Sequence[str]]) -> None:
    """Tick what can be run on the LUN, where nobody chose.

    What is ticked while a worker sets itself up is ticked for now.
    """
    if lun is None:
        form.suggest([], [])
        return
    setup = worker_setup(lun.worker.capabilities)
    for_now = setup is not None and setup.is_running
    has_slugs, has_names = form.has_own_filesystems, form.has_own_workloads
    ticked = [] if form.is_suggested_for_now else _slugs(form.suggested_variants)
    names = [] if form.is_suggested_for_now else form.suggested_workloads
    slugs = _slugs(form.chosen) if has_slugs else suggested_filesystems(problems, ticked)
    if has_names:
        names = form.workloads
    else:
        spec = _plain_job(form, [slug for slug in slugs if slug in ALL])
        preset_problems = {
            preset_fields.preset.slug: _problems(form, preset_fields, lun, spec)
            for preset_fields in form.presets()
        }
        names = suggested_workloads(preset_problems, names)
    is_possible = (has_slugs or slugs) and (has_names or names)
    if is_possible and not list(availability.lun_problems(lun)):
        form.suggest([f"{slug}.1" for slug in slugs], names, for_now=for_now)
    else:
        form.suggest([], [], for_now=for_now)


def _slugs(variants: Iterable[str]) -> list[str]:
    return [key.rsplit(".", 1)[0] for key in variants]


def _plain_job(form: JobForm, slugs: Iterable[str]) -> JobSpec:
    configurations = tuple(ConfigurationSpec(slug) for slug in slugs)
    return form.spec().model_copy(update={"configurations": configurations})


def _problems(form: JobForm, preset_fields: PresetFields, lun: Lun, spec: JobSpec) -> list[str]:
    wanted = _workload(form, preset_fields)
    return list(workload.problems_of(wanted, lun, spec.configurations, spec.guest))


def _workload(form: JobForm, preset_fields: PresetFields) -> Workload:
    """With the form's parameters, if they can be read: what cannot is refused with the job."""
    preset = preset_fields.preset
    if not form.parameters.get(preset.slug):
        return preset.workload()
    wanted = form.workload_spec(preset.slug, {})
    try:
        check_changes(preset.tool, wanted.parameters)
        return workload_of(preset.tool, {**preset.parameters, **wanted.parameters})
    except ParameterError:
        return preset.workload()


def why_nothing_runs(
    form: JobForm,
    cards: Sequence[LunCard],
    lun: Lun | None,
    problems: Mapping[str, Sequence[str]],
) -> str:
    """Why nothing at all can be run; "" where something can, or a LUN is still to choose."""
    if lun is None:
        first = next((card for card in cards if card.lun.role == Lun.Role.DATA), None)
        if first is None or any(not card.problems for card in cards):
            return ""
        setup = availability.setup(first.lun.worker)
        return sentence_of_nothing("any LUN", first.lun.worker.name, setup, first.problems)
    setup = availability.setup(lun.worker)
    parts = list(availability.lun_problems(lun))
    if not parts:
        usable = suggested_filesystems(problems)
        if not usable:
            parts = [sentence for sentences in problems.values() for sentence in sentences]
        else:
            spec = _plain_job(form, usable)
            all_problems = [_problems(form, preset, lun, spec) for preset in form.presets()]
            if any(not sentences for sentences in all_problems):
                return ""
            parts = [sentence for sentences in all_problems for sentence in sentences]
    return sentence_of_nothing(lun.name, lun.worker.name, setup, parts)


def setups(cards: Sequence[LunCard]) -> list[tuple[Worker, WorkerSetup]]:
    """The workers of these LUNs that set themselves up, or failed to."""
    workers = {card.lun.worker_id: card.lun.worker for card in cards}
    pairs = [(worker, availability.setup(worker)) for worker in workers.values()]
    return [(worker, setup) for worker, setup in pairs if setup is not None]


def refresh_every_s(cards: Sequence[LunCard]) -> int:
    """How often the form asks whether anything is another, in seconds."""
    if any(setup.is_running for _, setup in setups(cards)):
        return SETUP_EVERY_S
    return IDLE_EVERY_S if any(not card.problems for card in cards) else BUSY_EVERY_S


def digest(cards: Sequence[LunCard]) -> str:
    """Another one when the form would show something else; not with every heartbeat."""
    parts = []
    for card in cards:
        lun, worker = card.lun, card.lun.worker
        # What the form shows, and no more: a worker also says how far it is with this and that.
        capabilities = {key: worker.capabilities.get(key) for key in _SHOWN}
        setup, guest = availability.setup(worker), availability.guest(worker)
        kernels = [replace(kernel, boot_s=None) for kernel in guest.kernels] if guest else []
        parts.append(
            [
                [lun.pk, lun.name, lun.role, lun.kind, lun.device, lun.size_bytes, lun.identity],
                [lun.schedulers, lun.can_discard, card.waiting, lun.problem, lun.other_use],
                [bool(card.silent_since), worker.is_drained, bool(card.problems)],
                [worker.name, worker.executor, capabilities, setup.state if setup else ""],
                [guest.is_usable, guest.reason, guest.accelerator_reason] if guest else [],
                [guest.most_memory_bytes, guest.most_cpus] if guest else [],
                [repr(kernel) for kernel in kernels],
            ]
        )
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def suggested_filesystems(
    problems: Mapping[str, Sequence[str]], ticked: Sequence[str] = ()
) -> list[str]:
    """The file systems to tick, by slug, of the offered ones that have no problem.

    ``ticked`` were suggested before.
    """
    if ticked and not any(problems.get(slug) for slug in ticked):
        return list(ticked)
    offered = [
        slug
        for slug in dict.fromkeys((*_FILESYSTEMS, *problems))
        if slug in problems and slug not in _FOR_THOSE_WHO_ASK
    ]
    return [slug for slug in offered if not problems[slug]][:MOST_FILESYSTEMS]


def suggested_workloads(
    problems: Mapping[str, Sequence[str]], ticked: Sequence[str] = ()
) -> list[str]:
    """The preset to tick, of those that have no problem; none that takes hours."""
    if ticked and all(slug in problems and not problems[slug] for slug in ticked):
        return list(ticked)
    return [slug for slug in USUAL_WORKLOADS if slug in problems and not problems[slug]][:1]


def sentence_of_nothing(
    place: str, worker: str, setup: WorkerSetup | None, problems: Sequence[str]
) -> str:
    """One sentence: why nothing can run on ``place``, and what to do. The first problem counts."""
    if setup is not None and setup.is_running:
        return (
            f"Nothing can be run on {place} yet: {worker} sets itself up "
            f"({setup.title[:1].lower()}{setup.title[1:]}), and this form shows what can be run "
            "as soon as that has ended."
        )
    if setup is not None and setup.command:
        return (
            f"Nothing can be run on {place} yet: {worker} lacks what the workloads need; run "
            f"`{setup.command}` on its host, and this form shows what can be run then."
        )
    if problems:
        return f"Nothing can be run on {place} now: {problems[0]}"
    return (
        f"Nothing can be run on {place} now, and {worker} does not say why: look at its page "
        f"(/workers/{worker}/), or choose another LUN."
    )
