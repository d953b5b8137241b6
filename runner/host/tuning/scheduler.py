"""The I/O scheduler of a device, set in the host's sysfs for the time of a run."""

import contextlib
import re
from collections.abc import Iterator

from runner.safety import blockdev


class SchedulerError(Exception):
    """The scheduler cannot be set; the text says which ones the device offers."""


def read_schedulers(number: int) -> tuple[str, list[str]]:
    """(in effect, offered) of a device; an empty name and list when it has none."""
    try:
        text = (blockdev.queue_folder(number) / "scheduler").read_text()
    except OSError:
        return "", []
    current = re.search(r"\[([^\]]+)\]", text)
    return (current[1] if current else ""), re.findall(r"[\w-]+", text)


def write_scheduler(number: int, name: str) -> None:
    """Set it. Raises SchedulerError."""
    try:
        (blockdev.queue_folder(number) / "scheduler").write_text(name)
    except OSError as error:
        raise SchedulerError(f"The I/O scheduler {name} cannot be set: {error.strerror}.") from None


@contextlib.contextmanager
def scheduler_set(number: int, wanted: str) -> Iterator[str]:
    """Set the scheduler ("": leave it), yield it as read, restore it. Raises SchedulerError."""
    before, offered = read_schedulers(number)
    if not wanted:
        yield before
        return
    if wanted not in offered:
        listed = ", ".join(offered) or "none at all"
        raise SchedulerError(
            f"{blockdev.kernel_name(number)} does not offer the I/O scheduler “{wanted}”; "
            f"it offers {listed}."
        )
    write_scheduler(number, wanted)
    try:
        effective, _ = read_schedulers(number)
        if effective != wanted:
            raise SchedulerError(f"The kernel took {effective} instead of {wanted}.")
        yield effective
    finally:
        with contextlib.suppress(SchedulerError):
            write_scheduler(number, before)
