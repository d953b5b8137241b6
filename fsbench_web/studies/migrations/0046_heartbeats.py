"""One word for one thing: what was a *sign of life* in reasons that were written down before 0.4.0, and
in those of guests later too, is a *heartbeat*. Nothing is changed in the database besides these texts.

It may be stopped and begun again: each batch is written by itself, and what has the new word is not
read again. Back again nothing is done: the sentences say the same.
"""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Value
from django.db.models.functions import Replace

OLD, NEW = "gave no sign of life", "sent no heartbeat"
BATCH = 1000


def reword(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """The reasons of runs, of their changes and of their clients, a batch at a time."""
    for name in ("Run", "StateChange", "RunClient"):
        rows = apps.get_model("studies", name).objects.using(editor.connection.alias)
        found = rows.filter(reason__contains=OLD).order_by("pk").values_list("pk", flat=True)
        last = 0
        while keys := list(found.filter(pk__gt=last)[:BATCH]):
            rows.filter(pk__in=keys).update(reason=Replace("reason", Value(OLD), Value(NEW)))
            last = keys[-1]


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("studies", "0045_postmark_judged_again"),
    ]

    operations = [
        migrations.AlterField(
            model_name="run",
            name="cause",
            field=models.CharField(
                blank=True,
                choices=[
                    ("benchmark", "the benchmark, or what it ran on, failed by itself"),
                    ("refused", "a check refused it before anything was erased"),
                    ("not-allowed", "who submitted it may not any more"),
                    ("cancelled", "somebody cancelled it"),
                    (
                        "out-of-time",
                        "its job stops before a time, and it would not have ended by then",
                    ),
                    ("time-limit", "it took longer than its job allows"),
                    ("worker-error", "the worker could not go on, by a mistake in it"),
                    ("worker-stopped", "its worker was stopped"),
                    ("worker-gone", "its worker died, and was started again"),
                    ("silent", "its worker or host sent no heartbeat"),
                    ("database", "the database was away for too long"),
                    ("daemon", "the Docker daemon went away"),
                    ("killed", "it was killed from outside"),
                ],
                help_text="The same, of a closed list",
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="runclient",
            name="cause",
            field=models.CharField(
                blank=True,
                choices=[
                    ("benchmark", "the benchmark, or what it ran on, failed by itself"),
                    ("refused", "a check refused it before anything was erased"),
                    ("not-allowed", "who submitted it may not any more"),
                    ("cancelled", "somebody cancelled it"),
                    (
                        "out-of-time",
                        "its job stops before a time, and it would not have ended by then",
                    ),
                    ("time-limit", "it took longer than its job allows"),
                    ("worker-error", "the worker could not go on, by a mistake in it"),
                    ("worker-stopped", "its worker was stopped"),
                    ("worker-gone", "its worker died, and was started again"),
                    ("silent", "its worker or host sent no heartbeat"),
                    ("database", "the database was away for too long"),
                    ("daemon", "the Docker daemon went away"),
                    ("killed", "it was killed from outside"),
                ],
                max_length=20,
            ),
        ),
        migrations.AlterField(
            model_name="runclient",
            name="seen_at",
            field=models.DateTimeField(help_text="Its last heartbeat", null=True),
        ),
        migrations.RunPython(reword, migrations.RunPython.noop),
    ]
