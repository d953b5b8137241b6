"""Scores of one test stand side by side in one unit, converted exactly."""

import csv as stdlib_csv
import io
from dataclasses import replace
from fractions import Fraction

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import comparison, delta_tables
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.formats.tables.spreadsheet import tables_of
from fsbench_web.studies.models import Score
from tests.compare.conftest import make_score, printed

pytestmark = pytest.mark.django_db

IOZONE = {"workload": "iozone"}


def tables(query: str = "") -> list[DeltaTable]:
    return delta_tables(ComparisonSpec.from_query(query))


def row(table: DeltaTable, contender: str) -> DeltaRow:
    return next(row for row in table.rows if row.contender == contender)


@pytest.fixture
def two_units() -> None:
    """One test in KB/s of IOzone, in MiB/s, and in KB/s of a table that nobody explained."""
    make_score("ext4", 102.4, **IOZONE)
    make_score("xfs", 0.3, unit="MiB/s", study="other", **IOZONE)
    make_score("btrfs", 300.0, study="third")


def test_known_units_become_one_and_an_open_one_stands_by_itself(two_units: None) -> None:
    converted, alone = tables()
    assert (converted.unit, [delta_row.contender for delta_row in converted.rows]) == (
        "MiB/s",
        ["ext4", "xfs"],
    )
    ext4, xfs = row(converted, "ext4"), row(converted, "xfs")
    assert (ext4.score, ext4.printed_score, ext4.printed_unit) == (0.1, 102.4, "KB/s")
    assert (xfs.score, xfs.printed_score, xfs.printed_unit) == (0.3, None, None)
    # 1/10 beside 3/10, and not what binary rounding makes of them.
    assert ext4.delta1_percent == float(100 * (1 - Fraction(1, 3)))
    assert (ext4.delta2_percent, xfs.delta1_percent, xfs.best) == (-200.0, 0.0, True)
    assert (alone.unit, alone.is_unexplained, len(alone.rows)) == ("KB/s", True, 1)
    assert row(alone, "btrfs").score == 300.0


def test_whoever_reads_chooses(two_units: None) -> None:
    as_printed = {table.unit: table for table in tables("units=printed")}
    assert {unit: len(table.rows) for unit, table in as_printed.items()} == {"KB/s": 2, "MiB/s": 1}
    # What nobody explained is said, where it stands beside what is known.
    assert "unit_unexplained" in row(as_printed["KB/s"], "btrfs").flags
    assert "unit_unexplained" not in row(as_printed["KB/s"], "ext4").flags
    decimal, alone = tables("units=decimal")
    assert decimal.unit == "MB/s"
    assert row(decimal, "ext4").score == float(Fraction("102.4") * 1024 / 10**6)
    assert row(decimal, "xfs").score == float(Fraction("0.3") * 1024**2 / 10**6)
    assert (alone.unit, row(alone, "btrfs").score) == ("KB/s", 300.0)


def test_where_all_agree_nothing_is_converted(two_units: None) -> None:
    [table] = tables("study=lab&study=third")
    assert (table.unit, row(table, "ext4").score, table.has_printed_units) == ("KB/s", 102.4, False)
    [table] = tables("study=lab&units=binary")
    assert (table.unit, row(table, "ext4").score) == ("MiB/s", 0.1)


def test_equal_scores_in_two_units_tie() -> None:
    make_score("ext4", 1024.0, **IOZONE)
    make_score("xfs", 1.0, unit="MiB/s", **IOZONE)
    make_score("jfs", 1.048576, unit="SI MB/s", **IOZONE)
    [table] = tables()
    assert [row.best for row in table.rows] == [True, True, True]
    assert {row.delta1_percent for row in table.rows} == {0.0}


def test_the_best_of_a_contender_may_be_in_either_unit() -> None:
    """1,000 KB/s is less than 1 MiB/s; a configuration that has both counts once."""
    make_score("ext4_a", 1000.0, **IOZONE)
    make_score("ext4_b", 1.0, unit="MiB/s", **IOZONE)
    make_score("ext4_a", 0.5, unit="MiB/s", study="other", **IOZONE)
    make_score("xfs", 2.0, unit="MiB/s", **IOZONE)
    with CaptureQueriesContext(connection) as usual:
        comparison(ComparisonSpec(units="printed"))
    with CaptureQueriesContext(connection) as converted:
        [table] = comparison(ComparisonSpec()).tables
    assert len(converted) == len(usual) + 1  # which configurations there are, whatever their units
    ext4 = row(table, "ext4")
    assert (ext4.configuration, ext4.score, ext4.configurations) == ("ext4_b", 1.0, 2)
    Score.objects.filter(value=1000.0).update(value=1025.0)
    ext4 = row(tables()[0], "ext4")
    assert (ext4.configuration, ext4.printed_score, ext4.printed_unit) == ("ext4_a", 1025.0, "KB/s")


def test_times_are_shown_in_the_longest_unit_and_the_shortest_time_wins() -> None:
    make_score("ext4", 1500.0, unit="µs", test="stat", category="mean")
    make_score("xfs", 1.25, unit="ms", test="stat", category="mean")
    [table] = tables()
    assert (table.unit, table.lower_is_better) == ("ms", True)
    assert row(table, "ext4").score == 1.5
    assert row(table, "xfs").best


def test_overall_scores_are_sums_of_one_unit() -> None:
    overall = {"category": "overall", "unit": "score", **IOZONE}
    make_score("ext4", 2048.0, summed_unit="KB/s", **overall)
    make_score("xfs", 3.0, summed_unit="MiB/s", **overall)
    make_score("jfs", 5.0, **overall)  # of what, nobody knows
    converted, alone = sorted(tables(), key=lambda table: -len(table.rows))
    assert (converted.unit, converted.summed_unit, row(converted, "ext4").score) == (
        "score",
        "MiB/s",
        2.0,
    )
    assert row(converted, "xfs").best
    assert len(converted.rows) == 2
    assert [delta_row.contender for delta_row in alone.rows] == ["jfs"]
    assert len(tables("units=printed")) == 3
    Score.objects.filter(summed_unit="MiB/s").delete()
    [table] = tables()
    assert (table.unit, table.summed_unit, len(table.rows)) == ("score", "", 2)


def test_intervals_are_converted_and_parts_stand_as_in_the_whole() -> None:
    for number, (unit, times) in enumerate([("KB/s", 1024), ("MiB/s", 1)] * 4):
        for test in ("write", "read"):
            mean = (100 + 2 * number) * times
            score = make_score(f"ext4_{number}", mean, test=test, unit=unit, repeats=3, **IOZONE)
            interval = {"mean": mean, "half_width": 1.5 * times, "count": 3, "of": "repeats"}
            Score.objects.filter(pk=score.pk).update(interval=interval)
    spec = ComparisonSpec(by="configuration", margin=3.0, baseline="ext4_4")
    whole = delta_tables(spec)
    assert [table.unit for table in whole] == ["MiB/s", "MiB/s"]
    assert {row.interval.half_width for row in whole[0].rows if row.interval} == {1.5}
    verdicts = {row.verdict.status for row in whole[0].rows if row.verdict}
    assert verdicts == {"significant", "tie"}
    part = delta_tables(replace(spec, part_tests=("read",)))
    assert part == [table for table in whole if table.test == "read"]


def test_what_a_paper_printed_stays_beside_a_converted_score() -> None:
    make_score("ext4", 1024.0, published=printed(False, "50.00", "-100.00"), **IOZONE)
    make_score("xfs", 2048.0, published=printed(True, "0.00", "0.00"), **IOZONE)
    make_score("jfs", 4.0, unit="MiB/s", study="other", **IOZONE)
    [table] = tables()
    ext4 = row(table, "ext4")
    assert (ext4.score, ext4.printed_score) == (1.0, 1024.0)
    assert ext4.published is not None
    assert str(ext4.published.delta1_percent) == "50.00"
    assert not ext4.published.differs


def test_the_page_says_what_was_printed(two_units: None, client: Client) -> None:
    page = client.get("/compare/?papers=yes").content.decode()
    assert '; printed: 102.4 KB/s">' in page
    assert "KB/s as printed, of 1,000 or 1,024" in page
    assert 'href="/api/v1/deltas?papers=yes&amp;units=binary"' in page
    chosen = client.get("/compare/?units=decimal").content.decode()
    assert '<option value="decimal" selected>' in chosen
    assert "decimal units" in chosen
    refused = client.get("/compare/?units=imperial")
    assert refused.status_code == 400
    assert "printed, binary or decimal" in refused.content.decode()


def test_a_file_has_columns_for_it_where_anything_was_converted(
    two_units: None, client: Client
) -> None:
    text = client.get("/compare/deltas.csv").content.decode()
    rows = {row["contender"]: row for row in stdlib_csv.DictReader(io.StringIO(text, newline=""))}
    assert (rows["ext4"]["score"], rows["ext4"]["unit"]) == ("0.1", "MiB/s")
    assert (rows["ext4"]["printed_score"], rows["ext4"]["printed_unit"]) == ("102.4", "KB/s")
    assert (rows["xfs"]["printed_score"], rows["xfs"]["printed_unit"]) == ("", "")
    plain = client.get("/compare/deltas.csv?units=printed").content.decode()
    assert "printed_unit" not in plain
    book = client.get("/compare/deltas.xlsx").content
    for sheet in tables_of(book):
        words = [word for row in sheet.rows for word in row.words]
        if sheet.name == "All rows" or "ext4" in words:
            assert {"102.4", "KB/s", "0.1"} <= {*words}, sheet.name
    markdown = client.get("/compare/deltas.md").content.decode()
    assert "102.4" in markdown
    assert "may mean 1,000 or 1,024 bytes" in markdown


def test_the_api_answers_as_printed_unless_it_is_asked(two_units: None, client: Client) -> None:
    before = client.get("/api/v1/deltas").json()
    assert sorted(table["unit"] for table in before["tables"]) == ["KB/s", "MiB/s"]
    assert "printed_unit" not in before["tables"][0]["rows"][0]
    converted, alone = client.get("/api/v1/deltas?units=binary").json()["tables"]
    assert (converted["unit"], converted["rows"][0]["score"]) == ("MiB/s", 0.1)
    assert converted["rows"][0]["printed_score"] == 102.4
    assert converted["rows"][0]["printed_unit"] == "KB/s"
    assert alone["is_unexplained"] is True
    header = client.get("/api/v1/deltas.csv").content.decode().splitlines()[0]
    assert header.endswith(",flags")
    plain, decimal = (
        client.get(f"/api/v1/comparison{tail}").json() for tail in ("", "?units=decimal")
    )
    assert (plain["query"], decimal["query"]) == ("", "units=decimal")
    assert {table["unit"] for table in plain["tables"]} == {"KB/s", "MiB/s"}
    assert {table["unit"] for table in decimal["tables"]} == {"KB/s", "MB/s"}
    assert client.get("/api/v1/deltas?units=imperial").status_code == 422
    exported = client.get("/api/v1/exports/deltas.json").json()
    assert {table["unit"] for table in exported["tables"]} == {"KB/s", "MiB/s"}
