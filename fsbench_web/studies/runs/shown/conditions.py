"""What the page works out of a run's conditions (runner.execution.conditions). No HTTP here."""

from collections.abc import Mapping
from typing import Any

from fsbench_web.core.activity.durability import in_words
from fsbench_web.core.activity.promises import REASONS
from fsbench_web.studies.models import Run

SECTOR_BYTES = 512  # the unit of the kernel's statistics, whatever the device's own sectors are
_REQUESTS = (
    ("Reads", "reads", "sectors_read"),
    ("Writes", "writes", "sectors_written"),
    ("Discards", "discards", "sectors_discarded"),
)


def conditions(run: Run) -> dict[str, Any]:
    """What was noted of the run; all parts empty where nothing was.

    ``device`` are (label, requests, bytes); ``raw`` are (name, before, after). ``layouts`` are
    (label, layout, extents a file). ``locks`` are (name, contentions, seconds, percent of all
    processors' time). ``no_promise``: why syncs and flushes are not known. ``durability``: what
    crash points say.
    """
    noted = run.conditions
    device = noted.get("device") or {}
    before, after = device.get("before") or {}, device.get("after") or {}
    grown = {name: after[name] - before[name] for name in before if name in after}
    layouts = noted.get("layout") or {}
    reason = (noted.get("promise") or {}).get("reason", "")
    return {
        "device": [
            (label, grown[count], grown[sectors] * SECTOR_BYTES)
            for label, count, sectors in _REQUESTS
            if count in grown and sectors in grown
        ],
        "busy_s": grown["busy_ms"] / 1000 if "busy_ms" in grown else None,
        "raw": [(name, before[name], after[name]) for name in grown],
        "layouts": [
            (label, layout, layout["extents"] / layout["files"])
            for when, label in (("before", "Before the benchmark"), ("after", "After it"))
            if (layout := layouts.get(when)) and layout["files"]
        ],
        "locks": _locks(noted.get("locks") or {}),
        "no_promise": REASONS.get(reason, reason),
        "durability": in_words(noted["durability"]) if noted.get("durability") else "",
    }


def _locks(noted: Mapping[str, Any]) -> list[tuple[str, int, float, float]]:
    """Waiting as a share of the time of all processors, as table 1 of the FREENIX paper has it."""
    processor_s = (noted.get("elapsed_s") or 0) * (noted.get("cpus") or 0)
    if not processor_s:
        return []
    return [
        (name, contentions, waited_us / 1e6, waited_us / 1e4 / processor_s)
        for name, contentions, waited_us in noted.get("locks") or []
    ]
