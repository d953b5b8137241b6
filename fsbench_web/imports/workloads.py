"""What an imported file says of how its numbers were made."""

import hashlib
import json
from collections.abc import Iterable

from django.utils.text import slugify

from fsbench_web.catalog.models import Environment, Workload
from fsbench_web.core.formats import ParsedResult
from fsbench_web.core.measurement_columns import MeasuredTest
from fsbench_web.studies.runs.environments import environment_for

_TITLES = {"iozone": "IOzone", "postmark": "PostMark", "ior": "IOR", "phoronix": "Phoronix"}


def workload_of(parsed: ParsedResult, tests: Iterable[MeasuredTest]) -> Workload | None:
    """The workload of a tool's output by the modes it ran in; None for a table, which says none.

    Times with fsync and times without are not repeats of each other, so they are two workloads.
    The matrix is not part of it: an imported file may hold a part of one.
    """
    if parsed.tool == "table":
        return None
    tool = _TITLES.get(parsed.tool, parsed.tool)
    slug, title = f"{slugify(parsed.tool)}-imported"[:60], f"{tool} (imported)"
    if parsed.tool == "iozone" and any(test.load for test in tests):
        # -t measures other things than the matrix: neither is a repeat of the other.
        slug, title = "iozone-throughput-imported", "IOzone throughput (imported)"
    if parsed.modes:
        digest = hashlib.sha256(json.dumps(parsed.modes).encode()).hexdigest()
        slug, title = f"{slug}-{digest[:12]}", f"{title}: {'; '.join(parsed.modes)}"[:200]
    workload, _ = Workload.objects.get_or_create(
        slug=slug,
        defaults={
            "title": title,
            "tool": parsed.tool,
            "parameters": {"modes": list(parsed.modes)},
            "description": "Output that was imported; fsbench did not run it.",
        },
    )
    return workload


def environment_of(parsed: ParsedResult) -> Environment | None:
    """Version, build and command as the file gives them; None where it gives nothing."""
    rows = [
        (label, text)
        for label, text in (
            ("Tool", f"{parsed.tool} {parsed.tool_version}" if parsed.tool_version else ""),
            ("Command line", parsed.command),
            *parsed.facts,
            ("Settings", "; ".join(parsed.modes)),
        )
        if text
    ]
    return environment_for({"As the imported file says": rows}) if rows else None
