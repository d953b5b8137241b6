"""A mail spool of maildirs: deliver, read, flag and delete messages, by several processes at once.

    maildir.py create FOLDER --mailboxes N --messages N --smallest B --largest B --seed N
    maildir.py run FOLDER --processes N --seconds S --warm-up S --deliver P --read P --delete P ...

A delivery is that of the maildir format (maildir(5)): the message is written to ``tmp``, fsync,
and renamed to ``new``. With ``--sync-folder`` the folder is written too, as Dovecot does where it
is asked to (mail_fsync=always). Reading takes a message of ``new`` or ``cur``, reads it whole and,
if it was new, moves it to ``cur`` as seen. What is left of 100 percent changes its flags by
another rename. Each process has mailboxes of its own, so that none waits for what another deleted.
All begin together, once each has read the names of its messages.
Prints the rate of the operations that began within the measured time, of all and of each kind, and
percentiles of each kind's latencies, one JSON object a line. Stdlib only.
"""

import argparse
import os
import random
import struct
import sys
import tempfile
import time
from array import array
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)
from runner.agent.workloads.contents import Contents, add_arguments
from runner.agent.workloads.latencies import latency_tests, print_number

KINDS = ("deliver", "read", "delete", "flag")
BLOCK = 64 * 1024
SEEN = ":2,S"
FLAGGED = ":2,FS"
# From the word to the begin.
BEGIN_S = 0.1


class Mailbox:
    """One maildir, and the names of its messages as the process that owns it knows them."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.next_number = 0
        self.messages: list[tuple[str, str]] = []

    def make(self) -> None:
        for name in ("", "/tmp", "/new", "/cur"):  # noqa: S108 (of the maildir)
            os.mkdir(self.folder + name)  # noqa: PTH102

    def scan(self) -> None:
        for place in ("new", "cur"):
            for name in sorted(os.listdir(f"{self.folder}/{place}")):  # noqa: PTH208
                self.messages.append((place, name))
                self.next_number = max(self.next_number, int(name.partition(":")[0]) + 1)

    def deliver(self, content: bytes, sync_folder: bool) -> None:
        name = f"{self.next_number:09d}"
        self.next_number += 1
        temporary = f"{self.folder}/tmp/{name}"  # noqa: S108 (of the maildir)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, f"{self.folder}/new/{name}")  # noqa: PTH104
        if sync_folder:
            descriptor = os.open(f"{self.folder}/new", os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        self.messages.append(("new", name))

    def read(self, position: int) -> None:
        place, name = self.messages[position]
        descriptor = os.open(f"{self.folder}/{place}/{name}", os.O_RDONLY)
        try:
            while os.read(descriptor, BLOCK):
                pass
        finally:
            os.close(descriptor)
        if place == "new":
            self._move(position, "cur", name + SEEN)

    def flag(self, position: int) -> None:
        name = self.messages[position][1]
        number, _, flags = name.partition(":")
        self._move(position, "cur", number + (SEEN if f":{flags}" == FLAGGED else FLAGGED))

    def delete(self, position: int) -> None:
        place, name = self.messages[position]
        os.unlink(f"{self.folder}/{place}/{name}")  # noqa: PTH108
        self.messages[position] = self.messages[-1]
        self.messages.pop()

    def _move(self, position: int, place: str, name: str) -> None:
        old_place, old_name = self.messages[position]
        os.rename(f"{self.folder}/{old_place}/{old_name}", f"{self.folder}/{place}/{name}")  # noqa: PTH104
        self.messages[position] = (place, name)


def work(
    options: argparse.Namespace, number: int, wait_for_start: Callable[[], float]
) -> dict[str, "array[int]"]:
    """What one process does; its latencies in ns by kind. ``wait_for_start``: when all begin."""
    mailboxes = [
        Mailbox(f"{options.folder}/{box:06d}")
        for box in range(number, options.mailboxes, options.processes)
    ]
    for mailbox in mailboxes:
        mailbox.scan()
    lots = random.Random(f"{options.seed}/{number}")  # noqa: S311 (no secret)
    contents = Contents(options, os.urandom(options.largest), f"{options.seed}/{number}")
    latencies = {kind: array("q") for kind in KINDS}
    shares = [options.deliver, options.read, options.delete]
    shares.append(100 - sum(shares))
    begin_at = wait_for_start()
    time.sleep(max(0.0, begin_at - time.monotonic()))
    counted_from = begin_at + options.warm_up
    end = counted_from + options.seconds
    while (now := time.monotonic()) < end:
        mailbox = mailboxes[lots.randrange(len(mailboxes))]
        kind = lots.choices(KINDS, shares)[0]
        if not mailbox.messages:
            kind = "deliver"
        position = lots.randrange(len(mailbox.messages)) if mailbox.messages else 0
        content = contents.piece(lots.randint(options.smallest, options.largest))
        before = time.perf_counter_ns()
        if kind == "deliver":
            mailbox.deliver(content, options.sync_folder)
        else:
            getattr(mailbox, kind)(position)
        took = time.perf_counter_ns() - before
        if now >= counted_from:
            latencies[kind].append(took)
    return latencies


def create(options: argparse.Namespace) -> None:
    os.mkdir(options.folder)  # noqa: PTH102
    lots = random.Random(options.seed)  # noqa: S311 (no secret)
    contents = Contents(options, os.urandom(options.largest), f"{options.seed}")
    for number in range(options.mailboxes):
        mailbox = Mailbox(f"{options.folder}/{number:06d}")
        mailbox.make()
        for message in range(options.messages):
            # As one that was read once: no delivery of the filling is waited for.
            name = f"{mailbox.folder}/cur/{message:09d}{SEEN}"
            with open(name, "wb") as file:  # noqa: PTH123
                file.write(contents.piece(lots.randint(options.smallest, options.largest)))
    os.sync()


def run(options: argparse.Namespace) -> bool:
    """Whether every process came to its end."""
    with tempfile.TemporaryDirectory(prefix="fsbench-maildir-") as results:
        ready, go = os.pipe(), os.pipe()
        children = []
        for number in range(options.processes):
            child = os.fork()
            if child == 0:
                os.close(go[1])
                _child(options, number, ready[1], go[0], results)
            children.append(child)
        os.close(ready[1])
        # Until each has looked at its mailboxes, or has failed: cold folders take their time.
        os.read(ready[0], 1)
        begin = struct.pack("d", time.monotonic() + BEGIN_S)
        os.write(go[1], begin * options.processes)
        statuses = [os.waitpid(child, 0)[1] for child in children]
        for end in (ready[0], *go):
            os.close(end)
        if any(statuses):
            return False
        latencies = {kind: array("q") for kind in KINDS}
        for kind in KINDS:
            for number in range(options.processes):
                latencies[kind].frombytes(Path(results, f"{number}.{kind}").read_bytes())
    load = {"processes": options.processes}
    count = sum(map(len, latencies.values()))
    print_number("maildir_operations", f"{count / options.seconds:.6f}", "operations/s", load)
    for kind, values in latencies.items():
        if values:
            print_number(
                f"maildir_{kind}", f"{len(values) / options.seconds:.6f}", "operations/s", load
            )
            latency_tests(f"maildir_{kind}", sorted(values), load)
    return True


def _child(options: argparse.Namespace, number: int, ready: int, go: int, results: str) -> None:
    def wait_for_start() -> float:
        os.close(ready)
        return float(struct.unpack("d", os.read(go, 8))[0])

    status = 1
    try:
        for kind, values in work(options, number, wait_for_start).items():
            Path(results, f"{number}.{kind}").write_bytes(values.tobytes())
        status = 0
    except OSError as error:
        sys.stderr.write(f"{error}\n")
    finally:
        sys.stderr.flush()
        os._exit(status)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("create", "run"))
    parser.add_argument("folder")
    for name, default in (
        *(("mailboxes", 10), ("messages", 10), ("smallest", 500), ("largest", 20000)),
        *(("processes", 1), ("seconds", 1), ("warm-up", 0), ("seed", 1)),
        *(("deliver", 30), ("read", 40), ("delete", 20)),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--sync-folder", action="store_true")
    add_arguments(parser)
    options = parser.parse_args(arguments)
    try:
        if options.what == "create":
            create(options)
            return 0
        return 0 if run(options) else 1
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
