"""Signed inputs and raw output -> the tables of a sealed file: readers and rules of the core. Pure.

``Inputs`` is the predicate of an attestation (docs/api.md). Sealing and checking both call
``tables``: equal inputs have equal tables.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fsbench_web.core import number_tables
from fsbench_web.core.comparison.judged import judged_tables, row_of
from fsbench_web.core.comparison.rows import EMULATED, PARTIAL, ScoreRow, Value, slug_of
from fsbench_web.core.comparison.significance import Rule
from fsbench_web.core.formats import ParsedResult, UnreadableFile, parse
from fsbench_web.core.formats.result import TOOLS_OF_TRIALS, stored_key
from fsbench_web.core.formats.tables.file_numbers import (
    FileNumbers,
    Samples,
    joined_outputs,
    numbers_of,
)
from fsbench_web.core.formats.tables.mapping import Mapping as ColumnMapping
from fsbench_web.core.formats.tables.spreadsheet import parse_mapped
from fsbench_web.core.formats.text import as_utf8
from fsbench_web.core.measurement_columns import (
    Column,
    MeasuredTest,
    MeasurementColumns,
    no_columns,
    of_rows,
)
from fsbench_web.core.number_tables import COLUMNS, OF_RUN, RunNumbers
from fsbench_web.core.scoring.judging import Part, TestScores, computed_scores, judge_parts
from fsbench_web.core.scoring.quality import (
    EVERY_CELL,
    RULES,
)
from fsbench_web.core.scoring.quality_cells import Mask, MixedMeasurements, TestColumns
from fsbench_web.core.scoring.series_quality import SeriesContext, flags_of, postmark_times
from fsbench_web.core.scoring.shares import is_above, is_of_time
from fsbench_web.core.scoring.testnames import at_load
from fsbench_web.core.sealed.problems import Unsealed, UnsealedFile
from fsbench_web.core.stats.intervals import SAMPLES, TRIALS

if TYPE_CHECKING:
    import pyarrow

TODAY = {"file": 1, "reading": 1, "scores": 1, "flags": RULES}
"""The versions of the rules that this fsbench knows."""
MOST_NUMBERS = 300_000
"""Of one sealed file: it is made, and checked, in one piece."""
Inputs = Mapping[str, Any]
Read = dict[int, tuple[MeasurementColumns, Samples]]
"""The numbers of a raw file by run."""


def read_raw(name: str, data: bytes, how: Mapping[str, Any]) -> FileNumbers:
    """The numbers of a raw file. Raises UnreadableFile.

    ``how``: the ``mapping`` of a table's columns, what job files said (``beside``), the bytes of a
    ``kilobyte``, and whether the file was ``measured`` here or its ``kernels`` count.
    """
    parsed: ParsedResult
    if how.get("mapping"):
        parsed = parse_mapped(data, ColumnMapping.from_json(how["mapping"]))
    elif how.get("measured"):
        parsed = parse(name, as_utf8(data))
    else:
        parsed = parse(name, data, how.get("beside") or {})
    numbers = numbers_of(parsed)
    if kilobyte := how.get("kilobyte"):
        numbers = numbers.explained(parsed.tool, kilobyte)
    return numbers if how.get("kernels") else numbers.without_kernels()


def by_run(numbers: FileNumbers, how: Mapping[str, Any], only_run: int) -> Read:
    """The numbers of each run of a raw file; all are of ``only_run`` where no keys are kept."""
    runs = {stored_key(key): int(run) for key, run in how.get("runs") or ()}
    return numbers.by_run(runs or dict.fromkeys(numbers.keys, only_run))


def is_same(
    one: tuple[MeasurementColumns, Samples], other: tuple[MeasurementColumns, Samples]
) -> bool:
    """Whether these are the same numbers in the same order, with the same samples."""
    (first, samples), (second, other_samples) = one, other
    if len(first) != len(second) or samples != other_samples:
        return False
    first, second = first.pruned(), second.pruned()
    names = ("codes", "records", "files", "values", "lines")
    return list(first.tests) == list(second.tests) and all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in names
    )


def stated(columns: MeasurementColumns, samples: Samples) -> list[list[Any]]:
    """Numbers as an attestation states them where no raw file gives them."""
    rows = enumerate(columns.rows())
    return [[*test, *rest, samples.get(place)] for place, (test, *rest) in rows]


def _from_stated(rows: Sequence[Sequence[Any]]) -> tuple[MeasurementColumns, Samples]:
    samples = {place: row[7] for place, row in enumerate(rows) if row[7] is not None}
    values = [(MeasuredTest(*row[:3]), *row[3:7]) for row in rows]
    return of_rows(values) if values else no_columns(), samples


class _Bounds:
    """What the raw LUN of a series bounds: signed, since its probes are no raw output."""

    def __init__(self, rows: Sequence[Sequence[Any]]) -> None:
        self._rows: dict[str, dict[int, tuple[float, float]]] = {}
        for test, record, percent, limit in rows:
            self._rows.setdefault(test, {})[record] = percent, limit

    def above_ceiling(self, test: str, unit: str, columns: TestColumns) -> Mask:
        mask = np.zeros(len(columns.values), dtype=np.bool_)
        for record, bound in self._rows.get(test, {}).items():
            above = is_above(columns.values, *bound, is_of_time(unit))
            mask |= above & (columns.records == record)
        return mask

    def share(self, *_: object) -> None:
        """No table of a sealed file has shares."""


@dataclass(frozen=True)
class Recomputed:
    """All numbers of the signed inputs."""

    inputs: Inputs
    raw: Mapping[str, bytes]

    @cached_property
    def runs(self) -> dict[int, tuple[MeasurementColumns, Samples]]:
        """The numbers of each run. Raises UnsealedFile; KeyError and others for odd inputs."""
        self._refuse_repeated()
        read = {}
        for row in self.inputs["raw"]:
            try:
                numbers = read_raw(row["name"], self.raw[row["path"]], row["read"])
            except UnreadableFile:
                raise UnsealedFile(Unsealed("unreadable", row["path"])) from None
            read[row["path"]] = by_run(numbers, row["read"], row["run"])
        found: dict[int, tuple[MeasurementColumns, Samples]] = {}
        count = 0
        for run in self.inputs["runs"]:
            number, parts = run["run"], []
            for part in run["numbers"]:
                if "raw" in part:
                    parts.append(read[part["raw"]][number])
                else:
                    parts.append(_from_stated(part["stated"]))
            found[number] = joined_outputs(parts)
            count += len(found[number][0])
            if count > MOST_NUMBERS:
                raise UnsealedFile(Unsealed("too_many_numbers", "", f"{MOST_NUMBERS:,}"))
        return found

    def _refuse_repeated(self) -> None:
        """Raises ValueError for what would be read or counted more than once."""
        runs, paths = self.inputs["runs"], [row["path"] for row in self.inputs["raw"]]
        named = [path for path in self.raw if path.startswith("raw/")]
        lists = [paths, [row["run"] for row in runs]]
        lists += [[row["facts"]["series_id"] for row in self.inputs["series"]]]
        lists += [[part["raw"] for part in run["numbers"] if "raw" in part] for run in runs]
        if sorted(paths) != sorted(named) or any(len(set(one)) < len(one) for one in lists):
            raise ValueError("a raw file, a run or a series is named twice, or not at all")

    @cached_property
    def _bits(self) -> dict[int, Column]:
        return {
            run: np.zeros(len(columns), dtype=np.uint8) for run, (columns, _) in self.runs.items()
        }

    @cached_property
    def _scores(self) -> list[ScoreRow]:
        return [row for series in self.inputs["series"] for row in self._scores_of(series)]

    def _scores_of(self, series: Mapping[str, Any]) -> Iterator[ScoreRow]:
        key = series["facts"]["series_id"]
        numbers = [run["run"] for run in self.inputs["runs"] if run["series"] == key]
        basis = self._basis(series["basis"], numbers)
        parts = [Part(run, self.runs[run][0], self._bits[run]) for run in numbers]
        kind = TRIALS if series["facts"]["tool"] in TOOLS_OF_TRIALS else SAMPLES
        found = TestScores()

        def samples_of(tests: Any) -> Iterator[tuple[str, Sequence[float]]]:
            for run in numbers:
                columns, samples = self.runs[run]
                for place, values in samples.items():
                    test = columns.tests[columns.codes[place]]
                    if (name := at_load(test.test, test.load)) in tests:
                        yield name, values

        try:
            judge_parts(found, parts, basis, samples_of, kind)
        except MixedMeasurements:  # the site has no scores of it either
            return
        for score in computed_scores(basis, found, series["expected_cells"]):
            if score.selection == EVERY_CELL:
                row = row_of(series["facts"], score)
                flags, cells, expected = list(row.flags), row.cells, row.cells_expected
                if cells is not None and expected is not None and cells < expected:
                    flags += [PARTIAL] if PARTIAL not in flags else []
                row.flags = (*flags, *([EMULATED] if row.is_emulated else []))
                yield row

    def _basis(self, basis: Mapping[str, Any], runs: Sequence[int]) -> SeriesContext:
        times = (
            postmark_times((run, self.runs[run][0]) for run in runs)
            if basis["tool"] == "postmark"
            else {}
        )
        return SeriesContext(
            *(basis["tool"], basis["is_direct"], basis["limit_kb_s"], basis["limit_from"]),
            basis["memory_kb"],
            {run: tuple(flags) for run, flags in basis["unsound"]},
            times,
            dict(basis["blocks"]),
            _Bounds(basis["bounds"]) if basis["bounds"] is not None else None,
            frozenset((run, test) for run, test in basis["unsteady"]),
        )

    def tables(self) -> dict[str, "pyarrow.Table"]:
        """The tables by name. Needs pyarrow."""
        import pyarrow

        schemas = {name: number_tables.schema_of(names) for name, names in COLUMNS.items()}
        names = COLUMNS["scores"][1:]
        rows = [
            {"series": row.series_id} | {name: getattr(row, name) for name in names}
            for row in self._scores
        ]
        scores = [number_tables.batch_of_rows(rows, schemas["scores"])]
        deltas = [number_tables.batch_of_rows(list(self._deltas()), schemas["deltas"])]
        measured = number_tables.batches_of(self._run_numbers(), schemas["measurements"])
        return {
            "measurements": pyarrow.Table.from_batches(measured),
            "scores": pyarrow.Table.from_batches(scores),
            "deltas": pyarrow.Table.from_batches(deltas),
        }

    def _deltas(self) -> Iterator[dict[str, Any]]:
        """Configurations against each other, with verdicts; emulated ones are no speeds."""
        rows = [row for row in self._scores if not row.is_emulated]
        series = {row.series_id: row for row in rows}
        values = {
            key: Value(slug_of(row.configuration), row.configuration) for key, row in series.items()
        }
        by, rule = "configuration", Rule()
        tables = judged_tables(rows, values, series, by=by, baseline="", rule=rule, units="")
        for table in tables:
            head = {"test": table.test, "category": table.category, "unit": table.unit}
            for row in table.rows:
                known = row._asdict() | (row.verdict._asdict() if row.verdict else {})
                yield head | {name: known.get(name) for name in COLUMNS["deltas"][3:]}

    def _run_numbers(self) -> Iterator[RunNumbers]:
        self._scores  # noqa: B018 - judging writes the flags
        for run in self.inputs["runs"]:
            columns, samples = self.runs[run["run"]]
            kinds, codes = flags_of(self._bits[run["run"]])
            facts = {name: run[name] for name in OF_RUN}
            facts["date"] = datetime.fromisoformat(run["date"]) if run["date"] else None
            lists = {
                "flags": [kinds[code] for code in codes.tolist()],
                "samples": [samples.get(place) for place in range(len(columns))],
            }
            yield RunNumbers(facts, columns, lists)
