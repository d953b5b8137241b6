"""The devices of a plan, held exclusively while a tool writes to them that does not hold them."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from typing import Any

from runner.agent import commands

# Who only looks whether it is free holds it no longer.
PASSING_S = 2.0


@contextlib.contextmanager
def hold_devices(plan: dict[str, Any], phase: str) -> Iterator[None]:
    """While a step of this phase is run nobody can mount its devices, or add them to an array.

    mkfs, mount, wipefs, blkdiscard and the probe open a device exclusively themselves; dd and fio,
    which write for hours, do not. Raises StepFailed where one is in use already.
    """
    is_raw_benchmark = phase == "benchmark" and not plan.get("mount_point")
    with contextlib.ExitStack() as stack:
        if phase == "precondition" or is_raw_benchmark:
            for device in _devices(plan):
                stack.callback(os.close, _open_exclusively(device))
        yield


def _devices(plan: dict[str, Any]) -> "list[str]":
    devices = [plan.get("device"), plan.get("journal_device"), *plan.get("member_devices", [])]
    return [device for device in devices if device]


def _open_exclusively(device: str) -> int:
    deadline = time.monotonic() + PASSING_S
    while True:
        try:
            return os.open(device, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise commands.StepFailed(
                    f"{device} cannot be opened for this run alone ({error.strerror}): somebody "
                    "began to use it. It was not written to any more."
                ) from None
        time.sleep(0.05)
