"""How the files of a run lay on the device, from what the agent printed of it. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from fsbench_web.catalog.configurations.commands.preparation import LAYOUT_OUTPUTS

_NUMBERS = ("files", "bytes", "extents", "most_extents", "fragmented_files")


def layouts_in(outputs: Mapping[str, bytes]) -> dict[str, Any]:
    """``{"before": {"files": 9, "bytes": 4096, "extents": 12, ...}, "after": ...}`` of the layouts
    among the outputs; a file system that does not say where its files lie has none.
    """
    layouts: dict[str, Any] = {}
    for name, when in zip(LAYOUT_OUTPUTS, ("before", "after"), strict=True):
        first = outputs.get(name, b"").partition(b"\n")[0]
        try:
            layout = json.loads(first)["fsbench-layout"]
            if layout is not None:
                layouts[when] = {key: int(layout[key]) for key in _NUMBERS}
                layouts[when]["is_cut"] = bool(layout["is_cut"])
        except (ValueError, KeyError, TypeError):
            continue
    return layouts
