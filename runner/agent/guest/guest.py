"""Boot a kernel for one run and pass its agent's lines on: what a benchmark container runs.

Stdlib only. ``guest.py FILE`` reads one JSON object::

    {"do": "run", "greet" or "probe",     what the guest is for
     "plan": {...}, "scheduler": "",      run: as agent.py takes it; set inside the guest
     "filesystems": [...],                probe: see guest_init.py
     "kernel": PATH, "modules": [PATH],   in the order in which they are loaded
     "disks": {SERIAL: PATH},             fsbench-data, fsbench-journal, fsbench-stack-00 ...
     "scratch_bytes": N,                  probe: as fsbench-data a sparse file of this size
     "memory_bytes": N, "cpus": N, "accelerator": "kvm" or "emulated",
     "boot_limit_s": N, "silence_s": N,   when the guest counts as hanging
     "worker_silence_s": N,               run: when the worker does (messages.WorkerWatch)
     "facts": [[LABEL, VALUE], ...]}      what else its environment is to say

QEMU has no network and no disk but the named ones and the root, which is read-only. The guest's
console is passed on as lines of the log, and sent whole as the outputs ``console.log`` and
``oops.txt``. Messages and exit status are those of agent.py; an ``error`` here is the kernel's.
"""

import contextlib
import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)

from runner.agent import messages
from runner.agent.guest import guest_console, initramfs, kernel_log

# Above runner/agent: /fsbench in the image.
ROOT = Path(__file__).resolve().parents[3]
GUEST = Path("runner/agent/guest")
PORT = "org.fsbench.agent"
EMULATED, KVM = "emulated", "kvm"
# All that QEMU can emulate, but for what is quicker on a real processor alone: the kernel and the C
# library move memory byte by byte where a processor says that it is quick at that.
EMULATED_CPU = "max,erms=off,fsrm=off,la57=off"
OOPS = "oops.txt"
# As the worker reads them (runner/executors/stream.py); one that is longer is no message.
LONGEST_MESSAGE = 16 * 1024 * 1024
CHUNK_CHARACTERS = 16 * 1024
# The agent ends its tool and unmounts within this time; the worker kills this program after 3 s.
STOP_GRACE_S = 2.3
# After a sign of a crash: so long the kernel may take to print the rest.
CRASH_GRACE_S = 5.0
# After an I/O error: so long the agent may take to say its own end.
ERROR_GRACE_S = 20.0
EXIT_S = 20.0
# Errors below this level are on the console; what a healthy kernel says of itself is not.
CONSOLE_LEVEL = 5


def send(kind: str, **values: Any) -> None:
    pass_on(json.dumps({"type": kind, "at": time.time(), **values}).encode())


def pass_on(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def send_output(name: str, text: str) -> None:
    parts = [text[i : i + CHUNK_CHARACTERS] for i in range(0, len(text), CHUNK_CHARACTERS)] or [""]
    for number, part in enumerate(parts):
        send("output", name=name, part=number, is_last=number == len(parts) - 1, text=part)


def write_initramfs(path: Path, modules: "list[str]") -> None:
    """What the kernel starts with: busybox, the modules in their order, the agent's programs."""
    names = [Path(module).name for module in modules]
    entries = [
        initramfs.Entry("bin"),
        initramfs.Entry("bin/busybox", Path("/bin/busybox").read_bytes()),
        initramfs.Entry("dev"),
        initramfs.Entry("modules"),
        initramfs.Entry("modules/order", "".join(f"{Path(n).stem}\n" for n in names).encode()),
        *(
            initramfs.Entry(f"modules/{name}", Path(module).read_bytes(), 0o644)
            for name, module in zip(names, modules, strict=True)
        ),
        *initramfs.own_programs(ROOT),
        initramfs.Entry("init", (ROOT / GUEST / "guest_boot.sh").read_bytes()),
    ]
    with path.open("wb") as file:
        for piece in initramfs.archive(entries):
            file.write(piece)


def qemu_command(request: "dict[str, Any]", first_root: Path, port: int) -> "list[str]":
    """The command line of QEMU; ``port`` is a connected socket that it inherits."""
    is_kvm = request["accelerator"] == KVM
    cpus = int(request["cpus"])
    words = f"console=ttyS0 loglevel={CONSOLE_LEVEL} panic=-1 oops=panic random.trust_cpu=on"
    if not is_kvm:
        # While it boots the kernel counts the timer's interrupts for a moment of the processor's
        # own clock, and panics where a busy host has emulated too few ("IO-APIC + timer doesn't
        # work!"). With KVM it leaves that out by itself (kernel-parameters.txt). And ciphers are
        # tried as they are registered (crypto/Kconfig), which takes a twelfth of the boot.
        words += " no_timer_check cryptomgr.notests"
    command = [
        *("qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none"),
        *("-nic", "none", "-no-reboot"),
        # Without the disk controllers that nothing is at: the firmware looks for disks there.
        *("-machine", "q35,vmport=off,sata=off,smbus=off"),
        *("-accel", "kvm" if is_kvm else "tcg,thread=multi"),
        *("-cpu", "host" if is_kvm else EMULATED_CPU),
        *("-smp", str(cpus), "-m", f"{int(request['memory_bytes']) // 2**20}M"),
        *("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"),
        *("-kernel", request["kernel"], "-initrd", str(first_root), "-append", words),
        *("-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"),
        *("-device", "virtio-serial-pci", "-chardev", f"socket,id=agent,fd={port}"),
        *("-device", f"virtserialport,chardev=agent,name={PORT}"),
        *("-object", "iothread,id=disks"),
    ]
    # The order of the disks is that of their names in the guest: data, journal, stack, root.
    for serial, path in sorted(request.get("disks", {}).items()):
        # An error is the guest's to see; QEMU's own way with a full disk would be to stop it.
        is_scratch = Path(path).is_file()
        cache_options = "cache=unsafe" if is_scratch else "cache=none,aio=native,discard=unmap"
        command += [
            "-drive",
            f"if=none,id={serial},file={path},format=raw,{cache_options},werror=report,rerror=report",
            "-device",
            f"virtio-blk-pci,drive={serial},serial={serial},num-queues={cpus},iothread=disks"
            + block_sizes(path),
        ]
    root = request.get("root", str(ROOT / "root.squashfs"))
    return [
        *command,
        *("-drive", f"if=none,id=root,file={root},format=raw,readonly=on"),
        *("-device", "virtio-blk-pci,drive=root,serial=fsbench-root"),
    ]


def block_sizes(path: str) -> str:
    """The device's own sizes of blocks, so that a file system is made as it would be outside."""
    number = os.stat(path).st_rdev  # noqa: PTH116 (0 for a plain file)
    folder = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    for place in (folder / "queue", folder.resolve().parent / "queue"):
        with contextlib.suppress(OSError, ValueError):
            logical = int((place / "logical_block_size").read_text())
            physical = int((place / "physical_block_size").read_text())
            return f",logical_block_size={logical},physical_block_size={physical}"
    return ""


class Guest:
    """One boot from start to end. ``reason`` is why it did not end as it should."""

    def __init__(self, request: "dict[str, Any]", command: "list[str] | None" = None) -> None:
        self.request = request
        self.command = command
        self.console = guest_console.Console(lambda line: send("log", stream="console", text=line))
        self.errors: list[str] = []
        self.reason = ""
        self.stderr_text = b""
        self.done_ok: bool | None = None
        self.exit_code: int | None = None
        self.boot_s: float | None = None
        self.must_stop = False
        self.worker: messages.WorkerWatch | None = None
        self._messages = guest_console.Lines(LONGEST_MESSAGE)

    def run(self) -> int:
        ours, theirs = socket.socketpair()
        with tempfile.TemporaryDirectory() as folder, ours:
            first_root = Path(folder, "initramfs")
            if self.command is None:
                write_initramfs(first_root, self.request["modules"])
            if self.request.get("scratch_bytes"):
                scratch = Path(folder, "scratch")
                with scratch.open("wb") as file:
                    file.truncate(int(self.request["scratch_bytes"]))
                self.request["disks"] = {"fsbench-data": str(scratch)}
            command = self.command or qemu_command(self.request, first_root, theirs.fileno())
            self.started = time.monotonic()
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                env={"PATH": "/usr/bin:/bin", "FSBENCH_PORT": str(theirs.fileno())},
            )
            theirs.close()
            try:
                threading.Thread(target=self._ask, args=(ours,), daemon=True).start()
                self._follow(process, ours)
            finally:
                process.kill()
                process.wait()
        return self._end(process.returncode)

    def _ask(self, port: socket.socket) -> None:
        """In a thread: a long plan waits until the guest reads it, and its console must be read."""
        with contextlib.suppress(OSError):
            port.sendall(self._first_line())

    def _first_line(self) -> bytes:
        passed = {key: self.request.get(key) for key in ("do", "plan", "scheduler", "filesystems")}
        passed["disks"] = sorted(self.request.get("disks", {}))
        return json.dumps(passed).encode() + b"\n"

    def _follow(self, process: "subprocess.Popen[bytes]", port: socket.socket) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._last_message_at = time.monotonic()
        kill_at, is_reported = float("inf"), False
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ, "console")
            selector.register(process.stderr, selectors.EVENT_READ, "stderr")
            selector.register(port, selectors.EVENT_READ, "port")
            while selector.get_map():
                for key, _ in selector.select(0.2):
                    try:
                        data = os.read(key.fd, 65536)
                    except ConnectionResetError:
                        data = b""
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.data == "port":
                        self._take(data)
                    elif key.data == "console":
                        self.console.feed(data)
                    else:
                        self.stderr_text = (self.stderr_text + data)[-4000:]
                if self.worker is not None and self.worker.must_stop():
                    self.must_stop = True
                now = time.monotonic()
                if now >= kill_at:
                    return
                grace_s = self._grace_s(now)
                if grace_s is not None:
                    kill_at = min(kill_at, now + grace_s)
                has_error = self.console.first_trouble == kernel_log.IO_ERROR
                if (self.must_stop or has_error) and not is_reported:
                    is_reported = True
                    with contextlib.suppress(OSError):
                        port.sendall(b"stop\n")

    def _grace_s(self, now: float) -> "float | None":
        """How long it may still live; None for as long as it likes."""
        if self.must_stop:
            # A kernel that is still booting has nothing to put in order.
            return STOP_GRACE_S if self.boot_s is not None else 0.0
        if self.console.first_trouble == kernel_log.IO_ERROR:
            return ERROR_GRACE_S
        if self.console.first_trouble:
            return CRASH_GRACE_S
        if self.exit_code is not None:
            return EXIT_S
        limit_s = self.request["silence_s" if self.boot_s is not None else "boot_limit_s"]
        if now - self._last_message_at > limit_s:
            self.reason = (
                f"The guest sent no heartbeat for {limit_s:g} s and was ended."
                if self.boot_s is not None
                else f"The guest's kernel did not come to the agent within {limit_s:g} s."
            )
            return 0.0
        return None

    def _take(self, data: bytes) -> None:
        for line, _ in self._messages.feed(data):
            # The first of a boot may be half of one that nobody heard.
            try:
                message = json.loads(line)
                kind = message["type"]
            except (ValueError, TypeError, KeyError, RecursionError):
                continue
            self._last_message_at = time.monotonic()
            if kind == "alive":
                if self.boot_s is None:
                    self.boot_s = round(self._last_message_at - self.started, 2)
            elif kind == "exit":
                self.exit_code = int(message["code"])
            elif kind == "error":
                self.errors.append(str(message["reason"]))
            elif kind == "done":
                self.done_ok = message["ok"] is True
            elif kind == "probed":
                pass_on(json.dumps({**message, "boot_s": self.boot_s}).encode())
            elif kind == "environment":
                pass_on(json.dumps(self._with_facts(message)).encode())
            else:
                pass_on(line)

    def _with_facts(self, message: "dict[str, Any]") -> "dict[str, Any]":
        is_emulated = self.request["accelerator"] == EMULATED
        processor = [["Emulated processor", EMULATED_CPU]] if is_emulated else []
        message["facts"]["Guest"] = [*self.request.get("facts", []), *processor]
        # Not among the facts: it is another one with every run.
        message["guest"] = {"accelerator": self.request["accelerator"], "boot_s": self.boot_s}
        return message

    def _end(self, qemu_code: int) -> int:
        """Say how it ended. The kernel's own words come first: they explain the rest."""
        self.console.end()
        trouble = kernel_log.problem_in(self.console.text)
        is_well = self.exit_code == 0 and not self.reason
        is_crash = trouble is not None and (trouble.is_fatal or not is_well)
        if self.request["do"] == "run" or not is_well:
            send_output(guest_console.CONSOLE, self.console.text)
        if is_crash and trouble is not None:
            send_output(OOPS, "\n".join(trouble.lines) + "\n")
            # That it was stopped then is no news, unless somebody wanted it as well.
            lines = [error for error in self.errors if self.must_stop or self.exit_code != 3]
            self.errors = [trouble.sentence, *lines]
        if self.reason:
            self.errors.append(self.reason)
        if self.worker is not None and self.worker.is_silent:
            self.errors = [self.worker.reason]
        if self.exit_code is None and not self.errors and not self.must_stop:
            self.errors.append(self._why_qemu_ended(qemu_code))
        if self.errors:
            send("error", reason=" ".join(dict.fromkeys(self.errors)))
        is_stopped = self.must_stop and self.exit_code in (messages.STOPPED, None)
        is_silent = self.worker is not None and self.worker.is_silent
        if is_stopped:
            code = messages.WORKER_SILENT if is_silent else messages.STOPPED
        else:
            code = 0 if is_well and not is_crash else 1
        send("done", ok=code == 0 and self.done_ok is not False, stopped=is_stopped)
        return code

    def _why_qemu_ended(self, code: int) -> str:
        lines = self.stderr_text.decode("utf-8", "replace").strip().splitlines()
        if code:
            ending = f"exit status {code}" if code > 0 else f"signal {-code}"
            return f"QEMU ended with {ending}{': ' + lines[-1][:300].rstrip('.') if lines else ''}."
        last = self.console.last_line
        tail = f" The last it said: {last[:300].rstrip('.')}." if last else ""
        return f"The guest ended before its run did.{tail}"


def version() -> str:
    """Of QEMU; empty where there is none."""
    if shutil.which("qemu-system-x86_64") is None:
        return ""
    done = subprocess.run(
        ["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=False
    )
    match = re.search(r"version (\d+(?:\.\d+)+)", done.stdout)
    return match[1] if match else ""


def main(arguments: "list[str]") -> int:
    if arguments == ["--version"]:
        is_whole = (ROOT / "root.squashfs").is_file() and Path("/bin/busybox").is_file()
        send("qemu", version=version(), is_whole=is_whole)
        return 0
    guest = Guest(json.loads(Path(arguments[0]).read_text(encoding="utf-8")))

    def stop(*_: object) -> None:
        guest.must_stop = True

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    silence_s = float(guest.request.get("worker_silence_s") or 0)
    if silence_s:
        guest.worker = messages.WorkerWatch(sys.stdin.fileno(), silence_s)
    return guest.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
