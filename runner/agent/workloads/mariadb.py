"""A MariaDB of a run's own on the measured file system, and sysbench's OLTP in it.

    mariadb.py create FOLDER --tables N --rows N
    mariadb.py run FOLDER --script NAME --tables N --rows N --threads N --seconds S --warm-up S

``--set NAME=VALUE`` is a setting of the server. Each command starts the server and ends it in
order; all that it keeps is in FOLDER, its socket in a folder of its own that goes with it, and it
listens on no network. ``run`` prints what sysbench prints. Stdlib only.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCRIPTS = ("oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_update_non_index")
DATABASE = "sbtest"
START_S = 120.0


class MariadbFailed(Exception):
    """A sentence that says what is wrong."""


def run_quietly(argv: list[str], step: str) -> None:
    """Run a command and drop its output. Raises MariadbFailed with its last line."""
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace")
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise MariadbFailed(f"{step} failed: {lines[-1].strip()[:300] if lines else 'no output'}")


@contextmanager
def server(data: str, settings: list[str]) -> Iterator[str]:
    """Start it; gives its socket. Ended by SIGTERM, which writes everything (mariadbd(8))."""
    with tempfile.TemporaryDirectory(prefix="fsbench-mariadb-") as folder:
        socket, log = f"{folder}/socket", Path(folder, "log")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    *("mariadbd", "--no-defaults", "--user=root", f"--datadir={data}"),
                    *(f"--socket={socket}", f"--pid-file={folder}/pid", "--skip-networking"),
                    *(f"--{setting}" for setting in settings),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            _wait_until_ready(process, socket, log)
            yield socket
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
        if process.returncode:
            raise MariadbFailed(f"the server did not end in order: {_last(log)}")


def _wait_until_ready(process: "subprocess.Popen[bytes]", socket: str, log: Path) -> None:
    end = time.monotonic() + START_S
    probe = ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "-e", "SELECT 1"]
    while subprocess.run(probe, capture_output=True).returncode != 0:
        if process.poll() is not None or time.monotonic() > end:
            raise MariadbFailed(f"the server does not start: {_last(log)}")
        time.sleep(0.05)


def _last(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1].strip()[:300] if lines else "it said nothing"


def sysbench(script: str, socket: str, options: argparse.Namespace, *command: str) -> list[str]:
    return [
        *("sysbench", script, "--db-driver=mysql", f"--mysql-socket={socket}"),
        *("--mysql-user=root", f"--mysql-db={DATABASE}", f"--rand-seed={options.seed}"),
        *(f"--tables={options.tables}", f"--table-size={options.rows}", *command),
    ]


def create(options: argparse.Namespace) -> None:
    os.mkdir(options.folder)  # noqa: PTH102
    data = f"{options.folder}/data"
    run_quietly(
        [
            *("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root"),
            *("--auth-root-authentication-method=normal", "--skip-test-db"),
        ],
        "mariadb-install-db",
    )
    with server(data, options.set) as socket:
        client = ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root"]
        run_quietly([*client, "-e", f"CREATE DATABASE {DATABASE}"], "making the database")
        run_quietly(
            [*sysbench("oltp_read_write", socket, options), "prepare"], "sysbench's preparation"
        )


def run(options: argparse.Namespace) -> int:
    """Exit status of sysbench."""
    with server(f"{options.folder}/data", options.set) as socket:
        base = sysbench(options.script, socket, options, f"--threads={options.threads}")
        if options.warm_up:  # --warmup-time came with sysbench 1.1
            seed = options.seed if options.warm_up_seed is None else options.warm_up_seed
            # The last of two is taken.
            warm_up = (f"--rand-seed={seed}", f"--time={options.warm_up}", "run")
            run_quietly([*base, *warm_up], "sysbench's warm-up")
        # Its own line says which test it ran; what it prints does not.
        print(f"sysbench {options.script} --threads={options.threads} run", flush=True)
        done = subprocess.run([*base, f"--time={options.seconds}", "--percentile=99", "run"])
        return done.returncode


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("create", "run"))
    parser.add_argument("folder")
    parser.add_argument("--script", choices=SCRIPTS, default=SCRIPTS[0])
    for name, default in (
        *(("tables", 1), ("rows", 1000), ("threads", 1), ("seconds", 1)),
        *(("warm-up", 0), ("seed", 1)),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--warm-up-seed", type=int)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args(arguments)
    try:
        if options.what == "create":
            create(options)
            return 0
        return run(options)
    except (MariadbFailed, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
