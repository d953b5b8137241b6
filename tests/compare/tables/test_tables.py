"""Delta tables over stored scores."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from fsbench_web.catalog.workers.machines import EMULATED, Machine
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.tables import delta_tables as tables
from fsbench_web.compare.tables.delta_tables import comparison, delta_tables, relaxed_filters
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.studies.models import RunState, Series
from tests.compare.conftest import make_run, make_score, make_series, make_study, printed

pytestmark = pytest.mark.django_db


def names(table: DeltaTable) -> list[str]:
    return [row.contender for row in table.rows]


def test_each_file_system_competes_with_its_best_configuration():
    make_score("ext4_noatime", 90)
    make_score("ext4_wb", 120)
    make_score("xfs", 100)
    [table] = delta_tables(ComparisonSpec())
    assert [(row.contender, row.configuration, row.score, row.best) for row in table.rows] == [
        ("xfs", None, 100.0, False),
        ("ext4", "ext4_wb", 120.0, True),
    ]


def test_a_row_has_every_field_and_no_other():
    make_score("ext4", 90)
    make_score("xfs", 100)
    [table] = delta_tables(ComparisonSpec())
    for row in table.rows:
        assert row.as_dict().keys() == set(DeltaRow._fields)


def test_different_categories_may_be_won_by_different_configurations():
    make_score("ext4_a", 90)
    make_score("ext4_b", 10)
    make_score("ext4_a", 9, category="minimum")
    make_score("ext4_b", 10, category="minimum")
    maximum, minimum = delta_tables(ComparisonSpec())
    assert maximum.rows[0].configuration == "ext4_a"
    assert minimum.rows[0].configuration == "ext4_b"


def test_of_times_the_shortest_is_best():
    make_score("ext4_a", 20, test="mkfs", category="mean", unit="s")
    make_score("ext4_b", 10, test="mkfs", category="mean", unit="s")
    make_score("xfs", 5, test="mkfs", category="mean", unit="s")
    [table] = delta_tables(ComparisonSpec())
    assert table.lower_is_better
    assert [
        (row.contender, row.score, row.delta1_percent, row.delta2_percent) for row in table.rows
    ] == [
        ("ext4", 10.0, 50.0, -100.0),
        ("xfs", 5.0, 0.0, 0.0),
    ]


def test_each_configuration_competes_by_itself():
    make_score("ext4_a", 90)
    make_score("ext4_b", 120)
    [table] = delta_tables(ComparisonSpec(by="configuration"))
    assert names(table) == ["ext4_a", "ext4_b"]


def test_equal_labels_are_told_apart_by_what_differs():
    make_score("ext4", 90, study="first")
    make_score("EXT4", 120, study="second", filesystem="ext4")
    make_score("xfs", 10, study="first", kernel="6.1 Debian")
    make_score("xfs", 11, study="first", kernel="6.12")
    make_score("xfs", 12, study="first")
    [table] = delta_tables(ComparisonSpec(by="configuration"))
    assert names(table) == [
        "xfs@6.1-debian",
        "xfs@6.12",
        "xfs@unknown",
        "ext4@first",
        "ext4@second",
    ]


def test_a_name_is_no_longer_than_it_must_be():
    make_score("xfs", 1, study="first", hardware="old", kernel="5.10")
    make_score("xfs", 2, study="second", hardware="new", kernel="6.1")
    make_score("xfs", 3, study="second", hardware="new", kernel="6.12")
    [table] = delta_tables(ComparisonSpec(by="configuration"))
    assert names(table) == ["xfs@first", "xfs@second@6.1", "xfs@second@6.12"]


def test_no_two_contenders_have_one_name():
    make_score("ext4", 90, study="lab")
    make_score("ext4", 91, study="other")
    make_score("ext4@lab", 92, study="lab", filesystem="ext4")
    [table] = delta_tables(ComparisonSpec(by="configuration"))
    assert len(set(names(table))) == 3


def test_ties_are_all_best_and_stand_by_name():
    for label in ("xfs", "ext4", "jfs"):
        make_score(label, 100)
    make_score("ext2", 50)
    [table] = delta_tables(ComparisonSpec())
    assert [(row.contender, row.best) for row in table.rows] == [
        ("ext2", False),
        ("ext4", True),
        ("jfs", True),
        ("xfs", True),
    ]


def test_units_never_mix_in_one_table():
    make_score("ext4", 100, unit="KB/s")
    make_score("xfs", 1, unit="MB/s")
    tables = delta_tables(ComparisonSpec())
    assert [(table.unit, names(table)) for table in tables] == [
        ("KB/s", ["ext4"]),
        ("MB/s", ["xfs"]),
    ]


def test_tables_stand_in_the_papers_order():
    for test in ("mkfs", "random_read", "write"):
        for category in ("overall", "maximum"):
            make_score("ext4", test=test, category=category)
    assert [(table.test, table.category) for table in delta_tables(ComparisonSpec())] == [
        ("write", "maximum"),
        ("write", "overall"),
        ("random_read", "maximum"),
        ("random_read", "overall"),
        ("mkfs", "maximum"),
        ("mkfs", "overall"),
    ]


def test_filters_leave_only_what_they_name():
    make_score("ext4", study="first", workload="small", hardware="old")
    make_score("xfs", study="second", workload="paper", hardware="new", test="read")
    for query in ("study=second", "test=read", "filesystem=xfs", "workload=paper", "hardware=new"):
        tables = delta_tables(ComparisonSpec.from_query(query))
        assert [names(table) for table in tables] == [["xfs"]], query


@pytest.mark.parametrize(
    "query", ["study=nope", "test=nope", "filesystem=nope", "workload=nope", "hardware=nope"]
)
def test_it_refuses_what_exists_nowhere(query):
    with pytest.raises(SpecError, match='"nope"'):
        delta_tables(ComparisonSpec.from_query(query))


def test_a_study_without_scores_has_no_tables():
    make_study("lab")
    assert delta_tables(ComparisonSpec(studies=("lab",))) == []


def test_an_unknown_unit_is_shown_and_not_ranked():
    make_score("ext4", 1, unit="furlongs")
    make_score("xfs", 2, unit="furlongs")
    [table] = delta_tables(ComparisonSpec())
    for row in table.rows:
        assert (row.best, row.delta1_percent, row.delta2_percent) == (False, None, None)
        assert row.flags == ("not_comparable",)


def test_a_negative_rate_breaks_no_page():
    make_score("ext4", -1)
    make_score("xfs", 2)
    [table] = delta_tables(ComparisonSpec())
    assert all("not_comparable" in row.flags for row in table.rows)


def test_flags_of_a_score_go_along():
    make_score("ext4", flags=["unequal_repeats"], cells=3, cells_expected=4)
    make_score("xfs", cells=4, cells_expected=4)
    [table] = delta_tables(ComparisonSpec())
    assert {row.contender: row.flags for row in table.rows} == {
        "ext4": ("unequal_repeats", "partial"),
        "xfs": (),
    }


def test_rows_of_different_circumstances_say_so():
    make_score("ext4", workload="small", hardware="old", kernel="5.10")
    make_score("xfs", workload="paper", hardware="new", kernel="6.1")
    [table] = delta_tables(ComparisonSpec())
    assert table.rows[0].flags == ("mixed_workloads", "mixed_hardware", "mixed_systems")


def test_runs_on_luns_that_were_prepared_differently_are_told_apart():
    make_score("ext4", 100)
    make_score("ext4", 90, preparation={"precondition": True, "fill_percent": 50})
    [table] = delta_tables(ComparisonSpec(by="configuration"))
    assert [(row.contender, row.preparation) for row in table.rows] == [
        ("ext4@written-once-filled-to-50%", "written once, filled to 50%"),
        ("ext4@not-prepared", None),
    ]
    assert all(row.flags == ("mixed_preparations",) for row in table.rows)


def test_a_plain_series_keeps_the_key_it_always_had():
    plain = make_score("ext4").series
    assert plain == make_score("ext4", preparation={}).series
    assert plain.preparation == {}
    assert plain != make_score("ext4", preparation={"discard": True}).series


def test_a_row_knows_how_sure_its_score_is():
    score = make_score("ext4", 200)
    score.half_width, score.half_width_percent = 5.0, 2.4
    score.save()
    [table] = delta_tables(ComparisonSpec())
    (row,) = table.rows
    assert (row.half_width, row.half_width_percent) == (5.0, 2.4)
    assert DeltaTable.from_dict(table.as_dict()) == table


def test_a_configuration_without_a_label_of_its_own_is_not_known():
    make_score("ext4")
    make_score("xfs_tuned_by_hand")
    [table] = delta_tables(ComparisonSpec())
    assert {row.contender: row.configuration for row in table.rows} == {
        "ext4": None,
        "xfs": "xfs_tuned_by_hand",
    }


def test_runs_are_counted_and_only_finished_ones_named():
    score = make_score("ext4", repeats=2)
    first, second = make_run(score.series), make_run(score.series)
    make_run(score.series, "failed")
    [table] = delta_tables(ComparisonSpec())
    assert (table.rows[0].runs, table.rows[0].run_ids) == (2, (first.pk, second.pk))


def test_all_runs_that_were_considered_are_known():
    best, other = make_score("ext4_a", 100), make_score("ext4_b", 90)
    runs = {make_run(best.series).pk, make_run(other.series).pk}
    make_run(make_series("jfs"))
    assert comparison(ComparisonSpec()).run_ids == runs


def print_a_paper(wrong: str = "-25.00") -> None:
    """Three rows whose printed deltas are right, but for the second delta of ext3."""
    make_score("xfs", 200, study="paper", published=printed(True, "0.00", "0.00"))
    make_score("ext3", 160, study="paper", published=printed(False, "20.00", wrong))
    make_score("ext2", 100, study="paper", published=printed(False, "50.00", "-100.00"))


def test_a_print_that_follows_is_not_marked():
    print_a_paper()
    [table] = delta_tables(ComparisonSpec())
    assert all(row.published.differs == () and row.flags == () for row in table.rows)


def test_a_print_that_does_not_follow_is_marked():
    print_a_paper(wrong="-2.50")
    [table] = delta_tables(ComparisonSpec())
    marked = {row.contender: row.published.differs for row in table.rows}
    assert marked == {"ext2": (), "ext3": ("delta2_percent",), "xfs": ()}
    ext3 = table.rows[1]
    assert ext3.flags == ("published_differs",)
    assert ext3.published.expected2 == -25.0


def test_a_wrong_best_mark_is_marked():
    make_score("xfs", 200, study="paper", published=printed(False, "0.00", "0.00"))
    make_score("ext3", 160, study="paper", published=printed(True, "20.00", "-25.00"))
    [table] = delta_tables(ComparisonSpec())
    assert [row.published.differs for row in table.rows] == [("best",), ("best",)]


def test_prints_are_checked_against_their_own_table_alone():
    print_a_paper()
    make_score("btrfs", 400, study="lab")
    for spec in (
        ComparisonSpec(),
        ComparisonSpec(filesystems=("ext3", "ext2")),
        ComparisonSpec(by="configuration"),
    ):
        [table] = delta_tables(spec)
        assert all(row.published.differs == () for row in table.rows if row.published), spec
    [table] = delta_tables(ComparisonSpec(filesystems=("ext3", "ext2")))
    # Without XFS, ext3 is the best that is shown, and the paper's mark is still the right one.
    assert table.rows[-1].best
    assert table.rows[-1].published.best is False


def test_a_printed_configuration_wins_a_tie_against_one_without_print():
    make_score("jfs_noatime", 100, study="paper", published=printed(True, "0.00", "0.00"))
    make_score("jfs_dl", 100, study="paper")
    [table] = delta_tables(ComparisonSpec())
    assert table.rows[0].published is not None


def test_tables_survive_the_way_through_json():
    print_a_paper(wrong="-2.5")
    make_run(make_score("ext4", 0.1 + 0.2, study="lab", hardware="new").series)
    tables = delta_tables(ComparisonSpec())
    copies = [DeltaTable.from_dict(json.loads(json.dumps(table.as_dict()))) for table in tables]
    assert copies == tables


def test_the_contracts_keys_are_there():
    make_score("ext4")
    [table] = delta_tables(ComparisonSpec())
    data = table.as_dict()
    assert set(data) == {"test", "category", "unit", "lower_is_better", "rows"}
    assert set(data["rows"][0]) >= {
        "contender",
        "configuration",
        "score",
        "best",
        "delta1_percent",
        "delta2_percent",
        "runs",
        "published",
        "flags",
    }


def test_the_number_of_queries_does_not_grow_with_the_scores(django_assert_num_queries):
    for number in range(3):
        make_run(make_score(f"ext{number}", study=f"study-{number}").series)
    with django_assert_num_queries(4):
        delta_tables(ComparisonSpec())
    for number in range(3, 30):
        make_run(make_score(f"ext{number}", study=f"study-{number}", workload="w").series)
    with django_assert_num_queries(4):
        delta_tables(ComparisonSpec())


def test_an_empty_comparison_knows_which_filter_hides_everything():
    make_score("ext4", test="write")
    make_score("xfs", test="read")
    spec = ComparisonSpec(tests=("write",), filesystems=("xfs",))
    assert delta_tables(spec) == []
    assert [(name, relaxed.to_query()) for name, relaxed in relaxed_filters(spec)] == [
        ("filesystems", "test=write"),
        ("tests", "filesystem=xfs"),
    ]


NARROW = {
    "studies": ("lab",),
    "tests": ("write",),
    "categories": ("maximum",),
    "filesystems": ("xfs",),
    "kernels": ("6.6.0",),
    "min_runs": 2,
}


@pytest.mark.parametrize("by", ["filesystem", "kernel", "configuration"])
def test_ways_out_are_asked_for_in_a_few_queries_however_much_there_is(
    by, django_assert_num_queries, monkeypatch
):
    def fill(count):
        for number in range(count):
            for test in ("write", "read"):
                make_score(f"ext4_{number}", test=test, kernel="6.6.0", study="lab", repeats=5)
                make_score(f"xfs_{number}", test=test, kernel="6.1.0", study="lab", repeats=5)

    spec = ComparisonSpec(by=by, **NARROW)
    for count in (1, 8):
        fill(count)
        # One for each of six filters, and what is known of series (or, without a kernel, of
        # configurations), of one study and of all.
        with django_assert_num_queries(9 if by == "filesystem" else 8):
            ways = [name for name, _ in relaxed_filters(spec)]
        assert ways == ["kernels", "filesystems"]
        for _, relaxed in relaxed_filters(spec):
            assert delta_tables(relaxed)
    monkeypatch.setattr(tables, "MOST_WAYS", 1)
    assert [name for name, _ in relaxed_filters(spec)] == ["kernels"]


def test_ways_out_read_no_scores():
    make_score("ext4", kernel="6.1.0")
    with CaptureQueriesContext(connection) as queries:
        assert relaxed_filters(ComparisonSpec(tests=("read",), kernels=("6.1.0",)))
    of_scores = [query["sql"] for query in queries if 'FROM "studies_score"' in query["sql"]]
    assert of_scores
    assert all(sql.startswith('SELECT 1 AS "a"') and "LIMIT 1" in sql for sql in of_scores)


@pytest.mark.parametrize("emulated", ["out", "with", "only", ""])
def test_a_way_out_leads_to_tables_also_where_results_were_emulated(emulated):
    guest = Machine("6.12", EMULATED, 2**30, 1).stored()
    for label, machine in (("ext4", {}), ("xfs", guest), ("jfs", guest)):
        score = make_score(label, test="read" if label == "jfs" else "write")
        Series.objects.filter(pk=score.series_id).update(machine=machine)
    for filters in (
        {"filesystems": ("xfs",), "tests": ("read",)},
        {"filesystems": ("jfs",), "tests": ("write",)},
        {"filesystems": ("ext4",), "tests": ("read",)},
        {"filesystems": ("ext4",)},
        {"filesystems": ("jfs",)},
    ):
        spec = ComparisonSpec(emulated=emulated, **filters)
        names = [name for name in ("emulated", *filters) if getattr(spec, name)]
        leads = {name for name in names if delta_tables(spec.with_default(name))}
        assert {name for name, _ in relaxed_filters(spec)} == leads, spec


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"tests": ("write",)},
        {"filesystems": ("xfs",)},
        {"kernels": ("6.1.0",)},
        {"studies": ("lab",)},
    ],
)
@pytest.mark.parametrize("by", ["filesystem", "kernel", "configuration"])
def test_runs_are_counted_that_were_considered(by, filters):
    make_run(make_score("ext4", 100.0, study="other").series)
    for label, kernel in (("ext4", "6.1.0"), ("ext4_noatime", "6.6.0"), ("xfs", "6.1.0")):
        series = make_score(label, 100.0, kernel=kernel).series
        make_score(label, 90.0, test="read", kernel=kernel)
        for _ in range(2):
            make_run(series)
        make_run(series, RunState.FAILED)
    spec = ComparisonSpec(by=by, **filters)
    counted = comparison(spec)
    assert counted.run_count == len(counted.run_ids) > 0
