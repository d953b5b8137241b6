"""Jobs per minute of a mix of small jobs, by rising numbers of tasks, on the first so many CPUs.

A mix in the manner of multiuser benchmarks, and not AIM7: its jobs are stress-ng's. Each task is a
process that runs every job of the mix once, one after another, each task in an order of its own.
All tasks start together, and the time is that of the last one. The number of tasks rises until the
rate has fallen twice, which is past its peak.

Stdlib only and one file. Prints a JSON object a line (fsbench_web.core.formats.agent_lines). Exit
status: 0, or 1 with a sentence on standard error.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

# Each about 0.05 to 0.2 seconds of a processor of 2024. File systems get most of them, as in AIM7's
# shared mix; processes, memory and arithmetic the rest.
JOBS: "tuple[tuple[str, ...], ...]" = (
    ("hdd", "--hdd-bytes", "4m", "--hdd-ops", "128"),
    ("dir", "--dir-ops", "1500"),
    ("dentry", "--dentry-ops", "2048"),
    ("rename", "--rename-ops", "2000"),
    ("seek", "--seek-size", "4m", "--seek-ops", "4000"),
    ("fallocate", "--fallocate-bytes", "4m", "--fallocate-ops", "20"),
    ("sync-file", "--sync-file-bytes", "1m", "--sync-file-ops", "10"),
    ("readahead", "--readahead-bytes", "4m", "--readahead-ops", "2000"),
    ("open", "--open-ops", "2500"),
    ("utime", "--utime-ops", "5000"),
    ("pipe", "--pipe-ops", "40000"),
    ("fork", "--fork-ops", "200"),
    ("signal", "--signal-ops", "20000"),
    ("vm", "--vm-bytes", "4m", "--vm-ops", "1000"),
    ("qsort", "--qsort-ops", "1"),
    ("cpu", "--cpu-method", "int64", "--cpu-ops", "50"),
)
FALLS = 2
START_S = 0.2


class JobFailed(Exception):
    """A job did not end well; the text is what it said."""


def run_job(job: "tuple[str, ...]", folder: str) -> None:
    """One job in its own folder. Raises JobFailed."""
    argv = ("stress-ng", "--temp-path", folder, "-q", f"--{job[0]}", "1", *job[1:])
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        raise JobFailed(f"stress-ng --{job[0]} ended with {done.returncode} and said: {lines[-1]}")


def task(number: int, folder: str, options: argparse.Namespace, start: float) -> "dict[str, Any]":
    """All jobs of one task; when it ended, on the clock of all tasks."""
    task_folder = f"{folder}/{number}"
    os.mkdir(task_folder, 0o700)  # noqa: PTH102 (plain os is what a container has)
    jobs = [*JOBS] * options.rounds
    random.Random(f"{options.seed} {number}").shuffle(jobs)  # noqa: S311
    time.sleep(max(0.0, start - time.monotonic()))
    for job in jobs:
        run_job(job, task_folder)
    return {"ended": time.monotonic(), "jobs": len(jobs)}


def jobs_per_minute(count: int, options: argparse.Namespace) -> float:
    """The rate of ``count`` tasks. Raises JobFailed."""
    folder = tempfile.mkdtemp(prefix="tasks.", dir=options.folder)
    start = time.monotonic() + START_S + count * 0.005
    children = []
    for number in range(count):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                result = task(number, folder, options, start)
            except (OSError, JobFailed) as error:
                result = {"error": str(error)}
            with os.fdopen(writer, "w") as stream:
                json.dump(result, stream)
            os._exit(0)
        os.close(writer)
        children.append((child, reader))
    ends = []
    jobs = 0
    problem = ""
    for child, reader in children:
        with os.fdopen(reader) as stream:
            text = stream.read()
        os.waitpid(child, 0)
        answer: dict[str, Any] = json.loads(text) if text else {"error": "a task was killed"}
        problem = problem or answer.get("error", "")
        if not problem:
            ends.append(answer["ended"])
            jobs += answer["jobs"]
    shutil.rmtree(folder, ignore_errors=True)
    if problem:
        raise JobFailed(problem)
    return float(60 * jobs / (max(ends) - start))


def print_rate(name: str, value: float, **load: int) -> None:
    line = {"fsbench": name, "value": f"{value:.3f}", "unit": "jobs/min", "load": load}
    print(json.dumps(line), flush=True)


def measure(options: argparse.Namespace) -> None:
    """The rates up to the peak and just past it. Raises JobFailed."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < options.cpus:
        raise JobFailed(f"{options.cpus} processors are asked for, and {len(allowed)} are there")
    os.sched_setaffinity(0, allowed[: options.cpus])
    rates: list[float] = []
    for count in options.tasks:
        rates.append(jobs_per_minute(count, options))
        print_rate("multiuser_jobs", rates[-1], cpus=options.cpus, tasks=count)
        if len(rates) - 1 - rates.index(max(rates)) >= FALLS:
            break
    print_rate("multiuser_peak", max(rates), cpus=options.cpus)
    if rates[-1] == max(rates):
        print("The rate still rose at the last number of tasks: the peak may be beyond it.")


def main(arguments: "list[str]") -> int:
    parser = argparse.ArgumentParser(prog="fsbench-multiuser")
    parser.add_argument("folder", help="the folder of the workload, which exists")
    parser.add_argument("--cpus", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--tasks", type=int, nargs="+", required=True)
    try:
        measure(parser.parse_args(arguments))
    except (OSError, JobFailed) as error:
        print(f"The mix cannot go on: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
