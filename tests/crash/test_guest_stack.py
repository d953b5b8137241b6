"""`kill -9` of the worker, and a cancelled run, while a guest serves and measures a stack."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsbench_web.catalog.configurations.layers import Layer
from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers.machines import EMULATED, MIB, Machine, guest_ability
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.runs import lifecycle
from runner.guests import kernels
from runner.guests.executor import GuestExecutor
from runner.safety import signatures
from runner.safety.marks import LAYER_SIGNATURES
from tests.crash.invariants import assert_sound
from tests.crash.lab import IMAGE, Lab
from tests.measured import measured
from tests.runner.conftest import SMALL
from tests.services.kernel import kernel_package, unpacked

pytestmark = [pytest.mark.docker, pytest.mark.postgres, pytest.mark.redis, pytest.mark.root]

LAYERS = (
    Layer.of({"layer": "integrity", "algorithm": "crc32c", "writes": "journal"}),
    Layer.of({"layer": "bcache", "cache_mode": "writeback", "bucket_kb": 64}),
)
BOOT_S = 300
# dm-integrity writes all of a LUN first: emulated, a second for each four MiB.
SIZE_MIB = 96
FOR_MINUTES = {"parameters": SMALL | {"maximum_file_kb": 32768, "direct_io": True}}


class Stacked:
    """The lab with a small LUN, one for caches, and a kernel that its worker need not boot to know
    it.
    """

    def __init__(self, lab: Lab) -> None:
        self.lab, self.cache = lab, lab.folder / "cache.img"
        self.folder = lab.folder / "data/kernels"
        self.had, self.had_disk = lab.lun_file.read_text(), lab.disk

    def begin(self) -> None:
        self.lab.stop()
        self.lab.disk = self.lab.folder / "small.img"
        small = self.had.replace(str(self.had_disk), str(self.lab.disk))
        self.lab.lun_file.write_text(
            small.replace("400 MiB", f"{SIZE_MIB} MiB")
            + f'[[lun]]\nname = "fast"\nkind = "sparse-file"\npath = "{self.cache}"\n'
            'size = "68 MiB"\nrole = "journal"\n'
        )
        self.folder.mkdir()
        shutil.copy(kernel_package(), self.folder)
        self._look()
        self.lab.start_worker()
        self.lab.wait_until(lambda: self.kernel is not None)

    def end(self) -> None:
        self.lab.stop()
        self.lab.disk = self.had_disk
        self.lab.lun_file.write_text(self.had)
        shutil.rmtree(self.folder)

    def _look(self) -> None:
        """What a first boot would find, as far as this test needs it."""
        guest_folder = self.lab.folder / "data/guest"
        executor = GuestExecutor(IMAGE, "lab", folder=self.folder, cache=guest_folder)
        assert executor._why_unusable() == ""
        [package] = kernels.packages_in(self.folder)
        kernel = unpacked(package, guest_folder)
        image = str(executor.client.images.get(IMAGE).id).rpartition(":")[2][:16]
        usable = {"usable": True, "reason": ""}
        announced = {"version": kernel.version, "filesystems": {"ext4": usable}}
        announced |= {"schedulers": ["none"], "boot_s": None}
        (kernel.folder / f"seen-{image}-{EMULATED}.json").write_text(json.dumps(announced))
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        emulated = {"boot": boot, "qemu": executor.qemu, "accelerator": EMULATED, "reason": ""}
        (guest_folder / "accelerator.json").write_text(json.dumps(emulated))

    @property
    def kernel(self) -> tuple[str, str] | None:
        """(name, version) of the kernel, once its worker announces it."""
        worker = Worker.objects.get(name=self.lab.name)
        ability = guest_ability(worker.capabilities)
        usable_kernels = ability.usable_kernels if ability is not None else ()
        return (usable_kernels[0].name, usable_kernels[0].version) if usable_kernels else None

    def measuring(self) -> Run:
        """A run of ext4 by NFS over bcache over dm-integrity, which is being measured."""
        self.lab.wait_until(lambda: self.kernel is not None)
        assert self.kernel is not None
        name, version = self.kernel
        run = self.lab.submit(
            options={"nfs": "4.2"},
            members=[("cache", "fast")],
            layers=LAYERS,
            machine=Machine(name, EMULATED, 384 * MIB, 1),
            kernel=version,
            **FOR_MINUTES,
        )
        self.lab.wait_for(run, RunState.RUNNING, "benchmark", BOOT_S)
        assert any("qemu-system" in command for command in self.lab.agents())
        return run

    def loops(self) -> dict[str, str]:
        """The LUN of each of their loop devices: one each while the worker lives."""
        luns = {}
        for lun, path in (("disk", self.lab.disk), ("fast", self.cache)):
            argv = ["losetup", "--noheadings", "--output", "NAME", "-j", str(path)]
            done = subprocess.run(argv, capture_output=True, text=True, check=True)
            luns |= dict.fromkeys(done.stdout.split(), lun)
        return luns

    def with_layers(self) -> set[str]:
        """The LUNs on which layers are left."""
        return {
            lun
            for device, lun in self.loops().items()
            if {signature.type for signature in signatures.of(device)} & LAYER_SIGNATURES
        }


@pytest.fixture
def stacked(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stacked]:
    monkeypatch.setenv("DOCKER_HOST", lab.dockerd.host)
    stack = Stacked(lab)
    try:
        stack.begin()
        yield stack
    finally:
        stack.end()


def test_a_stack_in_a_guest_survives_neither_its_worker_nor_its_run(stacked: Stacked) -> None:
    """Three runs on the same LUNs: a lost one, a cancelled one, and one that is done."""
    lab, since = stacked.lab, time.time()
    lost = stacked.measuring()
    lab.kill_worker()
    assert lab.containers()
    assert stacked.with_layers()
    lab.start_worker()
    lab.wait_for(lost, RunState.LOST)
    assert "The worker stopped while the run was running" in lost.reason
    assert lab.containers() == []
    # The guest had time to take some down itself, when its worker was silent for long enough.
    left = stacked.with_layers()

    # On both LUNs with what the killed guest left on them.
    cancelled = stacked.measuring()
    log = " ".join(cancelled.log_lines.values_list("text", flat=True))
    for lun in left:
        assert f"Left of layers on {lun}, and removed: " in log
    lifecycle.cancel(cancelled.pk, "ann")
    lab.wait_for(cancelled, RunState.CANCELLED)
    assert stacked.with_layers() == set()
    assert len(stacked.loops()) == 2

    assert_sound(lab, since)
    assert [measured(run) for run in (lost, cancelled)] == [[], []]
    lab.stop()
    assert stacked.loops() == {}
    assert lab.agents() == []
