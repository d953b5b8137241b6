"""Studies, and the series of their runs."""

from collections.abc import Collection
from functools import cached_property

from django.conf import settings
from django.db import models
from django.db.models import Q

from fsbench_web.accounts.models import Team, Visibility
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile, Lun, Workload
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.formats.result import TOOLS_OF_TRIALS
from fsbench_web.platform import clock
from fsbench_web.studies.visibility import Visible


class Study(models.Model):
    """A named set of runs that belong together: a paper, a campaign."""

    slug = models.SlugField(unique=True, max_length=100)
    title = models.CharField(max_length=200)
    summary = models.TextField(blank=True)
    is_published = models.BooleanField(
        default=False, help_text="A paper whose facts ship with fsbench; takes no further runs"
    )
    authors = models.CharField(max_length=300, blank=True)
    organisation = models.CharField(max_length=200, blank=True)
    published_on = models.CharField(
        max_length=10, blank=True, help_text="As precise as the paper is: 2005-12"
    )
    sections = models.JSONField(
        default=list, help_text="What the study says of itself; see studies.published"
    )
    systems = models.ManyToManyField(
        HardwareProfile,
        related_name="studies",
        help_text="The hardware that a paper names; of runs, their series know it",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = clock.CreatedAt()
    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.PROTECT, related_name="studies"
    )
    visibility = models.CharField(
        max_length=10, choices=Visibility, default=Visibility.PUBLIC, db_default=Visibility.PUBLIC
    )

    tags = models.CharField(
        max_length=400, blank=True, db_default="", help_text="Sorted, as ``,nvme,release,``"
    )
    is_archived = models.BooleanField(
        default=False, db_default=False, help_text="Lists leave it out unless asked"
    )

    study_path = "pk"
    objects = Visible()

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-is_published", "title"]
        constraints = [
            models.CheckConstraint(
                condition=Q(visibility__in=Visibility.values), name="study_visibility_is_known"
            ),
            models.CheckConstraint(
                condition=Q(is_published=False) | Q(visibility=Visibility.PUBLIC),
                name="study_published_is_public",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def tag_names(self) -> list[str]:
        return [tag for tag in self.tags.split(",") if tag]


def client_luns(named: Collection[tuple[str, str]]) -> list[Lun]:
    """The LUNs of (worker, LUN) by name, those that are known, by worker. No query of none."""
    wanted = Q()
    for worker, lun in named:
        wanted |= Q(worker__name=worker, name=lun)
    luns = Lun.objects.filter(wanted).select_related("worker") if named else []
    return sorted(luns, key=lambda lun: lun.worker.name)


class Series(models.Model):
    """The repeats of one configuration in one study, with the same workload, hardware, LUNs, kernel
    and machine. ``key`` is a digest of these: unique constraints ignore nulls.
    """

    key = models.CharField(max_length=64, unique=True)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="series")
    configuration = models.ForeignKey(FilesystemConfiguration, on_delete=models.PROTECT)
    workload = models.ForeignKey(Workload, null=True, on_delete=models.PROTECT)
    hardware = models.ForeignKey(HardwareProfile, null=True, on_delete=models.PROTECT)
    lun = models.ForeignKey(Lun, null=True, on_delete=models.SET_NULL)
    journal_lun = models.ForeignKey(
        Lun,
        null=True,
        on_delete=models.SET_NULL,
        related_name="journal_series",
        help_text="Where the journal is kept; null: on the LUN itself",
    )
    stack_luns = models.CharField(
        max_length=2000,
        blank=True,
        db_default="",
        help_text="The names of the other LUNs of its stack by role, as ``members`` has them",
    )
    kernel = models.CharField(max_length=200, blank=True)
    distribution = models.CharField(max_length=200, blank=True)
    preparation = models.JSONField(
        default=dict, help_text="catalog.preparation; empty: a new file system and nothing more"
    )
    machine = models.JSONField(
        default=dict, help_text="catalog.machines; empty: the worker's own executor"
    )
    quality = models.JSONField(
        null=True,
        help_text="What its cells were judged by, studies.quality; null: they never were",
    )

    study_path = "study"
    objects = Visible()

    class Meta:
        verbose_name_plural = "series"
        indexes = [models.Index(fields=["study", "configuration"])]

    def __str__(self) -> str:
        return f"{self.configuration} in {self.study}"

    @property
    def samples_are_trials(self) -> bool:
        """Whether what its tool prints with a mean are trials, not the intervals of one."""
        return self.workload is not None and self.workload.tool in TOOLS_OF_TRIALS

    @property
    def runs_on(self) -> Machine:
        """The guest that its runs are run in, or the worker's own executor."""
        return Machine.of(self.machine)

    @cached_property
    def members(self) -> list["StackLun"]:
        """The other LUNs of its stack, in their order. No query where there is none."""
        return list(self.stack.select_related("lun")) if self.stack_luns else []

    @property
    def luns(self) -> list[Lun]:
        """All that a run of it uses: its own first, then the journal's, then those of its stack."""
        luns = [self.lun, self.journal_lun, *(member.lun for member in self.members)]
        return [lun for lun in luns if lun is not None]

    @cached_property
    def clients(self) -> list[Lun]:
        """The LUNs of the other workers that measure with it. No query where it measures alone."""
        return client_luns(self.runs_on.clients)

    @property
    def leased(self) -> list[Lun]:
        """All that a run of it has for itself: its LUNs, and those of the other clients."""
        return [*self.luns, *self.clients]


class StackLun(models.Model):
    """A further LUN of a series' stack, in its role; ``studies.series`` writes them."""

    series = models.ForeignKey(Series, on_delete=models.CASCADE, related_name="stack")
    lun = models.ForeignKey(
        Lun, null=True, on_delete=models.SET_NULL, related_name="stacks", help_text="null: gone"
    )
    role = models.CharField(max_length=10, help_text="catalog.configurations.stacks.ROLES")
    place = models.PositiveSmallIntegerField()

    study_path = "series__study"
    objects = Visible()

    class Meta:
        ordering = ["series", "place"]
        constraints = [
            models.UniqueConstraint(fields=["series", "place"], name="stack_lun_place_unique")
        ]

    def __str__(self) -> str:
        return f"{self.lun} for {self.role} of {self.series}"
