"""The numbers of one test as columns by run: scores of very many numbers from little memory."""

from array import array
from dataclasses import dataclass, field

from fsbench_web.core.scoring.categories import MEAN
from fsbench_web.core.scoring.columns import score_cells, score_one
from fsbench_web.core.scoring.confidence import Interval, score_intervals
from fsbench_web.core.scoring.scores import ScoreValue, score_mean, score_repeats

NO_SIZE = -1


class MixedMeasurements(ValueError):
    """Measurements of one test that no score can be made of: two units, or cells beside a mean."""


@dataclass
class RunColumns:
    """The numbers of one test by run, as columns: 20 bytes a number."""

    runs: dict[int, tuple[array, array, array]] = field(default_factory=dict)

    def add(self, run_id: int, record_kb: int | None, file_kb: int | None, value: float) -> None:
        if run_id not in self.runs:
            self.runs[run_id] = (array("i"), array("q"), array("d"))
        records, files, values = self.runs[run_id]
        records.append(NO_SIZE if record_kb is None else record_kb)
        files.append(NO_SIZE if file_kb is None else file_kb)
        values.append(value)

    def add_test(
        self,
        run_id: int,
        test: int,
        tests: array,
        records: array,
        files: array,
        values: array,
    ) -> None:
        """Add the rows of a run's columns whose test is ``test``."""
        if tests.count(test) == len(tests):
            self.runs[run_id] = (records, files, values)
            return
        places = [place for place, found in enumerate(tests) if found == test]
        if places:
            self.runs[run_id] = (
                array("i", [records[place] for place in places]),
                array("q", [files[place] for place in places]),
                array("d", [values[place] for place in places]),
            )

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
