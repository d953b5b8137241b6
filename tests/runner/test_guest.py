"""Real guests: a kernel of its own boots in the container and measures a real loop device."""

from collections.abc import Callable

import pytest

from fsbench_web.catalog.machines import EMULATED, MIB, Machine
from fsbench_web.studies.models import Measurement, Run, RunState
from runner import kernels
from runner.executors.guest import GuestExecutor, Seen
from runner.host import Host
from tests.runner.conftest import SMALL
from tests.services.kernel import kernel_folder

pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]

TINY = SMALL | {"maximum_record_kb": 4, "maximum_file_kb": 64}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> kernels.Kernel:
    """Unpacked once for all."""
    package = kernels.listed(kernel_folder())[0]
    return kernels.unpacked(package, tmp_path_factory.mktemp("guest"))


@pytest.fixture
def guests(
    docker_host: str,
    runner_image: str,
    kernel: kernels.Kernel,
    monkeypatch: pytest.MonkeyPatch,
) -> GuestExecutor:
    """An executor that knows its kernel without having booted it."""
    monkeypatch.setenv("DOCKER_HOST", docker_host)
    executor = GuestExecutor(
        runner_image,
        "test",
        folder=kernel_folder(),
        cache=kernel.folder.parent,
        accelerator=EMULATED,
    )
    executor.reason, executor.qemu = "", "7.2"
    usable = {"usable": True, "reason": ""}
    executor._seen[kernel.name] = Seen(
        kernel,
        {
            "name": kernel.name,
            "version": kernel.version,
            "digest": kernel.digest,
            "problem": "",
            "filesystems": dict.fromkeys(("jfs", "reiser3", "ext4"), usable),
            "schedulers": ["none", "mq-deadline", "bfq", "kyber"],
            "boot_s": None,
        },
    )
    return executor


@pytest.fixture
def machine(kernel: kernels.Kernel) -> Machine:
    return Machine(kernel.name, EMULATED, 384 * MIB, 1)


@pytest.fixture
def host(make_host: Callable[..., Host], guests: GuestExecutor) -> Host:
    return make_host(guests=guests)


@pytest.mark.parametrize("filesystem", ["jfs", "reiser3"])
def test_it_measures_what_the_hosts_kernel_may_not_have(
    filesystem: str,
    host: Host,
    machine: Machine,
    kernel: kernels.Kernel,
    order: Callable[..., Run],
    carry_out: Callable[[Run, Host], Run],
) -> None:
    run = carry_out(
        order(
            host,
            filesystem,
            parameters=TINY,
            machine=machine,
            kernel=kernel.version,
            scheduler="bfq",
        ),
        host,
    )

    assert run.state == RunState.DONE, run.reason
    assert Measurement.objects.filter(run=run, test="write").exists()
    assert run.series.kernel == kernel.version
    assert Machine.of(run.series.machine) == machine
    assert run.environment is not None
    facts = run.environment.facts
    assert ["Accelerator", EMULATED] in facts["Guest"]
    assert ["Memory", "384 MiB"] in facts["Guest"]
    assert ["Kernel", kernel.version] in facts["Operating system"]
    assert ["I/O scheduler", "bfq"] in facts["LUN"]
