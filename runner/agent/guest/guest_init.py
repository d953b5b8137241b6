"""The first process of a guest: runs the agent, and passes its lines on to the host.

Stdlib only. The host is behind a virtio serial port: its first line is the request (``guest.py``
writes it), later ones are ``stop``. Everything that goes there is one JSON object a line: those of
the agent, ``alive`` every second, ``probed`` for a look at what this kernel can do, and
``exit`` {code}, the last. What goes wrong here is on the console.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PORT = "org.fsbench.agent"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Kernels before 5.0 have these under other names, for disks with one queue.
TODAY = {"noop": "none", "deadline": "mq-deadline"}
ALIVE_EVERY_S = 1.0
TOOL_LIMIT_S = 300
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C",
}
RB_AUTOBOOT = 0x1234567
MCL_CURRENT_FUTURE = 1 | 2
CLONE_NEWPID = 0x20000000
PR_SET_PDEATHSIG = 1
STACK_BYTES = 512 * 1024
_libc = ctypes.CDLL(None, use_errno=True)


class Host:
    """The other end of the port. Lines are whole, regardless of the writer."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._rest = b""

    def send(self, kind: str, **values: Any) -> None:
        self.pass_on(json.dumps({"type": kind, "at": time.time(), **values}).encode() + b"\n")

    def pass_on(self, line: bytes) -> None:
        with self._lock:
            while line:
                line = line[os.write(self._descriptor, line) :]

    def line(self) -> bytes:
        """The next line of the host; waits for it."""
        while b"\n" not in self._rest:
            data = os.read(self._descriptor, 65536)
            if not data:  # nobody is at the other end
                time.sleep(0.1)
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line


class Agent:
    """``work`` as the first process of a process namespace, which ends with its parent.

    The parent is forked before there are threads, and waits for a first line on ``stdin``. This
    saves an emulated processor a second start of Python.
    """

    def __init__(self, work: "Callable[[], int]") -> None:
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()

        def redirect_standard_streams() -> int:
            for descriptor, place in ((theirs_in, 0), (theirs_out, 1)):
                os.dup2(descriptor, place)
            for descriptor in {theirs_in, theirs_out, ours_in, ours_out} - {0, 1}:
                os.close(descriptor)
            return _wait_with_agent(work)

        self._process = _fork(redirect_standard_streams)
        os.close(theirs_in)
        os.close(theirs_out)
        self.stdin, self.stdout = os.fdopen(ours_in, "wb"), os.fdopen(ours_out, "rb")

    def wait(self) -> int:
        """Its exit status; 128 and the signal's number where one ended it."""
        return _exit_code(self._process)


def _wait_with_agent(work: "Callable[[], int]") -> int:
    first = select.poll()
    first.register(0, select.POLLIN)
    if not any(events & select.POLLIN for _, events in first.poll()):
        return 0
    if _libc.unshare(CLONE_NEWPID):
        raise OSError(ctypes.get_errno(), "there is no process namespace for the agent")

    def end_with_parent() -> int:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        return work()

    process = _fork(end_with_parent)
    os.close(0)
    os.close(1)
    return _exit_code(process)


def _fork(work: "Callable[[], int]") -> int:
    """The number of a process that ends with what ``work`` returns."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        code = work()
    except BaseException:
        _print_error()
    finally:
        os._exit(code)


def _print_error() -> None:
    """The exception that is being handled, on the console."""
    sys.excepthook(*sys.exc_info())


def _exit_code(process: int) -> int:
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return code if code >= 0 else 128 - code


def _agent() -> int:
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    from runner.agent import agent

    return agent.main([])


def mount(kind: str, point: str, options: str = "") -> None:
    Path(point).mkdir(parents=True, exist_ok=True)
    code = _libc.mount(kind.encode(), point.encode(), kind.encode(), 0, options.encode())
    if code:
        raise OSError(ctypes.get_errno(), f"{kind} cannot be mounted on {point}")


def find_port() -> str:
    """The device of the port; the console says it, if there is none within 30 s."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for name in Path("/sys/class/virtio-ports").glob("*/name"):
            if name.read_text().strip() == PORT:
                return f"/dev/{name.parent.name}"
        time.sleep(0.05)
    raise OSError("this kernel has no virtio console: it needs the module virtio_console")


def device_names(serials: "list[str]") -> "dict[str, str]":
    """What each disk is called here: QEMU has them in the order of their serial numbers."""
    return {serial: f"vd{letter}" for serial, letter in zip(sorted(serials), LETTERS)}  # noqa: B905


def disk_problem(serials: "list[str]") -> str:
    """Why a disk is not where the plan has it, or nothing; asked before anything is written."""
    for serial, name in device_names(serials).items():
        path = Path("/sys/block") / name / "serial"
        actual_serial = path.read_text().strip() if path.exists() else "none"
        if actual_serial != serial:
            return (
                f"/dev/{name} of the guest is {actual_serial} and not {serial}: nothing was erased."
            )
    return ""


def schedulers(disk: str) -> "tuple[str, list[str]]":
    """(the one in use, all) of a disk, by the names of today; brackets mark the first."""
    return scheduler_names(Path(f"/sys/block/{disk}/queue/scheduler").read_text())


def scheduler_names(text: str) -> "tuple[str, list[str]]":
    words = text.split()
    names = [TODAY.get(word.strip("[]"), word.strip("[]")) for word in words]
    used = [name for word, name in zip(words, names, strict=True) if word.startswith("[")]
    return "".join(used[:1]), names


def set_scheduler(scheduler: str, disks: "list[str]") -> str:
    """Why it cannot be set, or nothing."""
    for disk in disks:
        _, names = schedulers(disk)
        if scheduler not in names:
            return f"The guest's kernel has no I/O scheduler {scheduler}, only {', '.join(names)}."
        path = Path(f"/sys/block/{disk}/queue/scheduler")
        try:
            # An old kernel is asked with its own word.
            words = path.read_text().replace("[", " ").replace("]", " ").split()
            path.write_text(scheduler if scheduler in words else _former_name(scheduler))
        except OSError as error:
            return f"The guest's kernel refuses the I/O scheduler {scheduler}: {error.strerror}."
        if schedulers(disk)[0] != scheduler:
            return f"The guest's kernel did not take the I/O scheduler {scheduler}."
    return ""


def _former_name(scheduler: str) -> str:
    return next((old for old, new in TODAY.items() if new == scheduler), scheduler)


def system_facts() -> "dict[str, list[list[str]]]":
    """Of the guest, under the words that the host uses for itself."""
    facts = {"Kernel command line": [["Command line", _read("/proc/cmdline")]]}
    folder = Path("/sys/devices/system/cpu/vulnerabilities")
    vulnerabilities = [[path.name, _read(path)] for path in sorted(folder.glob("*"))]
    if vulnerabilities:
        facts["Processor vulnerabilities and mitigations"] = vulnerabilities
    modules = [line.split()[0] for line in _read("/proc/modules").splitlines()]
    facts["Kernel modules"] = [["Loaded", ", ".join(sorted(modules)) or "none"]]
    return facts


def _read(path: "str | Path") -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def probe(filesystems: "list[dict[str, Any]]") -> "dict[str, dict[str, Any]]":
    """{slug: {"usable", "reason"}}: made, mounted, written to, on the scratch disk, one by one."""
    results = {}
    for filesystem in filesystems:
        reason = _why_unusable(filesystem)
        results[filesystem["slug"]] = {"usable": not reason, "reason": reason}
    return results


def _why_unusable(filesystem: "dict[str, Any]") -> str:
    name, point = filesystem["name"], filesystem["mount_point"]
    kernel_names = [line.split()[-1] for line in _read("/proc/filesystems").splitlines()]
    kernel = os.uname().release
    if filesystem["kernel_name"] not in kernel_names:
        return f"The kernel {kernel} has no {name}."
    subprocess.run(
        ["wipefs", "--all", "--quiet", filesystem["device"]], env=ENVIRONMENT, check=False
    )
    down = filesystem.get("down", [])
    for phase, argv in filesystem["commands"]:
        problem = _run(argv)
        if problem:
            _run_all(down)
            verb = "mounted" if phase == "mount" else "made"
            return f"{name} cannot be {verb} with the kernel {kernel}: {problem}"
    reason = ""
    try:
        place = Path(point, "fsbench.probe")
        place.write_bytes(os.urandom(4096))
        place.unlink()
    except OSError as error:
        reason = f"{name} cannot be written to with the kernel {kernel}: {error.strerror}."
    problem = _run(["umount", point]) or _run_all(down)
    return reason or problem


def _run_all(commands: "list[list[str]]") -> str:
    """All of them, whatever is wrong with one; the first problem, or nothing."""
    return next(filter(None, [_run(argv) for argv in commands]), "")


def _run(argv: "list[str]") -> str:
    """What was wrong, or nothing."""
    if argv[0].startswith("fsbench-"):
        from runner.agent.commands import own_program  # not for a run, whose agent loads it later

        argv = [sys.executable, "-I", own_program(argv[0]), *argv[1:]]
    try:
        done = subprocess.run(
            argv, env=ENVIRONMENT, capture_output=True, timeout=TOOL_LIMIT_S, check=False
        )
    except FileNotFoundError:
        return f"{argv[0]} is not in the benchmark image."
    except subprocess.TimeoutExpired:
        return f"{argv[0]} did not end within {TOOL_LIMIT_S} s."
    lines = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    if done.returncode:
        return f"{argv[0]} said “{lines[-1] if lines else done.returncode}”."
    return ""


def run_agent(host: Host, request: "dict[str, Any]", agent: Agent) -> int:
    """Its lines go to the host, a ``stop`` of the host ends its input. Returns its exit status."""
    agent.stdin.write(json.dumps(request["plan"]).encode() + b"\n")
    agent.stdin.flush()

    def listen() -> None:
        while host.line() != b"stop":
            pass
        with contextlib.suppress(OSError):
            agent.stdin.close()

    threading.Thread(target=listen, daemon=True).start()
    for line in agent.stdout:
        if b'"environment"' in line[:40]:
            line = _with_facts(line, request)
        host.pass_on(line if line.endswith(b"\n") else line + b"\n")
    return agent.wait()


def _with_facts(line: bytes, request: "dict[str, Any]") -> bytes:
    message = json.loads(line)
    message["facts"].update(system_facts())
    message["scheduler"] = schedulers("vda")[0]
    return json.dumps(message).encode() + b"\n"


def work(host: Host, agent: Agent) -> int:
    request = json.loads(host.line())
    disks = list(request.get("disks", []))
    problem = disk_problem(disks)
    if not problem and request.get("scheduler"):
        problem = set_scheduler(request["scheduler"], list(device_names(disks).values()))
    if problem:
        host.send("error", reason=problem)
        host.send("done", ok=False)
        return 1
    if request.get("do") == "greet":
        return 0
    if request.get("do") == "probe":
        host.send(
            "probed",
            kernel=os.uname().release,
            filesystems=probe(request["filesystems"]),
            schedulers=schedulers("vda")[1],
        )
        return 0
    return run_agent(host, request, agent)


def main() -> None:
    for kind, point in (("tmpfs", "/tmp"), ("tmpfs", "/run"), ("tmpfs", "/var/tmp")):  # noqa: S108
        mount(kind, point)
    mount("tmpfs", "/dev/shm")  # noqa: S108
    agent = Agent(_agent)
    # A run that eats all memory must not silence the heartbeats; what is locked it lacks.
    threading.stack_size(STACK_BYTES)
    _libc.mlockall(MCL_CURRENT_FUTURE)
    host = Host(os.open(find_port(), os.O_RDWR))
    host.send("alive", booted=True)

    def live() -> None:
        while True:
            time.sleep(ALIVE_EVERY_S)
            host.send("alive")

    threading.Thread(target=live, daemon=True).start()
    try:
        code = work(host, agent)
    except Exception as error:
        _print_error()
        why = str(error).rstrip(".")
        host.send("error", reason=f"The guest failed: {type(error).__name__}: {why}.")
        host.send("done", ok=False)
        code = 1
    host.send("exit", code=code)


def begin() -> None:
    """Never returns: what ends last is the machine."""
    try:
        main()
    except BaseException:
        _print_error()
    sys.stdout.flush()
    os.sync()
    # Without this the kernel panics when its first process ends. QEMU ends with -no-reboot.
    time.sleep(0.2)
    _libc.reboot(RB_AUTOBOOT)
