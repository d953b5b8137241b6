"""Search: every word must match, in what is few; the page says how many and what to try."""

import pytest
from django.core.management import call_command

from fsbench_web.studies.models import Run, Series, Study
from fsbench_web.studies.views import search_query
from tests.studies.conftest import complete

pytestmark = pytest.mark.django_db


def matches(kind: str, text: str) -> list[str]:
    return [str(row) for row in search_query.find(search_query.Query.of(text), kind)[:]]


def test_every_word_must_be_found(runs):
    assert matches("configurations", "EXT4 writeback") == ["ext4_wb_none"]
    assert matches("configurations", "ext4 noatime") == []
    assert matches("configurations", "noop") == ["ext4_wb_none", "xfs_none"]
    assert matches("studies", "look first") == ["First look"]
    # A word of the study and one of the configuration.
    assert matches("runs", "first xfs") == [f"run {run.pk}" for run in reversed(runs[1::2])]


def test_runs_are_found_by_number_state_host_and_workload(runs):
    complete(runs[0])
    assert matches("runs", f"#{runs[2].pk}") == [f"run {runs[2].pk}"]
    assert matches("runs", "done") == [f"run {runs[0].pk}"]
    assert len(matches("runs", "lab1 disk1 iozone")) == 4
    assert matches("runs", "lab1 disk9") == []


@pytest.mark.parametrize(
    "text", ["", "   ", "\x00", "%", "_", "'", '"; --', "9" * 60, "\\", "a" * 5000, "#", "é", "²"]
)
def test_odd_words_find_nothing_and_break_nothing(client, runs, text):
    for kind in search_query.KINDS:
        assert isinstance(matches(kind, text), list)
    for kind in ("", "runs", "nonsense"):
        response = client.get("/search/", {"q": text, "kind": kind, "page": "x"})
        assert response.status_code == 200


def test_signs_of_patterns_are_letters(runs):
    assert matches("studies", "%") == []
    assert matches("studies", "F_rst") == []


def test_the_page_escapes_and_says_what_to_do(client, runs):
    page = client.get("/search/", {"q": "<script>alert(1)</script>"}).content.decode()
    assert "<script>alert" not in page
    assert "No match for" in page
    assert "No search words yet." in client.get("/search/").content.decode()
    Study.objects.create(slug="odd", title="<b>odd</b>")
    assert "<b>odd" not in client.get("/search/?q=odd").content.decode()


def test_one_kind_comes_a_page_at_a_time(client, runs):
    Run.objects.bulk_create(
        Run(series=runs[0].series, repeat=10 + number, origin="imported") for number in range(60)
    )
    page = client.get("/search/?q=ext4")
    counts = {entry["kind"]: entry["count"] for entry in page.context["found"]}
    assert (counts["studies"], counts["configurations"], counts["runs"]) == (1, 1, 62)
    assert "kind=runs" in page.content.decode()
    last = client.get("/search/?q=ext4&kind=runs&page=3").content.decode()
    assert "Page 3 of 3" in last
    assert "q=ext4&amp;kind=runs&amp;page=2" in last


@pytest.mark.parametrize("most", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("newest_series", [1, 2])
@pytest.mark.parametrize("has_late_runs", [False, True])
def test_of_many_series_the_newest_runs_are_found(
    runs, monkeypatch, most, newest_series, has_late_runs
):
    """Whichever series they are of: an old one that was run again, new ones without any run."""
    old = runs[0].series
    series = [
        Series.objects.create(
            key=f"k{number}", study=old.study, configuration=old.configuration, kernel=f"6.{number}"
        )
        for number in range(6)
    ]
    order = [5, 0, 3, 3, 1, *([0, 2, 1, 0] if has_late_runs else [])]
    for repeat, number in enumerate(order):
        Run.objects.create(series=series[number], repeat=repeat, origin="imported")
    monkeypatch.setattr(search_query, "MOST", most)
    monkeypatch.setattr(search_query, "NEWEST_SERIES", newest_series)
    for text in ("ext4", "6.", "6.0", "6.4", "6. done", "ext4 6.3"):
        words = text.split()
        every = Run.objects.order_by("-pk").select_related("series__configuration")
        expected = [
            str(run)
            for run in every
            if all(
                word in f"{run.series.configuration.label} {run.series.kernel} {run.state}"
                for word in words
            )
        ]
        assert matches("runs", text) == expected[:most], text


def test_it_takes_the_same_queries_for_much_and_for_little(client, runs, django_assert_num_queries):
    with django_assert_num_queries(13):
        client.get("/search/?q=o")
    call_command("load_published", verbosity=0)
    with django_assert_num_queries(13):
        client.get("/search/?q=o")


def test_the_api_answers_the_same(client, runs):
    answer = client.get("/api/v1/search?q=ext4&limit=1").json()
    assert answer["counts"] == {"studies": 1, "configurations": 1, "runs": 2}
    assert answer["configurations"][0]["options"] == {"journal_mode": "writeback"}
    assert [run["id"] for run in answer["runs"]] == [runs[2].pk]
    assert answer["runs"][0]["study"] == "first-look"
    assert client.get("/api/v1/search?q=" + "x" * 300).status_code == 422


def test_a_paper_is_found_by_the_file_systems_it_compared(client, db):
    call_command("load_published", verbosity=0)
    assert matches("studies", "xfs unisys") == ["Linux File Systems: Comparative Performance"]
    assert matches("studies", "zfs unisys") == []


@pytest.mark.parametrize(
    ("words", "kind", "title", "address"),
    [
        ("random 8 kb", "workloads", "fio, random 8 KB", "/workloads/#fio-8k"),
        ("backup", "profiles", "Backup target", "/profiles/backup/"),
        ("lab1 disk1", "machines", "disk1", "/luns/"),
        ("ora-ta", "words", "Ora-ta", "/glossary/#scores"),
        ("outlier", "words", "outlier", "/glossary/#flags"),
        ("sequential halving", "guide", "Races", "/guide/method/#races"),
    ],
)
def test_whatever_has_a_name_is_found(client, runs, words, kind, title, address):
    page = client.get("/search/", {"q": words})
    (group,) = (entry for entry in page.context["shown"] if entry["kind"] == kind)
    found = next(place for place in group["page"] if place.title == title)
    assert found.address.startswith(address)
    page, _, anchor = found.address.partition("#")
    target = client.get(page)
    assert target.status_code == 200
    assert not anchor or f'id="{anchor}"' in target.content.decode()
