"""docs/client.md names every command, every option and every exit code that there is."""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from tests.client.conftest import CLIENT


@pytest.fixture(scope="module")
def page() -> str:
    return (Path(settings.BASE_DIR) / "docs" / "client.md").read_text()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[str, argparse.ArgumentParser]:
    """Each command that the help shows, by its words."""
    monkeypatch.syspath_prepend(str(CLIENT))
    for name in [name for name in sys.modules if name.split(".")[0] == "fsbench"]:
        monkeypatch.delitem(sys.modules, name)
    from fsbench.commands import arguments

    return dict(_commands(arguments(), ""))


def _commands(
    parser: argparse.ArgumentParser, words: str
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for entry in action._choices_actions:
                name = f"{words} {entry.dest}".strip()
                yield name, action.choices[entry.dest]
                yield from _commands(action.choices[entry.dest], name)


def test_every_exit_code_is_named(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(CLIENT))
    from fsbench import exits

    codes = [str(code) for name, code in vars(exits).items() if name.isupper()]
    assert re.findall(r"^\| (\d+) \|", page, re.MULTILINE) == codes


def test_every_command_is_named(page: str, shown: dict[str, argparse.ArgumentParser]) -> None:
    assert len(shown) > 25
    words = set(re.findall(r"[a-z]+", " ".join(re.findall(r"`([^`\n]+)`", page))))
    assert {word for name in shown for word in name.split()} - words == set()


def test_every_option_is_named(page: str, shown: dict[str, argparse.ArgumentParser]) -> None:
    taken = {
        option
        for parser in shown.values()
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        for option in action.option_strings
        if option.startswith("--")
    }
    assert len(taken) > 60
    assert taken - set(re.findall(r"--[a-z-]+", page)) - {"--help"} == set()


def test_what_is_named_is_there(page: str, shown: dict[str, argparse.ArgumentParser]) -> None:
    taken = {option for parser in shown.values() for option in parser._option_string_actions}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page)) - taken == set()
