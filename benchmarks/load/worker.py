"""A worker process with the tests' fake executor; its settings are in the environment."""

import os
import sys
import time


def work() -> None:
    """Serve the host's LUN until told to stop."""
    import django

    django.setup()
    from runner.config import read_config
    from runner.executors.base import OnMessage, Outcome, ShouldStop
    from runner.executors.fake import FakeExecutor, message, succeed
    from runner.plan import RunPlan
    from runner.service import serve
    from runner.worker import Host

    takes_s = float(os.environ["FSBENCH_LOAD_RUN_TAKES_S"])

    def slowly(plan: RunPlan, on_message: OnMessage, should_stop: ShouldStop) -> Outcome:
        until = time.monotonic() + takes_s
        while time.monotonic() < until and not should_stop():
            on_message(message("log", stream="stderr", text="a fake at work"))
            time.sleep(0.1)
        return succeed(plan, on_message, should_stop)

    sys.exit(serve(Host(read_config(), FakeExecutor(slowly), "benchmarks.load")))


if __name__ == "__main__":
    work()
