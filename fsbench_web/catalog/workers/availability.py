"""What can be run where, by what the workers announced: sentences that say what to do."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from fsbench_web.catalog.configurations import as_mounted
from fsbench_web.catalog.configurations.commands import durability
from fsbench_web.catalog.configurations.filesystems import (
    ALL,
    FILESYSTEMS,
    ZFS,
    Filesystem,
    OptionError,
    external_journal,
)
from fsbench_web.catalog.configurations.labels import canonical_scheduler
from fsbench_web.catalog.configurations.layers import Layer, programs_of
from fsbench_web.catalog.configurations.networks import network_of
from fsbench_web.catalog.configurations.stacks import DATA
from fsbench_web.catalog.configurations.zfs import HOW_TO_GET_ZFS
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.machines import GuestAbility, GuestKernel, guest_ability
from fsbench_web.catalog.workers.setup import WorkerSetup, worker_setup
from fsbench_web.core.numbers import size
from fsbench_web.core.workloads.own import ALLOWED_PREFIX
from fsbench_web.platform import clock

# Pages of this site, with docs/operating.md and docs/guest.md; the API says these sentences too.
LISTING = "/guide/operating/#what-a-worker-may-touch of this site"
_STARTING = "/guide/operating/#starting-and-stopping of this site"
_GUESTS = "/guide/guest/#setting-it-up of this site"
# What Debian's kernel mounts in a guest, and many a host's kernel has not.
_OF_GUESTS = ("jfs", "reiser3", "f2fs", "nilfs2", "exfat")


def is_alive(worker: Worker, now: datetime | None = None) -> bool:
    """Whether the worker sent a heartbeat lately (FSBENCH_WORKER_SILENT_AFTER_S)."""
    silent_after = timedelta(seconds=settings.WORKER_SILENT_AFTER_S)
    return worker.seen_at >= (now or clock.now()) - silent_after


def kernel(worker: Worker) -> str:
    """The kernel that the worker announced, or "" when it did not."""
    return str(worker.capabilities.get("kernel") or "")


def distribution(worker: Worker) -> str:
    """The distribution that the worker announced, or ""."""
    return str(worker.capabilities.get("distribution") or "")


def setup(worker: Worker) -> WorkerSetup | None:
    """What the worker sets up automatically; None where it says nothing, or is silent."""
    return worker_setup(worker.capabilities) if is_alive(worker) else None


def worker_problems(worker: Worker) -> Iterator[str]:
    """Why no run can start on this worker now."""
    if not is_alive(worker):
        yield (
            f"The worker {worker.name} has sent no heartbeat for "
            f"{clock.elapsed(worker.seen_at)}: start it on its host ({_STARTING}), then submit "
            "again."
        )
    if worker.drained_at is not None:
        by = f" by {worker.drained_by}" if worker.drained_by else ""
        at = f"{timezone.localtime(worker.drained_at):%Y-%m-%d at %H:%M}"
        yield (
            f"The worker {worker.name} was drained for maintenance{by} "
            f"on {at} and takes no run: resume it on its page (/workers/{worker.name}/), or choose "
            "a LUN of another worker."
        )
    if not worker.capabilities.get("is_usable", True):
        yield str(worker.capabilities.get("reason") or f"The worker {worker.name} cannot run now.")


def lun_problems(lun: Lun) -> Iterator[str]:
    """Why this LUN cannot take a run now, its worker's reasons included."""
    yield from worker_problems(lun.worker)
    yield from listing_problems(lun)
    if lun.role != Lun.Role.DATA:
        yield (
            f"{lun.name} is set aside for external journals: choose a LUN with the role data, or "
            f"change its role in the LUN file of the worker {lun.worker.name}."
        )


def listing_problems(lun: Lun) -> Iterator[str]:
    """Why it cannot be used now, as its worker's LUN file has it."""
    if not lun.is_listed:
        yield (
            f"{lun.name} is no longer in the LUN file of the worker {lun.worker.name}: choose "
            f"another LUN, or list it there again ({LISTING})."
        )
    elif lun.problem:
        yield f"{lun.name} cannot be used now: {lun.shown_problem}"


def layer_problems(worker: Worker, layers: Iterable[Layer], kernel: GuestKernel) -> Iterator[str]:
    """Why these layers cannot be made in a guest of this kernel."""
    for layer in layers:
        yield from _missing_modules(kernel, layer.modules, layer.words, "the layer")
    yield from _missing_in_image(worker, programs_of(layers), "stacks have layers")


def served_problems(
    worker: Worker, options: Mapping[str, object], kernel: GuestKernel | None
) -> Iterator[str]:
    """Why a network cannot serve a file system so. ``kernel`` is the guest's; None: no guest."""
    network = network_of(options)
    if network is None:
        return
    if kernel is None:
        yield network.only_in_guests
        return
    yield from _missing_modules(
        kernel, network.modules, f"{network.name} over loop-back", network.name
    )
    yield from _missing_in_image(worker, network.programs, f"it serves {network.name}")


def crash_problems(kernel: GuestKernel) -> Iterator[str]:
    """Why crash points cannot be tried in a guest of this kernel."""
    yield from _missing_modules(kernel, durability.MODULES, "crash points", "them")


def _missing_modules(
    kernel: GuestKernel, modules: Iterable[str], purpose: str, left_out: str
) -> Iterator[str]:
    missing = [name for name in modules if name not in kernel.layers]
    if missing:
        yield (
            f"The guest kernel {kernel.name} has no {', '.join(missing)} for {purpose}: "
            f"choose another kernel, or leave {left_out} out."
        )


def _missing_in_image(worker: Worker, programs: Iterable[str], since: str) -> Iterator[str]:
    """Of the image: a worker without containers says what its host has."""
    for program in programs if worker.executor == "docker" else ():
        if sentence := missing_tool(worker, program):
            yield f"{sentence} The benchmark image has it since {since}: rebuild it."


def guest(worker: Worker) -> GuestAbility | None:
    """What the worker announced of its guest kernels; None where it said nothing."""
    return guest_ability(worker.capabilities)


def guest_problems(lun: Lun) -> Iterator[str]:
    """Why no run on this LUN can be a guest's."""
    worker, ability = lun.worker, guest(lun.worker)
    if ability is None:
        yield (
            f"The worker {worker.name} does not say that it can boot guest kernels: choose its own "
            f"executor, or set up guests on its host ({_GUESTS})."
        )
    elif not ability.is_usable:
        yield ability.reason or (
            f"The worker {worker.name} cannot boot guests now: choose its own executor."
        )
    elif not ability.usable_kernels:
        yield (
            f"No kernel of the worker {worker.name} can be booted as a guest: put one into its "
            f"folder of kernels ({_GUESTS}), or choose its own executor."
        )
    if lun.is_folder:
        yield (
            f"{lun.name} is a {lun.kind}, and a guest is given a disk: choose a LUN that is a "
            "device or a sparse file, or the worker's own executor."
        )


def kernel_problem(worker: Worker, name: str) -> str:
    """Why this worker cannot boot the kernel of this name, or ""."""
    ability = guest(worker)
    kernel = ability.kernel(name) if ability else None
    if kernel is not None:
        return kernel.problem
    names = ", ".join(guest_kernel.name for guest_kernel in ability.kernels) if ability else ""
    return f'The worker {worker.name} has no kernel "{name}" for guests; it has {names or "none"}.'


def configuration_problems(
    lun: Lun,
    filesystem: str,
    options: Mapping[str, object],
    scheduler: str,
    layers: Iterable[Layer] = (),
    kernel: GuestKernel | None = None,
) -> Iterator[tuple[str, str]]:
    """(part, sentence): what of a configuration cannot be on this LUN; "" is the whole of it.

    ``kernel`` is the guest's; None: the worker's own executor, which makes no layers.
    """
    for sentence in filesystem_problems(lun, filesystem, kernel):
        yield "filesystem", sentence
    for sentence in layer_problems(lun.worker, layers, kernel) if kernel is not None else ():
        yield "stack", sentence
    for sentence in served_problems(lun.worker, options, kernel):
        yield "", sentence
    if sentence := scheduler_problem(lun, scheduler, kernel):
        yield "scheduler", sentence


def filesystem_problems(lun: Lun, slug: str, kernel: GuestKernel | None = None) -> Iterator[str]:
    """Why this LUN's worker cannot make this file system. ``kernel`` is the guest's, if any."""
    spec, worker = ALL[slug], lun.worker
    if lun.kind == Lun.Kind.MOUNT:
        yield from _mount_problems(lun, spec)
        return
    if spec.is_as_mounted:
        yield (
            f"{spec.name} is measured where a host has mounted it, and {lun.name} is not a mount: "
            'choose a LUN of the kind mount, or list one with kind = "mount".'
        )
        return
    if lun.is_folder and spec.is_raw:
        yield (
            f"{lun.name} is a {lun.kind}, and the raw device is a disk: choose a LUN that is a "
            "device or a sparse file."
        )
        return
    if lun.is_folder:
        filesystem = directory_filesystem(lun)
        if filesystem != spec.kernel_name:
            yield (
                f"{lun.name} is a directory on {filesystem or 'a file system that is not known'}, "
                f"and {spec.name} is not made there: choose a LUN that is a device or a sparse "
                "file."
            )
        return
    if spec.is_raw:
        pass  # nothing is made or mounted
    elif kernel is not None:
        if not kernel.mounts(slug):
            yield _not_mounted(spec.name, kernel, slug)
    elif (ability := worker.capabilities.get("filesystems", {}).get(slug)) is None:
        yield (
            f"The worker {worker.name} does not say that it can make {spec.name}: it is of another "
            "version of fsbench. Bring it up to date, or choose another file system."
        )
    elif not ability.get("usable"):
        text = str(ability.get("reason") or "").strip() or (
            f"The worker {worker.name} cannot mount {spec.name}: choose another file system."
        )
        yield f"{text}{_guests_that_mount(worker, spec.name, slug)}"
    if lun.size_bytes is not None and lun.size_bytes < spec.minimum_bytes:
        yield (
            f"{spec.name} needs {size(spec.minimum_bytes)} or more, and {lun.name} has "
            f"{size(lun.size_bytes)}: choose a larger LUN or leave {spec.name} out."
        )


def mounted_contender(lun: Lun) -> as_mounted.Contender | None:
    """What is mounted at a LUN of the kind mount, as its worker announced it; None: no such."""
    if lun.kind != Lun.Kind.MOUNT:
        return None
    values = {str(label): str(value) for label, value in lun.identity}
    try:
        return as_mounted.contender(values.get("File system", ""), values.get("Mount options", ""))
    except OptionError:
        return None


def _mount_problems(lun: Lun, spec: Filesystem) -> Iterator[str]:
    contender = mounted_contender(lun)
    if contender is None:
        yield f"What is mounted at {lun.name} is not known now: its LUN's page says why."
    elif contender.filesystem != spec.slug:
        yield (
            f"{lun.name} is a mount of {ALL[contender.filesystem].name}, and {spec.name} is not "
            f"made there: choose {contender.filesystem}, or a LUN that is a device or a sparse "
            "file."
        )


def _not_mounted(name: str, kernel: GuestKernel, slug: str) -> str:
    text = str(kernel.filesystems.get(slug, {}).get("reason") or "").strip()
    text = text or (
        f"The guest kernel {kernel.name} cannot mount {name}: choose another kernel, or leave "
        f"{name} out."
    )
    # No kernel of a distribution has it: its modules are built.
    return f"{text} {HOW_TO_GET_ZFS}" if slug == ZFS else text


def _guests_that_mount(worker: Worker, name: str, slug: str) -> str:
    """Which guest kernels of a worker can what its host cannot; "" where none can."""
    ability = guest(worker)
    kernel_names = (
        [kernel.name for kernel in ability.usable_kernels if kernel.mounts(slug)] if ability else []
    )
    if not kernel_names:
        return _kernel_to_fetch(worker, name, slug, ability)
    subject = (
        f"the guest kernel {kernel_names[0]} mounts"
        if len(kernel_names) == 1
        else f"the guest kernels {', '.join(kernel_names)} mount"
    )
    return f" But {subject} {name}: choose a guest as the executor."


def _kernel_to_fetch(worker: Worker, name: str, slug: str, ability: GuestAbility | None) -> str:
    """How a worker gets a guest kernel that mounts what its host does not; "" where none helps."""
    if slug not in _OF_GUESTS or ability is None or ability.is_trying:
        return ""
    instruction = "the operator of its host calls manage.py guest_kernel there"
    if not ability.why_not_fetch:
        instruction = (
            f"an administrator presses “Fetch a kernel” on the page of {worker.name}, or calls "
            "manage.py guest_kernel on its host"
        )
    needs = "" if worker.executor == "docker" else " Guests need Docker and the benchmark image."
    return f" A guest with Debian's kernel mounts {name}: {instruction}.{needs}"


def directory_filesystem(lun: Lun) -> str:
    """The file system that a directory LUN lies on, as its worker announced it, or ""."""
    return next((str(value) for label, value in lun.identity if label == "File system"), "")


def scheduler_problem(lun: Lun, scheduler: str, kernel: GuestKernel | None = None) -> str:
    """Why this LUN, or a guest of this ``kernel``, does not take the I/O scheduler, or ""."""
    if kernel is not None:
        return _guest_scheduler_problem(kernel, scheduler)
    if lun.schedulers and not scheduler:
        # The device would keep the scheduler of whatever run came before: that is no setting.
        return f"Choose an I/O scheduler for {lun.name}: {', '.join(lun.schedulers)}."
    if scheduler and not lun.schedulers:
        return f"{lun.name} has no I/O scheduler to set: leave the scheduler out."
    if scheduler and scheduler not in lun.schedulers:
        return (
            f'{lun.name} has no I/O scheduler "{scheduler}": choose one of '
            f"{', '.join(lun.schedulers)}."
        )
    return ""


def _guest_scheduler_problem(kernel: GuestKernel, scheduler: str) -> str:
    offered = ", ".join(kernel.schedulers)
    if kernel.schedulers and not scheduler:
        return f"Choose an I/O scheduler of the guest kernel {kernel.name}: {offered}."
    if scheduler and canonical_scheduler(scheduler) not in kernel.elevators:
        return f'The guest kernel {kernel.name} has no I/O scheduler "{scheduler}"' + (
            f": choose one of {offered}." if offered else ": leave the scheduler out."
        )
    return ""


def missing_tools(worker: Worker, tools: Iterable[str]) -> Iterator[str]:
    """The tools that the worker lacks, a sentence each."""
    yield from filter(None, (missing_tool(worker, tool) for tool in tools))


def missing_tool(worker: Worker, tool: str) -> str:
    """Why this worker cannot run this benchmark tool, or ""."""
    ability = worker.capabilities.get("tools", {}).get(tool)
    if ability is None and tool.startswith(ALLOWED_PREFIX):
        return (
            f"The worker {worker.name} does not let uploaded commands call "
            f"{tool.removeprefix(ALLOWED_PREFIX)}. The host's administrator can add it to "
            "FSBENCH_OWN_PROGRAMS there and restart the worker."
        )
    if ability is None:
        return (
            f"The worker {worker.name} does not say that it has {tool}: it does not know a "
            "workload that needs it. Install the same version of fsbench, and the package that "
            "brings the workload, there."
        )
    if ability.get("usable"):
        return ""
    reason = str(ability.get("reason") or "").strip()
    package = ability.get("package")
    if reason:
        return reason
    install = f": install the package {package} there" if package else ""
    return f"The worker {worker.name} has no {tool}{install}."


def tracer_problem(lun: Lun, slug: str) -> str:
    """Why runs on this LUN cannot be traced so (core.traces.tracers), or ""."""
    if lun.is_folder:
        kind = "a directory" if lun.kind == Lun.Kind.DIRECTORY else "a mount"
        return (
            f"{lun.name} is {kind}, and runs are traced on a device: choose a LUN on which file "
            "systems are made, or leave tracing out."
        )
    ability = lun.worker.capabilities.get("tracing", {}).get(slug)
    if ability is None:
        return (
            f"The worker {lun.worker.name} does not say that it can trace: it is of another "
            "version of fsbench. Bring it up to date, or leave tracing out."
        )
    if ability.get("usable"):
        return ""
    return str(ability.get("reason") or f"The worker {lun.worker.name} cannot trace {slug}.")


def journal_luns(worker: Worker) -> list[Lun]:
    """The LUNs of this worker that may keep a journal, by name."""
    return list(worker.luns.filter(role=Lun.Role.JOURNAL, is_listed=True).order_by("name"))


def journal_problems(lun: Lun, journal: Lun, slug: str) -> Iterator[str]:
    """Why a file system (of ``FILESYSTEMS``) on ``lun`` cannot keep its journal on ``journal``."""
    try:
        external = external_journal(slug)
    except OptionError as error:
        yield str(error)
        return
    if lun.is_folder:
        yield (
            f"{lun.name} is a {lun.kind} on a file system that has its journal already: choose a "
            "LUN that is a device or a sparse file, or leave the journal out."
        )
    if journal.role != Lun.Role.JOURNAL:
        yield (
            f"{journal.name} is a LUN for data: choose one that the LUN file of the worker "
            f'{lun.worker.name} lists with role = "journal" ({LISTING}).'
        )
    yield from listing_problems(journal)
    if journal.size_bytes is not None and journal.size_bytes < external.minimum_bytes:
        yield (
            f"A journal of {FILESYSTEMS[slug].name} needs {size(external.minimum_bytes)} or more, "
            f"and {journal.name} has {size(journal.size_bytes)}: choose a larger LUN for it."
        )


def member_luns(lun: Lun) -> list[Lun]:
    """The LUNs of this LUN's worker that a stack on it may have besides, by name."""
    if lun.is_folder:
        return []
    others = lun.worker.luns.filter(is_listed=True).order_by("name")
    return [other for other in others if other.pk != lun.pk and not other.is_folder]


def member_problems(lun: Lun, member: Lun, role: str) -> Iterator[str]:
    """Why ``member`` cannot have this role in a stack on ``lun``."""
    if member.pk == lun.pk:
        yield f"{lun.name} is measured itself: name other LUNs in its stack."
        return
    if lun.is_folder or member.is_folder:
        yield (
            "A stack is made of disks, and one of its LUNs is a directory or mount: choose LUNs "
            "that are devices or sparse files."
        )
        return
    yield from listing_problems(member)
    is_set_aside = member.role == Lun.Role.JOURNAL
    if is_set_aside == (role == DATA):
        wanted = "data" if role == DATA else "journal"
        yield (
            f"{member.name} is listed with the role {member.role}, and a LUN for the {role} of a "
            f'stack must have role = "{wanted}" in the LUN file of the worker {lun.worker.name} '
            f"({LISTING})."
        )
