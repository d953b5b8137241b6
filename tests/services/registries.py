"""How this host reaches Debian's mirror and the package index, for a root that knows nothing of it.

Only that is taken over: apt's sources of the distribution itself and its proxies, certificates of
the house, pip's configuration, names and proxies. Standard library only.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.services.process import ServiceFailed

OWN_CERTIFICATES = Path("/usr/local/share/ca-certificates")
PIP_FILES = ("/etc/pip.conf", "/etc/xdg/pip/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf")
# Where distributions are had: their components, and the archive of each part of a release.
ARCHIVES = {
    "debian": (
        "main",
        {
            "": "http://deb.debian.org/debian",
            "-updates": "http://deb.debian.org/debian",
            "-security": "http://deb.debian.org/debian-security",
        },
    ),
    # Ubuntu has python3-venv in universe.
    "ubuntu": (
        "main universe",
        dict.fromkeys(("", "-updates", "-security"), "http://archive.ubuntu.com/ubuntu"),
    ),
}
_CERTIFICATES = re.compile(
    r"(SSL_CERT_FILE|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GIT_SSL_CAINFO|NODE_EXTRA_CA_CERTS|PIP_CERT)"
)
_VARIABLES = re.compile(
    rf"{_CERTIFICATES.pattern}|SSL_CERT_DIR|(?i:(https?|ftp|all|no)_proxy)"
    "|PIP_(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|PROXY|DEFAULT_TIMEOUT|RETRIES)"
)
_ACQUIRE = re.compile(r"Acquire::((https?|ftp)::|Check-Valid-Until|Check-Date|Retries|ForceIPv)")


@dataclass(frozen=True)
class Source:
    """A line of apt's: ``deb [options] address suite components``."""

    options: str
    address: str
    suite: str
    components: str

    def __str__(self) -> str:
        options = f"[{self.options}] " if self.options else ""
        return f"deb {options}{self.address} {self.suite} {self.components}"


def release() -> tuple[str, str]:
    """Distribution and code name of this host: ``("debian", "bookworm")``."""
    lines = Path("/etc/os-release").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return values.get("ID", "").strip('"'), values.get("VERSION_CODENAME", "").strip('"')


def bare_release() -> tuple[str, str]:
    """Distribution and code name of bare roots: this host's, or ``FSBENCH_BARE_SUITE``, which is
    another release of the same distribution (``trixie``) or of another one (``ubuntu/noble``).
    """
    distribution, name = release()
    other, _, wanted = os.environ.get("FSBENCH_BARE_SUITE", "").rpartition("/")
    return other or distribution, wanted or name


def bare_sources() -> list[Source]:
    """The same mirrors with the release of bare roots, or the archives of another distribution.
    Raises ServiceFailed.
    """
    (distribution, own), (wanted_distribution, wanted) = release(), bare_release()
    if wanted_distribution == distribution:
        return [
            replace(source, suite=wanted + source.suite.removeprefix(own)) for source in sources()
        ]
    if wanted_distribution not in ARCHIVES:
        raise ServiceFailed(
            f"FSBENCH_BARE_SUITE names the distribution {wanted_distribution}: there are "
            f"{' and '.join(ARCHIVES)}"
        )
    components, archives = ARCHIVES[wanted_distribution]
    return [
        Source("", address, wanted + suffix, components) for suffix, address in archives.items()
    ]


def bare_keyring() -> Path | None:
    """What the packages of another distribution are signed with; None for this host's own, whose
    keys debootstrap knows. Raises ServiceFailed.
    """
    distribution, _ = bare_release()
    if distribution == release()[0]:
        return None
    usual = f"/usr/share/keyrings/{distribution}-archive-keyring.gpg"
    keyring = Path(os.environ.get("FSBENCH_BARE_KEYRING") or usual)
    if not keyring.is_file():
        raise ServiceFailed(
            f"There is no {keyring} with what {distribution} signs with: install {distribution}-"
            f"keyring or {distribution}-archive-keyring, or take that file out of such a package "
            "and name it in FSBENCH_BARE_KEYRING."
        )
    return keyring


def sources() -> list[Source]:
    """Those of the distribution itself, in either of apt's notations. Raises ServiceFailed."""
    _, name = release()
    folder = Path("/etc/apt/sources.list.d")
    configured: list[Source] = []
    for path in sorted(folder.glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text()):
            configured += _of_stanza(stanza)
    for path in (Path("/etc/apt/sources.list"), *sorted(folder.glob("*.list"))):
        if path.exists():
            configured += _of_lines(path.read_text())
    own = re.compile(rf"{re.escape(name)}([-/](updates|security))?")
    usable = [
        source
        for source in configured
        if own.fullmatch(source.suite) and "main" in source.components.split()
    ]
    if not any(source.suite == name for source in usable):
        raise ServiceFailed(f"no source of apt on this host has the suite {name} with main")
    return usable


def _of_stanza(stanza: str) -> Iterator[Source]:
    fields: dict[str, str] = {}
    name = ""
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1].isspace():
            fields[name] = f"{fields.get(name, '')} {line.strip()}"
        elif ":" in line:
            name, _, value = line.partition(":")
            name = name.lower()
            fields[name] = value.strip()
    if "deb" not in fields.get("types", "").split() or fields.get("enabled", "") == "no":
        return
    # A key that stands in the stanza itself has no place in a line.
    key = fields.get("signed-by", "")
    options = [f"signed-by={key}"] if key.startswith("/") else []
    options += ["trusted=yes"] if fields.get("trusted") == "yes" else []
    for address in fields.get("uris", "").split():
        for suite in fields.get("suites", "").split():
            yield Source(" ".join(options), address, suite, fields.get("components", ""))


def _of_lines(text: str) -> Iterator[Source]:
    for line in text.splitlines():
        match = re.match(r"deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#]+)", line.strip())
        if match:
            options, address, suite, components = match.groups(default="")
            yield Source(options.strip(), address, suite, components.strip())


def environment() -> dict[str, str]:
    """Proxies, certificates and the package index, from this process' environment."""
    return {name: value for name, value in os.environ.items() if _VARIABLES.fullmatch(name)}


def write_into(root: Path) -> None:
    """Put what this host has configured into a Debian root. Certificates are then in its bundle."""
    (root / "etc/apt/sources.list").write_text("".join(f"{source}\n" for source in bare_sources()))
    for source in bare_sources():
        for key in re.findall(r"signed-by=([^\s,]+)", source.options):
            _copy_where_missing(Path(key), root)
    dumped = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True)
    chosen = [line for line in dumped.stdout.splitlines() if _ACQUIRE.match(line)]
    (root / "etc/apt/apt.conf.d/90host").write_text("".join(f"{line}\n" for line in chosen))
    for login in ("/etc/apt/auth.conf", *map(str, Path("/etc/apt/auth.conf.d").glob("*.conf"))):
        _copy_where_missing(Path(login), root)
    for name in ("/etc/resolv.conf", "/etc/hosts"):
        shutil.copyfile(name, root / name[1:])
    certificates = [path for path in OWN_CERTIFICATES.rglob("*.crt") if path.is_file()]
    for path in certificates:
        _copy_where_missing(path, root)
    if certificates:
        subprocess.run(
            ["chroot", str(root), "update-ca-certificates"], capture_output=True, check=True
        )
    for path in map(Path, PIP_FILES):
        if path.expanduser().is_file():
            text = path.expanduser().read_text()
            inside = root / str(path).replace("~", "/root")[1:]
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.write_text(text)
            for named in re.findall(r"^\s*cert\s*=\s*(/\S+)", text, re.MULTILINE):
                _copy_where_missing(Path(named), root)
    for name, value in environment().items():
        if _CERTIFICATES.fullmatch(name):
            _copy_where_missing(Path(value), root)


def _copy_where_missing(path: Path, root: Path) -> None:
    inside = root / str(path)[1:]
    if path.is_file() and not inside.exists():
        inside.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, inside)
