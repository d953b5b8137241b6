"""Work profiles and ranges of sizes rank like a category, and say first what was not measured."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.models import Workload
from fsbench_web.compare.profiles import records
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.tables.delta_tables import comparison
from fsbench_web.core.formats import ParsedValue
from fsbench_web.core.scoring.profiles.definition import from_dict
from fsbench_web.core.workloads import presets
from fsbench_web.studies.models import MeasurementBlock, Run, Series
from fsbench_web.studies.scores import profile_values
from fsbench_web.studies.series import series_for
from tests.compare.conftest import make_score, make_study
from tests.core.workloads.test_postmark import report as postmark_report
from tests.studies.scores.test_cells import finished

pytestmark = pytest.mark.django_db

GB = 1024 * 1024
SIZES = [(block, file) for file in (GB, 2 * GB, 4 * GB) for block in (8, 16)]
RANGE = "operation=random_write&block=8k-16k&file=1g-4g"


def at(test: str, block: int, file: int, number: float) -> ParsedValue:
    return ParsedValue(test, block, file, number, "KB/s", 1)


def make(filesystem: str, workload: str = "iozone", tool: str = "iozone", **parameters) -> Series:
    row, _ = Workload.objects.get_or_create(
        slug=workload, defaults={"title": workload, "tool": tool, "parameters": parameters}
    )
    return series_for(make_study("lab"), configuration_for(filesystem, {}), workload=row)


def database(filesystem: str, read: float, write: float, *, repeats: int = 1, **more) -> Series:
    """A series with every cell of the profile of a database."""
    series = make(filesystem, **more)
    for repeat in range(repeats):
        finished(
            series,
            *[at("random_read", *cell, read + repeat) for cell in SIZES],
            *[at("random_write", *cell, write + repeat) for cell in SIZES],
        )
    return series


def comparison_of(query: str):
    return comparison(ComparisonSpec.from_query(query))


def without_z(filesystem: str, write: float) -> None:
    """A matrix that leaves out records below 64 KB for files above 32 MB, as iozone -a does."""
    finished(
        make(filesystem),
        at("random_write", 8, 1024, 9e5),
        at("random_write", 64, 1024, 9e6),
        at("random_write", 64, 4 * GB, write),
        at("random_write", 128, 4 * GB, 1e6),
        at("random_read", 64, 4 * GB, 5.0),
    )


def test_the_question_of_the_database_is_answered_by_what_was_not_measured():
    """8 to 16 KB random writes in files of 1 to 4 GB: Ora-ta would say ext2."""
    for filesystem, write in (("xfs", 2.24e6), ("ext4", 2.15e6), ("ext2", 0.52e6), ("ext3", 3e5)):
        without_z(filesystem, write)
    work_comparison = comparison_of(RANGE)
    assert work_comparison.tables == []
    [answer] = work_comparison.work
    assert answer.headline == "0 of 6 cells of this range measured"
    [near] = answer.nearest
    assert near.cell == "64 KB in files of 4 GB"
    assert [(nearest.contender, nearest.value) for nearest in near.values] == [
        ("xfs", 2.24e6),
        ("ext4", 2.15e6),
        ("ext2", 0.52e6),
        ("ext3", 3e5),
    ]
    assert {
        (coverage.contender, coverage.measured, coverage.of) for coverage in answer.coverage
    } == {(name, 0, 6) for name in ("ext2", "ext3", "ext4", "xfs")}


def test_of_several_operations_without_anything_one_answer_says_it_all():
    without_z("xfs", 2.24e6)
    [answer] = comparison_of(f"{RANGE}&operation=random_read").work
    assert answer.headline == "0 of 12 cells of this range measured"
    assert [(near.operation, near.cell) for near in answer.nearest] == [
        ("Random write", "64 KB in files of 4 GB"),
        ("Random read", "64 KB in files of 4 GB"),
    ]


def test_a_profile_ranks_in_ratios_to_the_slowest_unless_a_baseline_is_chosen():
    database("ext4", 200, 100)
    database("xfs", 400, 400)
    [table] = comparison_of("profile=oltp").tables
    assert (table.test, table.category, table.unit) == ("work", "profile:oltp@1", "×")
    scores = {row.contender: row.score for row in table.rows}
    assert scores == {"ext4": 1, "xfs": pytest.approx(2**0.65 * 4**0.35)}
    assert table.work.baseline == "ext4"
    assert not table.work.is_baseline_chosen
    [against] = comparison_of("profile=oltp&baseline=xfs").tables
    row = {row.contender: row for row in against.rows}
    assert row["xfs"].score == 1
    assert row["ext4"].score == pytest.approx(1 / scores["xfs"])
    assert row["ext4"].change_percent == pytest.approx(100 * (1 / scores["xfs"] - 1))
    # Another baseline changes no delta.
    deltas = [[row.delta1_percent for row in some.rows] for some in (table, against)]
    assert deltas[0] == pytest.approx(deltas[1])


def test_a_contender_that_lacks_a_cell_has_no_score_and_is_told():
    database("ext4", 200, 100)
    finished(make("xfs"), *[at("random_read", *cell, 400) for cell in SIZES])
    work_comparison = comparison_of("profile=oltp")
    [table] = work_comparison.tables
    assert [row.contender for row in table.rows] == ["ext4"]
    [answer] = work_comparison.work
    assert (answer.measured, answer.of, answer.by_all, answer.scored) == (12, 12, 6, 1)
    first = answer.coverage[0]
    assert (first.contender, first.measured, first.of) == ("xfs", 6, 12)
    assert first.why == "6 of 12 cells were not measured"
    assert first.missing[0] == "random write, 8 KB in 1 GB"
    assert answer.headline == (
        "12 of 12 cells of your work measured, all of them by 1 of 2 entries"
    )


def test_cells_that_all_have_are_not_said_to_be_nobodys():
    """Two had the same half of it: "all of them by 0 of 2 contenders" said that neither had."""
    for filesystem in ("ext4", "xfs"):
        finished(make(filesystem), *[at("random_read", *cell, 400) for cell in SIZES])
    [answer] = comparison_of("profile=oltp").work
    assert answer.headline == "6 of 12 cells of your work measured: no entry has all of them"
    assert replace(answer, of=1, measured=1, contenders=1).headline == (
        "1 of 1 cell of your work measured, all of them by 0 of 1 entry"
    )


def test_parts_may_be_measured_by_two_workloads_of_one_configuration():
    database("ext4", 200, 100)
    finished(make("xfs", "reads"), *[at("random_read", *cell, 400) for cell in SIZES])
    finished(make("xfs", "writes"), *[at("random_write", *cell, 400) for cell in SIZES])
    [table] = comparison_of("profile=oltp").tables
    row = {row.contender: row for row in table.rows}["xfs"]
    assert row.score == pytest.approx(2**0.65 * 4**0.35)
    assert row.workload == "reads; writes"
    assert "mixed_workloads" in row.flags
    assert len(row.run_ids) == 2


def test_a_difference_of_repeats_in_shared_blocks_has_a_paired_verdict():
    for filesystem, speed in (("ext4", 100.0), ("xfs", 120.0)):
        database(filesystem, speed, speed, repeats=4)
    for place, run in enumerate(Run.objects.order_by("pk")):
        Run.objects.filter(pk=run.pk).update(block=f"b{place % 4}")
    [table] = comparison_of("profile=oltp").tables
    best = next(row for row in table.rows if row.best)
    assert best.contender == "xfs"
    assert best.verdict.method == "paired"
    assert best.verdict.status == "significant"
    assert best.verdict.blocks == 4
    assert [block for block, _ in best.repeat_scores] == ["b0", "b1", "b2", "b3"]
    assert best.interval.count == 4


def test_the_best_configuration_of_a_contender_is_the_one_that_is_best_at_this_work():
    database("ext4", 200, 100)
    quick = series_for(
        make_study("lab"),
        configuration_for("ext4", {"journal_mode": "writeback"}),
        workload=Workload.objects.get(slug="iozone"),
    )
    finished(
        quick,
        *[at(test, *cell, 500) for cell in SIZES for test in ("random_read", "random_write")],
    )
    [table] = comparison_of("profile=oltp").tables
    [row] = table.rows
    assert row.series_id == quick.pk
    assert row.configurations == 2
    [single] = comparison_of("profile=oltp&by=configuration").tables
    assert len(single.rows) == 2


def test_sound_takes_flagged_numbers_away_and_what_is_left_is_missing():
    series = database("ext4", 200, 100, repeats=2)
    Run.objects.filter(series=series).update(is_contended=True)
    assert comparison_of("profile=oltp").tables[0].rows[0].flags == ("contended",)
    work_comparison = comparison_of("profile=oltp&cells=sound")
    assert work_comparison.tables == []
    assert work_comparison.work[0].measured == 0


def test_flushed_and_cached_count_only_where_it_is_known():
    for name, flushed in (("plain", False), ("synced", True)):
        series = make(f"{'ext4' if flushed else 'xfs'}", name, include_flush=flushed)
        finished(series, *[at("random_write", *cell, 100) for cell in SIZES])
    assert [row.contender for row in comparison_of(f"{RANGE}&flushed=yes").tables[0].rows] == [
        "ext4"
    ]
    assert [row.contender for row in comparison_of(f"{RANGE}&flushed=no").tables[0].rows] == ["xfs"]
    [answer] = comparison_of(f"{RANGE}&cached=no").work
    assert answer.measured == 0
    Series.objects.filter(workload__slug="plain").update(
        quality={
            "boundaries": {
                "random_write": {
                    "fall": 9,
                    "edges": [[8, GB // 2, GB, True], [16, GB // 2, GB, True]],
                }
            }
        }
    )
    assert [row.contender for row in comparison_of(f"{RANGE}&cached=no").tables[0].rows] == ["xfs"]
    assert comparison_of(f"{RANGE}&cached=yes").tables == []


def test_a_range_of_one_operation_is_in_its_own_unit_and_of_several_a_table_each():
    database("ext4", 200, 100)
    [table] = comparison_of(RANGE).tables
    assert (table.test, table.category, table.unit) == ("random_write", "range", "KB/s")
    assert table.rows[0].score == pytest.approx(100)
    several = comparison_of(f"{RANGE}&operation=random_read").tables
    assert [(table.test, table.unit) for table in several] == [
        ("work", "×"),
        ("random_write", "KB/s"),
        ("random_read", "KB/s"),
    ]


def test_who_prints_other_units_of_what_most_measured_is_ranked():
    """Two of five print KB that nobody explained; the others each another unit of bytes."""
    for filesystem, unit, speed in (
        *(("ext2", "KB/s", 1.0), ("ext3", "KB/s", 2.0)),
        *(("ext4", "KiB/s", 2048.0), ("xfs", "MiB/s", 1.0), ("btrfs", "GiB/s", 1.0)),
    ):
        series = make(filesystem, "table", "")
        finished(series, ParsedValue("random_write", 8, 1024, speed, unit, 1))
    made = comparison_of("operation=random_write&block=8k&file=1m")
    [table] = made.tables
    assert {row.contender: row.score for row in table.rows} == {"ext4": 2, "xfs": 1, "btrfs": 1024}
    assert table.unit == "MiB/s"
    why = {coverage.contender: coverage.why for coverage in made.work[0].coverage if coverage.why}
    reason = "it was measured in KB/s, the others in KiB/s"
    assert why == {"ext2": reason, "ext3": reason}


def test_of_the_nearest_those_stand_together_that_can_be_compared():
    """KB/s that nobody explained are neither more nor less than MiB/s, however many."""
    speeds = (("ext2", "KB/s", 9e8), ("ext4", "KiB/s", 500.0), ("xfs", "MiB/s", 1.0))
    for filesystem, unit, speed in speeds:
        series = make(filesystem, "table", "")
        finished(series, ParsedValue("random_write", 8, 1024, speed, unit, 1))
    [answer] = comparison_of("operation=random_write&block=16k&file=1m").work
    [near] = answer.nearest
    assert [value.contender for value in near.values] == ["xfs", "ext4", "ext2"]


def test_what_a_paper_printed_has_no_cells_and_that_is_said():
    make_score("jfs", 50, test="random_write", category="maximum")
    [answer] = comparison_of(RANGE).work
    assert answer.only_printed == 1
    assert answer.headline == "0 of 6 cells of this range measured"
    assert [(coverage.contender, coverage.measured) for coverage in answer.coverage] == [("jfs", 0)]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("profile=nothing", 'There is no profile "nothing"'),
        ("profile=oltp@7", 'There is no profile "oltp@7"'),
        ("operation=read", "A range needs both sizes"),
        (f"profile=oltp&{RANGE}", "leave one out"),
        ("operation=read&block=8m&file=1m", "larger than its files"),
        ("block=1-16m&file=1-1024g", "400 cells"),
    ],
)
def test_what_cannot_be_ranked_by_is_refused(query, problem):
    with pytest.raises(SpecError, match=problem):
        comparison_of(query)


@pytest.mark.parametrize(
    "query",
    ["profile=OLTP", "profile=a/b", "block=8z&file=1g", "block=16k-8k&file=1g", "cached=1"],
)
def test_the_form_of_an_address_is_checked(query):
    with pytest.raises(SpecError):
        ComparisonSpec.from_query(query)


@pytest.mark.parametrize(
    "query",
    ["profile=oltp%401", "block=8k-16k&file=1g-4g&cached=no&operation=random_write"],
)
def test_an_address_says_a_range_in_one_way(query):
    assert ComparisonSpec.from_query(query).to_query() == query
    loose = ComparisonSpec.from_query("block=8-16&file=1024m-4GB&operation=random_write&cached=no")
    assert (loose.block, loose.file) == ("8k-16k", "1g-4g")


def test_too_many_numbers_are_refused_and_not_waited_for(monkeypatch):
    database("ext4", 200, 100)
    monkeypatch.setattr(profile_values, "MOST_READ", 11)
    with pytest.raises(SpecError, match="Too many numbers"):
        comparison_of("profile=oltp")


def test_what_it_asks_does_not_grow_with_the_contenders(django_assert_max_num_queries):
    for name in ("ext2", "ext3", "ext4", "xfs", "jfs"):
        database(name, 200, 100)
    assert MeasurementBlock.objects.count() == 5
    with django_assert_max_num_queries(14):
        comparison_of("profile=oltp")


def test_a_profile_in_the_place_of_a_category_is_what_is_ranked_by():
    """It was a comparison without tables, and without a word."""
    database("ext4", 200, 100)
    database("xfs", 400, 400)
    [table] = comparison_of("category=profile:oltp").tables
    assert table.category == "profile:oltp@1"
    spec = ComparisonSpec.from_query("category=profile:oltp@1&study=lab")
    assert ComparisonSpec.from_query(spec.to_query()) == spec
    assert (spec.profile, spec.categories) == ("oltp@1", ())
    [table] = comparison_of(f"{RANGE}&category=range").tables
    assert table.category == "range"
    for query in (
        "category=range",
        "category=profile:oltp&category=maximum",
        "category=profile:oltp&profile=mail",
        "category=profile:",
        "category=profile:nope",
    ):
        with pytest.raises(SpecError):
            comparison_of(query)


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("profile=oltp&test=write", "Test of this address chooses nothing: ranked is by a work"),
        ("profile=oltp&test=write&category=overall", "Leave out profile to rank by them."),
        (f"{RANGE}&category=overall", "Category of this address chooses nothing: ranked is by a"),
        ("profile=oltp", ""),
        ("category=profile:oltp", ""),
        ("test=write&category=overall", ""),
    ],
)
def test_filters_that_choose_nothing_beside_a_profile_are_said(query, note, client):
    """On the page, in files and in both answers of the API, whose tables are the same."""
    database("ext4", 200, 100)
    database("xfs", 400, 400)
    answer = client.get(f"/api/v1/deltas?{query}").json()
    assert ("notes" in answer) == bool(note)
    texts = [
        *answer.get("notes", [""]),
        client.get(f"/compare/?{query}").content.decode(),
        client.get(f"/compare/deltas.md?{query}").content.decode(),
        client.get(f"/api/v1/comparison?{query}").json()["description"],
    ]
    assert all(note in text for text in texts)
    assert any("of this address choose" in text for text in texts) == bool(note)
    if note:
        rows = client.get("/api/v1/deltas?" + query.split("&test")[0].split("&category")[0]).json()
        assert answer["tables"] == rows["tables"]


def test_the_profile_in_the_documentation_finds_runs_of_postmark():
    text = (Path(settings.BASE_DIR) / "docs" / "api.md").read_text()
    document = text.partition("A profile as a document")[2].split("```")[1].removeprefix("json")
    owner = User.objects.create_user("ada")
    profile = records.create(from_dict(json.loads(document)), owner).profile
    workload = presets()["postmark-small"].workload()
    reports = {
        f"postmark-{count}.txt": postmark_report(count, 10) for count in workload.transactions
    }
    for filesystem, speed in (("ext4", 200), ("xfs", 400)):
        database(filesystem, speed, speed)
        series = make(filesystem, "postmark", "postmark", **workload.values)
        finished(series, *(v for parsed in workload.parse(reports).values() for v in parsed.values))
    [table] = comparison_of(f"profile={profile.slug}").tables
    assert [(part.measured, part.of) for part in table.work.parts] == [(6, 6), (1, 1)]
    assert table.work.is_complete
