#!/usr/bin/env python3
"""Install what benchmarks need on this machine, through apt: `sudo make tools`.

    install_tools.py [--every-filesystem] [--only] [PACKAGE...] [--if-known PACKAGE...]

It installs the missing programs of workloads, and the mkfs of every file system that this kernel
can mount (``fsbench_web/core/requirements.py``). PACKAGEs come too, with ``--only`` alone. It uses
temporary apt lists, because IOzone is in a component that few machines enable. Standard library
only. Exit status 0, or 1 with the reason on standard error. After SIGTERM dpkg may still finish.
"""

import argparse
import contextlib
import ctypes
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from fsbench_web.core import requirements

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LOCK_FOLDER = Path("/run/fsbench")
POLICY = Path("/usr/sbin/policy-rc.d")
POLICY_MARK = "# of fsbench's installer"
COMPONENTS = {"debian": "main non-free", "ubuntu": "main universe multiverse"}
# What a mirror of the distribution itself ends with, as opposed to a vendor's archive.
OWN_ARCHIVE = re.compile(r"/(debian|debian-security|ubuntu|ubuntu-ports)/?$")
ONE_LINE = re.compile(r"deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(\S.*)")
APT_LOCK_WAIT_S = 600
_libc = ctypes.CDLL(None, use_errno=True)


class InstallError(Exception):
    """Why it does not go on, and what to do: one sentence for a person."""


class InstallStopped(Exception):
    """Somebody ended it."""


class Apt:
    """apt with a source list, lists and a cache of its own below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.is_stopping = self._is_dpkg_at_work = False
        self._child: subprocess.Popen[str] | None = None
        self.unreached = ""
        for name in ("lists/partial", "archives/partial", "parts"):
            (folder / name).mkdir(parents=True)
        # apt downloads as a user without rights.
        folder.chmod(0o755)
        self._options = [
            option
            for key, value in {
                "Dir::Etc::sourcelist": f"{folder}/sources.list",
                "Dir::Etc::sourceparts": f"{folder}/parts",
                "Dir::State::lists": f"{folder}/lists",
                "Dir::Cache::archives": f"{folder}/archives",
                "Dir::Cache::pkgcache": "",
                "Dir::Cache::srcpkgcache": "",
                "DPkg::Lock::Timeout": str(APT_LOCK_WAIT_S),
                "Dpkg::Options::": "--force-confold",
                "Dpkg::Use-Pty": "0",
                "Acquire::Languages": "none",
                "Acquire::Retries": "2",
            }.items()
            for option in ("-o", f"{key}={value}")
        ]

    def update(self) -> None:
        # With mirrors that cannot be reached it warns and succeeds: what was not got is told later,
        # if something of it is wanted.
        output = self._run("apt-get", "update")
        failed = re.search(r"^W: (Failed to fetch .*)", output, re.M)
        self.unreached = failed[1].strip(" .")[:300] if failed else ""

    def installable(self, packages: Sequence[str]) -> set[str]:
        """Those of ``packages`` that can be installed from here."""
        output = self._run("apt-cache", "policy", *packages)
        names = re.findall(r"^(\S+):\n  Installed: .*\n  Candidate: (?!\(none\))", output, re.M)
        return {name.partition(":")[0] for name in names}

    def install(self, packages: Sequence[str]) -> None:
        if any(Path("/var/lib/dpkg/updates").iterdir()):
            # Somebody, or an earlier try, was killed in the middle: apt refuses until this is done.
            self._call(["dpkg", "--configure", "-a", "--force-confold"])
        apt = ("apt-get", "install", "-y", "--no-install-recommends")
        self._run(*apt, "--download-only", *packages)
        self._is_dpkg_at_work = True
        self._run(*apt, *packages)

    def stop(self, number: int, frame: FrameType | None) -> None:
        """dpkg is let finish: a machine with half of a package is worse than a few seconds more."""
        self.is_stopping = True
        self._end_child()

    def _end_child(self) -> None:
        if self._child is not None and not self._is_dpkg_at_work:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, signal.SIGTERM)

    def _run(self, program: str, *arguments: str) -> str:
        return self._call([program, *self._options, *arguments])

    def _call(self, argv: Sequence[str]) -> str:
        if self.is_stopping:
            raise InstallStopped
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            child = self._child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
                # Ctrl-C is for this program, which decides what becomes of dpkg.
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
            if self.is_stopping:  # since the child began, before it had this name
                self._end_child()
            code = child.wait()
            self._child = None
            if self.is_stopping and code:
                raise InstallStopped
            output.seek(0)
            data = output.read()
        if code:
            raise InstallError(_reason_in(data) or f"{argv[0]} ended with exit status {code}.")
        return data


def _end_with_parent() -> None:
    _libc.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _reason_in(text: str) -> str:
    """apt's own words for what went wrong."""
    errors = [line[2:].strip() for line in text.splitlines() if line.startswith("E:")]
    return " ".join(errors or text.strip().splitlines()[-1:])[:600]


def distribution() -> tuple[str, str]:
    """("debian" or "ubuntu", its code name). Raises InstallError for any other system."""
    data: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition("=")
            data[key] = value.strip().strip("\"'")
    for name in (data.get("ID", ""), *data.get("ID_LIKE", "").split()):
        if name in COMPONENTS and shutil.which("apt-get", path=PATH):
            code = data.get("UBUNTU_CODENAME") if name == "ubuntu" else data.get("VERSION_CODENAME")
            return name, code or data.get("VERSION_CODENAME", "")
    raise InstallError(
        f"This is {data.get('PRETTY_NAME') or 'no Linux that is known'}, and neither Debian nor "
        "Ubuntu: install the programs by its own means, or start a Docker daemon."
    )


def source_list(folder: Path, apt_folder: Path = Path("/etc/apt")) -> str:
    """The machine's mirrors with all components. Keys go below ``folder``. Raises InstallError."""
    name, code = distribution()
    lines = set()
    for options, uri, suite, components in _entries(folder, apt_folder):
        is_own = OWN_ARCHIVE.search(uri) or (code and suite.partition("-")[0] == code)
        if is_own and "main" in components.split():
            prefix = f"[{options}] " if options else ""
            lines.add(f"deb {prefix}{uri} {suite} {COMPONENTS[name]}")
    if not lines:
        raise InstallError(
            f"No mirror of {name.title()} is among this machine's apt sources (/etc/apt): add one, "
            "and start again."
        )
    return "\n".join(sorted(lines)) + "\n"


def _entries(folder: Path, apt_folder: Path) -> Iterator[tuple[str, str, str, str]]:
    """(options, URI, suite, components) of every source of binary packages (sources.list(5))."""
    parts = apt_folder / "sources.list.d"
    for path in (apt_folder / "sources.list", *sorted(parts.glob("*.list"))):
        for line in _text(path).splitlines():
            if match := ONE_LINE.match(line.partition("#")[0].strip()):
                yield match[1] or "", match[2], match[3], match[4]
    for path in sorted(parts.glob("*.sources")):
        for number, stanza in enumerate(re.split(r"\n\s*\n", _text(path))):
            yield from _entries_of_stanza(stanza, folder / f"{path.stem}-{number}.asc")


def _entries_of_stanza(stanza: str, key_file: Path) -> Iterator[tuple[str, str, str, str]]:
    fields: dict[str, str] = {}
    last = ""
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1].isspace():
            fields[last] = f"{fields.get(last, '')}\n{line.strip()}"
            continue
        name, _, value = line.partition(":")
        last = name.strip().lower()
        fields[last] = value.strip()
    if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes") == "no":
        return
    options = []
    key = fields.get("signed-by", "").strip()
    if "BEGIN PGP" in key:
        key_file.write_text(re.sub(r"(?m)^\.$", "", key) + "\n", encoding="ascii")
        key = str(key_file)
    for option, value in (
        ("signed-by", key),
        ("arch", ",".join(fields.get("architectures", "").split())),
        ("trusted", fields.get("trusted", "")),
    ):
        if value:
            options.append(f"{option}={value}")
    for uri in fields.get("uris", "").split():
        for suite in fields.get("suites", "").split():
            yield " ".join(options), uri, suite, fields.get("components", "")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


@contextlib.contextmanager
def no_daemon_starts() -> Iterator[None]:
    """Have the distribution start no daemon, for as long as this process lives."""
    if POLICY.exists() and POLICY_MARK not in _text(POLICY):
        yield  # the machine's own
        return
    POLICY.write_text(
        f"#!/bin/sh\n{POLICY_MARK}\nkill -0 {os.getpid()} 2>/dev/null && exit 101\nexit 0\n"
    )
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink(missing_ok=True)


@contextlib.contextmanager
def install_lock() -> Iterator[None]:
    """One installation on a host, and none while a run is being measured (runner.safety.locks)."""
    LOCK_FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (LOCK_FOLDER / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for a run that is being measured, or another installation ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def missing_packages(every_filesystem: bool) -> list[str]:
    """The packages of tools that this machine lacks."""
    mounted = requirements.mountable()
    return requirements.missing_packages(
        lambda program: shutil.which(program, path=PATH) is not None,
        lambda kernel_name: every_filesystem or kernel_name in mounted,
    )


def install(wanted: list[str], if_known: list[str]) -> None:
    """Install the packages that are missing. Raises InstallError, InstallStopped."""
    with tempfile.TemporaryDirectory(prefix="fsbench-tools-") as name, no_daemon_starts():
        folder = Path(name)
        apt = Apt(folder)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, apt.stop)
        (folder / "sources.list").write_text(source_list(folder), encoding="utf-8")
        apt.update()
        known_packages = apt.installable([*wanted, *if_known])
        packages = [package for package in [*wanted, *if_known] if package in known_packages]
        if packages:
            print(f"Installing: {' '.join(packages)}", flush=True)
            apt.install(packages)
        optional = {*if_known, *requirements.optional_packages()}
        unknown = [package for package in wanted if package not in known_packages]
        if required := [package for package in unknown if package not in optional]:
            if apt.unreached:
                raise InstallError(
                    f"Not every mirror of this machine can be reached: {apt.unreached}. Put its "
                    "network or its apt sources right (apt-get update shows the same), or start a "
                    "Docker daemon."
                )
            raise InstallError(
                f"apt knows no package {', '.join(required)} on this machine's mirrors: install it "
                "by hand, or start a Docker daemon."
            )
        for package in unknown:
            print(f"This release has no package {package}.")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Install what benchmarks need on this machine.")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE")
    parser.add_argument("--if-known", nargs="*", default=[], metavar="PACKAGE")
    parser.add_argument("--every-filesystem", action="store_true")
    parser.add_argument("--only", action="store_true")
    parser.add_argument("--lock-held", action="store_true", help="by whoever started this")
    options = parser.parse_args(arguments)
    wanted = [
        *options.packages,
        *([] if options.only else missing_packages(options.every_filesystem)),
    ]
    if not wanted and not options.if_known:
        print("Everything that benchmarks need is installed.")
        return 0
    try:
        distribution()
        if os.geteuid() != 0:
            raise InstallError(f"Installing {' '.join(wanted)} needs root: sudo make tools")
        with contextlib.nullcontext() if options.lock_held else install_lock():
            install(wanted, options.if_known)
    except InstallError as error:
        print(error, file=sys.stderr)
        return 1
    except (InstallStopped, KeyboardInterrupt):
        print("It was stopped before it was finished: start it again.", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"It cannot be installed: {error}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
