"""The chapter of how it was measured: what the study says, what was recorded, how scores come."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fsbench_web.compare.report.blocks import (
    Block,
    Facts,
    Grid,
    Heading,
    paragraph,
    sentences,
)
from fsbench_web.compare.report.recorded_series import Method, unlisted_remark
from fsbench_web.core import numbers
from fsbench_web.core.scoring import categories
from fsbench_web.studies.models import Study


def methodology(study: Study, method: Method) -> Iterable[Block]:
    """What a published study says of itself comes first; of runs, what is stored of them."""
    yield Heading("Methodology", 1, "methodology")
    described = [section for section in study.sections if section["kind"] in _SECTIONS]
    for section in described:
        yield Heading(section["title"], 2)
        if section.get("text"):
            yield paragraph(section["text"])
        yield _SECTIONS[section["kind"]](section)
        for name in ("note", "source"):
            if section.get(name):
                yield paragraph(("Source: " if name == "source" else "") + section[name])
    if not study.is_published:
        yield from _recorded_setup(method)
    yield Heading("Scores", 2)
    yield Facts(
        tuple(
            (categories.label(slug), categories.category(slug).definition)
            for slug in categories.all_slugs()
        )
    )
    yield Heading("Deltas", 2)
    yield paragraph(
        "Delta 1 is (best − x) / best: by how much x is slower than the best. Delta 2 is "
        "(x − best) / x: by how much the best is faster than x, as a negative number. Both in "
        "percent; for times both are of the speeds (1 / time)."
    )


_SECTIONS: dict[str, Callable[[Mapping[str, Any]], Block]] = {
    "facts": lambda section: Facts(tuple((str(a), str(b)) for a, b in section["items"])),
    "list": lambda section: sentences(section["items"]),
    "missing": lambda section: sentences(section["items"]),
    "table": lambda section: Grid(
        columns=tuple(
            (str(name), place in section.get("numeric", ()))
            for place, name in enumerate(section["columns"])
        ),
        rows=tuple(tuple(str(cell) for cell in row) for row in section["rows"]),
    ),
}


def _recorded_setup(method: Method) -> Iterable[Block]:
    for title, parts, missing in (
        ("Hardware", method.hardware, "No hardware profile was named."),
        ("Systems", method.environments, "Nothing was recorded of kernel and tools."),
        ("Workloads", method.workloads, "No workload was named."),
    ):
        yield Heading(title, 2)
        if not parts:
            yield paragraph(missing)
        for name, facts in parts:
            yield Heading(name, 3)
            yield Facts(facts) if facts else paragraph("Nothing more is known of it.")
    yield Heading("Configurations and repeats", 2)
    if not method.series:
        yield paragraph("There are no runs.")
        return
    yield Grid(
        columns=(
            ("Configuration", False),
            ("Workload", False),
            ("LUN", False),
            ("System", False),
            ("Prepared", False),
            ("Done", True),
            ("Failed", True),
            ("Repeats", False),
        ),
        rows=tuple(
            (
                series.configuration,
                series.workload or numbers.MISSING,
                series.lun or numbers.MISSING,
                series.system or numbers.MISSING,
                series.preparation or "new file system",
                str(series.done),
                str(series.failed),
                series.repeats or "a fixed number",
            )
            for series in method.series
        ),
        notes=unlisted_remark(method),
    )
