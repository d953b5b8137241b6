"""The first PostMark report of a series that was imported was judged without its two times, so that
what its clock of whole seconds limits had no flag. Housekeeping judges such series again.
"""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def judge_again(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """A series without ``quality`` waits to be judged (studies.scores.rejudging)."""
    workloads = apps.get_model("catalog", "Workload").objects.filter(tool="postmark")
    series = apps.get_model("studies", "Series").objects
    series.filter(workload__in=workloads).update(quality=None)


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0001_squashed_0011_mount_luns"),
        ("studies", "0044_leases_of_disks"),
    ]
    operations = [migrations.RunPython(judge_again, migrations.RunPython.noop)]
