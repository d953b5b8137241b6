"""What a guest's servers have in common (nfs.py, smb.py): tools, daemons, ports. Stdlib only."""

import contextlib
import fcntl
import os
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

ADDRESS = "127.0.0.1"
PIDS, LOG = Path("/run/fsbench.served.pids"), Path("/run/fsbench.served.log")
START_S, STOP_S, TOOL_S = 60.0, 30.0, 120
# netdevice(7), if.h.
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


class ServerFailed(Exception):
    """The text says what could not be done."""


def run(*argv: str, stdin: str = "") -> None:
    """Raises ServerFailed with what the tool said."""
    try:
        done = subprocess.run(
            argv, input=stdin, capture_output=True, text=True, timeout=TOOL_S, check=False
        )
    except OSError as error:
        raise ServerFailed(f"{argv[0]} cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise ServerFailed(f"{argv[0]} did not end within {TOOL_S} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise ServerFailed(f"{' '.join(argv)}: {lines[-1] if lines else done.returncode}")


def loopback_up() -> None:
    """A guest has no network, and brings up not even this of its own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        flags = struct.unpack("16sH14s", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | IFF_UP, b""))


def start(*argv: str) -> None:
    """A daemon in the foreground of nobody: it lives on, and is ended by its number."""
    with LOG.open("ab") as log:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    with PIDS.open("a") as pids:
        pids.write(f"{process.pid}\n")


def wait_for(port: int) -> None:
    """Until somebody listens there. Raises ServerFailed."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((ADDRESS, port), 5):
            return
        time.sleep(0.05)
    lines = LOG.read_text(errors="replace").strip().splitlines() if LOG.exists() else []
    raise ServerFailed(
        f"nobody listens on port {port}: {lines[-1] if lines else 'nothing was said'}"
    )


def stop_all() -> None:
    """End what ``start`` started, with all that this started, and wait until it is gone."""
    groups = {int(pid) for pid in PIDS.read_text().split()} if PIDS.exists() else set()
    began, number = time.monotonic(), signal.SIGTERM
    while (groups := groups & running_groups()) and time.monotonic() < began + 2 * STOP_S:
        if time.monotonic() > began + STOP_S:
            number = signal.SIGKILL
        for group in groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)
        time.sleep(0.05)
    PIDS.unlink(missing_ok=True)


def running_groups() -> "set[int]":
    """The process groups that run, by this namespace's numbers (NSpgid, proc_pid_status(5))."""
    namespaces = len(_status("self")["NSpgid"])
    running = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, KeyError):
            of_process = _status(path.name)
            groups = of_process["NSpgid"]
            if of_process["State"][0] not in ("Z", "X") and len(groups) == namespaces:
                running.add(int(groups[-1]))
    return running


def _status(pid: str) -> "dict[str, list[str]]":
    lines = Path("/proc", pid, "status").read_text(errors="replace").splitlines()
    return {name: values.split() for name, _, values in (line.partition(":") for line in lines)}


def is_mounted(point: str) -> bool:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return any(line.split()[4] == point for line in lines)
