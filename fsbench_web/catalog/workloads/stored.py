"""Workload rows by what they are: the same parameters are one row, made once."""

import hashlib
import json

from fsbench_web.catalog.models import Workload as WorkloadRow
from fsbench_web.catalog.workloads.own_workloads import preset_of
from fsbench_web.core.workloads import Preset, Workload


def stored_workload(preset_slug: str, workload: Workload) -> WorkloadRow:
    """Get or create the row of these parameters, which a preset or a digest names."""
    preset = _preset(preset_slug)
    if _is_unchanged(preset_slug, workload):
        row, _ = WorkloadRow.objects.get_or_create(
            slug=preset.slug,
            defaults={
                "title": preset.title,
                "tool": workload.tool,
                "parameters": workload.values,
                "description": preset.description,
            },
        )
        # A later release may change a preset; rows that were run keep what they were.
        if (row.tool, row.parameters) == (workload.tool, workload.values):
            return row
    row, _ = WorkloadRow.objects.get_or_create(
        slug=_digest_slug(workload),
        defaults={
            "title": workload.title(),
            "tool": workload.tool,
            "parameters": workload.values,
            "description": f"Made from {preset.title}.",
        },
    )
    return row


def known_workload(preset_slug: str, workload: Workload) -> WorkloadRow | None:
    """The row of these parameters if anything was run with them; makes none."""
    rows = WorkloadRow.objects.filter(
        slug__in=[preset_slug, _digest_slug(workload)], tool=workload.tool
    )
    return next((row for row in rows if row.parameters == workload.values), None)


def workload_title(preset_slug: str, workload: Workload) -> str:
    """What the workload with these parameters is called."""
    if _is_unchanged(preset_slug, workload):
        return _preset(preset_slug).title
    return workload.title()


def _is_unchanged(preset_slug: str, workload: Workload) -> bool:
    return workload == _preset(preset_slug).workload()


def _preset(slug: str) -> Preset:
    preset = preset_of(slug)
    if preset is None:
        raise LookupError(f"there is no preset {slug}")
    return preset


def _digest_slug(workload: Workload) -> str:
    text = json.dumps(workload.values, sort_keys=True)
    return f"{workload.tool}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
