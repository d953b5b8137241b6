"""Start and stop a set of bcache, as a host's udev rules do: ``bcache.py start --cache=/dev/vdc
--mode=writeback [--sequential-cutoff=0] /dev/vda ...`` and ``bcache.py stop --cache=/dev/vdc
/dev/vda ...``.

Stdlib only. The devices were made by make-bcache(8); the first becomes /dev/bcache0. Source:
Documentation/admin-guide/bcache.rst, register, stop, state, cache_mode, sequential_cutoff.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

LIMIT_S = 50.0
LOOK_EVERY_S = 0.1
WORDS = ("writethrough", "writeback", "writearound")


class BcacheError(Exception):
    """What was waited for did not come; the text says what."""


def folder_of(device: str) -> Path:
    """What the kernel says of a device as a member of a set; there as long as it is one."""
    number = Path(device).stat().st_rdev
    return Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}", "bcache")


def register(device: str) -> None:
    if not folder_of(device).exists():
        Path("/sys/fs/bcache/register").write_text(device)
        wait(lambda: folder_of(device).exists(), f"{device} is not taken as a member of bcache.")


def start(cache: str, devices: "list[str]", mode: str, cutoff: "int | None") -> None:
    """All on the cache. Raises BcacheError, OSError."""
    register(cache)
    for number, device in enumerate(devices):
        register(device)
        folder = Path("/sys/block", f"bcache{number}", "bcache")
        wait(
            partial(is_same, folder, folder_of(device)), f"{device} has not become bcache{number}."
        )
        wait(partial(is_attached, folder), f"{device} is not attached to its cache.")
        (folder / "cache_mode").write_text(mode)
        if cutoff is not None:
            (folder / "sequential_cutoff").write_text(str(cutoff))


def is_same(folder: Path, member: Path) -> bool:
    return folder.exists() and folder.resolve() == member.resolve()


def is_attached(folder: Path) -> bool:
    return (folder / "state").read_text().strip() in ("clean", "dirty")


def stop(cache: str, devices: "list[str]") -> None:
    """Whatever is still in a cache is not written back: the devices are wiped behind this."""
    for device in devices:
        end(folder_of(device), "stop", f"{device} is still a member of bcache.")
    end(folder_of(cache), "set/stop", f"The set on {cache} does not stop.")


def end(folder: Path, word: str, failure: str) -> None:
    if folder.exists():
        (folder / word).write_text("1")
        wait(lambda: not folder.exists(), failure)


def wait(is_so: "Callable[[], bool]", failure: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not is_so():
        if time.monotonic() > deadline:
            raise BcacheError(failure)
        time.sleep(LOOK_EVERY_S)


def main(arguments: "list[str]") -> int:
    parser = argparse.ArgumentParser(prog="fsbench-bcache")
    parser.add_argument("do", choices=("start", "stop"))
    parser.add_argument("--cache", required=True)
    parser.add_argument("--mode", choices=WORDS, default=WORDS[0])
    parser.add_argument("--sequential-cutoff", type=int)
    parser.add_argument("devices", nargs="+")
    options = parser.parse_args(arguments)
    try:
        if options.do == "start":
            start(options.cache, options.devices, options.mode, options.sequential_cutoff)
        else:
            stop(options.cache, options.devices)
    except (BcacheError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
