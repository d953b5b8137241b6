"""Series: which runs are repeats of each other."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from django.db import transaction
from django.db.models import Max

from fsbench_web.catalog.configurations.stacks import in_words
from fsbench_web.catalog.models import FilesystemConfiguration, HardwareProfile, Lun, Workload
from fsbench_web.studies.models import Run, Series, StackLun, Study


def series_for(
    study: Study,
    configuration: FilesystemConfiguration,
    *,
    workload: Workload | None = None,
    hardware: HardwareProfile | None = None,
    lun: Lun | None = None,
    journal_lun: Lun | None = None,
    kernel: str = "",
    distribution: str = "",
    preparation: Mapping[str, Any] | None = None,
    machine: Mapping[str, Any] | None = None,
    members: Sequence[tuple[str, Lun]] = (),
    is_locked: bool = False,
) -> Series:
    """Get or create the series of these circumstances. Safe when two transactions do it at once.

    ``is_locked``: it is locked (``lock``) in the same go, for a transaction that locks no other.
    ``preparation`` is what ``catalog.configurations.preparation`` stores: empty for a plain new
    file system; ``machine`` what ``catalog.workers.machines`` stores: empty for the worker's own
    executor. ``members`` are the other LUNs of its stack, (role, LUN) each, in their order.
    """
    identity: list[Any] = [
        study.pk,
        configuration.pk,
        workload.pk if workload else None,
        hardware.pk if hardware else None,
        lun.pk if lun else None,
        kernel,
        distribution,
    ]
    if preparation:
        # Not in the key of a plain run: what was measured before there was a choice stays joined.
        identity.append(dict(sorted(preparation.items())))
    if journal_lun is not None:
        # Behind the rest, so that the keys of series without one stay what they are.
        identity.append(["journal", journal_lun.pk])
    if machine:
        identity.append(["machine", dict(sorted(machine.items()))])
    if members:
        identity.append(["stack", [[role, member.pk] for role, member in members]])
    key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    rows = Series._base_manager.select_for_update() if is_locked else Series._base_manager.all()
    # A stack is there whole or not at all; a series without one takes no savepoint.
    with transaction.atomic() if members else nullcontext():
        series, is_new = rows.get_or_create(
            key=key,
            defaults={
                "study": study,
                "configuration": configuration,
                "workload": workload,
                "hardware": hardware,
                "lun": lun,
                "journal_lun": journal_lun,
                "stack_luns": in_words((role, member.name) for role, member in members),
                "kernel": kernel,
                "distribution": distribution,
                "preparation": dict(preparation or {}),
                "machine": dict(machine or {}),
            },
        )
        if is_new:
            StackLun.objects.bulk_create(
                StackLun(series=series, lun=member, role=role, place=place)
                for place, (role, member) in enumerate(members)
            )
    # Found by their keys: nobody needs to read them again.
    series.study, series.configuration = study, configuration
    return series


def series_like(series: Series, **changes: Any) -> Series:
    """The series with the circumstances of another one, but for ``changes``."""
    names = ("workload", "hardware", "lun", "journal_lun", "kernel", "distribution", "preparation")
    circumstances = {name: getattr(series, name) for name in (*names, "machine")} | changes
    members = members_of(series)
    return series_for(series.study, series.configuration, members=members, **circumstances)


def members_of(series: Series) -> list[tuple[str, Lun]]:
    """The other LUNs of its stack, as ``series_for`` takes them."""
    return [(member.role, member.lun) for member in series.members if member.lun is not None]


def lock(series: Series) -> None:
    """Let one transaction at a time number and score the runs of a series."""
    Series.objects.select_for_update().values_list("pk").get(pk=series.pk)


def lock_all(serieses: Iterable[Series]) -> None:
    """``lock`` for several, always in the same order: two transactions never wait in a circle.

    ``quality``, which an earlier holder of a lock may have written, is read again.
    """
    by_pk = {series.pk: series for series in serieses}
    rows = Series.objects.select_for_update().filter(pk__in=by_pk).order_by("pk")
    for pk, quality in rows.values_list("pk", "quality"):
        by_pk[pk].quality = quality


def next_repeat(series: Series) -> int:
    """The number of the next run, from 1. Locks the series: call it in a transaction.

    A number is never used twice, also not that of a run which failed.
    """
    lock(series)
    highest = Run.objects.filter(series=series).aggregate(highest=Max("repeat"))["highest"]
    return (highest or 0) + 1
