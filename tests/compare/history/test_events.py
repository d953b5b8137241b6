"""Events that owners add to a machine: who may, where they stand, and which change they explain."""

from datetime import date

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts.models import AuditEntry, Role, Team, Visibility
from fsbench_web.compare.history import events
from fsbench_web.compare.history.lines import History, history
from fsbench_web.compare.models import LineEvent
from fsbench_web.compare.views.history import chart
from fsbench_web.studies.models import Run, Series, Study
from tests.accounts.people import person
from tests.compare.history.test_history import days, measured

pytestmark = pytest.mark.django_db
KERNELS_BACKWARDS = (("6.0", 100, 4), ("6.1", 100, 3), ("6.2", 100, 2), ("6.3", 80, 1))
LINE = "series={}&test=write&category=total_average&along=date"


@pytest.fixture
def line() -> Series:
    """A line that falls on its fourth day, 2026-03-04."""
    return days(100, 100, 100, 80, 80)


@pytest.fixture
def ada(line: Series) -> User:
    user = person(Role.CONTRIBUTOR, "ada")
    Team.objects.get(name="Lab").members.add(user)
    return user


def post(client: Client, line: Series, **changes: str) -> int:
    sent = {"day": "2026-03-04", "text": "New <b>firmware</b>"} | changes
    return client.post(f"/history/events/?{LINE.format(line.pk)}", sent).status_code


def test_its_team_adds_one_and_deletes_it(client: Client, ada: User, line: Series) -> None:
    client.force_login(ada)
    assert post(client, line) == 302
    event = LineEvent.objects.get()
    path = f"/history/?{LINE.format(line.pk)}"
    page = client.get(path).content.decode()
    assert f'data-event="{event.pk}"' in page
    assert "Changed at the same point: 2026-03-04: New &lt;b&gt;firmware&lt;/b&gt;." in page
    answer = client.get(f"/api/v1{path.replace('history/', 'history')}").json()
    assert answer["events"] == [{"day": "2026-03-04", "text": "New <b>firmware</b>"}]
    assert [change["events"] for change in answer["changes"]] == [
        ["2026-03-04: New <b>firmware</b>"]
    ]
    deleted = client.post(f"/history/events/{event.pk}/delete/?{LINE.format(line.pk)}")
    assert (deleted.status_code, deleted["Location"]) == (302, path)
    assert not LineEvent.objects.exists()
    noted = AuditEntry.objects.filter(what__startswith="event ").order_by("pk")
    assert [entry.what for entry in noted] == ["event added", "event deleted"]


def test_others_read_it_and_change_nothing(client: Client, ada: User, line: Series) -> None:
    event = events.add(ada, line, {"day": date(2026, 3, 4), "text": "Firmware"})
    client.force_login(person(Role.OPERATOR, "eve"))
    page = client.get(f"/history/?{LINE.format(line.pk)}").content.decode()
    assert f'data-event="{event.pk}"' in page
    assert "Add an event" not in page
    assert post(client, line) == 403
    assert client.post(f"/history/events/{event.pk}/delete/").status_code == 403
    Study.objects.update(visibility=Visibility.TEAM)
    assert client.post(f"/history/events/{event.pk}/delete/").status_code == 404
    assert post(client, line) == 404
    assert LineEvent.objects.get() == event


@pytest.mark.parametrize(
    ("day", "is_named"),
    [
        ("2026-03-02", False),
        ("2026-03-03", True),  # perhaps after the runs of that day
        ("2026-03-04", True),
        ("2026-03-05", False),
    ],
)
def test_a_change_names_events_between_its_points(
    ada: User, line: Series, day: str, is_named: bool
) -> None:
    events.add(ada, line, {"day": date.fromisoformat(day), "text": "Firmware"})
    for along in ("date", "kernel"):
        shown = history(line, "write", "total_average", along, 5)
        assert len(shown.events) == 1
        assert [bool(change.events) for change in shown.changes] == [is_named] * len(shown.changes)
        assert bool(shown.changes) == (along == "date")


def test_kernels_that_were_measured_in_another_order_name_none(ada: User) -> None:
    for kernel, level, day in KERNELS_BACKWARDS:
        for part in (-1, 0, 1):
            run = measured(kernel, level + part, day, filesystem="xfs")
    events.add(ada, run.series, {"day": date(2026, 3, 3), "text": "Firmware"})
    (change,) = history(run.series, "write", "total_average", "kernel", 5).changes
    assert change.events == ()


def test_it_stands_on_the_chart_as_plain_text(ada: User, line: Series) -> None:
    events.add(ada, line, {"day": date(2026, 3, 2), "text": "<i>Firmware</i>"})
    events.add(ada, line, {"day": date(2025, 1, 1), "text": "Before the line"})
    figure = chart(history(line, "write", "total_average", "date", 5), "Line", "date")
    assert figure is not None
    uprights = [(shape.line.dash, shape.x0) for shape in figure.layout.shapes]
    assert sorted(uprights) == [("dash", 2.5), ("dot", 0.5)]
    (note,) = [note.text for note in figure.layout.annotations if note.textangle == -90]
    assert "<i>" not in note


def test_it_is_of_one_machine_and_of_one_owner(ada: User, line: Series) -> None:
    elsewhere = measured("6.1", 100, study="other").series
    Study.objects.filter(slug="other").update(team=None)
    events.add(ada, line, {"day": date(2026, 3, 4), "text": "Firmware"})
    assert len(events.events_of(measured("6.1", 100, filesystem="xfs").series)) == 1
    elsewhere.refresh_from_db()
    assert events.events_of(Series.objects.get(pk=elsewhere.pk)) == []
    moved = Series.objects.get(pk=line.pk)
    moved.hardware_id = None
    assert events.events_of(moved) == []


def test_what_is_no_event_is_refused(
    client: Client, ada: User, line: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(ada)
    for wrong in ({"day": "yesterday"}, {"day": ""}, {"text": " "}, {"text": "x" * 201}):
        assert post(client, line, **wrong) == 422, wrong
    assert not LineEvent.objects.exists()
    monkeypatch.setattr(events, "MOST_OF_A_STUDY", 1)
    assert [post(client, line), post(client, line)] == [302, 422]
    assert LineEvent.objects.count() == 1


def history_of(run: Run) -> History:
    return history(run.series, "write", "total_average", "kernel", 5)


def test_points_of_one_day_do_not_tell_where_it_happened(ada: User) -> None:
    """Four kernels of an afternoon: any of the three steps may be of the event's time."""
    for kernel, level in (("6.1", 100), ("6.2", 100), ("6.3", 100), ("6.4", 80)):
        for part in (-1, 0, 1):
            run = measured(kernel, level + part, 3, filesystem="xfs")
    (day,) = {day for point in history_of(run).points for day in point.days}
    events.add(ada, run.series, {"day": day, "text": "Firmware"})
    shown = history_of(run)
    (change,) = shown.changes
    assert (change.events, len(shown.events)) == ((), 1)
    figure = chart(shown, "Line", "kernel")
    assert figure is not None
    assert [shape.line.dash for shape in figure.layout.shapes] == ["dash"]
