"""What each interval is of, beside its half-width."""

from typing import Any

from django.db import migrations, models


def fill(apps: Any, schema_editor: Any) -> None:
    """Of scores made before, as far as their half-width tells it.

    The mean follows from the half-width in the unit and in percent. Where that is zero, or the
    repeats are not alike, the interval stays unknown until the series is scored anew.
    """
    score = apps.get_model("studies", "Score")
    rows = score._base_manager.filter(
        half_width__gt=0, half_width_percent__gt=0, repeats__gte=2, interval__isnull=True
    )
    batch = []
    for row in rows.order_by("pk").iterator(chunk_size=2000):
        if "unequal_repeats" in row.flags:
            continue
        row.interval = {
            "mean": 100.0 * row.half_width / row.half_width_percent,
            "half_width": row.half_width,
            "count": row.repeats,
            "of": "repeats",
            "autocorrelation": None,
        }
        batch.append(row)
        if len(batch) == 2000:
            score._base_manager.bulk_update(batch, ["interval"])
            batch = []
    score._base_manager.bulk_update(batch, ["interval"])


class Migration(migrations.Migration):
    dependencies = [
        ("studies", "0008_quality"),
    ]

    operations = [
        migrations.AddField(
            model_name="score",
            name="interval",
            field=models.JSONField(
                help_text="What the 95% interval is of (confidence.Interval.as_dict): repeats, or "
                "samples of a single run; null where there is none, and in scores of before it was "
                "kept",
                null=True,
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
