"""All tables of imports as version 0.11 has them. A database of 0.11 is taken as it is."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("imports", "0001_initial"),
        ("imports", "0002_pipeline"),
        ("imports", "0003_mappings_of_authors"),
    ]

    initial = True

    dependencies = [
        ("accounts", "0001_tables_of_0_11"),
        ("studies", "0001_tables_of_0_11"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="RunContent",
            fields=[
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="content",
                        serialize=False,
                        to="studies.run",
                    ),
                ),
                ("digest", models.CharField(db_index=True, max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name="Import",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("received", "Received"),
                            ("previewed", "Previewed"),
                            ("accepted", "Accepted"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="previewed",
                        max_length=10,
                    ),
                ),
                (
                    "target",
                    models.JSONField(
                        default=dict,
                        help_text="As given: study, filesystem, configuration, hardware, source, licence",
                    ),
                ),
                (
                    "phase",
                    models.CharField(
                        blank=True, help_text="What the importer does now", max_length=60
                    ),
                ),
                (
                    "progress",
                    models.FloatField(default=0, help_text="0 to 1, of checking or of storing"),
                ),
                (
                    "report",
                    models.JSONField(
                        default=dict,
                        help_text="What the importer found: runs, problems (imports.large)",
                    ),
                ),
                ("claimed_by", models.CharField(blank=True, max_length=64)),
                ("claimed_until", models.DateTimeField(null=True)),
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
                ("runs", models.ManyToManyField(related_name="imports", to="studies.run")),
                (
                    "study",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="imports",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["received", "previewed", "accepted", "done", "failed"])
                        ),
                        name="import_state_is_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedMapping",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("header_digest", models.CharField(db_index=True, max_length=64)),
                ("mapping", models.JSONField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
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
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("created_by", "name"), name="mapping_unique_for_author"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportedFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("path", models.CharField(max_length=500)),
                ("mapping", models.JSONField(null=True)),
                (
                    "runs",
                    models.JSONField(
                        default=list,
                        help_text="[[filesystem, configuration, hardware, repeat as the file says], run], ...]",
                    ),
                ),
                (
                    "artefact",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="imported",
                        to="studies.artefact",
                    ),
                ),
                (
                    "import_of",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="imported_files",
                        to="imports.import",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="ImportFile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "path",
                    models.CharField(
                        help_text="A label: folders and name, as uploaded", max_length=500
                    ),
                ),
                ("content_gzip", models.BinaryField()),
                ("size_bytes", models.BigIntegerField(help_text="Before compression")),
                ("sha256", models.CharField(max_length=64)),
                (
                    "problem",
                    models.TextField(blank=True, help_text="Why its archive did not give it"),
                ),
                (
                    "given",
                    models.JSONField(
                        default=dict,
                        help_text="What was said of it: filesystem, configuration, hardware, repeat",
                    ),
                ),
                (
                    "guesses",
                    models.JSONField(
                        default=list, help_text="What of it was guessed, in sentences"
                    ),
                ),
                (
                    "mapping",
                    models.JSONField(help_text="Which column is what (formats.mapping)", null=True),
                ),
                ("mapping_name", models.CharField(blank=True, max_length=100)),
                ("is_left_out", models.BooleanField(default=False)),
                (
                    "import_of",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="imports.import",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
    ]
