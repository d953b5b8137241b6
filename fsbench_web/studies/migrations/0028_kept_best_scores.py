"""The best scores of each configuration of a large study, kept beside it.

Migration 0048 removes them.
"""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import BigIntegerField, Max
from django.db.models.functions import Cast, Random

AT_ONCE = 20_000


def stamp(apps: Any, schema_editor: Any) -> None:
    series = apps.get_model("studies", "Series").objects.order_by()
    last = series.aggregate(last=Max("pk"))["last"] or 0
    for first in range(0, last + 1, AT_ONCE):
        series.filter(pk__gte=first, pk__lt=first + AT_ONCE).update(
            scores_stamp=Cast(Random() * 2**40, BigIntegerField())
        )


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0008_lun_fingerprint"),
        ("studies", "0027_files_as_they_are"),
    ]

    operations = [
        migrations.AddField(
            model_name="series",
            name="scores_stamp",
            field=models.BigIntegerField(
                db_default=0,
                help_text="Another one whenever its scores are written "
                "(studies.scores.kept_best_scores)",
            ),
        ),
        migrations.RunPython(stamp, migrations.RunPython.noop, elidable=True),
        migrations.AddIndex(
            model_name="series",
            index=models.Index(
                fields=["study", "configuration"], name="studies_ser_study_i_37c951_idx"
            ),
        ),
        migrations.CreateModel(
            name="KeptBestScores",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("stamps", models.BigIntegerField()),
                (
                    "configuration",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="catalog.filesystemconfiguration",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="studies.study",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "kept best scores",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "configuration"),
                        name="best_scores_unique_of_configuration",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="KeptBestScore",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "of",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scores",
                        to="studies.keptbestscores",
                    ),
                ),
                ("score_id", models.BigIntegerField()),
                ("series_id", models.BigIntegerField()),
                ("test", models.CharField(max_length=190)),
                ("category", models.CharField(max_length=20)),
                (
                    "unit",
                    models.CharField(help_text="The unit that its tool printed", max_length=20),
                ),
                ("value", models.FloatField()),
                (
                    "is_printed",
                    models.BooleanField(help_text="A paper printed something beside it"),
                ),
            ],
        ),
    ]
