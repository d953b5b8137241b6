"""How the files of a run lay on the device, from what the agent printed of it. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from fsbench_web.catalog.configurations.commands.preparation import LAYOUT_OUTPUTS

_NUMBERS = ("files", "bytes", "extents", "most_extents", "fragmented_files")


def noted(outputs: Mapping[str, str]) -> dict[str, Any]:
    """``{"before": {"files": 9, "bytes": 4096, "extents": 12, ...}, "after": ...}`` of the layouts
    among the outputs; a file system that does not say where its files lie has none.
    """
    found: dict[str, Any] = {}
    for name, when in zip(LAYOUT_OUTPUTS, ("before", "after"), strict=True):
        first = outputs.get(name, "").partition("\n")[0]
        try:
            told = json.loads(first)["fsbench-layout"]
            if told is not None:
                found[when] = {key: int(told[key]) for key in _NUMBERS}
                found[when]["is_cut"] = bool(told["is_cut"])
        except (ValueError, KeyError, TypeError):
            continue
    return found
