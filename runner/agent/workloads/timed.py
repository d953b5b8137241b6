"""Time one command: ``timed.py TEST [--sync FOLDER] [--load NAME=N] [--cpu-load] -- COMMAND...``.

Prints what the command prints, and then one JSON object a line. ``TEST_real`` are the seconds from
its start to its end. ``TEST_cpu`` are the CPU seconds of it and of all processes it waited for, its
own and the kernel's for it (wait4(2)). ``TEST_cpu_load``, with ``--cpu-load``, is the second in
percent of the first (more than 100 where several processors worked). With ``--sync`` the time ends
when the file system of FOLDER has written everything (syncfs(2)); what the kernel's own threads do
for that is in no process's CPU time. Of a command that fails nothing is printed, and its exit
status is passed on. Stdlib only.
"""

import ctypes
import json
import os
import subprocess
import sys
import time


def sync(folder: str) -> None:
    """Have the file system of a folder write everything. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if libc.syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(descriptor)


def timed(argv: list[str], synced: str) -> tuple[int, float, float]:
    """Exit status, real seconds and CPU seconds of a command. Raises OSError."""
    started = time.monotonic_ns()
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if synced and process.returncode == 0:
        sync(synced)
    real_ns = time.monotonic_ns() - started
    return process.returncode, real_ns / 1e9, used.ru_utime + used.ru_stime


def main(arguments: list[str]) -> int:
    test, *options = arguments[: arguments.index("--")]
    argv = arguments[arguments.index("--") + 1 :]
    synced, with_load, load = "", False, {}
    while options:
        option = options.pop(0)
        if option == "--cpu-load":
            with_load = True
        elif option == "--sync":
            synced = options.pop(0)
        else:
            name, _, count = options.pop(0).partition("=")
            load[name] = int(count)
    try:
        status, real_s, cpu_s = timed(argv, synced)
    except OSError as error:
        sys.stderr.write(f"{argv[0]} cannot be timed: {error.strerror}\n")
        return 1
    if status != 0:
        return status if status > 0 else 128 - status
    values = [("real", real_s, "s"), ("cpu", cpu_s, "s")]
    if with_load:
        values.append(("cpu_load", 100 * cpu_s / real_s, "% CPU"))
    # What the command printed may lack the end of its last line.
    print()
    for kind, value, unit in values:
        entry = {"fsbench": f"{test}_{kind}", "value": f"{value:.6f}", "unit": unit, "load": load}
        print(json.dumps(entry))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
