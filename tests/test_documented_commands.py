"""Each shell command in the documents is one that its program accepts, and runs.

Those that cannot run on a machine of the tests are in ELSEWHERE, with the test that runs them or
the reason why none does.
"""

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
from tests.documented_site import WORKER, Installation, installation

ROOT = Path(settings.BASE_DIR)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Languages of blocks that hold no commands. "text" lines that begin with "$ " do.
NO_SHELL = {"sql", "python", "toml", "yaml", "json", "dockerfile", "ini", "text"}
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


# Of inline code that names a program or a command of it, and is no whole command.
MENTIONS = {"manage.py", "manage.py COMMAND", "fsbench", "make targz-pkg", "make bzImage"}
MENTIONS |= {
    f"fsbench {name}" for name in ("check", "check --github", "compare", "import", "submit")
}
# What a reader writes for the words in capitals; numbers are those of a run that is done.
VALUES = {
    **{"PATH...": "results", "FILE": "job.yaml", "DOCUMENT": "job.yaml", "FORMAT": "csv"},
    **{"USERNAME": "ada", "NAME": "ada", "LUN": "lun0", "WORKER": WORKER, "HARDWARE": "array"},
    **{"B": "ext4", "N": "1"},
}
VALUES_OF = {"drain": {"NAME": WORKER}, "close_account": {"NAME": "eve"}}
# What makes a command whole that the documents shorten.
ADDED = {
    "curl ...": ("-H", "Authorization: Bearer $TOKEN", "-F", "study=Sheet"),
    "fsbench check": ("--study", "nightly"),
    "fsbench submit job.yaml": ("--yes-erase", "lun0"),
}


def documented() -> list[Any]:
    found = {}
    for path in DOCUMENTS:
        text = path.read_text()
        blocks = [(m[1], m[2]) for m in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)]
        assert {language for language, _ in blocks} <= NO_SHELL | {"sh"}, path.name
        shell = [block for language, block in blocks if language == "sh"]
        shell += re.findall(r"^\$ (.+)$", text, re.M)
        shell += re.findall(r"^ {4,}((?:\./)?manage\.py .+)$", text, re.M)
        inline = re.findall(r"`((?:\./)?(?:manage\.py|fsbench|make)(?: [^`\n]+)?)`", text)
        shell += [code for code in inline if code.removeprefix("./") not in MENTIONS]
        for words in (words for block in shell for words in commands(block) if words):
            study = {"S": f"{path.stem} {words[0]}"}
            values = VALUES | study | VALUES_OF.get(words[min(1, len(words) - 1)], {})
            found[f"{path.stem}: {' '.join(words)[:70]}"] = [values.get(one, one) for one in words]
    assert len(found) > 110
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


# Where a command runs that is not run here: in another test, or nowhere for this reason.
ELSEWHERE = {
    "make run": "tests/first_start/test_readme.py",
    "make test": "it is these tests",
    "make format": "it writes into the checkout",
    "make lint": "tests/test_make_test.py",
    "make lock": "it asks the package index for new versions",
    "make audit": "it asks the package index for new versions",
    "make clean": "it removes the environment of these tests",
    "make image": "tests/services/image.py",
    "make tools": "tests/test_install_tools.py",
    "pip install": "tests/client/test_installed.py",
    "docker": "tests/deploy/test_stack.py",
    "sudo deploy/build": "tests/deploy/test_debian_base.py",
    "deploy/": "tests/deploy/test_systemd.py",
    "systemctl": "tests/deploy/test_systemd.py",
    "journalctl": "tests/deploy/test_systemd.py",
    "sh deploy/environment.sh": "tests/deploy/test_environment.py",
    ".venv/bin/python -m compileall": "tests/deploy/test_environment.py",
    ".ci/run": "it runs these tests in a root of its own",
    "python3 -m tests.services.bare_ci": "it runs these tests in a root of its own",
    **dict.fromkeys(
        ("apt-get", "useradd", "install", "cp deploy/systemd", "chmod 600 /etc"),
        "it changes the machine",
    ),
    **dict.fromkeys(
        ("cd", "exit", "export", "umask", "printf", "cat"), "it is a word of the shell"
    ),
    "git clone": "its address is the reader's",
    "gh": "it writes to GitHub",
    "manage.py guest_kernel": "tests/runner/guests/test_kernels.py",
    "manage.py serve": "tests/documented_site.py",
    "manage.py worker": "tests/documented_site.py",
    "manage.py importer": "tests/imports/test_large.py",
    "manage.py migrate": "the page says not to use it",
    "manage.py createsuperuser": "tests/documented_site.py",
    "manage.py changepassword": "tests/accounts/test_host_commands.py",
    "fsbench watches confirm": "tests/client/test_over_time.py",
    "fsbench cancel": "tests/client/test_run.py",
    "fsbench pause": "tests/client/test_steering.py",
}


def elsewhere(words: list[str]) -> str:
    """The beginning of the command in ELSEWHERE; "" if it runs here."""
    text = " ".join(words).removeprefix("./")
    return next((name for name in ELSEWHERE if f"{text} ".startswith(name)), "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation(tmp_path_factory.mktemp("site")) as site:
        yield site


def here() -> list[Any]:
    """Each command that runs here, once for all documents."""
    found = {tuple(each.values[0]): each for each in reversed(documented())}
    return [each for words, each in reversed(found.items()) if not elsewhere(list(words))]


@pytest.mark.root
@pytest.mark.parametrize("words", here())
def test_it_runs(site: Installation, words: list[str]) -> None:
    text = " ".join(words)
    more, stdin = {}, ""
    if text.startswith("fsbench submit job.yaml"):
        luns = [words[place + 1] for place, word in enumerate(words) if word == "--yes-erase"]
        site.write_job("Written", *luns or ["lun0"])
    elif text.startswith("manage.py submit_job"):
        site.write_job("By hand", "lun0")
    elif "source=" in text:  # into a study that has the numbers of the first two
        site.copy("ext4/repeat-3", "first")
        site.copy("xfs/repeat-3", "second")
    elif "/triggers/7/" in text:
        site.make_trigger()
        words = [word.replace("/7/", "/1/") for word in words]
    elif words[1:2] == ["luns"]:
        site.settle()
    elif words[1:2] == ["restore"]:
        more = {"FSBENCH_DATA": str(site.folder / "restored")}
    elif text == "fsbench login":
        stdin = site.variables["TOKEN"]
    for beginning, added in ADDED.items():
        if text.startswith(beginning) and added[0] not in words:
            words = [*words, *added]
    typed = [site.typed(word) for word in words if word != "..."]
    if words[0] == "curl" and "-f" not in words:
        typed.insert(1, "--fail-with-body")
    site.run(*typed, more=more, stdin=stdin)
    if words[1:2] == ["drain"]:
        site.run("fsbench", "resume", "--worker", WORKER)  # later commands need it


def test_what_runs_elsewhere_is_documented_and_the_tests_are_there() -> None:
    found = {elsewhere(each.values[0]) for each in documented()} - {""}
    assert found == set(ELSEWHERE)
    tests = [where for where in ELSEWHERE.values() if where.startswith("tests/")]
    assert all((ROOT / where).exists() for where in tests)
