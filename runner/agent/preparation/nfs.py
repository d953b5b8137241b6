"""A file system served by NFS to the machine that it is mounted on: ``fsbench-nfs``. Stdlib only.

    fsbench-nfs up --version 4.2 --export sync MOUNT_POINT FOLDER
    fsbench-nfs down FOLDER

``up`` makes what is mounted at MOUNT_POINT visible at FOLDER too, and exports that folder to this
machine alone (exports(5)). It starts the kernel's server (rpc.nfsd(8), rpc.mountd(8); version 3
asks for rpcbind(8) too). The client is mounted over MOUNT_POINT then, and the server's way to the
files is FOLDER. ``down`` is the reverse, says what could not be undone, and minds nothing that was
never there. The kernel has one server and one list of exports for all: so it is for guests, which
have nothing else. Tried with nfs-utils 2.6.2 under Linux 6.1.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)

from runner.agent.preparation.loopback import (
    ADDRESS,
    ServerFailed,
    is_mounted,
    loopback_up,
    run,
    start,
    stop_all,
    wait_for,
)

THREADS = 8
PORT, MOUNTD_PORT = 2049, 20048
# What is exported is its own, to root as to anybody: there is nothing else on the file system.
EXPORT = "rw,{writes},no_root_squash,no_subtree_check,fsid=0"
CONTROL, STATE = Path("/proc/fs/nfsd"), Path("/var/lib/nfs")


def start_server(version: str, writes: str, mount_point: str, folder: str) -> None:
    loopback_up()
    # The root of a guest cannot be written to; what the server remembers goes with it.
    run("mount", "-t", "tmpfs", "fsbench", str(STATE))
    for name in ("v4recovery", "sm", "sm.bak", "nfsdcltrack"):
        STATE.joinpath(name).mkdir()
    for name in ("etab", "rmtab"):
        STATE.joinpath(name).touch()
    run("mount", "-t", "nfsd", "nfsd", str(CONTROL))
    Path(folder).mkdir(parents=True, exist_ok=True)
    run("mount", "--bind", mount_point, folder)
    is_v3 = version == "3"
    if is_v3:
        # The kernel's server of version 3 wants to be registered, or does not start.
        Path("/run/rpcbind").mkdir(exist_ok=True)
        start("rpcbind", "-f")
        wait_for(111)
    run("exportfs", "-i", "-o", EXPORT.format(writes=writes), f"{ADDRESS}:{folder}")
    versions = ["-N", "4"] if is_v3 else ["-N", "3", "-V", version]
    run("rpc.nfsd", "-H", ADDRESS, "--port", str(PORT), *versions, str(THREADS))
    start("rpc.mountd", "-F", "--port", str(MOUNTD_PORT), *(["-N", "4"] if is_v3 else ["-N", "3"]))
    wait_for(PORT)
    if is_v3:
        wait_for(MOUNTD_PORT)
    else:
        # No client can have locks of before to claim again, for which others wait 90 s.
        CONTROL.joinpath("v4_end_grace").write_text("Y")


def stop_server(folder: str) -> list[str]:
    """What could not be undone."""
    problems = []

    def attempt(*argv: str) -> None:
        try:
            run(*argv)
        except ServerFailed as error:
            problems.append(str(error))

    if is_mounted(str(STATE)) and is_mounted(str(CONTROL)):
        attempt("exportfs", "-u", f"{ADDRESS}:{folder}")
        attempt("rpc.nfsd", "0")
        attempt("exportfs", "-f")
    stop_all()
    for point in (folder, str(CONTROL), str(STATE)):
        if is_mounted(point):
            attempt("umount", point)
    return problems


def main(arguments: "list[str]") -> int:
    parser = argparse.ArgumentParser(prog="fsbench-nfs")
    commands = parser.add_subparsers(dest="command", required=True)
    up_parser = commands.add_parser("up")
    up_parser.add_argument("--version", required=True, choices=("3", "4.1", "4.2"))
    up_parser.add_argument("--export", required=True, choices=("sync", "async"))
    up_parser.add_argument("mount_point")
    up_parser.add_argument("folder")
    commands.add_parser("down").add_argument("folder")
    options = parser.parse_args(arguments)
    try:
        if options.command == "down":
            problems = stop_server(options.folder)
            if problems:
                raise ServerFailed("; ".join(problems))
        else:
            start_server(options.version, options.export, options.mount_point, options.folder)
    except ServerFailed as error:
        print(f"NFS: {error}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
