"""Imports: files that somebody looked at before they were stored, and what became of them."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from fsbench_web.accounts.models import Team
from fsbench_web.platform import clock
from fsbench_web.studies.models import Artefact, Run, Study
from fsbench_web.studies.visibility import Visible


class ImportState(models.TextChoices):
    """``accepted`` waits for the importer. ``received`` is of version 0.11, and expires after a
    day.
    """

    RECEIVED = "received"
    PREVIEWED = "previewed"
    ACCEPTED = "accepted"
    DONE = "done"
    FAILED = "failed"


class Import(models.Model):
    """One upload of one or more files. Until they are stored it holds them, for a day at most."""

    state = models.CharField(max_length=10, choices=ImportState, default=ImportState.PREVIEWED)
    study = models.ForeignKey(Study, null=True, on_delete=models.CASCADE, related_name="imports")
    target = models.JSONField(
        default=dict,
        help_text="As given: study, filesystem, configuration, hardware, source, licence",
    )
    runs = models.ManyToManyField(Run, related_name="imports")
    phase = models.CharField(max_length=60, blank=True, help_text="What the importer does now")
    progress = models.FloatField(default=0, help_text="0 to 1, of checking or of storing")
    report = models.JSONField(
        default=dict, help_text="What the importer found: runs, problems (imports.large)"
    )
    claimed_by = models.CharField(max_length=64, blank=True)
    claimed_until = models.DateTimeField(null=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = clock.CreatedAt()

    study_path = "study"
    objects = Visible()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=ImportState.values), name="import_state_is_known"
            )
        ]

    def __str__(self) -> str:
        return f"import {self.pk}"


class ImportFile(models.Model):
    """A file of an import that is not stored yet, kept so that what was previewed is stored."""

    import_of = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="files")
    path = models.CharField(max_length=500, help_text="A label: folders and name, as uploaded")
    content_gzip = models.BinaryField()
    size_bytes = models.BigIntegerField(help_text="Before compression")
    sha256 = models.CharField(max_length=64)
    problem = models.TextField(blank=True, help_text="Why its archive did not give it")
    given = models.JSONField(
        default=dict, help_text="What was said of it: filesystem, configuration, hardware, repeat"
    )
    guesses = models.JSONField(default=list, help_text="What of it was guessed, in sentences")
    mapping = models.JSONField(null=True, help_text="Which column is what (formats.mapping)")
    mapping_name = models.CharField(max_length=100, blank=True)
    is_left_out = models.BooleanField(default=False)

    class Meta:
        ordering = ["id"]


class ImportedFile(models.Model):
    """How a stored file was read, so that it can be read again."""

    import_of = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="imported_files")
    artefact = models.OneToOneField(Artefact, on_delete=models.CASCADE, related_name="imported")
    path = models.CharField(max_length=500)
    mapping = models.JSONField(null=True)
    beside = models.JSONField(
        default=dict, help_text="What job files said of its fio jobs: options, by file and job"
    )
    runs = models.JSONField(
        default=list,
        help_text="[[filesystem, configuration, hardware, repeat as the file says], run], ...]",
    )

    study_path = "import_of__study"
    objects = Visible()

    class Meta:
        ordering = ["id"]


class RunContent(models.Model):
    """A digest over a run's numbers, to know the same measurement again."""

    run = models.OneToOneField(
        Run, on_delete=models.CASCADE, primary_key=True, related_name="content"
    )
    digest = models.CharField(max_length=64, db_index=True)


class SavedMapping(models.Model):
    """Which column is what, kept by its author for the next table with the same header.

    It may name a private study: only its author and current members of ``team`` have it.
    """

    name = models.CharField(max_length=100)
    header_digest = models.CharField(max_length=64, db_index=True)
    mapping = models.JSONField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    team = models.ForeignKey(Team, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = clock.CreatedAt()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["created_by", "name"], name="mapping_unique_for_author")
        ]

    def __str__(self) -> str:
        return self.name


class SigningKey(models.Model):
    """A public key that a host of this installation signs sealed files with, or did."""

    key_id = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the public key")
    public_pem = models.TextField()
    created_at = clock.CreatedAt()
    retired_at = models.DateTimeField(null=True, help_text="Another key signs since")
    revoked_at = models.DateTimeField(null=True, help_text="Nobody should trust it any more")

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.key_id[:16]

    @property
    def state(self) -> str:
        """active, retired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        return "active" if self.retired_at is None else "retired"
