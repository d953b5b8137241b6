"""One command of a plan: its own session, a time limit, its output streamed and kept."""

import contextlib
import ctypes
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runner.agent import messages, own_mount

OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024
LOG_LINES_PER_STEP = 20_000
# After a request to stop: so long may a tool take to end by itself before it is killed.
GRACE_S = 1.0
# The words of ENOSPC in the C locale. IOzone prints them and exits with 74; other tools exit 0.
NO_SPACE = "No space left on device"
# What tools print that look for room themselves: fs_mark.
TOO_LITTLE_ROOM = (NO_SPACE, "Insufficient free space")
# Of what a command printed, its message keeps this much; of the benchmark all goes to an output.
PRINTED_CHARACTERS = 64 * 1024
# A plan's name for a program beside this file or in these folders: fsbench-agent is agent.py.
OWN_PREFIX = "fsbench-"
OWN_FOLDERS = ("", "workloads", "preparation", "crash")
# dd(1) says "N bytes (...) copied", --fill "N of M bytes".
BYTES_DONE = re.compile(rb"(\d+)(?: of (\d+))? bytes")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PR_SET_PDEATHSIG = 1
# Less room than this while a benchmark runs is none: some tools go on as if nothing had happened.
FULL_BYTES = 64 * 1024
WATCH_ROOM_S = 0.1
# A disk may write as much within that time; a tool that then deletes makes room again as quickly.
LITTLE_ROOM_BYTES = 512 * 1024 * 1024
WATCH_LITTLE_ROOM_S = 0.01
# On a mount of the host each look is a request to its server, which is measured with the others.
WATCH_MOUNT_S = 5.0
_libc = ctypes.CDLL(None, use_errno=True)


class StepFailed(Exception):
    """The run cannot go on; the text is a sentence for the person who started it."""


def _die_with_agent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def watch_every_s(plan: dict[str, Any]) -> float:
    """How often it is looked whether the file system of a plan runs full, in seconds."""
    return WATCH_MOUNT_S if plan.get("own_mark") else WATCH_ROOM_S


class Step:
    """One command: its own session, a time limit, its output streamed and kept."""

    def __init__(
        self,
        argv: list[str],
        timeout_s: float,
        quiet: bool = False,
        total_bytes: "int | None" = None,
        stdin: str = "",
        watched_folder: str = "",
        watch_every_s: float = WATCH_ROOM_S,
        is_data: bool = False,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.argv = argv
        # Called again and again while it runs.
        self.tick = tick
        # What is printed is for a program to read, thousands of lines of it, and is kept anyway.
        self.is_data = is_data
        self.stdin = stdin
        # The file system that must not run full meanwhile.
        self.watched_folder = watched_folder
        self._watch_every_s = watch_every_s
        self._next_look = 0.0
        self.full_since = 0.0
        self.is_own = argv[0].startswith(OWN_PREFIX)
        self.total_bytes = total_bytes
        self._told_progress = 0.0
        self.timeout_s = timeout_s
        self.quiet = quiet
        self.kept_output: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        # Of each stream the line that has not ended yet.
        self._unlogged = {"stdout": b"", "stderr": b""}
        self._lines = 0
        self.exit_code: int | None = None
        self.stopped_by = ""
        self.duration_s = 0.0

    def text(self, stream: str) -> str:
        return self.kept_output[stream].decode("utf-8", "replace")

    def printed_text(self, stream: str) -> str:
        """What it printed as a terminal would show it in the end, cut to a bounded length."""
        lines = self.text(stream).split("\n")
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
        if len(text) <= PRINTED_CHARACTERS:
            return text
        return text[:PRINTED_CHARACTERS] + "\n[cut here]\n"

    @property
    def tells_progress(self) -> bool:
        return self.is_own or self.total_bytes is not None

    def run(self, is_cleanup: bool = False) -> None:
        """Run to the end. ``stopped_by`` says timeout, cancel or output when it was ended early."""
        started = time.monotonic()
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", own_program(self.argv[0]), *self.argv[1:]]
                if self.is_own
                else self.argv,
                stdin=subprocess.PIPE if self.stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd="/",
                env={"PATH": PATH, "LC_ALL": "C", "HOME": "/"},
                start_new_session=True,
                preexec_fn=_die_with_agent,
            )
        except FileNotFoundError:
            raise StepFailed(f"{self.argv[0]} is not installed where the run happens.") from None
        except OSError as error:
            raise StepFailed(f"{self.argv[0]} cannot be started: {error}.") from None
        try:
            self._follow(process, started + self.timeout_s, is_cleanup)
        finally:
            if self.stopped_by == "cancel":
                # A tool that waits for a slow disk cannot be killed before that has answered.
                own_mount.give_up()
            _kill_group(process, signal.SIGKILL)
            self.exit_code = process.wait()
            self.duration_s = time.monotonic() - started
        for stream in ("stdout", "stderr"):
            self._log(stream, b"", is_end=True)

    def _follow(self, process: "subprocess.Popen[bytes]", deadline: float, cleanup: bool) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        kill_at: float | None = None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ, "stdout")
            selector.register(process.stderr, selectors.EVENT_READ, "stderr")
            to_write = memoryview(self.stdin.encode())
            if process.stdin is not None:
                os.set_blocking(process.stdin.fileno(), False)
                selector.register(process.stdin, selectors.EVENT_WRITE, "stdin")
            # A tool may close its pipes a moment before it ends: it is not to be killed for that.
            while selector.get_map() or process.poll() is None:
                wait_s = 0.1 if kill_at is not None else self._until_next_look_s()
                if not selector.get_map():
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(wait_s)
                for key, _ in selector.select(wait_s if selector.get_map() else 0):
                    if process.stdin is not None and key.data == "stdin":
                        to_write = to_write[_write_some(key.fd, to_write) :]
                        if not to_write:
                            selector.unregister(key.fileobj)
                            process.stdin.close()
                        continue
                    data = os.read(key.fd, 65536)
                    if data:
                        self._keep(key.data, data)
                    else:
                        selector.unregister(key.fileobj)
                self.tick()
                now = time.monotonic()
                if kill_at is not None:
                    if now >= kill_at:
                        return
                elif process.poll() is not None:
                    # What the tool left behind in the background may hold its pipes open.
                    kill_at = now + GRACE_S
                elif self._reason_to_stop(now, deadline, cleanup):
                    _kill_group(process, signal.SIGTERM)
                    kill_at = now + GRACE_S

    def _until_next_look_s(self) -> float:
        """How long to wait for what a tool prints; a tenth of a second at most."""
        if not self.watched_folder:
            return 0.1
        return min(max(self._next_look - time.monotonic(), 0.001), 0.1)

    def _reason_to_stop(self, now: float, deadline: float, is_cleanup: bool) -> str:
        if now >= deadline:
            self.stopped_by = "timeout"
        elif not is_cleanup and messages.must_stop():
            self.stopped_by = "cancel"
        elif self.watched_folder and now >= self._next_look:
            room = room_of(self.watched_folder)
            is_near = room is not None and room.f_bavail * room.f_frsize < LITTLE_ROOM_BYTES
            if is_near and self._watch_every_s == WATCH_ROOM_S:
                self._next_look = now + WATCH_LITTLE_ROOM_S
            else:
                self._next_look = now + self._watch_every_s
            if room is not None and is_full(room):
                # A tool that says so itself is let do it.
                self.full_since = self.full_since or now
                if now - self.full_since > GRACE_S:
                    self.stopped_by = "full"
        if (
            not self.stopped_by
            and sum(len(output) for output in self.kept_output.values()) > OUTPUT_LIMIT_BYTES
        ):
            self.stopped_by = "output"
        return self.stopped_by

    def _keep(self, stream: str, data: bytes) -> None:
        self.kept_output[stream] += data
        self._log(stream, data)
        if stream == "stderr" and self.tells_progress:
            self._report_progress()

    def _report_progress(self) -> None:
        matches = BYTES_DONE.findall(bytes(self.kept_output["stderr"][-200:]))
        now = time.monotonic()
        if not matches or now - self._told_progress < 1.0:
            return
        self._told_progress = now
        done, total = int(matches[-1][0]), int(matches[-1][1] or self.total_bytes or 0)
        if total > 0:
            messages.send("progress", share=min(done / total, 1.0))

    def _log(self, stream: str, data: bytes, is_end: bool = False) -> None:
        if self.quiet or (self.is_data and stream == "stdout"):
            return
        line = self._unlogged[stream]
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._log_line(stream, self._joined(line, end))
            line = b""
        self._unlogged[stream] = self._joined(line, rest)
        if is_end and self._unlogged[stream]:
            self._log_line(stream, self._unlogged[stream])

    def _joined(self, begun: bytes, data: bytes) -> bytes:
        """A line as far as it came, cut: one without an end must not be copied with every read."""
        line = begun + data
        if not self.tells_progress:
            return line[: messages.LOG_LINE_BYTES]
        # A line that writes over itself again and again is logged as it ends.
        shown = line.rstrip(b"\r")
        return shown.rpartition(b"\r")[2][: messages.LOG_LINE_BYTES] + line[len(shown) :][:1]

    def _log_line(self, stream: str, line: bytes) -> None:
        self._lines += 1
        if self._lines == LOG_LINES_PER_STEP:
            messages.log("Further lines are in the raw output only.")
        if self._lines < LOG_LINES_PER_STEP:
            messages.log(line.decode("utf-8", "replace").rstrip("\r"), stream)


def _write_some(descriptor: int, data: memoryview) -> int:
    """How many bytes a pipe took; all, where nobody reads it any more."""
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return len(data)


def _kill_group(process: "subprocess.Popen[bytes]", number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def own_program(name: str) -> str:
    """Where the program is that a plan calls ``fsbench-NAME``. Raises StepFailed."""
    agent_folder = Path(os.path.abspath(__file__)).parent  # noqa: PTH100 (a link would lead elsewhere)
    if re.fullmatch(r"fsbench-[a-z][a-z0-9_]*", name):
        for folder in OWN_FOLDERS:
            program = agent_folder / folder / f"{name[len(OWN_PREFIX) :]}.py"
            if program.is_file():
                return str(program)
    raise StepFailed(f"{name} is not a program of the agent: rebuild the benchmark image.")


def room_of(folder: str) -> "os.statvfs_result | None":
    """What is left on the file system of a folder; nothing where it does not say."""
    try:
        return os.statvfs(folder)
    except OSError:
        return None


def is_full(room: os.statvfs_result) -> bool:
    """Whether no block or no inode is left. File systems without fixed inodes tell of none."""
    return room.f_bavail * room.f_frsize < FULL_BYTES or (room.f_files > 0 and not room.f_favail)


def why_it_failed(step: Step) -> str:
    """A sentence, or nothing for a step that did what it should."""
    tool = step.argv[0]
    if step.stopped_by == "timeout":
        return f"{tool} did not end within its time limit of {step.timeout_s:g} s and was stopped."
    if step.stopped_by == "output":
        return f"{tool} printed more than {OUTPUT_LIMIT_BYTES // 2**20} MiB and was stopped."
    printed = step.text("stderr") + step.text("stdout")
    full_message = next((words for words in TOO_LITTLE_ROOM if words in printed), "")
    if full_message:
        return (
            f"The LUN is full: {tool} said “{full_message}”. "
            "Choose a larger LUN or a workload with smaller files."
        )
    if step.full_since:
        return (
            f"The LUN ran full while {tool} worked, which cannot measure anything then. "
            "Choose a larger LUN or a workload with fewer or smaller files."
        )
    if step.exit_code == 0:
        return ""
    lines = [line for line in step.text("stderr").splitlines() if line.strip()]
    # The last line of JSON that was cut off, as of a fio that was killed, tells nobody anything.
    lines = lines or [
        line for line in step.text("stdout").splitlines() if line.strip(" \t{}[],")[:1] not in '"'
    ]
    tail = f": {lines[-1].strip()[:300].rstrip('.')}" if lines else ""
    if step.exit_code is not None and step.exit_code < 0:
        return f"{tool} was ended by signal {-step.exit_code}{tail}."
    return f"{tool} ended with exit status {step.exit_code}{tail}."
