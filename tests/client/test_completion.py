"""``fsbench completion``, and what the shells ask of it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.client.conftest import Command


def completed(folder: Path, shell: str, *words: str) -> set[str]:
    """What the script of the shell is offered for the last word."""
    line = " ".join(("fsbench", *words))
    variables = {
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_FSBENCH_COMPLETE": f"complete_{shell}",
    }
    done = Command("", folder)(**variables)
    text = done.stdout.replace("_arguments '*: :((", "").replace("))'", "")
    return {line.split("\t")[0].partition(":")[0].strip('"') for line in text.splitlines() if line}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_knows_commands_options_and_choices(tmp_path: Path, shell: str) -> None:
    assert {"show", "log", "retry", "permalinks"} <= completed(tmp_path, shell, "")
    assert completed(tmp_path, shell, "dr") == {"drain"}
    assert {"list", "create", "show"} <= completed(tmp_path, shell, "permalinks", "")
    assert {"hardware", "runs"} <= completed(tmp_path, shell, "list", "")
    assert "--if-new" in completed(tmp_path, shell, "import", "--i")
    assert completed(tmp_path, shell, "check", "--along", "") == {"date", "kernel"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_of_its_shell(tmp_path: Path, shell: str) -> None:
    assert shutil.which(shell), f"install.sh installs {shell}"
    done = Command("", tmp_path)("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"complete_{shell}" in done.stdout
    subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)
