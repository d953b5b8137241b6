from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0002_workers_drained"),
    ]

    operations = [
        migrations.AddField(
            model_name="lun",
            name="controller",
            field=models.CharField(
                blank=True,
                help_text="One run at a time on all LUNs of it; empty: unknown",
                max_length=200,
            ),
        ),
    ]
