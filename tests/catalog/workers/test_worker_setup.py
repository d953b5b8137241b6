"""What a worker says of its setting up: read where it makes sense, and nothing else of it shown."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsbench_web.catalog.workers.setup import WorkerSetup, worker_setup

SAID: dict[str, Any] = {
    "kind": "image",
    "state": "running",
    "title": "Building the benchmark image",
    "reason": "A Docker daemon answers, and has no image of these files.",
    "problem": "",
    "command": "",
}


def read(**changes: Any) -> WorkerSetup | None:
    return worker_setup({"setup": SAID | changes})


def test_it_is_read_as_announced() -> None:
    assert read() == WorkerSetup(
        "image",
        "running",
        "Building the benchmark image",
        "A Docker daemon answers, and has no image of these files.",
    )
    failed = read(state="failed", problem="apt ended with 100", command="sudo make tools")
    assert failed is not None
    assert (failed.problem, failed.command) == ("apt ended with 100", "sudo make tools")
    assert not failed.is_running
    # Older workers also announce how far they are.
    assert read(share=0.5, remaining_s=30) == read()


@pytest.mark.parametrize(
    "setup",
    [
        None,
        "running",
        [],
        {},
        {**SAID, "kind": "disk"},
        {**SAID, "kind": ["image"]},
        {**SAID, "state": "done"},
        {**SAID, "state": {}},
        {key: value for key, value in SAID.items() if key != "state"},
    ],
)
def test_what_makes_no_sense_is_ignored(setup: object) -> None:
    assert worker_setup({"setup": setup}) is None
    assert worker_setup({}) is None


def test_texts_are_one_bounded_line_of_signs_that_are_seen() -> None:
    setup = read(
        state="failed",
        title="  ",
        reason=7,
        problem="E: \x1b[31mno\u202e space\n\n left " + "x" * 10_000,
        command=None,
    )
    assert setup is not None
    assert setup.title == "Building the benchmark image"
    assert setup.reason == setup.command == ""
    assert setup.problem.startswith("E: [31mno space left xxx")
    assert len(setup.problem) == 600
    assert setup.problem.endswith("…")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from([*SAID, "x"]), inner),
    )
)
def test_nothing_that_is_announced_raises(setup: object) -> None:
    worker_setup({"setup": setup})
    if isinstance(setup, dict):
        worker_setup({"setup": SAID | setup})
