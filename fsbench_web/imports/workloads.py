"""What an imported file says of how its numbers were made."""

from collections.abc import Iterable

from fsbench_web.catalog.models import Environment, Workload
from fsbench_web.core.comparison.imported import workload_name
from fsbench_web.core.formats import ParsedResult
from fsbench_web.core.measurement_columns import MeasuredTest
from fsbench_web.studies.runs.environments import environment_for


def workload_of(parsed: ParsedResult, tests: Iterable[MeasuredTest]) -> Workload | None:
    """The workload of a tool's output by the modes it ran in; None for a table, which says none.

    The matrix is not part of it: an imported file may hold a part of one.
    """
    if parsed.tool == "table":
        return None
    slug, title = workload_name(parsed, tests)
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
