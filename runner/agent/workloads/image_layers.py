"""Unpack the layers of a container image, as a container engine does when it pulls one.

    image_layers.py FOLDER --layers N --files N --seed N [--compress-percent N]
                    [--dedupe-percent N] [--new-data]

The layers are made first, as tar files in a folder of their own next to the measured file system.
Each has ``files`` files of 100 bytes to 1 MiB (evenly spread over the logarithm of the size), in
folders of thirty. One in ten is a symbolic link and one in twenty a hard link. A later layer also
replaces a tenth of the files of the one before and removes a twentieth by a whiteout (``.wh.NAME``,
OCI image specification, "Representing changes"). Then each is unpacked over the others by tar and
its whiteouts are carried out. Prints the seconds of all of it with everything on the disk
(syncfs), and the entries a second, one JSON object a line. Files are pieces of the same two
megabytes of random bytes unless other data are asked for (``contents``). Stdlib only.
"""

import argparse
import io
import math
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)
from runner.agent.workloads.contents import Contents, add_arguments
from runner.agent.workloads.latencies import print_number
from runner.agent.workloads.timed import sync

SMALLEST, LARGEST = 100, 2**20
FILES_IN_A_FOLDER = 30
MEAN_BYTES = (LARGEST - SMALLEST) / math.log(LARGEST / SMALLEST)
WHITEOUT = ".wh."
# A folder of its own in here, made so that nobody else can have made it before (mkdtemp).
BESIDE = "/var/tmp"  # noqa: S108


def name_of(layer: int, number: int) -> str:
    return f"layer{layer:02d}/{number // FILES_IN_A_FOLDER:05d}/{number:07d}"


def make_layer(path: Path, layer: int, files: int, lots: random.Random, content: Contents) -> int:
    """Write one layer; gives the entries it has."""
    entries = 0
    with tarfile.open(path, "w") as archive:
        for number in range(files):
            entries += 1
            member = tarfile.TarInfo(name_of(layer, number))
            lot = lots.random()
            if number % FILES_IN_A_FOLDER and lot < 0.1:
                member.type, member.linkname = tarfile.SYMTYPE, f"{number - 1:07d}"
                archive.addfile(member)
            elif number % FILES_IN_A_FOLDER and lot < 0.15:
                # To the first of its folder, which is always a file.
                first = number - number % FILES_IN_A_FOLDER
                member.type, member.linkname = tarfile.LNKTYPE, name_of(layer, first)
                archive.addfile(member)
            else:
                _add(archive, member, lots, content)
        if layer:
            # First ones of folders are what hard links are to: neither replaced nor removed here.
            others = [number for number in range(files) if number % FILES_IN_A_FOLDER]
            chosen = lots.sample(others, max(1, len(others) * 3 // 20)) if others else []
            for place, number in enumerate(chosen):
                entries += 1
                before = name_of(layer - 1, number)
                if place % 3:
                    _add(archive, tarfile.TarInfo(before), lots, content)
                else:
                    folder, _, name = before.rpartition("/")
                    archive.addfile(tarfile.TarInfo(f"{folder}/{WHITEOUT}{name}"))
    return entries


def _add(
    archive: tarfile.TarFile, member: tarfile.TarInfo, lots: random.Random, content: Contents
) -> None:
    member.size = int(SMALLEST * (LARGEST / SMALLEST) ** lots.random())
    # Drawn in any case: sizes and names are those of a seed, whatever the data are.
    start = lots.randrange(len(content.same) - member.size)
    usual = content.same[start : start + member.size]
    data = content.piece(member.size) if content.is_new else usual
    archive.addfile(member, io.BytesIO(data))


def unpack(layers: list[Path], folder: str) -> None:
    """Layer over layer. Raises OSError, CalledProcessError."""
    for path in layers:
        # A file that is there is removed first: it may be a link to another.
        argv = ["tar", "-x", "-f", str(path), "-C", folder, "--unlink-first"]
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
        for marker in sorted(Path(folder).rglob(f"{WHITEOUT}*")):
            marker.with_name(marker.name.removeprefix(WHITEOUT)).unlink(missing_ok=True)
            marker.unlink()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    for name, default in (("layers", 3), ("files", 300), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    lots = random.Random(options.seed)  # noqa: S311 (no secret)
    try:
        with tempfile.TemporaryDirectory(prefix="fsbench-layers-", dir=BESIDE) as beside:
            needed = int(options.layers * options.files * MEAN_BYTES * 1.3)
            if shutil.disk_usage(beside).free < needed + 2**28:
                sys.stderr.write(
                    f"{BESIDE} where the run happens has no room for {needed / 2**20:.0f} MiB of "
                    "layers: ask for fewer or smaller ones\n"
                )
                return 1
            content = Contents(options, lots.randbytes(2 * LARGEST), str(options.seed))
            layers = [Path(beside, f"{number}.tar") for number in range(options.layers)]
            entries = sum(
                make_layer(path, number, options.files, lots, content)
                for number, path in enumerate(layers)
            )
            os.mkdir(options.folder)  # noqa: PTH102
            sync(beside)
            started = time.monotonic_ns()
            unpack(layers, options.folder)
            sync(options.folder)
            took_s = (time.monotonic_ns() - started) / 1e9
    except subprocess.CalledProcessError as error:
        return error.returncode or 1
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    load = {"files": options.files * options.layers}
    print_number("image_unpack_real", f"{took_s:.6f}", "s", load)
    print_number("image_unpack", f"{entries / took_s:.6f}", "files/s", load)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
