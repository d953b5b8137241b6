"""The runs of jobs are told their blocks, each job in a transaction of its own.

After a kill it goes on with the rest. Scores get theirs by ``manage.py reflag``.
"""

from collections import Counter
from typing import Any

from django.db import migrations, transaction


def blocks_of(runs: list[Any]) -> dict[int, int]:
    """The block of each run of a job, from 1: the n-th run of its series was in the n-th block.

    What was interrupted and run again by itself is in the block of the first. A run that somebody
    submitted again was run later than its block, and is in none, as references are.
    """
    found: dict[int, int] = {}
    counts: Counter[int] = Counter()
    for run in sorted(runs, key=lambda run: run.place or run.pk):
        if run.is_reference:
            continue
        if run.rerun and run.retry_of_id in found:
            found[run.pk] = found[run.retry_of_id]
        elif run.retry_of_id is None:
            # A series counts its planned runs, whatever became of them.
            counts[run.series_id] += 1
            found[run.pk] = counts[run.series_id]
    return found


def note(apps: Any, schema_editor: Any) -> None:
    Job, Run = apps.get_model("studies", "Job"), apps.get_model("studies", "Run")
    for job in Job.objects.order_by("pk").values_list("pk", flat=True).iterator(chunk_size=200):
        with transaction.atomic():
            fields = ("series_id", "place", "is_reference", "rerun", "retry_of_id", "block")
            runs = list(Run.objects.filter(job=job, block="").only(*fields))
            numbers = blocks_of(runs)
            for run in runs:
                run.block = f"job {job} block {numbers[run.pk]}" if run.pk in numbers else ""
            Run.objects.bulk_update([run for run in runs if run.block], ["block"], batch_size=500)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("studies", "0023_blocks")]

    operations = [migrations.RunPython(note, migrations.RunPython.noop, elidable=True)]
