"""A mail spool of maildirs."""

import re
from collections.abc import Iterator, Mapping

from fsbench_web.core.activity.promises import Syncs
from fsbench_web.core.file_features import COLONS
from fsbench_web.core.formats.result import load_text
from fsbench_web.core.workloads.applications.shared import (
    MIB,
    REMOUNT,
    TimedWorkload,
    counts,
    seconds,
    warm_up,
)
from fsbench_web.core.workloads.base import (
    MAIL,
    BenchmarkCommand,
    Kind,
    Parameter,
    ParameterError,
    Place,
    Preset,
    file_bytes,
    seed,
    time_limit,
)
from fsbench_web.core.workloads.fio.data import (
    WRITTEN_DATA,
    data_title,
    written_data,
    written_data_warning,
)

BLOCK_BYTES = 4096
_DELIVERED = re.compile(rb'"maildir_deliver", "value": "([0-9]{1,12}\.[0-9]{6})"')


class MailSpool(TimedWorkload):
    """A spool for each number of processes."""

    counted = "processes"
    tool = "maildir"
    name = "Mail spool"
    about = (
        "Messages are delivered into maildirs as a mail server does it (written, fsync, renamed), "
        "read, flagged and deleted by several processes: operations a second, and the latencies of "
        "each kind. fsbench's own program."
    )
    question = MAIL
    parameters = (
        Parameter("mailboxes", "Mailboxes", default=1000, minimum=1, maximum=100_000),
        Parameter("messages", "Messages in each at first", default=100, maximum=100_000),
        file_bytes("smallest_bytes", "Smallest message", 500, ""),
        file_bytes("largest_bytes", "Largest message", 50_000, ""),
        counts("processes", "Processes", [1, 8, 32], "Each number has a spool of its own."),
        Parameter("deliver_percent", "Deliveries", unit="percent", default=25, maximum=100),
        Parameter("read_percent", "Reads", unit="percent", default=45, maximum=100),
        Parameter(
            "delete_percent",
            "Deletions",
            unit="percent",
            default=20,
            maximum=100,
            help="What is left of 100 percent changes flags.",
        ),
        Parameter(
            "sync_folder",
            "fsync of the folder",
            Kind.FLAG,
            default=True,
            help="After each delivery the folder is written too: otherwise a crash may lose the "
            "message's name on some file systems.",
        ),
        seconds(),
        warm_up(),
        REMOUNT,
        *WRITTEN_DATA,
        seed("sizes and choices", 1),
        time_limit(6 * 3600),
    )
    presets = (
        Preset(
            "maildir-small",
            "Mail spool, a quick look",
            "20 mailboxes of 10 messages, 1 and 4 processes, a second each: to see that it works.",
            {
                "mailboxes": 20,
                "messages": 10,
                "processes": [1, 4],
                "seconds": 1,
                "warm_up_s": 0,
                "time_limit_s": 300,
            },
        ),
        Preset(
            "maildir",
            "Mail spool, 100,000 messages",
            "1,000 mailboxes, messages of 500 to 50,000 bytes (2.5 GB), 1, 8 and 32 processes, a "
            "minute each.",
            {},
        ),
    )

    def check(self) -> None:
        if self.largest_bytes < self.smallest_bytes:
            raise ParameterError(
                f"The largest message must be {self.smallest_bytes} bytes or more, "
                f"not {self.largest_bytes}."
            )
        if self.deliver_percent + self.read_percent + self.delete_percent > 100:
            raise ParameterError("Deliveries, reads and deletions are more than 100 percent.")
        if self.delete_percent > self.deliver_percent:
            raise ParameterError(
                "There must be as many deliveries as deletions, or the spool would run empty."
            )
        if max(self.processes) > self.mailboxes:
            raise ParameterError(
                f"There must be a mailbox for each process: {max(self.processes)} or more, not "
                f"{self.mailboxes}."
            )

    def title(self) -> str:
        processes = ", ".join(map(str, self.processes))
        return (
            f"Mail spool, {self.mailboxes:,} mailboxes of {self.messages:,} messages of "
            f"{self.smallest_bytes:,} to {self.largest_bytes:,} bytes, {processes} processes, "
            f"{self.seconds} s{data_title(self)}"
        )

    @property
    def demands(self) -> frozenset[str]:
        """Flags are behind ":2," (maildir(5))."""
        return frozenset({COLONS})

    def data_warning(self) -> str:
        return written_data_warning(self)

    def space_needed_bytes(self) -> int:
        mean = (self.smallest_bytes + self.largest_bytes) // 2 + BLOCK_BYTES
        # Deliveries beyond deletions make the spool grow: room for a thousand a second.
        more = (self.deliver_percent - self.delete_percent) * (self.seconds + self.warm_up_s) * 10
        return self.mailboxes * (self.messages * mean + 4 * BLOCK_BYTES) + more * mean + 64 * MIB

    @property
    def filling_s(self) -> float:
        return float(len(self.processes) * (self.mailboxes * self.messages / 5000))

    def commands(self, place: Place) -> list[BenchmarkCommand]:
        commands = [BenchmarkCommand(("mkdir", place.work))]
        for count in self.processes:
            folder = f"{place.work}/{count}"
            sizes = (
                *(f"--mailboxes={self.mailboxes}", f"--messages={self.messages}"),
                *(f"--smallest={self.smallest_bytes}", f"--largest={self.largest_bytes}"),
                *(f"--seed={self.seed}", *written_data(self)),
            )
            commands += [
                BenchmarkCommand(("fsbench-maildir", "create", folder, *sizes)),
                BenchmarkCommand(
                    (
                        *("fsbench-maildir", "run", folder, *sizes, f"--processes={count}"),
                        *(f"--deliver={self.deliver_percent}", f"--read={self.read_percent}"),
                        *(f"--delete={self.delete_percent}", f"--seconds={self.seconds}"),
                        *(f"--warm-up={self.warm_up_s}",),
                        *(("--sync-folder",) if self.sync_folder else ()),
                    ),
                    output=f"maildir-{count}.txt",
                    remount=self.remount,
                ),
                BenchmarkCommand(("rm", "-r", folder)),
            ]
        return commands

    def syncs(self, outputs: Mapping[str, bytes]) -> Mapping[str, Syncs | None]:
        """Each delivery syncs its message."""
        return {
            name: Syncs(round(float(rate[1]) * int(self.seconds)), count)
            for count in self.processes
            if (rate := _DELIVERED.search(outputs.get(name := f"maildir-{count}.txt", b"")))
        }

    def expected(self) -> Iterator[tuple[str, str, int | None, int | None]]:
        for count in self.processes:
            yield "maildir_operations", load_text(processes=count), None, None
