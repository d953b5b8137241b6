"""Runs -> scores -> delta tables with verdicts: what the site's database and core do, in memory."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import get_args

import numpy as np

from fsbench.local import By
from fsbench.local.problems import FileProblem, problem
from fsbench.local.reading import Circumstances, LocalRun
from fsbench_web.core.comparison.imported import as_label
from fsbench_web.core.comparison.judged import judged_tables, row_of
from fsbench_web.core.comparison.rows import (
    DeltaTable,
    ScoreRow,
    SeriesFacts,
    Value,
    slug_of,
)
from fsbench_web.core.comparison.significance import Rule
from fsbench_web.core.formats.result import TOOLS_OF_TRIALS
from fsbench_web.core.scoring.judging import Part, TestScores, computed_scores, judge_parts
from fsbench_web.core.scoring.quality import (
    EVERY_CELL,
)
from fsbench_web.core.scoring.quality_cells import MixedMeasurements, requests_direct_io
from fsbench_web.core.scoring.series_quality import SeriesContext, postmark_times
from fsbench_web.core.scoring.testnames import at_load
from fsbench_web.core.stats.intervals import SAMPLES, TRIALS

Scored = dict[int, tuple["LocalFacts", list[ScoreRow]]]
"""Each series with its scores, by a number of it."""
STUDY = "local"
BY = get_args(By)


def score_rows(series: dict[Circumstances, list[LocalRun]], problems: list[FileProblem]) -> Scored:
    """Every score of each series, with what is known of the series, by a number of it."""
    configurations: dict[str, int] = {}
    rows: Scored = {}
    for key, (circumstances, runs) in enumerate(series.items(), start=1):
        facts = _facts(key, circumstances, runs[0], configurations)
        try:
            rows[key] = facts, list(_rows_of(facts, runs))
        except (MixedMeasurements, ValueError) as error:
            problems.append(problem("mixed_units", runs[0].file, found=facts.label, reason=error))
    return rows


@dataclass(kw_only=True)
class LocalFacts(SeriesFacts):
    """What is known of a series; ``entry`` is the folder or file that it came from."""

    entry: str = ""

    @property
    def label(self) -> str:
        """What people call it."""
        return self.entry or self.configuration


def _facts(
    key: int, circumstances: Circumstances, run: LocalRun, configurations: dict[str, int]
) -> LocalFacts:
    entry, filesystem, configuration, hardware, kernel, workload = circumstances
    return LocalFacts(
        configuration=configuration,
        configuration_id=configurations.setdefault(configuration, len(configurations)),
        configuration_is_known=False,
        filesystem=filesystem or as_label(entry) or configuration,
        study=STUDY,
        study_title=STUDY,
        series_id=key,
        workload=workload or None,
        workload_title=run.workload_title or None,
        tool=None if run.is_of_table else run.parsed.tool,
        hardware=hardware or None,
        hardware_name=hardware or None,
        lun=None,
        kernel=kernel,
        distribution="",
        entry=entry,
    )


def _rows_of(facts: SeriesFacts, runs: Sequence[LocalRun]) -> Iterator[ScoreRow]:
    tool = facts.tool or ""
    basis = SeriesContext(
        tool,
        requests_direct_io(runs[0].parsed.modes),
        elapsed_s=postmark_times((run.pk, run.columns) for run in runs)
        if tool == "postmark"
        else {},
        blocks={run.pk: run.block for run in runs if run.block},
    )
    parts = [
        Part(run.pk, run.columns, np.zeros(len(run.columns.values), dtype=np.uint8)) for run in runs
    ]
    scores = TestScores()
    kind = TRIALS if tool in TOOLS_OF_TRIALS else SAMPLES
    judge_parts(scores, parts, basis, partial(_samples_of, runs), kind)
    known = {name: value for name, value in vars(facts).items() if name != "entry"}
    for score in computed_scores(basis, scores, {}):
        if score.selection == EVERY_CELL:
            yield row_of(known, score)


def _samples_of(
    runs: Sequence[LocalRun], tests: Collection[str]
) -> Iterator[tuple[str, Sequence[float] | None]]:
    for run in runs:
        for place, samples in run.samples.items():
            measured = run.columns.tests[run.columns.codes[place]]
            if (test := at_load(measured.test, measured.load)) in tests:
                yield test, samples


def value_of(facts: LocalFacts, by: str) -> Value:
    """The contender that a series belongs to."""
    name = {
        "folder": facts.entry,
        "configuration": facts.configuration,
        "filesystem": facts.filesystem,
        "kernel": facts.kernel,
        "hardware": facts.hardware or "",
        "workload": facts.workload_title or "",
    }[by]
    slug = as_label(name) if by == "folder" else ""
    return Value(slug or slug_of(name), name) if name.strip() else Value("unknown", "not known")


def tables_of(
    scored: Scored,
    by: str,
    baseline: str,
    rule: Rule,
    units: str,
) -> list[DeltaTable]:
    """The headline table of each test, with verdicts; the best configuration of each contender."""
    series = {key: facts for key, (facts, _) in scored.items()}
    values = {key: value_of(facts, by) for key, facts in series.items()}
    rows = [row for _, of_series in scored.values() for row in of_series]
    named = "configuration" if by == "folder" else by
    return judged_tables(rows, values, series, by=named, baseline=baseline, rule=rule, units=units)
