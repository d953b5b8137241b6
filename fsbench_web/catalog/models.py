"""What a benchmark is run on, and with which settings."""

from dataclasses import dataclass

from django.conf import settings
from django.db import models
from django.utils import timezone

from fsbench_web.accounts import rights

PATH_LABEL = "Path on the host"
"""Of a LUN's path in what workers announce and write down (runner.worker)."""
NOT_TOLD = "Only people who may run on it see why."


class HardwareProfile(models.Model):
    """Server, CPU, memory, array and disks; entered by hand or captured by a worker."""

    slug = models.SlugField(unique=True, max_length=100)
    name = models.CharField(max_length=200)
    facts = models.JSONField(
        default=list, help_text="What is known, in reading order: [[label, value], ...]"
    )
    source = models.CharField(
        max_length=200, blank=True, help_text="Who says so: a paper, a person, a worker"
    )
    deliverable_kb_s = models.FloatField(
        null=True, help_text="What its storage can deliver at most, as somebody stated it; KB/s"
    )

    price = models.FloatField(
        null=True, help_text="What it cost, as somebody stated it, in ``price_currency``"
    )
    price_currency = models.CharField(max_length=3, blank=True, default="", db_default="")
    price_years = models.FloatField(
        null=True, help_text="Years of use that the price is spread over, as somebody stated them"
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Environment(models.Model):
    """OS, kernel and tool versions, captured with a run. The same facts are stored once."""

    digest = models.CharField(max_length=64, unique=True)
    kernel = models.CharField(max_length=200, blank=True)
    distribution = models.CharField(max_length=200, blank=True)
    facts = models.JSONField(default=dict, help_text="{section: [[label, value], ...]}")

    def __str__(self) -> str:
        return f"{self.distribution} {self.kernel}".strip() or "unknown environment"

    @property
    def shown_facts(self) -> dict[str, list[list[str]]]:
        """``facts`` without the paths of LUNs on their hosts: runs are for all readers."""
        return without_paths(self.facts)


def without_paths(facts: dict[str, list[list[str]]]) -> dict[str, list[list[str]]]:
    """Facts of an environment without the paths of LUNs on their hosts."""
    return {
        section: [row for row in rows if row[0] != PATH_LABEL] for section, rows in facts.items()
    }


class FilesystemConfiguration(models.Model):
    """One file system with its options, I/O scheduler, journal placement and stack.

    One with unknown options (a published score, a mere label) is never run.
    """

    digest = models.CharField(max_length=64, unique=True)
    label = models.CharField(max_length=250, help_text="As in the paper: ext3_wb_noatime_dl_xj")
    filesystem = models.SlugField(max_length=40)
    options = models.JSONField(default=dict)
    scheduler = models.CharField(max_length=40, blank=True)
    external_journal = models.BooleanField(default=False)
    stack = models.JSONField(
        default=dict,
        db_default={},
        help_text="How many LUNs it stands on, catalog.configurations.stacks; empty: one",
    )
    is_known = models.BooleanField(default=True)

    class Meta:
        ordering = ["filesystem", "label"]
        indexes = [models.Index(fields=["filesystem", "label"])]

    def __str__(self) -> str:
        return self.label


class Workload(models.Model):
    """A benchmark tool with its parameters (units are in the parameters' names)."""

    slug = models.SlugField(unique=True, max_length=100)
    title = models.CharField(max_length=200)
    tool = models.SlugField(max_length=40)
    parameters = models.JSONField(default=dict)
    description = models.TextField(blank=True)

    class Meta:
        ordering = ["title"]

    def __str__(self) -> str:
        return self.title


class OwnWorkload(models.Model):
    """One version of an uploaded workload; nothing but ``is_withdrawn`` ever changes."""

    class Kind(models.TextChoices):
        FIO = "fio", "Job file of fio"
        COMMAND = "command", "Command"

    slug = models.SlugField(max_length=60)
    version = models.PositiveIntegerField()
    title = models.CharField(max_length=150)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    text = models.TextField()
    parser = models.CharField(max_length=40)
    space_mb = models.PositiveBigIntegerField(
        help_text="room on the file system, MB of 1024² bytes"
    )
    is_withdrawn = models.BooleanField(default=False, help_text="not offered any more")
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ["slug", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["slug", "version"], name="own_workload_version")
        ]

    def __str__(self) -> str:
        return f"{self.title}, version {self.version}"


class Worker(models.Model):
    """A worker host as it announced itself (``catalog.workers.announce``).

    Only ``catalog.workers.maintenance`` writes ``drained_at`` and ``drained_by``.
    """

    name = models.SlugField(unique=True, max_length=100)
    executor = models.CharField(max_length=20)
    capabilities = models.JSONField(
        default=dict,
        help_text="filesystems, schedulers, tools, kernel; see catalog.announce",
    )
    hardware = models.ForeignKey(HardwareProfile, null=True, on_delete=models.SET_NULL)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    drained_at = models.DateTimeField(
        null=True, help_text="Set: it finishes what runs and takes nothing new"
    )
    drained_by = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def is_drained(self) -> bool:
        return self.drained_at is not None

    @property
    def queue(self) -> str:
        """The Celery queue that this host alone listens to."""
        return f"host.{self.name}"


@dataclass(frozen=True)
class OtherUse:
    """The worker and run that has the disk; None where the caller must not see that run."""

    worker: str
    run: int | None


class Lun(models.Model):
    """A device, sparse file, directory or mount that a worker's own file lists as free to erase.

    The rows are never the permission: the worker reads its file again before it erases.
    """

    class Role(models.TextChoices):
        DATA = "data"
        JOURNAL = "journal"

    class Kind(models.TextChoices):
        DEVICE = "device"
        SPARSE_FILE = "sparse-file"
        DIRECTORY = "directory"
        MOUNT = "mount"

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="luns")
    name = models.SlugField(max_length=60)
    role = models.CharField(max_length=10, choices=Role)
    kind = models.CharField(max_length=20, choices=Kind)
    device = models.CharField(max_length=300, help_text="The path that commands will name")
    identity = models.JSONField(
        default=list, help_text="How a person recognises it: [[label, value], ...]"
    )
    fingerprint = models.JSONField(
        default=dict,
        help_text="What tells it from another device of its name (catalog.lun_identity)",
    )
    size_bytes = models.BigIntegerField(null=True)
    controller = models.CharField(
        max_length=200, blank=True, help_text="One run at a time on all LUNs of it; empty: unknown"
    )
    schedulers = models.JSONField(default=list)
    scheduler = models.CharField(
        max_length=30, blank=True, help_text="In effect while no run uses it; empty: not known"
    )
    can_discard = models.BooleanField(default=False, help_text="Takes discard (TRIM)")
    problem = models.TextField(blank=True, help_text="Why it cannot be used now; empty: usable")
    is_listed = models.BooleanField(default=True, help_text="Still in the host's file")
    announced_at = models.DateTimeField()

    other_use: OtherUse | None = None
    """Of its disk by another worker's run; set by ``catalog.workers.shared_disks`` alone."""

    class Meta:
        ordering = ["worker__name", "name"]
        constraints = [
            models.UniqueConstraint(fields=["worker", "name"], name="lun_name_unique_on_worker")
        ]

    def __str__(self) -> str:
        return f"{self.name} on {self.worker}"

    @property
    def is_folder(self) -> bool:
        """Files are written where a file system is already: none is made, nothing is erased."""
        return self.kind in (self.Kind.DIRECTORY, self.Kind.MOUNT)

    @property
    def shown_device(self) -> str:
        """``device`` for who may run on it; empty for others: it says how the host is laid out."""
        return self.device if rights.may_run_here_on(self.pk) else ""

    @property
    def shown_identity(self) -> list[list[str]]:
        """``identity`` for who asks: without paths where ``shown_device`` is empty."""
        if rights.may_run_here_on(self.pk):
            return list(self.identity)
        return [row for row in self.identity if not str(row[1]).startswith("/")]

    @property
    def shown_problem(self) -> str:
        """``problem`` for who asks: workers name paths in it."""
        if not self.problem or rights.may_run_here_on(self.pk):
            return self.problem
        return NOT_TOLD

    @property
    def recognised_by(self) -> list[list[str]]:
        """``shown_identity`` without what ``device`` says already: pages show both together."""
        listed = "File" if self.kind == self.Kind.SPARSE_FILE else "Path in the host's list"
        return [
            [listed if label == PATH_LABEL else label, value]
            for label, value in self.shown_identity
            if value != self.device
        ]
