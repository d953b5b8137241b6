"""What scores are of what their LUNs do by themselves."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0031_run_activity"),
    ]

    operations = [
        migrations.AddField(
            model_name="score",
            name="share",
            field=models.JSONField(
                help_text="What it is of what its LUN did by itself (ceilings.Share); null: not "
                "known, or nothing of the LUN corresponds to it",
                null=True,
            ),
        ),
    ]
