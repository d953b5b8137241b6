import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0003_journals"),
        ("studies", "0003_sweeps"),
    ]

    operations = [
        migrations.AddField(
            model_name="lease",
            name="controller",
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name="lease",
            name="host",
            field=models.ForeignKey(
                help_text="Whose controller it is; null in the lease of a LUN",
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="controller_leases",
                to="catalog.worker",
            ),
        ),
        migrations.AddField(
            model_name="series",
            name="journal_lun",
            field=models.ForeignKey(
                help_text="Where the journal is kept; null: on the LUN itself",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="journal_series",
                to="catalog.lun",
            ),
        ),
        migrations.AlterField(
            model_name="lease",
            name="lun",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="lease",
                to="catalog.lun",
            ),
        ),
        migrations.AlterField(
            model_name="lease",
            name="run",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="leases",
                to="studies.run",
            ),
        ),
        migrations.AddConstraint(
            model_name="lease",
            constraint=models.UniqueConstraint(
                fields=("host", "controller"), name="lease_unique_of_controller"
            ),
        ),
        migrations.AddConstraint(
            model_name="lease",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("controller", ""), ("host", None), ("lun__isnull", False)),
                    models.Q(
                        ("host__isnull", False),
                        ("lun", None),
                        models.Q(("controller", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="lease_of_lun_or_controller",
            ),
        ),
    ]
