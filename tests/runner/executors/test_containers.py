"""What a daemon's answers become in sentences."""

import pytest
from docker.errors import APIError

from runner.executors.containers import error_line


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (APIError("404", explanation="No such image: x.\nTry again."), "No such image: x"),
        (OSError("away"), "away"),
        (OSError(), "OSError"),
    ],
)
def test_an_error_is_one_line_that_a_sentence_can_end_with(error: Exception, line: str) -> None:
    assert error_line(error) == line
