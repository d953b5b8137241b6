"""Operations of a real file system on a loop device, counted by a real bpftrace."""

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fsbench_web.core.traces import operations
from fsbench_web.core.traces.operations import CALLS, FUNCTIONS
from runner.host.tracing import block_events, operation_events, operation_scripts
from runner.host.tracing.block_events import TraceError
from runner.host.tracing.operation_events import count_operations
from runner.safety import blockdev
from tests.runner.conftest import tool

pytestmark = pytest.mark.root
# What a kernel cannot is no defect here; a program that is not installed is.
traces_here = pytest.mark.skipif(
    bool(shutil.which("bpftrace") and operation_events.why_not_traceable()),
    reason=operation_events.why_not_traceable() or "it can",
)
MIB = 1024**2


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], tuple[int, Path]]]:
    """Make and mount a file system of this kind: (device number, folder)."""
    mounts: list[tuple[str, Path]] = []

    def make(filesystem: str) -> tuple[int, Path]:
        image, folder = tmp_path / filesystem, tmp_path / f"on-{filesystem}"
        with image.open("wb") as file:
            file.truncate(320 * MIB)
        folder.mkdir()
        tool(f"mkfs.{filesystem}", "-q", str(image))
        device = tool("losetup", "--find", "--show", str(image))
        mounts.append((device, folder))
        tool("mount", "-t", filesystem, device, str(folder))
        number = blockdev.device_number(device)
        assert number is not None
        return number, folder

    yield make
    for device, folder in mounts:
        subprocess.run(("umount", str(folder)), check=False, stderr=subprocess.DEVNULL)
        tool("losetup", "--detach", device)


def write(path: Path, blocks: int) -> None:
    """So many blocks of 4 KiB, an open, and an fsync at the end."""
    of = f"of={path}"
    tool("dd", "if=/dev/zero", of, "bs=4k", f"count={blocks}", "conv=fsync", "status=none")


@traces_here
@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
def test_what_is_done_to_this_file_system_is_counted_and_nothing_else(
    filesystem: str, mounted: Callable[[str], tuple[int, Path]], tmp_path: Path
) -> None:
    number, folder = mounted(filesystem)
    with count_operations(number, filesystem, "fsbench.test.counted.1") as tracer:
        write(folder / "before", 7)
        tracer.begin()
        write(folder / "new", 25)
        write(tmp_path / "elsewhere", 100)
        tool("dd", f"if={folder / 'new'}", "of=/dev/null", "bs=10k", "status=none")
        # Mounted anew, as some workloads do: it is the same file system.
        device = f"/dev/{blockdev.kernel_name(number)}"
        tool("umount", str(folder))
        tool("mount", "-t", filesystem, device, str(folder))
        write(folder / "again", 5)
        with pytest.raises(OSError, match="File name too long"):
            (folder / ("x" * 300)).open("w")
        tracer.end()
        write(folder / "after", 9)
        tracer.end()  # and again
    counts = operations.read(tracer.text, tracer.way, tracer.seconds, is_cut=tracer.is_cut)
    assert counts is not None
    # umount opens the folder, too, with some versions.
    ended = counts.ended
    assert ended.pop("open") in (3, 4)
    assert ended == {"read": 11, "write": 30, "sync": 2}
    assert counts.bytes_of == {"read": 25 * 4096, "write": 30 * 4096}
    assert (counts.failed, counts.queued, counts.without_end, counts.lost) == ({}, {}, 0, 0)
    assert not counts.is_cut
    assert 0 < counts.seconds < 3600
    for name, total in counts.total_ns.items():
        rows = [row for row in counts.latency_rows() if row[0] == name]
        least = sum(low * count for _, low, _, count in rows)
        assert least <= total < sum(high * count for _, _, high, count in rows)
    assert list(operation_events.leftover_traces("fsbench.test.counted.", lambda run: False)) == []


def wait_for_end(process: int) -> None:
    """Wait for its end."""
    handle = os.pidfd_open(process)
    assert select.select([handle], [], [], 30)[0], f"{process} goes on"
    os.close(handle)


@traces_here
def test_a_trace_ends_at_its_bound(
    mounted: Callable[[str], tuple[int, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    number, folder = mounted("ext4")
    monkeypatch.setattr(operation_events, "MOST_S", 2)
    with count_operations(number, "ext4", "fsbench.test.bound.1") as tracer:
        tracer.begin()
        write(folder / "new", 3)
        wait_for_end(
            next(operation_events.leftover_traces("fsbench.test.bound.", lambda run: False))[0]
        )
        tracer.end()
    assert tracer.is_cut
    counts = operations.read(tracer.text, tracer.way, tracer.seconds, is_cut=True)
    assert counts is not None
    assert counts.ended["write"] == 3


@traces_here
def test_who_prints_too_much_is_ended(
    mounted: Callable[[str], tuple[int, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    number, folder = mounted("ext4")
    monkeypatch.setattr(operation_events, "MOST_BYTES", 200)
    with count_operations(number, "ext4", "fsbench.test.bytes.1") as tracer:
        tracer.begin()
        write(folder / "new", 3)
        tracer.end()
    assert "more than it has to say" in tracer.problem
    assert len(tracer.text) <= 200


_BEGIN = """
import sys
from runner.host.tracing import operation_events
with operation_events.count_operations(int(sys.argv[1]), "ext4", sys.argv[2]) as seen:
    seen.begin()
    left = operation_events.leftover_traces(sys.argv[2][:-1], lambda run: False)
    (pid,) = [pid for pid, _ in left]
    print(pid, flush=True)
    sys.stdin.read()
"""


@traces_here
def test_the_kernel_ends_it_with_a_worker_that_is_killed(other_loop: str) -> None:
    number = str(Path(other_loop).stat().st_rdev)
    argv = [sys.executable, "-c", _BEGIN, number, "fsbench.test.killed.7"]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        program = int(process.stdout.readline())
        assert "bpftrace" in Path(f"/proc/{program}/comm").read_text()
        process.send_signal(signal.SIGKILL)
        wait_for_end(program)


def test_what_is_left_is_known_by_its_name_and_ended(tmp_path: Path) -> None:
    # A program of that name, with what the kernel would say of bpftrace.
    (tmp_path / "bpftrace").symlink_to("/bin/sleep")
    proc = tmp_path / "proc"
    with subprocess.Popen([str(tmp_path / "bpftrace"), "600"]) as process:
        others = {"1": "bpftrace\0loop1\0fsbench.a.b.8\0", "2": "sleep\0loop1\0fsbench.a.b.7\0"}
        command_lines = others | {
            str(process.pid): "/usr/bin/bpftrace\0loop1\0fsbench.a.b.7\0",
            "3": "",
        }
        for name, words in command_lines.items():
            (proc / name).mkdir(parents=True)
            (proc / name / "cmdline").write_text(words)
        assert operation_events.remove_leftovers("fsbench.other.b.", lambda run: False, proc) == []
        is_going_on = {8: True, 7: False}.__getitem__
        ended = operation_events.remove_leftovers("fsbench.a.b.", is_going_on, proc)
        assert ended == ["fsbench.a.b.7"]
        assert process.wait(30) == -signal.SIGKILL
    operation_events.remove(process.pid)  # is gone: nothing to end


def test_why_nothing_can_be_traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_events, "_program", lambda: "/usr/bin/bpftrace")
    btf, events = tmp_path / "vmlinux", tmp_path / "events"
    assert "CONFIG_DEBUG_INFO_BTF" in operation_events.why_not_traceable(tmp_path, btf)
    btf.touch()
    events.mkdir()
    assert "CONFIG_FTRACE_SYSCALLS" in operation_events.why_not_traceable(tmp_path, btf)
    (events / "syscalls/sys_enter_kill").mkdir(parents=True)
    assert not operation_events.why_not_traceable(tmp_path, btf)
    without = tmp_path / "filesystems"
    without.write_text("nodev proc\n")
    assert "no tracefs" in operation_events.why_not_traceable(tmp_path, btf, without)
    locked = tmp_path / "lockdown"
    locked.write_text("none integrity [confidentiality]\n")
    assert "locked down" in operation_events.why_not_traceable(tmp_path, btf, lockdown=locked)
    monkeypatch.setattr(operation_events, "_program", lambda: "")
    assert "install the package bpftrace" in operation_events.why_not_traceable(tmp_path, btf)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "root" in operation_events.why_not_traceable(tmp_path, btf)


def test_functions_where_the_kernel_has_all_of_them_else_calls(tmp_path: Path) -> None:
    names = operation_scripts.FUNCTIONS_OF["xfs"].values()
    symbols = tmp_path / "kallsyms"
    lines = [f"ffffffffc0a00000 t {name}\t[xfs]" for name in names]
    symbols.write_text("\n".join(["0000 D jiffies", *lines]) + "\n")
    assert operation_events.tracing_way("xfs", tmp_path, symbols) == CALLS  # no kprobes
    (tmp_path / "kprobe_events").touch()
    assert operation_events.tracing_way("xfs", tmp_path, symbols) == FUNCTIONS
    assert operation_events.tracing_way("btrfs", tmp_path, symbols) == CALLS
    assert operation_events.tracing_way("ext2", tmp_path, symbols) == CALLS
    symbols.write_text("\n".join(lines[1:]))
    assert operation_events.tracing_way("xfs", tmp_path, symbols) == CALLS


def test_this_kernels_own_list_has_every_function_that_is_asked_for(tmp_path: Path) -> None:
    """Of the file systems that it knows now; with kprobes they would be traced by functions."""
    filesystems = set(Path("/proc/filesystems").read_text().split()) & {"ext4", "xfs", "btrfs"}
    assert filesystems
    (tmp_path / "kprobe_events").touch()
    for filesystem in filesystems:
        by = operation_events.tracing_way(filesystem, tmp_path)
        assert by == FUNCTIONS
        text = operation_scripts.script(by, filesystem, (), 60)
        for function in operation_scripts.FUNCTIONS_OF[filesystem].values():
            assert f"kprobe:{function} " in text
            assert f"kretprobe:{function} " in text


def test_a_program_that_cannot_begin_says_why(
    other_loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation_events, "why_not_traceable", lambda *paths: "")
    monkeypatch.setattr(operation_events, "tracing_way", lambda *paths: CALLS)
    number = Path(other_loop).stat().st_rdev
    broken = tmp_path / "bpftrace"
    broken.write_text('#!/bin/sh\necho "ERROR: no \033[1mprobe" >&2\nexit 3\n')
    broken.chmod(0o755)
    monkeypatch.setattr(operation_events, "_program", lambda: str(broken))
    with (
        pytest.raises(TraceError, match=r"status 3: ERROR: no \?\[1mprobe"),
        count_operations(number, "ext4", "fsbench.test.broken.1"),
    ):
        raise AssertionError("nothing can be traced")
    broken.write_text("#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setattr(operation_events, "BEGIN_WAIT_S", 0.01)
    with (
        pytest.raises(TraceError, match="was not ready"),
        count_operations(number, "ext4", "fsbench.test.broken.1"),
    ):
        raise AssertionError("nothing can be traced")
    monkeypatch.setattr(blockdev, "kernel_name", lambda number: 'x"; system("id")')
    with (
        pytest.raises(TraceError, match="cannot be looked for"),
        count_operations(number, "ext4", "fsbench.test.broken.1"),
    ):
        raise AssertionError("no such name reaches bpftrace")
    assert block_events.instance_prefix("test", "w") == "fsbench.test.w."


def test_scripts_are_of_fixed_words() -> None:
    """The device is a parameter of the program and never a part of its text."""
    for filesystem in operation_scripts.FUNCTIONS_OF:
        text = operation_scripts.script(FUNCTIONS, filesystem, (), 60)
        assert text.count("kprobe:") == text.count("kretprobe:") == 4
        assert "interval:s:60" in text
        assert text.count("str($1)") == 4
    text = operation_scripts.script(CALLS, "nosuch", ("read", "fsync", "creat"), 60)
    assert "nosuch" not in text
    assert "sys_enter_read /@is_on/ {" in text
    assert "sys_exit_creat /@at_open[(uint64)curtask] && args->ret < 0/" in text
    assert "write /" not in text
    assert text.count("str($1)") == 3


def test_whoever_waits_for_it_to_be_compiled_is_asked_whether_to_go_on() -> None:
    """Compiling takes a minute on a busy host, and a lease is shorter than that."""
    answers: list[bool] = []

    def has_to_end() -> bool:
        answers.append(len(answers) == 3)
        return answers[-1]

    with subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE) as process:
        tracer = operation_events.Operations(process, operation_events.CALLS, 2**23)
        began = time.monotonic()
        assert not tracer.wait_until_attached(has_to_end)
        assert answers == [False, False, False, True]
        assert time.monotonic() - began < 20
        tracer.end()
    assert process.returncode < 0
