"""Remove the time of the chore that kept best scores: nothing does it any more."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def forget(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    chores = apps.get_model("operations", "Chore").objects.using(editor.connection.alias)
    chores.filter(name="Best scores of studies").delete()


class Migration(migrations.Migration):
    replaces = [
        ("operations", "0003_no_best_scores"),
    ]

    dependencies = [
        ("operations", "0001_tables_of_0_11"),
    ]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]
