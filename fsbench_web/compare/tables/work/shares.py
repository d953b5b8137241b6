"""A work profile's score as a share of what the LUN itself would do of the same work."""

from collections.abc import Collection, Mapping

from fsbench_web.compare.tables.work.entries import Entry, MeasuredCells
from fsbench_web.core.scoring.profiles.combining import ScoreUnavailable, level_of
from fsbench_web.core.scoring.profiles.coverage import MOST_NAMED
from fsbench_web.core.scoring.profiles.definition import RATIO, Profile, RequiredCell
from fsbench_web.core.scoring.shares import Share
from fsbench_web.studies.scores.profile_values import Measure
from fsbench_web.studies.scores.shares import SeriesCeilings

Ceilings = Mapping[int, SeriesCeilings]
"""What the LUN of each series did by itself, where somebody measured it."""


def share_of_work(
    entry: MeasuredCells,
    level: float,
    value: float,
    profile: Profile,
    lower: Mapping[str, bool],
    ceilings: Ceilings,
) -> Share | None:
    """The share of a score; ``value`` stands in the table for ``level``. None without ceilings."""
    cells = _ceilings(entry, ceilings)
    if not cells or len(cells) < len(profile.demands):
        return None
    measures = {demand: _measure(entry, demand) for demand in cells}
    try:
        of_lun = level_of(
            profile,
            {
                demand: share.ceiling * measure.factor
                for demand, share in cells.items()
                if (measure := measures[demand]) is not None
            },
            lower,
        )
    except ScoreUnavailable:
        return None
    is_of_time = profile.together != RATIO and set(lower.values()) == {True}
    percent = 100 * (of_lun / level if is_of_time else level / of_lun)
    spreads = [share.spread_percent for share in cells.values()]
    known_spreads = [spread for spread in spreads if spread is not None]
    return Share(
        percent,
        value * percent / 100 if is_of_time else value * 100 / percent,
        f"requests of the same work, {len(cells)} cells by their weights",
        min(share.probes for share in cells.values()),
        max(known_spreads) if len(known_spreads) == len(spreads) else None,
        any(share.is_between for share in cells.values()),
        max(share.differ_percent or 0.0 for share in cells.values()),
    )


def without_ceiling(
    entries: Mapping[str, Entry], demands: Collection[RequiredCell], ceilings: Ceilings
) -> tuple[str, ...]:
    """The contenders whose LUN was measured, of which some cells have no ceiling all the same, with
    how many; MOST_NAMED of them."""
    gaps = []
    for name, entry in sorted(entries.items()):
        missing = len(demands) - len(_ceilings(entry, ceilings))
        if missing and any(source.series_id in ceilings for source in entry.series):
            gaps.append(f"{missing} of {len(demands)} cells of {name}")
    more = len(gaps) - MOST_NAMED
    return tuple(gaps[:MOST_NAMED]) + ((f"and of {more} more",) if more > 0 else ())


def without_ceilings(entry: MeasuredCells, ceilings: Ceilings) -> set[RequiredCell]:
    """The measured cells whose LUN was measured, and that have no ceiling all the same."""
    found = _ceilings(entry, ceilings)
    return {
        demand
        for demand in entry.demands
        if demand not in found
        and (source := entry.source(demand)) is not None
        and source.series_id in ceilings
    }


def _ceilings(entry: MeasuredCells, ceilings: Ceilings) -> dict[RequiredCell, Share]:
    """What the LUN did of each cell, as the share of one in the unit of its test."""
    shares = {}
    for demand in entry.demands:
        source, measure = entry.source(demand), _measure(entry, demand)
        of_series = ceilings.get(source.series_id) if source else None
        if of_series is None or measure is None:
            continue
        share = of_series.share_of_one(measure.unit, demand.test, demand.record_kb)
        if share is not None:
            shares[demand] = share
    return shares


def _measure(entry: MeasuredCells, demand: RequiredCell) -> Measure | None:
    """As the series printed it that gave the cell."""
    source = entry.source(demand)
    return source.measures.get(demand.test) if source else None
