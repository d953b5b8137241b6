"""Permalinks keep a comparison as it was shared; watches follow lines and report changes."""

import secrets

from django.conf import settings
from django.db import models
from django.db.models import Q

from fsbench_web.accounts.models import Team, Visibility
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile, Lun, Workload
from fsbench_web.platform import clock
from fsbench_web.studies.models import Job, Series, Study


def new_key() -> str:
    """Eleven characters that nobody can guess (64 bits)."""
    # A command line would read a key that begins with a dash as an option of its own.
    while (key := secrets.token_urlsafe(8)).startswith("-"):
        pass
    return key


class LinkVisibility(models.TextChoices):
    """Who may see a permalink; compare.permalinks.sharing answers for a person. Of studies it is
    accounts.models.Visibility: a permalink has no team of its own, and opens no study."""

    PUBLIC = "public", "Anyone with the link"
    TEAM = "team", "Members of its author's teams"
    PRIVATE = "private", "Its author and administrators"


class Permalink(models.Model):
    """A short address with the numbers it showed; the checksum is of the snapshot's very bytes."""

    key = models.CharField(max_length=20, unique=True, default=new_key)
    query = models.TextField(blank=True, help_text="The comparison's query string, canonical")
    view = models.TextField(
        blank=True, default="", help_text="How its tables are shown: query string, canonical"
    )
    snapshot = models.TextField(help_text="The tables as shown, with the runs behind them")
    sha256 = models.CharField(max_length=64, help_text="Of the snapshot's UTF-8 bytes")
    title = models.CharField(max_length=200, blank=True)
    note = models.TextField(blank=True, max_length=4000)
    visibility = models.CharField(
        max_length=10,
        choices=LinkVisibility,
        default=LinkVisibility.PUBLIC,
        db_default=LinkVisibility.PUBLIC,
    )
    expires_on = models.DateField(
        null=True, blank=True, help_text="The last day on which it opens; null: it stays"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = clock.CreatedAt()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["sha256"])]
        constraints = [
            models.CheckConstraint(
                condition=Q(visibility__in=LinkVisibility.values),
                name="permalink_visibility_is_known",
            )
        ]

    def __str__(self) -> str:
        return self.key


class WorkProfile(models.Model):
    """A person's work profile; its versions hold the parts. Presets are in code, not here."""

    slug = models.SlugField(unique=True, max_length=60)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    visibility = models.CharField(
        max_length=10, choices=Visibility, default=Visibility.PUBLIC, db_default=Visibility.PUBLIC
    )
    created_at = clock.CreatedAt()

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.CheckConstraint(
                condition=Q(visibility__in=Visibility.values),
                name="work_profile_visibility_is_known",
            )
        ]

    def __str__(self) -> str:
        return self.slug


class WorkProfileVersion(models.Model):
    """One version of a work profile (``Profile.as_dict``). Rows are never changed."""

    profile = models.ForeignKey(WorkProfile, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField(help_text="1 for the first")
    document = models.JSONField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = clock.CreatedAt()

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["profile", "number"], name="work_profile_version_once")
        ]

    def __str__(self) -> str:
        return f"{self.profile}@{self.number}"


class Watch(models.Model):
    """A line over time that reports when it gets significantly slower.

    It belongs to a ``study`` or a ``team``; neither: that is gone. ``key`` digests line, owner,
    test, category and along, because a unique constraint ignores rows with nulls.
    """

    class Along(models.TextChoices):
        KERNEL = "kernel", "kernels"
        DATE = "date", "days"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="watches"
    )
    key = models.CharField(max_length=64)
    series = models.ForeignKey(
        Series,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Any of the line, to link to it; null: none is left",
    )
    study = models.ForeignKey(Study, null=True, on_delete=models.SET_NULL, related_name="+")
    team = models.ForeignKey(Team, null=True, on_delete=models.SET_NULL, related_name="+")
    configuration = models.ForeignKey(
        FilesystemConfiguration, on_delete=models.CASCADE, related_name="+"
    )
    workload = models.ForeignKey(Workload, null=True, on_delete=models.CASCADE, related_name="+")
    hardware = models.ForeignKey(
        HardwareProfile, null=True, on_delete=models.CASCADE, related_name="+"
    )
    lun = models.ForeignKey(Lun, null=True, on_delete=models.SET_NULL, related_name="+")
    journal_lun = models.ForeignKey(Lun, null=True, on_delete=models.SET_NULL, related_name="+")
    stack_luns = models.CharField(max_length=2000, blank=True, db_default="")
    preparation = models.JSONField(default=dict)
    machine = models.JSONField(default=dict, help_text="As of its series: catalog.machines")
    test = models.CharField(max_length=190)
    category = models.CharField(max_length=100)
    along = models.CharField(max_length=10, choices=Along)
    margin_percent = models.PositiveSmallIntegerField()
    email = models.EmailField(blank=True)
    webhook_url = models.CharField(max_length=500, blank=True)
    secret_salt = models.CharField(
        max_length=40, help_text="The secret of its signatures is made of it and the site's key"
    )
    site = models.CharField(max_length=200, help_text="Begins the links of its messages")
    is_active = models.BooleanField(default=True)
    created_at = clock.CreatedAt()
    checked_at = models.DateTimeField(null=True)
    seen = models.CharField(
        max_length=100, blank=True, help_text="The finished runs of the line when it was checked"
    )
    problem = models.TextField(blank=True, help_text="Why the last check could not judge")
    latest = models.JSONField(
        null=True, help_text="The newest point against the one before (history.LatestStep)"
    )
    confirm_rounds = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="Measured to confirm a change; 0: none is confirmed"
    )
    confirm_hours = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="From the order until no further round begins"
    )
    confirm_devices = models.CharField(
        max_length=64,
        blank=True,
        db_default="",
        help_text="Of the LUNs when their names were typed (Plan.device_digest)",
    )
    confirm_against = models.ForeignKey(
        Series,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Its configuration stands for the old state; null: the earlier state itself",
    )

    class Meta:
        verbose_name_plural = "watches"
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="watch_once_for_user"),
            models.CheckConstraint(
                condition=Q(along__in=["kernel", "date"]), name="watch_along_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.configuration}: {self.test}"


class WatchMessage(models.Model):
    """A change that a watch found, or a test, sent once a ``key``; webhooks get ``payload``."""

    class Kind(models.TextChoices):
        SLOWER = "slower"
        TEST = "test"
        KNOWN = "known", "was there before"

    class State(models.TextChoices):
        """Of a change that got slower. compare.watches.triage is the only writer."""

        NEW = "new"
        CONFIRMED = "confirmed"
        NOT_REPRODUCED = "not_reproduced", "not reproduced"
        EXPECTED = "expected"
        FIXED = "fixed"

    watch = models.ForeignKey(Watch, on_delete=models.CASCADE, related_name="messages")
    key = models.CharField(max_length=255)
    kind = models.CharField(max_length=10, choices=Kind)
    point = models.CharField(
        max_length=200, blank=True, help_text="The kernel or day at which the new level begins"
    )
    sentence = models.TextField()
    payload = models.JSONField(default=dict)
    state = models.CharField(max_length=20, choices=State, default=State.NEW, db_default=State.NEW)
    note = models.CharField(
        max_length=500, blank=True, db_default="", help_text="Of who set the state"
    )
    job = models.ForeignKey(
        Job,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Measures the rounds that confirm it",
    )
    confirmation = models.CharField(
        max_length=20,
        blank=True,
        db_default="",
        help_text="Code of compare.watches.confirming; empty: no confirmation was wanted",
    )
    created_at = clock.CreatedAt()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["confirmation"])]
        constraints = [
            models.UniqueConstraint(fields=["watch", "key"], name="watch_message_told_once"),
            models.CheckConstraint(
                condition=Q(state__in=["new", "confirmed", "not_reproduced", "expected", "fixed"]),
                name="watch_message_state_is_known",
            ),
        ]

    def __str__(self) -> str:
        return self.sentence


class WatchDelivery(models.Model):
    """A message on its way to one address. Only compare.watches.deliveries writes its state."""

    class Channel(models.TextChoices):
        EMAIL = "email", "e-mail"
        WEBHOOK = "webhook", "webhook"

    class State(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed", "given up"

    message = models.ForeignKey(WatchMessage, on_delete=models.CASCADE, related_name="deliveries")
    channel = models.CharField(max_length=10, choices=Channel)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    tries = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField(help_text="While it is tried: when another may try it")
    last_error = models.TextField(blank=True)
    delivered_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "watch deliveries"
        ordering = ["id"]
        indexes = [models.Index(fields=["state", "next_try_at"])]
        constraints = [
            models.UniqueConstraint(
                fields=["message", "channel"], name="watch_delivery_once_a_channel"
            )
        ]

    def __str__(self) -> str:
        return f"{self.channel}: {self.state}"


class LineEvent(models.Model):
    """What an owner says happened to a machine: its lines show it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    hardware = models.ForeignKey(
        HardwareProfile, null=True, on_delete=models.CASCADE, related_name="+"
    )
    lun = models.ForeignKey(Lun, null=True, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    text = models.CharField(max_length=200)
    created_at = clock.CreatedAt()

    class Meta:
        ordering = ["-day", "-id"]

    def __str__(self) -> str:
        return f"{self.day.isoformat()}: {self.text}"
