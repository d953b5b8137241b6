"""A number of a tool's output that is none is told, whatever reads the file."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fsbench_web.core.formats import ParsedResult, ParsedValue, UnreadableFile, parse

SAMPLES = sorted(
    path
    for path in (Path(__file__).parent / "samples").glob("*.*")
    if path.stat().st_size < 60_000  # others are of the same tools
)
_NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?")
_VALUES, _PLACES = 2, 20


def key(value: ParsedValue) -> tuple[object, ...]:
    sizes = value.record_size_kb, value.file_size_kb
    return value.line, value.test, value.load, value.repeat, *sizes


def numbers(name: str, text: str, result: ParsedResult) -> Iterator[tuple[ParsedValue, int, int]]:
    """Some values with where they stand in the text: other digits there are another value."""
    starts = [0, *(end.end() for end in re.finditer("\n", text))]
    seen: set[str] = set()
    changed_by: dict[int, dict[tuple[object, ...], float]] = {}  # many values stand in one line
    keys = {*map(key, result.values)}
    for value in result.values:
        if len(seen) == _VALUES:
            return
        line = text[starts[value.line - 1] :].split("\n", 1)[0]
        for word in list(_NUMBER.finditer(line))[:_PLACES] if value.test not in seen else ():
            start, end = (starts[value.line - 1] + at for at in word.span())
            if start not in changed_by:
                changed_by[start] = after_a_change(name, text, start, end)
            after = changed_by[start]
            if {*after} == keys and after[key(value)] != value.value:
                seen.add(value.test)
                yield value, start, end
                break


def after_a_change(name: str, text: str, start: int, end: int) -> dict[tuple[object, ...], float]:
    """What is read with other digits there; nothing where that is refused."""
    other = re.sub("[0-9]", lambda digit: str((int(digit[0]) + 1) % 9 + 1), text[start:end])
    with suppress(UnreadableFile):
        changed = parse(name, (text[:start] + other + text[end:]).encode())
        return {key(value): value.value for value in changed.values}
    return {}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_number_that_is_none_is_not_dropped_in_silence(path: Path) -> None:
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        text = text.replace("\r", "\n")
        result = parse(path.name, text.encode())
    except (UnicodeDecodeError, UnreadableFile):
        return
    for value, start, end in numbers(path.name, text, result):
        for odd in ("nan", f"-{text[start:end]}"):
            with suppress(UnreadableFile):
                read = parse(path.name, (text[:start] + odd + text[end:]).encode())
                warnings = [warning for warning in read.warnings if not warning.is_note]
                assert any(value.line == warning.line for warning in warnings), (
                    value,
                    odd,
                    warnings,
                )


def test_tags_around_a_line_are_told() -> None:
    """As of a report that was copied out of a forum."""
    path = Path(__file__).parent / "samples" / "postmark-1.51.txt"
    text = path.read_text()
    whole = parse("x", text.encode())
    line = next(line for line in text.splitlines() if re.search("bytes read", line))
    tagged = parse("x", text.replace(line, f"[B]{line}[/B]").encode())
    assert len(tagged.values) == len(whole.values) - 1
    expected = 'line 20: postmark_data_read: not read because of "[B], [/B]" in the line.'
    assert [re.sub("line [0-9]+", "line 20", str(warning)) for warning in tagged.warnings] == [
        expected
    ]
    assert not any(warning.is_note for warning in tagged.warnings)


@pytest.mark.parametrize(
    "line",
    ["nice=-10", "at /data/nan/inf", "Info: infinite nano-2", "2026-11-22 -0500", "[OK] <x>"],
)
def test_what_no_number_was_is_no_loss(line: str) -> None:
    path = Path(__file__).parent / "samples" / "postmark-1.51.txt"
    assert parse("x", f"{line}\n{path.read_text()}".encode()).warnings == []


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ("fio-3.33-json", "fio-2.2.10-normal", "fio-normal"),
        ("fio-3.33-json", "fio-1.57-terse-2", "fio-terse"),
        ("fio-3.33-json", "iozone-3.489-all-tests", "iozone"),
        ("fio-3.33-normal", "elbencho-3.1", "fio-normal"),
        ("ior-4.0", "iozone-3.489-all-tests", "ior"),
        ("bonnie-1.96", "fio-3.33-json", "bonnie-csv"),
    ],
)
def test_output_of_another_run_behind_it_is_told(first: str, second: str, says: str) -> None:
    folder = Path(__file__).parent / "samples"
    both = b"\n".join((folder / f"{name}.txt").read_bytes() for name in (first, second))
    messages = [warning.message for warning in parse("x", both).warnings if not warning.is_note]
    assert any(f"looks like output of {says} too" in message for message in messages), messages


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_output_of_one_run_is_no_other_tools(path: Path) -> None:
    """Also where fio prints the same run in several formats."""
    with suppress(UnreadableFile):
        messages = [warning.message for warning in parse(path.name, path.read_bytes()).warnings]
        assert not [message for message in messages if "looks like output" in message]
