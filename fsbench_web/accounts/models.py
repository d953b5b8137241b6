"""What fsbench adds to Django's users: API tokens, and the memory of failed sign-ins."""

from django.conf import settings
from django.db import models


class ApiToken(models.Model):
    """A token that lets a program write in a user's name.

    Only the SHA-256 digest is stored: a copy of the database opens nothing. A plain digest is
    enough here because a token is 256 random bits, not a password that could be guessed.
    Revoking deletes the row.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=80, help_text="What it is for, so that it can be revoked")
    hint = models.CharField(max_length=12, help_text="Its first characters, to recognise it by")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="token_name_unique_for_user")
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"


class SignInAttempt(models.Model):
    """A sign-in that did not succeed, or is being checked now (accounts.throttle).

    ``key`` is a digest of user name and address: people type passwords into the name field.
    """

    key = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["key", "at"]), models.Index(fields=["at"])]
