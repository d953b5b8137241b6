"""Disk safety can be reviewed alone: few modules, and the standard library."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
LOADED = """
import sys
before = set(sys.modules)
import runner.safety.checks
for name in sorted(set(sys.modules) - before):
    if name.partition(".")[0] not in sys.stdlib_module_names:
        print(name)
"""


def test_the_checks_load_nothing_but_their_own_folder() -> None:
    # -S leaves site-packages out.
    done = subprocess.run(
        [sys.executable, "-S", "-c", LOADED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = done.stdout.split()
    assert "runner.safety.checks" in names
    assert len(names) <= 22
    assert [name for name in names if not f"{name}.".startswith("runner.safety.")] == ["runner"]


def test_every_check_stands_in_the_readme() -> None:
    text = (ROOT / "runner/safety/README.md").read_text()
    source = (ROOT / "runner/safety/checks.py").read_text()
    yielded = {line.split('"')[1] for line in source.splitlines() if line.startswith("    yield")}
    yielded |= {line.split('"')[1] for line in source.splitlines() if '        yield "' in line}
    assert len(yielded) >= 11
    assert [name for name in yielded | {"listed", "confirmed"} if f"| {name} |" not in text] == []
