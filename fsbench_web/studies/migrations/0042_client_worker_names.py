from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0041_run_clients"),
    ]

    operations = [
        migrations.AlterField(
            model_name="runclient",
            name="worker",
            field=models.CharField(max_length=100),
        ),
    ]
