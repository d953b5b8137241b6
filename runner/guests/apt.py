"""apt with lists of its own: which kernels the host's mirrors have, and their files.

The host's lists, caches and packages stay as they are, and it needs no root.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

UPDATE_LIMIT_S = 300.0


DOWNLOAD_LIMIT_S = 3600.0


_LOOK_EVERY_S = 0.2


# The packages that depend on the kernel of today, by what calls itself so in /etc/os-release.
_CURRENT = {"debian": "linux-image-amd64", "ubuntu": "linux-image-generic"}


# Backports are Debian's own; apt takes a package of theirs where it is asked for by name.
_ORIGINS = ("Debian", "Debian Backports", "Ubuntu")


ARCHITECTURE = "amd64"


_KERNEL = re.compile(r"linux-image-[0-9]")


_NOT_BOOTED = ("-dbg", "-dbgsym", "-unsigned")


# Debian's packages from 7.1 on, and Ubuntu's: the one of the kernel's name depends on these.
_PART = re.compile(r"linux-(?:binary|modules|modules-extra|base)-[0-9]\S*")


# What is smaller depends on a kernel, or signs one, and holds none.
_LEAST_BYTES = 8 * 2**20


_ENVIRONMENT = {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}


_SAFE = (
    *("-o", "APT::Get::AllowUnauthenticated=false"),
    *("-o", "Acquire::AllowInsecureRepositories=false"),
    *("-o", "Acquire::AllowDowngradeToInsecureRepositories=false"),
    *("-o", "Acquire::Languages=none", "-o", "Acquire::Retries=2"),
    *("-o", "Acquire::http::Timeout=30", "-o", "Acquire::https::Timeout=30"),
    *("-o", "APT::Update::Error-Mode=any"),
)


OnProgress = Callable[[str, float | None], None]
"""What is done now, and the share of it that is done (0 to 1), if that is known."""


class FetchError(Exception):
    """No package was fetched; the text says why, and what to do."""


@dataclass(frozen=True)
class KernelPackage:
    """A package that apt has, the ``parts`` it is split into, and the size of all their files."""

    name: str
    version: str
    size_bytes: int
    parts: tuple[str, ...] = ()


class Apt:
    """apt with lists in ``work``, an empty folder. ``keeps_on`` False: end. Raises FetchError."""

    def __init__(self, work: Path, keeps_on: Callable[[], bool] = lambda: True) -> None:
        self._work, self._keeps_on = work, keeps_on
        if shutil.which("apt-get") is None:
            raise FetchError(
                "This host has no apt: put a kernel's package into the folder by hand "
                "(docs/guest.md says which)."
            )
        # apt downloads as a user of its own where it may.
        work.chmod(0o755)
        for name in ("lists/partial", "cache/archives/partial"):
            (work / name).mkdir(parents=True)
        self._sources = work / "sources.list"
        self._private = (
            *("-o", f"Dir::Etc::sourcelist={self._sources}", "-o", "Dir::Etc::sourceparts=-"),
            *("-o", f"Dir::State::lists={work / 'lists'}"),
            *("-o", f"Dir::Cache={work / 'cache'}"),
            *("-o", f"APT::Architecture={ARCHITECTURE}", *_SAFE),
        )

    def update(self) -> None:
        """Read the distribution's lists again."""
        # Also where nobody ever read the lists: apt then knows its sources, and no release. What
        # it works out for the answer is kept with us, not with the host's.
        ours = ("-o", f"Dir::Cache={self._work / 'cache'}")
        self._write_sources(self._targets((*ours, "--no-release-info")))
        self._run(["apt-get", *self._private, "update"], UPDATE_LIMIT_S)
        # Now it is known whose they are: another's kernel is not what was asked for.
        self._write_sources(
            [target for target in self._targets(self._private) if target.get("Origin") in _ORIGINS]
        )

    def sources(self, suite: str, components: str) -> list[str]:
        """Lines of sources.list(5): the host's own mirrors of one release of Debian, for another
        root of that release. After ``update``.
        """
        return list(
            dict.fromkeys(
                f"deb {target['Repo-URI']} {target['Release']} {components}"
                for target in self._targets(self._private)
                if target.get("Origin") in _ORIGINS
                and re.fullmatch(rf"{re.escape(suite)}(-updates|-security)?", target["Release"])
            )
        )

    def current(self) -> KernelPackage:
        """The distribution's kernel of today."""
        name = _CURRENT.get(distribution(), _CURRENT["debian"])
        return self.package(name)

    def package(self, name: str) -> KernelPackage:
        """The package that holds the kernel: of this name, or what one of this name depends on."""
        seen: list[str] = []
        while name not in seen:
            seen.append(name)
            depends = self._run(["apt-cache", *self._private, "depends", "--", name])
            below = [
                dependency for dependency in _dependencies(depends) if _KERNEL.match(dependency)
            ]
            if not below:
                break
            name = below[0]
        packages = self._packages_named([name])
        if not packages:
            raise FetchError(f"apt has no package {name}.")
        return packages[0]

    def packages(self) -> list[KernelPackage]:
        """All kernels that apt has, the newest first."""
        listed = self._run(
            ["apt-cache", *self._private, "search", "--names-only", f"^{_KERNEL.pattern}"]
        )
        names = [line.split(" ")[0] for line in listed.splitlines()]
        names = [name for name in names if name and not name.endswith(_NOT_BOOTED)]
        if not names:
            return []
        packages = [
            package for package in self._packages_named(names) if package.size_bytes >= _LEAST_BYTES
        ]
        return sorted(packages, key=lambda package: _natural(package.name), reverse=True)

    def _packages_named(self, names: Sequence[str]) -> list[KernelPackage]:
        """Those that apt has of these names, with what each is split into."""
        stanzas = self._stanzas_of(names)
        parts = {stanza["Package"]: _parts(stanza.get("Depends", "")) for stanza in stanzas}
        extra = {_extra(name) for part_names in parts.values() for name in part_names} - {""}
        below = {name for part_names in parts.values() for name in part_names} | extra
        sizes = {
            stanza["Package"]: int(stanza["Size"]) for stanza in self._stanzas_of(sorted(below))
        }
        parts = {
            kernel: tuple(
                dict.fromkeys((*names, *(_extra(name) for name in names if _extra(name) in sizes)))
            )
            for kernel, names in parts.items()
        }
        return [
            KernelPackage(
                stanza["Package"],
                stanza["Version"],
                int(stanza["Size"]) + sum(sizes.get(name, 0) for name in parts[stanza["Package"]]),
                parts[stanza["Package"]],
            )
            for stanza in stanzas
        ]

    def _stanzas_of(self, names: Sequence[str]) -> list[dict[str, str]]:
        if not names:
            return []
        show = ["apt-cache", *self._private, "show", "--no-all-versions", "--", *names]
        return _stanzas(self._run(show))

    def download(self, package: KernelPackage, on_progress: OnProgress) -> Path:
        """The package's file, checked by apt; of a split kernel a folder with its parts."""
        into = self._work / "package"
        into.mkdir()
        into.chmod(0o755)

        def on_wait() -> None:
            done = sum(file.stat().st_size for file in into.iterdir() if file.is_file())
            on_progress(f"Downloading {package.name}", min(1.0, done / max(1, package.size_bytes)))

        names = (package.name, *package.parts)
        command = ["apt-get", *self._private, "download", "--", *names]
        self._run(command, DOWNLOAD_LIMIT_S, cwd=into, on_wait=on_wait)
        files = sorted(into.glob("*.deb"))
        if len(files) != len(names) or any(file.is_symlink() for file in files):
            raise FetchError(f"apt gave no file of {package.name}.")
        return into if package.parts else files[0]

    def _targets(self, options: Sequence[str]) -> list[Mapping[str, str]]:
        """The lists of binary packages, of the host's own sources or of ours."""
        output = self._run(["apt-get", *options, "indextargets", "Created-By: Packages"])
        return [stanza for stanza in _stanzas(output) if stanza.get("Component") == "main"]

    def _write_sources(self, targets: Iterable[Mapping[str, str]]) -> None:
        lines = dict.fromkeys(map(_source, targets))
        if not lines:
            raise FetchError(
                "This host has no mirror of Debian or Ubuntu among apt's sources: put a kernel's "
                "package into the folder by hand (docs/guest.md says which)."
            )
        self._sources.write_text("".join(f"{line}\n" for line in lines))

    def _run(
        self,
        argv: Sequence[str],
        limit_s: float = 60.0,
        *,
        cwd: Path | None = None,
        on_wait: Callable[[], None] = lambda: None,
    ) -> str:
        """What the program printed. It ends with this one, and nothing is read by a shell."""
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                argv,
                cwd=cwd or self._work,
                env={**os.environ, **_ENVIRONMENT},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
            deadline = time.monotonic() + limit_s
            try:
                while (code := _wait(process)) is None:
                    on_wait()
                    if not self._keeps_on():
                        raise FetchError("The worker ended meanwhile: ask again.")
                    if time.monotonic() > deadline:
                        raise FetchError(
                            f"apt did not end within {limit_s:.0f} s: is its mirror away?"
                        )
            finally:
                _end(process)
            output.seek(0)
            errors.seek(0)
            if code:
                raise FetchError(f"apt cannot get it: {_reason_in(errors.read())}")
            return output.read()


def distribution() -> str:
    """``ID`` of os-release(5), or that of what it is like."""
    try:
        text = Path("/etc/os-release").read_text(encoding="utf-8")
    except OSError:
        return ""
    release = dict(re.findall(r'^(ID|ID_LIKE)="?([^"\n]*)"?$', text, re.M))
    names = [release.get("ID", ""), *release.get("ID_LIKE", "").split()]
    return next((name for name in names if name in _CURRENT), "")


def _source(target: Mapping[str, str]) -> str:
    """A line of sources.list(5)."""
    key = target.get("Signed-By", "")
    signed_by = (
        f"[signed-by={key}] " if key.startswith("/") and not re.search(r"[\s\]]", key) else ""
    )
    return f"deb {signed_by}{target['Repo-URI']} {target['Release']} main"


def _dependencies(text: str) -> list[str]:
    return re.findall(r"^ *Depends: (\S+)$", text, re.M)


def _parts(depends: str) -> tuple[str, ...]:
    """What a kernel's package is split into: those it depends on that are of a kernel's version."""
    words = [
        dependency.split("(")[0].split("|")[0].split(":")[0].strip()
        for dependency in depends.split(",")
    ]
    return tuple(dict.fromkeys(word for word in words if _PART.fullmatch(word)))


def _extra(part: str) -> str:
    """Ubuntu's other half of a kernel's modules, JFS, F2FS and ReiserFS among them: the kernel's
    package does not depend on it, and newer kernels have none.
    """
    modules = re.fullmatch(r"linux-modules-([0-9]\S*)", part)
    return f"linux-modules-extra-{modules[1]}" if modules else ""


def _stanzas(text: str) -> list[dict[str, str]]:
    """Fields of deb822(5), those of one line."""
    stanzas = [
        dict(re.findall(r"^([A-Za-z0-9-]+): ?(.*)$", part, re.M)) for part in text.split("\n\n")
    ]
    return [stanza for stanza in stanzas if stanza]


def _natural(name: str) -> list[tuple[int, str]]:
    """6.1.0-9 before 6.1.0-10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def _wait(process: "subprocess.Popen[bytes]") -> int | None:
    try:
        return process.wait(_LOOK_EVERY_S)
    except subprocess.TimeoutExpired:
        return None


def _end(process: "subprocess.Popen[bytes]") -> None:
    """With what it started: apt's methods are processes of their own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _reason_in(text: str) -> str:
    """apt's own errors, without its marks."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line[2:].strip() for line in lines if line.startswith(("E:", "Err:"))]
    reason = " ".join(dict.fromkeys(errors)) or (lines[-1] if lines else "it did not say why.")
    return reason[:400]
