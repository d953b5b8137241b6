"""What LUNs do by themselves, as a line of a picture: the ceiling over those of contenders."""

from collections.abc import Collection, Iterable, Sequence

import plotly.graph_objects as go

from fsbench_web.figures.lines import Line, Point
from fsbench_web.studies.models import Series
from fsbench_web.studies.scores import shares
from fsbench_web.studies.scores.queries import on_worker

OWN = "The LUN itself"
MOST = 2
"""Lines of LUNs in one picture: contenders of more are on different hardware anyway."""


def of_series(
    keys: Collection[int], unit: str, asked: Iterable[tuple[float, str, int | None]]
) -> list[Line]:
    """A line for each LUN that these series were measured on, of the first that has a ceiling.

    ``asked`` are places with the test and the record size of each. Four queries, one where nobody
    measured a LUN.
    """
    ceilings = shares.of_many(keys)
    rows = Series.objects.filter(pk__in=ceilings).values_list(
        "pk", "lun__name", "lun__worker__name"
    )
    luns = {pk: on_worker(lun, worker) or "" for pk, lun, worker in rows} if ceilings else {}
    places = sorted(asked, key=lambda one: one[0])
    found: dict[str, Line] = {}
    for key, own in ceilings.items():
        values = [(x, own.in_unit(unit, test, record)) for x, test, record in places]
        points = [Point(x, y, note="without a file system") for x, y in values if y is not None]
        if points and luns[key] not in found and len(found) < MOST:
            found[luns[key]] = Line(luns[key], points)
    if len(found) == 1:
        return [Line(OWN, line.points) for line in found.values()]
    return [Line(f"{OWN}, {lun}", line.points) for lun, line in found.items()]


def dashed(figure: go.Figure, own: Sequence[Line]) -> None:
    """Draw these lines as ceilings: dashed, grey, without markers."""
    for line in own:
        figure.update_traces(
            selector={"name": line.name},
            line={"dash": "dash", "color": "#8a96a5"},
            marker={"size": 4, "color": "#8a96a5"},
        )
