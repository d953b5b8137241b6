"""What reading a file again would change of the latencies that are kept of it."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace

from fsbench_web.core.formats import ParsedResult
from fsbench_web.core.formats.result import OwnKey
from fsbench_web.core.latency import Distribution
from fsbench_web.core.latency_over_time import LatencySeries
from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.models import Artefact


def distributions(
    artefact: Artefact, parsed: ParsedResult, runs: Mapping[OwnKey, int]
) -> dict[int, list[Distribution]]:
    """As they would be kept, by run; of those alone whose are others."""
    by_repeat = {key[3]: run_id for key, run_id in runs.items()}
    read: dict[int, list[Distribution]] = defaultdict(list)
    for distribution in parsed.distributions:
        if (run_id := by_repeat.get(distribution.repeat)) is not None:
            read[run_id].append(replace(distribution, repeat=None))
    try:
        stored = latencies.of_output(artefact)
    except UnreadableBlock:
        stored = {}
    return {
        run_id: read.get(run_id, [])
        for run_id in {*read, *stored}
        if read.get(run_id, []) != stored.get(run_id, [])
    }


def over_time(
    artefact: Artefact, parsed: ParsedResult, runs: Collection[int]
) -> dict[int, list[LatencySeries]]:
    """The same of latencies over time, which a file of several ``runs`` says of none of them."""
    series = parsed.over_time if len(runs) == 1 else []
    read = {run_id: list(series) for run_id in runs if series}
    try:
        stored = latencies.series_of_output(artefact)
    except UnreadableBlock:
        return {run_id: list(series) for run_id in runs}
    return {
        run_id: read.get(run_id, [])
        for run_id in {*read, *stored}
        if read.get(run_id, []) != stored.get(run_id, [])
    }
