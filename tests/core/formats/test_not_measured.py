"""Words that somebody says to mean that nothing was measured."""

import pytest

from fsbench_web.core.formats import UnreadableFile, parse
from fsbench_web.core.formats.tables.mapping import Mapping, NeedsMapping
from fsbench_web.core.formats.tables.spreadsheet import parse_mapped

TEXT = "test,value,unit\nboot,1.5,s\nboot2,timeout,s\nboot3,-1,s\nboot4,timeout,s\nboot5,2,s\n"
COLUMNS = {"test": 0, "value": 1, "unit": 2}


def mapping(*words: str, **more: object) -> Mapping:
    return Mapping(columns=COLUMNS, not_measured=list(words), **more)  # type: ignore[arg-type]


def test_such_cells_are_noted_and_the_others_are_read() -> None:
    result = parse_mapped(TEXT.encode(), mapping("timeout", "-1"))
    assert [(value.test, value.value, value.line) for value in result.numbers.values()] == [
        ("boot", 1.5, 2),
        ("boot5", 2.0, 6),
    ]
    assert [(note.line, note.column, note.is_note, note.count) for note in result.warnings] == [
        (3, 2, True, 2),
        (4, 2, True, 1),
    ]
    assert result.warnings[0].message == '"timeout" was said to mean that nothing was measured.'


def test_what_nobody_said_stays_refused() -> None:
    for words in ((), ("failed",), ("Timeout",)):
        with pytest.raises(UnreadableFile) as error:
            parse_mapped(TEXT.encode(), mapping(*words))
        assert [problem.line for problem in error.value.problems] == [3, 4, 5]


def test_a_table_in_which_words_alone_are_wrong_asks() -> None:
    def asks(text: str) -> bool:
        with pytest.raises(UnreadableFile) as error:
            parse("x", text.encode())
        return isinstance(error.value, NeedsMapping)

    assert asks(TEXT)
    assert not asks(f"{TEXT}boot6,3,\n"), "a unit is missing besides"
    assert not asks(f"{TEXT}boot6,1e999,s\n"), "a number that is none"
    assert not asks("test,value,unit\nboot,timeout,s\n"), "nothing was measured"


def test_columns_of_tests_and_matrices_have_them_too() -> None:
    of_tests = Mapping(
        shape="tests", tests={1: ("boot", "s"), 2: ("make", "s")}, not_measured=["failed"]
    )
    result = parse_mapped(b"host,boot,make\na,1,failed\n", of_tests)
    assert [(value.test, value.value) for value in result.numbers.values()] == [("boot", 1.0)]
    matrix = Mapping(
        shape="matrix", constants={"test": "write", "unit": "KB/s"}, not_measured=["x"]
    )
    result = parse_mapped(b"size,4,8\n64,1,x\n128,3,4\n", matrix)
    assert [value.value for value in result.numbers.values()] == [1.0, 3.0, 4.0]


@pytest.mark.parametrize("word", ["0", "1.5", "+3", "1e3", ".5"])
def test_no_number_that_may_be_measured_is_taken_for_it(word: str) -> None:
    with pytest.raises(UnreadableFile, match="is a number, and cannot mean"):
        parse_mapped(TEXT.encode(), mapping("timeout", word))


def test_the_sign_of_decimals_is_not_asked_of_such_words() -> None:
    data = b"test;value;unit\na;1,5;s\nb;1.2.3;s\n"
    column_mapping = mapping("1.2.3", delimiter=";")
    assert [value.value for value in parse_mapped(data, column_mapping).numbers.values()] == [1.5]


def test_a_kept_mapping_of_before_has_none() -> None:
    stored = mapping("timeout").to_json()
    assert Mapping.from_json(stored) == mapping("timeout")
    del stored["not_measured"]
    assert Mapping.from_json(stored).not_measured == []
