"""Each shell command in the documents is one that its program accepts."""

import re
import shlex
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import typer
import yaml
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.core.management.base import CommandError

from fsbench_web.api.main import api
from tests.client.conftest import CLIENT

ROOT = Path(settings.BASE_DIR)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Languages of blocks that hold no commands. "text" lines that begin with "$ " do.
NO_SHELL = {"python", "toml", "yaml", "json", "dockerfile", "ini", "text"}
# Programs of the system: the options that the documents use.
SYSTEM: dict[str, set[str]] = {
    **{name: set() for name in ("cd", "chmod", "exit", "export", "mkdir", "printf", "umask")},
    **{name: set() for name in ("apt-get", "cat", "chown", "cp", "git", "gh", "install", "pip")},
    "curl": {"--json", "--silent", "--show-error"},
    "journalctl": {"--unit", "--follow"},
    "systemctl": {"--now"},
    "useradd": {"--system", "--home-dir"},
}
FIRST_WORDS = {
    "apt-get": {"install"},
    "gh": {"pr"},
    "git": {"clone"},
    "pip": {"install"},
    "systemctl": {"enable", "restart"},
}
COMPOSE = {
    "up": {"--detach", "--no-build"},
    "logs": set(),
    "ps": {"--quiet"},
    "exec": set(),
}
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def commands(text: str) -> Iterator[list[str]]:
    """The words of each simple command of a shell block; redirections are left out."""
    text = re.sub(r"(<<'?(\w+)'?.*)\n(?s:.*?)\n\2$", r"\1", text, flags=re.M)
    text = re.sub(r"(?m)(^|\s)# .*$", "", text).replace("\\\n", " ")
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|<>\n")
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t", "", True
    words: list[str] = []
    tokens = iter(lexer)
    for token in tokens:
        if token[0] in "<>":
            next(tokens)
        elif set(token) <= set(";&|\n"):
            yield words
            words = []
        elif words or not re.match(r"\w+=", token):
            words.append(token)
    yield words


def documented() -> list[Any]:
    found = {}
    for path in DOCUMENTS:
        text = path.read_text()
        blocks = [(m[1], m[2]) for m in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)]
        assert {language for language, _ in blocks} <= NO_SHELL | {"sh"}, path.name
        shell = [block for language, block in blocks if language == "sh"]
        shell += re.findall(r"^\$ (.+)$", text, re.M)
        shell += re.findall(r"^ {4,}((?:\./)?manage\.py .+)$", text, re.M)
        for words in (words for block in shell for words in commands(block) if words):
            found[f"{path.stem}: {' '.join(words)[:70]}"] = words
    assert len(found) > 70
    return [pytest.param(words, id=name) for name, words in found.items()]


def check(words: list[str]) -> None:
    program, rest = words[0], words[1:]
    inner = CHECKS.get(program.removeprefix("./"))
    if inner:
        inner(rest)
    elif re.fullmatch(r"(\.venv/bin/)?python3?", program):
        python(rest)
    elif program in SYSTEM:
        assert {word for word in rest if word.startswith("--")} <= SYSTEM[program]
        assert program not in FIRST_WORDS or rest[0] in FIRST_WORDS[program]
        units = [word for word in rest if program == "systemctl" and word.startswith("fsbench-")]
        assert all(list((ROOT / "deploy/systemd").glob(f"{unit}*")) for unit in units)
        if program == "curl":
            curl(rest)
    else:
        script = (ROOT / program).read_text()
        assert all(re.search(rf"{word}\b", script) for word in rest if word.startswith("--"))


def make(words: list[str]) -> None:
    assert words
    for target in words:
        assert re.search(rf"^{target}(?: |:)", (ROOT / "Makefile").read_text(), re.M), target


def manage(words: list[str]) -> None:
    command = load_command_class(get_commands()[words[0]], words[0])
    command.create_parser("manage.py", words[0]).parse_args(words[1:])


def python(words: list[str]) -> None:
    if words[0] == "manage.py":
        return manage(words[1:])
    assert words[0] == "-m"
    assert find_spec(words[1])
    return check(words[2:]) if words[1].endswith("bare_ci") and words[2] != "sh" else None


def docker(words: list[str]) -> None:
    if words[0] == "cp":
        return
    verb, rest = words[1], words[2:]
    options = {word for word in rest if word.startswith("--")}
    names = [word for word in rest if word not in options]
    assert words[0] == "compose"
    assert options <= COMPOSE[verb]
    assert not names or names[0] in SERVICES
    if verb == "exec":
        check(names[1:])


def fsbench(words: list[str]) -> None:
    from fsbench import cli

    command: Any = typer.main.get_command(cli.app)
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    context = command.context_class(command)
    _, left, order = command.make_parser(context).parse_args(words)
    assert not left
    assert {each.name for each in command.params if each.required} <= {each.name for each in order}


def curl(words: list[str]) -> None:
    """The address of a call to fsbench is in the API's description, with its parameters."""
    (address,) = [word for word in words if "/api/v1/" in word or "_API_" in word] or [""]
    if "_API_" in address:  # GitHub's and GitLab's
        return
    parts, paths = urlsplit(address), api.get_openapi_schema()["paths"]
    path = parts.path[parts.path.index("/api/v1/") :]
    names = [name for name in paths if re.fullmatch(re.sub(r"{\w+}", "[^/]+", name), path)]
    method = "post" if {"-F", "-d", "--json"} & set(words) else "get"
    call = next(paths[name][method] for name in names if method in paths[name])
    assert parse_qs(parts.query).keys() <= {each["name"] for each in call.get("parameters", ())}


CHECKS: dict[str, Callable[[list[str]], None]] = {
    "make": make,
    "manage.py": manage,
    "deploy/manage": manage,
    "docker": docker,
    "fsbench": fsbench,
    "sudo": check,
    "sh": check,
}


@pytest.mark.parametrize("words", documented())
def test_its_program_accepts_it(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(CLIENT))
    check(words)


REFUSALS = (AssertionError, CommandError, LookupError, OSError, StopIteration)
REFUSALS += (typer.BadParameter.__base__,)  # UsageError, which typer does not export


@pytest.mark.parametrize(
    "text",
    [
        *(
            "make nothing",
            "manage.py luns chekc",
            "manage.py backup --keptas a b",
            "fsbench shwo 1",
        ),
        *("fsbench check --baselin a", "fsbench submit a b", "docker compose up --detach wen"),
        *("curl http://localhost/api/v1/delta", "curl 'http://localhost/api/v1/deltas?stud=a'"),
        *("deploy/restor a", "deploy/restore --overwrit a", "systemctl enable fsbench-wen", "rm a"),
        *("python3 -m tests.nothing", "make run | sudo make nothing"),
    ],
)
def test_a_wrong_command_is_found(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(CLIENT))
    *_, words = commands(text)
    with pytest.raises(REFUSALS):
        check(words)
