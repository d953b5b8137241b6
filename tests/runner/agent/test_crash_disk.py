"""Tools of the crash points: none that is missing or slow accuses a file system."""

import pytest

from runner.agent.crash.disk import DiskError, must, run


def test_a_tool_says_how_it_ended() -> None:
    assert run(["sh", "-c", "echo first; echo last; exit 3"]) == (3, "last")
    with pytest.raises(DiskError, match="3"):
        must(["sh", "-c", "exit 3"])


@pytest.mark.parametrize("argv", [["sleep", "20"], ["fsbench-no-such-tool"]])
def test_what_cannot_end_is_no_verdict(argv: list[str]) -> None:
    with pytest.raises(DiskError, match=argv[0]):
        run(argv, 0.2)
