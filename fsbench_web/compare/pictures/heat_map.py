"""The heat map of one contender: block size by file size."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from fsbench_web.compare.pictures.base import Picture
from fsbench_web.compare.pictures.contender_pictures import SingleContenderPicture
from fsbench_web.compare.pictures.drawable import MATRIX, Contender
from fsbench_web.compare.pictures.parts import (
    FILE,
    block_column,
    is_lower,
    note,
    repeats_columns,
    repeats_row,
    unknown_unit,
)
from fsbench_web.compare.pictures.table import PictureTable
from fsbench_web.core.scoring import testnames
from fsbench_web.core.scoring.quality import FLAGS, ordered
from fsbench_web.figures import heatmap
from fsbench_web.studies.models import Series
from fsbench_web.studies.runs.listing import address_of
from fsbench_web.studies.runs.shown import quality as run_quality
from fsbench_web.studies.scores import cells
from fsbench_web.studies.scores.cells import Cell, Matrix, Repeats


class HeatMap(SingleContenderPicture):
    slug = "matrix"
    label = "Heat map"
    words = "One contender: block size by file size."
    needs = MATRIX

    def draw_contender(self, contender: Contender) -> Picture:
        matrices = self.in_one_unit(cells.matrices([contender.key], self.test))
        if not matrices:
            text = f"{contender.name} has no matrix of {testnames.label(self.test)}."
            return Picture(None, notes=[text])
        largest = max(matrices, key=lambda matrix: len(matrix.cells))
        notes = [
            *_blank_cells(largest.cells),
            *_other_units(matrices, largest),
            *unknown_unit(largest.unit),
        ]
        return Picture(self.figure(contender, largest), _table(self.test, largest), notes)

    def figure(self, contender: Contender, matrix: Matrix) -> go.Figure:
        """Flagged cells are hatched, and the cache boundary is a line."""
        quality = Series.objects.values_list("quality", flat=True).get(pk=contender.key)
        return heatmap.matrix(
            **self.figure_arguments(contender, matrix),
            flagged=_cells_by_flag(matrix.cells),
            edges=run_quality.edges(quality, self.test),
        )

    def figure_arguments(self, contender: Contender, matrix: Matrix) -> dict[str, Any]:
        """What every figure of a matrix takes: the means, where each leads, and words."""
        title = (
            f"{testnames.label(self.test)}: {contender.name}{_runs_remark(matrix.cells.values())}"
        )
        return {
            "cells": {cell: repeats.mean for cell, repeats in matrix.cells.items()},
            "unit": matrix.unit,
            "title": title,
            "lower_is_better": is_lower(matrix.unit),
            "links": {cell: address_of(repeats.run_ids) for cell, repeats in matrix.cells.items()},
            "notes": {cell: note(repeats) for cell, repeats in matrix.cells.items()},
            "block": testnames.block_word(self.test),
        }


def _table(test: str, matrix: Matrix) -> PictureTable:
    rows = [repeats_row(cell, repeats) for cell, repeats in sorted(matrix.cells.items())]
    return PictureTable([block_column(test), FILE, *repeats_columns(matrix.unit)], rows)


def _cells_by_flag(cells: Mapping[Cell, Repeats]) -> dict[str, list[Cell]]:
    """The cells of each flag, {what the legend says: cells}."""
    present = {flag for repeats in cells.values() for flag in repeats.flags}
    return {
        FLAGS[slug].of_cells if slug in FLAGS else slug: [
            cell for cell, repeats in cells.items() if slug in repeats.flags
        ]
        for slug in ordered(present)
    }


def _runs_remark(cells: Iterable[Repeats]) -> str:
    counts = {len(repeats.values) for repeats in cells}
    if counts == {1}:
        return ""
    low, high = min(counts), max(counts)
    return f", mean of {high} runs" if low == high else f", mean of {low} to {high} runs"


def _blank_cells(cells: Mapping[Cell, Repeats]) -> list[str]:
    records, files = {record for record, _ in cells}, {file for _, file in cells}
    blank = len(records) * len(files) - len(cells)
    if not blank:
        return []
    larger = sum(record > file for record in records for file in files)
    why = f", {larger} of which have a record larger than the file" if larger else ""
    return [
        f"{blank} of {len(records) * len(files)} cells were not measured and stay blank"
        f"{why if larger <= blank else ''}."
    ]


def _other_units(matrices: Sequence[Matrix], drawn: Matrix) -> list[str]:
    others = [matrix.unit for matrix in matrices if matrix is not drawn]
    return [f"There are numbers in {', '.join(others)} too, which are not drawn."] if others else []
