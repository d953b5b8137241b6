"""Wait until an md array is whole: ``fsbench-resync md0``. Standard library only.

Source: Documentation/admin-guide/md.rst, sync_action, sync_completed and degraded.
"""

import sys
import time
from pathlib import Path

LOOK_EVERY_S = 0.5


def read(array: Path, name: str) -> str:
    return (array / "md" / name).read_text().strip()


def wait(array: Path) -> str:
    """Why it is not whole, or nothing once it is."""
    reported = ""
    while (action := read(array, "sync_action")) != "idle":
        done, _, total = read(array, "sync_completed").partition(" / ")
        if total and done.isdigit() and f"{done}{action}" != reported:
            reported = f"{done}{action}"
            sys.stderr.write(f"\r{action}: {done} of {total} sectors")
            sys.stderr.flush()
        time.sleep(LOOK_EVERY_S)
    degraded = int(read(array, "degraded"))
    return f"{array.name} lacks {degraded} of its devices." if degraded else ""


def main(arguments: "list[str]") -> int:
    try:
        problem = wait(Path("/sys/block") / arguments[0])
    except (OSError, ValueError, IndexError) as error:
        problem = f"The array cannot be looked at: {error}"
    if problem:
        sys.stderr.write(f"\n{problem}\n")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
