"""A worker process with the tests' fake executor; its settings are in the environment."""

import os
import sys
import time

from runner.executors.base import OnMessage, Outcome, ShouldStop
from runner.plan import RunPlan
from tests.runner.fake import Script, message, succeed


def script_of(takes_s: float) -> Script:
    """A fake agent that prints ten lines a second for so long, and then succeeds."""

    def slowly(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        until = time.monotonic() + takes_s
        while time.monotonic() < until and not should_stop():
            on_message(message("log", stream="stderr", text="a fake at work"))
            time.sleep(0.1)
        return succeed(plan, on_message, should_stop)

    return slowly


def work() -> None:
    """Serve the host's LUN until told to stop."""
    import django

    django.setup()
    from runner.config import read_config
    from runner.service import serve
    from runner.worker import Host
    from tests.runner.fake import FakeExecutor

    script = script_of(float(os.environ["FSBENCH_LOAD_RUN_TAKES_S"]))
    sys.exit(serve(Host(read_config(), FakeExecutor(script), "benchmarks.load")))


if __name__ == "__main__":
    work()
