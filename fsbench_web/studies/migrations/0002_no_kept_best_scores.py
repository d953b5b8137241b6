"""Remove the kept best scores: every page reads the scores themselves, from an index of all cells."""

from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("studies", "0048_no_kept_best_scores"),
    ]

    dependencies = [
        ("studies", "0001_tables_of_0_11"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="score", name="score_of_all_cells"),
        migrations.AddIndex(
            model_name="score",
            index=models.Index(
                condition=models.Q(("selection", "all")),
                fields=["series"],
                include=("test", "category", "value", "unit", "summed_unit"),
                name="score_of_all_cells",
            ),
        ),
        migrations.DeleteModel(name="KeptBestScore"),
        migrations.DeleteModel(name="KeptBestScores"),
        migrations.RemoveField(model_name="series", name="scores_stamp"),
    ]
