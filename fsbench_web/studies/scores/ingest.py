"""Raw output, measurements and scores of a run. The caller holds the transaction."""

import gzip
import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from django.db import transaction
from isal import isal_zlib

from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.scoring.categories import expected_cells
from fsbench_web.core.scoring.judging import Part, TestScores, computed_scores, judge_parts
from fsbench_web.core.scoring.quality_cells import MixedMeasurements as MixedMeasurements
from fsbench_web.core.scoring.series_quality import Bits, SeriesContext, bits_of, flags_of
from fsbench_web.core.scoring.testnames import at_load
from fsbench_web.core.stats.intervals import REPEATS, SAMPLES, TRIALS
from fsbench_web.core.workloads import ParameterError, workload_of
from fsbench_web.studies.models import COMPUTED, Artefact, Run, Score, Series
from fsbench_web.studies.scores import measurements, quality
from fsbench_web.studies.scores.measurements import StoredBlock
from fsbench_web.studies.series import lock, lock_all, next_repeat, series_like

# Judge stored blocks of a series, some tests at a time to bound memory.

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


@dataclass(frozen=True)
class Packed:
    """Raw output, compressed, with the digest and size of the original."""

    content_gzip: bytes
    sha256: str
    size_bytes: int


def packed(chunks: Iterable[bytes]) -> Packed:
    """The output in one piece; the same output is the same bytes."""
    digest, size, parts = hashlib.sha256(), 0, []
    # wbits 31: gzip's own frame, without a time. ISA-L packs a large table six times as fast as
    # zlib's level 4, and 3% larger.
    packer = isal_zlib.compressobj(1, isal_zlib.DEFLATED, 31)
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        parts.append(packer.compress(chunk))
    parts.append(packer.flush())
    return Packed(b"".join(parts), digest.hexdigest(), size)


def packed_artefact(
    name: str, data: bytes, media_type: str = "text/plain; charset=utf-8"
) -> Artefact:
    """Raw output as it came, as a row of no run yet: packing takes time, and needs no lock."""
    return Artefact(
        name=name.replace("\x00", "\ufffd")[:200], media_type=media_type, **asdict(packed([data]))
    )


def store_packed(run: Run, artefact: Artefact) -> Artefact:
    """Keep what ``packed_artefact`` made. The caller holds the transaction."""
    artefact.run = run
    artefact.save(force_insert=True)
    return artefact


def store_artefact(run: Run, name: str, data: bytes) -> Artefact:
    """Keep raw output that is small, or where nobody waits for a lock."""
    return store_packed(run, packed_artefact(name, data))


def artefact_bytes(artefact: Artefact) -> bytes:
    return gzip.decompress(artefact.content_gzip)


def store_values(
    run: Run, artefact: Artefact | None, values: Iterable[ParsedValue], *, is_new: bool = False
) -> int:
    """Store numbers of a file; returns how many. Raises IntegrityError for a repeated cell.

    ``is_new``: the run has none yet. An extra run never stores any.
    """
    if run.is_extra:
        return 0
    artefact_id = artefact.pk if artefact is not None else None
    return measurements.store_values(run.pk, artefact_id, values, is_new=is_new)


def move_to_kernel(
    run: Run, kernel: str, distribution: str, accelerator: str | None = None
) -> Series:
    """Put the run into the series of what it really ran on. The old series stays, even empty."""
    old = run.series
    submitted = machine = Machine.of(old.machine)
    if machine.is_guest and accelerator is not None:
        machine = replace(machine, accelerator=accelerator)
    kernel, distribution = kernel[:200], distribution[:200]
    if (kernel, distribution, machine) == (old.kernel, old.distribution, submitted):
        return old
    new = series_like(old, kernel=kernel, distribution=distribution, machine=machine.stored())
    # One order of locks for everybody, so that two moves cannot wait for each other.
    for series in sorted((old, new), key=lambda series: series.pk):
        lock(series)
    run.series, run.repeat = new, next_repeat(new)
    run.save(update_fields=["series", "repeat"])
    return new


@transaction.atomic
def rescore(series: Series) -> None:
    """Make scores and flags from finished runs, not printed ones. Raises MixedMeasurements."""
    lock_all([series])
    rescore_locked(series)


def rescore_locked(series: Series, finished: Iterable[Run] | None = None) -> None:
    """``rescore`` for a caller with the lock (series.lock_all) and maybe the ``finished`` runs."""
    basis = quality.basis_of(series, finished)
    test_scores = judge_stored(series, basis)
    replace_scores(series, basis, test_scores)


def replace_scores(series: Series, basis: SeriesContext, test_scores: TestScores) -> None:
    """Write the computed scores of a series in place of the old. The caller holds its lock."""
    boundaries = {
        test: quality_of_test.boundary
        for test, quality_of_test in test_scores.tests.items()
        if quality_of_test.boundary is not None
    }
    series_quality = basis.as_dict(boundaries)
    Score._base_manager.filter(series=series, origin=COMPUTED).delete()
    if series.quality != series_quality:
        series.quality = series_quality
        Series._base_manager.filter(pk=series.pk).update(quality=series_quality)
    is_published = series.study.is_published
    printed = set(series.scores.values_list("test", "category")) if is_published else set()
    Score._base_manager.bulk_create(_scores(series, basis, test_scores, printed), batch_size=500)


def _scores(
    series: Series,
    basis: SeriesContext,
    test_scores: TestScores,
    printed: Collection[tuple[str, str]],
) -> Iterator[Score]:
    """Its scores, but for those (test, category) that a paper ``printed``."""
    for score in computed_scores(basis, test_scores, expected_cells_of(series)):
        if (score.test, score.category) in printed:
            continue
        interval, share = score.interval, score.share
        of_repeats = interval if interval and interval.of == REPEATS else None
        yield Score(
            series=series,
            origin=COMPUTED,
            repeats=len(score.run_ids),
            half_width=of_repeats.half_width if of_repeats else None,
            half_width_percent=of_repeats.relative_percent if of_repeats else None,
            **vars(score)
            | {
                "interval": interval.as_dict() if interval else None,
                "share": share.as_dict() if share else None,
            },
        )


def expected_cells_of(series: Series) -> dict[str, int]:
    """How many cells the workload has in each category; nothing where that is not known."""
    if series.workload is None:
        return {}
    try:
        workload = workload_of(series.workload.tool, series.workload.parameters)
    except ParameterError:
        return {}
    cells = list(workload.cells())
    return expected_cells(cells) if cells else {}
