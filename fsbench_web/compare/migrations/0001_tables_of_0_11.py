"""All tables of compare as version 0.11 has them. A database of 0.11 is taken as it is."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import fsbench_web.compare.models


class Migration(migrations.Migration):
    replaces = [
        ("compare", "0001_initial"),
        ("compare", "0002_sharing"),
        ("compare", "0003_watches"),
        ("compare", "0004_permalink_teams"),
        ("compare", "0005_guest_machine"),
        ("compare", "0006_administrators_see_private_permalinks"),
        ("compare", "0007_owners_of_lines"),
        ("compare", "0008_watches_of_owners"),
        ("compare", "0009_stacks"),
        ("compare", "0010_work_profiles"),
        ("compare", "0011_watches_of_work"),
        ("compare", "0012_permalink_views"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_tables_of_0_11"),
        ("catalog", "0001_tables_of_0_11"),
        ("studies", "0001_tables_of_0_11"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Watch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=64)),
                ("stack_luns", models.CharField(blank=True, db_default="", max_length=2000)),
                ("preparation", models.JSONField(default=dict)),
                (
                    "machine",
                    models.JSONField(default=dict, help_text="As of its series: catalog.machines"),
                ),
                ("test", models.CharField(max_length=190)),
                ("category", models.CharField(max_length=100)),
                (
                    "along",
                    models.CharField(
                        choices=[("kernel", "kernels"), ("date", "days")], max_length=10
                    ),
                ),
                ("margin_percent", models.PositiveSmallIntegerField()),
                ("email", models.EmailField(blank=True, max_length=254)),
                ("webhook_url", models.CharField(blank=True, max_length=500)),
                (
                    "secret_salt",
                    models.CharField(
                        help_text="The secret of its signatures is made of it and the site's key",
                        max_length=40,
                    ),
                ),
                (
                    "site",
                    models.CharField(help_text="Begins the links of its messages", max_length=200),
                ),
                ("is_active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("checked_at", models.DateTimeField(null=True)),
                (
                    "seen",
                    models.CharField(
                        blank=True,
                        help_text="The finished runs of the line when it was checked",
                        max_length=100,
                    ),
                ),
                (
                    "problem",
                    models.TextField(blank=True, help_text="Why the last check could not judge"),
                ),
                (
                    "configuration",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="catalog.filesystemconfiguration",
                    ),
                ),
                (
                    "hardware",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="catalog.hardwareprofile",
                    ),
                ),
                (
                    "journal_lun",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="catalog.lun",
                    ),
                ),
                (
                    "lun",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="catalog.lun",
                    ),
                ),
                (
                    "series",
                    models.ForeignKey(
                        help_text="Any of the line, to link to it; null: none is left",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="studies.series",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="studies.study",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="watches",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workload",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="catalog.workload",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "watches",
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "key"), name="watch_once_for_user"),
                    models.CheckConstraint(
                        condition=models.Q(("along__in", ["kernel", "date"])),
                        name="watch_along_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WorkProfile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=60, unique=True)),
                (
                    "visibility",
                    models.CharField(
                        choices=[
                            ("public", "Everybody who may read"),
                            ("team", "Its team"),
                            ("private", "Who made it, and administrators"),
                        ],
                        db_default="public",
                        default="public",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
            ],
            options={
                "ordering": ["slug"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("visibility__in", ["public", "team", "private"])),
                        name="work_profile_visibility_is_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Permalink",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        default=fsbench_web.compare.models.new_key, max_length=20, unique=True
                    ),
                ),
                (
                    "query",
                    models.TextField(
                        blank=True, help_text="The comparison's query string, canonical"
                    ),
                ),
                (
                    "view",
                    models.TextField(
                        blank=True,
                        default="",
                        help_text="How its tables are shown: query string, canonical",
                    ),
                ),
                (
                    "snapshot",
                    models.TextField(help_text="The tables as shown, with the runs behind them"),
                ),
                (
                    "sha256",
                    models.CharField(help_text="Of the snapshot's UTF-8 bytes", max_length=64),
                ),
                ("title", models.CharField(blank=True, max_length=200)),
                ("note", models.TextField(blank=True, max_length=4000)),
                (
                    "visibility",
                    models.CharField(
                        choices=[
                            ("public", "Anyone with the link"),
                            ("team", "Members of its author's teams"),
                            ("private", "Its author and administrators"),
                        ],
                        db_default="public",
                        default="public",
                        max_length=10,
                    ),
                ),
                (
                    "expires_on",
                    models.DateField(
                        blank=True,
                        help_text="The last day on which it opens; null: it stays",
                        null=True,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["sha256"], name="compare_per_sha256_75a0a2_idx")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("visibility__in", ["public", "team", "private"])),
                        name="permalink_visibility_is_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WatchMessage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=255)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("slower", "Slower"),
                            ("test", "Test"),
                            ("known", "was there before"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "point",
                    models.CharField(
                        blank=True,
                        help_text="The kernel or day at which the new level begins",
                        max_length=200,
                    ),
                ),
                ("sentence", models.TextField()),
                ("payload", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "watch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="compare.watch",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.UniqueConstraint(fields=("watch", "key"), name="watch_message_told_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="WorkProfileVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField(help_text="1 for the first")),
                ("document", models.JSONField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "profile",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="compare.workprofile",
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("profile", "number"), name="work_profile_version_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WatchDelivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "channel",
                    models.CharField(
                        choices=[("email", "e-mail"), ("webhook", "webhook")], max_length=10
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("delivered", "Delivered"),
                            ("failed", "given up"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                (
                    "next_try_at",
                    models.DateTimeField(help_text="While it is tried: when another may try it"),
                ),
                ("last_error", models.TextField(blank=True)),
                ("delivered_at", models.DateTimeField(null=True)),
                (
                    "message",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="compare.watchmessage",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "watch deliveries",
                "ordering": ["id"],
                "indexes": [
                    models.Index(
                        fields=["state", "next_try_at"], name="compare_wat_state_599272_idx"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("message", "channel"), name="watch_delivery_once_a_channel"
                    )
                ],
            },
        ),
    ]
