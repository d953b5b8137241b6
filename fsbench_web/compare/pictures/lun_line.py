"""What LUNs do by themselves, as a line of a picture: the ceiling over those of contenders."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import plotly.graph_objects as go

from fsbench_web.core.scoring.shares import NOT_OF_THE_DISK_PERCENT
from fsbench_web.figures.ceilings import COLOUR
from fsbench_web.figures.lines import Line, Point
from fsbench_web.studies.models import Series
from fsbench_web.studies.scores import shares
from fsbench_web.studies.scores.queries import on_worker

OWN = "The LUN itself"
ALL_SIZES_FROM_S = 30
"""A shorter probe leaves sizes out (runner/agent/preparation/probe.py)."""
MOST = 2
"""Lines of LUNs in one picture: contenders of more are on different hardware anyway."""


def of_series(
    keys: Collection[int], unit: str, wanted: Iterable[tuple[float, str, int | None]]
) -> list[Line]:
    """A line for each LUN that these series were measured on, of the first that has a ceiling.

    ``wanted`` are places with the test and the record size of each. Four queries, one where nobody
    measured a LUN.
    """
    ceilings = shares.of_many(keys)
    rows = Series.objects.filter(pk__in=ceilings).values_list(
        "pk", "lun__name", "lun__worker__name"
    )
    luns = {pk: on_worker(lun, worker) or "" for pk, lun, worker in rows} if ceilings else {}
    places = sorted(wanted, key=lambda place: place[0])
    by_lun: dict[str, Line] = {}
    for key, ceiling in ceilings.items():
        values = [(x, ceiling.in_unit(unit, test, record)) for x, test, record in places]
        points = [Point(x, y, note="without a file system") for x, y in values if y is not None]
        if points and luns[key] not in by_lun and len(by_lun) < MOST:
            by_lun[luns[key]] = Line(luns[key], points)
    if len(by_lun) == 1:
        return [Line(OWN, line.points) for line in by_lun.values()]
    return [Line(f"{OWN}, {lun}", line.points) for lun, line in by_lun.items()]


def draw_dashed(figure: go.Figure, ceilings: Sequence[Line]) -> None:
    """Draw these lines as ceilings: dashed, grey in every theme, with small markers.

    Without the number of a series, by which pages give contenders their colours.
    """
    for line in ceilings:
        figure.update_traces(
            selector={"name": line.name},
            line={"dash": "dash", "color": COLOUR},
            marker={"size": 4, "color": COLOUR},
            meta={"role": "ceiling"},
        )


def missing_note(
    ceilings: Sequence[Line], places: Sequence[float], names: Mapping[float, str]
) -> str:
    """A sentence on the places where no ceiling is known; "" where there is one everywhere."""
    covered = {point.x for line in ceilings for point in line.points}
    without = [names[place] for place in sorted(places) if place not in covered]
    if not ceilings or not without:
        return ""
    text = without[0] if len(without) == 1 else f"{', '.join(without[:-1])} and {without[-1]}"
    return (
        f"Nothing that can be set against requests of {text} was measured of the LUN itself: it "
        f"measures more sizes where it is given {ALL_SIZES_FROM_S} seconds or more."
    )


def above_note(ceilings: Sequence[Line], lines: Sequence[Line]) -> str:
    """A sentence on points that lie above the only ceiling, as flags have it; "" for none."""
    if len(ceilings) != 1:
        return ""
    ceiling = {point.x: point.y for point in ceilings[0].points}
    under = [point for line in lines for point in line.points if point.x in ceiling]
    limit = NOT_OF_THE_DISK_PERCENT / 100
    count = sum(point.y > limit * ceiling[point.x] for point in under)
    if not count:
        return ""
    return (
        f"{count} of {len(under)} points lie above what the LUN did by itself: a cache answered, "
        "or something slowed the LUN down while it was measured."
    )
