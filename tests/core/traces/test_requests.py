"""Block events as histogram and map.

``block-events.txt``: two parts of what Linux 6.18 wrote to a tracefs instance (clock mono, filtered
to a loop device of 512 MiB with direct I/O) during mkfs.ext4 and then fio 3.33 (randrw, 4 KiB,
depth 8, two jobs, fsync=64). Of the whole, 68,854 lines, each of 34,168 requests had its end.
"""

from pathlib import Path

import pytest

from fsbench_web.core.measurement_columns import UnreadableBlock
from fsbench_web.core.traces import requests
from fsbench_web.core.traces.requests import bin_of, operation_of, traced
from fsbench_web.core.traces.tracers import bin_edge

LINES = (Path(__file__).parent / "samples/block-events.txt").read_text().splitlines()
SIZE = 512 * 2**20


def event(action: str, at: str, rwbs: str, sector: int, count: int) -> str:
    size = "4096 " if action == "issue" else ""
    return f" fio-1 [000] ..... {at}: block_rq_{action}: 7,7 {rwbs} {size}() {sector} + {count} [0]"


def test_what_a_kernel_wrote_is_counted_to_the_last_request() -> None:
    trace = traced(LINES, SIZE)
    assert trace is not None
    assert trace.requests == {"read": 68, "write": 62, "flush": 10, "discard": 2, "other": 4}
    assert (trace.without_end, trace.without_start) == (13, 8)  # the two cuts of the sample
    # 67 MB written by mkfs as zeroes are "other"; the discards are of the whole device.
    assert trace.bytes_of["discard"] == SIZE + 4096
    # A flush has no place; every other request that was issued has one on the map.
    lines = [line for line in LINES if "rq_issue" in line]
    mapped = sum(sum(cells.values()) for cells in trace.maps.values())
    assert mapped == len(lines) - sum(" FF " in line or " NS " in line for line in lines)
    assert sum(count for *_, count in trace.map_rows()) == mapped
    assert sum(count for *_, count in trace.latency_rows()) == sum(trace.requests.values())
    assert trace.outside == trace.lost == 0


def test_latencies_go_by_powers_of_two_microseconds() -> None:
    assert [bin_of(us) for us in (0, 1, 2, 3, 4, 1023, 1024)] == [0, 0, 1, 1, 2, 9, 10]
    assert [bin_edge(place) for place in (0, 1, 2, 10)] == [0, 2, 4, 1024]
    lines = [event("issue", "5.000001", "R", 8, 8), event("complete", "5.001025", "R", 8, 8)]
    trace = traced(lines, 8192)
    assert trace is not None
    assert list(trace.latency_rows()) == [("read", 1024, 2048, 1)]
    assert bin_of(10**30) == requests.MOST_BINS - 1


def test_a_request_that_comes_back_in_parts_ends_with_the_last() -> None:
    lines = [
        event("issue", "5.000000", "W", 0, 16),
        event("complete", "5.000010", "W", 0, 8),
        event("complete", "5.000100", "W", 8, 8),
    ]
    assert requests.read_events(lines).ended == [("write", 100)]


def test_a_flush_before_a_write_is_no_flush() -> None:
    operations = {"R": "read", "RA": "read", "WS": "write", "FWS": "write", "WFS": "write"}
    operations |= {"FF": "flush", "F": "flush", "FN": "other", "DS": "discard", "NS": "other"}
    assert {rwbs: operation_of(rwbs) for rwbs in operations} == operations


def test_a_partition_is_counted_from_its_own_start() -> None:
    lines = [event("issue", "5.000000", "W", sector, 8) for sector in (2048, 2056, 0, 4096)]
    trace = traced(lines, 2048 * 512, first_sector=2048)
    assert trace is not None
    assert trace.outside == 2
    assert {where for _, where in trace.maps["write"]} == {0, 1}


def test_what_is_missing_is_said_and_nothing_is_invented() -> None:
    lines = [
        "CPU:1 [LOST 1234 EVENTS]",
        "no event at all",
        event("issue", "5.000000", "R", 8, 8),
        event("complete", "5.000001", "R", 800, 8),
        "  x: block_rq_issue: 7,7 R () 0 + 8 [x]",
    ]
    trace = traced(lines, SIZE, is_cut=True)
    assert trace is not None
    assert (trace.lost, trace.without_end, trace.without_start) == (1234, 1, 1)
    assert trace.is_cut
    assert not trace.latencies
    assert requests.read_events(lines).not_read == 2
    assert traced(["no event"], SIZE) is None


def test_a_block_is_read_as_it_was_written_or_not_at_all() -> None:
    trace = traced(LINES, SIZE)
    assert trace is not None
    block = requests.encode(trace)
    assert requests.decode(block) == trace
    assert len(block) < 4000
    for wrong in (block[:-1], b"", b"x" + block[1:], requests.pack({}, [], requests.MAGIC)):
        with pytest.raises(UnreadableBlock):
            requests.decode(wrong)
