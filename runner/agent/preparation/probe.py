"""Measure a LUN itself with fio, without a file system: ``probe.py --seconds N [--whole] DEVICE``.

Everything behind the first MiB of DEVICE is lost; what stands before is the label by which fsbench
knows its own LUNs, should this be killed before mkfs. Stdlib only and one file.

First 1 MiB blocks are written one after the other for a sixth of the time. All else happens in that
region, so that every read is of a block that was written (a solid-state disk answers for others
without reading). ``--whole`` takes the whole device instead, where all of it was written before. A
benchmark's files lie in a part of a disk as well.

Then come rounds. A round is one short burst of every point, reads and then writes, each in an order
of its own, at places of its own, after a flush. After three rounds only points with a spread of
more than SPREAD_PERCENT go on. Spread is the half-width of the 95% interval of the mean of their
bursts (Student's t), in percent of the mean. The probe ends when there is none, or with the time.

Prints one JSON object: {"probe": 1, "fio", "device_bytes", "from_byte", "to_byte", "seconds",
"took_s", "seed", "points": [{"pattern", "direction", "block_bytes", "depth", "flushed", "iops":
[of each burst], "latency_ns": [mean of each burst], "flush_ns": [...]}]}. Exit status: 0, or 1 with
a sentence.
"""

import argparse
import fcntl
import json
import os
import random
import stat
import struct
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

MIB = 1024 * 1024
FROM_BYTE = MIB
SPREAD_PERCENT = 3.0
LEAST_BURSTS = 3
LAYOUT_SHARE = 1 / 6
LEAST_BURST_S, MOST_BURST_S = 0.05, 1.0
# What fio needs around a burst: it looks ten times a second whether its threads have ended.
AROUND_BURST_S = 0.25
# The rest of the time is for further bursts of what is not sure.
ROUNDS_SHARE = 0.85
# In less time only the ends are measured (depths 1 and 32, blocks of 4 and 64 KiB), and in less
# than the second only what waits for each request.
ALL_POINTS_FROM_S, ENDS_FROM_S = 30, 5
BLKGETSIZE64 = 0x80081272
# What one queue of one thread cannot ask for, several can: so many at most share a depth.
MOST_JOBS = 4
# 0.975 quantiles of Student's t by degrees of freedom from 1; beyond them the last one.
STUDENT = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)


class ProbeError(Exception):
    """The LUN cannot be measured; the text says why."""


@dataclass
class Point:
    """What is measured: ``flushed`` writes are each followed by a flush of the device."""

    pattern: str
    direction: str
    block_bytes: int
    depth: int
    flushed: bool = False
    iops: list[float] = field(default_factory=list)
    latency_ns: list[float] = field(default_factory=list)
    flush_ns: list[float] = field(default_factory=list)

    @property
    def spread_percent(self) -> float:
        """Infinite for fewer than two bursts, and for one that did nothing."""
        count = len(self.iops)
        mean = sum(self.iops) / count if count else 0.0
        if count < 2 or mean == 0:
            return float("inf")
        deviation = (sum((value - mean) ** 2 for value in self.iops) / (count - 1)) ** 0.5
        quantile = STUDENT[min(count - 1, len(STUDENT)) - 1]
        return 100 * float(quantile * deviation / count**0.5 / mean)

    @property
    def is_sure(self) -> bool:
        return len(self.iops) >= LEAST_BURSTS and self.spread_percent <= SPREAD_PERCENT

    def job(self, name: str, burst_s: float, region: tuple[int, int], chance: random.Random) -> str:
        """A section of fio's job file."""
        first, end = region
        # A sequential burst begins anywhere in the first half: the device's own cache shall not
        # know its blocks from the burst before. fio goes back to there at the end of the region.
        if self.pattern == "sequential":
            first += chance.randrange(max((end - first) // 2 // MIB, 1)) * MIB
        jobs = (
            1 if self.pattern == "sequential" else min(self.depth, os.cpu_count() or 1, MOST_JOBS)
        )
        word = {"sequential": "", "random": "rand"}[self.pattern] + self.direction
        lines = [
            *(f"[{name}]", "stonewall", f"rw={word}", f"bs={self.block_bytes}"),
            *(f"offset={first}", f"size={end - first}", f"runtime={round(burst_s * 1000)}ms"),
            *(f"numjobs={jobs}", f"iodepth={self.depth // jobs}"),
            f"randseed={chance.randrange(2**31)}",
            *(("ioengine=psync", "fsync=1") if self.flushed else ("ioengine=libaio",)),
        ]
        return "\n".join(lines) + "\n"


def all_points(seconds: float) -> list[Point]:
    """What is measured of a LUN in so many seconds."""
    is_all = seconds >= ALL_POINTS_FROM_S
    sizes, depths = ([4, 8, 16, 64], [1, 8, 32]) if is_all else ([4, 64], [1, 32])
    if seconds < ENDS_FROM_S:
        sizes, depths = [4], [1]
    points: list[Point] = []
    for way in ("read", "write"):
        points += [Point("sequential", way, MIB, depth) for depth in depths]
        points += [Point("sequential", way, kib * 1024, 1) for kib in (4, 64) if is_all]
        points += [Point("random", way, kib * 1024, depth) for kib in sizes for depth in depths]
        points += [Point("random", way, MIB, depth) for depth in (1, 32) if is_all]
    return [*points, Point("random", "write", 4096, 1, flushed=True)]


def open_device(path: str) -> tuple[int, int]:
    """An exclusive descriptor, while which nobody can mount the device, and its size in bytes."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        raise ProbeError(f"{path} cannot be opened for itself alone: {error.strerror}") from None
    if not stat.S_ISBLK(os.fstat(descriptor).st_mode):
        raise ProbeError(f"{path} is not a block device")
    size = fcntl.ioctl(descriptor, BLKGETSIZE64, b"\0" * 8)
    return descriptor, int(struct.unpack("Q", size)[0])


def fio(device: str, sections: str) -> list[dict[str, Any]]:
    """Run a job file and return its groups of jobs."""
    job_file = "\n".join(
        (
            "[global]",
            f"filename={device.replace(':', chr(92) + ':')}",
            # One that was unplugged is not made as a file, which would fill the memory of /dev.
            *("allow_file_create=0", "direct=1", "thread=1", "time_based=1", "norandommap=1"),
            *("randrepeat=0", "group_reporting=1", "exitall_on_error=1", sections),
        )
    )
    done = subprocess.run(
        ["fio", "--output-format=json", "-"],
        input=job_file.encode(),
        capture_output=True,
        check=False,
    )
    text = done.stdout.decode("utf-8", "replace")
    lines = (done.stderr.decode("utf-8", "replace") or text).strip().splitlines()
    if done.returncode != 0 or "{" not in text:
        raise ProbeError(f"fio ended with exit status {done.returncode}: {(lines or ['?'])[0]}")
    jobs: list[dict[str, Any]] = json.loads(text[text.index("{") :])["jobs"]
    if failed := [job for job in jobs if job["error"]]:
        raise ProbeError(f"fio failed in {failed[0]['jobname']}: {os.strerror(failed[0]['error'])}")
    return jobs


def write_region(device: str, seconds: float, end: int) -> int:
    """Write from FROM_BYTE on for so long, or to the end. Returns where the region ends."""
    section = (
        f"[layout]\nrw=write\nbs={MIB}\niodepth=8\nioengine=libaio\noffset={FROM_BYTE}\n"
        f"size={end - FROM_BYTE}\nruntime={round(seconds * 1000)}ms\ntime_based=0\n"
        "refill_buffers=1\n"
    )
    written = int(fio(device, section)[0]["write"]["io_bytes"])
    return FROM_BYTE + max(written // MIB, 1) * MIB


def measure(device: str, seconds: float, is_whole: bool, chance: random.Random) -> dict[str, Any]:
    """The whole document but for the version of fio and the seed."""
    began = time.monotonic()
    descriptor, size = open_device(device)
    try:
        end = size // MIB * MIB
        if end <= FROM_BYTE + MIB:
            raise ProbeError(f"{device} is too small: {size} bytes")
        to_byte = write_region(device, seconds * LAYOUT_SHARE, end)
        if is_whole:
            to_byte = end
        points = all_points(seconds)
        each_s = seconds * (1 - LAYOUT_SHARE) * ROUNDS_SHARE / len(points) / LEAST_BURSTS
        burst_s = min(max(each_s - AROUND_BURST_S, LEAST_BURST_S), MOST_BURST_S)
        while waiting := [point for point in points if not point.is_sure]:
            remaining_s = seconds - (time.monotonic() - began)
            # The first round is made whatever it takes: a point without any burst says nothing.
            is_first = not points[0].iops
            fitting = len(waiting) if is_first else int(remaining_s / each_s)
            if fitting < 1:
                break
            # Those with the fewest bursts first, and of them the least sure.
            waiting.sort(key=lambda point: (len(point.iops), -point.spread_percent))
            chosen = waiting[:fitting]
            started = time.monotonic()
            for way in ("read", "write"):
                os.fsync(descriptor)
                batch = [point for point in chosen if point.direction == way]
                chance.shuffle(batch)
                if batch:
                    burst(device, batch, burst_s, (FROM_BYTE, to_byte), chance)
            each_s = (time.monotonic() - started) / len(chosen)
    finally:
        os.close(descriptor)
    return {
        "probe": 1,
        "device_bytes": size,
        "from_byte": FROM_BYTE,
        "to_byte": to_byte,
        "seconds": seconds,
        "took_s": round(time.monotonic() - began, 3),
        "burst_s": round(burst_s, 4),
        "points": [asdict(point) for point in points],
    }


def burst(
    device: str,
    points: list[Point],
    burst_s: float,
    region: tuple[int, int],
    chance: random.Random,
) -> None:
    """One burst of each of these points, one after the other."""
    sections = "".join(
        point.job(f"p{number}", burst_s, region, chance) for number, point in enumerate(points)
    )
    jobs = {job["jobname"]: job for job in fio(device, sections)}
    for number, point in enumerate(points):
        job = jobs[f"p{number}"]
        result = job[point.direction]
        if not result["total_ios"]:
            raise ProbeError(f"nothing was done within {burst_s * 1000:.0f} ms: give it more time")
        point.iops.append(round(float(result["iops"]), 3))
        point.latency_ns.append(round(float(result["lat_ns"]["mean"])))
        if point.flushed:
            point.flush_ns.append(round(float(job["sync"]["lat_ns"]["mean"])))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="fsbench-probe")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("device")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**31)
    try:
        version = subprocess.run(
            ["fio", "--version"], capture_output=True, text=True, check=False
        ).stdout.strip()
        document = measure(options.device, options.seconds, options.whole, random.Random(seed))  # noqa: S311
    except FileNotFoundError:
        sys.stderr.write("fio is not installed\n")
        return 1
    except (ProbeError, OSError, ValueError, LookupError, TypeError) as error:
        sys.stderr.write(f"The LUN was not measured: {error}\n")
        return 1
    print(json.dumps(document | {"fio": version, "seed": seed}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
