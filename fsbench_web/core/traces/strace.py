"""``strace -f -T`` of reads and writes (strace 4 to 6; with -o, -tt, -y or without).

Files are followed from openat to close; what was open before the trace began, sockets and pipes are
no files that could be told apart, and are counted as such. Offsets of read and write are where the
call before left the file, as the kernel keeps them for an open file.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fsbench_web.core.traces.observed import ObservedWorkload

_HEAD = (
    r"(?:\[pid\s+(?P<pid1>\d+)\]\s+|(?P<pid2>\d+)\s+)?"
    r"(?:\d{2}:\d{2}:\d{2}(?:\.\d+)?\s+|\d+\.\d+\s+)?"
)
_CALL = re.compile(_HEAD + r"(?P<call>[a-z_0-9]+)\((?P<rest>.*)$")
_RESUMED = re.compile(_HEAD + r"<\.\.\. (?P<call>[a-z_0-9]+) resumed>(?P<rest>.*)$")
_RESULT = re.compile(r"(-?\d+)(?:<[^>]*>)?[^<]*(?:<(\d+\.\d+)>)?\s*$")
_FD = re.compile(r"(\d+)(?:<[^>]*>)?")
_SIZE = re.compile(r"st_mode=(S_IF[A-Z]+).*?st_size=(\d+)")
_OFFSET = re.compile(r", (\d+)(?:, [A-Z0-9_|]+)?$")
_UNFINISHED = " <unfinished ...>"
_READS = frozenset(("read", "readv", "pread64", "preadv", "preadv2", "pread"))
_WRITES = frozenset(("write", "writev", "pwrite64", "pwritev", "pwritev2", "pwrite"))
_OPENS = frozenset(("open", "openat", "creat", "openat2"))
_SYNCS = frozenset(("fsync", "fdatasync"))
_FORKS = frozenset(("clone", "clone3", "fork", "vfork"))
_COPIES = frozenset(("dup", "dup2", "dup3"))
_STATS = frozenset(("fstat", "newfstatat"))
_CALLS = _READS | _WRITES | _OPENS | _SYNCS | _FORKS | _COPIES | _STATS | {"close", "lseek"}
_TAIL = 600
"""Letters at the end of a call in which its numbers stand: what was read may be long."""
_NO_FILES = ("/proc/", "/sys/", "/dev/")
_NAME = re.compile(r'^(?:AT_FDCWD(?:<[^>]*>)?, |\d+(?:<[^>]*>)?, )?"(?P<name>(?:[^"\\]|\\.)*)"')


@dataclass
class _Open:
    """An open file: the key of the file, and where the next read or write begins."""

    key: int
    place: int = 0


def recognises(head: list[str]) -> bool:
    """By calls with their results."""
    count = 0
    for line in head:
        match = _CALL.match(line)
        count += bool(match and (" = " in line or line.rstrip().endswith(_UNFINISHED)))
    return count >= 1


class _Reader:
    def __init__(self) -> None:
        self.found = ObservedWorkload("strace")
        self.tables: dict[str, dict[int, _Open]] = {}
        self.keys: dict[str, int] = {}
        self.unfinished: dict[tuple[str, str], str] = {}
        self.timed = 0

    def line(self, number: int, line: str) -> None:
        resumed = _RESUMED.match(line)
        match = resumed or _CALL.match(line)
        if match is None or match["call"] not in _CALLS:
            return
        pid, call, rest = match["pid1"] or match["pid2"] or "", match["call"], match["rest"]
        if resumed:
            before = self.unfinished.pop((pid, call), None)
            if before is None:
                self.found.skipped["calls that began before the trace"] += 1
                return
            rest = before + rest
        elif rest.endswith(_UNFINISHED):
            self.unfinished[pid, call] = rest.removesuffix(_UNFINISHED)
            return
        arguments, _, tail = rest.rpartition(" = ")
        result = _RESULT.match(tail)
        if result is None or int(result[1]) < 0:
            return
        self.timed += result[2] is not None
        arguments = arguments.rstrip().removesuffix(")")
        self.call(number, pid, call, arguments, int(result[1]), float(result[2] or 0))

    def call(
        self, number: int, pid: str, call: str, arguments: str, result: int, seconds: float
    ) -> None:
        table = self.tables.setdefault(pid, {})
        if call in _FORKS:
            shares = "CLONE_FILES" in arguments
            if result:
                self.tables.setdefault(str(result), table if shares else dict(table))
        elif call in _OPENS:
            self.open(number, table, arguments, result)
        elif call == "close":
            table.pop(_fd(arguments), None)
        elif call in _COPIES:
            duplicate = table.get(_fd(arguments))
            table.pop(result, None)
            if duplicate is not None:
                table[result] = duplicate
        elif (file := table.get(_fd(arguments))) is not None:
            self.of_file(number, file, call, arguments, result, seconds)
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
            match = _OFFSET.search(arguments[-_TAIL:])
            if match is None:
                self.found.skipped["calls whose offset cannot be read"] += 1
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

    def open(self, number: int, table: dict[int, _Open], arguments: str, result: int) -> None:
        name = _NAME.match(arguments)
        table.pop(result, None)
        if name is None or name["name"].startswith(_NO_FILES) or "O_DIRECTORY" in arguments:
            return
        # The name is a number from here on: it is kept nowhere.
        key = self.keys.setdefault(name["name"], len(self.keys))
        file = self.found.file(key, number)
        file.is_flushed |= "O_SYNC" in arguments or "O_DSYNC" in arguments
        file.is_direct |= "O_DIRECT" in arguments
        table[result] = _Open(key)


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
