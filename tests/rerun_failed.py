"""Run pytest; where a few tests fail, run those once more by themselves: ``python -m
tests.rerun_failed``.

Seven thousand tests with daemons, kernels and browsers on two busy cores fail by chance now and
then, as those of CPython do, whose ``-m test --rerun`` does the same. What fails alone too, more
than ``FEW`` failures, and anything that keeps the tests from being run is refused as ever. What
passes alone is told last, with its name: it is a defect of the suite, or of the program, to mend.
"""

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

# More failures than this at once are no chance.
FEW = 3


def main(options: list[str]) -> int:
    """Run pytest with these options; its exit code, or 0 where all that failed passed alone."""
    with tempfile.TemporaryDirectory(prefix="fsbench-again-") as folder:
        code = run(*options, "-o", f"cache_dir={folder}")
        failed = failed_tests(Path(folder))
    if code != pytest.ExitCode.TESTS_FAILED or not 0 < len(failed) <= FEW:
        return code
    print(f"== {len(failed)} failed; once more, alone: {', '.join(failed)}", flush=True)
    # Without the options: what they leave out they might leave out of these, too.
    code = run("-q", "-p", "no:cacheprovider", *failed)
    if code == pytest.ExitCode.OK:
        print("== UNSURE TESTS. These failed above and passed alone; find out why, and mend it:")
        print("\n".join(f"   {name}" for name in failed), flush=True)
    return code


def run(*options: str) -> int:
    """Exit code of pytest with these options, in a process of its own."""
    child = subprocess.Popen([sys.executable, "-m", "pytest", *options])
    signal.signal(signal.SIGTERM, lambda number, _: child.send_signal(number))
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:  # the terminal interrupted both: its fixtures end first
            continue


def failed_tests(cache: Path) -> list[str]:
    """Names of the tests that pytest's cache has as failed. Empty where it has none."""
    last_failed = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(last_failed.read_text())) if last_failed.exists() else []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
