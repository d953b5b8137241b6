"""What the benchmark image is made of: its packages, and one digest over all that goes into it.

The digest is a label of the image (``LABEL``), so that a worker tells an image of this checkout's
files from another one. Python's standard library alone: ``runner/image/build`` calls it too.

    python3 -m runner.image.inputs digest | packages | optional-packages
"""

import hashlib
import sys
from pathlib import Path

from fsbench_web.core import requirements

ROOT = Path(__file__).resolve().parent.parent.parent
LABEL = "fsbench.inputs"
# How it was built, so that it is built in the same way again.
KERNEL_SOURCE_LABEL = "fsbench.kernel-source"
SUITE_LABEL = "fsbench.suite"


def context_files(root: Path = ROOT) -> list[Path]:
    """The files that the Docker daemon is sent, sorted."""
    agent = root / "runner/agent"
    programs = [*agent.rglob("*.py"), *agent.rglob("*.sh")]
    return [root / "runner/image/Dockerfile", root / "runner/__init__.py", *sorted(programs)]


def digest(root: Path = ROOT) -> str:
    """Changes with every file and package that goes into the image; 16 hexadecimal digits."""
    checksum = hashlib.sha256()
    for path in context_files(root):
        content = path.read_bytes()
        checksum.update(f"{path.relative_to(root)} {len(content)}\n".encode() + content)
    checksum.update(
        " ".join([*requirements.image_packages(), "/", *requirements.optional_packages()]).encode()
    )
    return checksum.hexdigest()[:16]


def main(arguments: list[str]) -> int:
    parts = {
        "digest": digest,
        "packages": lambda: " ".join(requirements.image_packages()),
        "optional-packages": lambda: " ".join(requirements.optional_packages()),
    }
    if len(arguments) != 1 or arguments[0] not in parts:
        print(f"inputs.py: say one of {', '.join(parts)}", file=sys.stderr)
        return 2
    print(parts[arguments[0]]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
