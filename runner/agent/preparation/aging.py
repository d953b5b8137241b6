"""Age a new file system: fill it, then create, delete and rewrite files for a long time.

    aging.py FOLDER --percent P --rounds N [--extents E] --seed N

It writes files until ``percent`` of the file system are in use. Sizes are lognormal (Agrawal et
al., "A Five-Year Study of File-System Metadata", FAST 2007): the logarithm's mean is 9.48 and its
deviation 2.46. The largest has a fiftieth of the file system at most. Then, as Geriatrix does it
(Kadekodi et al., ATC 2018), files drawn by lot are deleted and others created, so that the fill
stays what it is. Every tenth is rewritten in place. A round is as many bytes as the fill has; there
are ``rounds`` of them, or fewer where the files have ``extents`` hundredths of an extent on average
before. What is done follows from the seed and the size alone.

Each file is on the disk before the next one, so that its blocks are chosen in what is free then.
Stdlib only.
"""

import argparse
import os
import random
import sys
from dataclasses import dataclass, field

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)
from runner.agent.preparation.layout import extents_below

LOG_MEAN, LOG_DEVIATION = 9.48, 2.46
LARGEST_SHARE = 50
CHUNK_BYTES = 256 * 1024
FILES_IN_A_FOLDER = 200
REWRITES = 0.1
# How far the fill may stray, as a share of the file system.
SLACK = 0.005


@dataclass
class Aging:
    """The files that are there, as this program made them."""

    folder: str
    generator: random.Random
    total_bytes: int
    files: list[tuple[str, int]] = field(default_factory=list)
    count: int = 0
    used_bytes: int = 0
    written_bytes: int = 0

    def __post_init__(self) -> None:
        self.content = self.generator.randbytes(8 * CHUNK_BYTES)

    def size(self) -> int:
        size = int(self.generator.lognormvariate(LOG_MEAN, LOG_DEVIATION))
        return max(1, min(size, self.total_bytes // LARGEST_SHARE))

    def create(self) -> None:
        part = f"{self.folder}/{self.count // FILES_IN_A_FOLDER:06d}"
        if self.count % FILES_IN_A_FOLDER == 0:
            os.mkdir(part, 0o700)  # noqa: PTH102 (100,000s of files: plain os is quicker)
        path, size = f"{part}/{self.count:09d}", self.size()
        self.count += 1
        self._write(path, size, os.O_CREAT | os.O_EXCL)
        self.files.append((path, size))
        self.used_bytes += size

    def delete(self) -> None:
        place = self.generator.randrange(len(self.files))
        path, size = self.files[place]
        os.unlink(path)  # noqa: PTH108
        self.files[place] = self.files[-1]
        self.files.pop()
        self.used_bytes -= size

    def rewrite(self) -> None:
        path, size = self.files[self.generator.randrange(len(self.files))]
        self._write(path, size, 0)

    def _write(self, path: str, size: int, flags: int) -> None:
        descriptor = os.open(path, os.O_WRONLY | flags, 0o600)
        try:
            left = size
            while left:
                start = self.generator.randrange(len(self.content) - CHUNK_BYTES)
                piece = memoryview(self.content)[start : start + min(left, CHUNK_BYTES)]
                left -= os.write(descriptor, piece)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
        self.written_bytes += size


def in_use(folder: str) -> tuple[int, int]:
    """(bytes in use, all bytes) of the file system."""
    room = os.statvfs(folder)
    return (room.f_blocks - room.f_bfree) * room.f_frsize, room.f_blocks * room.f_frsize


def age(options: argparse.Namespace) -> None:
    """Raises OSError."""
    os.mkdir(options.folder, 0o700)  # noqa: PTH102
    _, total = in_use(options.folder)
    aging = Aging(options.folder, random.Random(options.seed), total)  # noqa: S311 (no secret)
    goal, slack = total * options.percent // 100, int(total * SLACK)
    end = goal * (1 + options.rounds)
    next_look = 0
    while True:
        used = in_use(options.folder)[0]
        if aging.written_bytes >= next_look:
            sys.stderr.write(f"\r{min(aging.written_bytes, end)} of {end} bytes")
            sys.stderr.flush()
            next_look = aging.written_bytes + max(end // 200, 1)
        if used < goal - slack or not aging.files:
            aging.create()
            continue
        if aging.written_bytes >= end or _is_old_enough(options, aging, goal):
            break
        # Full again: so many go that the same may come.
        while aging.files and in_use(options.folder)[0] > goal - 4 * slack:
            if aging.generator.random() < REWRITES:
                aging.rewrite()
            else:
                aging.delete()
    percent = 100 * in_use(options.folder)[0] / total
    print(
        f"\n{aging.count} files made, {len(aging.files)} left with {aging.used_bytes} bytes; "
        f"{aging.written_bytes} bytes written; {percent:.1f}% of the file system in use"
    )


def _is_old_enough(options: argparse.Namespace, aging: Aging, goal: int) -> bool:
    if not options.extents or aging.written_bytes < goal:
        return False
    layout = extents_below(options.folder)
    return layout is not None and 100 * layout.extents >= options.extents * max(layout.files, 1)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    for name, default in (("percent", 50), ("rounds", 1), ("extents", 0), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    try:
        age(parser.parse_args(arguments))
    except OSError as error:
        sys.stderr.write(f"\nThe file system cannot be aged: {error.strerror}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
