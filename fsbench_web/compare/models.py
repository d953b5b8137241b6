"""Permalinks: a comparison as it was when somebody shared it."""

import secrets

from django.conf import settings
from django.db import models


def new_key() -> str:
    """Eleven characters that nobody can guess (64 bits)."""
    return secrets.token_urlsafe(8)


class Permalink(models.Model):
    """A short address with the numbers it showed.

    ``snapshot`` is JSON text of compare.permalinks and not a JSON column: a database may write
    numbers of a JSON column anew, and the checksum is of these very bytes.
    """

    key = models.CharField(max_length=20, unique=True, default=new_key)
    query = models.TextField(blank=True, help_text="The comparison's query string, canonical")
    snapshot = models.TextField(help_text="The tables as shown, with the runs behind them")
    sha256 = models.CharField(max_length=64, help_text="Of the snapshot's UTF-8 bytes")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["sha256"])]

    def __str__(self) -> str:
        return self.key
