"""Build the client with the core of the site in it, as the package ``fsbench.core``.

In a checkout the client imports ``fsbench_web.core``. A wheel must not bring a second package of
that name, so the build copies the core and writes every import of it as ``fsbench.core``. A source
archive holds the copy already.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
CORE = HERE.parent / "fsbench_web" / "core"
NOT_COMPARED = ("workloads", "traces", "explanation.py", "repeating.py")
"""Parts of the core that need the runner or that no comparison of files calls."""


def is_carried(module: Path) -> bool:
    """Whether a module of the core is a part of the client."""
    return not set(module.relative_to(CORE).parts) & {*NOT_COMPARED, "__pycache__"}


def carry(target: Path) -> list[str]:
    """Copy the core into the package at ``target``, and name it there; returns the new files."""
    if not CORE.is_dir():  # a source archive, which has it in the package
        if not (HERE / "fsbench" / "core").is_dir():
            raise SystemExit(f"{CORE} is missing: build the client in a whole checkout.")
        return []
    written = []
    shutil.rmtree(target / "core", ignore_errors=True)  # of an earlier build
    for module in sorted(CORE.rglob("*.py")):
        if is_carried(module):
            copy = target / "core" / module.relative_to(CORE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(module.read_text("utf-8"), "utf-8")
            written.append(str(copy))
    shutil.copyfile(HERE.parent / "LICENSE", target / "LICENSE")
    written.append(str(target / "LICENSE"))
    for module in sorted(target.rglob("*.py")):
        text = module.read_text("utf-8")
        if "fsbench_web.core" in text:
            module.write_text(text.replace("fsbench_web.core", "fsbench.core"), "utf-8")
    return written


class BuildWithCore(build_py):
    """Modules of the client and of the core."""

    def run(self) -> None:
        """Copy what setuptools copies, then the core."""
        super().run()
        self.carried = [] if self.editable_mode else carry(Path(self.build_lib) / "fsbench")

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """All files of the wheel."""
        return [*super().get_outputs(include_bytecode), *getattr(self, "carried", [])]


class SourcesWithCore(sdist):
    """A source archive from which a wheel is built without the checkout."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Copy the sources, then the core into their package."""
        super().make_release_tree(base_dir, files)
        for module in (Path(base_dir) / "fsbench").rglob("*.py"):
            # setuptools links files to the checkout, which must not be written to.
            text = module.read_bytes()
            module.unlink()
            module.write_bytes(text)
        carry(Path(base_dir) / "fsbench")


if __name__ == "__main__":
    setup(cmdclass={"build_py": BuildWithCore, "sdist": SourcesWithCore})
