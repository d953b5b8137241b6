"""The audit of a LUN: one configuration under two names in the same rounds, and with a handicap.

It is an ordinary job. Its limits of reads are the names: two that limit nothing, and one just below
what these two read. Method: docs/method.md#an-audit-of-a-machine.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fsbench_web.catalog.models import Lun
from fsbench_web.core.stats.auditing import HANDICAP_PERCENT, ROUNDS, Audit, Values
from fsbench_web.core.stats.intervals import mean
from fsbench_web.core.workloads import ParameterError, workload_of
from fsbench_web.studies.jobs.features.race import measures
from fsbench_web.studies.jobs.features.repeats import MAXIMUM_REPEATS
from fsbench_web.studies.jobs.forms.job_form import prefilled
from fsbench_web.studies.jobs.repeating import repeating_job
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, LimitsSpec
from fsbench_web.studies.models import Score, Series
from fsbench_web.studies.sequence import RANDOM

LIMIT = "read_mib_s"
NAMES = (1_000_000, 999_999)
"""Limits in MiB/s that limit nothing: the two names."""
UNIT, UNITS_IN_MIB = "KB/s", 1024
WORKLOAD = "fio-stream"
PARAMETERS = {"directions": "read", "depths": [8], "file_mb": 1024, "ramp_s": 1, "runtime_s": 4}
MOST_SERIES = 300
"""Of a LUN that are read, the latest."""


@dataclass
class LunAudit(Audit):
    """``newest``: the newest series of a first name. ``rate``: what it read, in UNIT."""

    newest: Series | None = None
    rate: float | None = None
    tests: dict[str, None] = field(default_factory=dict)


def lun_audit(lun: Lun) -> LunAudit:
    """What the audits of a LUN that one may see counted. Two queries."""
    audit = LunAudit()
    for names, limited, test in _audited(lun):
        series = names[NAMES[0]][0]
        sides = {limit: by_job for limit, (_, by_job) in (names | limited).items()}
        values = [value for name in NAMES for job in sides[name].values() for value in job.values()]
        if values and (audit.newest is None or series.pk > audit.newest.pk):
            audit.newest, audit.rate = series, mean(values)
        audit.tests[test] = None
        for job, first in sides[NAMES[0]].items():
            handicaps = {
                float(limit * UNITS_IN_MIB): sides[limit][job]
                for limit in limited
                if job in sides[limit]
            }
            audit.add(first, sides[NAMES[1]].get(job, {}), handicaps, is_time=False)
    return audit


def order_query(lun: Lun, audit: LunAudit) -> str:
    """The query of the job form of the next audit; the first measures what the handicap needs."""
    limits: tuple[int, ...] = NAMES
    spec = None
    if audit.newest is not None and audit.rate is not None:
        spec = repeating_job([audit.newest], MAXIMUM_REPEATS)
        handicap = round(audit.rate * (1 - HANDICAP_PERCENT / 100) / UNITS_IN_MIB)
        limits = (*NAMES, max(1, handicap)) if spec else NAMES
    spec = spec or JobSpec(
        lun_id=lun.pk,
        configurations=(ConfigurationSpec("ext4"),),
        workload=WORKLOAD,
        parameters=PARAMETERS,
        repeats=ROUNDS,
        order=RANDOM,
        new_study=f"Audit of {lun.name}",
    )
    spec = spec.model_copy(update={"limits": LimitsSpec(read_mib_s=limits), "seed": None})
    return prefilled(spec).to_query()


_Side = tuple[Series, Mapping[str, Values]]
"""A series, and what it measured by job and round."""


def _audited(lun: Lun) -> Iterator[tuple[dict[int, _Side], dict[int, _Side], str]]:
    """The two names, the handicaps, and the test that decides, of each configuration audited."""
    rows = Series.objects.filter(lun=lun, **{f"machine__limits__{LIMIT}__isnull": False})
    rows = rows.select_related("workload", "study", "configuration", "journal_lun")
    alike: dict[Any, dict[int, Series]] = defaultdict(dict)
    for series in rows.order_by("-pk")[:MOST_SERIES]:
        limits = series.runs_on.limits.stored()
        if set(limits) == {LIMIT} and series.machine == {"limits": limits}:
            alike[_circumstances(series)][limits[LIMIT]] = series
    audited = {key: by_limit for key, by_limit in alike.items() if by_limit.keys() >= {*NAMES}}
    keys = [series.pk for by_limit in audited.values() for series in by_limit.values()]
    scores: dict[tuple[int, str, str], Score] = {
        (score.series_id, score.test, score.category): score
        for score in Score.objects.filter(series__in=keys, unit=UNIT)
    }
    for by_limit in audited.values():
        for measure in _measures(by_limit[NAMES[0]]):
            found: dict[int, _Side] = {
                limit: (series, _by_job(score))
                for limit, series in by_limit.items()
                if (score := scores.get((series.pk, *measure))) is not None
            }
            if found.keys() >= {*NAMES}:
                names = {name: found.pop(name) for name in NAMES}
                yield names, found, measure[0]
                break


def _circumstances(series: Series) -> tuple[Any, ...]:
    """What series of one configuration share, however they are limited."""
    return (
        *(series.study_id, series.configuration_id, series.workload_id, series.hardware_id),
        *(series.kernel, series.distribution, series.journal_lun_id, series.stack_luns),
        repr(sorted(series.preparation.items())),
    )


def _measures(series: Series) -> Sequence[tuple[str, str]]:
    """What may decide, as in a race; the first that is a rate in UNIT does."""
    if series.workload is None:
        return []
    try:
        return measures(workload_of(series.workload.tool, series.workload.parameters))
    except ParameterError:
        return []


def _by_job(score: Score) -> dict[str, dict[str, float]]:
    """What each run measured, by the job and its round; runs in no round are left out."""
    by_job: dict[str, dict[str, float]] = defaultdict(dict)
    for block, value in score.repeat_scores or ():
        if block and value is not None:
            by_job[block.rpartition(" block ")[0]][block] = value
    return by_job
