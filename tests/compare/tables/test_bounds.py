"""Without a choice of studies a page shows what it can, and says so; CSV and API show all."""

import re
from dataclasses import replace

import pytest
from django.contrib.auth.models import User

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables import bounds
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.platform import limits
from fsbench_web.studies.models import Score, Study
from tests.compare.conftest import make_score, make_scores, make_series

pytestmark = pytest.mark.django_db


@pytest.fixture
def many(monkeypatch):
    """Three studies of two scores each, and room for four."""
    for study in ("first", "second", "third"):
        for filesystem in ("ext4", "xfs"):
            make_score(filesystem, study=study)
    monkeypatch.setattr(limits, "MOST_SCORES", 4)


def test_the_latest_studies_that_fit_are_taken(many):
    limited = bounds.bounded_page(ComparisonSpec())
    assert (limited.spec.studies, limited.studies) == (("second", "third"), 3)


def test_a_choice_of_studies_or_what_fits_is_left_as_it_is(many):
    for spec in (
        ComparisonSpec(studies=("first", "second", "third")),
        ComparisonSpec(tests=("x",)),
    ):
        assert bounds.bounded_page(spec) == bounds.BoundedComparison(spec)


def test_one_study_is_shown_however_large(many, monkeypatch):
    monkeypatch.setattr(limits, "MOST_SCORES", 1)
    assert bounds.bounded_page(ComparisonSpec()).spec.studies == ("third",)


def test_the_page_says_so_and_csv_has_all(client, many):
    page = client.get("/compare/?papers=yes").content.decode()
    assert "2 of 3 studies shown" in page
    assert "first" in client.get("/compare/deltas.csv?by=study").content.decode()
    assert "first" not in client.get("/api/v1/deltas?by=study&study=third").content.decode()
    rows = client.get("/api/v1/deltas?by=study").json()["tables"][0]["rows"]
    assert {row["contender"] for row in rows} == {"first", "second", "third"}


@pytest.fixture
def configurations(monkeypatch):
    """Three tests of two categories, of four configurations each: 24 rows, and room for eight."""
    for label in ("ext4_a", "ext4_b", "xfs_a", "xfs_b"):
        series = make_series(label)
        assert series.configuration.filesystem in ("ext4", "xfs")
        for test in ("write", "read", "mkfs"):
            for category in ("maximum", "overall"):
                make_scores(series, {test: len(label)}, category)
    monkeypatch.setattr(limits, "PAGE", replace(limits.PAGE, single_rows=8))


CONFIGURATIONS = ComparisonSpec(studies=("lab",), by="configuration")


def test_of_many_configurations_the_first_tests_that_fit_are_shown(configurations):
    limited = bounds.bounded_page(CONFIGURATIONS)
    assert limited.spec == replace(CONFIGURATIONS, part_tests=("write",))
    tests = ("write", "read", "mkfs")
    assert limited.part == bounds.Part(CONFIGURATIONS, 8, 24, tests, from_test=1, next_test=2)
    # Contenders by their best configuration are few.
    assert bounds.bounded_page(replace(CONFIGURATIONS, by="filesystem")).part is None


def test_a_test_too_large_is_cut_to_a_category_and_then_to_a_file_system(
    configurations, monkeypatch
):
    monkeypatch.setattr(limits, "PAGE", replace(limits.PAGE, single_rows=5))
    limited = bounds.bounded_page(CONFIGURATIONS)
    assert (limited.spec.part_tests, limited.spec.part_categories) == (("write",), ("overall",))
    assert (limited.part.shown_rows, limited.part.categories) == (4, ("maximum", "overall"))
    assert limited.spec.whole == CONFIGURATIONS
    monkeypatch.setattr(limits, "PAGE", replace(limits.PAGE, single_rows=3))
    limited = bounds.bounded_page(CONFIGURATIONS)
    assert limited.spec == replace(
        CONFIGURATIONS, tests=("write",), categories=("overall",), filesystems=("ext4",)
    )
    assert (limited.part.shown_rows, limited.part.filesystems) == (2, ("ext4", "xfs"))


def test_where_all_fits_all_is_shown_whatever_part_is_asked_for(configurations, monkeypatch):
    monkeypatch.setattr(limits, "PAGE", replace(limits.PAGE, single_rows=24))
    spec = replace(CONFIGURATIONS, part_tests=("read",), part_categories=("overall",))
    assert bounds.bounded_page(spec) == bounds.BoundedComparison(CONFIGURATIONS)


def test_a_part_that_is_asked_for_goes_first_and_nonsense_is_none(configurations):
    for requested, expected in (("mkfs", "mkfs"), ("nonsense", "write")):
        limited = bounds.bounded_page(replace(CONFIGURATIONS, part_tests=(requested,)))
        assert limited.spec == replace(CONFIGURATIONS, part_tests=(expected,))


def test_rows_that_a_filter_leaves_out_are_not_counted(configurations):
    few = replace(CONFIGURATIONS, configurations=("ext4_a",))
    assert bounds.bounded_page(few) == bounds.BoundedComparison(few)


def test_the_page_says_what_is_left_out_and_leads_to_all_of_it(client, configurations):
    page = client.get("/compare/?study=lab&by=configuration&categories=on")
    html = page.content.decode()
    assert "8 of 24 rows are shown." in html
    assert page.context["tables"] == 2
    query = "study=lab&amp;by=configuration"
    assert f'href="/compare/deltas.csv?{query}"' in html
    for test in ("write", "read", "mkfs"):
        link = re.search(rf'href="\?([^"]*test={test}[^"]*)"', html)
        other = client.get("/compare/?" + link[1].replace("&amp;", "&"))
        assert [section.test for section in other.context["sections"]] == [test]
    rows = client.get("/compare/deltas.csv?study=lab&by=configuration").content.decode()
    assert len(rows.splitlines()) == 1 + 24


def test_the_page_of_a_study_shows_the_same_part_and_leads_to_all_of_it(client, configurations):
    page = client.get("/studies/lab/?by=configuration")
    html = page.content.decode()
    assert "8 of 24 rows are shown." in html
    assert [section.test for section in page.context["sections"]] == ["write"]
    assert 'href="?by=configuration&amp;part_test=read"' in html
    for name in ("part_test", "test"):  # as links say it, and as older ones said it
        other = client.get(f"/studies/lab/?by=configuration&{name}=read")
        assert [section.test for section in other.context["sections"]] == ["read"]
    nonsense = client.get("/studies/lab/?by=configuration&test=nonsense%00")
    assert [section.test for section in nonsense.context["sections"]] == ["write"]
    assert "rows are shown" not in client.get("/studies/lab/").content.decode()


def test_numbers_of_a_part_are_those_that_its_own_address_gives(client, configurations):
    page = client.get("/compare/?study=lab&by=configuration&categories=on")
    [table, _] = page.context["sections"][0].tables
    [same, _] = delta_tables(bounds.bounded_page(CONFIGURATIONS).spec)
    assert table == same


@pytest.fixture
def close_call(configurations):
    """One pair is far apart: p is 0.002, of each table by itself."""
    for place, score in enumerate(Score.objects.order_by("pk")):
        is_ahead = score.series.configuration.label == "ext4_a" and score.category == "overall"
        value = 200 if is_ahead and score.test == "write" else 100 + place / 1000
        interval = {"mean": value, "half_width": 44.5, "count": 10, "of": "repeats"}
        Score.objects.filter(pk=score.pk).update(value=value, interval=interval)


def verdict(tables):
    """Of the contender that is far ahead: in words, and of how many pairs."""
    (table,) = (
        table for table in tables if (table["test"], table["category"]) == ("write", "overall")
    )
    (row_verdict,) = (row["verdict"] for row in table["rows"] if row["contender"] == "ext4_a")
    return row_verdict["status"], row_verdict["reasons"], row_verdict["tested"]


def as_dicts(sections):
    return [table.as_dict() for section in sections for table in section.tables]


def test_a_part_says_what_the_whole_says_wherever_it_is_shown(client, close_call):
    expected = ("significant", [], 6)
    address = "study=lab&by=configuration"
    page = client.get(f"/compare/?{address}")
    assert [section.test for section in page.context["sections"]] == ["write"]
    assert verdict(as_dicts(page.context["sections"])) == expected
    assert "not to all" not in page.content.decode()
    html = page.content.decode().replace("&amp;", "&")
    # The files of the page, of one of its tables, and of everything; the API; a permalink.
    files = re.findall(r'href="(/compare/deltas.json[^"]+)"', html)
    files += [f"/compare/deltas.json?{page.context['query']}"]
    table = re.search(r'href="/compare/export/([^"]+part_category=overall)"', html)[1]
    files += [f"/compare/deltas.json{table}", f"/api/v1/comparison{table}"]
    files += [f"/api/v1/comparison?{query}" for query in (address, page.context["query"])]
    assert len(files) >= 5
    for file in files:
        assert verdict(client.get(file).json()["tables"]) == expected, file
    client.force_login(User.objects.create_user("ada"))
    shared = client.post("/compare/pin/", {"query": page.context["query"]}, follow=True)
    assert verdict(as_dicts(shared.context["sections"])) == expected
    # The study's own page says it too, and a comparison of fewer tests.
    study = client.get("/studies/lab/?by=configuration")
    tables = [table.as_dict() for section in study.context["sections"] for table in section.tables]
    assert verdict(tables) == expected
    other = client.get("/api/v1/comparison?study=lab&by=configuration&test=write").json()
    assert verdict(other["tables"]) == expected, "a filter asks the same of the same table"


@pytest.mark.parametrize("cut", ["matched=1", ""])
def test_a_part_that_is_a_comparison_by_itself_says_so(client, configurations, monkeypatch, cut):
    monkeypatch.setattr(limits, "PAGE", replace(limits.PAGE, single_rows=8 if cut else 3))
    page = client.get(f"/compare/?study=lab&by=configuration&categories=on&{cut}")
    words = re.sub(r"<[^>]+>|\s+", " ", page.content.decode())
    assert re.search(r"refer to the \d rows shown, not to all 24\.", words)
    assert page.context["spec"].part_tests == ()
    tables = as_dicts(page.context["sections"])
    assert tables == [table.as_dict() for table in delta_tables(page.context["spec"])]


@pytest.mark.parametrize("by", ["filesystem", "kernel", "configuration"])
def test_what_is_chosen_of_a_hidden_study_is_shown_to_nobody_else(client, by):
    """The best scores are chosen in one statement: it must know of rights as every other."""
    ada = User.objects.create_user("ada")
    make_score("ext4_plain", 100, study="open", kernel="6.1")
    make_score("ext4_secret", 900, study="secret", kernel="6.12")
    make_score("xfs", 50, study="secret", kernel="5.9")
    Study.objects.filter(slug="secret").update(visibility="private", created_by=ada)

    def page_rows() -> list[tuple[float, int]]:
        page = client.get(f"/compare/?by={by}")
        assert ("5.9" in page.content.decode()) == ("xfs" in page.content.decode())
        tables = [table for section in page.context["sections"] for table in section.tables]
        return [(row.score, row.configurations) for table in tables for row in table.rows]

    assert page_rows() == [(100, 1)]
    client.force_login(ada)
    expected = [(50, 1), (900, 2)] if by == "filesystem" else [(50, 1), (100, 1), (900, 1)]
    assert page_rows() == expected
