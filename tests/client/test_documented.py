"""docs/client.md names every command, every option and every exit code that there is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from django.conf import settings

from tests.client.conftest import CLIENT


@pytest.fixture(scope="module")
def page() -> str:
    return (Path(settings.BASE_DIR) / "docs" / "client.md").read_text()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Each command that the help shows, by its words."""
    monkeypatch.syspath_prepend(str(CLIENT))
    from fsbench import cli

    return dict(_commands(typer.main.get_command(cli.app), ""))


def _commands(group: Any, words: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if not command.hidden:
            yield f"{words} {name}".strip(), command
            if hasattr(command, "commands"):
                yield from _commands(command, f"{words} {name}".strip())


def _options(command: Any, *, is_hidden: bool) -> set[str]:
    return {
        option
        for parameter in command.params
        if parameter.param_type_name == "option" and (is_hidden or not parameter.hidden)
        for option in parameter.opts
        if option.startswith("--")
    }


def test_every_exit_code_is_named(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(CLIENT))
    from fsbench import exits

    codes = [str(code) for name, code in vars(exits).items() if name.isupper()]
    assert re.findall(r"^\| (\d+) \|", page, re.MULTILINE) == codes


def test_every_command_is_named(page: str, shown: dict[str, Any]) -> None:
    assert len(shown) > 25
    words = set(re.findall(r"[a-z]+", " ".join(re.findall(r"`([^`\n]+)`", page))))
    assert {word for name in shown for word in name.split()} - words == set()


def test_every_option_is_named(page: str, shown: dict[str, Any]) -> None:
    taken = {option for command in shown.values() for option in _options(command, is_hidden=False)}
    assert len(taken) > 60
    assert taken - set(re.findall(r"--[a-z-]+", page)) - {"--help"} == set()


def test_what_is_named_is_there(page: str, shown: dict[str, Any]) -> None:
    taken = {option for command in shown.values() for option in _options(command, is_hidden=True)}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page)) - taken - {"--help"} == set()
