"""A MariaDB of a run's own on the measured file system, and sysbench's OLTP in it.

    mariadb.py create FOLDER --tables N --rows N
    mariadb.py run FOLDER --script NAME --tables N --rows N --threads N --seconds S --warm-up S

``--set NAME=VALUE`` is a setting of the server. Each command starts the server and ends it in
order. All that it keeps is in FOLDER, its socket in a folder of its own that goes with it. It
listens on no network. ``run`` prints what sysbench prints. Stdlib only.
"""

import argparse
import os
import signal
import subprocess
import sys
from contextlib import AbstractContextManager

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)
from runner.agent.workloads import server as own_server
from runner.agent.workloads.server import ServerFailed, run_quietly

SCRIPTS = ("oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_update_non_index")
DATABASE = "sbtest"


def client(folder: str, sql: str) -> list[str]:
    socket = f"--socket={folder}/socket"
    return ["mariadb", "--no-defaults", socket, "--user=root", "-e", sql]


def server(data: str, settings: list[str]) -> AbstractContextManager[str]:
    """Start it; gives the folder of its socket. SIGTERM writes everything (mariadbd(8))."""

    def argv_in(folder: str) -> list[str]:
        return [
            *("mariadbd", "--no-defaults", "--user=root", f"--datadir={data}"),
            *(f"--socket={folder}/socket", f"--pid-file={folder}/pid", "--skip-networking"),
            *(f"--{setting}" for setting in settings),
        ]

    return own_server.server(argv_in, lambda folder: client(folder, "SELECT 1"), signal.SIGTERM)


def sysbench(script: str, folder: str, options: argparse.Namespace, *command: str) -> list[str]:
    return [
        *("sysbench", script, "--db-driver=mysql", f"--mysql-socket={folder}/socket"),
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
    with server(data, options.set) as folder:
        run_quietly(client(folder, f"CREATE DATABASE {DATABASE}"), "making the database")
        run_quietly(
            [*sysbench("oltp_read_write", folder, options), "prepare"], "sysbench's preparation"
        )


def run(options: argparse.Namespace) -> int:
    """Exit status of sysbench."""
    with server(f"{options.folder}/data", options.set) as folder:
        base = sysbench(options.script, folder, options, f"--threads={options.threads}")
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
    except (ServerFailed, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
