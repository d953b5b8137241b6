"""What `fsbench compare` of 40 fio files costs from a cold start, against loading its libraries.

    .venv/bin/python -m benchmarks.comparing_files [--files 40] [--blocks 7] [FSBENCH]

FSBENCH is the command to measure; by default it is this checkout's client. Each block runs the
comparison, and a Python that only loads NumPy and SciPy's special functions, in turn. It prints
processor seconds, memory and the ratio of both processes' seconds with its 95% interval over the
blocks. It exits with 1 if the ratio's lower end is above MOST_RATIO or memory above MOST_MB.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from fsbench_web.core.stats.intervals import interval

MOST_RATIO = 5.0
MOST_MB = 150.0
ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "tests" / "core" / "formats" / "samples" / "fio-3.33-json.txt"
LIBRARIES = "import numpy, scipy.special"
_RATES = ("bw", "bw_bytes", "iops")


def main() -> int:
    """Print the figures; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", nargs="?", default="")
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--blocks", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), options.files)
        own = [options.command] if options.command else [sys.executable, "-m", "fsbench"]
        compare = [*own, "compare", f"{folder}/ext4", f"{folder}/xfs"]
        loading = [sys.executable, "-c", LIBRARIES]
        measure(compare)  # compiles what was not compiled, and reads what is not cached
        blocks = [(measure(compare), measure(loading)) for _ in range(options.blocks)]
    seconds = [ours[0] for ours, _ in blocks]
    memory_mb = max(ours[1] for ours, _ in blocks)
    ratios = [ours[0] / theirs[0] for ours, theirs in blocks]
    print(f"{options.files} files: {min(seconds):.2f} to {max(seconds):.2f} s of a processor")
    print(f"memory: {memory_mb:.0f} MB, at most {MOST_MB:.0f}")
    found = interval(ratios)
    low, high = (found.low, found.high) if found else (min(ratios), max(ratios))
    print(f"ratio to loading NumPy and SciPy: {low:.1f} to {high:.1f}, at most {MOST_RATIO:g}")
    return int(low > MOST_RATIO or memory_mb > MOST_MB)


def write_files(folder: Path, count: int) -> None:
    """Half of the files for each of two entries, rates within 3%; one entry is 12% faster."""
    text = SAMPLE.read_text()
    output = json.loads(text[text.index("{") :])
    rng = random.Random(5)
    for entry, speed in (("ext4", 1.0), ("xfs", 1.12)):
        (folder / entry).mkdir()
        for number in range(count // 2):
            scaled = scale(output, speed * rng.uniform(0.97, 1.03))
            (folder / entry / f"run-{number + 1}.json").write_text(json.dumps(scaled, indent=1))


def scale(value: Any, factor: float) -> Any:
    """The same output of fio with other rates."""
    if isinstance(value, list):
        return [scale(entry, factor) for entry in value]
    if not isinstance(value, dict):
        return value
    return {
        name: type(entry)(entry * factor)
        if name in _RATES and isinstance(entry, int | float)
        else scale(entry, factor)
        for name, entry in value.items()
    }


def measure(argv: list[str]) -> tuple[float, float]:
    """Processor seconds and peak memory in MB of a process. Raises SystemExit where it fails."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'client'}{os.pathsep}{ROOT}"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a cold start is not a first one
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{argv[0]} ended with {process.returncode}.")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
