"""Which runs were measured beside each other, and what each repeat came to by itself."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("studies", "0022_measured_at")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="block",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Runs of a study with the same block were measured beside each other: "
                "everything once before anything again; empty: in none",
                max_length=60,
            ),
        ),
        migrations.AddField(
            model_name="score",
            name="repeat_scores",
            field=models.JSONField(
                help_text="[[Run.block, score of that run by itself or null], ...] as run_ids; "
                "null below two runs, and in scores of before it was kept",
                null=True,
            ),
        ),
    ]
