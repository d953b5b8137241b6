"""What another process shows only with much work: an importer that fails, Ctrl-D, many lines."""

import argparse
import getpass
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

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

    def get(self, *asked: object) -> dict[str, Any]:
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
    given = dict.fromkeys((*account.FIELDS, "if_new", "strict", "ignore_columns", "preview"))
    options = argparse.Namespace(**given, paths=[table])
    assert account.import_files(Answering(failed), options) == 3
    assert "The importer failed: x." in capsys.readouterr().err


def test_the_end_of_input_is_wrong_use_and_no_fall(
    module: Module, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def ended(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr(getpass, "getpass", ended)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert module("cli").main(["login", "--url", "http://127.0.0.1:9"]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(("count", "is_said"), [(99, False), (100, True)])
def test_a_list_of_lines_that_may_be_cut_says_so(
    module: Module, capsys: Any, count: int, is_said: bool
) -> None:
    over_time = module("over_time")
    options = argparse.Namespace(study=["lab"])
    assert len(over_time.lines(Answering({"lines": [{}] * count}), options)) == count
    assert ("not looked at" in capsys.readouterr().err) == is_said
