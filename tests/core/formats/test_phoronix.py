"""The Phoronix Test Suite: result files, CSV exports, and XML that wants to do harm."""

import time
from collections.abc import Callable

import pytest

from fsbench_web.core.formats import UnreadableFile, parse

Sample = Callable[[str], bytes]
RESULT = """<PhoronixTestSuite><Result><Identifier>pts/x-1.0.0</Identifier>
<Scale>{scale}</Scale><Proportion>{proportion}</Proportion>
<Data><Entry><Identifier>a</Identifier><Value>{value}</Value></Entry></Data></Result>
</PhoronixTestSuite>"""


def result_file(value: str = "5", scale: str = "MB/s", proportion: str = "HIB") -> bytes:
    return RESULT.format(value=value, scale=scale, proportion=proportion).encode()


def test_a_result_file(sample: Sample) -> None:
    result = parse("x", sample("phoronix-composite"))
    assert (result.format, result.tool, result.tool_version) == (
        *("phoronix-xml", "phoronix"),
        "10.8.4",
    )
    rows = [(v.test, v.value, v.unit, v.line, v.configuration, v.filesystem) for v in result.values]
    assert rows[:3] == [
        ("fs-mark_test_1000_files_1mb_size", 412.6, "Files/s", 34, "ext4", "ext4"),
        ("fs-mark_test_1000_files_1mb_size", 503.9, "Files/s", 39, "linux_6_1_default", "xfs"),
        ("sqlite_timed_sqlite_insertions", 31.772, "s", 53, "ext4", "ext4"),
    ]
    assert rows[3][1:3] == (251000, "IOPS")
    assert rows[3][0].startswith("fio_iops_type_random_read")
    assert len(rows) == 4
    assert result.values[0].samples == (410.2, 413.1, 414.5)
    warnings = " ".join(map(str, result.warnings))
    assert '"1,2,3" is not a single number' in warnings
    assert 'glmark2 is measured in "Score"' in warnings


def test_a_test_in_two_units_is_two_tests(sample: Sample) -> None:
    values = parse("x", sample("phoronix-fio-two-units")).values
    assert [(v.value, v.unit, v.repeat) for v in values] == [
        (357, "MB/s", None),
        (91400, "IOPS", None),
    ]
    assert values[0].test.startswith("fio_type_random_read_-_engine_linux_aio")
    assert values[1].test.startswith("fio_iops_type_random_read_-_engine_linux_aio")


def test_transactions_a_second_are_a_rate(sample: Sample) -> None:
    result = parse("x", sample("phoronix-pgbench"))
    assert [(v.value, v.unit) for v in result.values] == [(70329, "TPS"), (0.711, "ms")]
    assert not result.warnings


def test_a_single_system_is_no_configuration(sample: Sample) -> None:
    result = parse("x", result_file())
    assert [(v.value, v.configuration) for v in result.values] == [(5, "")]
    assert ("System", "a") in result.facts


@pytest.mark.parametrize(
    ("scale", "proportion", "unit"),
    [
        ("MB/s", "HIB", "MB/s"),
        ("Transactions Per Second", "HIB", "Transactions/s"),
        ("Microseconds", "LIB", "µs"),
        ("Seconds", "", "s"),
    ],
)
def test_units(scale: str, proportion: str, unit: str) -> None:
    assert parse("x", result_file(scale=scale, proportion=proportion)).values[0].unit == unit


@pytest.mark.parametrize(
    ("scale", "proportion"), [("Seconds", "HIB"), ("MB/s", "LIB"), ("Points", "HIB"), ("", "")]
)
def test_units_that_nobody_can_rank_are_left_out(scale: str, proportion: str) -> None:
    with pytest.raises(UnreadableFile, match="no result that is a rate or a time"):
        parse("x", result_file(scale=scale, proportion=proportion))


@pytest.mark.parametrize("value", ["NaN", "inf", "-3", "1e999", "12 apples", "0", "<b>1</b>"])
def test_values_that_are_none_stay_missing(value: str) -> None:
    with pytest.raises(UnreadableFile):
        parse("x", result_file(value=value))


LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;">]>
<PhoronixTestSuite><Result><Title>&d;</Title></Result></PhoronixTestSuite>"""
EXTERNAL = """<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]>
<PhoronixTestSuite><Generated><Title>&e;</Title></Generated></PhoronixTestSuite>"""
ELSEWHERE = """<!DOCTYPE r SYSTEM "http://192.0.2.1/r.dtd">
<PhoronixTestSuite></PhoronixTestSuite>"""


@pytest.mark.parametrize("text", [LAUGHS, EXTERNAL, ELSEWHERE])
def test_document_types_and_entities_are_refused(text: str) -> None:
    before = time.process_time()
    with pytest.raises(UnreadableFile, match="declares a document type or an entity") as error:
        parse("x", text.encode())
    assert time.process_time() - before < 1
    assert error.value.problems[0].line is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<PhoronixTestSuite><Result>", "line 1, column 28: The XML cannot be read: no element"),
        ("<PhoronixTestSuite>&unknown;</PhoronixTestSuite>", "undefined entity"),
        ("<PhoronixTestSuite></Result>", "mismatched tag"),
        ("<PhoronixTestSuite>" + "<a>" * 40_000, "more than 32 levels"),
        ("<PhoronixTestSuite></PhoronixTestSuite>", "no result that is a rate or a time"),
    ],
)
def test_xml_that_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        parse("x", text.encode())


def test_xml_on_one_long_line() -> None:
    padding = "<Comment>" + "x" * 3_000_000 + "</Comment>"
    data = result_file().replace(b"<Result>", f"{padding}<Result>".encode()).replace(b"\n", b"")
    assert [value.value for value in parse("x", data).values] == [5]


def test_a_csv_export(sample: Sample) -> None:
    result = parse("x", sample("phoronix-csv"))
    assert result.format == "phoronix-csv"
    assert [(v.test, v.value, v.unit, v.configuration, v.filesystem) for v in result.values] == [
        ("fs-mark_test_1000_files_1mb_size", 412.6, "Files/s", "ext4", "ext4"),
        ("fs-mark_test_1000_files_1mb_size", 503.9, "Files/s", "linux_6_1_default", "xfs"),
        ("sqlite_timed_sqlite_insertions", 31.772, "s", "ext4", "ext4"),
    ]
    assert {value.line for value in result.values} == {11, 12}


def test_the_csv_and_the_xml_are_the_same_measurements(sample: Sample) -> None:
    def rows(name: str) -> set[tuple[str, float, str, str]]:
        values = parse("x", sample(name)).values
        return {(v.test, v.value, v.unit, v.configuration) for v in values}

    assert rows("phoronix-csv") < rows("phoronix-composite")


def test_a_csv_export_without_units_is_refused(sample: Sample) -> None:
    with pytest.raises(UnreadableFile, match=r"import composite\.xml instead"):
        parse("x", sample("phoronix-csv-old"))


def test_a_csv_row_with_a_value_too_many_is_named(sample: Sample) -> None:
    data = sample("phoronix-csv").replace(b"412.6,", b"412.6,7,")
    with pytest.raises(UnreadableFile, match="line 11: Found 3 values, expected 2"):
        parse("x", data)
