"""Scores over the cells that all contenders have, and which cells those are."""

import re

import pytest

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.tables import delta_tables as tables
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.core.scoring.scores import score_repeats
from fsbench_web.studies.models import Series
from fsbench_web.studies.scores import cells
from fsbench_web.studies.series import series_for
from tests.compare.conftest import make_score, make_study
from tests.studies.scores.test_cells import at, finished

pytestmark = pytest.mark.django_db

MATCHED = ComparisonSpec(matched=True)


def make(filesystem: str, **options: str) -> Series:
    return series_for(make_study("lab"), configuration_for(filesystem, options))


@pytest.fixture
def unequal() -> None:
    """ext4 has a fast cell that xfs lacks, and xfs a slow one that ext4 lacks."""
    ext4, xfs = make("ext4"), make("xfs")
    finished(ext4, at(4, 64, 10), at(8, 64, 30), at(16, 64, 800))
    finished(ext4, at(4, 64, 20), at(8, 64, 40), at(16, 64, 900))
    finished(xfs, at(4, 64, 100), at(8, 64, 200), at(32, 64, 1))


def rows(spec: ComparisonSpec, category: str) -> dict[str, tuple[float, int, int | None]]:
    [table] = [t for t in delta_tables(spec) if t.category == category]
    return {row.contender: (row.score, row.cells, row.cells_expected) for row in table.rows}


def test_other_cells_make_other_winners(unequal):
    assert rows(ComparisonSpec(), "maximum") == {"ext4": (900, 3, None), "xfs": (200, 3, None)}
    assert rows(MATCHED, "maximum") == {"ext4": (40, 2, 3), "xfs": (200, 2, 3)}


def test_a_matched_score_is_what_the_same_cells_alone_would_have_given(unequal):
    alone = score_repeats([{(4, 64): 10, (8, 64): 30}, {(4, 64): 20, (8, 64): 40}])
    assert rows(MATCHED, "total_average")["ext4"][0] == alone["total_average"].value == 25
    [table] = [t for t in delta_tables(MATCHED) if t.category == "total_average"]
    ext4 = table.rows[0]
    assert ext4.contender == "ext4"
    assert ext4.interval.mean == 25
    assert ext4.half_width == ext4.interval.half_width > 0


def test_where_all_have_the_same_cells_nothing_changes():
    finished(make("ext4"), at(4, 64, 10), at(8, 64, 30))
    finished(make("xfs"), at(4, 64, 20), at(8, 64, 40))

    def scores(spec: ComparisonSpec) -> list[list[tuple[str, float, float | None]]]:
        return [
            [(row.contender, row.score, row.delta1_percent) for row in table.rows]
            for table in delta_tables(spec)
        ]

    assert scores(MATCHED) == scores(ComparisonSpec())


def test_contenders_without_a_common_cell_keep_their_scores_and_say_so():
    finished(make("ext4"), at(4, 64, 10))
    finished(make("xfs"), at(8, 64, 40))
    [table] = [t for t in delta_tables(MATCHED) if t.category == "maximum"]
    assert [(row.score, row.flags) for row in table.rows] == [
        (10, ("no_common_cells",)),
        (40, ("no_common_cells",)),
    ]


def test_a_score_whose_cells_nobody_knows_asks_nothing_of_the_others(unequal):
    make_score("jfs", 50, study="paper")
    [table] = [t for t in delta_tables(MATCHED) if t.category == "maximum"]
    scores = {row.contender: (row.score, "not_matched" in row.flags) for row in table.rows}
    assert scores == {"ext4": (40, False), "jfs": (50, True), "xfs": (200, False)}


def test_a_test_with_one_value_a_run_has_no_cells_to_match():
    make_score("ext4", 5, test="mkfs", category="mean", unit="s")
    [table] = delta_tables(MATCHED)
    assert table.rows[0].flags == ()


def test_it_takes_one_query_more(unequal, django_assert_num_queries):
    with django_assert_num_queries(4):
        delta_tables(ComparisonSpec())
    with django_assert_num_queries(5):
        delta_tables(MATCHED)


def test_too_many_numbers_are_refused_in_words(unequal, monkeypatch, client):
    monkeypatch.setattr(cells, "MOST_MATCHED", 5)
    with pytest.raises(SpecError, match="Choose fewer"):
        delta_tables(MATCHED)
    assert client.get("/compare/?matched=1").status_code == 400
    assert "Too many numbers" in client.get("/compare/cells/write/").content.decode()
    monkeypatch.setattr(tables, "MOST_LISTED", 1)
    with pytest.raises(SpecError, match="Choose fewer"):
        delta_tables(MATCHED)


def test_two_selections_of_cells_at_once_are_refused(unequal):
    with pytest.raises(SpecError, match="cannot be combined"):
        delta_tables(ComparisonSpec(matched=True, cells="sound"))


def test_the_cells_that_differ_are_named(unequal, client):
    make_score("jfs", 50, study="paper")
    text = client.get("/compare/cells/write/", headers={"HX-Request": "true"}).content.decode()
    assert "all of them have 2" in text
    assert re.search(r"32(\.0)? Ki?B of 64(\.0)? Ki?B", text)
    assert "Scores only" in text
    assert 'href="/compare/?matched=1"' in text
    assert "<html" not in text
    whole = client.get("/compare/cells/write/").content.decode()
    assert "<h1>Data points compared: Write</h1>" in whole
    assert "1: blocks of files</summary>" in whole


def test_cells_of_a_test_that_is_not_shown_are_not_found(unequal, client):
    assert client.get("/compare/cells/read/").status_code == 404
    assert client.get("/compare/cells/nonsense/").status_code == 400
    assert client.get("/compare/cells/write/?colour=red").status_code == 400
    for address in ("/compare/cells/write/", "/compare/pictures/", "/compare/pictures.csv"):
        refused = client.get(f"{address}?part_test=nope")
        assert refused.status_code == 400
        assert "There is no part_test" in refused.content.decode()
        assert client.get(f"{address}?part_test=write").status_code == 200


def test_the_page_offers_the_cells_where_there_are_any(unequal, client):
    assert (
        'hx-get="/compare/cells/write/?study=lab"'
        in client.get("/compare/?study=lab").content.decode()
    )
    make_score("jfs", 50, study="paper")
    assert "/compare/cells/" not in client.get("/compare/?study=paper").content.decode()
