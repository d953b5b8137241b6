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
