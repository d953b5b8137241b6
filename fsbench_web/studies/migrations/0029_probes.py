"""Probes: what LUNs do by themselves and the runs that are set against it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0008_lun_fingerprint"),
        ("studies", "0028_kept_best_scores"),
    ]

    operations = [
        migrations.AddField(
            model_name="job",
            name="probe_s",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                help_text="Seconds, at most, in which the LUN itself is measured before each block; 0: not",
            ),
        ),
        migrations.CreateModel(
            name="LunProbe",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("state", models.JSONField(default=dict)),
                ("result", models.JSONField()),
                (
                    "lun",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="probes",
                        to="catalog.lun",
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="made_probe",
                        to="studies.run",
                    ),
                ),
            ],
            options={
                "ordering": ["-at", "-id"],
            },
        ),
        migrations.AddField(
            model_name="run",
            name="probe",
            field=models.ForeignKey(
                help_text="What its LUN did by itself in the same block; null: nobody measured that",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="runs",
                to="studies.lunprobe",
            ),
        ),
        migrations.AddIndex(
            model_name="lunprobe",
            index=models.Index(fields=["lun", "at"], name="studies_lun_lun_id_062b72_idx"),
        ),
    ]
