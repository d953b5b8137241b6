"""Source trees to copy and build, outside of the measured file system. Stdlib only.

``tree.py generated FOLDER FILES`` writes a tree of C files with a Makefile, the same each time.
``tree.py linux-source FOLDER CONFIG`` unpacks the newest /usr/src/linux-source-*.tar.xz (Debian's
package linux-source) and has ``make CONFIG`` configure it. ``tree.py read FOLDER TIMES`` reads all
files of a tree, so that it is in the cache.

A tree is kept for later runs, and made again when it was to be of something else. It is in a folder
of this user alone; others who may write there could slip in what is built.
"""

import fcntl
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

TARBALLS = Path("/usr/src")
TARBALL = re.compile(r"linux-source-([0-9.]+)\.tar\.xz")
# Unpacked, a kernel of today has 1.4 GB.
KERNEL_BYTES = 2 * 2**30
FILES_IN_A_FOLDER = 20
FUNCTIONS = 12


class TreeProblem(Exception):
    """Why there is no tree, in a sentence."""


def ensure_folder(folder: Path, stamp: str, fill: Callable[[Path], None]) -> None:
    """Have ``fill`` make the folder, unless it is there as ``stamp`` says. Raises TreeProblem."""
    top = folder.parent
    top.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = top.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise TreeProblem(f"{top} belongs to somebody else, or others may write there: remove it.")
    lock = os.open(top / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        # Runs on other disks of this host may want the same tree at the same time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp_file = folder.with_name(f"{folder.name}.stamp")
        if folder.is_dir() and stamp_file.is_file() and stamp_file.read_text("utf-8") == stamp:
            return
        part = folder.with_name(f"{folder.name}.part")
        # Else it would be the stamp of what comes now, should this be ended before its own is there
        stamp_file.unlink(missing_ok=True)
        for path in (part, folder):
            shutil.rmtree(path, ignore_errors=True)
        fill(part)
        part.rename(folder)
        stamp_file.write_text(stamp, "utf-8")
    finally:
        os.close(lock)


def generate(folder: Path, count: int) -> None:
    """A program of ``count`` C files, each of some functions that call those of the file before."""
    objects = []
    for number in range(count):
        part = folder / f"part{number // FILES_IN_A_FOLDER:03d}"
        part.mkdir(parents=True, exist_ok=True)
        (part / f"file{number:05d}.c").write_text(c_file(number), "utf-8")
        objects.append(f"{part.name}/file{number:05d}.o")
    declared = "".join(f"unsigned f{number}_0(unsigned x);\n" for number in range(count))
    (folder / "all.h").write_text(declared, "utf-8")
    last = f"f{count - 1}_{FUNCTIONS - 1}"
    main = f"unsigned {last}(unsigned x);\nint main(void) {{ return {last}(1) == 0; }}\n"
    (folder / "main.c").write_text(main, "utf-8")
    makefile = (
        f"OBJECTS = main.o {' '.join(objects)}\n"
        "CFLAGS = -O2 -I.\n"
        "all: program\n"
        "program: $(OBJECTS)\n\t$(CC) -o $@ $(OBJECTS)\n"
        "$(OBJECTS): all.h\n"
        "clean:\n\trm -f program $(OBJECTS)\n"
    )
    (folder / "Makefile").write_text(makefile, "utf-8")


def c_file(number: int) -> str:
    lines = ['#include "all.h"', ""]
    for place in range(FUNCTIONS):
        first = f"f{number - 1}_0" if number else ""
        before = f"f{number}_{place - 1}" if place else first
        seed = (number * FUNCTIONS + place) * 2654435761 % 2**32
        lines += [
            f"unsigned f{number}_{place}(unsigned x)",
            "{",
            f"    unsigned i, sum = {seed}u;",
            f"    for (i = 0; i < (x & {15 + place}u); i++) {{",
            f"        sum = (sum << {1 + place % 7}) ^ (sum >> {3 + place % 5}) ^ i;",
            f"        if (sum % {3 + number % 97}u == {place % 3}u) sum += x * {seed % 1000}u;",
            "    }",
            f"    return sum ^ {f'{before}(x + 1)' if before else 'x'};",
            "}",
            "",
        ]
    return "\n".join(lines)


def newest_tarball(folder: Path = TARBALLS) -> Path:
    """The kernel source of the highest version. Raises TreeProblem."""
    tarballs = [
        ([int(part) for part in match[1].split(".") if part], path)
        for path in folder.glob("linux-source-*.tar.xz")
        if (match := TARBALL.fullmatch(path.name))
    ]
    if not tarballs:
        raise TreeProblem(
            f"There is no {folder}/linux-source-*.tar.xz where the run happens: install the "
            "package linux-source, or build the benchmark image with KERNEL_SOURCE=yes."
        )
    return max(tarballs)[1]


def unpack(folder: Path, tarball: Path, config: str) -> None:
    free = shutil.disk_usage(folder.parent).free
    if free < KERNEL_BYTES:
        raise TreeProblem(
            f"{folder.parent} has {free / 2**20:.0f} MiB free, and a kernel source needs "
            f"{KERNEL_BYTES / 2**20:.0f} MiB there."
        )
    folder.mkdir()
    _call("tar", "-xf", str(tarball), "-C", str(folder), "--strip-components=1")
    _call("make", "-s", "-C", str(folder), config)


def _call(*argv: str) -> None:
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise TreeProblem(f"{argv[0]} cannot be started: {error.strerror}.") from None
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        # Not in the words of a full disk: those are of the file system that is measured.
        last = lines[-1].strip()[:300].replace("No space left on device", "the disk is full")
        raise TreeProblem(f"{' '.join(argv)} failed: {last}")


def read(folder: Path, times: int) -> tuple[int, int]:
    """Read all files so many times; returns how many files and bytes these are."""
    if not folder.is_dir():
        raise TreeProblem(f"There is no source tree in {folder} where the run happens.")
    files = size = 0
    for _ in range(times):
        files = size = 0
        for where, _folders, names in os.walk(folder):
            for name in names:
                path = Path(where, name)
                if path.is_symlink() or not path.is_file():
                    continue
                files += 1
                with path.open("rb") as file:
                    while data := file.read(1024 * 1024):
                        size += len(data)
    return files, size


def main(arguments: list[str]) -> int:
    kind, place, parameter = arguments
    folder = Path(place)
    try:
        if kind == "generated":
            ensure_folder(folder, f"1 {parameter}", lambda part: generate(part, int(parameter)))
        elif kind == "linux-source":
            tarball = newest_tarball()
            status = tarball.stat()
            stamp = f"{tarball} {status.st_size} {status.st_mtime_ns} {parameter}"
            ensure_folder(folder, stamp, lambda part: unpack(part, tarball, parameter))
            print(tarball.name)
        else:
            files, size = read(folder, int(parameter))
            print(f"{files} files, {size // 1024} KB")
    except TreeProblem as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    except OSError as error:
        reason = "the disk is full" if error.errno == 28 else error.strerror
        sys.stderr.write(f"The source tree {folder} cannot be made: {reason}.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
