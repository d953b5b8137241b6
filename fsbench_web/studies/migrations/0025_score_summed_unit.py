"""What overall scores sum, so that sums of unlike units are not ranked together."""

from typing import Any

from django.db import migrations, models
from django.db.models import Max, OuterRef, Subquery

SUM = "score"
AT_ONCE = 20_000


def say_what_is_summed(apps: Any, schema_editor: Any) -> None:
    scores = apps.get_model("studies", "Score").objects.order_by()
    of_same_test = scores.filter(
        series=OuterRef("series"), test=OuterRef("test"), selection=OuterRef("selection")
    ).exclude(unit=SUM)
    last = scores.aggregate(last=Max("pk"))["last"] or 0
    for first in range(0, last + 1, AT_ONCE):
        scores.filter(pk__gte=first, pk__lt=first + AT_ONCE, unit=SUM).update(
            summed_unit=Subquery(of_same_test.values("unit")[:1])
        )


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0024_blocks_of_runs"),
    ]

    operations = [
        migrations.AddField(
            model_name="score",
            name="summed_unit",
            field=models.CharField(
                help_text="Of an overall score of rates, whose unit is a sum's: what is summed; "
                "else null",
                max_length=20,
                null=True,
            ),
        ),
        migrations.RunPython(say_what_is_summed, migrations.RunPython.noop, elidable=True),
    ]
