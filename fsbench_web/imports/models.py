"""Imports: files that somebody looked at before they were stored, and what became of them."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from fsbench_web.studies.models import Run, Study


class ImportState(models.TextChoices):
    PREVIEWED = "previewed"
    DONE = "done"


class Import(models.Model):
    """One upload of one or more files. Previewed ones hold their files for a day, then go."""

    state = models.CharField(max_length=10, choices=ImportState, default=ImportState.PREVIEWED)
    study = models.ForeignKey(Study, null=True, on_delete=models.CASCADE, related_name="imports")
    target = models.JSONField(
        default=dict, help_text="As given: study, filesystem, configuration, hardware"
    )
    runs = models.ManyToManyField(Run, related_name="imports")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

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
    """A file of a previewed import, kept so that what was previewed is what is stored."""

    import_of = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=200)
    content_gzip = models.BinaryField()

    class Meta:
        ordering = ["id"]
