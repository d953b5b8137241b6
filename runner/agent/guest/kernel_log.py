"""What a kernel's console says of trouble: panics, oopses, I/O errors. Pure, stdlib only.

The words are those of Linux since 3.x: kernel/panic.c, arch/x86/kernel/dumpstack.c,
block/blk-core.c (``print_req_error``), fs/buffer.c, and each file system's own error reports.
"""

import re
from dataclasses import dataclass

PANIC, OOPS, IO_ERROR, NO_MEMORY, STUCK = "panic", "oops", "io", "memory", "stuck"
# After one of these nothing that the guest measures is worth anything: the run ends.
FATAL = (PANIC, OOPS, IO_ERROR)
# A trace is some sixty lines; what follows is of no use to anybody.
MOST_LINES = 120

_STAMP = re.compile(r"^(?:<\d>)?(?:\[\s*\d+\.\d+\](?:\[\s*[TC]\d+\])? ?)?")
TERMINAL = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[@-_])|[\x00-\x08\x0b-\x1f\x7f]")
_DISK = r"(vd[a-z]\d*)"

_PANIC = re.compile(r"Kernel panic - not syncing: (.+)")
_OOPS = re.compile(
    r"(?:BUG: (?!soft lockup|workqueue|scheduling).+|kernel BUG at .+|Oops: .+"
    r"|general protection fault.*|Unable to handle kernel .+"
    r"|(?:divide error|invalid opcode|stack segment|double fault|int3): [0-9a-f]{4}.*)"
)
_IO = (
    re.compile(
        rf"(?:blk_update_request: |print_req_error: |end_request: )?.*?I/O error, dev {_DISK}\b.*"
    ),
    re.compile(rf"Buffer I/O error on (?:dev(?:ice)?) {_DISK}\b.*"),
    re.compile(rf"EXT[234]-fs (?:error|\(.+\): .*(?:error|abort)).*?\(device {_DISK}\).*", re.I),
    re.compile(rf"XFS \({_DISK}\): .*(?:I/O error|[Cc]orruption|[Ss]hutting down|shutdown).*"),
    re.compile(rf"ERROR: \(device {_DISK}\).*"),
    re.compile(rf"REISERFS (?:error|abort|panic) \(device {_DISK}\).*"),
    re.compile(rf"BTRFS(?: error|: error| critical) \(device {_DISK}.*"),
    re.compile(rf"F2FS-fs \({_DISK}\): .*(?:[Ii]nconsistent|[Cc]orrupt|I/O error|[Ff]ail).*"),
    re.compile(rf"exFAT-fs \({_DISK}\): error.*"),
    re.compile(rf"ntfs3(?:: {_DISK}|\({_DISK}\)): .*(?:Mark volume as dirty|[Ff]ailed).*"),
    re.compile(rf"NILFS(?: error)? \((?:device )?{_DISK}\).*(?:error|broken).*", re.I),
)
_NO_MEMORY = re.compile(r"(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process .+")
_STUCK = re.compile(
    r"(?:watchdog: )?BUG: soft lockup.+|INFO: task .+ blocked for more than .+"
    r"|rcu: INFO: rcu_\w+ (?:self-)?detected .*stall.*"
    r"|NMI watchdog: Watchdog detected hard LOCKUP.*"
)
_END = re.compile(r"---\[ end (?:trace|Kernel panic)")


@dataclass(frozen=True)
class KernelProblem:
    """``sentence`` is for people, ``lines`` what the kernel printed of it, without time stamps."""

    kind: str
    sentence: str
    lines: tuple[str, ...]

    @property
    def is_fatal(self) -> bool:
        return self.kind in FATAL


def plain_line(line: str) -> str:
    """A console's line without terminal codes and the kernel's time stamp."""
    return _STAMP.sub("", TERMINAL.sub("", line)).rstrip()


def kind_of(line: str) -> str:
    """What a (plain) line is the first sign of; nothing for all others. Quick: asked of each."""
    if _PANIC.search(line):
        return PANIC
    if _STUCK.match(line):
        return STUCK
    if _OOPS.match(line):
        return OOPS
    if any(pattern.match(line) for pattern in _IO):
        return IO_ERROR
    return NO_MEMORY if _NO_MEMORY.match(line) else ""


def problem_in(text: str) -> KernelProblem | None:
    """The trouble that explains the others: the first crash, else the first I/O error, etc."""
    lines = [plain_line(line) for line in text.splitlines()]
    first: dict[str, int] = {}
    for number, line in enumerate(lines):
        first.setdefault(kind_of(line), number)
    if OOPS in first or PANIC in first:
        return _crash(lines, first)
    for kind in (IO_ERROR, NO_MEMORY, STUCK):
        if kind in first:
            kind_lines = [line for line in lines if kind_of(line) == kind][:MOST_LINES]
            return KernelProblem(
                kind, _SENTENCES[kind].format(kind_lines[0].rstrip(".")), tuple(kind_lines)
            )
    return None


_SENTENCES = {
    IO_ERROR: "The guest's kernel reported an error of its disk: {}.",
    NO_MEMORY: "The guest had too little memory: {}. Give it more, or choose a smaller workload.",
    STUCK: "The guest's kernel was stuck: {}.",
}


def _crash(lines: list[str], first: dict[str, int]) -> KernelProblem:
    start = min(first[kind] for kind in (OOPS, PANIC) if kind in first)
    crash_lines: list[str] = []
    for line in lines[start : start + MOST_LINES]:
        crash_lines.append(line)
        if _END.search(line) and (PANIC not in first or "Kernel panic" in line):
            break
    panic = next((match[1] for line in lines if (match := _PANIC.search(line))), "")
    before = [line for line in lines[:start] if kind_of(line) == IO_ERROR][:10]
    if OOPS in first:
        sentence = f"The guest's kernel crashed: {lines[first[OOPS]].rstrip('.')}"
        place = next(
            (line[4:] for line in crash_lines if line.startswith("RIP: 0010:")), ""
        ).strip()
        sentence += f", in {place.removeprefix('0010:')}." if place else "."
        return KernelProblem(OOPS, sentence, (*before, *crash_lines))
    sentence = f"The guest's kernel panicked: {panic.rstrip('.')}."
    return KernelProblem(PANIC, sentence, (*before, *crash_lines))
