"""Files that end in the midst of a result: no number that was printed otherwise, and it is said."""

from collections.abc import Callable

import pytest

from fsbench_web.core.formats import UnreadableFile, parse
from fsbench_web.core.formats.result import ParsedResult

CELL = tuple[str, str, int | None, int | None, str, float]


def cells(result: ParsedResult) -> set[CELL]:
    return {
        (value.test, value.load, value.record_size_kb, value.file_size_kb, value.unit, value.value)
        for value in result.values
    }


@pytest.mark.parametrize(
    "name",
    [
        *("fs_mark-3.3-loops", "io500-isc24", "io500-sc19", "io500-sc20", "ior-2.10"),
        *("bonnie-2.00a-report", "bonnie-2.00a-two-processes", "postmark-1.51"),
        *("sysbench-1.0.20-cpu", "sysbench-1.0.20", "sysbench-0.5", "sysbench-1.1"),
    ],
)
def test_what_is_left_of_a_file_is_no_other_number(
    sample: Callable[[str], bytes], name: str
) -> None:
    whole = sample(name)
    expected = cells(parse("x", whole))
    for length in range(len(whole.rstrip()) - 150, len(whole.rstrip())):
        try:
            result = parse("x", whole[:length])
        except UnreadableFile:
            continue
        assert cells(result) <= expected, length
        if name.startswith(("sysbench", "postmark")) and len(cells(result)) < len(expected):
            assert any(not warning.is_note for warning in result.warnings), length


@pytest.mark.parametrize(
    "name", ["sysbench-1.0.20-cpu", "sysbench-1.0.20-memory", "sysbench-1.0.20"]
)
def test_results_of_sysbench_without_the_rest_of_its_report(
    sample: Callable[[str], bytes], name: str
) -> None:
    whole = sample(name)
    result = parse("x", whole[: whole.index(b"avg:")])
    assert any(
        "ends before sysbench's report does" in warning.message for warning in result.warnings
    )
    assert not any("ends before" in warning.message for warning in parse("x", whole).warnings)


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf\r\n"])
def test_a_mark_of_the_encoding_alone_is_an_empty_file(mark: bytes) -> None:
    with pytest.raises(UnreadableFile, match="The file is empty"):
        parse("x.csv", mark)
