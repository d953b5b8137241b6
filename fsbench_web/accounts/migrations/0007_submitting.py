from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_sources_of_attempts"),
    ]

    operations = [
        migrations.AlterField(
            model_name="apitoken",
            name="can_run",
            field=models.BooleanField(default=True, help_text="Submitting and steering runs"),
        ),
    ]
