"""Kernels of four releases of Debian boot, and measure ext4, exFAT and NTFS3."""

from collections.abc import Callable

import pytest

from fsbench_web.catalog.workers.machines import EMULATED, Machine, guest_ability
from fsbench_web.studies.models import Run, RunState
from runner.guests.executor import GuestExecutor
from runner.worker import Host
from tests.contenders.conftest import SUITES
from tests.measured import measured
from tests.runner.conftest import MIB

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]
QUICK = {"depths": [1], "runtime_s": 1, "ramp_s": 0, "file_mb": 8, "time_limit_s": 600}
EVERYWHERE = {"ext2", "ext3", "ext4", "xfs", "btrfs", "exfat"}


def test_every_kernel_boots_and_says_what_it_mounts(guests: GuestExecutor) -> None:
    ability = guest_ability({"guest": guests.announcement()})
    assert ability is not None
    by_version = {kernel.version: kernel for kernel in ability.usable_kernels}
    assert len(by_version) == 1 + len(SUITES), guests.announcement()
    for kernel in by_version.values():
        assert [slug for slug in EVERYWHERE if not kernel.mounts(slug)] == []
        assert {"none", "mq-deadline"} <= set(kernel.schedulers)
    trixie = next(kernel for version, kernel in by_version.items() if version.startswith("6.12."))
    assert trixie.mounts("ntfs3")
    assert trixie.mounts("bcachefs")
    others = [kernel for kernel in by_version.values() if kernel is not trixie]
    assert not any(kernel.mounts("bcachefs") for kernel in others)
    assert all("has no bcachefs" in kernel.filesystems["bcachefs"]["reason"] for kernel in others)


@pytest.mark.parametrize(
    ("filesystem", "version"),
    [("ext4", "6.1."), ("ext4", "6.12."), ("ext4", "7."), ("exfat", "6.12."), ("ntfs3", "6.12.")],
)
def test_a_file_system_is_made_measured_and_taken_down(
    host: Host,
    guests: GuestExecutor,
    submitted: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
    filesystem: str,
    version: str,
) -> None:
    names = [name for name, booted in guests._seen.items() if version in name]
    kernel = guests._seen[names[0]].kernel
    assert kernel is not None
    run = carry_out(
        submitted(
            host,
            filesystem,
            tool="fio-depths",
            parameters=QUICK,
            machine=Machine(kernel.name, EMULATED, 768 * MIB, 1),
            kernel=kernel.version,
        ),
        host,
    )
    assert run.state == RunState.DONE, run.reason
    assert run.series.kernel.startswith(version)
    assert measured(run, test="random_4k_read_iops")
    assert [command["argv"] for command in run.commands if command["exit_code"]] == []
    assert run.commands[-1]["argv"] == ["umount", "/mnt/fsbench"]
