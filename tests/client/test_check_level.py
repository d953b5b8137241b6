"""``check --along --level``: how sure a change has to be before a pipeline fails for it."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from tests.client.conftest import CLIENT, Command
from tests.client.test_along_many import row
from tests.client.test_over_time import Line, check, line

__all__ = ["line"]


@pytest.fixture
def over_time(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(CLIENT))
    return importlib.import_module("fsbench.over_time")


@pytest.mark.parametrize(("level", "result"), [(0.05, "fell"), (0.03, "no change")])
def test_a_change_counts_below_the_level(over_time: Any, level: float, result: str) -> None:
    [judged] = over_time.with_correction([row("a", (0.04, True))], level)
    assert (judged["result"], judged["q_value"]) == (result, 0.04)


def test_it_is_the_level_of_all_lines_together(over_time: Any) -> None:
    rows = [row("a", (0.004, True)), row("b"), row("c")]
    judged = over_time.with_correction(rows, 0.01)
    assert [one["result"] for one in judged] == ["no change"] * 3
    assert "is not sure among 3" in judged[0]["reason"]


def test_a_pipeline_names_it(fsbench: Command, line: Line) -> None:
    line(100, 100, 80, 80)
    code, printed, _ = check(fsbench, "--level", "0.01")
    assert (code, "1 got slower." in printed) == (1, True)
    code, printed, _ = check(fsbench, "--level", "1e-300")
    assert (code, "Nothing got slower." in printed) == (0, True)
    assert "is not sure among 1" in printed


@pytest.mark.parametrize("level", ["0", "0.06", "-1", "nan", "much"])
def test_a_level_that_is_none_is_refused(fsbench: Command, tmp_path: Path, level: str) -> None:
    done = fsbench("check", "--study", "x", "--along", "date", f"--level={level}")
    assert done.returncode == 2
    assert f"{level} is not a level" in done.stderr


def test_a_baseline_is_judged_by_the_site(fsbench: Command) -> None:
    done = fsbench("check", "--study", "x", "--baseline", "ext4", "--level", "0.01")
    assert done.returncode == 2
    assert "--level needs --along" in done.stderr
