"""Whatever bytes come: an answer or UnreadableFile, and no number that is not in the file."""

import json
import re
import struct
import time
from decimal import Decimal
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fsbench_web.core.formats import ParsedResult, UnreadableFile, parse
from fsbench_web.core.formats.result import MIN_VALUE
from fsbench_web.core.formats.tables.file_numbers import ParsedTable, numbers_of
from fsbench_web.core.units import lower_is_better

FILES = sorted(Path(__file__).parent.glob("samples/*.txt"))
SHEETS = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("samples/*.xls"))]
# Long samples are read many times here: their heads say as much.
SAMPLES = [path.read_bytes()[:40_000] for path in FILES]
TABLE = (
    b"test;record_size_kb;file_size_kb;value;unit;repeat\n"
    b"write;4;64;1234,5;KB/s;1\nread;8;128;99;KB/s;1\nwrite;4;64;;KB/s;2\n"
)
# Bytes, kilobytes and so on, and parts of a second: the only conversions that parsers do.
FACTORS = [
    Decimal(factor) for factor in ("1", "1000", "1000000", "1024", "1048576", "0.0009765625")
] + [Decimal(1) / 1048576]
# A comma may be the decimal sign, or separate two numbers.
NUMBERS = [
    re.compile(rf"[0-9]+(?:[{sign}][0-9]*)?(?:[eE][+-]?[0-9]{{1,3}})?") for sign in (".", ".,")
]


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
    values = result.numbers.values() if isinstance(result, ParsedTable) else result.values
    assert values
    lines: list[str] = []
    if result.format != "iozone-biff2":
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        lines = re.split(r"\r\n|\r|\n", text)
    seen = set()
    long_lines: dict[str, frozenset[float]] = {}
    for value in values:
        assert 0 <= value.value < float("inf")
        if lines:
            line = lines[value.line - 1]
            if len(line) < 1000:
                assert value.value in printed_in_short(line)
            else:
                if line not in long_lines:
                    long_lines[line] = printed(line)
                assert value.value in long_lines[line]
        else:
            assert struct.pack("<d", value.value) in data or value.value < 65536
        assert value.unit
        assert len(value.unit) <= 20
        assert 0 < len(value.test) <= 120
        assert len(value.load) <= 60
        assert value.test.isprintable()
        assert "@" not in value.test
        key = (value.test, value.load, value.record_size_kb, value.file_size_kb, value.repeat)
        key = (*key, value.filesystem, value.configuration, value.hardware)  # type: ignore[assignment]
        assert key not in seen
        seen.add(key)


def printed(line: str) -> frozenset[float]:
    """What its numbers may stand for."""
    words = {
        word.replace(",", ".").rstrip(".") for pattern in NUMBERS for word in pattern.findall(line)
    }
    return frozenset(float(Decimal(word) * factor) for word in words for factor in FACTORS)


# They stand in most examples of a sample. A long one is another in each, and takes memory.
printed_in_short = lru_cache(2000)(printed)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    check(data)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="testvalueun,;\t\n 0123456789.-eE\"'#KB/srecl", max_size=300))
def test_text_that_is_nearly_a_table(text: str) -> None:
    check(("test,value,unit\n" + text).encode())


def test_several_problems_are_sentences() -> None:
    with pytest.raises(UnreadableFile) as refused:
        parse("x", b"test,value,unit\nx,a,s\ny,b,s\n")
    assert len(refused.value.problems) == 2
    assert ".;" not in str(refused.value)
    assert ".." not in str(refused.value)


def long_table(rows: list[tuple[str, int, int, float, int]]) -> bytes:
    """A long table as spreadsheets write it."""
    lines = ["test;record_size_kb;file_size_kb;value;unit;repeat"]
    lines += [f"{t};{r};{f};{v!r};KB/s;{n}" for t, r, f, v, n in rows]
    return "\r\n".join(lines).encode()


def cell_of(row: tuple[str, int, int, float, int]) -> tuple[object, ...]:
    return (*row[:3], row[4])


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["write", "random_read", "untar"]),
            st.integers(1, 2**31 - 1),
            st.integers(1, 10**12),
            st.just(0.0) | st.floats(MIN_VALUE, 1e14, allow_nan=False),
            st.integers(1, 9),
        ),
        min_size=1,
        max_size=8,
        unique_by=cell_of,
    )
)
def test_a_table_that_is_written_is_read_again(
    rows: list[tuple[str, int, int, float, int]],
) -> None:
    values = parse("x", long_table(rows)).numbers.values()
    read = [(v.test, v.record_size_kb, v.file_size_kb, v.value, v.repeat) for v in values]
    assert read == rows


EDITS = st.lists(
    st.tuples(
        st.integers(0, 40_000),
        st.integers(0, 40),
        st.one_of(
            st.binary(max_size=12),
            st.sampled_from(
                [b"\n", b" ", b"9" * 30, b'"64"', b"kB reclen write", b"-1", b"1e999", b"nan"]
            ),
            st.sampled_from([b"{", b"}", b'"', b",", b";", b"+++++", b"]]>", b"&a;", b"0", b"1,5"]),
        ),
    ),
    min_size=1,
    max_size=4,
)


def edited(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    for place, length, piece in edits:
        start = place % (len(data) + 1)
        data = data[:start] + piece + data[start + length :]
    return data


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(edits=EDITS)
def test_a_file_with_pieces_cut_out_and_put_in(
    path: Path, edits: list[tuple[int, int, bytes]]
) -> None:
    check(edited(path.read_bytes()[:40_000], edits))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([TABLE, *SHEETS]), EDITS)
def test_a_table_or_a_sheet_with_pieces_cut_out_and_put_in(
    data: bytes, edits: list[tuple[int, int, bytes]]
) -> None:
    check(edited(data, edits))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(SAMPLES), st.integers(0, 40_000))
def test_a_file_that_ends_anywhere(data: bytes, end: int) -> None:
    check(data[: end % (len(data) + 1)])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(SAMPLES), min_size=2, max_size=3))
def test_files_one_after_the_other(parts: list[bytes]) -> None:
    check(b"\n".join(parts))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("jobs", "jobname", "read", "write", "clat_ns", "percentile", "99.0", "mean"),
                    *("bw", "iops", "job options", "client_stats", "hostname", "sync", "lat_ns"),
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(JSON, max_size=3), JSON)
def test_json_of_any_shape(jobs: list[object], other: object) -> None:
    root = {"fio version": "fio-3.1", "jobs": jobs, "global options": other}
    check(json.dumps(root, indent=1).encode())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_units_of_every_sample_can_be_ranked(path: Path) -> None:
    try:
        result = parse(path.name, path.read_bytes())
    except UnreadableFile:
        return
    check_numbers(result, path.read_bytes())
    for unit in numbers_of(result).units():
        lower = {"s", "ms", "µs", "ns", "% CPU", "% of time"}
        assert lower_is_better(unit) == (unit in lower)


LONG = 2_000_000
HOSTILE = {
    "one line of digits": b"9" * LONG,
    "one line of spaces": b" " * LONG,
    "empty lines": b"\n" * LONG,
    "open braces": b'{"fio version": ' * (LONG // 16),
    "open tags": b"<PhoronixTestSuite>" * (LONG // 20),
    "commas": b"1.98," * (LONG // 5),
    "semicolons": b"3;fio-3;a;0;0;1" + b";1%=2" * (LONG // 5),
    "terse lines": (b"3;fio-3;a;0;0" + b";1" * 50 + b"\n") * (LONG // 120),
    "dbench lines": b"Throughput 1.5 MB/sec 4 procs\n" * (LONG // 30),
    "headers": b"Operation  Max(MiB)  Min(MiB)\n" * (LONG // 30),
    "IOR rows": b"Operation  Max(MiB)  Min(MiB)\n" + b"write 1.0 2.0\n" * (LONG // 14),
    "quotes": b'operation,"MiB/s [last]",,,,\n' + b'"' * LONG,
    "throughput": b"Children see throughput for 2 " + b"a " * (LONG // 2) + b"= 3 kB/sec\n",
    "words before a colon": b"SUMMARY rate: (of 1 iterations)\nFile " + b"a " * (LONG // 2),
    "intervals": b"sysbench 1.0\nFile operations:\n" + b"[ 1s ] reads: 1 MiB/s\n" * (LONG // 23),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_long_input_takes_bounded_time(data: bytes) -> None:
    before = time.process_time()
    check(data)
    assert time.process_time() - before < 10
