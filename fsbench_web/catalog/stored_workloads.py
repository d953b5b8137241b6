"""Workload rows by what they are: the same parameters are one row, made once."""

import hashlib
import json
from dataclasses import asdict

from fsbench_web.catalog.models import Workload
from fsbench_web.catalog.workloads import PRESETS, IozoneMatrix


def stored_workload(preset_slug: str, matrix: IozoneMatrix) -> Workload:
    """Get or create the row of these parameters.

    Unchanged parameters of a preset carry its name. Others get a name made of a digest, so that
    runs with different parameters never become repeats of each other.
    """
    parameters = asdict(matrix)
    preset = PRESETS[preset_slug]
    if _is_unchanged(preset_slug, matrix):
        workload, _ = Workload.objects.get_or_create(
            slug=preset.slug,
            defaults={
                "title": preset.title,
                "tool": "iozone",
                "parameters": parameters,
                "description": preset.description,
            },
        )
        # A later release may change a preset; rows that were run keep what they were.
        if workload.parameters == parameters:
            return workload
    workload, _ = Workload.objects.get_or_create(
        slug=_digest_slug(matrix),
        defaults={
            "title": matrix_title(matrix),
            "tool": "iozone",
            "parameters": parameters,
            "description": f"Made from {preset.title}.",
        },
    )
    return workload


def known_workload(preset_slug: str, matrix: IozoneMatrix) -> Workload | None:
    """The row of these parameters if anything was run with them; makes none."""
    rows = Workload.objects.filter(slug__in=[preset_slug, _digest_slug(matrix)])
    return next((row for row in rows if row.parameters == asdict(matrix)), None)


def workload_title(preset_slug: str, matrix: IozoneMatrix) -> str:
    """What the workload with these parameters is called."""
    unchanged = _is_unchanged(preset_slug, matrix)
    return PRESETS[preset_slug].title if unchanged else matrix_title(matrix)


def _is_unchanged(preset_slug: str, matrix: IozoneMatrix) -> bool:
    return matrix == PRESETS[preset_slug].matrix()


def _digest_slug(matrix: IozoneMatrix) -> str:
    text = json.dumps(asdict(matrix), sort_keys=True)
    return f"iozone-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def matrix_title(matrix: IozoneMatrix) -> str:
    """What a person needs to tell two matrices apart."""
    extras = [
        text
        for text, wanted in (
            ("direct I/O", matrix.direct_io),
            ("with fsync", matrix.include_flush),
            ("with close", matrix.include_close),
        )
        if wanted
    ]
    sizes = (
        f"IOzone, records {matrix.minimum_record_kb}–{matrix.maximum_record_kb} KB, "
        f"files {matrix.minimum_file_kb}–{matrix.maximum_file_kb} KB"
    )
    return ", ".join([sizes, *extras])
