"""Look at the dependencies: pins, licences, yanked versions, known vulnerabilities.

``--offline`` leaves out what needs the network. Exit status 1: a problem, or a failed check.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
FILES = ("requirements.txt", "requirements-dev.txt")
# Words of licences that let fsbench, which is under the BSD licence, use and ship with the package.
# LGPL and MPL are about changes to the package itself, of which there are none.
ACCEPTED = (
    *("0BSD", "Apache", "BSD", "CNRI-Python", "HPND", "ISC", "LGPL", "Lesser General Public"),
    *("MIT", "MPL", "Mozilla", "PSF", "Python Software Foundation", "Python-2.0"),
    *("Public Domain", "Unlicense", "Zlib", "ZPL"),
)


def pins(file: Path) -> dict[str, str]:
    """{name: version} of a locked file."""
    return dict(re.findall(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^ \\]+)", file.read_text(), re.M))


def pinned_versions() -> dict[str, str]:
    """{name: version} of all locked files."""
    return {name: version for file in FILES for name, version in pins(ROOT / file).items()}


def wrong_versions() -> Iterator[str]:
    """What is installed and is not the pin, or contradicts what another package wants."""
    pins = pinned_versions()
    for name, version in pins.items():
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            yield f"{name} {version} is pinned and not installed"
            continue
        if installed.version != version:
            yield f"{name} is {installed.version}, pinned is {version}"
        for text in installed.requires or []:
            needed = Requirement(text)
            if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
                continue
            pin = pins.get(canonicalize_name(needed.name))
            if pin is not None and not needed.specifier.contains(pin, prereleases=True):
                yield f"{name} wants {text}, pinned is {pin}"


def licence(package: Distribution) -> str:
    """What the package says of itself: the expression, the classifiers, or the old text."""
    parts = package.metadata.get_all("License-Expression") or []
    parts += [
        line.rpartition(" :: ")[2]
        for line in package.metadata.get_all("Classifier") or []
        if line.startswith("License :: ")
    ]
    if not parts:
        parts = [(package.metadata.get("License") or "").strip().partition("\n")[0]]
    return "; ".join(parts)


def licences() -> dict[str, str]:
    """{name: licence} of every pinned package."""
    return {name: licence(distribution(name)) for name in sorted(pinned_versions())}


def unknown_licences() -> Iterator[str]:
    for name, sentence in licences().items():
        if not any(word.lower() in sentence.lower() for word in ACCEPTED):
            yield f"{name}: “{sentence or 'says nothing'}” is not in the list of tools/audit.py"


def yanked_pins() -> Iterator[str]:
    """Pins that the index took back, or does not have with these hashes."""
    for file in FILES:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"),
                *("--disable-pip-version-check", "--ignore-installed", "--no-deps"),
                *("--require-hashes", "--report", "-", "-r", str(ROOT / file)),
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            yield f"{file} could not be looked up in the package index: {last}"
            continue
        for package in json.loads(done.stdout)["install"]:
            if package.get("is_yanked"):
                name = package["metadata"]["name"]
                yield f"{name} {package['metadata']['version']} was yanked from the index"


def vulnerabilities() -> Iterator[str]:
    """What pip-audit finds. It is installed for the purpose (Makefile), not a dependency."""
    tool = ROOT / ".cache" / "audit" / "bin" / "pip-audit"
    if not tool.is_file():
        yield "pip-audit is not installed: run `make audit`, where a package index can be reached"
        return
    for file in FILES:
        try:
            done = subprocess.run(
                [
                    str(tool),
                    "--strict",
                    "--disable-pip",
                    "--require-hashes",
                    "--requirement",
                    str(ROOT / file),
                ],
                capture_output=True,
                text=True,
                timeout=600,
            )
        except subprocess.TimeoutExpired:
            yield f"{file}: pip-audit got no answer from the vulnerability service"
            continue
        if done.returncode:
            parts = (done.stdout + done.stderr).strip().splitlines()
            yield f"{file}: pip-audit: " + "\n    ".join(parts[-20:])


def main() -> int:
    parser = argparse.ArgumentParser(description="Look at the dependencies.")
    parser.add_argument("--offline", action="store_true", help="only what needs nobody else")
    parser.add_argument("--licences", action="store_true", help="list every package's licence")
    options = parser.parse_args()
    if options.licences:
        for name, sentence in licences().items():
            print(f"{name}: {sentence}")
        return 0
    checks = {"installed versions": wrong_versions, "licences": unknown_licences}
    others = {"yanked versions": yanked_pins, "known vulnerabilities": vulnerabilities}
    failed = False
    for name, check in (checks if options.offline else checks | others).items():
        lines = list(check())
        failed = failed or bool(lines)
        print(f"{'FAIL' if lines else 'ok  '} {name}")
        for line in lines:
            print(f"  {line}")
    if options.offline:
        print(f"Not looked for: {', '.join(others)}.")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
