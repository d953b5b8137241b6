"""A PostgreSQL of a run's own on the measured file system, and pgbench in it.

    postgres.py create FOLDER --scale N --compress-percent N    initdb, and pgbench's tables
    postgres.py run FOLDER --script NAME --clients N --jobs N --seconds S --warm-up S --seed N

``--set NAME=VALUE`` is a setting of the server. Each command starts the server and ends it in
order. All that it keeps is in FOLDER, its socket in a folder of its own that goes with it. It
listens on no network. ``run`` prints pgbench's report, then percentiles of the latencies that
pgbench logged, one JSON object a line, and how many checkpoints fell into the measured time.

pgbench leaves the filler of each account empty, which is 84 blanks. Unless 100 percent of it are
to compress, the rest of them are letters and digits of a digest of the account's number. Rows keep
their length, on as many pages; their updates and page images in the log carry them too.

PostgreSQL refuses to be root, and a benchmark container has no right to become anybody else. So the
server runs in a user namespace of its own without a map of users, in which everybody is nobody
(user_namespaces(7)). Files stay those of who started it. Stdlib only.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
from array import array
from contextlib import AbstractContextManager
from pathlib import Path

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)
from runner.agent.workloads import server as own_server
from runner.agent.workloads.latencies import latency_tests
from runner.agent.workloads.server import ServerFailed, run_quietly

AS_NOBODY = ("unshare", "--user", "--")
ALWAYS = {
    # The measured time is that of the file system, not of a compiler within the server.
    "jit": "off",
    "listen_addresses": "",
}
MOST_LOGGED = 20_000_000
FILLER = 84
"""Characters of ``pgbench_accounts.filler`` (pgbench(1))."""
ACCOUNTS, TELLERS = 100_000, 10
"""For each unit of the scale."""


def programs() -> Path:
    """Where Debian keeps the server's programs: out of PATH, a folder for each major version."""
    paths = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[4])
    )
    if paths:
        return paths[-1].parent
    other = shutil.which("initdb")
    if other is None:
        raise ServerFailed("initdb is missing: install the package postgresql")
    return Path(os.path.realpath(other)).parent


def server(data: str, settings: dict[str, str]) -> AbstractContextManager[str]:
    """Start it; gives the folder of its socket. Ended by a fast shutdown, with its checkpoint."""

    def argv_in(folder: str) -> list[str]:
        options = {**ALWAYS, **settings, "unix_socket_directories": folder}
        words = (word for name, value in options.items() for word in ("-c", f"{name}={value}"))
        return [*AS_NOBODY, str(programs() / "postgres"), "-D", data, *words]

    def probe_in(folder: str) -> list[str]:
        return [str(programs() / "pg_isready"), "-q", "-h", folder]

    return own_server.server(argv_in, probe_in, signal.SIGINT)


def fill_sql(scale: int, compress_percent: int) -> str:
    """SQL that fills pgbench's tables as ``-I G`` does (pgbench(1)), but for the filler."""
    random_size = FILLER - FILLER * compress_percent // 100
    text = "translate(encode(sha512(int8send(aid)), 'base64'), E'\\n', '')"
    # Nothing but whole numbers comes into it.
    return f"""
        BEGIN;
        INSERT INTO pgbench_branches (bid, bbalance)
            SELECT bid, 0 FROM generate_series(1, {scale}) AS bid;
        INSERT INTO pgbench_tellers (tid, bid, tbalance)
            SELECT tid, (tid - 1) / {TELLERS} + 1, 0 FROM generate_series(1, {TELLERS * scale}) tid;
        INSERT INTO pgbench_accounts (aid, bid, abalance, filler)
            SELECT aid, (aid - 1) / {ACCOUNTS} + 1, 0, substr({text}, 1, {random_size})
            FROM generate_series(1, {ACCOUNTS * scale}::bigint) AS aid;
        COMMIT
    """  # noqa: S608


def create(folder: str, scale: int, settings: dict[str, str], compress_percent: int = 100) -> None:
    os.mkdir(folder)  # noqa: PTH102
    data = f"{folder}/data"
    initdb = (str(programs() / "initdb"), "-D", data, "-U", "fsbench", "--auth=trust")
    run_quietly(
        [*AS_NOBODY, *initdb, "--encoding=UTF8", "--locale=C", "--no-instructions"], "initdb"
    )
    with server(data, settings) as sockets:
        initialised = [
            *(str(programs() / "pgbench"), "-h", sockets, "-U", "fsbench"),
            *("-i", "-q", "-s", str(scale), "postgres"),
        ]
        if compress_percent == 100:
            run_quietly(initialised, "pgbench's initialisation")
        else:
            run_quietly([*initialised, "-I", "dt"], "making pgbench's tables")
            query(sockets, fill_sql(scale, compress_percent))
            run_quietly([*initialised, "-I", "vp"], "pgbench's vacuum and keys")
        query(sockets, "CHECKPOINT")


def query(sockets: str, sql: str) -> str:
    """The first line of an answer."""
    done = subprocess.run(
        [
            *(str(programs() / "psql"), "-h", sockets, "-U", "fsbench", "-d", "postgres"),
            *("-X", "-q", "-A", "-t", "-c", sql),
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ServerFailed(f"psql failed: {done.stderr.strip()[:300]}")
    return done.stdout.strip()


def checkpoints(sockets: str) -> int:
    """Checkpoints since the start, by time and by size of the log together."""
    if int(query(sockets, "SHOW server_version_num")) >= 170000:
        return int(query(sockets, "SELECT num_timed + num_requested FROM pg_stat_checkpointer"))
    return int(query(sockets, "SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter"))


def run(options: argparse.Namespace, settings: dict[str, str]) -> None:
    with server(f"{options.folder}/data", settings) as sockets:
        pgbench = [
            *(str(programs() / "pgbench"), "-h", sockets, "-U", "fsbench", "-n"),
            *("-b", options.script, "-M", "prepared", "-c", str(options.clients)),
            *("-j", str(options.jobs)),
        ]
        if options.warm_up:
            seed = options.seed if options.warm_up_seed is None else options.warm_up_seed
            warm_up = (f"--random-seed={seed}", "-T", str(options.warm_up), "postgres")
            run_quietly([*pgbench, *warm_up], "pgbench's warm-up")
        pgbench.append(f"--random-seed={options.seed}")
        before = checkpoints(sockets)
        logs = ("-l", f"--log-prefix={sockets}/latency", f"--sampling-rate={options.sampling:g}")
        done = subprocess.run([*pgbench, "-T", str(options.seconds), *logs, "postgres"])
        if done.returncode:
            raise ServerFailed(f"pgbench ended with exit status {done.returncode}")
        after = checkpoints(sockets)
        print()
        load = {"clients": options.clients, "threads": options.jobs}
        latency_tests(options.test, logged_latencies(sockets), load)
        print(f"Checkpoints within the measured time: {after - before}")


def logged_latencies(folder: str) -> list[int]:
    """The latencies that pgbench logged (the third word of a line, in µs), in order, in ns."""
    latencies = array("q")
    for path in sorted(Path(folder).glob("latency.*")):
        with path.open("rb") as file:
            for line in file:
                if len(latencies) >= MOST_LOGGED:
                    raise ServerFailed(f"pgbench logged more than {MOST_LOGGED} transactions")
                latencies.append(1000 * int(line.split(b" ", 3)[2]))
    return sorted(latencies)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("create", "run"))
    parser.add_argument("folder")
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--script", choices=("tpcb-like", "select-only"), default="tpcb-like")
    parser.add_argument("--test", default="pgbench")
    for name, default in (("clients", 1), ("jobs", 1), ("seconds", 1), ("warm-up", 0), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--warm-up-seed", type=int)
    parser.add_argument("--compress-percent", type=int, default=100)
    parser.add_argument("--sampling", type=float, default=1.0)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args(arguments)
    settings = dict(setting.split("=", 1) for setting in options.set)
    try:
        if options.what == "create":
            create(options.folder, options.scale, settings, options.compress_percent)
        else:
            run(options, settings)
    except (ServerFailed, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
