"""The lines that fsbench's own programs print, and broken ones."""

import pytest

from fsbench_web.core.formats import UnreadableFile, parse

GOOD = '{"fsbench": "copy_real", "value": "1.250000", "unit": "s", "load": {"files": 40, "a": 1}}'


def test_numbers_are_read_between_other_lines() -> None:
    bare = '{"fsbench": "copy_cpu", "value": 0.5, "unit": "s"}'
    result = parse("x", f"cc -c a.c\n{GOOD}\nwarning\n{bare}\n".encode())
    assert result.format == "fsbench-lines"
    first, second = result.values
    assert (first.test, first.value, first.unit, first.line) == ("copy_real", 1.25, "s", 2)
    assert first.load == "a=1,files=40"
    assert (second.test, second.value, second.load, second.line) == ("copy_cpu", 0.5, "", 4)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (GOOD[:30], "cut off"),
        ('{"fsbench": "x", "load": ' + "[" * 9_000, "cut off"),
        ('{"fsbench": "x", "unit": "s"}', "no value"),
        ('{"fsbench": "x", "value": [1], "unit": "s"}', "no value"),
        ('{"fsbench": "x", "value": "1"}', "no unit"),
        ('{"fsbench": "x", "value": "1", "unit": "s", "load": {"A b": 1}}', "load"),
        ('{"fsbench": "x", "value": "1", "unit": "s", "load": {"a": 1.5}}', "load"),
        ('{"fsbench": "x", "value": "1", "unit": "s", "load": [3]}', "load"),
    ],
)
def test_a_line_that_says_too_little_makes_the_file_unreadable(line: str, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words) as refused:
        parse("x", f"{GOOD}\n{line}\n".encode())
    assert [problem.line for problem in refused.value.problems] == [2]


def test_what_is_no_number_stays_missing() -> None:
    result = parse("x", f'{GOOD}\n{{"fsbench": "y", "value": "nan", "unit": "s"}}\n'.encode())
    assert [value.test for value in result.values] == ["copy_real"]
    assert "stays missing" in str(result.warnings[0])
