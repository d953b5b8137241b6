"""Words that somebody says to mean that nothing was measured, in small tables and large ones."""

import io

import pytest

from fsbench_web.core.formats import UnreadableFile, parse
from fsbench_web.core.formats.tables import long
from fsbench_web.core.formats.tables.mapping import Mapping, NeedsMapping
from fsbench_web.core.formats.tables.spreadsheet import parse_mapped

TEXT = "test,value,unit\nboot,1.5,s\nboot2,timeout,s\nboot3,-1,s\nboot4,timeout,s\nboot5,2,s\n"
COLUMNS = {"test": 0, "value": 1, "unit": 2}


def mapping(*words: str, **more: object) -> Mapping:
    return Mapping(columns=COLUMNS, not_measured=list(words), **more)  # type: ignore[arg-type]


def test_such_cells_are_noted_and_the_others_are_read() -> None:
    result = parse_mapped(TEXT.encode(), mapping("timeout", "-1"))
    assert [(value.test, value.value, value.line) for value in result.values] == [
        ("boot", 1.5, 2),
        ("boot5", 2.0, 6),
    ]
    assert [(warning.line, warning.column, warning.is_note) for warning in result.warnings] == [
        (3, 2, True),
        (4, 2, True),
        (5, 2, True),
    ]
    assert result.warnings[0].message == '"timeout" was said to mean that nothing was measured.'


def test_a_large_table_counts_them() -> None:
    data = TEXT.encode()
    table = long.read(io.BytesIO(data), len(data), mapping("timeout", "-1"))
    [run] = table.runs.values()
    assert [(test.test, value, line) for test, _, _, value, line in run.rows()] == [
        ("boot", 1.5, 2),
        ("boot5", 2.0, 6),
    ]
    assert table.not_measured == {"timeout": (2, 3), "-1": (1, 4)}


def test_what_nobody_said_stays_refused() -> None:
    for words in ((), ("failed",), ("Timeout",)):
        with pytest.raises(UnreadableFile) as error:
            parse_mapped(TEXT.encode(), mapping(*words))
        assert [problem.line for problem in error.value.problems] == [3, 4, 5]
        with pytest.raises(UnreadableFile) as of_large:
            long.read(io.BytesIO(TEXT.encode()), len(TEXT), mapping(*words))
        assert [problem.message for problem in of_large.value.problems] == [
            problem.message for problem in error.value.problems
        ]


def test_a_table_in_which_words_alone_are_wrong_asks() -> None:
    def asks(text: str) -> tuple[bool, bool]:
        answers = []
        for read in (
            lambda: parse("x", text.encode()),
            lambda: long.read(io.BytesIO(text.encode()), len(text)),
        ):
            with pytest.raises(UnreadableFile) as error:
                read()
            answers.append(isinstance(error.value, NeedsMapping))
        return answers[0], answers[1]

    assert asks(TEXT) == (True, True)
    assert asks(f"{TEXT}boot6,3,\n") == (False, False), "a unit is missing besides"
    assert asks(f"{TEXT}boot6,1e999,s\n") == (False, False), "a number that is none"
    assert asks("test,value,unit\nboot,timeout,s\n") == (False, False), "nothing was measured"


def test_columns_of_tests_and_matrices_have_them_too() -> None:
    of_tests = Mapping(
        shape="tests", tests={1: ("boot", "s"), 2: ("make", "s")}, not_measured=["failed"]
    )
    result = parse_mapped(b"host,boot,make\na,1,failed\n", of_tests)
    assert [(value.test, value.value) for value in result.values] == [("boot", 1.0)]
    matrix = Mapping(
        shape="matrix", constants={"test": "write", "unit": "KB/s"}, not_measured=["x"]
    )
    result = parse_mapped(b"size,4,8\n64,1,x\n128,3,4\n", matrix)
    assert [value.value for value in result.values] == [1.0, 3.0, 4.0]


@pytest.mark.parametrize("word", ["0", "1.5", "+3", "1e3", ".5"])
def test_no_number_that_may_be_measured_is_taken_for_it(word: str) -> None:
    with pytest.raises(UnreadableFile, match="is a number, and cannot mean"):
        parse_mapped(TEXT.encode(), mapping("timeout", word))


def test_the_sign_of_decimals_is_not_asked_of_such_words() -> None:
    data = b"test;value;unit\na;1,5;s\nb;1.2.3;s\n"
    column_mapping = mapping("1.2.3", delimiter=";")
    assert [value.value for value in parse_mapped(data, column_mapping).values] == [1.5]
    table = long.read(io.BytesIO(data), len(data), column_mapping)
    assert len(table) == 1


def test_a_kept_mapping_of_before_has_none() -> None:
    stored = mapping("timeout").to_json()
    assert Mapping.from_json(stored) == mapping("timeout")
    del stored["not_measured"]
    assert Mapping.from_json(stored).not_measured == []
