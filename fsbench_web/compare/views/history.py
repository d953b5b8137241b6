"""The page of one configuration over kernels or dates."""

from urllib.parse import urlencode

import plotly.graph_objects as go
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from fsbench_web.accounts import rights
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.compare.history import choices as offered_lines
from fsbench_web.compare.history import events, lines
from fsbench_web.compare.history.line_series import owner_of
from fsbench_web.compare.models import LineEvent
from fsbench_web.compare.selection import profiles
from fsbench_web.compare.selection.fields import UNITS, shortened
from fsbench_web.compare.selection.spec import LONGEST_VALUE, units_of
from fsbench_web.compare.watches.form import DEFAULT_MARGIN, MARGINS, WatchForm
from fsbench_web.core.scoring import categories, testnames
from fsbench_web.figures import frame
from fsbench_web.figures import lines as figures
from fsbench_web.figures.ceilings import COLOUR
from fsbench_web.platform import limits
from fsbench_web.studies.models import Run, Series, Study


@require_safe
@requires(Action.READ)
def page(request: HttpRequest) -> HttpResponse:
    """One line of ``?series=``, else the lines of ``?study=`` to choose from."""
    if not request.GET.get("series"):
        return _choice_page(request)
    return _line_page(request)


@require_POST
@requires(Action.OWN)
def add_event(request: HttpRequest) -> HttpResponse:
    """Add an event to the machine of the line ``?series=``, which is shown again."""
    series = offered_lines.series_of(request.GET.get("series", ""))
    rights.require(request.user, Action.OWN, series.study)
    form = events.EventForm(request.POST)
    if form.is_valid():
        assert isinstance(request.user, User)
        try:
            events.add(request.user, series, form.cleaned_data)
        except events.TooManyEvents as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "The event is added.")
            return redirect(_address(request))
    return _line_page(request, form)


@require_POST
@requires(Action.OWN)
def delete_event(request: HttpRequest, event_id: int) -> HttpResponse:
    """Delete an event, and show the line ``?series=`` again."""
    visible = LineEvent.objects.filter(study__in=Study.objects.values("pk"))
    event = visible.select_related("study__team").filter(pk=event_id).first()
    if event is None:
        raise Http404(f"There is no event {event_id}.")
    rights.require(request.user, Action.OWN, event.study)
    assert isinstance(request.user, User)
    events.delete(request.user, event)
    messages.success(request, "The event is deleted.")
    return redirect(_address(request))


def _address(request: HttpRequest) -> str:
    return f"{reverse('compare:history')}?{urlencode(list(request.GET.items()))}"


def _line_page(request: HttpRequest, event_form: events.EventForm | None = None) -> HttpResponse:
    """``event_form``: with errors."""
    series = offered_lines.series_of(request.GET["series"])
    test, category = request.GET.get("test", ""), request.GET.get("category", "")
    test, category = test[:LONGEST_VALUE], category[:LONGEST_VALUE]
    offered = dict(offered_lines.choices(series, test, category=category))
    asked_line = offered_lines.requested_line(series, offered, test, category)
    test, category = asked_line.test, asked_line.category
    of_test = offered.get(test, [])
    along = request.GET.get("along", "")
    along = along if along in lines.ALONG else "kernel"
    margin = _margin(request.GET.get("margin", ""))
    ignored = [*filter(None, [asked_line.substitution]), *_ignored_parameters(request.GET)]
    units = units_of(request.GET)
    history = (
        lines.history(series, test, category, along, margin, units=units)
        if test and not asked_line.refusal
        else lines.History(problem=asked_line.refusal)
    )
    title = (
        f"{series.configuration}: {testnames.label(test)}" if test else str(series.configuration)
    )
    label = profiles.label_of(category)
    context = {
        "series": series,
        "is_of_team": owner_of(series)[1] is not None,
        "shown": history,
        "figure": chart(history, f"{title}, {categories.in_sentence(label)}", along),
        "tests": [(name, testnames.label(name)) for name in offered],
        "categories": [(slug, profiles.label_of(slug)) for slug in of_test],
        "test": test,
        "category": category,
        "category_label": label,
        "along": along,
        "alongs": lines.ALONG.items(),
        "units": units,
        "unit_systems": UNITS.items(),
        "margin": margin,
        "ignored": ignored,
        "margins": sorted({*MARGINS, margin}),
        "event_form": event_form or events.EventForm(),
        "may_add": rights.decide(request.user, Action.OWN, series.study).is_allowed,
        "watch_form": None
        if asked_line.refusal
        else _watch_form(request, series, test, category, along, margin),
    }
    status = 422 if event_form is not None else 200
    return render(request, "compare/history.html", context, status=status)


def _watch_form(
    request: HttpRequest, series: Series, test: str, category: str, along: str, margin: int
) -> WatchForm | None:
    if not test or not isinstance(request.user, User):
        return None
    return WatchForm(
        initial={
            "series": series.pk,
            "test": test,
            "category": category,
            "along": along,
            "margin": margin or 1,
            "email": request.user.email,
        },
        auto_id="id-watch-%s",
        user=request.user,
    )


def _choice_page(request: HttpRequest) -> HttpResponse:
    with_runs = Series.objects.filter(
        Exists(Run.objects.filter(series=OuterRef("pk"))), study=OuterRef("pk")
    )
    every = (
        Study.objects.filter(Exists(with_runs))
        .order_by("-created_at", "title")
        .only("slug", "title")
    )
    newest = list(every[: limits.MOST_OPTIONS + 1])
    studies = newest[: limits.MOST_OPTIONS]
    slug = request.GET.get("study", "").replace("\x00", "\ufffd")
    study = next((study for study in newest if study.slug == slug), None)
    if study is None and slug and len(newest) > len(studies):
        study = every.filter(slug=slug).first()
    if study is None and not slug:
        study = next(iter(studies), None)
    if study is not None and study not in studies:
        studies.append(study)
    context = {
        "studies": studies,
        "most_studies": limits.MOST_OPTIONS if len(newest) > limits.MOST_OPTIONS else None,
        "study": study,
        "asked": slug,
        "lines": offered_lines.line_choices([study.pk], offered_lines.MOST_LINES) if study else [],
        "most": offered_lines.MOST_LINES,
    }
    return render(request, "compare/history_choice.html", context)


def _ignored_parameters(query: QueryDict) -> list[str]:
    """What of the address was not taken, and what is shown instead; a sentence each."""
    margin, units = query.get("margin", ""), query.get("units", "")
    parts = []
    if margin and margin != str(_margin(margin)):
        parts.append(
            f'A margin is a whole number of percent from 0 to 100, not "{margin[:60]}": '
            f"changes of {_margin(margin)}% or more are shown."
        )
    if units not in UNITS:
        choices = ", ".join(f'"{name}"' for name in UNITS if name)
        parts.append(
            f'There are no units "{units[:60]}"; there are {choices}. They are shown as printed, '
            "or binary."
        )
    return parts


def _margin(text: str) -> int:
    return (
        int(text)
        if text.isascii() and text.isdigit() and len(text) < 4 and int(text) <= 100
        else DEFAULT_MARGIN
    )


def chart(history: lines.History, title: str, along: str) -> go.Figure | None:
    """The line with its intervals, and a dashed upright where its level changes."""
    if not history.points:
        return None
    lun_points = [
        figures.Point(float(place), value, note="without a file system")
        for place, (_, value, _) in enumerate(history.rows)
        if value is not None
    ]
    points = [
        figures.Point(
            float(place),
            point.mean,
            (point.interval.low, point.interval.high) if point.interval else None,
            f"{len(point.runs)} run{'' if len(point.runs) == 1 else 's'}",
            f"/runs/{point.runs[-1]}/",
        )
        for place, point in enumerate(history.points)
    ]
    figure = figures.curves(
        [
            *([figures.Line(lines.LUN_ITSELF, lun_points, is_ceiling=True)] if lun_points else []),
            figures.Line("Score", points),
        ],
        history.unit,
        title,
        "Kernel" if along == "kernel" else "Day on which the runs were measured",
        {float(place): point.name for place, point in enumerate(history.points)},
        history.lower_is_better,
    )
    # There is one line, and an interval may be shorter than a marker is high: its ends stand out
    # sideways.
    figure.update_layout(showlegend=bool(lun_points))
    figure.update_traces(marker_size=6)
    if any(point.interval for point in history.points):
        figure.update_traces(error_y={"width": 9, "thickness": 2})
    for entry in history.changes:
        figure.add_vline(x=entry.change.place - 0.5, line={"dash": "dash", "color": COLOUR})
    for event in history.events:
        for place in history.places_of(event)[:1]:
            figure.add_vline(
                x=place - 0.5,
                line={"dash": "dot", "color": COLOUR},
                annotation={"text": frame.plain_text(shortened(event.text)), "textangle": -90},
            )
    return figure
