"""A mount of the host is a kind of LUN."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0010_hardware_price")]

    operations = [
        migrations.AlterField(
            model_name="lun",
            name="kind",
            field=models.CharField(
                choices=[
                    ("device", "Device"),
                    ("sparse-file", "Sparse File"),
                    ("directory", "Directory"),
                    ("mount", "Mount"),
                ],
                max_length=20,
            ),
        ),
    ]
