"""Keep what job files said of fio's jobs, for reading a file again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("imports", "0001_tables_of_0_11"),
    ]

    operations = [
        migrations.AddField(
            model_name="importedfile",
            name="beside",
            field=models.JSONField(
                default=dict,
                help_text="What job files said of its fio jobs: options, by file and job",
            ),
        ),
    ]
