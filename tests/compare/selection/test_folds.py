"""fio's many percentiles: the main ones in sight, the others behind folds, and none left out."""

import re

import pytest

from fsbench_web.compare.permalinks.records import pin
from fsbench_web.compare.selection import folds
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.compare.tables.findings import findings_by_test
from fsbench_web.core.scoring import testnames
from tests.compare.conftest import make_score

PERCENTILES = ("1", "5", "50", "90", "95", "99", "99.9", "99.99")
FURTHER = ("1", "5", "90", "99.9", "99.99")
TESTS = [
    "randread_bw",
    "randread_iops",
    "randread_clat_mean",
    *(f"randread_clat_p{percentile}" for percentile in PERCENTILES),
]


def order(tests, chosen=()):
    """The tests as placed: folds in brackets."""
    return "".join(
        ("[" if place.opens else "") + place.entry + ("]" if place.closes else " ")
        for place in folds.with_folds(tests, str, chosen)
    )


def test_further_percentiles_come_behind_the_last_main_one_of_their_latency():
    tests = ["a_clat_mean", "a_clat_p1", "a_clat_p50", "a_clat_p99", "a_lat_p50", "a_lat_p75", "b"]
    assert order(tests) == ("a_clat_mean a_clat_p50 a_clat_p99 [a_clat_p1]a_lat_p50 [a_lat_p75]b ")


def test_a_fold_says_of_what_and_how_many_it_has():
    (fold,) = [place.opens for place in folds.with_folds(TESTS, str) if place.opens]
    assert fold.title == "More percentiles (5)"
    assert fold.of == "Randread, completion latency"


def test_loads_of_one_latency_share_a_fold():
    at = [f"a_clat_p{percentile}@iodepth={load}" for percentile in (50, 90) for load in (1, 4)]
    assert order(at) == (
        "a_clat_p50@iodepth=1 a_clat_p50@iodepth=4 [a_clat_p90@iodepth=1 a_clat_p90@iodepth=4]"
    )


def test_nothing_is_folded_that_is_chosen_or_would_leave_nothing_in_sight():
    assert order(["a_clat_p90", "a_clat_p99.9"]) == "a_clat_p90 a_clat_p99.9 "
    assert order(["a_clat_p50", "a_clat_p90"], {"a_clat_p90"}) == "a_clat_p50 a_clat_p90 "
    assert order(["write", "read", "read_p90", "latency_p90"]) == "write read read_p90 latency_p90 "


@pytest.mark.parametrize("test", TESTS)
def test_only_other_percentiles_are_further(test):
    is_further = test.rpartition("_p")[2] in FURTHER
    assert bool(testnames.further_percentile_of(test)) == is_further


@pytest.fixture
def fio(db):
    for number, test in enumerate(TESTS):
        unit = "ns" if "clat" in test else "KB/s"
        make_score("ext4", 1000.0 + number, test=test, unit=unit, category="mean")
        make_score("xfs", 2000.0 + number, test=test, unit=unit, category="mean")


def folded_text(text):
    """What is inside the folds of the page."""
    return "".join(re.findall(r'<details class="fold">.*?</div>\s*</details>', text, re.S))


@pytest.mark.parametrize("address", ["/compare/?study=lab", "/studies/lab/?tab=tests"])
def test_pages_fold_their_sections(client, fio, address):
    text = client.get(address).content.decode()
    folded = folded_text(text)
    for test in TESTS:
        slug = testnames.slug(test)
        is_folded = test.rpartition("_p")[2] in FURTHER
        heading = f'id="test-{slug}"'
        assert text.count(heading) == 1
        assert (heading in folded) == is_folded
    assert "More percentiles (5)" in text


def test_tests_chosen_by_name_are_in_no_fold(client, fio):
    query = "&".join(f"test={test}" for test in TESTS)
    assert "More percentiles" not in client.get(f"/compare/?{query}&tab=tests").content.decode()


def test_the_choice_of_tests_is_folded_and_whole(client, fio):
    text = client.get("/compare/?study=lab").content.decode()
    assert set(re.findall(r'name="test" value="([^"]+)"', text)) == set(TESTS)
    assert re.search(
        r"<details><summary>More percentiles \(5\)</summary>\s*<label[^>]*><input[^>]*_clat_p1\"",
        text,
    )


def groups_of(text):
    """The tests of the pictures' select box: those at once, and those in groups by their label."""
    (box,) = re.findall(r'<select id="id-of".*?</select>', text, re.S)
    groups = dict(re.findall(r'<optgroup label="([^"]*)">(.*?)</optgroup>', box, re.S))
    rest = re.sub(r"<optgroup.*?</optgroup>", "", box, flags=re.S)
    names = re.compile(r'<option value="([^"]*)"')
    return names.findall(rest), {label: names.findall(text) for label, text in groups.items()}


def test_the_pictures_offer_further_percentiles_in_a_group(client, fio):
    in_sight, groups = groups_of(client.get("/compare/pictures/?study=lab").content.decode())
    (label,) = groups
    assert label == "More percentiles (5): Randread, completion latency"
    assert [test.rpartition("_p")[2] for test in groups[label]] == list(FURTHER)
    assert set(in_sight) == set(TESTS) - set(groups[label])
    # One of a group can be shown, and what the comparison names stands in none.
    drawn = client.get("/compare/pictures/?study=lab&of=randread_clat_p1").content.decode()
    assert '<option value="randread_clat_p1" selected>' in drawn
    query = "&".join(f"test={test}" for test in TESTS)
    text = client.get(f"/compare/pictures/?{query}").content.decode()
    assert groups_of(text) == (sorted(TESTS, key=testnames.place), {})


def test_an_embedded_view_folds_its_sections(client, fio, jo):
    key = pin(ComparisonSpec(studies=("lab",)), jo).key
    text = client.get(f"/p/{key}/embed/").content.decode()
    folded = folded_text(text)
    for test in TESTS:
        heading = f'id="test-{testnames.slug(test)}"'
        assert text.count(heading) == 1
        assert (heading in folded) == (test.rpartition("_p")[2] in FURTHER)
    assert "<script" not in text
    alone = client.get(f"/p/{key}/embed/?test=randread_clat_p1").content.decode()
    assert folded_text(alone) == ""
    assert 'id="test-randread-clat-p1"' in alone


def test_the_report_folds_every_test_of_its_chapters(client, fio):
    text = client.get("/studies/lab/report/").content.decode()
    begin, end = text.index('id="methodology"'), text.index("</article>")
    for test in TESTS:
        heading = f"<h3>{testnames.label(test)}</h3>"
        # Its charts, and its tables.
        assert text.count(heading) == text[begin:end].count(f"<summary>{heading}") == 2
    page = text.partition("</header>")[2]
    assert page.count("<details") == page.count("</details>")


def test_findings_tell_of_every_test_and_of_the_main_ones_first(fio):
    findings = findings_by_test(delta_tables(ComparisonSpec(studies=("lab",))))
    assert len(findings.tests) == len(TESTS)
    assert [test.is_further for test in findings.tests] == [False] * 6 + [True] * 5


def test_what_has_no_percentiles_has_no_fold(client, published_studies):
    for address in (
        "/studies/unisys-2005/",
        "/compare/?study=unisys-2005",
        "/studies/unisys-2005/report/",
    ):
        text = client.get(address).content.decode()
        assert "More percentiles" not in text
