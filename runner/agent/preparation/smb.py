"""A file system shared by SMB with the machine that it is mounted on: ``fsbench-smb``. Stdlib only.

    fsbench-smb up --version 3.1.1 MOUNT_POINT FOLDER
    fsbench-smb down FOLDER

``up`` makes what is mounted at MOUNT_POINT visible at FOLDER too. Samba's smbd(8) shares that
folder with this machine alone, to one user, root. ``up`` makes a new password each time, in a file
for mount.cifs(8). The client is mounted over MOUNT_POINT then, and the server's way to the files is
FOLDER. ``down`` is the reverse, says what could not be undone, and minds nothing that was
never there. Port and state of the server are one for all: so it is for guests, which have nothing
else. Tried with Samba 4.17.12 under Linux 6.1.
"""

import argparse
import contextlib
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, os.path.abspath(__file__).rpartition("/runner/agent/")[0])  # noqa: PTH100 (python -I)

from runner.agent.preparation.loopback import (
    ServerFailed,
    is_mounted,
    loopback_up,
    run,
    start,
    stop_all,
    wait_for,
)

PORT = 445
DIALECTS = {"3.1.1": "SMB3_11"}
# /run is memory, and everything else of a guest's root cannot be written to.
STATE = Path("/run/fsbench.smb")
CONFIGURATION, CREDENTIALS = STATE / "smb.conf", STATE / "credentials"
# What smb.conf(5) calls the folders of its state: each is one below STATE.
FOLDERS = {
    "private dir": "private",
    "lock directory": "lock",
    "state directory": "state",
    "cache directory": "cache",
    "pid directory": "pid",
    "ncalrpc dir": "ncalrpc",
}
GENERAL = {
    "server role": "standalone server",
    "interfaces": "127.0.0.1/8",
    "bind interfaces only": "yes",
    "smb ports": str(PORT),
    "disable netbios": "yes",
    "passdb backend": "tdbsam",
    "load printers": "no",
    "printcap name": "/dev/null",
    "disable spoolss": "yes",
    "log file": str(STATE / "log"),
}
SHARE = {"read only": "no", "valid users": "root"}


def configuration(version: str, folder: str) -> str:
    """smb.conf(5): the share ``fsbench`` is that folder."""
    dialect = DIALECTS[version]
    general = GENERAL | {name: str(STATE / subfolder) for name, subfolder in FOLDERS.items()}
    general |= {"server min protocol": dialect, "server max protocol": dialect}
    lines = []
    for section, values in (("global", general), ("fsbench", {"path": folder} | SHARE)):
        lines += [f"[{section}]", *(f"{name} = {value}" for name, value in values.items())]
    return "\n".join([*lines, ""])


def start_server(version: str, mount_point: str, folder: str) -> None:
    loopback_up()
    STATE.mkdir(mode=0o700)
    for name in FOLDERS.values():
        STATE.joinpath(name).mkdir()
    Path(folder).mkdir(parents=True, exist_ok=True)
    run("mount", "--bind", mount_point, folder)
    CONFIGURATION.write_text(configuration(version, folder))
    password = os.urandom(16).hex()
    CREDENTIALS.touch(mode=0o600)
    CREDENTIALS.write_text(f"username=root\npassword={password}\n")
    run(
        *("smbpasswd", "-c", str(CONFIGURATION), "-L", "-a", "-s", "root"),
        stdin=f"{password}\n{password}\n",
    )
    start("smbd", "--foreground", "--no-process-group", f"--configfile={CONFIGURATION}")
    wait_for(PORT)


def stop_server(folder: str) -> "list[str]":
    """What could not be undone."""
    problems = []
    stop_all()
    if is_mounted(folder):
        try:
            run("umount", folder)
        except ServerFailed as error:
            problems.append(str(error))
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(STATE)
    return problems


def main(arguments: "list[str]") -> int:
    parser = argparse.ArgumentParser(prog="fsbench-smb")
    commands = parser.add_subparsers(dest="command", required=True)
    up_parser = commands.add_parser("up")
    up_parser.add_argument("--version", required=True, choices=tuple(DIALECTS))
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
            start_server(options.version, options.mount_point, options.folder)
    except ServerFailed as error:
        print(f"SMB: {error}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
