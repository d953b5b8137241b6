"""Whatever was imported, a page, a file and an answer of the API show so much of it, and say so."""

import re
import threading

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.compare.report import views as report_views
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.tables import bounds
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.compare.views import study_page
from fsbench_web.imports import queue
from fsbench_web.imports.models import Import
from fsbench_web.platform import limits
from fsbench_web.platform.limits import RowLimits
from fsbench_web.studies.models import Run, Series, Study
from tests.importing import import_files

pytestmark = pytest.mark.django_db

MANY = 30
LONG = "x" * 30


def table() -> bytes:
    """Many tests of one configuration, and many configurations of one test."""
    rows = [
        *(f"ext4,ext4,op{n:03d}{LONG},{100 + n},KB/s" for n in range(MANY)),
        *(f"xfs,c{n:03d}_{LONG},read,{100 + n},KB/s" for n in range(MANY)),
    ]
    return "\n".join(["filesystem,configuration,test,value,unit", *rows, ""]).encode()


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PAGE", "REPORT", "FILE", "PINNED"):
        monkeypatch.setattr(limits, name, RowLimits(rows=12, single_rows=6, tables=5))
    monkeypatch.setattr(limits, "ANSWER", RowLimits(rows=20, single_rows=20, tables=20))
    for name in ("MOST_LINKS", "MOST_OPTIONS", "MOST_TESTS", "MOST_LISTED_SCORES", "WINDOW"):
        monkeypatch.setattr(limits, name, 6)
    monkeypatch.setattr(limits, "MOST_LISTED", 6)
    monkeypatch.setattr(limits, "MOST_COMPARED", 15)
    monkeypatch.setattr("fsbench_web.imports.views.RUNS_SHOWN", 6)
    monkeypatch.setattr(report_views, "MOST_SERIES", 6)
    monkeypatch.setattr(study_page, "SERIES_SHOWN", 6)


@pytest.fixture
def big(ada: User) -> Study:
    import_files([("big.csv", table())], study="big", user=ada)
    return Study.objects.get(slug="big")


@pytest.fixture
def ada() -> User:
    return User.objects.create_superuser("ada")


@pytest.fixture
def signed_in(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def names_in(text: str) -> dict[str, int]:
    """How many different tests and configurations an answer names."""
    return {
        "tests": len(set(re.findall(r"\bop\d{3}", text))),
        "configurations": len(set(re.findall(r"\bc\d{3}_x", text))),
    }


PAGES = [
    "/",
    "/studies/",
    "/studies/big/",
    "/studies/big/?by=configuration",
    "/studies/big/report/",
    "/studies/big/report/?by=configuration",
    "/compare/",
    "/compare/?papers=yes",
    "/compare/?by=configuration",
    "/compare/?study=big&by=workload",
    "/compare/?study=big&by=configuration&matched=1",
    "/compare/?study=big&by=configuration&test=read",
    "/compare/?study=big&test=read&by=configuration&from_row=13",
    "/compare/?study=big&by=configuration&tab=tests",
    "/compare/?study=big&by=configuration&tab=charts",
    "/compare/?study=big&by=configuration&tab=runs",
    "/compare/tests/?study=big&by=configuration",
    "/compare/tests/?study=big&by=configuration&of=read",
    "/studies/big/tests/",
    "/studies/big/tests/?by=configuration&of=read",
    "/compare/cells/read/?study=big&by=configuration",
    "/compare/charts/read/?study=big&by=configuration",
    "/compare/pictures/?study=big&by=configuration",
    "/compare/pictures/?study=big&picture=repeats&of=read",
    "/compare/deltas.md?study=big&from_test=1",
    "/compare/deltas.json?study=big&by=configuration&from_test=9",
    "/history/?series={ext4}",
    "/runs/{run}/",
    "/search/?q=op",
    "/imports/{imported}/",
    "/api/v1/studies/big",
    "/api/v1/series/{ext4}",
    "/api/v1/runs/{run}",
    "/api/v1/history?series={ext4}",
    "/api/v1/comparison?study=big&from_test=1",
    "/api/v1/findings?study=big&from_test=1",
    "/api/v1/deltas?study=big&from_test=1",
    "/api/v1/deltas.csv?study=big&by=configuration&test=read&from_row=1",
]


def test_every_address_shows_a_part_of_what_is_too_much(
    signed_in: Client, big: Study, little_room: None
) -> None:
    series = Series.objects.get(configuration__label="ext4")
    ids = {
        "ext4": series.pk,
        "run": series.runs.get().pk,
        "imported": Import.objects.get().pk,
    }
    for page in PAGES:
        answer = signed_in.get(page.format(**ids))
        assert answer.status_code == 200, (page, answer.content[:500])
        text = answer.content.decode()
        assert len(text) < 250_000, page
        # Of each a table's and a list's worth; were nothing cut, it would be all of MANY.
        for name, count in names_in(text).items():
            assert count <= 22, (page, name)
            assert count < MANY, (page, name)


def test_more_boxes_ticked_than_are_listed_do_not_list_all_others(
    signed_in: Client, big: Study, little_room: None
) -> None:
    ticked = "&".join(f"test=op{n:03d}{LONG}" for n in range(8))
    page = signed_in.get(f"/compare/?study=big&{ticked}")
    [tests] = [group for group in page.context["form"]["filters"] if group.parameter == "test"]
    assert (tests.chosen, len(tests.choices), tests.left_out) == (8, 8, MANY + 1 - 8)


def test_what_is_refused_says_how_to_have_it(
    signed_in: Client, big: Study, little_room: None
) -> None:
    for address in ("deltas", "deltas.csv", "comparison", "findings"):
        answer = signed_in.get(f"/api/v1/{address}?study=big")
        assert answer.status_code == 422, address
        assert "of 31 tests" in answer.json()["detail"]
        assert "from_test=1" in answer.json()["detail"]
    for suffix in ("csv", "xlsx", "tex"):
        answer = signed_in.get(f"/compare/deltas.{suffix}?study=big")
        assert answer.status_code == 400
        assert b"from_test=1" in answer.content


@pytest.mark.parametrize("by", ["filesystem", "configuration"])
def test_part_by_part_is_all_of_it(
    signed_in: Client, big: Study, little_room: None, by: str
) -> None:
    whole = {
        (delta_table.test, row.contender)
        for delta_table in delta_tables(ComparisonSpec(studies=("big",), by=by))
        for row in delta_table.rows
    }
    pairs: list[tuple[str, str]] = []
    address = f"/api/v1/deltas?study=big&by={by}&from_test=1"
    for _ in range(20):
        answer = signed_in.get(address)
        rows = [
            (delta_table["test"], row["contender"])
            for delta_table in answer.json()["tables"]
            for row in delta_table["rows"]
        ]
        assert len(rows) <= 20
        pairs += rows
        if "Link" not in answer:
            break
        address = re.fullmatch(r'<(.*)>; rel="next"', answer["Link"])[1]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == whole


def test_a_table_too_large_for_a_page_is_shown_best_first(
    signed_in: Client, big: Study, little_room: None
) -> None:
    address = "/compare/?study=big&by=configuration&test=read"
    page = signed_in.get(address)
    [delta_table] = page.context["sections"][0].tables
    assert sorted(row.score for row in delta_table.rows) == [124.0 + n for n in range(6)]
    html = page.content.decode().replace("&amp;", "&")
    assert "6 of 30 rows are shown." in html
    following = re.search(r'href="\?([^"]*from_row=7)"', html)[1]
    [delta_table] = signed_in.get(f"/compare/?{following}").context["sections"][0].tables
    assert sorted(row.score for row in delta_table.rows) == [118.0 + n for n in range(6)]


def test_a_small_part_of_a_large_comparison_is_answered(
    signed_in: Client, big: Study, little_room: None
) -> None:
    tables = signed_in.get(f"/api/v1/deltas?study=big&part_test=op003{LONG}").json()["tables"]
    assert [delta_table["test"] for delta_table in tables] == [f"op003{LONG}"]
    with pytest.raises(SpecError, match="from_test=1"):
        bounds.bounded_answer(ComparisonSpec(studies=("big",)))


def test_a_permalink_keeps_what_its_page_has_room_for(
    signed_in: Client, big: Study, little_room: None
) -> None:
    body = {"query": "study=big"}
    answer = signed_in.post("/api/v1/permalinks", body, content_type="application/json")
    assert answer.status_code == 422
    page = signed_in.get("/compare/?study=big")
    shared = signed_in.post("/compare/pin/", {"query": page.context["query"]}, follow=True)
    assert shared.status_code == 200
    assert len(shared.context["sections"]) == len(page.context["sections"]) == 5
    assert not shared.context["changes"].has_any


def send(client: Client, address: str, **more: str):
    file = SimpleUploadedFile("big.csv", table())
    return client.post(address, {"study": "other", **more, "file": file})


def work_off() -> None:
    while (row := queue.claim()) is not None:
        queue.work_on(row, threading.Event())


@pytest.fixture
def little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_RUNS_STORED", MANY - 1)


def test_many_runs_leave_the_request(signed_in: Client, little_work: None) -> None:
    answer = send(signed_in, "/api/v1/imports")
    assert answer.status_code == 202, answer.content
    accepted = answer.json()
    assert (accepted["state"], accepted["runs"]) == ("accepted", [])
    assert not Run.objects.exists()
    work_off()
    done = signed_in.get(answer["Location"]).json()
    assert (done["state"], len(done["runs"])) == ("done", MANY + 1)
    assert Study.objects.get(slug="other").imports.get().pk == accepted["id"]
    # The very same once more: refused by the importer, and nothing is stored; or passed over.
    again = send(signed_in, "/api/v1/imports")
    work_off()
    refused = signed_in.get(again["Location"]).json()
    assert refused["state"] == "previewed"
    assert "already there" in refused["problems"][0]["message"]
    passed_over = send(signed_in, "/api/v1/imports", if_new="true")
    work_off()
    assert signed_in.get(passed_over["Location"]).json()["runs"] == []
    assert Run.objects.count() == MANY + 1


def test_a_preview_of_many_runs_stores_nothing_and_its_commit_is_the_importers(
    signed_in: Client, little_work: None
) -> None:
    page = send(signed_in, "/imports/new/").headers["Location"]
    html = signed_in.get(page).content.decode()
    assert "This import is large, so the importer stores it in the background." in html
    assert f"Import {MANY + 1} runs" in html
    assert not Run.objects.exists()
    waiting = signed_in.post(f"{page}commit/", {"study": "other"}, follow=True)
    # Pressed twice: what waits for the importer is not stored by the request after all.
    signed_in.post(f"{page}commit/", {"study": "other"})
    assert "Storing many runs or scores" in waiting.content.decode()
    assert not Run.objects.exists()
    work_off()
    assert Run.objects.count() == MANY + 1
    assert signed_in.get(page).context["run_count"] == MANY + 1


def test_who_lost_the_claim_stores_nothing(signed_in: Client, little_work: None) -> None:
    send(signed_in, "/api/v1/imports")
    row = queue.claim()
    assert row is not None
    Import.objects.filter(pk=row.pk).update(claimed_by="another")
    queue.work_on(row, threading.Event())
    assert not Run.objects.exists()
    assert Import.objects.get().claimed_by == "another"


def test_few_runs_are_stored_at_once(signed_in: Client) -> None:
    assert send(signed_in, "/api/v1/imports").status_code == 201
