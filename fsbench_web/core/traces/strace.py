"""``strace -f -T`` of reads and writes (strace 4 to 6; with -o, -tt, -y or without).

Follows files from openat to close. Sockets, pipes and files opened before are only counted.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fsbench_web.core.traces.observed import ObservedWorkload, TraceError

_HEAD = (
    r"(?:\[pid\s+(?P<pid1>\d+)\]\s+|(?P<pid2>\d+)\s+)?"
    r"(?:\d{2}:\d{2}:\d{2}(?:\.\d+)?\s+|\d+\.\d+\s+)?"
)
_CALL = re.compile(_HEAD + r"(?P<call>[a-z_0-9]+)\((?P<rest>.*)$")
_RESUMED = re.compile(_HEAD + r"<\.\.\. (?P<call>[a-z_0-9]+) resumed>(?P<rest>.*)$")
_EXIT = re.compile(_HEAD + r"\+\+\+ (?:exited|killed)\b")
_ATTACHED = re.compile(r"strace: Process (\d+) attached")
_RESULT = re.compile(
    r"(-?\d{1,18})(?!\d)(?:<(?P<path>[^>]*)>)?[^<]*(?:<(?P<seconds>\d{1,12}\.\d{1,12})>)?\s*$"
)
_FD = re.compile(r"(\d{1,9})(?:<[^>]*>)?")
_SIZE = re.compile(r"st_mode=(S_IF[A-Z]++)(?:(?!st_mode=).)*?st_size=(\d{1,18})(?!\d)")
_OFFSET = re.compile(r", (\d{1,18})$")
_OFFSET_AND_FLAGS = re.compile(r", (\d{1,18}), [^,]+$")
"""preadv2(2) and pwritev2(2) have flags behind the offset, and no other call has anything."""
_UNFINISHED = " <unfinished ...>"
_READS = frozenset(("read", "readv", "pread64", "preadv", "preadv2", "pread"))
_WRITES = frozenset(("write", "writev", "pwrite64", "pwritev", "pwritev2", "pwrite"))
_OPENS = frozenset(("open", "openat", "creat", "openat2"))
_SYNCS = frozenset(("fsync", "fdatasync"))
_FORKS = frozenset(("clone", "clone3", "fork", "vfork"))
_COPIES = frozenset(("dup", "dup2", "dup3"))
_STATS = frozenset(("fstat", "newfstatat"))
_OTHERS = frozenset(("close", "lseek", "fcntl"))
_CALLS = _READS | _WRITES | _OPENS | _SYNCS | _FORKS | _COPIES | _STATS | _OTHERS
_TAIL = 600
"""Letters at the end of a call in which its numbers stand: what was read may be long."""
MOST_INHERITED = 5_000_000
"""Each is kept: a file of many forks behind many opened files would take all memory."""
_NO_FILES = ("/proc/", "/sys/", "/dev/")
_NAME = re.compile(
    r'^(?:AT_FDCWD(?:<[^>]*>)?, |(?P<folder>\d{1,9})(?:<[^>]*>)?, )?"(?P<name>(?:[^"\\]|\\.)*)"'
)


@dataclass
class _Open:
    """An open file or folder: its key, and where the next read or write begins."""

    key: int
    place: int = 0
    is_folder: bool = False


_Table = dict[int, _Open]


def recognises(head: list[str]) -> bool:
    """By calls with their results."""
    count = 0
    for line in head:
        match = _CALL.match(line)
        count += bool(match and (" = " in line or line.rstrip().endswith(_UNFINISHED)))
    return count >= 1


class Processes:
    """Which process a line is of, and what it has open; ``unnamed`` is that of lines without a
    name.

    A child may act before the call that made it returns.
    """

    def __init__(self) -> None:
        self.tables: dict[str, _Table] = {}
        self.numbers: dict[str, int] = {}
        self.is_over: set[str] = set()
        self.running: set[str] = set()
        self.forking: dict[str, bool] = {}
        self.unnamed = ""
        self.inherited = 0

    def table(self, pid: str, *, returns_from_fork: bool = False) -> _Table:
        """What ``pid`` ("" where the line has none) has open."""
        pid = self._known(pid)
        if pid not in self.tables:
            if pid and self.forking and not (returns_from_fork and "" in self.tables):
                self._inherit(pid, *self._oldest_fork())
            elif pid and "" in self.tables:
                self._name_the_first(pid)
            else:
                self._start(pid, {})
        return self.tables[pid]

    def attached(self, pid: str) -> None:
        """strace says that it follows ``pid`` from here on."""
        if pid not in self.tables and self.forking:
            self._inherit(pid, *self._oldest_fork())
        elif pid not in self.tables:
            self._start(pid, {})
            self.unnamed = self.unnamed or pid

    def number(self, pid: str) -> int:
        """Of the thread, the same by whatever name."""
        return self.numbers[self._known(pid)]

    def ended(self, pid: str) -> None:
        self.table(pid)
        name = self._known(pid)
        self.is_over.add(name)
        self.running.discard(name)
        self.tables[name] = {}  # Its own no more; whoever shares it keeps it.

    def forks(self, pid: str, *, shares: bool) -> None:
        """It is in a call that makes another."""
        self.forking[self._known(pid)] = shares

    def forked(self, pid: str, child: int, *, shares: bool, was_interrupted: bool) -> None:
        """The call returned ``child``, below 1 for none, which may have run already."""
        pid = self._known(pid)
        self.forking.pop(pid, None)
        name = str(child)
        is_new = name not in self.tables or (name in self.is_over and not was_interrupted)
        if child > 0 and is_new:
            self._inherit(name, pid, shares)

    def _known(self, pid: str) -> str:
        if pid or "" in self.tables:
            return pid
        if self.unnamed in self.is_over:
            self.unnamed = next(iter(self.running)) if len(self.running) == 1 else ""
        return self.unnamed

    def _oldest_fork(self) -> tuple[str, bool]:
        parent = next(iter(self.forking))
        return parent, self.forking.pop(parent)

    def _inherit(self, pid: str, parent: str, shares: bool) -> None:
        table = self.tables[parent]
        self.inherited += 0 if shares else len(table)
        if self.inherited > MOST_INHERITED:
            raise TraceError(
                0,
                f"Its processes inherit more than {MOST_INHERITED:,} open files of each other: "
                "cut the trace.",
            )
        self._start(pid, table if shares else dict(table))

    def _name_the_first(self, pid: str) -> None:
        self.tables[pid] = self.tables.pop("")
        if "" in self.running:
            self.running.remove("")
            self.running.add(pid)
        self.numbers[pid] = self.numbers.pop("")
        self.unnamed = pid
        if "" in self.forking:
            self.forking[pid] = self.forking.pop("")

    def _start(self, pid: str, table: _Table) -> None:
        self.tables[pid] = table
        self.numbers[pid] = len(self.numbers) + 1
        self.is_over.discard(pid)
        self.running.add(pid)


class _Reader:
    def __init__(self) -> None:
        self.found = ObservedWorkload("strace")
        self.processes = Processes()
        self.keys: dict[tuple[int | None, str], int] = {}
        self.unfinished: dict[tuple[int, str], str] = {}
        self.timed = 0

    def line(self, number: int, line: str) -> None:
        if attached := _ATTACHED.search(line):
            # It cuts the call in the middle of which it is told.
            line = line[: attached.start()].rstrip() + _UNFINISHED
        resumed = _RESUMED.match(line)
        if match := resumed or _CALL.match(line):
            if match["call"] in _CALLS:
                self.match(number, match, is_resumed=resumed is not None)
        elif match := _EXIT.match(line):
            self.processes.ended(_pid(match))
        if attached:
            self.processes.attached(attached[1])

    def match(self, number: int, match: re.Match[str], *, is_resumed: bool) -> None:
        pid, call, rest = _pid(match), match["call"], match["rest"]
        table = self.processes.table(pid, returns_from_fork=is_resumed and call in _FORKS)
        thread = self.processes.number(pid)
        if is_resumed:
            before = self.unfinished.pop((thread, call), None)
            if before is None:
                self.found.skipped["calls that began before the trace"] += 1
                return
            rest = before + rest
        elif rest.endswith(_UNFINISHED):
            rest = rest.removesuffix(_UNFINISHED)
            self.unfinished[thread, call] = rest
            if call in _FORKS:
                self.processes.forks(pid, shares="CLONE_FILES" in rest)
            return
        arguments, _, tail = rest.rpartition(" = ")
        result = _RESULT.match(tail)
        if call in _FORKS:
            child = int(result[1]) if result else -1
            shares = "CLONE_FILES" in arguments
            self.processes.forked(pid, child, shares=shares, was_interrupted=is_resumed)
            return
        if result is None or int(result[1]) < 0:
            return
        self.timed += result["seconds"] is not None
        arguments = arguments.rstrip().removesuffix(")")
        self.call(number, table, call, arguments, result)

    def call(
        self, number: int, table: _Table, call: str, arguments: str, result: re.Match[str]
    ) -> None:
        value = int(result[1])
        if call in _OPENS:
            self.open(number, table, arguments, value, result["path"])
        elif call == "close":
            table.pop(_fd(arguments), None)
        elif call in _COPIES or (call == "fcntl" and ", F_DUPFD" in arguments):
            duplicate = table.get(_fd(arguments))
            table.pop(value, None)
            if duplicate is not None:
                table[value] = duplicate
        elif call == "fcntl":
            return
        elif (file := table.get(_fd(arguments))) is not None and not file.is_folder:
            seconds = float(result["seconds"] or 0)
            self.of_file(number, file, call, arguments, value, seconds)
        elif call in _READS or call in _WRITES:
            text = "reads and writes of sockets, pipes, devices and files opened before"
            self.found.skipped[text] += 1

    def of_file(
        self, number: int, file: _Open, call: str, arguments: str, result: int, seconds: float
    ) -> None:
        if call == "lseek":
            file.place = result
        elif call in _STATS:
            size = _SIZE.search(arguments[-_TAIL:])
            if size and size[1] == "S_IFREG":
                self.known_size(number, file, int(size[2]))
        elif call in _SYNCS:
            self.found.file(file.key, number).is_flushed = True
        else:
            self.access(number, file, call, arguments, result, seconds)

    def known_size(self, number: int, file: _Open, size: int) -> None:
        observed_file = self.found.file(file.key, number)
        observed_file.size = max(observed_file.size or 0, size)

    def access(
        self, number: int, file: _Open, call: str, arguments: str, result: int, seconds: float
    ) -> None:
        offset = file.place
        if call.startswith(("pread", "pwrite")):
            has_flags = call.endswith("v2")
            match = (_OFFSET_AND_FLAGS if has_flags else _OFFSET).search(arguments[-_TAIL:])
            if match is None:
                self.found.skipped["calls with an unreadable offset"] += 1
                return
            offset = int(match[1])
        else:
            file.place += result
        if result == 0:
            self.found.skipped["reads at the end of a file"] += 1
            return
        self.found.add(
            file.key,
            number,
            is_write=call in _WRITES,
            offset=offset,
            length=result,
            seconds=seconds,
        )

    def open(
        self, number: int, table: _Table, arguments: str, result: int, path: str | None
    ) -> None:
        name = _NAME.match(arguments)
        table.pop(result, None)
        if name is None or (path or name["name"]).startswith(_NO_FILES):
            return
        # The name is a number from here on: it is kept nowhere. -y says all of it, and else it
        # may be told from a folder that is open.
        place = None
        if path is None and name["folder"] and not name["name"].startswith("/"):
            folder = table.get(int(name["folder"]))
            place = folder.key if folder else -1 - int(name["folder"])
        key = self.keys.setdefault((place, path or name["name"]), len(self.keys))
        if "O_DIRECTORY" in arguments:
            table[result] = _Open(key, is_folder=True)
            return
        file = self.found.file(key, number)
        file.is_flushed |= "O_SYNC" in arguments or "O_DSYNC" in arguments
        file.is_direct |= "O_DIRECT" in arguments
        table[result] = _Open(key)


def _pid(match: re.Match[str]) -> str:
    return match["pid1"] or match["pid2"] or ""


def _fd(arguments: str) -> int:
    match = _FD.match(arguments)
    return int(match[1]) if match else -1


def read(lines: Iterable[str]) -> ObservedWorkload:
    """All reads and writes of files that the trace saw opened. Raises TraceError."""
    reader = _Reader()
    for number, line in enumerate(lines, start=1):
        reader.line(number, line.rstrip("\r\n"))
    reader.found.has_times = reader.timed > 0
    # What was opened and never read or written is no part of the work.
    used = {key for key, _, _ in reader.found.operations}
    reader.found.files = {key: file for key, file in reader.found.files.items() if key in used}
    return reader.found
