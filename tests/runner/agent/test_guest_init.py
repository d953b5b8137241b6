"""The agent of a guest: forked, not started, and the first process of a namespace."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import os, signal, sys, time
from runner.agent.guest import guest_init

def work():
    plan = sys.stdin.readline().strip()
    print(os.getpid(), plan, flush=True)
    BODY

agent = guest_init.Agent(work)
"""


def ran(body: str, then: str) -> "subprocess.CompletedProcess[str]":
    """A process that has an agent; no thread, no process of these tests is in it."""
    program = PROGRAM.replace("BODY", body) + then
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120
    )


def printed_words(body: str, then: str) -> list[str]:
    done = ran(body, then)
    assert done.stderr == ""
    return done.stdout.split()


WRITTEN = """
agent.stdin.write(b"plan\\n")
agent.stdin.flush()
print(agent.stdout.readline().decode())
"""


@pytest.mark.root
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("assert sys.stdin.read() == ''; return 3", "3"),
        ("signal.signal(signal.SIGTERM, lambda *_: os._exit(7)); sys.stdin.read(); "
         "os.kill(1, signal.SIGTERM); time.sleep(60)", "7"),
    ],
)  # fmt: skip
def test_it_is_the_first_of_its_namespace_and_its_status_is_told(body: str, code: str) -> None:
    then = WRITTEN + "agent.stdin.close(); print(agent.wait(), os.getpid() == 1)"
    assert printed_words(body, then) == ["1", "plan", code, "False"]


@pytest.mark.root
def test_it_ends_with_its_parent() -> None:
    """Its end of the pipe is closed when it is gone, and not before."""
    kill = "os.kill(agent._process, signal.SIGKILL); print(agent.stdout.read(), agent.wait())"
    assert printed_words("time.sleep(600)", WRITTEN + kill) == ["1", "plan", "b''", "137"]


def test_without_a_plan_there_is_none() -> None:
    then = "agent.stdin.close(); print(agent.stdout.read(), agent.wait())"
    assert printed_words("return 5", then) == ["b''", "0"]


@pytest.mark.root
def test_what_goes_wrong_in_it_is_on_the_console() -> None:
    done = ran("return 1 // 0", WRITTEN + "print(agent.wait())")
    assert done.stdout.split() == ["1", "plan", "1"]
    assert "ZeroDivisionError" in done.stderr
