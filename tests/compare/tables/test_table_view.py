"""Which rows, columns and digits of delta tables are shown, by the address alone."""

from dataclasses import replace

import pytest
from django.http import QueryDict
from django.template import Context

from fsbench_web.compare.selection.table_view import TableView, without_view
from fsbench_web.compare.views.table_cells import hidden_places
from fsbench_web.core.comparison.rows import DeltaRow, DeltaTable
from fsbench_web.core.stats.intervals import Interval
from fsbench_web.core.stats.verdicts import Verdict
from tests.compare.written import html_of


def row(name: str, score: float, delta1: float, status: str = "significant") -> DeltaRow:
    return DeltaRow(
        contender=name,
        configuration=f"{name}_noatime",
        score=score,
        best=not delta1,
        delta1_percent=delta1,
        delta2_percent=-delta1,
        runs=5,
        published=None,
        flags=(),
        filesystem=name,
        study="s",
        study_title="Study",
        hardware="array",
        workload="w",
        kernel="6.1",
        distribution=None,
        origin="computed",
        run_ids=(1,),
        interval=Interval(score, score / 100, 5),
        verdict=Verdict(status, method="paired", equivalence_percent=2.0),
    )


TABLE = DeltaTable(
    test="write",
    category="mean",
    unit="KB/s",
    lower_is_better=False,
    unit_base=1024,
    rows=(
        row("ext3", 314572.8, 86.6),
        row("jfs", 2000000.0, 14.7, "tie"),
        row("ext4", 2300000.0, 1.9),
        row("xfs", 2344121.83, 0.0),
    ),
)


def view(query: str) -> TableView:
    return TableView.from_query(QueryDict(query))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "ext3 jfs ext4 xfs"),
        ("important=1", "ext3 xfs"),  # 1.9% is below what is worth a decision
        ("important=1&least=1", "ext3 ext4 xfs"),
        ("least=10", "ext3 jfs xfs"),
        ("verdict=inconclusive", "jfs xfs"),
        ("verdict=equivalent", ""),  # nothing is left to be compared with the best
        ("verdict=inconclusive&verdict=different", "ext3 jfs ext4 xfs"),
    ],
)
def test_rows_are_hidden_by_verdict_and_size(query: str, expected: str) -> None:
    unseen = hidden_places(TABLE, view(query))
    contenders = [row.contender for place, row in enumerate(TABLE.rows) if place not in unseen]
    assert " ".join(contenders) == expected


def test_with_a_baseline_rows_are_judged_against_it() -> None:
    base = TABLE.rows[1]._replace(is_baseline=True, change_percent=0.0)
    others = [
        row._replace(change_percent=change, change_verdict=row.verdict._replace(status=status))
        for row, change, status in (
            (TABLE.rows[0], -84.0, "significant"),
            (TABLE.rows[3], 17.0, "tie"),
        )
    ]
    table = replace(TABLE, rows=(others[0], base, others[1]))
    assert hidden_places(table, view("important=1")) == {2}


def test_the_address_comes_back_and_what_it_cannot_be_is_told() -> None:
    query = "important=1&least=2.5&verdict=equivalent&column=score&pin=score&numbers=exact"
    assert view(query).to_query() == query
    assert view("").to_query() == ""
    for wrong in ("verdict=<b>", "column=x", "least=nan", "least=-1", "important=2", "deltas=3"):
        table_view = view(wrong)
        assert len(table_view.problems) == 1, wrong
        assert table_view == TableView(), wrong
    assert without_view(QueryDict(query + "&by=kernel&sort=score")).urlencode() == (
        "by=kernel&sort=score"
    )


def html(query: str, table: DeltaTable = TABLE) -> str:
    return html_of(Context({"table_view": view(query)}), table)


def test_numbers_are_readable_and_the_exact_ones_are_on_demand() -> None:
    text = html("")
    assert "GiB/s" in text
    assert '<span title="2344121.83 KB/s">2.236</span>' in text
    assert ">2344121.83<" in html("numbers=exact")
    assert "KB/s" in html("numbers=exact")


def test_what_a_paper_printed_keeps_its_digits_and_its_unit() -> None:
    text = html("", replace(TABLE, rows=(*TABLE.rows, TABLE.rows[0]._replace(origin="published"))))
    assert "2,344,121.83" in text
    assert "GiB/s" not in text


def test_one_column_against_the_best_unless_the_pair_is_asked_for() -> None:
    assert "Delta 1" not in html("")
    assert '<span title="-86.6%">−86.6</span>' in html("")
    assert "Delta 2, %" in html("deltas=pair")
    assert ">-86.6<" in html("deltas=pair&numbers=exact")


def test_columns_are_chosen_and_pinned_ones_stand_first() -> None:
    text = html("column=kernel&column=score&pin=kernel")
    assert text.index("Kernel") < text.index("Score")
    assert 'class="pin"' in text
    assert "Against the best" not in text
    assert "Hardware" not in text


def test_a_hidden_row_is_still_there_for_paper() -> None:
    text = html("important=1")
    assert text.count(" hidden>") == 2
    assert all(row.contender in text for row in TABLE.rows)
    assert html("verdict=equivalent").startswith('<div class="table-wrap is-tall" hidden>')
