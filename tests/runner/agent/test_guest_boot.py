"""The program that boots a guest, with a child process in the place of QEMU."""

import compileall
import io
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from runner.agent.guest import guest, guest_init, initramfs

REQUEST: dict[str, Any] = {
    "do": "run",
    "plan": {"steps": []},
    "scheduler": "bfq",
    "kernel": "/nowhere/vmlinuz",
    "modules": [],
    "disks": {},
    "memory_bytes": 512 * 2**20,
    "cpus": 2,
    "accelerator": "emulated",
    "boot_limit_s": 20,
    "silence_s": 20,
    "facts": [["Accelerator", "emulated"]],
}
# A guest that speaks as guest_init.py does; what follows is its own.
GUEST = """
import json, os, socket, sys, time
port = socket.socket(fileno=int(os.environ["FSBENCH_PORT"]))
def say(kind, **values):
    port.sendall(json.dumps({"type": kind, "at": 1.0, **values}).encode() + b"\\n")
def alive():
    say("alive", booted=True)
    return json.loads(port.makefile().readline())
"""


class Ended:
    """``took_s``: from the wish to stop, where there is one, else from the start."""

    def __init__(self, code: int, messages: list[dict[str, Any]], took_s: float) -> None:
        self.code, self.messages, self.took_s = code, messages, took_s

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["type"] == kind]

    @property
    def reason(self) -> str:
        return " ".join(message["reason"] for message in self.all("error"))

    def output(self, name: str) -> str:
        return "".join(message["text"] for message in self.all("output") if message["name"] == name)


def boot(
    body: str,
    capfdbinary: pytest.CaptureFixture[bytes],
    stop_when_alive: bool = False,
    **changes: Any,
) -> Ended:
    machine = guest.Guest(REQUEST | changes, [sys.executable, "-c", GUEST + body])
    begun = time.monotonic()
    if stop_when_alive:

        def stop() -> None:
            nonlocal begun
            while machine.boot_s is None:
                time.sleep(0.02)
            begun = time.monotonic()
            machine.must_stop = True

        threading.Thread(target=stop, daemon=True).start()
    code = machine.run()
    took_s = time.monotonic() - begun
    out, _ = capfdbinary.readouterr()
    return Ended(code, [json.loads(line) for line in out.splitlines()], took_s)


def test_the_agents_lines_come_through_and_the_request_goes_in(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    ended = boot(
        """
request = alive()
say("environment", kernel="6.1", facts={"Machine": []})
say("log", stream="stdout", text=json.dumps(sorted(request)))
say("done", ok=True)
say("exit", code=0)
""",
        capfdbinary,
    )

    assert ended.code == 0
    assert ended.all("log")[0]["text"] == '["disks", "do", "filesystems", "plan", "scheduler"]'
    environment = ended.all("environment")[0]
    assert environment["facts"]["Guest"] == [
        ["Accelerator", "emulated"],
        ["Emulated processor", guest.EMULATED_CPU],
    ]
    assert environment["guest"]["accelerator"] == "emulated"
    assert ended.messages[-1]["type"] == "done"
    assert ended.messages[-1]["ok"] is True
    assert len(ended.all("done")) == 1


def test_a_plan_that_is_longer_than_any_buffer_comes_in(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    plan = {"steps": [{"stdin": "x" * 5_000_000}]}
    ended = boot(
        """
print("noise of a boot\\n" * 20000, flush=True)
request = alive()
say("log", stream="stdout", text=str(len(request["plan"]["steps"][0]["stdin"])))
say("done", ok=True)
say("exit", code=0)
""",
        capfdbinary,
        plan=plan,
    )

    assert ended.code == 0
    assert "5000000" in {message["text"] for message in ended.all("log")}


def test_a_guest_without_a_sign_of_life_is_ended(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    ended = boot(
        "print('the last words', flush=True); alive(); time.sleep(60)", capfdbinary, silence_s=1
    )

    assert ended.code == 1
    assert ended.took_s < 15
    assert ended.reason == "The guest sent no heartbeat for 1 s and was ended."
    assert ended.output("console.log") == "the last words\n"
    assert ended.messages[-1] == ended.messages[-1] | {"type": "done", "ok": False}


def test_a_kernel_that_does_not_come_up_is_ended(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    ended = boot(
        "print('Booting from ROM...', flush=True); time.sleep(60)", capfdbinary, boot_limit_s=1
    )

    assert ended.code == 1
    assert ended.took_s < 15
    assert "did not come to the agent within 1 s" in ended.reason


def test_a_panic_ends_the_run_and_is_told_first(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    ended = boot(
        """
alive()
say("error", reason="iozone was ended by signal 9.")
print("[ 1.0] Kernel panic - not syncing: VFS: no\\n[ 1.1] Call Trace:", flush=True)
""",
        capfdbinary,
    )

    assert ended.code == 1
    assert ended.reason == ("The guest's kernel panicked: VFS: no. iozone was ended by signal 9.")
    assert ended.output("oops.txt") == "Kernel panic - not syncing: VFS: no\nCall Trace:\n"
    assert ended.all("log")[0]["text"].startswith("Kernel panic")


def test_a_guest_that_crashed_and_hangs_is_not_waited_for(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "CRASH_GRACE_S", 0.5)

    ended = boot(
        "alive(); print('[ 1.0] kernel BUG at fs/jfs/x.c:12!', flush=True); time.sleep(60)",
        capfdbinary,
    )

    assert ended.code == 1
    assert ended.took_s < 15
    assert "kernel BUG at fs/jfs/x.c:12!" in ended.reason


def test_an_io_error_fails_a_run_whose_agent_ended_well(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    ended = boot(
        """
alive()
say("done", ok=True)
say("exit", code=0)
print("[ 1.0] EXT4-fs error (device vda): ext4_lookup: deleted inode", flush=True)
""",
        capfdbinary,
    )

    assert ended.code == 1
    assert ended.messages[-1]["ok"] is False
    assert "EXT4-fs error" in ended.reason


def test_an_io_error_stops_the_run(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    ended = boot(
        """
alive()
print("[ 1.0] I/O error, dev vda, sector 8 op 0x1:(WRITE)", flush=True)
told = port.recv(100)
say("log", stream="fsbench", text=told.decode())
say("error", reason="The run was stopped.")
say("done", ok=False)
say("exit", code=3)
""",
        capfdbinary,
    )

    assert ended.code == 1
    assert ended.messages[-1]["ok"] is False
    assert ended.reason == (
        "The guest's kernel reported an error of its disk: "
        "I/O error, dev vda, sector 8 op 0x1:(WRITE)."
    )
    assert ended.output("oops.txt").startswith("I/O error, dev vda")
    assert {"stop\n"} <= {message["text"] for message in ended.all("log")}


def test_a_stop_is_passed_on_and_the_agent_may_end_by_itself(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    ended = boot(
        """
alive()
assert port.recv(100) == b"stop\\n"
say("error", reason="The run was stopped.")
say("done", ok=False)
say("exit", code=3)
""",
        capfdbinary,
        stop_when_alive=True,
    )

    assert ended.code == 3
    assert ended.reason == "The run was stopped."


def test_a_guest_that_does_not_hear_a_stop_is_killed_in_time(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    ended = boot("alive(); time.sleep(60)", capfdbinary, stop_when_alive=True)

    assert ended.code == 3
    assert ended.took_s < 5


def test_a_qemu_that_cannot_start_says_why(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    ended = boot("sys.exit('qemu-system-x86_64: Could not access KVM kernel module')", capfdbinary)

    assert ended.code == 1
    assert ended.reason == (
        "QEMU ended with exit status 1: qemu-system-x86_64: Could not access KVM kernel module."
    )


def test_half_lines_and_noise_on_the_port_are_no_messages(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest, "LONGEST_MESSAGE", 1000)
    ended = boot(
        """
port.sendall(b'half a line\\n[1, 2]\\n{"no": "type"}\\n\\x00\\xff\\n' + b'[' * 100000 + b'\\n')
alive()
port.sendall(b'x' * 5000)
port.sendall(b'\\n')
port.sendall(b'{"type": "log", "stream": "stdout", ')
time.sleep(0.1)
port.sendall(b'"text": "whole", "at": 1.0}\\n')
say("done", ok=True)
say("exit", code=0)
""",
        capfdbinary,
    )

    assert ended.code == 0
    assert [message["text"] for message in ended.all("log")] == ["whole"]


def test_a_guest_that_ends_before_its_agent_has_failed(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    ended = boot("alive(); say('done', ok=True); print('the end', flush=True)", capfdbinary)

    assert ended.code == 1
    assert "ended before its run did" in ended.reason
    assert "the end" in ended.reason


def test_a_console_that_never_stops_is_kept_up_to_a_limit(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest.guest_console, "CONSOLE_BYTES", 1000)
    monkeypatch.setattr(guest.guest_console, "CONSOLE_LOG_LINES", 10)

    ended = boot("alive(); print('spam\\n' * 5000, flush=True); say('exit', code=0)", capfdbinary)

    text, _, note = ended.output("console.log").partition("[fsbench: ")
    assert len(text) == 1001
    assert note == "the console printed 25,001 bytes; kept are the first 1,000]\n"
    assert len(ended.all("log")) == 10
    assert "console.log" in ended.all("log")[-1]["text"]


def test_qemu_gets_no_network_and_no_disk_but_the_leased(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.touch()
    request = REQUEST | {"disks": {"fsbench-data": "/dev/null", "fsbench-journal": str(disk)}}

    command = guest.qemu_command(request, tmp_path / "initramfs", 7)

    drives = [word for before, word in itertools.pairwise(command) if before == "-drive"]
    assert [word.partition("file=")[2].partition(",")[0] for word in drives] == [
        "/dev/null",
        str(disk),
        str(guest.ROOT / "root.squashfs"),
    ]
    assert "cache=none,aio=native" in drives[0]
    assert "readonly=on" in drives[2]
    assert command[command.index("-nic") + 1] == "none"
    assert "-no-reboot" in command
    assert "-nodefaults" in command
    assert command[command.index("-m") + 1] == "512M"


@pytest.mark.parametrize(("accelerator", "is_left_out"), [("emulated", True), ("kvm", False)])
def test_an_emulated_kernel_leaves_out_what_takes_it_long(
    tmp_path: Path, accelerator: str, is_left_out: bool
) -> None:
    """The timer came too late on a busy host, and the kernel panicked."""
    request = REQUEST | {"accelerator": accelerator}
    command = guest.qemu_command(request, tmp_path / "initramfs", 7)
    words = command[command.index("-append") + 1].split()
    left_out = {"no_timer_check", "cryptomgr.notests"}
    assert left_out & set(words) == (left_out if is_left_out else set())
    processor = guest.EMULATED_CPU if is_left_out else "host"
    assert command[command.index("-cpu") + 1] == processor


def test_the_first_root_is_an_archive_that_cpio_reads(tmp_path: Path) -> None:
    path = tmp_path / "initramfs"
    entries = [
        initramfs.Entry("folder"),
        initramfs.Entry("folder/file", b"odd", 0o644),
        initramfs.Entry("init", b"#!/bin/sh\n" * 100),
    ]
    path.write_bytes(b"".join(initramfs.archive(entries)))

    magic = path.read_bytes()[:6]
    names = _names(path.read_bytes())

    assert magic == b"070701"
    assert names == ["folder", "folder/file", "init", "TRAILER!!!"]
    assert len(path.read_bytes()) % 4 == 0


def test_the_agent_comes_compiled_where_the_image_has_it_so(tmp_path: Path) -> None:
    agent = tmp_path / "runner" / "agent"
    (agent / "workloads").mkdir(parents=True)
    for path in ("__init__.py", "tasks.py", "agent/agent.py", "agent/workloads/tree.py"):
        (tmp_path / "runner" / path).write_text("x = 1\n")
    (tmp_path / "root.squashfs").touch()
    names = [entry.name for entry in initramfs.own_programs(tmp_path)]
    assert names == [
        "fsbench",
        "fsbench/runner",
        "fsbench/runner/agent",
        "fsbench/runner/agent/workloads",
        "fsbench/runner/__init__.py",
        "fsbench/runner/agent/agent.py",
        "fsbench/runner/agent/workloads/tree.py",
    ]

    compileall.compile_dir(tmp_path, quiet=1)

    added = {entry.name for entry in initramfs.own_programs(tmp_path)} - set(names)
    end = f"{sys.implementation.cache_tag}.pyc"
    assert added == {
        "fsbench/runner/__pycache__",
        f"fsbench/runner/__pycache__/__init__.{end}",
        "fsbench/runner/agent/__pycache__",
        f"fsbench/runner/agent/__pycache__/agent.{end}",
        "fsbench/runner/agent/workloads/__pycache__",
        f"fsbench/runner/agent/workloads/__pycache__/tree.{end}",
    }


def _names(data: bytes) -> list[str]:
    """Read as the kernel does: header of 110 bytes, name, content, each padded to 4."""
    stream, names = io.BytesIO(data), []
    while head := stream.read(110):
        size, length = int(head[54:62], 16), int(head[94:102], 16)
        name = stream.read(length).rstrip(b"\0").decode()
        stream.seek(-(110 + length) % 4, os.SEEK_CUR)
        stream.seek(size + -size % 4, os.SEEK_CUR)
        names.append(name)
    return names


def test_the_boot_script_is_a_shell_script() -> None:
    subprocess.run(["sh", "-n", str(guest.ROOT / guest.GUEST / "guest_boot.sh")], check=True)


def test_schedulers_of_old_kernels_have_todays_names() -> None:
    assert guest_init.scheduler_names("noop deadline [cfq]\n") == (
        "cfq",
        ["none", "mq-deadline", "cfq"],
    )
    assert guest_init.scheduler_names("[none] mq-deadline bfq\n")[0] == "none"
    assert guest_init.scheduler_names("none\n") == ("", ["none"])
