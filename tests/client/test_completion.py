"""``fsbench completion``, in the shells that it is for."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.client.conftest import Command

BASH = """
source "$1"
COMP_WORDS=(fsbench "${@:2}")
COMP_CWORD=$#
((COMP_CWORD--))
_fsbench
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compdef() { :; }
compadd() {
  shift
  for word in "$@"; do [[ $word == ${words[CURRENT]}* ]] && print -r -- $word; done
}
_files() { print -r -- *(N); }
source "$1"
words=(fsbench "${@:2}")
CURRENT=$#
_fsbench
"""
FISH = "source $argv[1]; complete -C (string join -- ' ' fsbench $argv[2..])"


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What the command prints, as files; made without any site."""
    folder = tmp_path_factory.mktemp("completion")
    fsbench = Command("", folder)
    scripts = {}
    for shell in ("bash", "zsh", "fish"):
        done = fsbench("completion", shell)
        assert (done.returncode, done.stderr) == (0, "")
        scripts[shell] = folder / f"fsbench.{shell}"
        scripts[shell].write_text(done.stdout)
    (folder / "results").mkdir()
    (folder / "results" / "night.csv").touch()
    return scripts


def completed(texts: dict[str, Path], shell: str, *words: str) -> set[str]:
    program = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell]
    start = {
        "bash": ["bash", "--norc", "-c", program, "bash"],
        "zsh": ["zsh", "-f", "-c", program, "zsh"],
        "fish": ["fish", "--no-config", "-c", program, "--"],
    }[shell]
    done = subprocess.run(
        [*start, str(texts[shell]), *words],
        cwd=texts[shell].parent / "results",
        env={"PATH": "/usr/bin:/bin", "HOME": str(texts[shell].parent), "TERM": "dumb"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) in ((0, ""), (1, "")), done.stderr
    return {line.split("\t")[0] for line in done.stdout.split("\n") if line}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_knows_commands_options_and_choices(texts: dict[str, Path], shell: str) -> None:
    assert shutil.which(shell), f"install.sh installs {shell}"
    assert {"show", "log", "retry", "permalinks"} <= completed(texts, shell, "")
    assert completed(texts, shell, "dr") == {"drain"}
    assert {"list", "create", "show"} <= completed(texts, shell, "permalinks", "")
    assert {"hardware", "runs"} <= completed(texts, shell, "list", "")
    assert "--if-new" in completed(texts, shell, "import", "--i")
    assert completed(texts, shell, "check", "--along", "") == {"date", "kernel"}
    assert "night.csv" in completed(texts, shell, "import", "")
    assert "night.csv" in completed(texts, shell, "whoami", "--ca-file", "")
    # The word of a value is no command.
    assert "--visibility" in completed(texts, shell, "permalinks", "create", "--title", "a", "--v")
