"""The benchmark image with bcachefs-tools, which no release of Debian has.

The tools of experimental need a newer C library than Debian 12's: they come with the libraries of
Debian 13 in a folder of their own, in the image and in the root of its guests.
"""

import os
import shutil
import subprocess
from pathlib import Path

from tests.contenders import debian

IMAGE = "fsbench-runner:contenders"
_LIBRARIES = (
    *("libc6", "libgcc-s1", "libaio1t64", "libblkid1", "libkeyutils1", "liblz4-1", "libsodium23"),
    *("libudev1", "libcap2", "liburcu8t64", "libuuid1", "libzstd1", "zlib1g"),
)
_WRAPPER = """#!/bin/sh
here=/opt/bcachefs
exec $here/ld-linux-x86-64.so.2 --library-path $here $here/bcachefs {what}"$@"
"""
_DOCKERFILE = """ARG BASE
FROM ${BASE} AS root
COPY prefix /prefix
RUN apt-get update && apt-get install -y --no-install-recommends squashfs-tools && \\
    unsquashfs -q -n -d /tree /fsbench/root.squashfs && cp -a /prefix/. /tree/ && \\
    mksquashfs /tree /root.squashfs -comp lz4 -no-progress -quiet
FROM ${BASE}
COPY prefix/opt /opt
COPY prefix/usr/sbin /usr/sbin
COPY --from=root /root.squashfs /fsbench/root.squashfs
"""


def build(docker_host: str, base: str, work: Path) -> str:
    """The image's name, made on ``base``, the benchmark image."""
    packages = [f"{name}/trixie" for name in _LIBRARIES]
    root = debian.unpacked(
        work, ("trixie", "experimental"), "bcachefs-tools/experimental", *packages
    )
    context = work / "image"
    opt, programs = context / "prefix/opt/bcachefs", context / "prefix/usr/sbin"
    opt.mkdir(parents=True)
    programs.mkdir(parents=True)
    for library in (root / "usr/lib/x86_64-linux-gnu").glob("*.so*"):
        shutil.copy(library, opt / library.name)
    shutil.copy(root / "usr/sbin/bcachefs", opt / "bcachefs")
    for name, subcommand in (("bcachefs", ""), ("mkfs.bcachefs", "format ")):
        (programs / name).write_text(_WRAPPER.format(what=subcommand))
        (programs / name).chmod(0o755)
    (context / "Dockerfile").write_text(_DOCKERFILE)
    subprocess.run(
        [
            *("docker", "build", "--quiet", "--force-rm", "--network", "host"),
            *("--build-arg", f"BASE={base}", "--tag", IMAGE, str(context)),
        ],
        env=os.environ | {"DOCKER_HOST": docker_host, "DOCKER_BUILDKIT": "0"},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return IMAGE
