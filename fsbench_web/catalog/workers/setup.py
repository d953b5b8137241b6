"""What a worker says of its own setting up: its benchmark image, its tools. Pure: no Django.

``{"kind": "image" or "packages", "state": "running", "failed" or "missing", "title", "reason",
"problem", "command"}``: ``missing`` means that a person must run ``command``. Another version may
have written it: what cannot be read is not shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KINDS = {
    "image": "Building the benchmark image",
    "packages": "Installing the benchmark tools",
}
RUNNING, FAILED, MISSING = "running", "failed", "missing"
_STATES = (RUNNING, FAILED, MISSING)
_TITLE_LENGTH, _TEXT_LENGTH, _COMMAND_LENGTH = 120, 600, 300


@dataclass(frozen=True)
class WorkerSetup:
    """Texts of one bounded line each, as the worker wrote them: pages escape them."""

    kind: str
    state: str
    title: str
    reason: str = ""
    problem: str = ""
    command: str = ""

    @property
    def is_running(self) -> bool:
        return self.state == RUNNING


def worker_setup(capabilities: Mapping[str, Any]) -> WorkerSetup | None:
    """What the worker announced of its setting up; None where it says nothing that can be read."""
    value = capabilities.get("setup")
    if not isinstance(value, Mapping):
        return None
    kind, state = value.get("kind"), value.get("state")
    if not isinstance(kind, str) or kind not in KINDS or state not in _STATES:
        return None
    is_running = state == RUNNING
    return WorkerSetup(
        kind,
        str(state),
        _line(value.get("title"), _TITLE_LENGTH) or KINDS[kind],
        _line(value.get("reason"), _TEXT_LENGTH),
        "" if is_running else _line(value.get("problem"), _TEXT_LENGTH),
        "" if is_running else _line(value.get("command"), _COMMAND_LENGTH),
    )


def _line(value: object, limit: int) -> str:
    """The text on one line, without signs that nobody sees, cut where it is too long."""
    if not isinstance(value, str):
        return ""
    # Ten times as much is looked at: a text of megabytes is not worked on to be thrown away.
    printable = "".join(sign if sign.isprintable() else " " for sign in value[: 10 * limit])
    line = " ".join(printable.split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
