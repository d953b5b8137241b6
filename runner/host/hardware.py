"""What the worker's host is made of, as [[label, value], ...] for its hardware profile."""

import hashlib
import os
import platform
import re
import subprocess
from pathlib import Path

# Of a large memory full of what is still to be written to slow disks.
SYNC_S = 1800.0


def host_facts() -> list[list[str]]:
    """Machine, processor and memory; what the host does not tell is left out."""
    cpuinfo, meminfo = text_of("/proc/cpuinfo"), text_of("/proc/meminfo")
    vendor, product = (
        text_of("/sys/class/dmi/id/sys_vendor"),
        text_of("/sys/class/dmi/id/product_name"),
    )
    models = re.findall(r"^model name\s*:\s*(.+)$", cpuinfo, re.M)
    sockets = set(re.findall(r"^physical id\s*:\s*(\d+)$", cpuinfo, re.M))
    memory = re.search(r"^MemTotal:\s+(\d+) kB", meminfo, re.M)
    facts = [
        ["Machine", " ".join(part for part in (vendor.strip(), product.strip()) if part)],
        ["Processor", models[0].strip() if models else platform.machine()],
        ["Sockets", str(len(sockets)) if sockets else ""],
        ["Processors online", str(os.cpu_count() or "")],
        ["Memory", f"{int(memory[1]) / 2**20:.1f} GiB" if memory else ""],
    ]
    return [fact for fact in facts if fact[1]]


def host_mark() -> str:
    """What tells this host from others: a digest, because machine-id(5) is confidential."""
    text = text_of("/etc/machine-id").strip() or platform.node()
    return hashlib.sha256(f"fsbench {text}".encode()).hexdigest()[:16]


def text_of(path: str | Path) -> str:
    """What a file says; "" where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _sync() -> bool:
    """By a process of its own: once the server of a mount is gone, sync never comes back."""
    try:
        process = subprocess.Popen(["sync"], cwd="/", stdin=subprocess.DEVNULL)
        process.wait(SYNC_S)
    except OSError:
        return False
    except subprocess.TimeoutExpired:
        process.kill()
        return False
    return True


def drop_caches() -> bool:
    """Write back and forget what the host's memory holds of files, so that runs begin alike."""
    if not _sync():
        return False
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError:
        return False
    return True
