"""What another process shows only with much work: an importer that fails, Ctrl-D, many lines."""

import argparse
import getpass
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fsbench.client import Client

from tests.client.conftest import CLIENT

Module = Callable[[str], ModuleType]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Module:
    monkeypatch.syspath_prepend(str(CLIENT))
    return lambda name: importlib.import_module(f"fsbench.{name}")


class Answering:
    """A client whose site answers this, whatever it is asked."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer

    def get(self, *arguments: object) -> dict[str, Any]:
        return self.answer

    def upload(self, *sent: object) -> dict[str, Any]:
        return {"id": 7, "state": "accepted"}


def test_an_import_says_how_the_importer_failed(
    module: Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    account = module("account")
    monkeypatch.setattr(account, "POLL_S", 0)
    table = tmp_path / "1.csv"
    table.touch()
    failed = {"state": "failed", "problems": [], "report": {"reason": "The importer failed: x."}}
    defaults = dict.fromkeys((*account.FIELDS, "if_new", "strict", "ignore_columns", "preview"))
    options = argparse.Namespace(**defaults, paths=[table])
    assert account.import_files(Answering(failed), options) == 3
    assert "The importer failed: x." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("left_out", "flags", "says"),
    [
        (2, [], "2 emulated series are left out"),
        (1, [], "1 emulated series is left out"),
        (0, ["emulated"], "Results flagged emulated ran in software"),
        (0, [], ""),
    ],
)
@pytest.mark.parametrize("command", ["deltas", "check"])
def test_it_says_what_was_emulated(
    module: Module, capsys: Any, command: str, left_out: int, flags: list[str], says: str
) -> None:
    """As the pages of the site do: how fast it was is no speed."""
    rows = [
        dict.fromkeys(("configuration", "delta1_percent", "delta2_percent", "verdict"))
        | {"contender": name, "is_baseline": name == "ext4", "flags": flags, "best": False}
        | {"score": 1.0, "runs": 2, "change_percent": 5.0, "change_verdict": {"status": "tie"}}
        for name in ("ext4", "xfs")
    ]
    table = {"test": "write", "category": "mean", "unit": "s", "lower_is_better": True}
    comparison = {"by": "filesystem", "baseline": "ext4", "tables": [table | {"rows": rows}]}
    comparing = module("comparing")
    options = dict.fromkeys(
        (*comparing.FILTERS, "along", "contender", "since", "level", "rule", "margin")
    )
    options |= {"json": False, "baseline": "ext4", "allow_mixed": False}
    answering = Answering(comparison | ({"emulated_left_out": left_out} if left_out else {}))
    assert getattr(comparing, command)(answering, argparse.Namespace(**options)) == 0
    err = capsys.readouterr().err
    assert says in err
    assert bool(err) == bool(says)


def test_a_check_says_what_is_known_of_the_numbers_that_it_judged(
    module: Module, capsys: Any
) -> None:
    """That another run was active meanwhile may be all that differs; the exit code stays."""
    flags = {"ext4": [], "xfs": ["contended", "drifted"], "jfs": ["outlier"]}
    rows = [
        {"contender": name, "is_baseline": name == "ext4", "flags": some, "score": 1.0}
        | {"change_percent": -20.0, "change_verdict": {"status": "significant"}}
        for name, some in flags.items()
    ]
    table = {"test": "write", "category": "mean", "unit": "s", "lower_is_better": True}
    comparison = {"by": "filesystem", "baseline": "ext4", "tables": [table | {"rows": rows}]}
    comparing = module("comparing")
    options = dict.fromkeys((*comparing.FILTERS, "along", "since", "level", "rule", "margin"))
    options |= {"json": False, "baseline": "ext4", "allow_mixed": False, "contender": ["xfs"]}
    assert comparing.check(Answering(comparison), argparse.Namespace(**options)) == 1
    assert capsys.readouterr().err == "xfs is flagged: contended, drifted.\n"
    assert comparing.check(Answering(comparison), argparse.Namespace(**options | {"json": True}))
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["flags"] == ["contended", "drifted"]


@pytest.mark.parametrize(
    ("results", "says"),
    [
        ([("significant", -5.0, [])], "Nothing fell significantly by 10% or more against ext4; 1"),
        ([("significant", 5.0, [])], "Nothing fell significantly against ext4."),
        (
            [("significant", -50.0, []), ("significant", -5.0, [])],
            "1 fell significantly against ext4, and 1 more by less than 10%.",
        ),
        ([("unknown", 5.0, ["one_run"])], "the reasons above: each side needs two finished runs"),
        (
            [("unknown", 5.0, ["published"])],
            "1 cannot be judged against ext4, for the reasons above.\n",
        ),
    ],
)
def test_the_conclusion_of_a_check_is_of_what_was_judged(
    module: Module, capsys: Any, results: list[tuple[str, float, list[str]]], says: str
) -> None:
    """What fell by less than the margin fell all the same, and runs decide not everything."""
    rows = [{"contender": "ext4", "is_baseline": True, "flags": [], "score": 1.0}] + [
        {"contender": f"c{place}", "is_baseline": False, "flags": [], "score": 1.0}
        | {"change_percent": change, "change_verdict": {"status": status, "reasons": reasons}}
        for place, (status, change, reasons) in enumerate(results)
    ]
    table = {"test": "write", "category": "mean", "unit": "s", "lower_is_better": True}
    comparison = {"by": "filesystem", "baseline": "ext4", "tables": [table | {"rows": rows}]}
    comparing = module("comparing")
    options = dict.fromkeys(
        (*comparing.FILTERS, "along", "contender", "since", "level", "rule", "margin")
    )
    options |= {"json": False, "baseline": "ext4", "allow_mixed": False}
    comparing.check(Answering(comparison), argparse.Namespace(**options))
    assert says in capsys.readouterr().out


def test_a_little_scatter_is_not_none(module: Module, capsys: Any) -> None:
    score = {"test": "write", "category": "mean", "value": 1.0, "unit": "s", "repeats": 5}
    run = dict.fromkeys(
        ("reason", "study", "workload", "repeat", "kernel", "distribution", "sweep", "retry_of"),
        "",
    ) | dict.fromkeys(("started_at", "ended_at", "lun", "journal", "cancel_requested"))
    run |= {"id": 7, "state": "done", "created_at": "2026-03-02T00:00:00Z", "artefacts": []}
    run |= {"configuration": {"options": {}, "label": "ext4", "scheduler": ""}}
    run |= {"links": {"page": "/runs/7/"}, "site": "x"}
    run["scores"] = [score | {"half_width_percent": 0.03, "flags": []}]
    client = Answering(run)
    client.site = argparse.Namespace(url="http://lab.example")  # type: ignore[attr-defined]
    options = argparse.Namespace(job=False, number=7, json=False)
    assert module("showing").show(client, options) == 0
    assert "< 0.1%" in capsys.readouterr().out


def test_the_end_of_input_is_wrong_use_and_no_fall(
    module: Module, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def ended(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr(getpass, "getpass", ended)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert module("cli").main(["login", "--url", "http://127.0.0.1:9"]) == 2
    assert "Traceback" not in capsys.readouterr().err


class Listing(Client):
    """A client whose site has so many lines, of which ``fell`` has got slower."""

    def __init__(self, count: int, tests: int = 1, fell: int = -1) -> None:
        self.rows = [{"series": 1 + n, "configuration": f"c{n}"} for n in range(count)]
        self.tests, self.fell = tests, fell

    def get(self, path: str, query: object = (), **parameters: Any) -> dict[str, Any]:
        if path == "/history/lines":
            part = self.rows[parameters["offset"] : parameters["offset"] + parameters["limit"]]
            return {"total": len(self.rows), "lines": part}
        change = {
            **{"to": "2026-03-02", "p_value": 1e-9, "is_slower": True, "change_percent": -20.0},
            "sentence": "20% slower since 2026-03-02",
        }
        return {
            **{"tests": {f"t{n}": ["total_average"] for n in range(self.tests)}, "unit": "KB/s"},
            **{"category": "total_average", "test": parameters.get("test", "t0"), "problem": ""},
            **{"points": [{"name": f"2026-03-0{n}", "values": [1, 1]} for n in (1, 2)]},
            "changes": [change] if parameters["series"] == 1 + self.fell else [],
            "along": parameters["along"],
        }


def _along(**more: Any) -> argparse.Namespace:
    options = {
        "study": ["lab"],
        "along": "date",
        "margin": 10,
        "since": "",
        "level": None,
        "json": False,
    }
    return argparse.Namespace(**{**options, "test": [], "category": [], **more})


def _checked(over_time: ModuleType, site: Listing, **more: Any) -> int:
    for row in site.rows:
        row.update(workload="w", lun="l", hardware="h", filesystem="ext4")
    return int(over_time.check(site, _along(**more), ()))


@pytest.mark.parametrize("place", [0, 99, 100, 500, 1200])
def test_a_check_speaks_for_every_line(module: Module, capsys: Any, place: int) -> None:
    over_time = module("over_time")
    assert _checked(over_time, Listing(1201)) == 0
    assert _checked(over_time, Listing(1201, fell=place)) == 1
    assert f"c{place}, t0" in capsys.readouterr().out


def test_lines_that_came_in_another_order_are_no_list(module: Module) -> None:
    class Shuffled(Listing):
        def get(self, path: str, query: object = (), **parameters: Any) -> dict[str, Any]:
            answer = super().get(path, query, **parameters)
            self.rows.insert(0, self.rows.pop())
            return answer

    with pytest.raises(ValueError, match="try again"):
        module("over_time").lines(Shuffled(600), _along())
    with pytest.raises(ValueError, match="10,001 lines"):
        module("over_time").lines(Listing(10_001), _along())


def test_tests_that_are_not_named_leave_no_verdict(module: Module, capsys: Any) -> None:
    over_time = module("over_time")
    assert _checked(over_time, Listing(1, tests=200)) == 4
    output = capsys.readouterr()
    assert "with --test" in output.err
    assert "None of the checked lines" in output.out
    assert _checked(over_time, Listing(1, tests=200, fell=0)) == 1
    assert _checked(over_time, Listing(1, tests=200), test=["t0"]) == 0


@pytest.mark.parametrize("count", [1, 2])
def test_the_best_of_one_is_not_called_the_best(module: Module, count: int) -> None:
    rows = [
        dict.fromkeys(("configuration", "delta1_percent", "delta2_percent", "verdict"))
        | {"contender": name, "flags": [], "best": name == "ext4", "score": 1.0, "runs": 2}
        for name in ("ext4", "xfs")[:count]
    ]
    table = {"test": "write", "category": "mean", "unit": "s", "lower_is_better": True}
    lines = list(module("comparing").table_lines(table | {"rows": rows}, "filesystem", False))
    assert ("ext4 *" in lines[1]) == (count == 2)
    assert ("  best" in lines[1].splitlines()[1]) == (count == 2)
