"""Shares of the LUN in tables, files and API: kept with the score, in the table's own unit."""

from typing import Any

import pytest
from django.test import Client

from fsbench_web.compare.exports import document
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables import csv
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.core.comparison.headlines import caveats_of
from fsbench_web.core.comparison.rows import DeltaTable
from fsbench_web.core.scoring.shares import Share
from tests.compare.conftest import make_run, make_score

pytestmark = pytest.mark.django_db

EXT4 = Share(83.2, 120.2, "random read of 4 KiB, queue depth 8", 5, 2.5)
XFS = Share(340.0, 29.4, "sequential read, at its best depth", 1, 20.0, is_between=True)


def scores(**more: Any) -> None:
    for label, value, share in (("ext4", 100, EXT4), ("xfs", 100, XFS), ("ext2", 90, None)):
        score = make_score(label, value, **more)
        score.share = share and share.as_dict()
        score.save()


def table() -> DeltaTable:
    [delta_table] = delta_tables(ComparisonSpec())
    return delta_table


def test_a_row_has_the_share_of_its_score_and_comes_back_from_a_permalink() -> None:
    scores()
    shares = {row.contender: row.share for row in table().rows}
    assert shares == {"ext4": EXT4, "xfs": XFS, "ext2": None}
    assert DeltaTable.from_dict(table().as_dict()) == table()


def test_in_words_with_what_it_rests_on() -> None:
    assert EXT4.short == "83% of the LUN"
    assert EXT4.sentence() == (
        "83% of the LUN's own random read of 4 KiB, queue depth 8 (the mean of 5 rounds; ± 2.5%)."
    )
    assert XFS.sentence() == (
        "Unreliable, because the score is above it: the LUN's own sequential read, at its best "
        "depth (in its round; ± 20.0%; taken from the nearest that was measured). More than the "
        "LUN alone does: a cache answered, not the disk."
    )
    assert "; ± < 0.1%)" in Share(90.0, 1, "x", 1, 0.03).sentence()
    assert Share(0.0512, 1, "x", 1).percent_words == "0.051%"
    assert not Share(103.0, 1, "x", 1, 0.0).is_not_of_the_disk
    assert Share(103.1, 1, "x", 1, 0.0).is_not_of_the_disk


def test_what_the_probe_is_not_sure_of_is_not_said() -> None:
    open_one = Share(150.0, 1, "x", 1, 60.0)
    assert not open_one.is_not_of_the_disk
    assert "not sure enough to tell" in open_one.sentence()
    assert Share(165.0, 1, "x", 1, 60.0).is_not_of_the_disk
    single = Share(400.0, 1, "x", 1, None)
    assert not single.is_not_of_the_disk
    assert "how much it scatters is not known" in single.sentence()


def test_pages_files_and_api_have_them(client: Client) -> None:
    scores()
    page = client.get("/compare/?papers=yes").content.decode()
    assert "<summary>83% of the LUN</summary>" in page
    assert "<summary>not of the disk</summary>" in page
    assert "Of the LUN, %" not in page
    by_column = client.get("/compare/?column=score&column=share").content.decode()
    assert "Of the LUN, %" in by_column
    assert "83<details" in by_column
    assert "cache answered" in page
    rows = client.get("/api/v1/comparison").json()["tables"][0]["rows"]
    assert {row["contender"]: row["share"] for row in rows}["ext4"] == {
        **{name: value for name, value in EXT4.as_dict().items() if name != "differ_percent"},
        "is_unreliable": False,
    }
    [head, *lines] = csv.write([table()]).splitlines()
    assert head.endswith("flags,share_percent,ceiling,ceiling_of")
    assert {line.split(",")[2]: line.split(",", 12)[12] for line in lines} == {
        "ext4": '83.2,120.2,"random read of 4 KiB, queue depth 8"',
        "xfs": ',29.4,"sequential read, at its best depth"',
        "ext2": ",,",
    }
    columns = {column.heading: column for column in document.columns(table())}
    best = next(row for row in table().rows if row.contender == "ext4")
    assert columns["Of the LUN, %"].text(best) == "83"
    assert columns["The LUN itself"].value_of(best) == 120.2
    assert any("without a file system" in remark for remark in document.remarks(table()))


def test_tables_without_any_are_as_they_were() -> None:
    make_score("ext4", 100)
    assert csv.write([table()]).splitlines()[0].endswith(",flags")
    assert "Of the LUN, %" not in [column.heading for column in document.columns(table())]


def test_what_is_converted_has_its_ceiling_in_the_unit_that_is_shown() -> None:
    scores(unit="KiB/s")
    [delta_table] = delta_tables(ComparisonSpec(units="decimal"))
    row = next(row for row in delta_table.rows if row.contender == "ext4")
    assert row.share is not None
    assert row.share.percent == 83.2
    assert row.score / row.share.ceiling == pytest.approx(100 / 120.2)


def test_how_far_to_trust_says_the_median_share_and_what_is_not_of_the_disk() -> None:
    scores()
    caveats = caveats_of([table()])
    assert (caveats.ceiling, caveats.probed, caveats.above_ceiling) == (83.2, 1, 1)
    assert caveats.unreliable == 1


@pytest.mark.parametrize(
    ("percent", "differ", "is_unreliable"),
    [(105.0, 10.0, False), (105.1, 0.0, True), (60.0, 10.1, True), (60.0, None, False)],
)
def test_a_share_above_its_ceiling_or_of_probes_that_differ_is_unreliable(
    client: Client, percent: float, differ: float | None, is_unreliable: bool
) -> None:
    share = Share(percent, 120.2, "random read of 4 KiB", 5, 2.5, False, differ)
    score = make_score("ext4", 100)
    make_run(score.series)
    score.refresh_from_db()
    score.share = share.as_dict()
    score.save()
    said = f"{percent:.0f}% of the LUN"
    assert share.is_unreliable is is_unreliable
    assert (said in share.sentence()) is (said == share.short) is not is_unreliable
    for page in ("/compare/?study=lab", "/studies/lab/", "/studies/lab/report/"):
        html = client.get(page).content.decode()
        assert (said in html or f"{percent:.1f}% of the LUN" in html) <= (not is_unreliable), page
    assert (
        'data-unreliable="1"' in client.get("/compare/?study=lab").content.decode()
    ) is is_unreliable
    shown = None if is_unreliable else percent
    [answer] = client.get("/api/v1/comparison?study=lab").json()["tables"][0]["rows"]
    assert (answer["share"]["percent"], answer["share"]["is_unreliable"]) == (shown, is_unreliable)
    [file] = client.get("/compare/deltas.json?study=lab").json()["tables"][0]["rows"]
    assert file["share"]["percent"] == shown
    assert csv.write([table()]).splitlines()[1].split(",")[12] == (str(shown) if shown else "")
    [column] = [one for one in document.columns(table()) if one.heading == "Of the LUN, %"]
    [row] = table().rows
    assert column.value_of(row) == shown
    assert column.text(row) == ("unreliable" if is_unreliable else f"{percent:.0f}")
