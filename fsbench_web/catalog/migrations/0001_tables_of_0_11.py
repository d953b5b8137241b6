"""All tables of catalog as version 0.11 has them. A database of 0.11 is taken as it is."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("catalog", "0001_initial"),
        ("catalog", "0002_workers_drained"),
        ("catalog", "0003_journals"),
        ("catalog", "0004_discard"),
        ("catalog", "0005_quality"),
        ("catalog", "0006_own_workloads"),
        ("catalog", "0007_current_scheduler"),
        ("catalog", "0008_lun_fingerprint"),
        ("catalog", "0009_stacks"),
        ("catalog", "0010_hardware_price"),
        ("catalog", "0011_mount_luns"),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Environment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("kernel", models.CharField(blank=True, max_length=200)),
                ("distribution", models.CharField(blank=True, max_length=200)),
                (
                    "facts",
                    models.JSONField(default=dict, help_text="{section: [[label, value], ...]}"),
                ),
            ],
        ),
        migrations.CreateModel(
            name="HardwareProfile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=100, unique=True)),
                ("name", models.CharField(max_length=200)),
                (
                    "facts",
                    models.JSONField(
                        default=list,
                        help_text="What is known, in reading order: [[label, value], ...]",
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        blank=True,
                        help_text="Who says so: a paper, a person, a worker",
                        max_length=200,
                    ),
                ),
                (
                    "deliverable_kb_s",
                    models.FloatField(
                        help_text="What its storage can deliver at most, as somebody stated it; KB/s",
                        null=True,
                    ),
                ),
                (
                    "price",
                    models.FloatField(
                        help_text="What it cost, as somebody stated it, in ``price_currency``",
                        null=True,
                    ),
                ),
                (
                    "price_currency",
                    models.CharField(blank=True, db_default="", default="", max_length=3),
                ),
                (
                    "price_years",
                    models.FloatField(
                        help_text="Years of use that the price is spread over, as somebody stated them",
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Workload",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=100, unique=True)),
                ("title", models.CharField(max_length=200)),
                ("tool", models.SlugField(max_length=40)),
                ("parameters", models.JSONField(default=dict)),
                ("description", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["title"],
            },
        ),
        migrations.CreateModel(
            name="FilesystemConfiguration",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64, unique=True)),
                (
                    "label",
                    models.CharField(
                        help_text="As in the paper: ext3_wb_noatime_dl_xj", max_length=250
                    ),
                ),
                ("filesystem", models.SlugField(max_length=40)),
                ("options", models.JSONField(default=dict)),
                ("scheduler", models.CharField(blank=True, max_length=40)),
                ("external_journal", models.BooleanField(default=False)),
                (
                    "stack",
                    models.JSONField(
                        db_default={},
                        default=dict,
                        help_text="How many LUNs it stands on, catalog.configurations.stacks; empty: one",
                    ),
                ),
                ("is_known", models.BooleanField(default=True)),
            ],
            options={
                "ordering": ["filesystem", "label"],
                "indexes": [
                    models.Index(
                        fields=["filesystem", "label"], name="catalog_fil_filesys_ac45c5_idx"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=100, unique=True)),
                ("executor", models.CharField(max_length=20)),
                (
                    "capabilities",
                    models.JSONField(
                        default=dict,
                        help_text="filesystems, schedulers, tools, kernel; see catalog.announce",
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
                (
                    "drained_at",
                    models.DateTimeField(
                        help_text="Set: it finishes what runs and takes nothing new", null=True
                    ),
                ),
                ("drained_by", models.CharField(blank=True, max_length=150)),
                (
                    "hardware",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="catalog.hardwareprofile",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="OwnWorkload",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=60)),
                ("version", models.PositiveIntegerField()),
                ("title", models.CharField(max_length=150)),
                (
                    "kind",
                    models.CharField(
                        choices=[("fio", "Job file of fio"), ("command", "Command")], max_length=10
                    ),
                ),
                ("text", models.TextField()),
                ("parser", models.CharField(max_length=40)),
                (
                    "space_mb",
                    models.PositiveBigIntegerField(
                        help_text="room on the file system, MB of 1024² bytes"
                    ),
                ),
                (
                    "is_withdrawn",
                    models.BooleanField(default=False, help_text="not offered any more"),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["slug", "-version"],
                "constraints": [
                    models.UniqueConstraint(fields=("slug", "version"), name="own_workload_version")
                ],
            },
        ),
        migrations.CreateModel(
            name="Lun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=60)),
                (
                    "role",
                    models.CharField(
                        choices=[("data", "Data"), ("journal", "Journal")], max_length=10
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("device", "Device"),
                            ("sparse-file", "Sparse File"),
                            ("directory", "Directory"),
                            ("mount", "Mount"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "device",
                    models.CharField(help_text="The path that commands will name", max_length=300),
                ),
                (
                    "identity",
                    models.JSONField(
                        default=list, help_text="How a person recognises it: [[label, value], ...]"
                    ),
                ),
                (
                    "fingerprint",
                    models.JSONField(
                        default=dict,
                        help_text="What tells it from another device of its name (catalog.lun_identity)",
                    ),
                ),
                ("size_bytes", models.BigIntegerField(null=True)),
                (
                    "controller",
                    models.CharField(
                        blank=True,
                        help_text="One run at a time on all LUNs of it; empty: unknown",
                        max_length=200,
                    ),
                ),
                ("schedulers", models.JSONField(default=list)),
                (
                    "scheduler",
                    models.CharField(
                        blank=True,
                        help_text="In effect while no run uses it; empty: not known",
                        max_length=30,
                    ),
                ),
                (
                    "can_discard",
                    models.BooleanField(default=False, help_text="Takes discard (TRIM)"),
                ),
                (
                    "problem",
                    models.TextField(
                        blank=True, help_text="Why it cannot be used now; empty: usable"
                    ),
                ),
                (
                    "is_listed",
                    models.BooleanField(default=True, help_text="Still in the host's file"),
                ),
                ("announced_at", models.DateTimeField()),
                (
                    "worker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="luns",
                        to="catalog.worker",
                    ),
                ),
            ],
            options={
                "ordering": ["worker__name", "name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("worker", "name"), name="lun_name_unique_on_worker"
                    )
                ],
            },
        ),
    ]
