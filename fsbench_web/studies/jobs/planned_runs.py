"""The runs that a checked job comes to, in turn, with the commands of each. No HTTP here."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fsbench_web.catalog.configurations.commands.run import run_commands
from fsbench_web.catalog.configurations.journals import JournalLun
from fsbench_web.catalog.configurations.planned import PlannedCommand
from fsbench_web.catalog.configurations.preparation import PLAIN, Preparation
from fsbench_web.catalog.configurations.stacks import PLAIN_SHAPE, LunCounts, Member
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers.machines import (
    GUEST_DEVICE,
    GUEST_JOURNAL_DEVICE,
    OWN_MACHINE,
    Machine,
    guest_devices,
)
from fsbench_web.catalog.workloads.stored import workload_title
from fsbench_web.core.workloads import MOUNT_POINT, Workload
from fsbench_web.studies.jobs.parts import ConfigurationSpec, Host, LeftOut
from fsbench_web.studies.models import Study, client_luns
from fsbench_web.studies.runs.windows.forecast import Window
from fsbench_web.studies.sequence import Slot
from runner.safety import lun_identity


@dataclass(frozen=True)
class PlannedRun:
    """One run as it will be: ``repeat`` counts from 1 within this job.

    ``workload`` is (preset, parameters), ``kernel`` the version of a guest's kernel, ``boot_s`` its
    seconds to boot and whether the worker measured them, ``members`` (role, LUN) of its stack.
    """

    repeat: int
    filesystem: str
    options: Mapping[str, str]
    scheduler: str
    configuration: str
    lun: Lun
    workload: tuple[str, Workload]
    is_reference: bool = False
    journal: Lun | None = None
    members: tuple[tuple[str, Lun], ...] = ()
    shape: LunCounts = PLAIN_SHAPE
    preparation: Preparation = PLAIN
    machine: Machine = OWN_MACHINE
    kernel: str = ""
    boot_s: tuple[float, bool] | None = None
    tracing: str = ""
    probe_s: int = 0
    crash_points: int = 0

    @cached_property
    def commands(self) -> list[PlannedCommand]:
        """What will be run, where it will be run: on the worker's host, or in the guest."""
        lun, journal, devices = self.lun, self.journal, [lun.device for _, lun in self.members]
        device, journal_device = lun.device, journal.device if journal else ""
        if self.machine.is_guest:
            device, journal_device = GUEST_DEVICE, GUEST_JOURNAL_DEVICE
            devices = guest_devices(len(self.members), journal is not None)
        return run_commands(
            self.filesystem,
            self.options,
            self.workload[1],
            device,
            device if lun.is_folder else MOUNT_POINT,
            not lun.is_folder,
            preparation=self.preparation,
            size_bytes=lun.size_bytes,
            journal=JournalLun(journal_device, journal.size_bytes) if journal else None,
            members=[
                Member(role, name, member.size_bytes)
                for (role, member), name in zip(self.members, devices, strict=True)
            ],
            layers=self.shape.layers,
            probe_s=self.probe_s,
            crash_points=self.crash_points,
        )

    @property
    def is_counted(self) -> bool:
        """Whether it is a repeat of a block: no reference, and no extra run."""
        return not (self.is_reference or self.tracing)

    @property
    def least_s(self) -> float | None:
        """Seconds before which it cannot end: its guest's boot and its workload's own times."""
        of_boot = self.boot_s[0] if self.boot_s else 0.0
        return (self.workload[1].least_s() or 0.0) + of_boot or None

    @property
    def workload_title(self) -> str:
        return workload_title(*self.workload)

    @property
    def shown_command(self) -> PlannedCommand:
        """What tells the run best: how its file system is made; in a directory, the benchmark."""
        mkfs_commands = [command for command in self.commands if command.phase == "mkfs"]
        return mkfs_commands[0] if mkfs_commands else self.commands[0]

    @property
    def erases(self) -> bool:
        """Whether it destroys what is on its LUN: in a folder other files stay."""
        return not self.lun.is_folder

    @property
    def erased(self) -> list[Lun]:
        if not self.erases:
            return []
        journal = [self.journal] if self.journal else []
        return [self.lun, *journal, *(lun for _, lun in self.members)]


@dataclass(frozen=True)
class Plan:
    """The runs of a job in turn, and the study (None: a new one).

    ``most_runs`` is how many there will be at most; ``window`` what the job's times leave out.
    """

    lun: Lun
    runs: list[PlannedRun]
    study: Study | None
    time_limit_s: int
    left_out: tuple[LeftOut, ...] = ()
    most_runs: int = 0
    window: Window | None = None

    @property
    def lun_names(self) -> list[str]:
        """All LUNs that are erased, the data LUN first, then journals, then those of stacks."""
        journals = (run.journal.name for run in self.runs if run.journal is not None)
        members = (lun.name for run in self.runs for _, lun in run.members)
        return list(dict.fromkeys([self.lun.name, *journals, *members]))

    @property
    def luns(self) -> list[Lun]:
        """All LUNs that it uses, each once: the data LUN first, those of other clients too."""
        luns = {run.journal.pk: run.journal for run in self.runs if run.journal is not None}
        luns |= {lun.pk: lun for run in self.runs for _, lun in run.members}
        luns |= {lun.pk: lun for run in self.runs[:1] for lun in client_luns(run.machine.clients)}
        luns.pop(self.lun.pk, None)
        return [self.lun, *(luns[key] for key in sorted(luns))]

    @property
    def device_digest(self) -> str:
        """One word for the devices behind these names, as the worker said them last."""
        return lun_identity.digest(lun.fingerprint for lun in self.luns)


def planned_run(
    slot: Slot,
    wanted: ConfigurationSpec | None,
    host: Host,
    workload: tuple[str, Workload],
    lun: Lun,
    preparation: Preparation,
    neighbours: Mapping[str, Lun],
    probe_s: int = 0,
    tracing: str = "",
    crash_points: int = 0,
) -> PlannedRun:
    """The run in this place of the sequence."""
    assert wanted is not None  # a slot of a reference is there only with a reference
    journal = neighbours[wanted.journal] if wanted.journal else None
    return PlannedRun(
        repeat=slot.repeat,
        filesystem=wanted.filesystem,
        options={key: str(value) for key, value in wanted.options.items()},
        scheduler=wanted.scheduler,
        configuration=wanted.label,
        lun=lun,
        journal=journal,
        members=tuple((role, neighbours[name]) for role, name in wanted.stack.members),
        shape=wanted.stack.shape,
        workload=workload,
        is_reference=slot.is_reference,
        tracing=tracing,
        preparation=preparation,
        machine=host.machine,
        kernel=host.kernel.version if host.kernel else "",
        boot_s=host.boot_s,
        probe_s=probe_s,
        crash_points=crash_points,
    )
