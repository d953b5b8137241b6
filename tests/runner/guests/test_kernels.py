"""Kernel packages: unpacked, their modules in order, and what is none refused."""

import gzip
import io
import lzma
import random
import struct
import subprocess
import tarfile
from pathlib import Path

import pytest

from runner.guests import kernels
from runner.guests.kernels import Kernel, UnusableKernel

VERSION = "6.1.0-99-amd64"


def module(**info: str) -> bytes:
    fields = b"".join(f"{key}={value}\0".encode() for key, value in info.items())
    return b"\x7fELF....\0" + fields + b"\0rest"


MODULES = {
    "drivers/virtio/virtio_ring.ko": module(license="GPL", depends=""),
    "drivers/virtio/virtio.ko": module(depends="virtio_ring"),
    "drivers/virtio/virtio_pci.ko": module(depends="virtio,virtio_ring"),
    "drivers/block/virtio_blk.ko": module(depends="virtio-ring,virtio"),
    "fs/jfs/jfs.ko": module(alias="fs-jfs", depends=""),
    "fs/ext4/ext4.ko": module(alias="fs-ext4", depends="jbd2", softdep="pre: crc32c"),
    "fs/jbd2/jbd2.ko": module(depends=""),
    "crypto/crc32c_generic.ko": module(alias="crc32c", depends=""),
    "drivers/gpu/drm/drm.ko": module(depends=""),
}


def files(modules: dict[str, bytes] | None = None) -> dict[str, bytes]:
    root = f"./lib/modules/{VERSION}/kernel/"
    contents = {root + name: content for name, content in (modules or MODULES).items()}
    return {f"./boot/vmlinuz-{VERSION}": b"the kernel", **contents}


def tar_of(contents: dict[str, bytes], mode: str = "w:xz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def deb(path: Path, contents: dict[str, bytes], data_name: str = "data.tar.xz") -> Path:
    def member(name: str, content: bytes) -> bytes:
        head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        return head + content + b"\n" * (len(content) % 2)

    path.write_bytes(
        b"!<arch>\n"
        + member("debian-binary", b"2.0\n")
        + member("control.tar.xz", b"odd")
        + member(data_name, tar_of(contents))
    )
    return path


def unpack(path: Path) -> Kernel:
    [package] = kernels.packages_in(path.parent)
    return kernels.unpacked_kernel(package, path.parent / "cache")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return deb(tmp_path / f"linux-image-{VERSION}_6.1_amd64.deb", files())


def test_a_debian_package_gives_kernel_version_and_modules_in_order(package: Path) -> None:
    kernel = unpack(package)

    assert kernel.name == f"linux-image-{VERSION}_6.1_amd64"
    assert kernel.version == VERSION
    assert kernel.image.read_bytes() == b"the kernel"
    names = [path.stem for path in kernel.modules_for(["ext4"])]
    assert names == [
        *("virtio_ring", "virtio", "virtio_pci", "virtio_blk"),
        *("jbd2", "crc32c_generic", "ext4"),
    ]
    assert all(path.is_file() for path in kernel.modules_for(["ext4", "jfs"]))


def test_only_the_file_systems_of_the_run_are_loaded(package: Path) -> None:
    kernel = unpack(package)

    assert "jfs" in [path.stem for path in kernel.modules_for(["jfs"])]
    assert "ext4" not in [path.stem for path in kernel.modules_for(["jfs"])]


def test_a_module_that_names_no_file_system_is_known_by_its_name(tmp_path: Path) -> None:
    """As ntfs3 in Linux 6.12."""
    added = MODULES | {"fs/ntfs3/ntfs3.ko": module(depends="")}
    kernel = unpack(deb(tmp_path / f"linux-image-{VERSION}_6.12_amd64.deb", files(added)))

    assert [path.stem for path in kernel.modules_for(["ntfs3"])][-1] == "ntfs3"


def test_a_file_system_without_a_module_is_built_in_or_missing(package: Path) -> None:
    assert [path.stem for path in unpack(package).modules_for(["reiser4"])] == [
        *("virtio_ring", "virtio", "virtio_pci", "virtio_blk"),
    ]


def test_it_is_unpacked_once(package: Path) -> None:
    first = unpack(package)
    (first.folder / "mark").touch()

    assert (unpack(package).folder / "mark").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff"])
def test_what_a_power_failure_left_of_it_is_unpacked_anew(package: Path, content: bytes) -> None:
    kernel = unpack(package)
    kernel.image.write_bytes(b"")
    (kernel.folder / "kernel.json").write_bytes(content)
    again = unpack(package)
    assert again == kernel
    assert again.image.read_bytes() == b"the kernel"


def test_another_package_of_the_same_name_is_unpacked_anew(package: Path) -> None:
    first = unpack(package)
    deb(package, files() | {f"./boot/vmlinuz-{VERSION}": b"another kernel"})

    assert unpack(package).digest != first.digest
    assert unpack(package).image.read_bytes() == b"another kernel"


def test_a_tar_of_a_build_of_ones_own_is_a_package_too(tmp_path: Path) -> None:
    path = tmp_path / "Linux-5.10-team.tar.gz"
    path.write_bytes(tar_of(files(), "w:gz"))

    kernel = unpack(path)

    assert (kernel.name, kernel.version) == ("linux-5.10-team", VERSION)


def test_a_folder_with_a_build_is_a_package_too(tmp_path: Path) -> None:
    for name, content in files().items():
        path = tmp_path / "team" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    [package] = kernels.packages_in(tmp_path)

    assert package.name == "team"
    assert kernels.unpacked_kernel(package, tmp_path / "cache").version == VERSION


def test_packed_modules_are_unpacked(tmp_path: Path) -> None:
    packed = {f"{name}.xz": lzma.compress(content) for name, content in MODULES.items()}
    kernel = unpack(deb(tmp_path / "xz.deb", files(packed)))

    assert kernel.module("jfs").read_bytes() == MODULES["fs/jfs/jfs.ko"]
    assert [path.stem for path in kernel.modules_for(["jfs"])][-1] == "jfs"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not an archive at all", "no Debian package"),
        (b"", "no Debian package"),
        (b"!<arch>\n", "holds no files"),
    ],
)
def test_what_is_no_package_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "bad.deb").write_bytes(content)

    with pytest.raises(UnusableKernel, match=words):
        unpack(tmp_path / "bad.deb")


def test_a_package_that_is_damaged_anywhere_is_refused(tmp_path: Path) -> None:
    """Whatever reading it raises: one that raised something else kept all others from a look."""
    head = f"{'control.tar.xz':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{'many':<10}`\n".encode()
    (tmp_path / "size.deb").write_bytes(b"!<arch>\n" + head)
    (tmp_path / "text.deb").write_bytes(b"!<arch>\n" + b"\xff" * 60)
    packed = gzip.compress(MODULES["fs/jfs/jfs.ko"])
    deb(tmp_path / "zlib.deb", files({"fs/jfs/jfs.ko.gz": packed[:10] + b"\xff" * 40}))
    for package in kernels.packages_in(tmp_path):
        with pytest.raises(UnusableKernel, match="cannot be unpacked"):
            kernels.unpacked_kernel(package, tmp_path / "cache")


def test_a_download_that_broke_off_is_refused_and_leaves_nothing(package: Path) -> None:
    package.write_bytes(package.read_bytes()[:-200])

    with pytest.raises(UnusableKernel, match="cannot be unpacked"):
        unpack(package)
    assert list((package.parent / "cache").iterdir()) == []


def test_a_package_without_a_kernel_is_refused(tmp_path: Path) -> None:
    path = deb(tmp_path / "linux-headers.deb", {"./usr/include/a.h": b""})

    with pytest.raises(UnusableKernel, match="holds no kernel"):
        unpack(path)


def test_two_kernels_in_one_package_are_refused(tmp_path: Path) -> None:
    path = deb(tmp_path / "two.deb", files() | {"./boot/vmlinuz-5.10": b"another"})

    with pytest.raises(UnusableKernel, match="several kernels"):
        unpack(path)


def real_deb(path: Path, contents: dict[str, bytes], packed: str) -> Path:
    """A package that dpkg-deb itself makes, packed as it is told."""
    tree = path.parent / f".{path.stem}"
    control = "Package: a\nVersion: 1\nArchitecture: amd64\nMaintainer: a <a@b>\nDescription: a\n"
    for name, content in {**contents, "DEBIAN/control": control.encode()}.items():
        place = tree / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    argv = ["dpkg-deb", f"-Z{packed}", "--root-owner-group", "--build", str(tree), str(path)]
    subprocess.run(argv, check=True, capture_output=True)
    return path


def test_a_package_that_is_packed_with_zstd_is_read(tmp_path: Path) -> None:
    path = real_deb(tmp_path / "ubuntu.deb", files(), "zstd")
    assert b"data.tar.zst" in path.read_bytes()
    kernel = unpack(path)
    assert kernel.image.read_bytes() == b"the kernel"
    assert kernel.module("jfs").read_bytes() == MODULES["fs/jfs/jfs.ko"]


def test_one_that_is_packed_with_zstd_and_broke_off_is_refused(tmp_path: Path) -> None:
    path = real_deb(
        tmp_path / "ubuntu.deb", files() | {"./big": random.Random(1).randbytes(400_000)}, "zstd"
    )
    path.write_bytes(path.read_bytes()[:200_000])
    with pytest.raises(UnusableKernel, match="cannot be unpacked"):
        unpack(path)
    assert list((tmp_path / "cache").iterdir()) == []


def test_where_nothing_reads_zstd_it_says_what_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = deb(tmp_path / "ubuntu.deb", files(), "data.tar.zst")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UnusableKernel, match="which dpkg-deb reads"):
        unpack(path)


def test_a_kernel_that_is_split_is_a_folder_of_its_packages(tmp_path: Path) -> None:
    """As Debian has it from 7.1 on: image, modules, and what is built in, each a package."""
    folder = tmp_path / "Linux-7.3"
    folder.mkdir()
    root = f"./usr/lib/modules/{VERSION}"
    modules = {
        f"{root}/kernel/{name}.xz": lzma.compress(content) for name, content in MODULES.items()
    }
    deb(folder / "linux-binary.deb", {f"{root}/vmlinuz": b"the kernel"})
    deb(folder / "linux-modules.deb", modules)
    deb(folder / "linux-base.deb", {f"{root}/modules.builtin": b"kernel/fs/xfs/xfs.ko\n"})
    deb(folder / "linux-image.deb", {"./usr/share/doc/linux-image/copyright": b"GPL"})
    kernel = unpack(folder)
    assert (kernel.name, kernel.version) == ("linux-7.3", VERSION)
    assert kernel.image.read_bytes() == b"the kernel"
    assert kernel.has("xfs")
    assert [path.stem for path in kernel.modules_for(["ext4"])][-2:] == ["crc32c_generic", "ext4"]


def test_half_of_a_kernel_that_is_split_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "linux-7.3"
    folder.mkdir()
    deb(folder / "linux-modules.deb", {f"./usr/lib/modules/{VERSION}/kernel/fs/a.ko": module()})
    with pytest.raises(UnusableKernel, match="holds no kernel"):
        unpack(folder)


def test_a_merged_usr_is_a_build_too(tmp_path: Path) -> None:
    for name, content in files().items():
        place = tmp_path / "own" / name.replace("./lib/", "usr/lib/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    assert unpack(tmp_path / "own").version == VERSION


def test_names_that_lead_elsewhere_write_nothing_elsewhere(tmp_path: Path) -> None:
    evil = files() | {f"../../lib/modules/{VERSION}/../../../fs/evil.ko": module(depends="")}
    kernel = unpack(deb(tmp_path / "evil.deb", evil))

    outside = [path for path in tmp_path.rglob("evil.ko") if kernel.folder not in path.parents]
    assert outside == []


def test_modules_that_need_each_other_are_no_endless_loop(tmp_path: Path) -> None:
    circle = {
        "fs/a/a.ko": module(alias="fs-a", depends="b"),
        "fs/b/b.ko": module(depends="a"),
    }
    kernel = unpack(deb(tmp_path / "circle.deb", files(circle)))

    assert sorted(path.stem for path in kernel.modules_for(["a"])) == ["a", "b"]


def test_other_files_of_the_folder_are_no_packages(tmp_path: Path, package: Path) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "Ünïcode.deb").touch()

    assert [kernel_package.path for kernel_package in kernels.packages_in(tmp_path)] == [package]


def bz_image(inner: bytes, packed: bytes = b"") -> bytes:
    packed = packed or lzma.compress(inner)
    head = bytearray(1024)
    head[0x1F1] = 1
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", head, 0x248, 0, len(packed))
    return bytes(head) + packed


def test_the_kernel_in_the_image_is_found_for_emulated_processors() -> None:
    note = struct.pack("<III", 4, 8, 18) + b"Xen\0"

    assert kernels.unpacked_image(bz_image(b"\x7fELF" + note)) == b"\x7fELF" + note
    assert kernels.unpacked_image(bz_image(b"\x7fELF without the note")) == b""
    assert kernels.unpacked_image(bz_image(b"\x7fELF" + note)[:-10]) == b""
    assert kernels.unpacked_image(b"MZ, and no kernel") == b""


def test_one_that_is_packed_with_zstd_is_found_too() -> None:
    """As Debian packs them since 6.12: the frame, and its size in four bytes."""
    inner = b"\x7fELF" + struct.pack("<III", 4, 8, 18) + b"Xen\0" + b"." * 5000
    compressed = subprocess.run(
        ["zstd", "-qc"], input=inner, capture_output=True, check=True
    ).stdout
    size = len(inner).to_bytes(4, "little")
    assert kernels.unpacked_image(bz_image(inner, compressed + size)) == inner
    assert kernels.unpacked_image(bz_image(inner, compressed[:-9] + size)) == b""
    assert kernels.unpacked_image(bz_image(inner, compressed + b"\1\0\0\0")) == b""


ZFS = {
    "spl": module(depends=""),
    "zfs": module(alias="devname:zfs", depends="spl"),
}


def test_modules_that_were_built_for_it_stand_beside_its_package(tmp_path: Path) -> None:
    """As DKMS puts them: below updates/, in a tar beside the package."""
    folder = tmp_path / "linux-image-6.1.0-99-amd64_6.1_amd64"
    folder.mkdir()
    deb(folder / f"{folder.name}.deb", files())
    built = {
        f"lib/modules/{VERSION}/updates/dkms/{name}.ko": content for name, content in ZFS.items()
    }
    (folder / "zfs-modules.tar").write_bytes(tar_of(built, "w"))
    kernel = unpack(folder)
    assert kernel.has("zfs")
    assert kernel.name == folder.name
    assert [path.stem for path in kernel.modules_for(["zfs"])][-2:] == ["spl", "zfs"]
    # Of another kernel they would not load: it says so, and is not booted.
    (folder / "zfs-modules.tar").write_bytes(
        tar_of({"lib/modules/5.10.0-1-amd64/updates/dkms/zfs.ko": ZFS["zfs"]}, "w")
    )
    with pytest.raises(UnusableKernel, match="several kernels"):
        unpack(folder)
