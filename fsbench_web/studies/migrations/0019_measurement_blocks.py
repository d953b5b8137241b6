from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0018_jobs"),
    ]

    operations = [
        migrations.CreateModel(
            name="MeasurementBlock",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("count", models.PositiveIntegerField(help_text="Numbers")),
                (
                    "tests",
                    models.JSONField(
                        help_text="[[test, load, unit, numbers, of these with both sizes], ...] by first number"
                    ),
                ),
                ("content", models.BinaryField()),
                (
                    "flags",
                    models.BinaryField(
                        help_text="What to know of them, slugs of scoring.quality; null: nothing",
                        null=True,
                    ),
                ),
                (
                    "samples",
                    models.BinaryField(
                        help_text="Values of the intervals in order, where the tool prints them",
                        null=True,
                    ),
                ),
                (
                    "artefact",
                    models.ForeignKey(
                        null=True,
                        on_delete=models.deletion.SET_NULL,
                        to="studies.artefact",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=models.deletion.CASCADE,
                        related_name="measurement_blocks",
                        to="studies.run",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
    ]
