"""One phase of Mongo on a tree of small files: ``mongo.py PHASE FOLDER BASE_BYTES TOTAL_KB SEED``
and the options of contents.py, which say what is written.

Namesys's Mongo fills a tree with files around a base size, and times what is done to all of them.
Each phase goes on with what the one before has left: create, then copy (the tree once more). Append
adds half of its size to each file of the first tree. Modify rewrites the second tenth of each of
these files, and overwrite all of it. Read, stats, rename and delete are of both trees.

A phase ends with syncfs: what is timed is on the disk. Stdlib only. Prints the seconds, and the CPU
seconds of this process with what it has the kernel do, one JSON object a line. What it was done to
goes to standard error. File sizes and folders follow from the seed alone, so that the phases may be
processes of their own, with the file system remounted between them.
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Iterator

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)
from runner.agent.workloads.contents import Contents, add_arguments
from runner.agent.workloads.timed import sync

PHASES = ("create", "copy", "append", "modify", "overwrite", "read", "stats", "rename", "delete")
FILES_IN_A_FOLDER = 100
WRITE_BYTES = 4096
# Four of five files are at most as large as the base size. Each further step is tenfold, and has
# the same share of the rest; no file has more than a tenth of all bytes.
SMALL_SHARE = 0.8
STEP = 10
LARGEST_SHARE = 10


def sizes(base_bytes: int, total_bytes: int, seed: int) -> list[int]:
    """The sizes of the files to create, until ``total_bytes`` are used up; 1 byte or more each."""
    lots = random.Random(f"{seed}/{base_bytes}/{total_bytes}")  # noqa: S311 (no secret)
    largest = max(total_bytes // LARGEST_SHARE, base_bytes)
    file_sizes: list[int] = []
    left = total_bytes
    while left > 0:
        low, high = 0, base_bytes
        while high < largest and lots.random() >= SMALL_SHARE:
            low, high = high, high * STEP
        size = min(lots.randint(low + 1, max(high, low + 1)), largest, left)
        file_sizes.append(size)
        left -= size
    return file_sizes


def files(top: str) -> Iterator[str]:
    """Every file below, folder by folder, in the order of names."""
    for folder in sorted(os.listdir(top)):  # noqa: PTH208 (100,000s of files: plain os is quicker)
        path = f"{top}/{folder}"
        for name in sorted(os.listdir(path)):  # noqa: PTH208
            yield f"{path}/{name}"


def _write(descriptor: int, size: int, contents: Contents) -> None:
    while size > 0:
        size -= os.write(descriptor, contents.piece(min(size, WRITE_BYTES)))


def create(top: str, file_sizes: list[int], contents: Contents) -> int:
    os.mkdir(top)  # noqa: PTH102
    for number, size in enumerate(file_sizes):
        folder = f"{top}/{number // FILES_IN_A_FOLDER:06d}"
        if number % FILES_IN_A_FOLDER == 0:
            os.mkdir(folder)  # noqa: PTH102
        descriptor = os.open(f"{folder}/{number:08d}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        _write(descriptor, size, contents)
        os.close(descriptor)
    return len(file_sizes)


def copy(top: str, other: str) -> int:
    count = 0
    os.mkdir(other)  # noqa: PTH102
    for folder in sorted(os.listdir(top)):  # noqa: PTH208
        os.mkdir(f"{other}/{folder}")  # noqa: PTH102
    for path in files(top):
        source = os.open(path, os.O_RDONLY)
        target = os.open(f"{other}{path[len(top) :]}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        while data := os.read(source, 65536):
            while data:
                data = data[os.write(target, data) :]
        os.close(source)
        os.close(target)
        count += 1
    return count


def append(top: str, contents: Contents) -> int:
    count = 0
    for path in files(top):
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        _write(descriptor, max(os.fstat(descriptor).st_size // 2, 1), contents)
        os.close(descriptor)
        count += 1
    return count


def modify(top: str, contents: Contents) -> int:
    count = 0
    for path in files(top):
        descriptor = os.open(path, os.O_WRONLY)
        size = os.fstat(descriptor).st_size
        os.lseek(descriptor, size // 10, os.SEEK_SET)
        _write(descriptor, max(size // 10, 1), contents)
        os.close(descriptor)
        count += 1
    return count


def overwrite(top: str, contents: Contents) -> int:
    count = 0
    for path in files(top):
        descriptor = os.open(path, os.O_WRONLY)
        _write(descriptor, os.fstat(descriptor).st_size, contents)
        os.close(descriptor)
        count += 1
    return count


def read(tops: list[str]) -> int:
    count = 0
    for top in tops:
        for path in files(top):
            descriptor = os.open(path, os.O_RDONLY)
            while os.read(descriptor, 65536):
                pass
            os.close(descriptor)
            count += 1
    return count


def stats(tops: list[str]) -> int:
    count = 0
    for top in tops:
        for path in files(top):
            os.stat(path)  # noqa: PTH116
            count += 1
    return count


def rename(tops: list[str]) -> int:
    count = 0
    for top in tops:
        for path in files(top):
            os.rename(path, f"{path}.r")  # noqa: PTH104
            count += 1
    return count


def delete(tops: list[str]) -> int:
    count = 0
    for top in tops:
        for path in files(top):
            os.unlink(path)  # noqa: PTH108
            count += 1
        for folder in sorted(os.listdir(top)):  # noqa: PTH208
            os.rmdir(f"{top}/{folder}")  # noqa: PTH106
        os.rmdir(top)  # noqa: PTH106
    return count


def run(
    phase: str, folder: str, base_bytes: int, total_bytes: int, seed: int, contents: Contents
) -> int:
    """Carry out one phase; returns how many files it was. Raises OSError."""
    tops = [f"{folder}/tree-{base_bytes}", f"{folder}/copy-{base_bytes}"]
    if phase == "create":
        return create(tops[0], sizes(base_bytes, total_bytes, seed), contents)
    if phase == "copy":
        return copy(*tops)
    if phase in ("append", "modify", "overwrite"):
        writers = {"append": append, "modify": modify, "overwrite": overwrite}
        return writers[phase](tops[0], contents)
    return {"read": read, "stats": stats, "rename": rename, "delete": delete}[phase](tops)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("phase", choices=PHASES)
    parser.add_argument("folder")
    for name in ("base_bytes", "total_kb", "seed"):
        parser.add_argument(name, type=int)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    phase, folder, base_bytes = options.phase, options.folder, options.base_bytes
    total_bytes = options.total_kb * 1024
    contents = Contents(options, os.urandom(WRITE_BYTES), f"{options.seed} {phase}")
    started, cpu_started = time.monotonic_ns(), time.process_time_ns()
    try:
        count = run(phase, folder, base_bytes, total_bytes, options.seed, contents)
        sync(folder)
    except OSError as error:
        sys.stderr.write(f"The phase {phase} cannot be done: {error.strerror}\n")
        return 1
    real_ns, cpu_ns = time.monotonic_ns() - started, time.process_time_ns() - cpu_started
    for kind, nanoseconds in (("real", real_ns), ("cpu", cpu_ns)):
        value = {
            "fsbench": f"mongo_{phase}_{kind}",
            "value": f"{nanoseconds / 1e9:.6f}",
            "unit": "s",
            "load": {"bytes": base_bytes},
        }
        print(json.dumps(value))
    sys.stderr.write(f"{phase}: {count} files\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
