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
    if matrix == preset.matrix():
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
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()
    workload, _ = Workload.objects.get_or_create(
        slug=f"iozone-{digest[:12]}",
        defaults={
            "title": matrix_title(matrix),
            "tool": "iozone",
            "parameters": parameters,
            "description": f"Made from {preset.title}.",
        },
    )
    return workload


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
