"""What a published study says besides its tables, and which printed deltas do not follow."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import plotly.graph_objects as go

from fsbench_web.compare.pictures.sections import Section
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.figures import bars
from fsbench_web.figures.bars import Halves
from fsbench_web.studies.models import Study


@dataclass(frozen=True)
class Disagreement:
    """A printed delta that does not follow from the paper's own scores. Deltas in percent."""

    anchor: str
    table: str
    contender: str
    delta: int
    printed: object
    expected: float | None


def paper_context(study: Study, sections: Sequence[Section]) -> dict[str, Any]:
    """The paper's sections with their figures, and its printed deltas, checked."""
    tables = [table for section in sections for table in section.tables]
    described = [_with_figure(section, tables) for section in study.sections]
    return {
        "combined": [section for section in described if _is_combined(section)],
        "paper_sections": [
            section
            for section in described
            if section["kind"] not in {"tables", "statements"} and not _is_combined(section)
        ],
        "stated": next(
            (section["items"] for section in study.sections if section["kind"] == "statements"), []
        ),
        "printed_count": _printed_count(tables),
        "disagreements": _disagreements(sections),
    }


def _disagreements(sections: Iterable[Section]) -> list[Disagreement]:
    """Every printed delta that does not follow from its own table, in the order of the page."""
    return [
        Disagreement(
            anchor,
            f"{section.label}, {table.category_label}",
            row.contender,
            delta,
            printed,
            expected,
        )
        for section in sections
        for table, anchor in zip(section.tables, section.anchors, strict=True)
        for row in table.rows
        if row.published is not None
        for delta, printed, expected in (
            (1, row.published.delta1_percent, row.published.expected1),
            (2, row.published.delta2_percent, row.published.expected2),
        )
        if f"delta{delta}_percent" in row.published.differs
    ]


def _printed_count(tables: Iterable[DeltaTable]) -> int:
    return sum(
        delta is not None
        for table in tables
        for row in table.rows
        if row.published is not None
        for delta in (row.published.delta1_percent, row.published.delta2_percent)
    )


def _with_figure(section: Mapping[str, Any], tables: Sequence[DeltaTable]) -> dict[str, Any]:
    """The section with the figure it asks for (studies.published has the vocabulary)."""
    if section["kind"] == "chart":
        rows = section["rows"]
        figure = _stated_values(
            tuple(label for label, _, _ in rows),
            tuple(None if value is None else float(value) for _, value, _ in rows),
            tuple(bound == "more than" for _, _, bound in rows),
            section["unit"],
            section["title"],
        )
        return {**section, "figure": figure}
    if section["kind"] == "combined":
        return {**section, "figure": _combined_figure(section, tables)}
    return dict(section)


def _is_combined(section: Mapping[str, Any]) -> bool:
    return section["kind"] == "combined" or section.get("group") == "combined"


def _combined_figure(section: Mapping[str, Any], tables: Sequence[DeltaTable]) -> go.Figure | None:
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    unit = ""
    for table in tables:
        if table.category == section["category"] and table.test in {"write", "read"}:
            unit = table.unit
            for row in table.rows:
                scores[row.contender][table.test] = row.score
    if not scores:
        return None
    pairs = tuple(
        Halves(name, scores[name].get("write"), scores[name].get("read")) for name in sorted(scores)
    )
    return _read_write(pairs, unit, section["title"])


_stated_values = lru_cache(maxsize=64)(bars.stated_values)
_read_write = lru_cache(maxsize=64)(bars.read_write)
