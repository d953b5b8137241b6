"""What fsbench adds to Django's users: roles, teams, grants, API tokens, the audit log."""

from datetime import datetime
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from fsbench_web.platform import clock


class Role(models.TextChoices):
    """Each may what the ones before it may (accounts.rights says what that is)."""

    VIEWER = "viewer", "Viewer"
    CONTRIBUTOR = "contributor", "Contributor"
    OPERATOR = "operator", "Operator"
    ADMINISTRATOR = "administrator", "Administrator"


class Visibility(models.TextChoices):
    """Who may see a study; accounts.rights answers for a person."""

    PUBLIC = "public", "Everybody who may read"
    TEAM = "team", "Its team"
    PRIVATE = "private", "Who made it, and administrators"


class Team(models.Model):
    """People who own studies together and may be granted LUNs."""

    name = models.CharField(max_length=80, unique=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="teams")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Person(models.Model):
    """The role of an account. An account without a row has ``settings.DEFAULT_ROLE``."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="person"
    )
    role = models.CharField(max_length=15, choices=Role)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(role__in=Role.values), name="person_role_is_known")
        ]

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class GivenPassword(models.Model):
    """An account with a password that somebody else set; gone once its owner changes it."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="given_password"
    )
    given_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"password of {self.user}, given {self.given_at:%Y-%m-%d}"


class LunGrant(models.Model):
    """A LUN on which an operator, or the operators of a team, may submit runs that erase it."""

    lun = models.ForeignKey("catalog.Lun", on_delete=models.CASCADE, related_name="grants")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="lun_grants"
    )
    team = models.ForeignKey(Team, null=True, on_delete=models.CASCADE, related_name="lun_grants")
    created_at = clock.CreatedAt()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(user__isnull=True) ^ Q(team__isnull=True), name="grant_is_of_one"
            ),
            models.UniqueConstraint(fields=["lun", "user"], name="grant_unique_for_user"),
            models.UniqueConstraint(fields=["lun", "team"], name="grant_unique_for_team"),
        ]

    def __str__(self) -> str:
        return f"LUN {self.lun_id} to {self.user or self.team}"


def grantable_luns() -> models.QuerySet[Any]:
    """All LUNs. By name: the catalogue asks accounts for rights, so accounts import none of it."""
    return apps.get_model("catalog", "Lun")._default_manager.all()


class _AppendOnly(models.QuerySet["AuditEntry"]):
    """Rows that are only added."""

    def update(self, **kwargs: object) -> int:
        raise TypeError("Audit entries are not changed.")

    def delete(self) -> tuple[int, dict[str, int]]:
        raise TypeError("Audit entries are not deleted.")


class AuditEntry(models.Model):
    """Who did what to what. Rows are only added; names are text, so that an entry outlives both."""

    at = models.DateTimeField(default=timezone.now)
    who = models.CharField(max_length=150, help_text="Account, or worker:<name>")
    what = models.CharField(max_length=40, help_text="A word of accounts.audit.WORDS")
    thing = models.CharField(max_length=200, help_text="run 12, study lab, LUN host/disk1")
    detail = models.JSONField(default=dict)

    objects = _AppendOnly.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["what", "-id"]),
            models.Index(fields=["who", "-id"]),
        ]

    def __str__(self) -> str:
        return f"{self.who} {self.what} {self.thing}"

    def save(self, *args: object, **kwargs: object) -> None:
        if self.pk is not None:
            raise TypeError("An audit entry is not changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: object, **kwargs: object) -> tuple[int, dict[str, int]]:
        raise TypeError("An audit entry is not deleted.")


class ApiToken(models.Model):
    """A token acts in a user's name, within its scopes, until it expires or somebody revokes it.

    A plain SHA-256 digest is enough: a token is 256 random bits, not a password to guess.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=80, help_text="What it is for, so that it can be revoked")
    hint = models.CharField(max_length=12, help_text="Its first characters, to recognise it by")
    digest = models.CharField(max_length=64, unique=True)
    can_import = models.BooleanField(default=True, help_text="Imports, permalinks and watches")
    can_run = models.BooleanField(default=True, help_text="Submitting and steering runs")
    can_administer = models.BooleanField(
        default=False, db_default=False, help_text="People, teams, grants, the audit log"
    )
    is_for_trigger = models.BooleanField(
        default=False, db_default=False, help_text="Fires one trigger, and opens nothing else"
    )
    expires_at = models.DateTimeField(null=True, help_text="null: it stays until it is revoked")
    created_at = clock.CreatedAt()
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="token_name_unique_for_user")
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"

    @property
    def scopes(self) -> list[str]:
        """Every token reads what its user may read, except one that only fires a trigger."""
        if self.is_for_trigger:
            return ["fire"]
        return [
            "read",
            *["import"] * self.can_import,
            *["run"] * self.can_run,
            *["administer"] * self.can_administer,
        ]

    def is_over(self, now: datetime | None = None) -> bool:
        return self.expires_at is not None and self.expires_at <= (now or timezone.now())


class SignInAttempt(models.Model):
    """A failed or unfinished sign-in (accounts.sign_in.throttle).

    ``key`` is a digest of name and address: people type passwords into the name field.
    ``source`` is one of the address alone; empty where only the name counts.
    """

    key = models.CharField(max_length=64)
    source = models.CharField(max_length=64, default="", db_default="")
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["key", "at"]),
            models.Index(fields=["source", "at"]),
            models.Index(fields=["at"]),
        ]
