"""What a run happens on: kernel, distribution, processors, memory, versions of tools."""

import contextlib
import os
import re
from pathlib import Path
from typing import Any

from runner.agent import commands

# How a tool is asked for its version; all others know -V.
VERSION_FLAGS = {
    **{"iozone": "-v", "fio": "--version", "gcc": "--version", "make": "--version"},
    "lvm": "version",
}


def environment(tools: list[str]) -> dict[str, Any]:
    """What the run happens on, as ``{section: [[label, value], ...]}`` and in single values."""
    versions = {tool: tool_version(tool) for tool in tools}
    distribution, kernel = distribution_name(), os.uname()
    memory = re.search(r"^MemTotal:\s+(\d+) kB", _read("/proc/meminfo"), re.M)
    cpus = re.findall(r"^model name\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.M)
    return {
        "kernel": kernel.release,
        "distribution": distribution,
        "tools": versions,
        "filesystems": [line.split()[-1] for line in _read("/proc/filesystems").splitlines()],
        "facts": {
            "Operating system": [
                ["Distribution", distribution],
                ["Kernel", kernel.release],
                ["Kernel build", kernel.version],
                ["Architecture", kernel.machine],
            ],
            "Machine": [
                ["Processor", cpus[0] if cpus else kernel.machine],
                ["Processors online", str(os.cpu_count())],
                ["Memory", f"{int(memory[1]) / 2**20:.1f} GiB" if memory else "not known"],
            ],
            "Tools": [
                [tool, entry["version"] or "version not told"]
                for tool, entry in versions.items()
                if entry["path"]
            ],
        },
    }


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def distribution_name() -> str:
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)"?', _read("/etc/os-release"), re.M)
    return match[1] if match else "not known"


def _path_of(tool: str) -> str:
    """Where it is; nothing where it is not."""
    places = (Path(folder, tool) for folder in commands.PATH.split(":"))
    return next((str(path) for path in places if path.is_file() and os.access(path, os.X_OK)), "")


def tool_version(tool: str) -> dict[str, str]:
    """Path and version of a tool; both empty when it is not installed."""
    path = _path_of(tool)
    if not path:
        return {"path": "", "version": ""}
    step = commands.Step([path, VERSION_FLAGS.get(tool, "-V")], timeout_s=10, quiet=True)
    with contextlib.suppress(commands.StepFailed):
        step.run(is_cleanup=True)
    match = re.search(r"\d+\.\d+(\.\d+)?", step.text("stdout") + step.text("stderr"))
    return {"path": path, "version": match[0] if match else ""}
