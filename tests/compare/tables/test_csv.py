import csv as stdlib_csv
import io

import pytest

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables import csv
from fsbench_web.compare.tables.delta_tables import delta_tables
from tests.compare.conftest import make_score, printed

pytestmark = pytest.mark.django_db


def lines() -> list[dict[str, str]]:
    text = csv.write(delta_tables(ComparisonSpec()))
    return list(stdlib_csv.DictReader(io.StringIO(text, newline="")))


def test_the_header_is_the_contracts():
    assert csv.write([]) == (
        "test,category,contender,configuration,score,unit,best,delta1_percent,delta2_percent,"
        "published_delta1_percent,published_delta2_percent,flags\r\n"
    )


def test_numbers_are_unrounded_and_prints_keep_their_digits():
    make_score("xfs", 0.1 + 0.2, published=printed(True, "0.00", "0.00"))
    make_score("ext4_wb", 0.1, published=printed(False, "66.70", "-200.00"), flags=["partial"])
    first, second = lines()
    assert first == {
        "test": "write",
        "category": "maximum",
        "contender": "ext4",
        "configuration": "ext4_wb",
        "score": "0.1",
        "unit": "KB/s",
        "best": "false",
        "delta1_percent": "66.66666666666667",
        "delta2_percent": "-200.00000000000003",
        "published_delta1_percent": "66.70",
        "published_delta2_percent": "-200.00",
        "flags": "partial;published_differs",
    }
    assert (second["score"], second["best"]) == ("0.30000000000000004", "true")


def test_what_is_missing_is_an_empty_cell():
    make_score("xfs", 0)
    [row] = lines()
    assert row["configuration"] == row["published_delta1_percent"] == row["flags"] == ""
    assert row["delta1_percent"] == row["delta2_percent"] == ""
    assert row["score"] == "0.0"


@pytest.mark.parametrize(
    "label",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\tx",
        "\rx",
        "\nx",
        "\uff1d1",
        "\uff0b1",
        "\uff0d1",
        "\uff20S",
    ],
)
def test_no_spreadsheet_takes_text_for_a_formula(label):
    make_score(label, filesystem="ext4", test="=cmd()")
    [row] = lines()
    assert row["configuration"] == f"'{label}"
    assert row["test"] == "'=cmd()"


def test_a_negative_number_stays_a_number():
    make_score("ext4", 1)
    make_score("xfs", 2)
    assert lines()[0]["delta2_percent"] == "-100.0"


def test_quotes_and_commas_survive():
    make_score('say "hi", twice', filesystem="ext4")
    assert lines()[0]["configuration"] == 'say "hi", twice'
