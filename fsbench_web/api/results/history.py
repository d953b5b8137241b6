"""Lines over time: one configuration over kernels or days, and where its level changes."""

from datetime import date
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query, Schema
from pydantic import Field

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.router import Router
from fsbench_web.api.protocol.schemas import (
    LARGEST_ID,
    MOST,
    Answer,
    Derived,
    With,
    link,
    page_of,
    value_at,
)
from fsbench_web.api.results.studies import study_or_404
from fsbench_web.compare.history import choices as offered_lines
from fsbench_web.compare.history import lines as history
from fsbench_web.compare.history.line_series import owner_of
from fsbench_web.core.stats.changes import Modes

router = Router()
MOST_STUDIES = 20


class HistoryFilters(Schema):
    """A line over time, by any of its series."""

    series: int = Field(ge=1, le=LARGEST_ID, description="number of a series of the line")
    study: list[str] = Field(
        [],
        max_length=MOST_STUDIES,
        description="slugs of studies, the series' own among them: the line is of these. None: of "
        "all studies of its team, or of its own where that has no team or its hardware is unknown",
    )
    test: str = Field("", description="none: its first")
    category: str = Field("", description="none: total_average, or its first")
    along: Literal["kernel", "date"] = "kernel"
    margin: int = Field(10, ge=0, le=100, description="percent by which levels must differ")
    units: Literal["", "printed", "binary", "decimal"] = Field(
        "", description="none: as printed where all agree, else binary"
    )


class LinesFilters(Schema):
    """The studies of the lines."""

    study: list[str] = Field(min_length=1, max_length=MOST_STUDIES, description="slugs of studies")
    limit: int | None = Field(None, ge=1, le=MOST, description="none: 100 for each study")
    offset: int = Field(0, ge=0, le=LARGEST_ID)


class PointOut(Schema):
    """The runs of one kernel or day, each with a score of its own."""

    name: str
    runs: list[int]
    values: list[float]
    mean: float
    interval: dict[str, Any] | None
    lun: float | None = Field(description="what the LUN itself did, in the unit; null: not known")
    share_percent: float | None = Field(
        description="the scores in percent of that; null: not known, or unreliable"
    )
    flags: dict[str, int] = Field(
        {}, description="how many of its runs were contended, drifted, busy, swapped and so on"
    )

    @staticmethod
    def resolve_interval(point: Any) -> dict[str, Any] | None:
        return point.interval.as_dict() if point.interval else None


class ChangeOut(Schema):
    """Where the level changes: from the point before to ``to``."""

    to: str
    sentence: str
    is_slower: bool
    disk: str = Field(description="whether it is the disk, in a sentence; empty: nobody knows")
    before: float = value_at("change.before")
    after: float = value_at("change.after")
    change_percent: float = value_at("change.change_percent")
    p_value: float = value_at("change.p_value")
    is_confirmed: bool = value_at(
        "change.is_confirmed", description="false: the new level is one point"
    )
    events: list[str] = Field(
        [], description="recorded facts that changed at the same point, and events of its machine"
    )


class EventOut(Answer):
    """What an owner says happened to the machine of the line."""

    day: date
    text: str


class RatioOut(Schema):
    """``ratio`` of speeds, between ``ratio_low`` and ``ratio_high`` at 95%.

    A difference below 2% for sure is equivalent.
    """

    verdict: Literal["faster", "slower", "equivalent", "inconclusive"]
    ratio: float
    ratio_low: float
    ratio_high: float


class LevelOut(RatioOut):
    """The newest point against the level before it, of so many points."""

    points: int


class LatestOut(RatioOut):
    """The newest point against the one before."""

    previous: str
    current: str


class ModesOut(Derived, of=Modes):
    """The two levels between which a bimodal line switches."""


class HistoryOut(Schema):
    """``problem`` says why nothing can be shown or judged; ``left_out`` counts older runs,
    ``dates_of_import`` those without a date of measuring in their file.

    ``tests`` are 200 at most, the first by name; any other can be asked for. ``team`` has the
    studies of the line; null: the studies asked for, or the series' own. ``workloads`` are the
    titles of those of a work profile, where they are several. ``lun_problem`` says why a work
    profile has no line of the LUN itself. ``is_emulated``: its guests were
    emulated in software, for function and not for speed.
    """

    series: int
    configuration: str
    team: str | None
    test: str
    category: str
    along: str
    unit: str
    lower_is_better: bool
    tests: dict[str, list[str]]
    points: list[PointOut]
    changes: list[ChangeOut]
    small_changes: list[ChangeOut] = Field([], description="significant, below the margin")
    spikes: list[str] = Field([], description="lone points, which are no changes")
    modes: ModesOut | None = Field(None, description="of a bimodal line, else null")
    latest: LatestOut | None = Field(description="null where either point has no repeats")
    latest_level: LevelOut | None = Field(None, description="null where the level has one point")
    left_out: int
    dates_of_import: int
    problem: str
    workloads: list[str]
    events: list[EventOut] = Field([], description="the latest 50, oldest first")
    lun_problem: str
    is_emulated: bool = False


class LineOut(Answer):
    """A line that can be looked at, by one of its series."""

    series: int = value_at("series.pk")
    configuration: str = value_at("series.configuration.label")
    filesystem: str = value_at("series.configuration.filesystem")
    workload: str | None = value_at("series.workload.slug", None)
    hardware: str | None = value_at("series.hardware.slug", None)
    lun: str | None = value_at("series.lun.name", None)
    kernels: int
    runs: int


@router.get(
    "/history",
    response=HistoryOut,
    summary="One configuration over kernels or days",
    url_name="history",
)
@requires(Action.READ)
def get_history(request: HttpRequest, filters: Query[HistoryFilters]) -> With:
    """The same work on the same disk, and where it got slower or faster by more than chance."""
    series = offered_lines.series_of(str(filters.series))
    studies = [study_or_404(slug).pk for slug in dict.fromkeys(filters.study)]
    if studies and series.study_id not in studies:
        raise Refused(
            422, [("study", f"Series {series.pk} is of the study {series.study.slug}: name it.")]
        )
    _, team = owner_of(series)
    offered = dict(offered_lines.choices(series, filters.test, studies, filters.category))
    line = offered_lines.requested_line(series, offered, filters.test, filters.category, studies)
    if offered and (line.refusal or line.substitution):
        is_test = filters.test and filters.test not in offered
        refusal = line.refusal or line.substitution.partition(":")[0] + "."
        raise Refused(422, [("test" if is_test else "category", refusal)])
    test, category = line.test, line.category
    line_history = (
        history.history(
            *(series, test, category, filters.along, float(filters.margin), studies, filters.units)
        )
        if test
        else history.History()
    )
    latest = line_history.latest
    return With(
        line_history,
        series=series.pk,
        configuration=series.configuration.label,
        team=None if team is None or studies else str(series.study.team),
        test=test,
        category=category,
        along=filters.along,
        tests=offered,
        points=[
            With(point, lun=lun, share_percent=share, flags=line_history.flags_of(point))
            for point, lun, share in line_history.rows
        ],
        changes=_shown(line_history, line_history.changes),
        small_changes=_shown(line_history, line_history.small_changes),
        modes=line_history.levels.modes,
        latest=latest.as_dict() if latest else None,
        latest_level=latest.level_as_dict() if latest else None,
        dates_of_import=len(line_history.undated),
        lun_problem=line_history.lun_line.why,
    )


def _shown(line_history: history.History, changes: list[history.ShownChange]) -> list[With]:
    points = line_history.points
    return [With(entry, to=points[entry.change.place].name) for entry in changes]


@router.get(
    "/history/lines",
    response=page_of("LinesOut", lines=LineOut),
    summary="The lines of studies",
    url_name="history_lines",
)
@requires(Action.READ)
def list_lines(
    request: HttpRequest, response: HttpResponse, filters: Query[LinesFilters]
) -> dict[str, Any]:
    """Those over most kernels first. What several studies measured on the same hardware is one
    line.
    """
    studies = [study_or_404(slug).pk for slug in dict.fromkeys(filters.study)]
    limit = filters.limit or offered_lines.MOST_LINES * len(studies)
    total = offered_lines.line_count(studies)
    paging = link(request, response, total, limit, filters.offset)
    return {**paging, "lines": offered_lines.line_choices(studies, limit, filters.offset)}
