"""Keep which names of tests reading files again has changed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0002_no_kept_best_scores"),
    ]

    operations = [
        migrations.CreateModel(
            name="RenamedTest",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("old", models.CharField(db_index=True, max_length=190)),
                ("new", models.CharField(max_length=190)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("old", "new"), name="test_is_renamed_to_another_once"
                    )
                ],
            },
        ),
    ]
