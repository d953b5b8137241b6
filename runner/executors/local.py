"""Runs the agent as a process of this host.

As root in own mount and process namespaces, which end with its first process (unshare(1),
--kill-child). Without root only with directory LUNs.
"""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import IO

from fsbench_web.studies.causes import Cause
from runner.executors.base import (
    AGENT,
    STOPPED,
    WORKER_SILENT,
    Capabilities,
    Message,
    OnMessage,
    Outcome,
    ShouldStop,
    Target,
    capabilities_from,
    load_modules,
    probed_tools,
    why_in_guests_alone,
)
from runner.executors.stream import LastWords, follow, signs_of_life
from runner.host import control_groups, swap
from runner.plan import RunPlan
from runner.safety.blockdev import ToolError, run_tool

_PYTHON = (sys.executable, "-I", str(AGENT))
# setpriv: the kernel ends unshare when the worker dies, however it dies.
_ISOLATED = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"),
)
END_WAIT_S = 60
UNENDING = "The benchmark cannot be ended: it waits in the kernel for a device or server."


class LocalExecutor:
    """See the module."""

    name = "local"

    def __init__(self) -> None:
        self.is_root = os.geteuid() == 0

    def probe(self) -> Capabilities:
        try:
            if self.is_root:
                load_modules()
            message = self._environment()
        except (ToolError, ValueError, KeyError) as error:
            return Capabilities(is_usable=False, reason=f"The agent cannot be started: {error}")
        return capabilities_from(
            message,
            where="on the worker's host",
            filesystem_reason=self._filesystem_reason(),
        )

    def problem(self) -> str:
        return ""

    def _filesystem_reason(self) -> str:
        if not self.is_root:
            return (
                "The worker does not run as root and cannot make file systems: use a directory "
                "LUN, or start the worker as root."
            )
        for tool in ("unshare", "setpriv"):
            try:
                run_tool(tool, "--version")
            except ToolError as error:
                return f"{error} Install the package util-linux."
        try:
            run_tool(*_ISOLATED, "true")
        except ToolError as error:
            # In a chroot, for one, whose root is not a mount point.
            return f"{error}. A run needs namespaces of its own: make / a mount point."
        return ""

    def _environment(self) -> Message:
        output = run_tool(*_PYTHON, "--probe", *probed_tools())
        message: Message = json.loads(output.splitlines()[-1])
        return message

    def device_path(self, lun: str, device: str, role: str = "data", place: int = 0) -> str:
        return device

    def lun_problem(self, kind: str) -> str:
        if kind not in ("directory", "mount") and not self.is_root:
            return "The worker does not run as root, and can use directories and mounts only."
        return ""

    def limit_problems(self) -> dict[str, str]:
        return {
            "rates": control_groups.problem({"read_bps": 1}, None),
            "memory": control_groups.problem({}, 1),
            "swap": control_groups.swap_problem(),
        }

    def facts(self) -> list[list[str]]:
        return []

    def run(
        self, plan: RunPlan, target: Target, on_message: OnMessage, should_stop: ShouldStop
    ) -> Outcome:
        has_group = self.is_root and plan.is_on_device
        problem = control_groups.problem(plan.rates, plan.memory_bytes)
        if (plan.rates or plan.memory_bytes) and not has_group:
            problem = problem or control_groups.NOT_IN_FOLDERS
        if problem:
            return Outcome(1, reason=problem, cause=Cause.REFUSED)
        if why_not := why_in_guests_alone(bool(plan.layers), plan.network, plan.is_pool):
            # Of a host they would be made beside its own arrays, volumes, mappings and exports.
            return Outcome(1, reason=why_not, cause=Cause.REFUSED)
        if should_stop():
            return Outcome(None, was_stopped=True)
        try:
            with contextlib.ExitStack() as stack:
                groups: list[str] = []
                if has_group:
                    group = control_groups.of_run(
                        *(target.worker, target.run_id, _devices(target)),
                        *(plan.rates, plan.memory_bytes),
                    )
                    groups = stack.enter_context(group)
                if plan.memory_bytes and not control_groups.limits_swap(groups):
                    swap.report_limit(on_message)
                outcome = self._run(replace(plan, control_groups=groups), on_message, should_stop)
                if outcome.exit_code != 0 and control_groups.has_killed(groups):
                    reason = control_groups.out_of_memory(plan.memory_bytes)
                    return replace(outcome, reason=reason, cause=Cause.BENCHMARK)
                return outcome
        except control_groups.GroupProblem as error:
            return Outcome(1, reason=str(error), cause=Cause.REFUSED)

    def _run(self, plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        isolated = _ISOLATED if plan.is_on_device else ()
        process = subprocess.Popen(
            [*isolated, *_PYTHON],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            start_new_session=True,
        )
        assert process.stdin is not None
        stdin = process.stdin

        def stop() -> None:
            # unshare does not pass signals on; the end of its standard input tells the agent.
            with contextlib.suppress(OSError):
                stdin.close()

        def write(data: bytes) -> None:
            stdin.write(data)
            stdin.flush()

        last_words = LastWords(on_message)
        try:
            with contextlib.suppress(BrokenPipeError):
                stdin.write(plan.to_json().encode() + b"\n")
                stdin.flush()
            with signs_of_life(write, plan.worker_silence_s):
                was_stopped = follow(
                    _chunks(process), last_words.take, should_stop, stop=stop, kill=process.kill
                )
            try:
                exit_code = process.wait(END_WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                exit_code = process.wait(END_WAIT_S)
        except subprocess.TimeoutExpired:
            # In a call of the kernel that nothing ends: on a mount whose server is gone.
            return Outcome(None, True, UNENDING, Cause.KILLED)
        finally:
            stop()
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_WAIT_S)
        if exit_code == WORKER_SILENT:
            return Outcome(exit_code, was_stopped, cause=Cause.SILENT)
        is_killed = exit_code < 0 or exit_code > 128 or (exit_code == STOPPED and not was_stopped)
        reason = "" if is_killed else last_words.reason
        if not reason and exit_code not in (0, 1, STOPPED):
            reason = _unexpected_end(exit_code)
        cause = Cause.KILLED if is_killed else Cause.BENCHMARK
        return Outcome(exit_code, was_stopped, reason, cause)

    def clean_up(self, worker: str) -> list[str]:
        """Control groups alone: the kernel removed processes and mounts with the worker."""
        return control_groups.remove_leftovers(worker) if self.is_root else []


def _devices(target: Target) -> list[str]:
    """Those of all its LUNs."""
    devices = [target.device, target.journal_device, *(device for _, device in target.members)]
    return [device for device in devices if device]


def _unexpected_end(exit_code: int) -> str:
    if exit_code < 0 or exit_code > 128:
        number = -exit_code if exit_code < 0 else exit_code - 128
        return f"The agent was killed from outside (signal {number})."
    return f"The agent ended with exit status {exit_code}."


def _chunks(process: "subprocess.Popen[bytes]") -> Iterator[tuple[str, bytes]]:
    """What the process prints, as it comes, until both its streams are closed."""
    chunks: queue.Queue[tuple[str, bytes]] = queue.Queue(100)

    def read(name: str, stream: IO[bytes]) -> None:
        while data := os.read(stream.fileno(), 65536):
            chunks.put((name, data))
        chunks.put((name, b""))

    for name, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
        assert stream is not None
        threading.Thread(target=read, args=(name, stream), daemon=True).start()
    still_open = 2
    while still_open:
        name, data = chunks.get()
        if data:
            yield name, data
        else:
            still_open -= 1
