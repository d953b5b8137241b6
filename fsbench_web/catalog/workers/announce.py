"""Write what a worker host says of itself, with every heartbeat, to Worker and Lun rows.

The permission to erase a LUN stays with the host's own file (runner.safety.luns).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import models, transaction

from fsbench_web.catalog.models import HardwareProfile, Lun, Worker
from fsbench_web.platform import clock

_SLUG_LETTERS = 100
"""Of a HardwareProfile."""
_ANNOUNCED = [
    *("role", "kind", "device", "identity", "fingerprint", "size_bytes", "controller"),
    *("schedulers", "scheduler", "can_discard", "problem", "is_listed", "announced_at"),
]


@dataclass(frozen=True)
class LunAnnouncement:
    """A LUN of the host's allow-list, as ``Lun`` has it. ``problem`` is empty when usable now.

    ``identity`` is [[label, value], ...]; ``scheduler`` the one in effect while no run uses it;
    ``fingerprint`` tells it from another LUN of its name.
    """

    name: str
    role: str
    kind: str
    device: str
    size_bytes: int | None = None
    identity: list[list[str]] = field(default_factory=list)
    schedulers: list[str] = field(default_factory=list)
    problem: str = ""
    controller: str = ""
    can_discard: bool = False
    scheduler: str = ""
    fingerprint: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkerAnnouncement:
    """A worker host with all its LUNs: one that is missing here is no longer listed.

    ``capabilities``::

        {"filesystems": {"ext4": {"usable": true, "reason": ""}, ...},
         "tools": {"iozone": {"usable": true, "version": "3.489", "path": "/usr/bin/iozone",
                              "reason": "", "package": "iozone3"}},
         "kernel": "6.1.0-18-amd64", "distribution": "Debian GNU/Linux 12 (bookworm)",
         "executor_reason": "why this executor was chosen",
         "versions": [["fsbench", "0.1.0"], ["Docker", "20.10.24"], ...],
         "limits": {"rates": "why runs cannot be limited so, or empty", "memory": "likewise",
                    "swap": "why a limit of memory is none of swap, which refuses no run"},
         "full_disks": ["a folder whose disk is nearly full", ...],
         "host_mark": "what tells this host from another one of the same name",
         "guest": {"usable": true, "accelerator": "kvm", "kernels": [{"name": "debian-6.1", ...}]},
         "setup": {"kind": "image" | "packages", "state": "running" | "failed" | "missing",
                   "title": "...", "reason": "why it is done",
                   "problem": "what happened and what to do, or empty",
                   "command": "sudo make tools, or empty"},
         "is_usable": true, "reason": "why no run can start, when it is not usable"}

    ``setup`` is there while the worker makes its image or installs tools automatically, when that
    failed, or when it may not (docs/operating.md). ``guest`` is there where guest kernels can be
    booted; ``catalog.workers.machines.guest_ability`` reads it.
    A reason says what is wrong and what to do. ``hardware`` is [[label, value], ...].
    """

    name: str
    executor: str
    capabilities: dict[str, Any]
    luns: list[LunAnnouncement]
    hardware: list[list[str]] = field(default_factory=list)
    has_started: bool = False


@transaction.atomic
def announce(announcement: WorkerAnnouncement) -> Worker:
    """Write the worker, its hardware profile and its LUNs; ``has_started`` sets its start time."""
    now = clock.now()
    hardware = _hardware(announcement)
    values: dict[str, Any] = {
        "executor": announcement.executor,
        "capabilities": announcement.capabilities,
        "hardware_id": hardware.pk if hardware else None,
        "seen_at": now,
    }
    if announcement.has_started:
        values["started_at"] = now
    worker = Worker.objects.select_for_update().filter(name=announcement.name).first()
    if worker is None:
        worker, _ = Worker.objects.update_or_create(
            name=announcement.name, defaults=values, create_defaults={"started_at": now, **values}
        )
    else:
        _write_changed(worker, values)
    # In one statement, not four for each of them: every worker is here every few seconds.
    rows = {
        lun.name: Lun(worker=worker, is_listed=True, announced_at=now, **vars(lun))
        for lun in announcement.luns
    }
    Lun.objects.bulk_create(
        rows.values(),
        update_conflicts=True,
        unique_fields=["worker", "name"],
        update_fields=_ANNOUNCED,
    )
    worker.luns.exclude(name__in=rows).filter(is_listed=True).update(
        is_listed=False, announced_at=now
    )
    return worker


def _write_changed(row: models.Model, values: Mapping[str, Any]) -> None:
    """Write the changed columns: of a heartbeat that is little more than its time."""
    changed = {name: value for name, value in values.items() if getattr(row, name) != value}
    for name, value in changed.items():
        setattr(row, name, value)
    if changed:
        row.save(update_fields=list(changed))


def _hardware(announcement: WorkerAnnouncement) -> HardwareProfile | None:
    """The host's own profile; a name or facts edited by a person are kept apart from it."""
    if not announcement.hardware:
        return None
    values = {
        "facts": announcement.hardware,
        "source": f"captured by worker {announcement.name}",
    }
    profile, is_new = HardwareProfile.objects.get_or_create(
        slug=_profile_slug(announcement.name),
        defaults={"name": f"Host {announcement.name}", **values},
    )
    if not is_new:
        _write_changed(profile, values)
    return profile


def _profile_slug(worker: str) -> str:
    """``host-WORKER``; of a name too long for it the beginning, and a digest of all of it."""
    slug = f"host-{worker}"
    if len(slug) <= _SLUG_LETTERS:
        return slug
    digest = hashlib.sha256(worker.encode()).hexdigest()[:12]
    return f"{slug[: _SLUG_LETTERS - 13]}-{digest}"
