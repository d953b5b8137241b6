"""All tables of operations as version 0.11 has them. A database of 0.11 is taken as it is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("operations", "0001_initial"),
        ("operations", "0002_backup"),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Chore",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=60, unique=True)),
                ("done_at", models.DateTimeField(help_text="When it last succeeded", null=True)),
                (
                    "by",
                    models.CharField(
                        blank=True, help_text="Host or worker that did it", max_length=150
                    ),
                ),
                ("took_s", models.FloatField(null=True)),
                ("failed_at", models.DateTimeField(help_text="When it last failed", null=True)),
                (
                    "problem",
                    models.CharField(
                        blank=True, help_text="Why; empty: it succeeded", max_length=300
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Backup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "began_at",
                    models.DateTimeField(help_text="It has what was in the database then"),
                ),
                (
                    "ended_at",
                    models.DateTimeField(
                        help_text="When it was whole at its place, or failed; unset: it is under way",
                        null=True,
                    ),
                ),
                (
                    "place",
                    models.CharField(
                        help_text="Host and path, as whoever made it has them", max_length=500
                    ),
                ),
                ("version", models.CharField(help_text="Of fsbench", max_length=50)),
                ("size_bytes", models.BigIntegerField(null=True)),
                (
                    "problem",
                    models.CharField(blank=True, help_text="Why it failed", max_length=300),
                ),
            ],
            options={
                "ordering": ["-pk"],
            },
        ),
    ]
