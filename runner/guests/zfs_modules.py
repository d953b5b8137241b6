"""Modules of OpenZFS for a kernel of guests, built by Debian's DKMS (``zfs-dkms``).

It builds in a container of the benchmark image, some minutes, once for each kernel. Nothing is
installed on the host.
"""

import io
import re
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import docker
from docker.models.containers import Container

from runner.executors.containers import ERRORS, KEPT_LOGS, error_line
from runner.guests import kernel_packages
from runner.guests.apt import Apt, FetchError, OnProgress, distribution
from runner.image.inputs import SUITE_LABEL

ARCHIVE = "zfs-modules.tar"
LIMIT_S = 2 * 3600.0
_LOOK_EVERY_S = 1.0
_MOST_BYTES = 256 * 2**20
_RELEASE = re.compile(r"linux-image-([0-9][A-Za-z0-9.+~-]{0,80}?)(?:_.*)?")
# $1 is the kernel's release, $2 the sources of apt. What the image lacks is added to it alone.
SCRIPT = f"""
set -eu
export DEBIAN_FRONTEND=noninteractive
printf '%s\\n' "$2" >/etc/apt/sources.list.d/fsbench-modules.list
apt-get update -q
nice apt-get install -q -y --no-install-recommends "linux-headers-$1"
nice apt-get install -q -y --no-install-recommends zfs-dkms
tar -C / -cf /{ARCHIVE} "lib/modules/$1/updates"
"""


def release_of(package: Path) -> str:
    """``6.1.0-50-amd64`` of linux-image-6.1.0-50-amd64_6.1.1-1_amd64.deb. Raises FetchError."""
    match = _RELEASE.fullmatch(package.name.removesuffix(".deb"))
    if match is None:
        raise FetchError(
            f"{package.name} is not called like a package of Debian's kernel: modules are built "
            "for linux-image-VERSION alone."
        )
    return match[1]


def has_zfs(package: Path) -> bool:
    return (package / ARCHIVE).is_file()


def build(image: str, package: Path, on_progress: OnProgress = lambda step, share: None) -> Path:
    """Build ZFS for the kernel in ``package`` and put it next to it; where both are. Raises
    FetchError.
    """
    if has_zfs(package):
        return package
    release = release_of(package)
    try:
        client = docker.from_env()
        labels = client.images.get(image).labels
    except ERRORS as error:
        raise FetchError(
            f"ZFS is built in the benchmark image {image}, which Docker does not give "
            f"({error_line(error)}): build it first (make image)."
        ) from None
    with tempfile.TemporaryDirectory(prefix="fsbench-zfs-") as work:
        sources = _sources(Path(work, "apt"), str(labels.get(SUITE_LABEL, "")))
        on_progress(f"Building ZFS for {release} (some minutes)", None)
        archive = Path(work, ARCHIVE)
        with (
            _container(client, image, [release, "\n".join(sources)]) as container,
            archive.open("wb") as file,
        ):
            _wait(container, release)
            _take(container, file)
        check(archive, release)
        return kernel_packages.add_modules(package, ARCHIVE, archive)


def _sources(work: Path, suite: str) -> list[str]:
    work.mkdir()
    apt = Apt(work)
    apt.update()
    sources = apt.sources(suite, "main contrib") if suite else []
    if not sources and distribution() != "debian":
        raise FetchError(
            "ZFS is built out of Debian's packages, for a kernel of Debian, and this host is none. "
            "Do it on a host with Debian, and copy the kernel's folder from there."
        )
    if not sources:
        raise FetchError(
            f"The benchmark image is of Debian {suite or 'of a release it does not name'}, and "
            "this host's apt has no mirror of that: build the image of the host's own release "
            "(FSBENCH_IMAGE_SUITE)."
        )
    return sources


@contextmanager
def _container(
    client: docker.DockerClient, image: str, arguments: list[str]
) -> Iterator[Container]:
    """Started, with the host's network for apt, and removed whatever happens."""
    try:
        container = client.containers.create(
            image,
            entrypoint=["sh", "-c", SCRIPT, "sh"],
            command=arguments,
            network_mode="host",
            log_config=KEPT_LOGS,  # its last lines say why it failed
            labels={"fsbench.builds": "zfs"},
        )
    except ERRORS as error:
        raise FetchError(
            f"Docker makes no container to build ZFS in: {error_line(error)}"
        ) from None
    try:
        container.start()
        yield container
    except ERRORS as error:
        raise FetchError(f"Docker went away while ZFS was built: {error_line(error)}") from None
    finally:
        container.remove(force=True, v=True)


def _wait(container: Container, release: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    container.reload()
    while container.status in ("created", "running"):
        if time.monotonic() > deadline:
            raise FetchError(f"ZFS was not built within {LIMIT_S / 3600:g} hours.")
        time.sleep(_LOOK_EVERY_S)
        container.reload()
    if container.attrs["State"]["ExitCode"]:
        log = container.logs(tail=8).decode("utf-8", "replace").strip()
        raise FetchError(
            f"ZFS cannot be built for {release}: its headers must be among apt's packages "
            f"(linux-headers-{release}), and zfs-dkms must know that kernel. It said: {log[-800:]}"
        )


def _take(container: Container, file: IO[bytes]) -> None:
    """Docker gives a file as a tar with it."""
    packed = io.BytesIO()
    stream, _ = container.get_archive(f"/{ARCHIVE}")
    for piece in stream:
        packed.write(piece)
        if packed.tell() > _MOST_BYTES:
            raise FetchError(f"The modules take more than {_MOST_BYTES // 2**20} MiB.")
    packed.seek(0)
    with tarfile.open(fileobj=packed) as outer:
        inner = outer.extractfile(ARCHIVE)
        assert inner is not None
        file.write(inner.read())
    file.flush()


def check(archive: Path, release: str) -> None:
    """That the archive holds ZFS for this kernel, and no other kernel's. Raises FetchError."""
    start = f"lib/modules/{release}/"
    try:
        with tarfile.open(archive) as opened:
            names = [member.name for member in opened.getmembers() if member.isfile()]
    except (OSError, tarfile.TarError) as error:
        raise FetchError(f"The modules that were built cannot be read: {error}") from None
    is_there = any(Path(name).name.partition(".ko")[0] == "zfs" for name in names)
    if not is_there or not all(name.startswith(start) for name in names):
        raise FetchError(f"DKMS made no zfs.ko for {release}: its headers may be of another one.")
