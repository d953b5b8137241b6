"""Run the steps of a plan next to the disk and tell what happens, one JSON object a line.

Stdlib only: it is copied with its folder into the container image, and run as it is by the local
executor. Input is one JSON object (runner.plan), from the file named as the only argument or, with
none, from the first line of standard input; then the end of standard input means that the worker
is gone, and counts as a cancellation. ``agent.py --probe`` reads a list of tool names instead and
prints one ``environment`` message; ``agent.py --fill PERCENT FOLDER`` fills a file system, and is
what a plan calls ``fsbench-agent --fill``.

Messages: ``phase`` {phase}, ``progress`` {share}, ``log`` {stream, text}, ``command`` {phase, argv,
exit_code, duration_s, stdout, stderr}, ``output`` {name, part, is_last, text}, ``environment``
{kernel, distribution, tools, filesystems, facts}, ``mounted`` {filesystem, options, free_bytes},
those of ``sampler.py``, ``error`` {reason} and, always last, ``done`` {ok}. Exit status: 0 done, 1
failed, 3 cancelled.
"""

import contextlib
import ctypes
import json
import os
import platform
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (python -I)

if TYPE_CHECKING:
    from runner.agent import sampler
else:
    import sampler

OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024
CHUNK_CHARACTERS = 16 * 1024
LOG_LINE_CHARACTERS = 2000
LOG_LINES_PER_STEP = 20_000
# After a request to stop: so long may a tool take to end by itself before it is killed.
GRACE_S = 1.0
# The words of ENOSPC in the C locale. IOzone prints them and exits with 74; other tools exit 0.
NO_SPACE = "No space left on device"
# What tools print that look for room themselves: fs_mark.
TOO_LITTLE_ROOM = (NO_SPACE, "Insufficient free space")
# Of what a command printed, its message keeps this much; of the benchmark all goes to an output.
PRINTED_CHARACTERS = 64 * 1024
# A plan's name for a program in this file's folder: fsbench-agent is this file itself.
OWN_PREFIX = "fsbench-"
FILL_FILE_BYTES = 64 * 1024 * 1024
FILL_CHUNK_BYTES = 1024 * 1024
# dd(1) says "N bytes (...) copied", --fill "N of M bytes".
BYTES_DONE = re.compile(rb"(\d+)(?: of (\d+))? bytes")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PR_SET_PDEATHSIG = 1
# What a pipe takes without a reader (pipe(7)).
PIPE_BYTES = 64 * 1024
# Of the benchmark's files on a file system that is unmounted anyway, so many seconds are removed.
REMOVE_S = 1.5
# Less room than this while a benchmark runs is none: some tools go on as if nothing had happened.
FULL_BYTES = 64 * 1024
WATCH_ROOM_S = 0.1
# How a tool is asked for its version; all others know -V.
VERSION_FLAGS = {
    **{"iozone": "-v", "fio": "--version", "gcc": "--version", "make": "--version"},
    "lvm": "version",
}
_libc = ctypes.CDLL(None, use_errno=True)


class StepFailed(Exception):
    """The run cannot go on; the text is a sentence for the person who started it."""


class Cancelled(Exception):
    """Somebody asked the run to stop, or the worker is gone."""


class Listener:
    """Whether to stop: by SIGTERM or SIGINT, or because the worker's end of stdin is closed."""

    def __init__(self) -> None:
        self.must_stop = False
        self.watched: int | None = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)

    def _stop(self, *_: object) -> None:
        self.must_stop = True

    def check(self) -> bool:
        if self.watched is not None and not self.must_stop:
            with selectors.DefaultSelector() as selector:
                selector.register(self.watched, selectors.EVENT_READ)
                if selector.select(0) and not os.read(self.watched, 4096):
                    self.must_stop = True
        return self.must_stop


LISTENER: Listener | None = None
SAMPLER: "sampler.Sampler | None" = None


def must_stop() -> bool:
    return LISTENER is not None and LISTENER.check()


def say(kind: str, **values: Any) -> None:
    """Print one message. A reader that went away counts as a request to stop."""
    try:
        sys.stdout.write(json.dumps({"type": kind, "at": time.time(), **values}) + "\n")
        sys.stdout.flush()
    except (BrokenPipeError, ValueError):
        if LISTENER is not None:
            LISTENER.must_stop = True


def log(text: str, stream: str = "fsbench") -> None:
    say("log", stream=stream, text=text[:LOG_LINE_CHARACTERS])


def _die_with_agent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


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
        is_data: bool = False,
    ) -> None:
        self.argv = argv
        # What is printed is for a program to read, thousands of lines of it, and is kept anyway.
        self.is_data = is_data
        self.stdin = stdin
        # The file system that must not run full meanwhile.
        self.watched_folder = watched_folder
        self._next_look = 0.0
        self.full_since = 0.0
        self.is_own = argv[0].startswith(OWN_PREFIX)
        self.total_bytes = total_bytes
        self._told_progress = 0.0
        self.timeout_s = timeout_s
        self.quiet = quiet
        self.kept: dict[str, bytearray] = {"stdout": bytearray(), "stderr": bytearray()}
        self._unlogged = {"stdout": b"", "stderr": b""}
        self._lines = 0
        self.exit_code: int | None = None
        self.stopped_by = ""
        self.duration_s = 0.0

    def text(self, stream: str) -> str:
        return self.kept[stream].decode("utf-8", "replace")

    def printed(self, stream: str) -> str:
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
        if process.stdin is not None:
            # Small (a job file, a tool's commands): it fits into the pipe, so nothing waits here.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(self.stdin.encode()[:PIPE_BYTES])
                process.stdin.close()
        try:
            self._follow(process, started + self.timeout_s, is_cleanup)
        finally:
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
            # A tool may close its pipes a moment before it ends: it is not to be killed for that.
            while selector.get_map() or process.poll() is None:
                if not selector.get_map():
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(0.1)
                for key, _ in selector.select(0.1 if selector.get_map() else 0):
                    data = os.read(key.fd, 65536)
                    if data:
                        self._keep(key.data, data)
                    else:
                        selector.unregister(key.fileobj)
                if SAMPLER is not None:
                    SAMPLER.tick()
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

    def _reason_to_stop(self, now: float, deadline: float, is_cleanup: bool) -> str:
        if now >= deadline:
            self.stopped_by = "timeout"
        elif not is_cleanup and must_stop():
            self.stopped_by = "cancel"
        elif self.watched_folder and now >= self._next_look:
            self._next_look = now + WATCH_ROOM_S
            if is_full(self.watched_folder):
                # A tool that says so itself is let do it.
                self.full_since = self.full_since or now
                if now - self.full_since > GRACE_S:
                    self.stopped_by = "full"
        if (
            not self.stopped_by
            and sum(len(kept) for kept in self.kept.values()) > OUTPUT_LIMIT_BYTES
        ):
            self.stopped_by = "output"
        return self.stopped_by

    def _keep(self, stream: str, data: bytes) -> None:
        self.kept[stream] += data
        self._log(stream, data)
        if stream == "stderr" and self.tells_progress:
            self._tell_progress()

    def _tell_progress(self) -> None:
        found = BYTES_DONE.findall(bytes(self.kept["stderr"][-200:]))
        now = time.monotonic()
        if not found or now - self._told_progress < 1.0:
            return
        self._told_progress = now
        done, total = int(found[-1][0]), int(found[-1][1] or self.total_bytes or 0)
        if total > 0:
            say("progress", share=min(done / total, 1.0))

    def _log(self, stream: str, data: bytes, is_end: bool = False) -> None:
        if self.quiet or (self.is_data and stream == "stdout"):
            return
        *lines, rest = (self._unlogged[stream] + data).split(b"\n")
        if self.tells_progress:
            # A line that writes over itself again and again is logged as it ends.
            *lines, rest = (line.rstrip(b"\r").rpartition(b"\r")[2] for line in (*lines, rest))
        if is_end and rest:
            lines, rest = [*lines, rest], b""
        self._unlogged[stream] = rest
        for line in lines:
            self._lines += 1
            if self._lines == LOG_LINES_PER_STEP:
                log("Further lines are in the raw output only.")
            if self._lines < LOG_LINES_PER_STEP:
                log(line.decode("utf-8", "replace").rstrip("\r"), stream)


def _kill_group(process: "subprocess.Popen[bytes]", number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def own_program(name: str) -> str:
    """Where the program is that a plan calls ``fsbench-NAME``. Raises StepFailed."""
    here = Path(os.path.abspath(__file__))  # noqa: PTH100 (a link would lead elsewhere)
    program = here.with_name(f"{name[len(OWN_PREFIX) :]}.py")
    if not re.fullmatch(r"fsbench-[a-z][a-z0-9_]*", name) or not program.is_file():
        raise StepFailed(f"{name} is no program of the agent: build the benchmark image anew.")
    return str(program)


def send_output(name: str, text: str) -> None:
    """Send a tool's whole output in parts of bounded length."""
    parts = [text[i : i + CHUNK_CHARACTERS] for i in range(0, len(text), CHUNK_CHARACTERS)] or [""]
    for number, part in enumerate(parts):
        say("output", name=name, part=number, is_last=number == len(parts) - 1, text=part)


def is_full(folder: str) -> bool:
    """Whether no block or no inode is left. File systems without fixed inodes tell of none."""
    try:
        room = os.statvfs(folder)
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < FULL_BYTES or (room.f_files > 0 and not room.f_favail)


def run_step(planned: dict[str, Any], is_cleanup: bool = False, watched_folder: str = "") -> Step:
    """Run one planned step. Raises StepFailed or Cancelled."""
    if not is_cleanup:
        if must_stop():
            raise Cancelled
        say("phase", phase=planned["phase"])
    step = Step(
        list(planned["argv"]),
        float(planned["timeout_s"]),
        total_bytes=planned.get("total_bytes"),
        stdin=planned.get("stdin", ""),
        watched_folder=watched_folder,
        is_data=planned.get("save_output_as", "").endswith(".json"),
    )
    log("$ " + " ".join(step.argv))
    began_s = SAMPLER.sample() if SAMPLER is not None else 0.0
    processes = sampler.Processes()
    try:
        step.run(is_cleanup)
    finally:
        if SAMPLER is not None:
            say(
                "step",
                t0=began_s,
                t1=SAMPLER.sample(),
                phase=planned["phase"],
                output=planned.get("save_output_as", ""),
                processes=processes.found(),
            )
        say(
            "command",
            phase=planned["phase"],
            argv=step.argv,
            exit_code=step.exit_code,
            duration_s=round(step.duration_s, 6),
            stdout="" if planned.get("save_output_as") else step.printed("stdout"),
            stderr="" if planned.get("save_output_as") else step.printed("stderr"),
        )
        if planned.get("save_output_as"):
            send_output(planned["save_output_as"], step.text("stdout"))
            if step.text("stderr"):
                send_output(f"stderr of {planned['save_output_as']}", step.text("stderr"))
    if step.stopped_by == "cancel":
        raise Cancelled
    reason = why_it_failed(step)
    if reason and not planned.get("allow_failure"):
        raise StepFailed(reason)
    return step


def why_it_failed(step: Step) -> str:
    """A sentence, or nothing for a step that did what it should."""
    tool = step.argv[0]
    if step.stopped_by == "timeout":
        return f"{tool} did not end within its time limit of {step.timeout_s:g} s and was stopped."
    if step.stopped_by == "output":
        return f"{tool} printed more than {OUTPUT_LIMIT_BYTES // 2**20} MiB and was stopped."
    printed = step.text("stderr") + step.text("stdout")
    said_full = next((words for words in TOO_LITTLE_ROOM if words in printed), "")
    if said_full:
        return (
            f"The LUN is full: {tool} said “{said_full}”. "
            "Choose a larger LUN or a workload with smaller files."
        )
    if step.full_since:
        return (
            f"The LUN ran full while {tool} worked, which cannot measure anything then. "
            "Choose a larger LUN or a workload with fewer or smaller files."
        )
    if step.exit_code == 0:
        return ""
    said = [line for line in step.text("stderr").splitlines() if line.strip()]
    # The last line of JSON that was cut off, as of a fio that was killed, tells nobody anything.
    said = said or [
        line for line in step.text("stdout").splitlines() if line.strip(" \t{}[],")[:1] not in '"'
    ]
    tail = f": {said[-1].strip()[:300].rstrip('.')}" if said else ""
    if step.exit_code is not None and step.exit_code < 0:
        return f"{tool} was ended by signal {-step.exit_code}{tail}."
    return f"{tool} ended with exit status {step.exit_code}{tail}."


def mounts() -> list[tuple[str, str, str]]:
    """(mount point, file system, options in effect) of everything mounted here, latest last."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
        options = dict.fromkeys(fields[5].split(",") + kind[2].split(","))
        found.append((point, kind[0], ",".join(options)))
    return found


def check_mounted(plan: dict[str, Any]) -> None:
    """The right file system must be there: a tool's exit status alone is not trusted."""
    point = plan["mount_point"]
    here = [(kind, options) for where, kind, options in mounts() if where == point]
    if not here or here[-1][0] != plan["filesystem"]:
        found = here[-1][0] if here else "nothing"
        raise StepFailed(f"{found} is mounted on {point} instead of {plan['filesystem']}.")
    free = os.statvfs(point)
    say(
        "mounted",
        filesystem=here[-1][0],
        options=here[-1][1],
        free_bytes=free.f_bavail * free.f_frsize,
    )


def check_space(folder: str, needed_bytes: int, is_filled: bool = False) -> None:
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    if free < needed_bytes:
        raise StepFailed(
            f"The LUN is too small: its file system has {free / 2**20:.0f} MiB free, and the "
            f"workload needs {needed_bytes / 2**20:.0f} MiB. Choose a larger LUN or smaller files"
            f"{', or fill it less' if is_filled else ''}."
        )


def remove_own(plan: dict[str, Any]) -> None:
    """Remove what the benchmark left, and nothing else.

    Without its files there is nothing to write back, and unmounting is quick. On a file system that
    is unmounted and made anew this is given up after a moment; a folder of the host is left clean.
    """
    start = plan.get("leave_nothing")
    if not start or not plan.get("mount_point"):
        return
    deadline = time.monotonic() + REMOVE_S if plan.get("unmount") else None
    with contextlib.suppress(OSError):
        for entry in Path(plan["mount_point"]).iterdir():
            if entry.name == start or entry.name.startswith(f"{start}."):
                _remove_tree(entry, deadline)


def _remove_tree(top: Path, deadline: "float | None") -> None:
    # Symbolic links are removed and never followed.
    if top.is_symlink() or not top.is_dir():
        top.unlink(missing_ok=True)
        return
    for folder, folders, files in os.walk(top, topdown=False):
        for name in files:
            if deadline is not None and time.monotonic() > deadline:
                return
            with contextlib.suppress(OSError):
                Path(folder, name).unlink()
        for name in folders:
            with contextlib.suppress(OSError):
                path = Path(folder, name)
                path.unlink() if path.is_symlink() else path.rmdir()
    top.rmdir()


def clean_up(plan: dict[str, Any]) -> str:
    """Undo the mount whatever happened. Returns why it could not be undone, or nothing."""
    remove_own(plan)
    point = plan.get("mount_point")
    if not point or not plan.get("unmount"):
        return ""
    problem = ""
    for attempt in range(10):
        if not any(where == point for where, _, _ in mounts()):
            return ""
        if os.getpid() == 1:
            # Alone in its process namespace: whatever else is left was started by a step.
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        time.sleep(0.1 * attempt)
        try:
            run_step(
                {"phase": "unmount", "argv": plan["unmount"], "timeout_s": 600}, is_cleanup=True
            )
        except StepFailed as error:
            problem = str(error)
    return problem


def put_in_order(plan: dict[str, Any], status: int, reason: str) -> "tuple[int, str]":
    """Undo mounts, and layers where something went wrong. Returns status and reason with that."""
    problem = clean_up(plan)
    if problem:
        return status or 1, f"{reason} The LUN is still mounted: {problem}".strip()
    if status and (problem := take_down(plan)):
        return status, f"{reason} Its layers could not be taken down: {problem}".strip()
    return status, reason


def take_down(plan: dict[str, Any]) -> str:
    """Undo the layers of a run that went wrong, as far as they were made. Returns why not all.

    What was not made cannot be undone, and says so. What counts is that the devices which are there
    can be wiped, which is the last command of each layer: nothing stands on them then.
    """
    problem = ""
    for argv in plan.get("teardown", []):
        try:
            run_step({"phase": "teardown", "argv": argv, "timeout_s": 60}, is_cleanup=True)
        except StepFailed as error:
            if argv[0] == "wipefs" and not _is_gone(argv):
                problem = str(error)
    return problem


def _is_gone(argv: list[str]) -> bool:
    """Whether a device of wipefs was on a layer that is not there any more, or never was."""
    return not all(Path(word).exists() for word in argv if word.startswith("/dev/"))


def join(groups: "list[str]") -> None:
    """Enter control groups of the host, and with this process all that it starts.

    cgroups(7): a 0 is whoever writes it. Raises StepFailed.
    """
    for folder in groups:
        try:
            Path(folder, "cgroup.procs").write_text("0")
        except OSError as error:
            raise StepFailed(
                f"The control group {folder} cannot be entered: {error.strerror}. "
                "Nothing was measured."
            ) from None


def keep_to_cpus(count: "int | None", near: "list[int]") -> None:
    """Run here, and all that is started, on so many processors: those ``near`` the device first,
    then by number. Raises StepFailed.
    """
    if not count:
        return
    allowed = sorted(os.sched_getaffinity(0), key=lambda cpu: (cpu not in near, cpu))
    if len(allowed) < count:
        raise StepFailed(
            f"The workload asks for {count} processors, and {len(allowed)} are there: choose fewer."
        )
    os.sched_setaffinity(0, allowed[:count])


def settle(plan: dict[str, Any], used_before: "int | None") -> None:
    """What the benchmark left in memory is written, so that the samples have all of its bytes.

    A folder of the host is left alone: others' files are on its file system.
    """
    if SAMPLER is None or not plan.get("unmount"):
        return
    point = plan["mount_point"]
    step = {"phase": "sync", "argv": ["sync", "-f", point], "timeout_s": 3600}
    with contextlib.suppress(StepFailed):
        run_step(step | {"allow_failure": True})
    found = sampler.contents(point, plan.get("leave_nothing") or "")
    say(
        "space",
        used_before_bytes=used_before,
        used_after_bytes=sampler.used_bytes(point),
        files=found and found[0],
        contents_bytes=found and found[1],
    )


def run(plan: dict[str, Any]) -> int:
    """Run the whole plan. Returns the exit status."""
    global SAMPLER
    status, reason = 0, ""
    try:
        join(plan.get("control_groups", []))
        say("environment", **environment(plan.get("tools", [])))
        keep_to_cpus(plan.get("cpus"), plan.get("near_cpus", []))
        if plan.get("unmount"):
            Path(plan["mount_point"]).mkdir(parents=True, exist_ok=True)
        else:
            # What a run that was killed has left in a folder of the host.
            remove_own(plan)
        SAMPLER = sampler.start(say, plan)
        is_checked, used_before = False, None
        last = ([step for step in plan["steps"] if step["phase"] == "benchmark"] or [None])[-1]
        for planned in plan["steps"]:
            if planned["phase"] == "benchmark" and not is_checked:
                is_checked, used_before = True, sampler.used_bytes(plan["mount_point"])
                is_filled = any(step["phase"] == "fill" for step in plan["steps"])
                check_space(plan["mount_point"], plan["space_needed_bytes"], is_filled)
            is_benchmark = planned["phase"] == "benchmark"
            run_step(planned, watched_folder=plan["mount_point"] if is_benchmark else "")
            if planned["phase"] == "mount":
                check_mounted(plan)
            if planned is last:
                settle(plan, used_before)
    except StepFailed as error:
        status, reason = 1, str(error)
    except Cancelled:
        status, reason = 3, "The run was stopped."
    except Exception as error:
        status, reason = 1, f"The agent failed: {type(error).__name__}: {error}."
    if SAMPLER is not None:
        SAMPLER.close()
        SAMPLER = None
    status, reason = put_in_order(plan, status, reason)
    if reason:
        say("error", reason=reason)
    say("done", ok=status == 0, stopped=status == 3)
    return status


def environment(tools: list[str]) -> dict[str, Any]:
    """What the run happens on, as ``{section: [[label, value], ...]}`` and in single values."""
    found = {tool: tool_version(tool) for tool in tools}
    distribution = distribution_name()
    memory = re.search(r"^MemTotal:\s+(\d+) kB", _read("/proc/meminfo"), re.M)
    cpus = re.findall(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.M)
    return {
        "kernel": platform.release(),
        "distribution": distribution,
        "tools": found,
        "filesystems": [line.split()[-1] for line in _read("/proc/filesystems").splitlines()],
        "facts": {
            "Operating system": [
                ["Distribution", distribution],
                ["Kernel", platform.release()],
                ["Kernel build", platform.version()],
                ["Architecture", platform.machine()],
            ],
            "Machine": [
                ["Processor", cpus[0] if cpus else platform.machine()],
                ["Processors online", str(os.cpu_count())],
                ["Memory", f"{int(memory[1]) / 2**20:.1f} GiB" if memory else "not known"],
            ],
            "Tools": [
                [tool, entry["version"] or "version not told"]
                for tool, entry in found.items()
                if entry["path"]
            ],
        },
    }


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def distribution_name() -> str:
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)"?', _read("/etc/os-release"), re.M)
    return match[1] if match else "not known"


def tool_version(tool: str) -> dict[str, str]:
    """Path and version of a tool; both empty when it is not installed."""
    path = shutil.which(tool, path=PATH)
    if path is None:
        return {"path": "", "version": ""}
    step = Step([path, VERSION_FLAGS.get(tool, "-V")], timeout_s=10, quiet=True)
    with contextlib.suppress(StepFailed):
        step.run(is_cleanup=True)
    match = re.search(r"\d+\.\d+(\.\d+)?", step.text("stdout") + step.text("stderr"))
    return {"path": path, "version": match[0] if match else ""}


def fill(percent: int, folder: str) -> int:
    """Write files of random data until ``percent`` of the file system are in use.

    Each file is written through to the device and leaves the page cache again. Returns the exit
    status.
    """
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102 (plain os is what a container has)
        room = os.statvfs(folder)
        total = room.f_blocks * room.f_frsize
        wanted = total * percent // 100 - (room.f_blocks - room.f_bfree) * room.f_frsize
        done = files = 0
        while done < wanted:
            size = min(FILL_FILE_BYTES, wanted - done)
            _write_random(f"{folder}/{files:08d}", size)
            done, files = done + size, files + 1
            sys.stderr.write(f"\r{done} of {wanted} bytes")
            sys.stderr.flush()
        room = os.statvfs(folder)
    except OSError as error:
        sys.stderr.write(f"\nThe file system cannot be filled: {error.strerror}\n")
        return 1
    used = 100.0 * (room.f_blocks - room.f_bfree) / max(room.f_blocks, 1)
    print(f"\n{files} files with {done} bytes written; {used:.1f}% of the file system in use")
    return 0


def _write_random(path: str, size: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        left = size
        while left:
            left -= os.write(descriptor, os.urandom(min(left, FILL_CHUNK_BYTES)))
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def _first_line(stream: BinaryIO) -> bytes:
    """Read byte by byte, so that nothing behind the line is swallowed by a buffer."""
    line = bytearray()
    while (byte := os.read(stream.fileno(), 1)) not in (b"", b"\n"):
        line += byte
    return bytes(line)


def main(arguments: list[str]) -> int:
    global LISTENER
    if arguments[:1] == ["--fill"]:
        return fill(int(arguments[1]), arguments[2])
    LISTENER = Listener()
    if arguments[:1] == ["--probe"]:
        say("environment", **environment(arguments[1:]))
        return 0
    if arguments:
        plan = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    else:
        plan = json.loads(_first_line(sys.stdin.buffer))
        LISTENER.watched = sys.stdin.fileno()
    return run(plan)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
