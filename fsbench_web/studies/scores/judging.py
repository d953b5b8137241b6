"""Judge stored blocks of a series, some tests at a time to bound memory."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from fsbench_web.core.scoring.judging import Part, TestScores, judge_parts
from fsbench_web.core.scoring.quality import Bits, SeriesContext, bits_of, flags_of
from fsbench_web.core.scoring.testnames import at_load
from fsbench_web.core.stats.intervals import SAMPLES, TRIALS
from fsbench_web.studies.models import Series
from fsbench_web.studies.scores import measurements
from fsbench_web.studies.scores.measurements import StoredBlock

MOST_AT_ONCE = 200_000
"""Numbers that are looked at together, unless one test has more."""


def judge_stored(series: Series, basis: SeriesContext) -> TestScores:
    """Judge the finished runs and write changed flags. The caller holds the series' lock."""
    blocks = measurements.listed(measurements.of_finished([series.pk]), samples=False)
    block_bits: dict[int, tuple[Bits, Bits]] = {}
    test_scores = TestScores()
    kind = TRIALS if series.samples_are_trials else SAMPLES
    for wanted in _test_batches(block.tests for block in blocks):
        parts, samples_of = _parts(blocks, wanted, block_bits), partial(_samples_of, series)
        judge_parts(test_scores, parts, basis, samples_of, kind, wanted)
    for block in blocks:
        stored, bits = block_bits[block.pk]
        if (stored != bits).any():
            measurements.write_flags(block, flags_of(bits))
    return test_scores


def _test_batches(
    summaries: Iterable[Iterable[Sequence[Any]]],
) -> Iterator[frozenset[str] | None]:
    """Tests that are looked at together; None where that is all of them."""
    counts: dict[str, int] = {}
    for tests in summaries:
        for test, load, _, count, _ in tests:
            name = at_load(test, load)
            counts[name] = counts.get(name, 0) + count
    if sum(counts.values()) <= MOST_AT_ONCE:
        yield None
        return
    names: list[str] = []
    numbers = 0
    for name, count in counts.items():
        if names and numbers + count > MOST_AT_ONCE:
            yield frozenset(names)
            names, numbers = [], 0
        names.append(name)
        numbers += count
    yield frozenset(names)


def _parts(
    blocks: Iterable[StoredBlock],
    wanted: frozenset[str] | None,
    block_bits: dict[int, tuple[Bits, Bits]],
) -> Iterator[Part]:
    """The blocks with one of the tests; ``block_bits`` has the flags of each, stored and found."""
    for block in blocks:
        if wanted is not None and not any(
            at_load(test, load) in wanted for test, load, *_ in block.tests
        ):
            continue
        numbers = block.read()
        if block.pk not in block_bits:
            bits = np.array([bits_of(flags) for flags in numbers.kinds], dtype=np.uint8)
            stored = bits[numbers.flag_codes]
            block_bits[block.pk] = stored, stored.copy()
        yield Part(block.run_id, numbers.columns, block_bits[block.pk][1])


def _samples_of(
    series: Series, tests: Collection[str]
) -> Iterator[tuple[str, Sequence[float] | None]]:
    """The samples of each number of these tests, by test with its load."""
    sampled = measurements.of_finished([series.pk]).filter(samples__isnull=False)
    for numbers in measurements.read(sampled, samples=True):
        for place, samples in numbers.samples.items():
            measured_test = numbers.columns.tests[numbers.columns.codes[place]]
            if (test := at_load(measured_test.test, measured_test.load)) in tests:
                yield test, samples
