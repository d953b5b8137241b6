"""The date of an imported run: when it was measured, where its file says so."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from fsbench_web.compare.history.lines import history
from fsbench_web.core.formats import parse
from fsbench_web.core.formats.result import ParsedResult, own_key
from fsbench_web.imports import rereads as reading
from fsbench_web.imports.guesses import MeasuredDate, date_doubts, measured_date
from fsbench_web.studies.models import Artefact, Run
from tests.importing import import_files
from tests.imports.test_reread import TARGET, store

Sample = Callable[[str], bytes]
OLD = "iozone-3.226-tests-0-2-5"
PRINTED = b"Tue Aug  9 10:12:44 2005"


def of(parsed: ParsedResult) -> MeasuredDate:
    """Of the only run of a file."""
    return measured_date(parsed, {own_key(value) for value in parsed.values})


def at(sample: Sample, written: str = "") -> datetime | None:
    data = sample(OLD)
    return of(parse("x", data.replace(PRINTED, written.encode() or PRINTED))).at


def test_without_a_time_zone_it_is_the_sites(sample: Sample, settings: Any) -> None:
    """The page shows what the file does, and says what was taken."""
    assert at(sample) == datetime(2005, 8, 9, 10, 12, 44, tzinfo=UTC)
    settings.TIME_ZONE = "Europe/Berlin"
    timezone.get_default_timezone.cache_clear()
    try:
        assert at(sample) == datetime(2005, 8, 9, 8, 12, 44, tzinfo=UTC)
        # The hour that clocks leave out, and the first of the two that they show twice.
        assert at(sample, "Sun Mar 27 02:30:00 2005") == datetime(2005, 3, 27, 1, 30, tzinfo=UTC)
        assert at(sample, "Sun Oct 30 02:30:00 2005") == datetime(2005, 10, 30, 0, 30, tzinfo=UTC)
        assert of(parse("x", sample(OLD))).source == {
            "text": "Run began: Tue Aug  9 10:12:44 2005",
            "line": 12,
            "assumed_zone": "Europe/Berlin",
        }
    finally:
        timezone.get_default_timezone.cache_clear()


@pytest.mark.parametrize(
    ("written", "doubt"),
    [
        (
            "Sun Mar 27 02:30:00 2005",
            "never happened in Europe/Berlin",
        ),
        (
            "Sun Oct 30 02:30:00 2005",
            "happened twice in Europe/Berlin",
        ),
        ("Sun Oct 30 03:00:00 2005", ""),
        ("Sun Mar 27 03:00:00 2005", ""),
    ],
)
def test_an_hour_that_clocks_left_out_or_showed_twice_is_said(
    sample: Sample, settings: Any, written: str, doubt: str
) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    timezone.get_default_timezone.cache_clear()
    try:
        parsed = parse("x", sample(OLD).replace(PRINTED, written.encode()))
        notes = date_doubts(parsed)
        assert of(parsed).at is not None
    finally:
        timezone.get_default_timezone.cache_clear()
    assert [note.line for note in notes] == ([12] if doubt else [])
    assert all(doubt in note.message and note.is_note for note in notes)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("Sat Jan  1 00:00:00 0001", "is before 1990"),
        ("Thu Jan  1 00:00:00 1970", "is before 1990"),
        ("Fri Dec 31 23:59:59 9999", "is in the future"),
        ("Wed Feb 30 10:12:44 2005", "is no date"),
    ],
)
def test_what_cannot_be_is_not_taken_and_said(sample: Sample, written: str, why: str) -> None:
    parsed = parse("x", sample(OLD).replace(PRINTED, written.encode()))
    assert of(parsed).at is None
    (note,) = date_doubts(parsed)
    assert (note.line, why in note.message) == (12, True)


def test_a_machine_may_be_ahead_of_this_one_by_its_time_zone(sample: Sample) -> None:
    soon = timezone.now() + timedelta(hours=14)
    assert at(sample, f"{soon:%a %b %d %H:%M:%S %Y}") is not None
    assert at(sample, f"{soon + timedelta(days=1):%a %b %d %H:%M:%S %Y}") is None


@pytest.mark.django_db
def test_runs_of_one_day_are_a_point_wherever_they_were_imported(
    sample: Sample, client: Client
) -> None:
    import_files([("old.txt", sample(OLD))], **TARGET, user=None)
    import_files([("new.txt", sample("iozone-3.397-fsync"))], **TARGET, user=None)
    table = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,5,KB/s\n"
    (run,) = import_files([("t.csv", table)], **{**TARGET, "study": "T"}, user=None).runs
    old, new, undated = Run.objects.order_by("pk")
    today = timezone.localdate().isoformat()
    for stored_run, day in ((old, "2005-08-09"), (new, "2014-01-07"), (undated, today)):
        line = history(stored_run.series, "write", "maximum", "date", 10)
        assert [point.name for point in line.points] == [day]
        assert line.undated == ({run} if stored_run.pk == run else set())
    page = client.get(f"/runs/{old.pk}/").content.decode()
    assert "9 August 2005, 10:12" in page
    assert "line 12: “Run began: Tue Aug  9 10:12:44 2005”; unknown time zone" in page
    assert "shown with the date of the import" in client.get(f"/runs/{run}/").content.decode()
    listed = client.get("/runs/").content.decode()
    assert ("measured 2005-08-09" in listed, "date of the import" in listed) == (True, True)
    address = f"/history/?series={undated.series_id}&along=date&test=write"
    text = client.get(address).content.decode()
    assert ("1 of these runs have the date of their import" in text, "imported then" in text) == (
        True,
        True,
    )
    of_api = client.get(f"/api/v1/runs/{old.pk}").json()
    assert of_api["date"] == "2005-08-09T10:12:44Z"
    assert (of_api["date_is_of"], of_api["date_source"]["line"]) == ("file", 12)
    assert client.get(f"/api/v1/runs/{run}").json()["date_is_of"] == "import"


@pytest.mark.django_db
def test_two_runs_of_a_file_have_a_date_each(sample: Sample) -> None:
    text = sample("fio-3.33-twice").replace(b"1795251369170", b"1600000000000")
    import_files([("a.txt", text)], **TARGET, user=None)
    dates = Run.objects.order_by("pk").values_list("measured_at", flat=True)
    assert [date and date.year for date in dates] == [2026, 2020]


@pytest.mark.django_db
def test_reading_again_gives_runs_from_before_their_date(
    sample: Sample, signed_in: Client, ada: User
) -> None:
    artefact = store("a.txt", sample(OLD))
    right = Run.objects.values_list("measured_at", "measured_source").get()
    assert reading.difference(artefact).is_empty
    Run.objects.update(measured_at=None, measured_source={})
    difference = reading.difference(artefact)
    assert (difference.is_empty, list(difference.dated)) == (False, [artefact.run_id])
    page = signed_in.get(f"/imports/reread/{artefact.pk}/").content.decode()
    assert "1 run gets" in page
    reading.apply(artefact.pk, difference.digest, ada)
    assert Run.objects.values_list("measured_at", "measured_source").get() == right
    assert "its date is another" in Artefact.objects.get().run.changes.last().reason  # type: ignore[union-attr]


@pytest.mark.django_db
def test_a_preview_says_when_and_what_it_does_not_believe(
    sample: Sample, signed_in: Client
) -> None:
    for written, says in (
        (PRINTED, "9 August 2005, 10:12"),
        (b"Thu Jan  1 00:00:00 1970", "is before 1990"),
    ):
        file = SimpleUploadedFile("a.txt", sample(OLD).replace(PRINTED, written))
        answer = signed_in.post("/imports/new/", {**TARGET, "file": [file]}, follow=True)
        assert says in answer.content.decode()
