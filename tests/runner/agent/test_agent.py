"""The agent, started as the executors start it, with tiny commands."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from runner.agent import agent, commands, counters, mounted
from runner.agent.guest import guest
from runner.agent.messages import output_bytes
from runner.execution import record
from runner.executors import stream
from runner.executors.base import AGENT
from runner.executors.stream import signs_of_life

Messages = list[dict[str, Any]]


def plan(tmp_path: Path, *steps: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "steps": [{"timeout_s": 20, **step} for step in steps],
        "filesystem": "ext4",
        "mount_point": str(tmp_path),
        "unmount": [],
        "benchmark_file": str(tmp_path / "fsbench.work.iozone"),
        "space_needed_bytes": 1,
        "tools": ["sh"],
        **changes,
    }


def start(content: dict[str, Any]) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [sys.executable, "-I", str(AGENT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(content).encode() + b"\n")
    process.stdin.flush()
    return process


def finish(process: "subprocess.Popen[bytes]") -> tuple[int, Messages]:
    assert process.stdout is not None
    messages = [json.loads(line) for line in process.stdout]
    return process.wait(60), messages


def run(content: dict[str, Any]) -> tuple[int, Messages]:
    return finish(start(content))


def of(messages: Messages, kind: str) -> Messages:
    return [message for message in messages if message["type"] == kind]


def shell(script: str, phase: str = "benchmark", **changes: Any) -> dict[str, Any]:
    return {"phase": phase, "argv": ["sh", "-c", script], **changes}


def await_file(path: Path) -> None:
    deadline = time.monotonic() + 10
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < deadline, f"{path} was never written"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """A zombie is dead: nobody in a small container may be there to reap it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_it_runs_all_steps_and_tells_them(tmp_path: Path) -> None:
    status, messages = run(
        plan(
            tmp_path,
            shell("echo one", phase="first"),
            shell("echo two; echo three >&2", save_output_as="out.txt"),
        )
    )
    assert status == 0
    assert [message["phase"] for message in of(messages, "phase")] == ["first", "benchmark"]
    commands = of(messages, "command")
    assert [command["exit_code"] for command in commands] == [0, 0]
    assert commands[1]["argv"] == ["sh", "-c", "echo two; echo three >&2"]
    outputs = {message["name"]: message["text"] for message in of(messages, "output")}
    assert outputs == {"out.txt": "two\n", "stderr of out.txt": "three\n"}
    assert messages[-1] == messages[-1] | {"type": "done", "ok": True}


@pytest.mark.root
@pytest.mark.parametrize(
    ("phase", "changes"), [("precondition", {}), ("benchmark", {"mount_point": ""})]
)
def test_nobody_mounts_a_device_while_a_tool_writes_to_it(
    tmp_path: Path, other_loop: str, phase: str, changes: dict[str, Any]
) -> None:
    """dd and fio open it as anybody does."""
    subprocess.run(["mkfs.ext2", "-q", other_loop], check=True)
    point, mark = tmp_path / "point", tmp_path / "mark"
    point.mkdir()
    mount = f"mount {other_loop} {point}; echo $? > {mark}"
    status, messages = run(plan(tmp_path, shell(mount, phase), device=other_loop, **changes))
    assert status == 0, of(messages, "error")
    assert mark.read_text().strip() != "0"

    def look() -> None:
        taken = os.open(other_loop, os.O_RDONLY | os.O_EXCL)
        time.sleep(0.8)
        os.close(taken)

    looking = threading.Thread(target=look)
    looking.start()
    assert run(plan(tmp_path, shell(mount, phase), device=other_loop, **changes))[0] == 0
    looking.join()

    taken = os.open(other_loop, os.O_RDONLY | os.O_EXCL)
    mark.unlink()
    status, messages = run(plan(tmp_path, shell(mount, phase), device=other_loop, **changes))
    os.close(taken)
    assert status == 1
    assert "somebody began to use it" in of(messages, "error")[0]["reason"]
    assert not mark.exists()


@pytest.mark.root
@pytest.mark.usefixtures("odd_mounts")
def test_mounts_of_odd_names_are_no_trouble(tmp_path: Path) -> None:
    assert mounted.mounts()[-1][:2] == (f"{tmp_path}/empty", "tmpfs")
    assert counters.group_folders()
    status, messages = run(
        plan(
            tmp_path,
            shell("true"),
            filesystem="tmpfs",
            unmount=["umount", f"{tmp_path}/none"],
            mount_point=f"{tmp_path}/none",
        )
    )
    assert status == 0, of(messages, "error")


def test_it_streams_lines_while_the_tool_still_runs(tmp_path: Path) -> None:
    process = start(plan(tmp_path, shell("echo early; sleep 20")))
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line).get("text") == "early":
            break
    assert process.poll() is None
    process.terminate()
    assert finish(process)[0] == 3


def test_it_stops_at_the_first_step_that_fails_and_says_why(tmp_path: Path) -> None:
    status, messages = run(
        plan(tmp_path, shell("echo no such device >&2; exit 7"), shell("touch $0"))
    )
    assert status == 1
    assert len(of(messages, "command")) == 1
    reason = of(messages, "error")[0]["reason"]
    assert reason == "sh ended with exit status 7: no such device."
    assert messages[-1]["ok"] is False


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        # A sentence has one full stop.
        ("echo There is no tree. >&2; exit 1", "sh ended with exit status 1: There is no tree."),
        # JSON that was cut off says nothing.
        ("""printf '{\\n "jobs": [\\n  }\\n'; kill -9 $$""", "sh was ended by signal 9."),
        ("""printf 'no memory\\n{\\n'; exit 1""", "sh ended with exit status 1: no memory."),
    ],
)
def test_the_reason_is_one_sentence(tmp_path: Path, script: str, reason: str) -> None:
    _, messages = run(plan(tmp_path, shell(script)))
    assert of(messages, "error")[0]["reason"] == reason


def test_it_names_a_tool_that_is_not_installed(tmp_path: Path) -> None:
    status, messages = run(plan(tmp_path, {"phase": "mkfs", "argv": ["mkfs.nosuch", "/x"]}))
    assert status == 1
    assert "mkfs.nosuch is not installed" in of(messages, "error")[0]["reason"]


def test_it_ends_a_step_that_takes_too_long_with_all_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    began = time.monotonic()
    status, messages = run(
        plan(tmp_path, shell(f"sleep 100 & echo $! > {pid_file}; wait", timeout_s=2))
    )
    assert status == 1
    assert time.monotonic() - began < 60
    assert "time limit of 2 s" in of(messages, "error")[0]["reason"]
    assert not is_alive(int(pid_file.read_text()))


def test_it_kills_a_tool_that_ignores_sigterm(tmp_path: Path) -> None:
    began = time.monotonic()
    status, _ = run(
        plan(tmp_path, shell("trap '' TERM; sleep 100 & wait; sleep 100", timeout_s=0.3))
    )
    assert status == 1
    assert time.monotonic() - began < 60


def test_a_tool_that_says_no_space_has_failed_even_with_exit_status_0(tmp_path: Path) -> None:
    status, messages = run(plan(tmp_path, shell("echo 'write: No space left on device' >&2")))
    assert status == 1
    assert of(messages, "error")[0]["reason"].startswith("The LUN is full")


def test_a_small_disk_that_is_full_for_a_moment_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostMark goes on as if it had written all, and a small pool is deleted at once."""
    looks: list[float] = []

    def room(folder: str) -> os.statvfs_result:
        looks.append(time.monotonic() - began)
        free = 0 if 0.3 <= looks[-1] < 0.36 else 12_000
        return os.statvfs_result((4096, 4096, 12_000, free, free, 6000, 5000, 5000, 0, 255))

    monkeypatch.setattr(commands.os, "statvfs", room)
    step = commands.Step(["sleep", "0.6"], 20, watched_folder=str(tmp_path))
    began = time.monotonic()
    step.run()
    assert step.exit_code == 0
    assert "The LUN ran full while sleep worked" in commands.why_it_failed(step)


def test_a_large_disk_is_looked_at_ten_times_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    def room(folder: str) -> os.statvfs_result:
        looks.append(folder)
        return os.statvfs_result((4096, 4096, 2**20, 2**20, 2**20, 0, 0, 0, 0, 255))

    monkeypatch.setattr(commands.os, "statvfs", room)
    step = commands.Step(["sleep", "0.5"], 20, watched_folder=str(tmp_path))
    step.run()
    assert 1 <= len(looks) <= 7
    assert commands.why_it_failed(step) == ""


def test_it_refuses_a_benchmark_that_needs_more_room_than_there_is(tmp_path: Path) -> None:
    status, messages = run(plan(tmp_path, shell(f"touch {tmp_path}/ran"), space_needed_bytes=2**60))
    assert status == 1
    assert "too small" in of(messages, "error")[0]["reason"]
    assert not (tmp_path / "ran").exists()


def test_the_grace_periods_of_a_cancellation_add_up_to_less_than_five_seconds() -> None:
    """To notice it, to end the tool, to remove its files, to kill what is left."""
    assert record.HEARTBEAT_EVERY_S + stream.STOP_GRACE_S < 5
    assert commands.GRACE_S + mounted.REMOVE_S < stream.STOP_GRACE_S
    assert guest.STOP_GRACE_S < stream.STOP_GRACE_S


def test_sigterm_cancels_and_keeps_the_output_so_far(tmp_path: Path) -> None:
    started = tmp_path / "started"
    process = start(
        plan(
            tmp_path,
            shell(f"echo half; echo x > {started}; sleep 100", save_output_as="out.txt"),
        )
    )
    await_file(started)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    status, messages = finish(process)
    assert status == 3
    assert time.monotonic() - began < 60
    assert of(messages, "output")[0]["text"] == "half\n"
    assert messages[-1]["ok"] is False


def test_it_stops_when_the_worker_is_gone(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    process = start(plan(tmp_path, shell(f"echo $$ > {pid_file}; sleep 100")))
    await_file(pid_file)
    assert process.stdin is not None
    process.stdin.close()
    assert finish(process)[0] == 3
    assert not is_alive(int(pid_file.read_text()))


def test_it_stops_when_it_hears_nothing_of_the_worker(tmp_path: Path) -> None:
    """As of one that is stopped: its lease runs out, and another host may have the disk then."""
    pid_file = tmp_path / "pid"
    silent = plan(tmp_path, shell(f"echo $$ > {pid_file}; sleep 100"), worker_silence_s=1.5)
    status, messages = run(silent)
    assert status == 4
    assert "no sign of life for 1.5 s" in of(messages, "error")[0]["reason"]
    assert messages[-1]["ok"] is False
    assert messages[-1]["stopped"] is True
    assert not is_alive(int(pid_file.read_text()))


def test_a_worker_that_tells_that_it_lives_is_measured_for(tmp_path: Path) -> None:
    process = start(plan(tmp_path, shell("sleep 3"), worker_silence_s=1.5))
    assert process.stdin is not None
    with signs_of_life(lambda data: os.write(process.stdin.fileno(), data), 1.5):  # type: ignore[union-attr]
        status, messages = finish(process)
    assert status == 0
    assert messages[-1]["ok"] is True


@pytest.mark.parametrize("silence_s", [60.0, 0.0])
def test_of_a_plan_in_a_file_standard_input_counts_where_the_plan_says_so(
    tmp_path: Path, silence_s: float
) -> None:
    """A container has it open since 0.9.0: an earlier worker gives a newer image none."""
    content = plan(tmp_path, shell("sleep 1"), worker_silence_s=silence_s)
    (tmp_path / "plan.json").write_text(json.dumps(content))
    process = subprocess.Popen(
        [sys.executable, "-I", str(AGENT), str(tmp_path / "plan.json")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert finish(process)[0] == (3 if silence_s else 0)


def test_its_steps_die_with_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    process = start(plan(tmp_path, shell(f"echo $$ > {pid_file}; exec sleep 100")))
    await_file(pid_file)
    process.kill()
    process.wait()
    pid, deadline = int(pid_file.read_text()), time.monotonic() + 60
    while is_alive(pid):
        assert time.monotonic() < deadline, "the step outlived its agent"
        time.sleep(0.05)


def test_what_a_step_reads_is_given_to_it_whole(tmp_path: Path) -> None:
    """More than a pipe holds, and to a step that reads late or never."""
    text = "ä line of a job file\n" * 20_000
    status, messages = run(
        plan(
            tmp_path,
            shell("sleep 0.2; sha256sum", stdin=text, save_output_as="sum.txt"),
            shell("exit 0", stdin=text),
        )
    )
    assert status == 0
    [printed] = of(messages, "output")
    assert printed["text"].split()[0] == hashlib.sha256(text.encode()).hexdigest()


def test_it_cuts_long_output_into_parts_that_join_again(tmp_path: Path) -> None:
    _, messages = run(
        plan(tmp_path, shell("seq 1 20000; printf '\\377\\n'", save_output_as="out.txt"))
    )
    parts = of(messages, "output")
    assert len(parts) > 1
    assert [part["part"] for part in parts] == list(range(len(parts)))
    assert [part["is_last"] for part in parts] == [False] * (len(parts) - 1) + [True]
    data = b"".join(output_bytes(part["text"]) for part in parts)
    assert data == b"".join(b"%d\n" % n for n in range(1, 20001)) + b"\xff\n"


def test_it_ends_a_tool_that_prints_without_end(tmp_path: Path) -> None:
    package = tmp_path / "runner"
    shutil.copytree(AGENT.parent, package / "agent")
    shutil.copy(AGENT.parent.parent / "__init__.py", package)
    commands = package / "agent" / "commands.py"
    commands.write_text(commands.read_text().replace("64 * 1024 * 1024", "200_000"))
    content = tmp_path / "plan.json"
    content.write_text(json.dumps(plan(tmp_path, shell("yes"))))
    done = subprocess.run(
        [sys.executable, "-I", str(package / "agent" / "agent.py"), str(content)],
        capture_output=True,
        timeout=90,
    )
    assert done.returncode == 1
    assert b"printed more than" in done.stdout


def test_output_without_an_end_of_line_takes_time_in_proportion() -> None:
    def spent_s(mib: int) -> float:
        step = commands.Step(["head", "-c", f"{mib}M", "/dev/zero"], 600)
        began = time.process_time()
        step.run()
        assert len(step.kept_output["stdout"]) == mib * 2**20
        return time.process_time() - began

    little_s = min(spent_s(4) for _ in range(3))
    assert min(spent_s(16) for _ in range(2)) < 8 * little_s + 0.2


def test_a_line_is_logged_up_to_its_limit_however_it_arrives(tmp_path: Path) -> None:
    script = "printf %3000s x | tr ' ' y; sleep 0.2; printf '%3000s' z; echo; printf 'next\\r\\n'"
    _, messages = run(plan(tmp_path, shell(script)))
    lines = [message["text"] for message in of(messages, "log") if message["stream"] == "stdout"]
    assert lines == ["y" * 2000, "next"]


def test_it_tells_no_step_what_it_could_be_misled_by(tmp_path: Path) -> None:
    _, messages = run(plan(tmp_path, {"phase": "benchmark", "argv": ["env"]}))
    printed = {entry["text"].split("=")[0] for entry in of(messages, "log")}
    assert {"PATH", "LC_ALL"} <= printed
    assert not printed & set(os.environ) - {"PATH", "HOME", "LC_ALL"}


def test_the_probe_tells_versions_and_what_is_missing() -> None:
    done = subprocess.run(
        [sys.executable, "-I", str(AGENT), "--probe", "mount", "nosuch"], capture_output=True
    )
    message = json.loads(done.stdout)
    assert message["tools"]["nosuch"] == {"path": "", "version": ""}
    assert message["tools"]["mount"]["version"]
    assert message["kernel"] == os.uname().release
    assert dict(message["facts"]["Machine"])["Memory"]


def test_it_refuses_a_file_system_that_is_not_the_one_submitted(tmp_path: Path) -> None:
    status, messages = run(
        plan(tmp_path, shell("true", phase="mount"), shell("echo measured"), mount_point="/proc")
    )
    assert status == 1
    assert "instead of ext4" in of(messages, "error")[0]["reason"]
    assert not [entry for entry in of(messages, "log") if entry["text"] == "measured"]


def test_a_file_system_is_filled_to_a_share_of_it(tmp_path: Path) -> None:
    """More than its share is in use already here: nothing is written, and it says how much is."""
    folder = tmp_path / "fill"
    fill = {"phase": "fill", "argv": ["fsbench-agent", "--fill", "0", str(folder)]}
    code, messages = run(plan(tmp_path, fill))
    assert code == 0, messages
    (command,) = of(messages, "command")
    assert command["argv"] == fill["argv"]
    assert "0 files with 0 bytes written;" in command["stdout"]
    assert list(folder.iterdir()) == []


def test_filling_what_is_there_already_fails_with_the_reason(tmp_path: Path) -> None:
    fill = {"phase": "fill", "argv": ["fsbench-agent", "--fill", "1", str(tmp_path)]}
    code, messages = run(plan(tmp_path, fill))
    assert code == 1
    (error,) = of(messages, "error")
    assert "The file system cannot be filled: File exists" in error["reason"]


def test_progress_is_told_in_shares_and_a_line_that_overwrites_itself_is_logged_once(
    tmp_path: Path,
) -> None:
    is_heard = tmp_path / "heard"
    script = (
        f"printf '\\r250 bytes copied' >&2; while [ ! -e {is_heard} ]; do sleep 0.02; done;"
        "printf '\\r500 bytes copied' >&2; sleep 1.1;"
        "printf '\\r1000 bytes (1 kB) copied' >&2; printf '\\n2+0 records in\\n' >&2"
    )
    process = start(plan(tmp_path, shell(script, "precondition", total_bytes=1000)))
    assert process.stdout is not None
    first = []
    for line in process.stdout:
        first.append(json.loads(line))
        if first[-1]["type"] == "progress":
            break
    is_heard.touch()
    code, rest = finish(process)
    messages = first + rest
    assert code == 0
    shares = [message["share"] for message in of(messages, "progress")]
    assert shares[0] == 0.25
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    logged = [message["text"] for message in of(messages, "log") if message["stream"] == "stderr"]
    assert logged == ["1000 bytes (1 kB) copied", "2+0 records in"]
    assert of(messages, "command")[0]["stderr"] == "1000 bytes (1 kB) copied\n2+0 records in\n"


def test_what_a_command_printed_is_kept_and_bounded(tmp_path: Path) -> None:
    flood = "head -c 200000 /dev/zero | tr '\\0' x; echo made >&2"
    code, messages = run(plan(tmp_path, shell(flood, "mkfs"), shell("echo hidden")))
    assert code == 0
    mkfs, benchmark = of(messages, "command")
    assert mkfs["stderr"] == "made\n"
    assert len(mkfs["stdout"]) < 70_000
    assert mkfs["stdout"].endswith("[cut here]\n")
    assert benchmark["stdout"] == "hidden\n"


def test_a_tool_that_closes_its_output_before_it_ends_is_not_killed(tmp_path: Path) -> None:
    """Such as dd, which then still waits for the device."""
    status, messages = run(plan(tmp_path, shell("exec >&- 2>&-; sleep 0.5; exit 0")))
    assert status == 0, of(messages, "error")
    assert of(messages, "command")[0]["duration_s"] >= 0.5


def test_processors_beside_the_device_are_taken_first(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[list[int]] = []
    monkeypatch.setattr(agent.os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})
    monkeypatch.setattr(agent.os, "sched_setaffinity", lambda pid, cpus: taken.append(cpus))
    agent.pin_to_cpus(None, [2])
    agent.pin_to_cpus(2, [])
    agent.pin_to_cpus(3, [2, 3, 9])
    assert taken == [[0, 1], [2, 3, 0]]
    with pytest.raises(agent.commands.StepFailed, match="choose fewer"):
        agent.pin_to_cpus(5, [2])


@pytest.mark.parametrize(
    ("succeeds_at", "problem"), [(1, ""), (9, ""), (10, ""), (11, "umount: target is busy.")]
)
def test_what_is_unmounted_at_the_last_attempt_is_unmounted(
    monkeypatch: pytest.MonkeyPatch, succeeds_at: int, problem: str
) -> None:
    attempts = []

    def unmount(step: dict[str, Any], is_cleanup: bool) -> None:
        attempts.append(step)
        if len(attempts) < succeeds_at:
            raise commands.StepFailed("umount: target is busy.")

    monkeypatch.setattr(agent, "run_step", unmount)
    monkeypatch.setattr(agent.time, "sleep", lambda _: None)
    found = agent.unmount_while({"unmount": ["umount", "/m"]}, lambda: len(attempts) < succeeds_at)
    assert found == problem


def test_what_stays_mounted_whatever_umount_says_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent, "run_step", lambda step, is_cleanup: None)
    monkeypatch.setattr(agent.time, "sleep", lambda _: None)
    assert agent.unmount_while({"unmount": ["umount", "/m"]}, lambda: True)
