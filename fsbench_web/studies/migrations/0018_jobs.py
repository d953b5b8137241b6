"""What was called order, sweep and submission is a job: the table and its rows stay, by that name."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0017_order_body_digest"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="submission", name="submission_priority_is_in_bounds"
        ),
        migrations.RenameModel(old_name="Submission", new_name="Job"),
        migrations.RenameField(model_name="run", old_name="submission", new_name="job"),
        migrations.AddConstraint(
            model_name="job",
            constraint=models.CheckConstraint(
                condition=models.Q(("priority__gte", -10), ("priority__lte", 10)),
                name="job_priority_is_in_bounds",
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="body_sha256",
            field=models.CharField(
                blank=True,
                help_text="Of the call that submitted; empty: no call, or none kept",
                max_length=64,
            ),
        ),
        migrations.AlterField(
            model_name="job",
            name="study",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="jobs",
                to="studies.study",
            ),
        ),
        migrations.AlterField(
            model_name="run",
            name="cause",
            field=models.CharField(
                blank=True,
                choices=[
                    ("benchmark", "the benchmark, or what it ran on, failed by itself"),
                    ("refused", "a check refused it before anything was erased"),
                    ("not-allowed", "who submitted it may not any more"),
                    ("cancelled", "somebody cancelled it"),
                    ("time-limit", "it took longer than its job allows"),
                    ("worker-error", "the worker could not go on, by a mistake in it"),
                    ("worker-stopped", "its worker was stopped"),
                    ("worker-gone", "its worker died, and was started again"),
                    ("silent", "its worker or host gave no sign of life"),
                    ("database", "the database was away for too long"),
                    ("daemon", "the Docker daemon went away"),
                    ("killed", "it was killed from outside"),
                ],
                help_text="The same, of a closed list",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="run",
            name="drift_percent",
            field=models.FloatField(
                help_text="How far the reference of its job had moved around it; null: not known",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="run",
            name="is_reference",
            field=models.BooleanField(
                default=False,
                help_text="Inserted into a job to show whether the machine drifts",
            ),
        ),
    ]
