"""Watches get an owner: until now a line was of all studies, whoever they belong to.

Each watch goes on with the team, or the study, of the series that it is linked to. Where its owner
could see the same line in studies of others when it was made, each of these gets a watch of its own
with the same addresses and secret, so that nothing is watched less than before. It begins without
messages: what is slower there may have been hidden by the others, and is told.
"""

import hashlib
from collections import Counter
from typing import Any

from django.db import migrations
from django.db.models import Q

Owner = tuple[int | None, int | None]
ALIKE = ("configuration_id", "workload_id", "hardware_id", "lun_id", "journal_lun_id")


def machine_of(stored: dict[str, Any]) -> dict[str, Any]:
    """Of a guest everything but the kernel."""
    return {name: value for name, value in stored.items() if name != "kernel"}


def owner_of(series: Any) -> Owner:
    team = series.study.team_id
    if team is None or (series.hardware_id is None and series.lun_id is None):
        return series.study_id, None
    return None, team


def owners_of(apps: Any, watch: Any) -> list[Owner]:
    """Whose runs the watch looked at, most of them first; that of the linked series before all."""
    seen = Q(study__visibility="public") | Q(study__created_by=watch.user_id)
    seen |= Q(study__visibility="team", study__team__members=watch.user_id)
    alike = {name: getattr(watch, name) for name in ALIKE}
    series = {
        one.pk: one
        for one in apps.get_model("studies", "Series")
        .objects.filter(seen, **alike)
        .select_related("study")
        if one.preparation == watch.preparation
        and machine_of(one.machine) == machine_of(watch.machine)
    }
    runs = apps.get_model("studies", "Run").objects.filter(series__in=series, state="done")
    earlier = runs.filter(created_at__lte=watch.created_at)
    of_series = list((earlier if earlier.exists() else runs).values_list("series_id", flat=True))
    counted = Counter(owner_of(series[pk]) for pk in of_series)
    found = [owner for owner, _ in counted.most_common()]
    linked = owner_of(series[watch.series_id]) if watch.series_id in series else None
    return sorted(found, key=lambda owner: owner != linked)


def give_owners(apps: Any, editor: Any) -> None:
    """All or nothing: there are at most 100 watches of one person."""
    watches = apps.get_model("compare", "Watch").objects
    for watch in list(watches.filter(study=None, team=None).order_by("pk")):
        of_line = watch.key
        for place, (study, team) in enumerate(owners_of(apps, watch)):
            owner = f"study {study}" if team is None else f"team {team}"
            watch.key = hashlib.sha256(f"{of_line} {owner}".encode()).hexdigest()
            watch.study_id, watch.team_id = study, team
            if place == 0:
                watch.save()
                continue
            watch.pk, watch.series_id = None, None
            watch.save(force_insert=True)


class Migration(migrations.Migration):
    dependencies = [("compare", "0007_owners_of_lines")]

    operations = [migrations.RunPython(give_owners, migrations.RunPython.noop)]
