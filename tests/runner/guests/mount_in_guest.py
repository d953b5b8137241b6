"""What the worker does with a LUN of the kind mount, done in a guest on its own NFS or SMB.

The worker's code goes there as it is: no other kernel that tests meet has these.
"""

import base64
import io
import tarfile
from pathlib import Path

from runner.plan import Step

ROOT = Path(__file__).resolve().parents[3]
OUTPUT = "mount.json"
_CONFIGURATIONS = "fsbench_web/catalog/configurations"
_CODE = (
    *("fsbench_web/__init__.py", "fsbench_web/catalog/__init__.py"),
    *(f"{_CONFIGURATIONS}/{name}.py" for name in ("__init__", "as_mounted", "options")),
    "runner/__init__.py",
    *(
        f"runner/safety/{name}.py"
        for name in ("__init__", "blockdev", "luns", "marks", "mounts", "mount_folder")
    ),
)
# Until its server answers again a client that was mounted "hard" waits.
_SILENT = {
    "nfs": """
subprocess.run(["rpc.nfsd", "0"], check=True)
""",
    "smb": """
os.killpg(int(Path("/run/fsbench.served.pids").read_text()), signal.SIGSTOP)
""",
}
_BACK = {
    "nfs": """
subprocess.run(
    ["rpc.nfsd", "-H", "127.0.0.1", "--port", "2049", "-N", "3", "-V", "4.2", "8"], check=True
)
Path("/proc/fs/nfsd/v4_end_grace").write_text("Y")
""",
    "smb": """
os.killpg(int(Path("/run/fsbench.served.pids").read_text()), signal.SIGCONT)
""",
}
_BEGIN = """
import base64, io, json, os, signal, subprocess, sys, tarfile
from pathlib import Path
code = base64.b64decode(sys.stdin.read())
tarfile.open(fileobj=io.BytesIO(code)).extractall("/run/code")
sys.path.insert(0, "/run/code")
from fsbench_web.catalog.configurations import as_mounted
from runner.safety import mounts
from runner.safety.luns import LunEntry

entry, notes = LunEntry("nas", "mount", Path("/mnt/fsbench")), Path("/run/notes")

def asked(is_asked_again=False):
    try:
        return mounts.folder_problem(entry, mark, is_asked_again=is_asked_again)
    except mounts.ServerSilent as silent:
        return str(silent)

mounts.ANSWER_S = 60.0
folder = mounts.make_folder(entry, notes)
mark = mounts.own_mark(entry, notes)
mount = mounts.find_mount(entry)
found = as_mounted.contender(mount.filesystem, mount.options)
said = {
    "folder": folder,
    "identity": mounts.identity(entry),
    "contender": [found.filesystem, dict(found.options)],
    "fingerprint": mounts.fingerprint(entry, mark),
    "problems": mounts.problems(entry, mark),
    "free_bytes": mounts.free_bytes(entry, mark),
}
"""
_WHILE_SILENT = """
mounts.ANSWER_S = 5.0
said["silent"] = [asked(), asked()]
said["is_known_without_server"] = mounts.identity(entry) == said["identity"]
"""
_END = """
mounts.ANSWER_S = 120.0
said["back"] = asked(is_asked_again=True)
print(json.dumps(said))
"""


def step(network: str = "nfs") -> Step:
    """What prints a JSON object as the output ``OUTPUT``; that is mounted before it: NFS 4.2, or
    SMB.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for name in _CODE:
            archive.add(ROOT / name, name)
    code = base64.b64encode(packed.getvalue()).decode()
    parts = (_BEGIN, _SILENT[network], _WHILE_SILENT, _BACK[network], _END)
    return Step(network, ["python3", "-I", "-c", "".join(parts)], 400.0, OUTPUT, stdin=code)
