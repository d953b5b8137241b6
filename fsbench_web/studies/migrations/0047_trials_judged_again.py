"""What IOR and the Phoronix Test Suite print beside a mean are trials, whose interval is no longer that
of the samples within a run. Housekeeping judges their series again.
"""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def judge_again(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """A series without ``quality`` waits to be judged (studies.scores.rejudging)."""
    database = editor.connection.alias
    workloads = apps.get_model("catalog", "Workload").objects.using(database)
    found = workloads.filter(tool__in=["ior", "phoronix"])
    series = apps.get_model("studies", "Series").objects.using(database)
    series.filter(workload__in=found).update(quality=None)


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0001_squashed_0011_mount_luns"),
        ("studies", "0046_heartbeats"),
    ]
    operations = [migrations.RunPython(judge_again, migrations.RunPython.noop)]
