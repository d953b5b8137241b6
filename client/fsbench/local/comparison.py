"""A comparison of results on this machine, as programs and people get it."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fsbench.local import files, reading, scoring
from fsbench.local.problems import FileProblem, NothingToRead
from fsbench_web.core.comparison import answer_shown
from fsbench_web.core.comparison.answer import ComparisonAnswer, Matrix, answer_from, matrix_of
from fsbench_web.core.comparison.headlines import counted_tables
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.comparison.significance import Rule
from fsbench_web.core.numbers import counted
from fsbench_web.core.scoring import testnames
from fsbench_web.core.stats.verdicts import EQUIVALENCE_PERCENT

Paths = str | os.PathLike[str]


@dataclass(frozen=True)
class LocalComparison:
    """What is compared, and what the evidence says of it.

    ``tables`` has one delta table a test, ``found`` is the answer over them. ``by`` says what the
    entries are. ``are_named``: the entries are names of files.
    """

    by: str
    baseline: str
    tables: tuple[DeltaTable, ...]
    found: ComparisonAnswer
    problems: tuple[FileProblem, ...]
    file_count: int
    run_count: int
    are_named: bool = False

    @property
    def status(self) -> str:
        """faster, equivalent, mixed, inconclusive or none."""
        return self.found.status

    @property
    def leader(self) -> str | None:
        """The fastest entry, only where the evidence names one."""
        return self.found.leader

    @property
    def sentence(self) -> str:
        """The answer in one or two sentences."""
        return answer_shown.headline(self.found)

    @property
    def details(self) -> list[str]:
        """Tests won and lost, the other entries, how many repeats would decide."""
        return answer_shown.details(self.found)

    @property
    def basis(self) -> str:
        """What the answer rests on, such as ``5 rounds, paired``."""
        return answer_shown.basis(self.found)

    @property
    def caveats(self) -> list[str]:
        """What to know before you believe the answer."""
        return [answer_shown.CAVEATS[code] for code in self.found.caveats]

    @cached_property
    def matrix(self) -> Matrix | None:
        """Tests as rows and entries as columns; None where nothing is compared."""
        return matrix_of(self.tables, self.found)

    @cached_property
    def repeats_needed(self) -> list[tuple[str, int]]:
        """Tests that count and that further repeats would decide; the fewest repeats first."""
        needed = {}
        for table in counted_tables(self.tables):
            counts = [
                row.verdict.more_blocks
                for row in table.rows
                if row.best and row.verdict is not None and row.verdict.more_blocks
            ]
            if counts:
                needed[table.test] = max(counts)
        return sorted(needed.items(), key=lambda pair: pair[1])

    @property
    def advice(self) -> list[str]:
        """How many repeats would decide each of these tests, in sentences."""
        return [
            f"About {counted(repeats, 'more repeat')} would decide {testnames.label(test)}."
            for test, repeats in self.repeats_needed
        ]

    @property
    def losses(self) -> list[FileProblem]:
        """Files and numbers that are missing from the comparison."""
        return [entry for entry in self.problems if entry.is_loss]

    @property
    def notes(self) -> list[FileProblem]:
        """What else is to know of the files."""
        return [entry for entry in self.problems if not entry.is_loss]

    def to_dict(self) -> dict[str, Any]:
        """For JSON: ``answer`` and ``tables`` as ``GET /comparison`` of a site has them."""
        return {
            "by": self.by,
            "baseline": self.baseline,
            "files": self.file_count,
            "runs": self.run_count,
            "answer": self.found.as_dict()
            | {"sentence": self.sentence, "details": self.details, "basis": self.basis},
            "repeats_needed": [
                {"test": test, "repeats": count} for test, count in self.repeats_needed
            ],
            "tables": [table.as_dict() for table in self.tables],
            "problems": [entry.as_dict() for entry in self.problems],
        }

    def to_markdown(self) -> str:
        """For an issue: the answer, and the matrix as a table."""
        from fsbench.local.markdown import written

        return written(self)

    def to_html(self) -> str:
        """One page without references to anything outside of it."""
        from fsbench.local.page import written

        return written(self)

    def __str__(self) -> str:
        return "\n".join([self.sentence, *self.details])


def compare(
    *paths: Paths,
    by: str = "",
    baseline: str = "",
    equivalence: float = EQUIVALENCE_PERCENT,
    blocks: str = "",
    units: str = "",
) -> LocalComparison:
    """Compare results in files, folders, patterns and archives.

    ``by``: one of ``scoring.BY``; "" takes folders, or the configurations that a table names.
    ``equivalence``: percent below which a difference is none. ``blocks="folders"``: files in
    folders of one name were measured as a round. ``units``: binary, decimal or printed.
    Raises NothingToRead with all problems where no file holds a number, and ValueError for an
    option that does not exist.
    """
    if by not in ("", *scoring.BY):
        raise ValueError(f'by is "{by}"; it can be {", ".join(scoring.BY)}.')
    if blocks not in ("", "folders"):
        raise ValueError(f'blocks is "{blocks}"; it can be folders.')
    found = files.find(paths)
    read = reading.read_files(found)
    reading.place_runs(read, blocks_are_folders=bool(blocks))
    if not read.series:
        raise NothingToRead(read.problems)
    scored = scoring.score_rows(read.series, read.problems)
    by = by or _by_default(read, found.are_named)
    contender = _contender(baseline, scored, by)
    rule = Rule(equivalence_percent=equivalence)
    tables = scoring.tables_of(scored, by, contender, rule, units)
    return LocalComparison(
        *(by, contender, tuple(tables), answer_from(tables, contender)),
        problems=tuple(dict.fromkeys(read.problems)),
        file_count=len(read.results),
        run_count=len({run.pk for runs in read.series.values() for run in runs}),
        are_named=found.are_named and by == "folder",
    )


def _by_default(read: reading.Reading, are_named: bool) -> str:
    """Folders or files, unless there is one alone, or tables name what all their rows are of."""
    runs = [run for of_series in read.series.values() for run in of_series]
    names_all = all(run.keys[0][0] or run.keys[0][1] for run in runs)
    is_one = len({run.entry for run in runs}) == 1
    return "configuration" if names_all and (is_one or are_named) else "folder"


def _contender(name: str, scored: scoring.Scored, by: str) -> str:
    """The slug of the entry that is called so. Raises ValueError where there is none."""
    if not name:
        return ""
    values = dict.fromkeys(scoring.value_of(facts, by) for facts, _ in scored.values())
    plain = Path(name).name or name
    for value in values:
        if name in value or plain in value or name.rstrip("/") in value:
            return value.slug
    offered = ", ".join(value.label for value in values)
    raise ValueError(f'The baseline "{name}" is none of the entries: {offered}.')
