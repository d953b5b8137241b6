"""Remove the time of the chore that kept best scores: nothing does it any more."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def forget(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    chores = apps.get_model("operations", "Chore").objects.using(editor.connection.alias)
    chores.filter(name="Best scores of studies").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("operations", "0002_backup"),
    ]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]
