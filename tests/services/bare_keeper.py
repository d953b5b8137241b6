"""The process that keeps one bare root, and takes it away when its opener ends or is killed.

``python -m tests.services.bare_keeper ORDER``: it prints folder and first process as JSON, and ends
everything at the end of its standard input, which the kernel closes with the opener, however that
ends. Should this process be killed itself, the kernel ends the namespaces (``PR_SET_PDEATHSIG``),
and the next keeper removes what stays on the disk.
"""

import fcntl
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from tests.services import registries
from tests.services.image import cache_folder
from tests.services.process import program

# On a disk: images and daemons have gigabytes, and /tmp may be memory.
PLACE = Path("/var/tmp")
PREFIX = "fsbench-bare-"
# A third of a Debian's files, which no program reads; Debian's own slim images have none of them.
UNREAD = ("/usr/share/doc/*/*", "/usr/share/man/*/*", "/usr/share/locale/*/*")

# $1 is the folder of the root; then pairs: a folder of the host, its place inside.
ENTER = """
root=$1; shift
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs sysfs sys
if [ -n "$(ls /sys/fs/cgroup)" ]; then mount --rbind /sys/fs/cgroup sys/fs/cgroup
else mount -t cgroup2 cgroup2 sys/fs/cgroup || true
fi
mount --bind /dev dev
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
mount -t tmpfs -o mode=0755 tmpfs run
mkdir run/lock
while [ $# -gt 0 ]; do
    mkdir -p ".$2"
    mount --bind "$1" ".$2"
    shift 2
done
mkdir .old
pivot_root . .old
cd /
umount --lazy /.old
rmdir /.old
exec /usr/bin/python3 -c "$INIT"
"""

# The first process reaps those whose parents ended before them.
INIT = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
print("ready", flush=True)
os.close(1)
while True:
    signal.sigwait({signal.SIGCHLD})
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""


def main(order: dict[str, Any]) -> int:
    """Keep a root for whoever holds the other end of standard input."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    folder, lock = _new_folder()
    try:
        namespaces = _start(folder / "root", order["tar"], order["shared"])
        try:
            first = Path(f"/proc/{namespaces.pid}/task/{namespaces.pid}/children").read_text()
            with suppress(BrokenPipeError):
                print(json.dumps({"folder": str(folder / "root"), "pid": int(first)}), flush=True)
            sys.stdin.read()
        finally:
            namespaces.kill()  # and the kernel all that is in them
            namespaces.wait()
    finally:
        remove(folder)
        lock.close()
    return 0


def _new_folder() -> tuple[Path, TextIO]:
    """A folder and its lock, held as long as somebody keeps it. What a killed one left goes."""
    with (cache_folder() / "bare-folders.lock").open("w") as all_of_them:
        fcntl.flock(all_of_them, fcntl.LOCK_EX)
        for folder in PLACE.glob(f"{PREFIX}*"):
            with suppress(OSError), (folder / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(folder)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=PLACE))
        lock = (folder / "lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        return folder, lock


def _start(root: Path, tar: str, shared: dict[str, str]) -> "subprocess.Popen[str]":
    root.mkdir(mode=0o755)
    subprocess.run(["tar", "-C", str(root), "-xf", tar], check=True)
    registries.write_into(root)
    # The root lives for minutes: nobody needs each of its files on the disk at once.
    chosen = ["force-unsafe-io", *(f"path-exclude={pattern}" for pattern in UNREAD)]
    (root / "etc/dpkg/dpkg.cfg.d/90tests").write_text("".join(f"{line}\n" for line in chosen))
    alone = ("--mount", "--pid", "--ipc", "--fork", "--kill-child", "--propagation", "private")
    pairs = [word for pair in shared.items() for word in pair]
    dying_with_us = (program("setpriv", "util-linux"), "--pdeathsig", "KILL")
    started = subprocess.Popen(
        [*dying_with_us, "unshare", *alone, "/bin/sh", "-ec", ENTER, "sh", str(root), *pairs],
        env={"PATH": os.environ["PATH"], "INIT": INIT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    if started.stdout.readline() != "ready\n":
        raise SystemExit(f"the bare root's first process ended with {started.wait()}")
    return started


def remove(folder: Path) -> None:
    """A root's folder, when nothing runs in it any more, and what it left in the kernel."""
    _detach_loops(folder)
    _remove_bridges(folder)
    _remove_control_groups(folder)
    for path in (folder / "root", folder):  # its lock last
        subprocess.run(["rm", "-rf", "--", str(path)], stderr=subprocess.DEVNULL, check=False)


def _detach_loops(folder: Path) -> None:
    """By device and inode: names of files in other namespaces say nothing here."""
    listed = subprocess.run(
        [program("losetup", "mount"), "--list", "--json", "--output", "NAME,BACK-INO,BACK-MAJ:MIN"],
        capture_output=True,
        text=True,
    )
    device_number = folder.stat().st_dev
    device = f"{os.major(device_number)}:{os.minor(device_number)}"
    loops = {
        int(loop["back-ino"]): loop["name"]
        for loop in (json.loads(listed.stdout)["loopdevices"] if listed.stdout.strip() else [])
        if str(loop["back-maj:min"]).replace(" ", "") == device
    }
    if not loops:
        return
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                inode = (Path(parent) / name).lstat().st_ino
                if inode in loops:
                    subprocess.run([program("losetup", "mount"), "--detach", loops[inode]])


# Where daemons have their data, as patterns below a root's folder.
_DATA = ("root/tmp/**", "root/var/lib/**", "root/var/tmp/**")


def _remove_bridges(folder: Path) -> None:
    """Networks of a daemon that was killed: its own database knows their numbers."""
    bridges = [path.name for path in Path("/sys/class/net").glob("br-*")]
    if not bridges:
        return
    databases = (path for place in _DATA for path in folder.glob(f"{place}/network/files/*.db"))
    contents = b"".join(path.read_bytes() for path in databases)
    down, delete = 0x8914, 0x89A1  # SIOCSIFFLAGS and SIOCBRDELBR of linux/sockios.h
    for name in bridges:
        if name.removeprefix("br-").encode() in contents:
            with suppress(OSError), socket.socket() as any_socket:
                fcntl.ioctl(any_socket, down, struct.pack("16sH14x", name.encode(), 0))
                fcntl.ioctl(any_socket, delete, struct.pack("16s", name.encode()))


def _remove_control_groups(folder: Path) -> None:
    """Those of containers that were killed with their daemon are empty, and stay."""
    containers = {
        path.name
        for place in _DATA
        for path in folder.glob(f"{place}/containers/*")
        if re.fullmatch("[0-9a-f]{64}", path.name)
    }
    if not containers:
        return
    for parent, names, _ in os.walk("/sys/fs/cgroup"):
        for name in containers & set(names):
            for inner, _, _ in os.walk(Path(parent) / name, topdown=False):
                with suppress(OSError):
                    Path(inner).rmdir()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
