"""Whatever bytes come: an answer or UnreadableFile, and no number that is not in the file."""

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.formats import ParsedResult, UnreadableFile, parse

SAMPLES = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("samples/*.txt"))]
TABLE = (
    b"test;record_size_kb;file_size_kb;value;unit;repeat\n"
    b"write;4;64;1234,5;KB/s;1\nread;8;128;99;KB/s;1\nwrite;4;64;;KB/s;2\n"
)


def check(data: bytes) -> None:
    try:
        result = parse("anything", data)
    except UnreadableFile as error:
        refused = error
    else:
        check_numbers(result, data)
        return
    assert refused.problems
    assert all(problem.message for problem in refused.problems)


def check_numbers(result: ParsedResult, data: bytes) -> None:
    assert result.values
    lines = re.split(r"\r\n|\r|\n", data.decode("utf-8-sig"))
    for value in result.values:
        assert value.value >= 0
        words = re.findall(r"[0-9]+(?:[.,][0-9]*)?(?:[eE][+-]?[0-9]+)?", lines[value.line - 1])
        assert value.value in [float(word.replace(",", ".")) for word in words]
        assert value.unit
        assert "\x00" not in value.test


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    check(data)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="testvalueun,;\t\n 0123456789.-eE\"'#KB/srecl", max_size=300))
def test_text_that_is_nearly_a_table(text: str) -> None:
    check(("test,value,unit\n" + text).encode())


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([*SAMPLES, TABLE]),
    st.lists(
        st.tuples(
            st.integers(0, 20_000),
            st.integers(0, 40),
            st.one_of(
                st.binary(max_size=12),
                st.sampled_from([b"\n", b" ", b"9" * 30, b'"64"', b"kB reclen write", b"-1"]),
            ),
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_a_file_with_pieces_cut_out_and_put_in(
    data: bytes, edits: list[tuple[int, int, bytes]]
) -> None:
    for place, length, piece in edits:
        start = place % (len(data) + 1)
        data = data[:start] + piece + data[start + length :]
    check(data)
