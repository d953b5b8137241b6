"""The kernels a guest can boot: packages in a folder of the worker, unpacked into a cache.

A package is a ``linux-image-*.deb``, a tar of ``make targz-pkg``, or a folder with
``boot/vmlinuz-VERSION`` and ``lib/modules/VERSION/``, or with split packages and further tars of
modules. Modules that a guest may need are kept, with what their ``.modinfo`` depends on.
"""

import contextlib
import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import struct
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

NAME = re.compile(r"[a-z0-9][a-z0-9._+~-]{0,99}")
_PACKAGE = re.compile(r"\.(?:deb|tar|tar\.gz|tgz|tar\.xz)$")
_KERNEL = re.compile(r"(?:^|/)(?:vmlinuz|bzImage)(?:-([A-Za-z0-9._+~-]+))?$")
_MODULE = re.compile(r"(?:^|/)lib/modules/([A-Za-z0-9._+~-]+)/(.+\.ko)(\.xz|\.gz|\.zst)?$")
# Where modules of file systems, disks and what these depend on are in a kernel's tree.
_PLACES = (
    *("fs/", "crypto/", "lib/", "block/", "mm/", "arch/x86/crypto/", "drivers/virtio/"),
    *("drivers/block/virtio", "drivers/char/virtio", "drivers/char/hw_random/", "drivers/md/"),
    # Of NFS over the loop-back device.
    *("net/sunrpc/", "net/dns_resolver/"),
    # What DKMS has built for it: ZFS.
    "updates/",
)
# What every guest loads, as far as the kernel has it as a module: disks, console, root, schedulers.
BASE = ("virtio_pci", "virtio_blk", "virtio_console", "squashfs", "lz4_decompress")
SCHEDULERS = (
    *("mq_deadline", "kyber_iosched", "bfq", "deadline_iosched", "cfq_iosched", "as_iosched"),
)
# Asked for by name at mount, which finds nobody in a guest to load them.
CHECKSUMS = (
    "crypto-crc32c",
    "crypto-crc32",
    "crypto-xxhash64",
    "crypto-sha256",
    "crypto-blake2b-256",
)
# The same of single modules: what signs and encrypts SMB (MODULE_SOFTDEP of fs/cifs/cifsfs.c says
# no "pre:" of it), and the names of files.
ASKED_FOR = {
    "cifs": (
        *("crypto-cmac", "crypto-sha512", "crypto-ccm", "crypto-gcm", "crypto-ctr"),
        *("crypto-ghash", "crypto-aes", "crypto-ecb", "crypto-hmac", "crypto-md5"),
        "nls_utf8",
    )
}
# What reading a file of any content may raise: ValueError is of ar(5), zlib.error of a module.
_BROKEN = (OSError, EOFError, ValueError, tarfile.TarError, lzma.LZMAError, zlib.error)
_MODULE_BYTES = 64 * 2**20
_IMAGE_BYTES = 512 * 2**20
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_AR_MAGIC = b"!<arch>\n"
_VERSION = 7
"""Changes with what is kept of a package: what an earlier version kept is not used again."""


class UnusableKernel(Exception):
    """The package cannot be booted; the text says why."""


@dataclass(frozen=True)
class Package:
    """One in the worker's folder. ``digest`` is of its content."""

    name: str
    path: Path
    digest: str


@dataclass(frozen=True)
class Kernel:
    """Unpacked: ``image`` is what QEMU boots, ``modules`` {name: path} with ``needs`` {name: [...]}
    and ``aliases`` {alias: [names]}. ``builtin`` are modules that the image holds.
    """

    name: str
    digest: str
    version: str
    folder: Path
    needs: Mapping[str, list[str]]
    aliases: Mapping[str, list[str]]
    builtin: tuple[str, ...] = ()

    @property
    def image(self) -> Path:
        return self.folder / "vmlinuz"

    @property
    def quick_image(self) -> Path:
        """For an emulated processor, which takes seconds to unpack the usual one."""
        unpacked = self.folder / "vmlinux"
        return unpacked if unpacked.is_file() else self.image

    def module(self, name: str) -> Path:
        return self.folder / "modules" / f"{name}.ko"

    def has(self, module: str) -> bool:
        """Whether it is among the modules, or built in."""
        return module in self.needs or module in self.builtin

    def modules_for(self, filesystems: Iterable[str], more: Iterable[str] = ()) -> list[Path]:
        """What a guest loads for these file systems (kernel names), and ``more``, in order."""
        wanted = [*BASE, *SCHEDULERS]
        for alias in CHECKSUMS:
            wanted += self.aliases.get(alias, [])
        for name in filesystems:
            # ntfs3 says no alias of its file system.
            wanted += self.aliases.get(f"fs-{name}", [name])
        for name in more:
            for alias in ASKED_FOR.get(name, ()):
                wanted += self.aliases.get(alias, [alias])
            wanted.append(name)
        names: dict[str, None] = {}
        for name in wanted:
            self._add(name, names, ())
        return [self.module(name) for name in names]

    def _add(self, name: str, names: dict[str, None], above: tuple[str, ...]) -> None:
        if name in names or name in above or name not in self.needs:
            return
        for needed in self.needs[name]:
            self._add(needed, names, (*above, name))
        names[name] = None


def packages_in(folder: Path) -> list[Package]:
    """The packages of the worker's folder, by name. Raises OSError where it cannot be read."""
    packages: dict[str, Package] = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and _PACKAGE.search(path.name):
            name = _PACKAGE.sub("", path.name).lower()
        elif path.is_dir() and _holds_kernel(path):
            name = path.name.lower()
        else:
            continue
        if NAME.fullmatch(name) and name not in packages:
            packages[name] = Package(name, path, _digest(path))
    return list(packages.values())


def _holds_kernel(folder: Path) -> bool:
    """Whether it is a build's files, or the packages that a kernel was split into."""
    if any(folder.glob("*.deb")):
        return True
    has_modules = any(folder.glob("lib/modules/*")) or any(folder.glob("usr/lib/modules/*"))
    has_image = any(folder.glob("boot/*")) or any(folder.glob("usr/lib/modules/*/vmlinuz"))
    return has_modules and has_image


def _digest(path: Path) -> str:
    """Of names, sizes and times: reading all of it at every start would take a while."""
    digest = hashlib.sha256(f"{_VERSION} {path.name}\n".encode())
    for entry in [path] if path.is_file() else sorted(path.rglob("*")):
        status = entry.lstat()
        digest.update(f"{entry} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:20]


def check(path: Path) -> None:
    """Whether a Debian package can be read here, judged by its head. Raises UnusableKernel."""
    try:
        with path.open("rb") as file:
            _data_of(file, path)
    except (OSError, ValueError) as error:
        raise UnusableKernel(f"{path.name} is not a package that can be read: {error}") from None


def unpacked_kernel(package: Package, cache: Path) -> Kernel:
    """The kernel of a package, out of the cache if it is there. Raises UnusableKernel."""
    folder = cache / package.digest
    noted = read_notes(folder / "kernel.json")
    if not noted:
        # Power that failed leaves empty files, which would be read at every look from then on.
        shutil.rmtree(folder, ignore_errors=True)
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".unpack-") as work:
            try:
                _unpack(package.path, Path(work))
            except _BROKEN as error:
                raise UnusableKernel(f"{package.path} cannot be unpacked: {error}") from None
            # Named when it is whole; another worker may have been quicker.
            new_folder = Path(work)
            new_folder.chmod(0o755)
            if not folder.exists():
                shutil.copytree(new_folder, folder.with_suffix(f".{os.getpid()}"))
                folder.with_suffix(f".{os.getpid()}").rename(folder)
        noted = json.loads((folder / "kernel.json").read_text())
    return Kernel(
        *(package.name, package.digest, noted["version"], folder, noted["needs"], noted["aliases"]),
        tuple(noted["builtin"]),
    )


def _unpack(path: Path, into: Path) -> None:
    (into / "modules").mkdir()
    versions: dict[str, set[str]] = {"kernel": set(), "modules": set()}
    needs: dict[str, list[str]] = {}
    aliases: dict[str, list[str]] = {}
    softly: dict[str, list[str]] = {}
    builtin: list[str] = []
    for name, read in _files(path):
        if match := _KERNEL.search(name):
            versions["kernel"].add(match[1] or "")
            image = read()
            (into / "vmlinuz").write_bytes(image)
            if inner := unpacked_image(image):
                (into / "vmlinux").write_bytes(inner)
            continue
        if name.endswith("/modules.builtin"):
            builtin = re.findall(r"/([^/\n]+)\.ko$", read().decode("ascii", "replace"), re.M)
            continue
        match = _MODULE.search(name)
        if match is None or not _is_wanted(match[2]):
            continue
        content = _module(read(), match[3] or "", name)
        module = Path(match[2]).stem.replace("-", "_")
        info = modinfo(content)
        needs[module] = [dependency.replace("-", "_") for dependency in info["depends"]]
        softly[module] = info["softdep"]
        for alias in info["alias"]:
            aliases.setdefault(alias, []).append(module)
        versions["modules"].add(match[1])
        (into / "modules" / f"{module}.ko").write_bytes(content)
    if not versions["kernel"]:
        raise UnusableKernel(f"{path} holds no kernel: there is no boot/vmlinuz-* in it.")
    if len(versions["modules"]) > 1 or len(versions["kernel"]) > 1:
        names = ", ".join(sorted(versions["modules"] | versions["kernel"]))
        raise UnusableKernel(f"{path} holds several kernels ({names}): one package, one kernel.")
    for module, words in softly.items():
        for word in words:
            needs[module] += aliases.get(word, []) or ([word] if word in needs else [])
    version = next(iter(versions["modules"] | (versions["kernel"] - {""})), "")
    facts: dict[str, Any] = {"version": version, "needs": needs, "aliases": aliases}
    facts["builtin"] = [name.replace("-", "_") for name in builtin]
    (into / "kernel.json").write_text(json.dumps(facts))


def unpacked_image(image: bytes) -> bytes:
    """The ELF file in a bzImage, if QEMU can boot it as it is; else nothing.

    Documentation/arch/x86/boot.rst, ``payload_offset``; it needs the note of PVH ("Xen", type 18).
    """
    if len(image) < 0x250 or image[0x202:0x206] != b"HdrS":
        return b""
    begin, length = struct.unpack_from("<II", image, 0x248)
    start = ((image[0x1F1] or 4) + 1) * 512 + begin
    payload = image[start : start + length]
    inner = _unzstd_image(payload) if payload.startswith(_ZSTD_MAGIC) else _unxz_image(payload)
    has_pvh = struct.pack("<III", 4, 8, 18) + b"Xen\0" in inner
    return inner if inner.startswith(b"\x7fELF") and has_pvh else b""


def _unxz_image(payload: bytes) -> bytes:
    packed = lzma.LZMADecompressor()
    try:
        inner = packed.decompress(payload, _IMAGE_BYTES)
    except lzma.LZMAError:
        return b""
    return inner if packed.eof else b""


def _unzstd_image(payload: bytes) -> bytes:
    """The last four bytes are the size of what is packed (``cmd_zstd22_with_size``)."""
    try:
        inner = _unzstd(payload[:-4], "the kernel")
    except UnusableKernel:  # it is unpacked by the guest then, as on a real processor
        return b""
    return inner if len(inner) == int.from_bytes(payload[-4:], "little") else b""


def _is_wanted(place: str) -> bool:
    return place.removeprefix("kernel/").startswith(_PLACES)


def _module(content: bytes, suffix: str, name: str) -> bytes:
    if suffix == ".xz":
        return lzma.decompress(content)
    if suffix == ".gz":
        return gzip.decompress(content)
    if suffix == ".zst":
        return _unzstd(content, name)
    return content


def _unzstd(content: bytes, name: str) -> bytes:
    try:
        done = subprocess.run(
            ["zstd", "-dcq"], input=content, capture_output=True, timeout=60, check=True
        )
    except FileNotFoundError:
        raise UnusableKernel(f"{name} is packed with zstd: install the package zstd.") from None
    except subprocess.SubprocessError as error:
        raise UnusableKernel(f"{name} cannot be unpacked: {error}") from None
    return done.stdout


def modinfo(content: bytes) -> dict[str, list[str]]:
    """``depends``, ``alias`` and ``softdep`` (pre) of a module, from its ``name=value`` texts."""
    fields: dict[str, list[str]] = {"depends": [], "alias": [], "softdep": []}
    for key, value in re.findall(rb"\0(depends|alias|softdep)=([\x20-\x7e]*)(?=\0)", content):
        text = value.decode()
        if key == b"depends":
            fields["depends"] += [name for name in text.split(",") if name]
        elif key == b"alias":
            fields["alias"].append(text)
        elif (match := re.search(r"pre:\s*([^:]*?)(?:\s*post:|$)", text)) is not None:
            fields["softdep"] += match[1].split()
    return fields


def _files(path: Path) -> Iterator[tuple[str, Any]]:
    """(name, how to read it) of each plain file."""
    if path.is_dir():
        parts = sorted(path.glob("*.deb"))
        if parts:
            for part in [*parts, *sorted(path.glob("*.tar"))]:
                yield from _files(part)
            return
        for entry in sorted(path.rglob("*")):
            if entry.is_file() and not entry.is_symlink():
                yield str(entry.relative_to(path)), entry.read_bytes
        return
    with contextlib.ExitStack() as opened:
        file = opened.enter_context(path.open("rb"))
        stream: IO[bytes] = file
        if path.suffix == ".deb":
            name = _data_of(file, path)
            if name.endswith(".zst"):
                stream = opened.enter_context(_unzstd_data(path))
        mode = "r|*"
        with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
            for member in archive:
                content = archive.extractfile(member) if member.isfile() else None
                if content is not None and member.size <= _MODULE_BYTES:
                    yield member.name, content.read


def _data_of(file: IO[bytes], path: Path) -> str:
    """The name of what holds a Debian package's files, where ``file`` is then: deb(5), ar(5)."""
    if file.read(len(_AR_MAGIC)) != _AR_MAGIC:
        raise UnusableKernel(f"{path} is no Debian package.")
    while len(head := file.read(60)) == 60:
        name, size = head[:16].decode().strip().rstrip("/"), int(head[48:58])
        if name.startswith("data.tar"):
            if name.endswith(".zst") and shutil.which("dpkg-deb") is None:
                raise UnusableKernel(
                    f"{path} is packed with zstd, which dpkg-deb reads: install dpkg, or unpack it "
                    "elsewhere into a folder of the same name."
                )
            return name
        file.seek(size + size % 2, os.SEEK_CUR)
    raise UnusableKernel(f"{path} holds no files.")


@contextlib.contextmanager
def _unzstd_data(path: Path) -> Iterator[IO[bytes]]:
    """The plain tar of a package that is packed with zstd, as Ubuntu's are."""
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", str(path.absolute())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            yield process.stdout
            # What follows the last member is padding; a package that broke off ends with an error.
            while process.stdout.read(1 << 20):
                pass
            if process.wait() != 0:
                errors.seek(0)
                noted = errors.read().decode("utf-8", "replace").strip().splitlines()
                raise ValueError(
                    noted[-1][:300] if noted else f"dpkg-deb ended with {process.returncode}"
                )
        finally:
            process.kill()


def read_notes(path: Path) -> dict[str, Any]:
    """Facts that ``write_notes`` kept there; nothing where they are not whole."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def write_notes(path: Path, data: Mapping[str, Any]) -> None:
    """Keep facts as JSON, whole or not at all. Raises OSError."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(data))
        unfinished.rename(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
