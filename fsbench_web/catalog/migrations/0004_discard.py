from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0003_journals"),
    ]

    operations = [
        migrations.AddField(
            model_name="lun",
            name="can_discard",
            field=models.BooleanField(default=False, help_text="Takes discard (TRIM)"),
        ),
    ]
