"""The numbers of one test as columns: scores of very many numbers from little memory."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fsbench_web.core.measurement_columns import MeasurementColumns
from fsbench_web.core.scoring.categories import MEAN
from fsbench_web.core.scoring.columns import score_cells, score_one
from fsbench_web.core.scoring.confidence import Interval, score_intervals
from fsbench_web.core.scoring.quality_cells import Mask, Numbers
from fsbench_web.core.scoring.quality_repeats import Whole
from fsbench_web.core.scoring.scores import ScoreValue, score_mean, score_repeats

NO_SIZE = -1


class MixedMeasurements(ValueError):
    """Measurements of one test that no score can be made of: two units, or cells beside a mean."""


@dataclass(frozen=True)
class TestColumns:
    """All finished repeats of one test: run, record KB, file KB (NO_SIZE: none) and value."""

    runs: Whole
    records: Whole
    files: Whole
    values: Numbers

    @classmethod
    def of(cls, pieces: Sequence[tuple[int, MeasurementColumns]]) -> "TestColumns":
        """Numbers of one test, (run, columns), side by side; one size alone is none."""
        records, files = [], []
        for _, columns in pieces:
            is_cell = columns.is_cell
            if is_cell.all():
                records.append(columns.records)
                files.append(columns.files)
            else:
                records.append(np.where(is_cell, columns.records, NO_SIZE))
                files.append(np.where(is_cell, columns.files, NO_SIZE))
        lengths = [len(columns) for _, columns in pieces]
        return cls(
            np.repeat(np.array([run_id for run_id, _ in pieces], dtype=np.int64), lengths),
            np.concatenate(records, dtype=np.int64),
            np.concatenate(files, dtype=np.int64),
            np.concatenate([columns.values for _, columns in pieces]),
        )


@dataclass
class RunColumns:
    """The same by run: 20 bytes a number."""

    runs: dict[int, tuple[array, array, array]] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: TestColumns, kept: Mask | None = None) -> "RunColumns":
        """All numbers of a test, or those of a mask, the runs in order."""
        found = cls()
        places = np.arange(len(columns.values)) if kept is None else np.flatnonzero(kept)
        places = places[np.argsort(columns.runs[places], kind="stable")]
        runs = columns.runs[places]
        for some in np.split(places, np.flatnonzero(np.diff(runs)) + 1):
            if len(some):
                found.runs[int(columns.runs[some[0]])] = (
                    array("i", columns.records[some].astype(np.int32).tobytes()),
                    array("q", columns.files[some].tobytes()),
                    array("d", columns.values[some].tobytes()),
                )
        return found

    def scores(self, test: str) -> dict[str, ScoreValue]:
        """The scores by category. Raises MixedMeasurements."""
        sized = {records[0] >= 0 for records, _, _ in self.runs.values()}
        if len(sized) > 1 or any(
            (min(records) < 0) != (max(records) < 0) for records, _, _ in self.runs.values()
        ):
            raise MixedMeasurements(f"{test} has values with sizes and values without.")
        if sized == {False}:
            score = score_mean([v for _, _, values in self.runs.values() for v in values])
            return {} if score is None else {MEAN: score}
        if len(self.runs) == 1:
            return score_one(*next(iter(self.runs.values())))
        cells: dict[tuple[int, int], array] = {}
        for columns in self.runs.values():
            for record_kb, file_kb, value in zip(*columns, strict=True):
                values = cells.get((record_kb, file_kb))
                if values is None:
                    values = cells[record_kb, file_kb] = array("d")
                values.append(value)
        if all(len(values) == len(self.runs) for values in cells.values()):
            return score_cells(cells, len(self.runs))
        del cells
        return score_repeats(
            [
                {(r, f): v for r, f, v in zip(*columns, strict=True)}
                for columns in self.runs.values()
            ]
        )

    def intervals(self, test: str) -> dict[str, Interval]:
        """The 95% interval of each category's score, each run scored by itself."""
        if len(self.runs) < 2:
            return {}
        return score_intervals(
            RunColumns({run_id: columns}).scores(test) for run_id, columns in self.runs.items()
        )
