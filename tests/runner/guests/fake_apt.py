"""An apt that answers at once with a small kernel's package, and keeps how it was called."""

import json
import stat
import sys
from pathlib import Path

from tests.runner.guests.test_kernels import deb, files

NAME, VERSION = "linux-image-6.1.0-99-amd64", "1:6.1.9-1"
_PROGRAM = """#!{python}
import json, os, pathlib, shutil, sys, time
here = pathlib.Path({here!r})
said = json.loads((here / "answers.json").read_text())
argv = sys.argv[1:]
with (here / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps([pathlib.Path(sys.argv[0]).name, *argv]) + "\\n")
words = [one for before, one in zip(["", *argv], argv) if "-o" not in (before, one)]
words = [one for one in words if one != "--no-release-info"]
what = words[0]
if what in said.get("fails", dict()):
    print("W: some warning\\nE: " + said["fails"][what], file=sys.stderr)
    sys.exit(100)
if what in said.get("hangs", []):
    time.sleep(600)
if what == "indextargets":
    for origin, uri in said["sources"]:
        print("Origin: %s\\nComponent: main\\nRepo-URI: %s" % (origin, uri))
        print("Release: bookworm\\nSigned-By: /k.gpg\\n")
elif what == "depends" and words[-1] in ("linux-image-amd64", "linux-image-generic"):
    print("linux-image-amd64\\n  Depends: {name}\\n")
elif what == "show":
    for name in words[words.index("--") + 1:]:
        if name == "{name}":
            print("Package: %s\\nVersion: {version}\\nSize: %s" % (name, said["size"]))
            print("Depends: %s\\n" % said["depends"])
        elif name in said["depends"] or name in said.get("has", []):
            print("Package: %s\\nVersion: {version}\\nSize: 1048576\\n" % name)
elif what == "search":
    print("{name} - Linux 6.1\\n{name}-dbg - its symbols")
elif what == "download":
    for name in words[words.index("--") + 1:]:
        file = said.get("file", name + "_1%3a6.1.9-1_amd64.deb")
        if name not in said.get("lacks", []):
            shutil.copy(here / "package.deb", file)
"""


class FakeApt:
    """``folder`` goes to the front of PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        program = _PROGRAM.replace("{here!r}", repr(str(folder)))
        for mark, text in (("python", sys.executable), ("name", NAME), ("version", VERSION)):
            program = program.replace(f"{{{mark}}}", text)
        for name in ("apt-get", "apt-cache"):
            path = folder / name
            path.write_text(program)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        deb(folder / "package.deb", files())
        self.answers()

    def answers(self, **changes: object) -> None:
        answers = {
            "sources": [["Debian", "http://mirror/debian/"]],
            "depends": "kmod, linux-initramfs-tool",
            "size": (self.folder / "package.deb").stat().st_size,
        } | changes
        (self.folder / "answers.json").write_text(json.dumps(answers))

    @property
    def calls(self) -> list[list[str]]:
        path = self.folder / "calls.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
