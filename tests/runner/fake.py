"""An executor without a disk, for tests of everything above executors.

It is no choice of FSBENCH_EXECUTOR, and its environment says that it is a fake: what it prints has
IOzone's form and comes from a formula. It never stands in for a measurement.
"""

import time
from collections.abc import Callable, Iterable

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.core import workloads
from fsbench_web.core.workloads.own import ALLOWED_PREFIX
from runner.executors.base import (
    Capabilities,
    Message,
    OnMessage,
    Outcome,
    ShouldStop,
    Target,
)
from runner.host import allowed_programs
from runner.plan import RunPlan

KERNEL = "0.0-fake"
DISTRIBUTION = "Fake: no disk was measured"

Script = Callable[[RunPlan, OnMessage, ShouldStop], Outcome]


class FakeExecutor:
    """``script`` plays the agent: ``succeed`` unless the test gives another."""

    name = "fake"

    def __init__(
        self, script: Script | None = None, capabilities: Capabilities | None = None
    ) -> None:
        self.script = script or succeed
        self.capabilities = capabilities or all_capabilities()
        self.plans: list[RunPlan] = []

    def probe(self) -> Capabilities:
        return self.capabilities

    def problem(self) -> str:
        return ""

    def device_path(self, lun: str, device: str, role: str = "data", place: int = 0) -> str:
        return f"/dev/fsbench/{lun}"

    def lun_problem(self, kind: str) -> str:
        return ""

    def limit_problems(self) -> dict[str, str]:
        return {"rates": "", "memory": "", "swap": ""}

    def facts(self) -> list[list[str]]:
        return []

    def run(
        self, plan: RunPlan, target: Target, on_message: OnMessage, should_stop: ShouldStop
    ) -> Outcome:
        self.plans.append(plan)
        return self.script(plan, on_message, should_stop)

    def clean_up(self, worker: str) -> list[str]:
        return []


def all_capabilities() -> Capabilities:
    """Every file system and IOzone."""
    tool = {"usable": True, "version": "0.0", "path": "", "reason": "", "package": ""}
    return Capabilities(
        KERNEL,
        DISTRIBUTION,
        {slug: {"usable": True, "reason": ""} for slug in FILESYSTEMS},
        dict.fromkeys(
            [
                *workloads.tools(),
                *(f"{ALLOWED_PREFIX}{name}" for name in allowed_programs.allowed_names()),
            ],
            tool,
        ),
    )


def message(kind: str, **values: object) -> Message:
    return {"type": kind, "at": time.time(), **values}


def environment() -> Message:
    facts = {"Fake": [["Warning", "No disk was measured: the numbers come from a formula."]]}
    return message("environment", kernel=KERNEL, distribution=DISTRIBUTION, facts=facts)


def iozone_text(cells: Iterable[tuple[int, int]]) -> str:
    """IOzone's text output with rates from a formula; (record KB, file KB) each."""
    rows = [
        f"{file_kb:>16}{record_kb:>8}"
        + "".join(f"{1000 * (test + 1) + file_kb + record_kb:>9}" for test in range(6))
        + " " * 64
        for record_kb, file_kb in cells
    ]
    return "\n".join([_HEAD, *rows, "", "iozone test complete.", ""])


def succeed(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
    """A run in which everything goes well."""
    on_message(environment())
    for step in plan.steps:
        on_message(message("phase", phase=step.phase))
        if step.save_output_as:
            text = iozone_text(plan.workload.cells())
            for line in text.splitlines():
                on_message(message("log", stream="stdout", text=line))
            on_message(message("output", name=step.save_output_as, part=0, is_last=True, text=text))
        on_message(
            message(
                "command",
                phase=step.phase,
                argv=step.argv,
                exit_code=0,
                duration_s=float(len(step.phase)),
                stdout=f"{step.phase} by a fake\n",
                stderr="",
            )
        )
    on_message(message("done", ok=True))
    return Outcome(0)


def wait_to_be_stopped(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
    """A benchmark that runs until it is told to stop (or for a minute)."""
    on_message(environment())
    on_message(message("phase", phase="benchmark"))
    deadline = time.monotonic() + 60
    while not should_stop() and time.monotonic() < deadline:
        time.sleep(0.02)
    on_message(message("error", reason="The run was stopped."))
    on_message(message("done", ok=False))
    return Outcome(3, was_stopped=True)


_HEAD = """\
\tIozone: Performance Test of File I/O
\t        Version $Revision: 3.489 $
\t\tCompiled for 64 bit mode.
\t\tBuild: fake

\tRun began: Thu Jan  1 00:00:00 1970

\tAuto Mode
\tCommand line used: iozone -a
\tOutput is in kBytes/sec
\tTime Resolution = 0.000001 seconds.
\tProcessor cache size set to 1024 kBytes.
\tProcessor cache line size set to 32 bytes.
\tFile stride size set to 17 * record size.
"""
_HEAD += (
    " " * 62 + "random    random     bkwd    record    stride" + " " * 36 + "\n"
    "              kB  reclen    write  rewrite    read    reread    read     write     read"
    "   rewrite      read   fwrite frewrite    fread  freread"
)
