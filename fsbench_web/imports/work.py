"""How much work it is to store an import: within a request, or by the importer. Pure.

A run takes 2 to 4 ms and so does a series, a score a tenth of that. A file of half a megabyte can
hold twenty thousand configurations: on SQLite its transaction would keep every other writer waiting
for a minute, behind a request that nobody waits for that long.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fsbench_web.core.formats.tables.long import LargeTable
from fsbench_web.imports.plan import Plan
from fsbench_web.imports.problems import ImportProblem
from fsbench_web.imports.sources import SourceFile
from fsbench_web.platform import limits


class LeavesRequest(Exception):
    """The files are more than a request stores: hand them to the importer (imports.queue)."""

    def __init__(
        self, sources: Sequence[SourceFile], warnings: Sequence[ImportProblem] = ()
    ) -> None:
        self.sources = list(sources)
        self.warnings = list(warnings)
        super().__init__("These files are stored by the importer.")


@dataclass(frozen=True)
class Work:
    """``scores`` are tests with their loads, of each run."""

    runs: int
    scores: int
    values: int

    @property
    def is_much(self) -> bool:
        """Whether the importer does it."""
        return (
            self.runs > limits.MOST_RUNS_STORED
            or self.scores > limits.MOST_SCORES_STORED
            or self.values > limits.MOST_ROWS_STORED
        )


def of_plan(plan: Plan) -> Work:
    """The work of storing what was planned."""
    runs = [run for file in plan.files for run in file.runs]
    return Work(
        len(runs),
        sum(len({(value.test, value.load) for value in run.values}) for run in runs),
        sum(len(run.values) for run in runs),
    )


def of_table(table: LargeTable) -> Work:
    """That of a large table, whose runs and numbers are written in bulk: its series count."""
    series: dict[Collection[object], set[int]] = {}
    for own, columns in table.runs.items():
        series.setdefault(own[:3], set()).update(columns.tests)
    return Work(len(series), sum(map(len, series.values())), 0)
