"""Run the steps of a plan next to the disk and tell what happens, one JSON object a line.

Stdlib only: it is copied with its folder into the container image, and run as it is by the local
executor. Input is one JSON object (runner.plan), from the file named as the only argument or, with
none, from the first line of standard input. The worker keeps standard input open and writes to it
now and then. Its end, or ``worker_silence_s`` of the plan without a byte, stops the run as a
cancellation does; for a plan in a file only where it names that time. ``agent.py --probe`` reads a
list of tool names instead and prints one ``environment`` message; ``agent.py --fill PERCENT
FOLDER`` fills a file system, and is what a plan calls ``fsbench-agent --fill``.

Messages: ``phase`` {phase}, ``progress`` {share}, ``log`` {stream, text}, ``command`` {phase, argv,
exit_code, duration_s, stdout, stderr}. ``output`` {name, part, is_last, text} (bytes outside UTF-8
as messages.output_bytes reads them). ``environment`` {kernel, distribution, tools, filesystems,
facts}, ``mounted`` {filesystem, options, free_bytes}. ``served`` {network, filesystem,
options, server, export, threads} over loop-back. ``began`` {late_s} of a run of several clients,
and those of ``sampler.py``. ``error`` {reason} and, always last, ``done`` {ok}. Exit status: 0
done, 1 failed, 3 cancelled, 4 the worker was silent.
"""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)

from runner.agent import (
    barrier,
    commands,
    exclusive,
    filling,
    fsbench_folder,
    machine,
    messages,
    mounted,
    own_mount,
    sampler,
)

SAMPLER: "sampler.Sampler | None" = None


def run_step(
    planned: dict[str, Any],
    is_cleanup: bool = False,
    watched_folder: str = "",
    watch_every_s: float = commands.WATCH_ROOM_S,
) -> commands.Step:
    """Run one planned step. Raises StepFailed or Cancelled."""
    if not is_cleanup:
        if messages.must_stop():
            raise messages.Cancelled
        messages.send("phase", phase=planned["phase"])
    step = commands.Step(
        list(planned["argv"]),
        float(planned["timeout_s"]),
        total_bytes=planned.get("total_bytes"),
        stdin=planned.get("stdin", ""),
        watched_folder=watched_folder,
        watch_every_s=watch_every_s,
        is_data=planned.get("save_output_as", "").endswith(".json"),
        tick=SAMPLER.tick if SAMPLER is not None else lambda: None,
    )
    messages.log("$ " + " ".join(step.argv))
    began_s = SAMPLER.sample() if SAMPLER is not None else 0.0
    processes = sampler.Processes()
    try:
        step.run(is_cleanup)
    finally:
        if SAMPLER is not None:
            messages.send(
                "step",
                t0=began_s,
                t1=SAMPLER.sample(),
                phase=planned["phase"],
                output=planned.get("save_output_as", ""),
                processes=processes.usage(),
            )
        messages.send(
            "command",
            phase=planned["phase"],
            argv=step.argv,
            exit_code=step.exit_code,
            duration_s=round(step.duration_s, 6),
            stdout="" if planned.get("save_output_as") else step.printed_text("stdout"),
            stderr="" if planned.get("save_output_as") else step.printed_text("stderr"),
        )
        if planned.get("save_output_as"):
            name, outputs = planned["save_output_as"], step.kept_output
            messages.send_output(name, bytes(outputs["stdout"]))
            if outputs["stderr"]:
                messages.send_output(f"stderr of {name}", bytes(outputs["stderr"]))
    if step.stopped_by == "cancel":
        raise messages.Cancelled
    reason = commands.why_it_failed(step)
    if reason and not planned.get("allow_failure"):
        raise commands.StepFailed(reason)
    return step


def clean_up(plan: dict[str, Any]) -> str:
    """Undo the mount whatever happened. Returns why it could not be undone, or nothing."""
    fsbench_folder.remove_leftovers(plan)
    point = plan.get("mount_point")
    if not point or not plan.get("unmount"):
        return ""
    served = mounted.served_folder(plan)
    if served and any(where == served for where, _, _ in mounted.mounts()):
        # The client first, while its server still answers; with the server what it holds.
        unmount_while(plan, lambda: mounted.is_client_on(point), spared=1)
        with contextlib.suppress(commands.StepFailed):
            run_step(mounted.server_down(plan), is_cleanup=True)
    return unmount_while(plan, lambda: any(where == point for where, _, _ in mounted.mounts()))


def unmount_while(plan: dict[str, Any], is_there: "Callable[[], bool]", spared: int = 0) -> str:
    """Unmount again and again; returns why it is still there. The first ``spared`` attempts kill
    nothing.
    """
    problem = ""
    for attempt in range(10):
        if not is_there():
            return ""
        if os.getpid() == 1 and attempt >= spared:
            # Alone in its process namespace: whatever else is left was started by a step.
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        if messages.must_stop():
            # Each time: what was above it is unmounted first.
            own_mount.give_up()
        time.sleep(0.1 * attempt)
        try:
            run_step(
                {"phase": "unmount", "argv": plan["unmount"], "timeout_s": 600}, is_cleanup=True
            )
        except commands.StepFailed as error:
            problem = str(error)
    return (problem or "umount ends well again and again.") if is_there() else ""


def undo_mounts(plan: dict[str, Any], status: int, reason: str) -> "tuple[int, str]":
    """Undo mounts, and layers where something went wrong. Returns status and reason with that."""
    problem = clean_up(plan)
    if problem:
        return status or 1, f"{reason} The LUN is still mounted: {problem}".strip()
    if status and (problem := take_down(plan)):
        return status, f"{reason} Its layers could not be taken down: {problem}".strip()
    return status, reason


def take_down(plan: dict[str, Any]) -> str:
    """Undo the layers of a run that went wrong. Returns why not all, judged by wipefs alone."""
    problem = ""
    for argv in plan.get("teardown", []):
        try:
            run_step({"phase": "teardown", "argv": argv, "timeout_s": 60}, is_cleanup=True)
        except commands.StepFailed as error:
            if argv[0] == "wipefs" and not _is_gone(argv):
                problem = str(error)
    return problem


def _is_gone(argv: list[str]) -> bool:
    """Whether a device of wipefs was on a layer that is not there any more, or never was."""
    return not all(Path(word).exists() for word in argv if word.startswith("/dev/"))


def join(groups: "list[str]") -> None:
    """Enter control groups of the host with all that it starts (cgroups(7)). Raises StepFailed."""
    for folder in groups:
        try:
            Path(folder, "cgroup.procs").write_text("0")
        except OSError as error:
            raise commands.StepFailed(
                f"The control group {folder} cannot be entered: {error.strerror}. "
                "Nothing was measured."
            ) from None


def pin_to_cpus(count: "int | None", near: "list[int]") -> None:
    """Run here, and all that is started, on so many processors: those ``near`` the device first,
    then by number. Raises StepFailed.
    """
    if not count:
        return
    allowed = sorted(os.sched_getaffinity(0), key=lambda cpu: (cpu not in near, cpu))
    if len(allowed) < count:
        raise commands.StepFailed(
            f"The workload asks for {count} processors, and {len(allowed)} are there: choose fewer."
        )
    os.sched_setaffinity(0, allowed[:count])


def tell_space(plan: dict[str, Any], used_before: "int | None") -> None:
    """Say what the benchmark has written to the file system, once it is synced."""
    if SAMPLER is None or not plan.get("unmount"):
        return
    point = plan["mount_point"]
    contents = sampler.contents(point, plan.get("leave_nothing") or "")
    messages.send(
        "space",
        used_before_bytes=used_before,
        used_after_bytes=sampler.used_bytes(point),
        files=contents and contents[0],
        contents_bytes=contents and contents[1],
    )


def run(plan: dict[str, Any]) -> int:
    """Run the whole plan. Returns the exit status."""
    global SAMPLER
    status, reason = 0, ""
    try:
        join(plan.get("control_groups", []))
        messages.send("environment", **machine.environment(plan.get("tools", [])))
        pin_to_cpus(plan.get("cpus"), plan.get("near_cpus", []))
        mounted.check_overlay(plan, is_mounted=False)
        mounted.check_network_known(plan)
        if plan.get("unmount"):
            Path(plan["mount_point"]).mkdir(parents=True, exist_ok=True)
        else:
            fsbench_folder.check(plan)
            # What a run that was killed has left in a folder of the host.
            fsbench_folder.remove_leftovers(plan)
        SAMPLER = sampler.start(messages.send, plan)
        is_checked, used_before, has_begun = False, None, False
        written = [step for step in plan["steps"] if step["phase"] in ("benchmark", "sync")]
        for planned in plan["steps"]:
            if planned["phase"] == "benchmark" and not is_checked and plan["mount_point"]:
                is_checked, used_before = True, sampler.used_bytes(plan["mount_point"])
                is_filled = any(step["phase"] == "fill" for step in plan["steps"])
                mounted.check_space(plan["mount_point"], plan["space_needed_bytes"], is_filled)
            is_benchmark = planned["phase"] == "benchmark"
            if is_benchmark and not has_begun:
                has_begun = True
                barrier.wait(plan)
            with exclusive.hold_devices(plan, planned["phase"]):
                run_step(
                    planned,
                    watched_folder=plan["mount_point"] if is_benchmark else "",
                    watch_every_s=commands.watch_every_s(plan),
                )
            mounted.check_step(plan, planned)
            if written and planned is written[-1]:
                tell_space(plan, used_before)
    except commands.StepFailed as error:
        status, reason = 1, str(error)
    except messages.Cancelled:
        status, reason = messages.why_stopped()
        own_mount.give_up()
    except Exception as error:
        status, reason = 1, f"The agent failed: {type(error).__name__}: {str(error).rstrip('.')}."
    if SAMPLER is not None:
        SAMPLER.close()
        SAMPLER = None
    status, reason = undo_mounts(plan, status, reason)
    if reason:
        messages.send("error", reason=reason)
    is_stopped = status in (messages.STOPPED, messages.WORKER_SILENT)
    messages.send("done", ok=status == 0, stopped=is_stopped)
    return status


def _first_line(stream: BinaryIO) -> bytes:
    """Read byte by byte, so that nothing behind the line is swallowed by a buffer."""
    line = bytearray()
    while (byte := os.read(stream.fileno(), 1)) not in (b"", b"\n"):
        line += byte
    return bytes(line)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--fill"]:
        return filling.fill(int(arguments[1]), arguments[2])
    messages.LISTENER = messages.Listener()
    if arguments[:1] == ["--probe"]:
        messages.send("environment", **machine.environment(arguments[1:]))
        return 0
    if arguments:
        plan = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    else:
        plan = json.loads(_first_line(sys.stdin.buffer))
    silence_s = float(plan.get("worker_silence_s") or 0)
    if silence_s or not arguments:
        messages.LISTENER.worker = messages.WorkerWatch(sys.stdin.fileno(), silence_s)
    return run(plan)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
