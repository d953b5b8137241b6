"""Threads that nobody asked for."""

import os
import subprocess
import sys


def test_numpy_starts_no_threads_of_its_own() -> None:
    """On a host of many processors they would be as many, and spin beside a benchmark."""
    environment = {name: os.environ[name] for name in os.environ if name != "OPENBLAS_NUM_THREADS"}
    script = (
        "import fsbench_web, numpy, os; numpy.ones((300, 300)) @ numpy.ones((300, 300));"
        " print(len(os.listdir('/proc/self/task')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"
