"""Guests against containers.

    .venv/bin/python -m benchmarks.overhead.guest_overhead FOLDER [--rounds 6]

FOLDER has the kernel packages (docs/guest.md); the first is taken. Needs root, and Docker with the
benchmark image. The same plan (mkfs.ext4, mount, one fio job with direct I/O) is run in a container
and in a guest by turns, on the same loop LUN, each turn the other way round. Printed for each job:
the medians, their ratio (guest / container), and how far the containers' runs scatter among
themselves: a ratio that differs from 1 by less than that says nothing.

Where KVM does not work this prints why and measures nothing: an emulated guest's speed is no speed.
"""

import argparse
import statistics
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.overhead.run_overhead import FILE_MB, JOBS, bandwidth_kib_s

if TYPE_CHECKING:
    from runner.executors.base import Executor
    from runner.plan import RunPlan

SECONDS = 10
LUN_SIZE = "2 GiB"
MEMORY_BYTES = 2**30
CPUS = 2
POINT = "/mnt/fsbench"


def plan_of(device: str, job: str, kernel: str) -> "RunPlan":
    from runner.plan import RunPlan, Step

    file = f"{POINT}/overhead.dat"
    fio = [
        *("fio", "--name=overhead", f"--filename={file}", f"--size={FILE_MB}M", *JOBS[job]),
        *("--direct=1", "--ioengine=psync", "--randseed=7", "--time_based"),
        *(f"--runtime={SECONDS}", "--ramp_time=1s", "--output-format=json"),
    ]
    return RunPlan(
        steps=[
            Step("mkfs", ["mkfs.ext4", "-F", "-q", "-L", "fsbench", device], 300),
            Step("mount", ["mount", "-t", "ext4", device, POINT], 60),
            Step("benchmark", fio, 300, "fio.json"),
        ],
        filesystem="ext4",
        device=device,
        journal_device="",
        member_devices=[],
        layers=[],
        teardown=[],
        mount_point=POINT,
        unmount=["umount", POINT],
        leave_nothing="",
        space_needed_bytes=0,
        tools=["fio"],
        tool="fio",
        parameters={},
        outputs=["fio.json"],
        guest={"kernel": kernel, "memory_bytes": MEMORY_BYTES, "cpus": CPUS} if kernel else None,
    )


def measure(executor: "Executor", device: str, job: str, kernel: str) -> float:
    """KiB/s."""
    from runner.executors.base import Message, Target
    from runner.host.hardware import drop_caches

    drop_caches()
    messages: list[Message] = []
    plan = plan_of(executor.device_path("overhead", device), job, kernel)
    # Both get the same processors.
    plan = replace(plan, cpus=CPUS)
    target = Target(0, "overhead", "overhead", device)
    outcome = executor.run(plan, target, messages.append, lambda: False)
    parts = [
        message["text"]
        for message in messages
        if message["type"] == "output" and message["name"] == "fio.json"
    ]
    if outcome.exit_code != 0 or not parts:
        raise SystemExit(f"the {executor.name} executor failed: {outcome} {messages[-3:]}")
    return bandwidth_kib_s("".join(parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("kernels", type=Path)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--image", default="fsbench-runner:local")
    options = parser.parse_args()

    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
    django.setup()
    from runner.executors.docker import DockerExecutor
    from runner.executors.guest import GuestExecutor
    from runner.safety import sparse
    from runner.safety.luns import read_luns

    with tempfile.TemporaryDirectory(prefix="fsbench-overhead-") as name:
        folder = Path(name)
        guests = GuestExecutor(
            options.image,
            "overhead",
            folder=options.kernels,
            cache=folder / "cache",
            worker="overhead",
        )
        guests.look()
        announced = guests.announcement()
        usable = [candidate for candidate in announced["kernels"] if not candidate["problem"]]
        if announced["reason"] or not usable:
            raise SystemExit(
                f"No guest can be booted: {announced['reason'] or announced['kernels']}"
            )
        if announced["accelerator"] != "kvm":
            raise SystemExit(
                f"Not taken: guests would be emulated here. {announced['accelerator_reason']}"
            )
        kernel = str(usable[0]["name"])
        file = folder / "luns.toml"
        file.write_text(
            f'[[lun]]\nname = "overhead"\nkind = "sparse-file"\npath = "{folder}/lun.img"\n'
            f'size = "{LUN_SIZE}"\n'
        )
        file.chmod(0o600)
        [entry] = read_luns(file)
        loop = sparse.attach(entry, folder)
        container = DockerExecutor(options.image, "overhead")
        try:
            for job in JOBS:
                rates: dict[str, list[float]] = {"container": [], "guest": []}
                for number in range(options.rounds):
                    for side in (("container", "guest"), ("guest", "container"))[number % 2]:
                        is_guest = side == "guest"
                        rates[side].append(
                            measure(
                                guests if is_guest else container,
                                loop.device,
                                job,
                                kernel if is_guest else "",
                            )
                        )
                print_ratio(job, rates["container"], rates["guest"])
        finally:
            sparse.detach(loop, entry.path)


def print_ratio(job: str, container: list[float], guest: list[float]) -> None:
    middle, other = statistics.median(container), statistics.median(guest)
    low, high = min(container) / middle, max(container) / middle
    print(
        f"{job}: container {middle:.0f}, guest {other:.0f} KiB/s, ratio {other / middle:.3f}; "
        f"{len(container)} runs of containers lie within {low:.3f} to {high:.3f} of their median"
    )


if __name__ == "__main__":
    main()
