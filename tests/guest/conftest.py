"""A worker that boots guests: two kernels, one of them with what its host has dropped."""

from collections.abc import Callable
from typing import Any

import pytest

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec
from tests.studies.conftest import USABLE, ann, worker_announcement

__all__ = ["ann", "disk", "guest_spec", "old_and_new", "worker"]
GIB = 1024**3
NEW: dict[str, Any] = {
    "name": "debian-6.1",
    "version": "6.1.0-44-amd64",
    "filesystems": {
        **dict.fromkeys(("ext2", "ext3", "ext4", "xfs", "jfs", "reiser3"), USABLE),
        "btrfs": {"usable": False, "reason": "mkfs.btrfs is not in the image."},
    },
    "schedulers": ["none", "mq-deadline", "bfq"],
    "boot_s": 4.5,
}
OLD: dict[str, Any] = {
    "name": "own-2.6",
    "version": "2.6.8.1",
    "filesystems": dict.fromkeys(("ext2", "ext3", "jfs"), USABLE),
    "schedulers": ["anticipatory", "cfq", "deadline", "noop"],
    "boot_s": None,
}
BROKEN = {"name": "broken-5", "version": "", "problem": "It panics before its root is mounted."}


def guests(**changes: Any) -> dict[str, Any]:
    return {
        "usable": True,
        "reason": "",
        "accelerator": "kvm",
        "accelerator_reason": "",
        "qemu": "7.2.9",
        "most_memory_bytes": 4 * GIB,
        "most_cpus": 4,
        "kernels": [NEW, OLD, BROKEN],
    } | changes


def announced(**changes: Any) -> Worker:
    """The lab's worker with these guests; ``changes`` as of ``guests``."""
    plain = worker_announcement()
    capabilities = {
        **plain.capabilities,
        "filesystems": {
            **plain.capabilities["filesystems"],
            "jfs": {"usable": False, "reason": "The kernel 6.1.0 cannot mount JFS."},
            "reiser3": {"usable": False, "reason": "The kernel 6.1.0 cannot mount ReiserFS."},
        },
        "guest": guests(**changes),
    }
    return announce(worker_announcement(capabilities=capabilities))


@pytest.fixture
def worker(db: None) -> Worker:
    return announced()


@pytest.fixture
def disk(worker: Worker) -> Lun:
    return worker.luns.get(name="disk1")


@pytest.fixture
def guest_spec(disk: Lun) -> Callable[..., JobSpec]:
    return specs_of(disk)


def specs_of(disk: Lun) -> Callable[..., JobSpec]:
    """A job of guests that is fine as it is; keywords change it."""

    def make(**changes: Any) -> JobSpec:
        values: dict[str, Any] = {
            "lun_id": disk.pk,
            "configurations": (
                ConfigurationSpec("jfs", {}, "none"),
                ConfigurationSpec("ext4", {}, "none"),
            ),
            "workload": "iozone-small",
            "repeats": 2,
            "guest": GuestSpec(("debian-6.1",)),
            "new_study": "In guests",
        }
        return JobSpec(**(values | changes))

    return make


@pytest.fixture
def old_and_new() -> GuestSpec:
    return GuestSpec(("debian-6.1", "own-2.6"), 2048, 1)
