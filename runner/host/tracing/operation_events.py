"""Operations of one file system, counted by bpftrace during a benchmark, with bounds.

It counts in the kernel from ``begin`` on (``operation_scripts``) and prints at the end. It ends
with its thread (PR_SET_PDEATHSIG); ``remove_leftovers`` knows it by a word of its command line.
Only root may.
"""

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fsbench_web.core.traces.operations import CALLS, FUNCTIONS
from runner.host.tracing import block_events, operation_scripts
from runner.host.tracing.block_events import LOCKDOWN, TRACEFS, TraceError
from runner.safety import blockdev
from runner.safety.blockdev import TOOL_PATH, ToolError

PROGRAM = "bpftrace"
BTF = Path("/sys/kernel/btf/vmlinux")
KALLSYMS = Path("/proc/kallsyms")
PROC = Path("/proc")
MOST_BYTES = 1024 * 1024
"""Of JSON: some 10 KB are usual."""
MOST_S = 3600
BEGIN_WAIT_S = 60.0
"""Compiling takes a second, and more where every processor is busy."""
END_WAIT_S = 30.0
_ASK_EVERY_S = 0.2
_GATE = f"sys_enter_{operation_scripts.GATE}"
_MOST_PROCESSES = 2**22
"""PID_MAX_LIMIT of include/linux/threads.h: no process has a larger number."""
_NAME = re.compile(r"[a-zA-Z0-9_.!-]{1,31}\Z")
_SAID_BYTES = 4096


def why_not_traceable(
    folder: Path = TRACEFS,
    btf: Path = BTF,
    filesystems: Path = Path("/proc/filesystems"),
    lockdown: Path = LOCKDOWN,
) -> str:
    """Why no file system of this host can be traced so, or "". Changes nothing."""
    if os.geteuid() != 0:
        return "Only root may trace operations in the kernel: run the worker as root."
    if not _program():
        return "The program bpftrace is not installed on this host: install the package bpftrace."
    if problem := block_events.why_no_events(folder, filesystems, lockdown):
        return problem
    if not btf.exists():
        return (
            "This kernel does not describe its types (CONFIG_DEBUG_INFO_BTF), by which bpftrace "
            "tells files apart: run one that does, as those of Debian 12 and Ubuntu 22.04."
        )
    if (folder / "events").is_dir() and not (folder / "events/syscalls" / _GATE).is_dir():
        return (
            "This kernel has no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS): run one that "
            "has them, as those of Debian, Ubuntu, Fedora and RHEL."
        )
    return ""


def _program() -> str:
    return shutil.which(PROGRAM, path=TOOL_PATH) or ""


def _calls(folder: Path) -> list[str]:
    """The system calls that this kernel traces, of those that are counted."""
    events = folder / "events/syscalls"
    return [
        name
        for name in operation_scripts.ALL_CALLS
        if (events / f"sys_enter_{name}").is_dir() and (events / f"sys_exit_{name}").is_dir()
    ]


def tracing_way(filesystem: str, folder: Path = TRACEFS, kallsyms: Path = KALLSYMS) -> str:
    """How operations of this file system are traced here: FUNCTIONS or CALLS."""
    functions = set(operation_scripts.FUNCTIONS_OF.get(filesystem, {}).values())
    if functions and (folder / "kprobe_events").exists():
        with (
            contextlib.suppress(OSError),
            kallsyms.open(encoding="ascii", errors="replace") as file,
        ):
            for line in file:
                words = line.split()
                if len(words) > 2 and words[1] in "tT":
                    functions.discard(words[2])
        if not functions:
            return FUNCTIONS
    return CALLS


class Operations:
    """What is counted. ``begin`` and ``end`` may be called by any thread, and again."""

    def __init__(self, process: subprocess.Popen[bytes], by: str, gate: int) -> None:
        self.way = by
        self._gate = gate
        self.problem = ""
        self._process = process
        self._parts: list[bytes] = []
        self._size = 0
        self._is_attached = False
        self._is_decided = threading.Event()
        self._began: float | None = None
        self._ended: float | None = None
        self._is_cut = False
        self._reader = threading.Thread(target=self._read, name="operations", daemon=True)
        self._reader.start()

    @property
    def text(self) -> str:
        return b"".join(self._parts).decode("utf-8", "replace")

    @property
    def seconds(self) -> float:
        if self._began is None or self._ended is None:
            return 0.0
        return self._ended - self._began

    @property
    def is_cut(self) -> bool:
        """Whether it came to its bound before it was ended."""
        return self._is_cut

    def wait_until_attached(self, has_to_end: Callable[[], bool]) -> bool:
        """``has_to_end`` is asked meanwhile: a run that compiles for a minute still lives."""
        deadline = time.monotonic() + BEGIN_WAIT_S
        while not self._is_decided.wait(_ASK_EVERY_S):
            if has_to_end() or time.monotonic() > deadline:
                return False
        if not self._is_attached:
            # It closed its output, and is about to end.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_WAIT_S)
        return self._is_attached and self._process.poll() is None

    def begin(self) -> None:
        """From now on it counts."""
        if self._began is None and self._ended is None and self._process.poll() is None:
            self._signal(0)
            self._began = time.monotonic()

    def _signal(self, number: int) -> None:
        # There is no such process: the call itself is what bpftrace sees.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._gate, number)

    def end(self) -> None:
        """It prints what it counted, and is gone; before ``begin`` there is nothing to print."""
        if self._ended is not None:
            return
        self._ended = time.monotonic()
        if self._process.poll() is not None:
            self._is_cut = self._began is not None and self._process.returncode == 0
        else:
            self._end_program()
        self._reader.join(END_WAIT_S)

    def _end_program(self) -> None:
        if self._began is None:
            self._process.kill()
        else:
            self._signal(signal.SIGCONT)
        try:
            self._process.wait(END_WAIT_S)
        except subprocess.TimeoutExpired:
            self.problem = f"bpftrace did not end within {END_WAIT_S:.0f} s, and was killed."
            self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        output = self._process.stdout
        assert output is not None
        with output:
            for line in iter(lambda: output.readline(MOST_BYTES), b""):
                self._size += len(line)
                if self._size > MOST_BYTES:
                    self.problem = "bpftrace printed more than it has to say, and was ended."
                    self._process.kill()
                    break
                self._parts.append(line)
                if b'"printf"' in line:
                    self._is_attached = True
                    self._is_decided.set()
        self._is_decided.set()  # or it is gone: nobody waits any longer


@contextlib.contextmanager
def count_operations(
    number: int,
    filesystem: str,
    name: str,
    folder: Path = TRACEFS,
    has_to_end: Callable[[], bool] = lambda: False,
) -> Iterator[Operations]:
    """Count the file system's operations from ``begin`` to ``end``, with ``name`` on the command
    line. ``has_to_end`` is asked until it counts. Raises TraceError.
    """
    block_events.mount(folder)
    if why := why_not_traceable(folder):
        raise TraceError(why)
    device = blockdev.kernel_name(number)
    if not _NAME.match(device):
        raise TraceError(f"The device {device!r} has a name that cannot be looked for.")
    by = tracing_way(filesystem, folder)
    script = operation_scripts.script(by, filesystem, _calls(folder), MOST_S)
    with tempfile.TemporaryFile() as errors:
        gate = _MOST_PROCESSES + 1 + secrets.randbelow(2**31 - _MOST_PROCESSES - 1)
        process = _start(script, (device, str(gate), name), errors.fileno())
        operations = Operations(process, by, gate)
        try:
            if not operations.wait_until_attached(has_to_end):
                raise TraceError(_why_failed(process, errors.fileno()))
            yield operations
        finally:
            operations.end()


def _start(script: str, parameters: tuple[str, ...], errors: int) -> subprocess.Popen[bytes]:
    # setpriv: the kernel ends it when the worker dies, however it dies.
    argv = ("setpriv", "--pdeathsig", "KILL", _program(), "-f", "json", "-e", script, *parameters)
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={"PATH": TOOL_PATH, "LC_ALL": "C"},
            start_new_session=True,
        )
    except OSError as error:
        raise TraceError(f"bpftrace cannot be started: {error.strerror}.") from None


def _why_failed(process: subprocess.Popen[bytes], errors: int) -> str:
    if process.poll() is None:
        process.kill()
        process.wait()
        return f"bpftrace was not ready within {BEGIN_WAIT_S:.0f} s."
    last_bytes = os.pread(errors, _SAID_BYTES, max(os.fstat(errors).st_size - _SAID_BYTES, 0))
    lines = [line for line in last_bytes.decode("utf-8", "replace").splitlines() if "ERROR" in line]
    last = re.sub(r"[^\x20-\x7e]", "?", lines[-1])[:400] if lines else "it said nothing"
    return f"bpftrace ended with status {process.returncode}: {last}"


def leftover_traces(
    owned: str, is_going_on: Callable[[int], bool], proc: Path = PROC
) -> Iterator[tuple[int, str]]:
    """(process, name) of the traces of a worker (``instance_prefix``) with a finished run."""
    for folder in proc.iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if PROGRAM.encode() not in line:
            continue  # of nearly all: a host has hundreds, and this is asked every few seconds
        words = line.decode("utf-8", "replace").split("\0")
        name = words[-2] if len(words) > 2 else ""
        if not name.startswith(owned) or Path(words[0]).name != PROGRAM:
            continue
        run = name.removeprefix(owned)
        if run.isdecimal() and not is_going_on(int(run)):
            yield int(folder.name), name


def remove_leftovers(
    owned: str, is_going_on: Callable[[int], bool], proc: Path = PROC
) -> list[str]:
    """End what killed workers left. Returns the names."""
    names = []
    for process, name in leftover_traces(owned, is_going_on, proc):
        remove(process)
        names.append(name)
    return names


def remove(process: int) -> None:
    """End one. Raises ToolError."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return
    except OSError as error:
        raise ToolError(f"The process {process} cannot be ended: {error.strerror}.") from None
