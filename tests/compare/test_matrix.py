"""The matrix: tests by entries, marked where a difference is proven."""

from random import Random

from fsbench_web.core.comparison.answer import MOST_ROWS, Matrix, answer_from, matrix_of
from fsbench_web.core.comparison.rows import DeltaTable
from tests.compare.tables.test_answer import FASTER, STEADY, measured, table


def of(*tables: DeltaTable, baseline: str = "") -> Matrix:
    made = matrix_of(tables, answer_from(tables, baseline))
    assert made is not None
    return made


def test_cells_are_relative_to_the_baseline_and_marked_where_proven() -> None:
    matrix = of(measured(ext4=STEADY, xfs=FASTER, btrfs=STEADY[::-1]), baseline="ext4")
    assert (matrix.entries, matrix.baseline) == (("ext4", "xfs", "btrfs"), "ext4")
    [(workload, (row,))] = matrix.groups
    assert workload == "IOzone"
    base, xfs, btrfs = row.cells
    assert (base.is_baseline, base.change, base.shade) == (True, "", "")
    assert (xfs.change, xfs.shade, xfs.is_significant) == ("+50%", "u2", True)
    assert (btrfs.change, btrfs.shade, btrfs.is_significant) == ("≈ +0.0%", "", False)


def test_times_are_turned_round() -> None:
    [(_, (row,))] = of(measured("copy", "s", ext4=STEADY, xfs=FASTER), baseline="ext4").groups
    assert (row.cells[1].change, row.cells[1].shade) == ("−33%", "d2")


def test_what_an_entry_lacks_is_no_cell() -> None:
    matrix = of(table("a", x=1.0, y=2.0), table("b", x=1.0))
    [(_, rows)] = matrix.groups
    assert [cell is None for cell in rows[1].cells] == [False, True]


def test_few_of_many_cells_without_a_difference_are_marked() -> None:
    """At a false discovery rate of 5% a family without any difference shows one in 20 at most."""
    draw = Random(7)
    shown = 0
    for _ in range(60):
        tables = [
            measured(
                f"t{place}",
                ext4=[100 * (1 + draw.gauss(0, 0.05)) for _ in range(5)],
                xfs=[100 * (1 + draw.gauss(0, 0.05)) for _ in range(5)],
            )
            for place in range(8)
        ]
        matrix = of(*tables)
        shown += any(
            cell is not None and cell.is_significant
            for _, rows in matrix.groups
            for row in rows
            for cell in row.cells
        )
    assert shown <= 8  # 3 are expected


def test_it_is_bounded() -> None:
    many = [table(f"t{place}", a=1.0, b=2.0) for place in range(MOST_ROWS + 5)]
    matrix = of(*many)
    assert sum(len(rows) for _, rows in matrix.groups) == MOST_ROWS
    assert matrix.hidden_rows == 5
    wide = of(table("t", **{f"e{place}": place + 1.0 for place in range(20)}))
    assert (len(wide.entries), wide.hidden_entries) == (12, 8)
    assert matrix_of([], answer_from([])) is None
