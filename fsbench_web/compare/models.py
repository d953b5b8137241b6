"""Permalinks: a comparison as it was when somebody shared it."""

import secrets

from django.conf import settings
from django.db import models
from django.db.models import Q


def new_key() -> str:
    """Eleven characters that nobody can guess (64 bits)."""
    return secrets.token_urlsafe(8)


class Visibility(models.TextChoices):
    """Who may see a permalink. compare.visibility is the one place that answers for a person."""

    PUBLIC = "public", "Anyone with the link"
    TEAM = "team", "People who are signed in"
    PRIVATE = "private", "Only me"


class Permalink(models.Model):
    """A short address with the numbers it showed.

    ``snapshot`` is JSON text of compare.permalinks and not a JSON column: a database may write
    numbers of a JSON column anew, and the checksum is of these very bytes.
    """

    key = models.CharField(max_length=20, unique=True, default=new_key)
    query = models.TextField(blank=True, help_text="The comparison's query string, canonical")
    snapshot = models.TextField(help_text="The tables as shown, with the runs behind them")
    sha256 = models.CharField(max_length=64, help_text="Of the snapshot's UTF-8 bytes")
    title = models.CharField(max_length=200, blank=True)
    note = models.TextField(blank=True, max_length=4000)
    visibility = models.CharField(
        max_length=10, choices=Visibility, default=Visibility.PUBLIC, db_default=Visibility.PUBLIC
    )
    expires_on = models.DateField(
        null=True, blank=True, help_text="The last day on which it opens; null: it stays"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["sha256"])]
        constraints = [
            models.CheckConstraint(
                condition=Q(visibility__in=Visibility.values),
                name="permalink_visibility_is_known",
            )
        ]

    def __str__(self) -> str:
        return self.key
