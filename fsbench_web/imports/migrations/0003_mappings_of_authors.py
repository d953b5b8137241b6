"""Kept mappings belong to their authors, and are told to nobody else.

One without an author (the account was deleted) goes: nobody could say any more what it says of
tables, or of a private study. Whoever used it keeps the tables that were read by it.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def forget_those_of_nobody(apps, schema_editor) -> None:  # type: ignore[no-untyped-def]
    apps.get_model("imports", "SavedMapping").objects.filter(created_by=None).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0007_submitting"),
        ("imports", "0002_pipeline"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(forget_those_of_nobody, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="savedmapping",
            name="created_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            model_name="savedmapping",
            name="name",
            field=models.CharField(max_length=100),
        ),
        migrations.AddField(
            model_name="savedmapping",
            name="team",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="accounts.team",
            ),
        ),
        migrations.AddConstraint(
            model_name="savedmapping",
            constraint=models.UniqueConstraint(
                fields=("created_by", "name"), name="mapping_unique_for_author"
            ),
        ),
    ]
