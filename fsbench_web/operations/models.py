"""What is known of the installation itself, apart from what people keep in it."""

from django.db import models


class Chore(models.Model):
    """Regular work that no person asks for, and when it was last done, by whichever process."""

    name = models.CharField(max_length=60, unique=True)
    done_at = models.DateTimeField(null=True, help_text="When it last succeeded")
    by = models.CharField(max_length=150, blank=True, help_text="Host or worker that did it")
    took_s = models.FloatField(null=True)
    failed_at = models.DateTimeField(null=True, help_text="When it last failed")
    problem = models.CharField(max_length=300, blank=True, help_text="Why; empty: it succeeded")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Backup(models.Model):
    """One that was begun (operations.backups). No backup has these rows in it."""

    began_at = models.DateTimeField(help_text="It has what was in the database then")
    ended_at = models.DateTimeField(
        null=True, help_text="When it was whole at its place, or failed; unset: it is under way"
    )
    place = models.CharField(max_length=500, help_text="Host and path, as whoever made it has them")
    version = models.CharField(max_length=50, help_text="Of fsbench")
    size_bytes = models.BigIntegerField(null=True)
    problem = models.CharField(max_length=300, blank=True, help_text="Why it failed")

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.place

    @property
    def is_whole(self) -> bool:
        return self.ended_at is not None and not self.problem
