"""Facts of kernels, kept as JSON next to them."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read(path: Path) -> dict[str, Any]:
    """What ``write`` kept there; nothing where it is not whole: then it is found out again."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def write(path: Path, data: Mapping[str, Any]) -> None:
    """Whole or not at all, also where the disk is full. Raises OSError."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        unfinished.write_text(json.dumps(data))
        unfinished.rename(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
