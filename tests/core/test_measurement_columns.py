"""Measurements as columns: what is kept is read as it was, and what is not known is refused."""

import hashlib
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsbench_web.core import measurement_columns as columns_of
from fsbench_web.core.comparison.imported import content_of
from fsbench_web.core.measurement_columns import MeasuredTest, UnreadableBlock

NAMES = st.text(max_size=20).filter(lambda text: "\x00" not in text)
SIZES = st.none() | st.integers(0, 2**31 - 1)
ROWS = st.lists(
    st.tuples(
        st.builds(MeasuredTest, NAMES, NAMES, NAMES),
        SIZES,
        st.none() | st.integers(0, 2**63 - 1),
        st.floats(width=64),
        SIZES,
    ),
    min_size=1,
    max_size=40,
)


def bits(row: Any) -> tuple[Any, ...]:
    return (*row[:3], struct.pack("d", row[3]), row[4])


@given(ROWS)
@settings(max_examples=200, deadline=None)
def test_every_number_comes_back_bit_by_bit(rows: list[Any]) -> None:
    columns = columns_of.of_rows(rows)
    back = columns_of.decode(columns_of.encode(columns))
    assert [bits(row) for row in back.rows()] == [bits(row) for row in rows]
    assert back.summary() == columns.summary()


@given(ROWS)
@settings(max_examples=50, deadline=None)
def test_the_digest_is_that_of_the_rows(rows: list[Any]) -> None:
    cells = sorted(
        hashlib.sha256("\x1f".join(test).encode()).digest()[:8]
        + struct.pack(">qqd", -1 if record is None else record, -1 if file is None else file, value)
        for test, record, file, value, _ in rows
    )
    half = len(rows) // 2
    parts = [part for part in (rows[:half], rows[half:]) if part]
    content = content_of([columns_of.of_rows(part) for part in parts])
    assert content.digest == hashlib.sha256(b"".join(cells)).hexdigest()
    places = {}
    for place, (test, record, file, _, _) in enumerate(rows):
        places.setdefault((*test, record, file), []).append(place)
    assert (content.twice is None) == (len(places) == len(rows))
    assert content.twice is None or list(content.twice) in [some[:2] for some in places.values()]


def test_the_summary_counts_numbers_and_cells() -> None:
    write, mount = MeasuredTest("write", "threads=2", "KB/s"), MeasuredTest("mount", "", "s")
    columns = columns_of.of_rows(
        [(mount, None, None, 0.5, 9), (write, 4, 64, 1.0, 1), (write, 4, None, 2.0, 2)]
    )
    assert columns.summary() == [["mount", "", "s", 1, 0], ["write", "threads=2", "KB/s", 2, 1]]
    of_write = columns.subset(columns.of_tests({("write", "threads=2")}.__contains__))
    assert [row[3] for row in of_write.rows()] == [1.0, 2.0]
    assert of_write.pruned().summary() == [["write", "threads=2", "KB/s", 2, 1]]


def test_flags_and_samples_come_back() -> None:
    kinds = [None, ["clock"], ["spike", "of-another-version"], []]
    codes = np.array([0, 1, 2, 3, 0], dtype=np.int64)
    decoded, places = columns_of.decode_flags(columns_of.encode_flags(kinds, codes), 5)
    assert [decoded[place] for place in places.tolist()] == [kinds[code] for code in codes.tolist()]
    assert columns_of.encode_flags([None, ["clock"]], np.zeros(3, dtype=np.int64)) is None
    samples = {3: [1, 2.5, None, 1e-300], 0: []}
    assert columns_of.decode_samples(columns_of.encode_samples(samples)) == samples
    assert columns_of.encode_samples({}) is None
    assert columns_of.decode_samples(None) == {}


def a_block() -> bytes:
    return columns_of.encode(
        columns_of.of_rows([(MeasuredTest("write", "", "KB/s"), 4, 64, 1.0, 1)] * 9)
    )


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda block: b"", "ends after 0 bytes"),
        (lambda block: block[:5], "ends after 5 bytes"),
        (lambda block: b"PAR1" + block[4:], "begins with b'fsbm', not b'PAR1'"),
        (lambda block: block[:4] + b"\x02" + block[5:], "of version 2; this version"),
        (lambda block: block[:-1], "do not have their checksum"),
        (lambda block: block[:20] + bytes([block[20] ^ 1]) + block[21:], "their checksum"),
    ],
)
def test_what_is_not_exactly_a_block_is_refused(damage: Any, message: str) -> None:
    with pytest.raises(UnreadableBlock, match=message):
        columns_of.decode(damage(a_block()))


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_no_changed_byte_is_read_as_numbers(data: st.DataObject) -> None:
    block = bytearray(a_block())
    place = data.draw(st.integers(0, len(block) - 1))
    block[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(UnreadableBlock):
        columns_of.decode(bytes(block))


def with_checksum(body: bytes) -> bytes:
    packed = zlib.compress(body)
    return struct.pack("<4sBI", b"fsbm", 1, zlib.crc32(packed)) + packed


def directory(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xff\xff\xff",
        directory("no JSON"),
        directory("[[], 7]"),
        directory('[[], [["|O", 1]]]') + b"12345678",
        directory('[[], [["<f8", 2]]]') + b"12345678",
        directory('[[], [["<f8", -1]]]') + b"12345678",
        directory('[[], [["<f8", 1]]]') + b"12345678 and more",
        directory('[[], [["<f8", 1]]]') + b"12345678",
        directory('[[], [["|u1", 1], ["|u1", 1], ["|u1", 1], ["<f8", 1], ["|u1", 1]]]') + bytes(12),
        directory('[[["a", "", ""]], [["|u1", 1], ["|u1", 1], ["|u1", 1], ["<f8", 1], ["|u1", 2]]]')
        + bytes(13),
    ],
)
def test_a_whole_block_of_other_content_is_refused(body: bytes) -> None:
    with pytest.raises(UnreadableBlock):
        columns_of.decode(with_checksum(body))


def test_flags_of_other_numbers_are_refused() -> None:
    flags = columns_of.encode_flags([["clock"]], np.zeros(3, dtype=np.int64))
    with pytest.raises(UnreadableBlock):
        columns_of.decode_flags(flags, 4)
