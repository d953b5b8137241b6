import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0004_journals"),
    ]

    operations = [
        migrations.CreateModel(
            name="RepeatRule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "half_width_percent",
                    models.FloatField(help_text="Of the mean, 95% Student-t"),
                ),
                ("least", models.PositiveIntegerField()),
                ("most", models.PositiveIntegerField()),
                ("stopped_at", models.DateTimeField(null=True)),
                ("stop_reason", models.CharField(blank=True, max_length=300)),
            ],
        ),
        migrations.AddField(
            model_name="run",
            name="conditions",
            field=models.JSONField(
                default=dict,
                help_text="What held for this run alone: load, memory; see runner.execution.conditions",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="is_contended",
            field=models.BooleanField(
                default=False,
                help_text="Another run was active on the same host or controller meanwhile",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="repeat_rule",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="runs",
                to="studies.repeatrule",
            ),
        ),
        migrations.AddField(
            model_name="score",
            name="half_width",
            field=models.FloatField(
                help_text="Of the 95% interval of the repeats' own scores, in unit; null below two repeats",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="score",
            name="half_width_percent",
            field=models.FloatField(
                help_text="The same in percent of the mean of the repeats' own scores",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="series",
            name="preparation",
            field=models.JSONField(
                default=dict,
                help_text="catalog.preparation; empty: a new file system and nothing more",
            ),
        ),
    ]
