"""fsbench's own folder on a mount of the host (runner/safety/mounts.py), as a plan says it."""

import json
import os
from typing import Any

from runner.agent import commands, messages, mounted

# As runner/safety/mount_folder.py writes it.
MARKER = ".fsbench-folder"


def check(plan: dict[str, Any]) -> None:
    """That the plan's folder is that one, and what is mounted there. Of any other plan nothing.

    The last thing before anything in it is removed. Raises StepFailed.
    """
    if not plan.get("own_mark"):
        return
    folder = plan["mount_point"]
    if not is_own(folder, plan["own_mark"]):
        raise commands.StepFailed(
            f"{folder} is not the folder that fsbench made. Nothing was touched."
        )
    covering = [
        mount for mount in mounted.mounts() if f"{folder}/".startswith(f"{mount[0].rstrip('/')}/")
    ]
    # The longest, and of these the latest: it covers the others.
    _, (_, kind, options) = max(enumerate(covering), key=lambda entry: (len(entry[1][0]), entry[0]))
    if kind != plan["filesystem"]:
        raise commands.StepFailed(
            f"{kind} is mounted at {folder} instead of {plan['filesystem']}. Nothing was touched."
        )
    free = os.statvfs(folder)
    messages.send(
        "mounted",
        filesystem=kind,
        options=options,
        free_bytes=free.f_bavail * free.f_frsize,
    )


def remove_leftovers(plan: dict[str, Any]) -> None:
    """What the benchmark left in the plan's folder; on a mount in fsbench's own alone."""
    if plan.get("own_mark") and not is_own(plan["mount_point"], plan["own_mark"]):
        return
    mounted.remove_own(plan)


def is_own(folder: str, mark: str) -> bool:
    """Whether the folder's marker has this id. No symbolic link is followed."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            marker = os.open(MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        try:
            content = os.read(marker, 4096)
        finally:
            os.close(marker)
        return bool(json.loads(content)["id"] == mark)
    except (OSError, ValueError, KeyError, TypeError):
        return False
