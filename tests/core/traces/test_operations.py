"""Operations of a file system as bpftrace prints them.

``calls.bpftrace.json``: bpftrace 0.17 on Linux 6.18, system calls on Btrfs on a loop device while
fio 3.33 ran (psync, randrw, 4 KiB, two jobs of 16 MiB, fsync=64), by the script of
``runner.host.tracing.operation_scripts``.

``functions.bpftrace.json``: bpftrace 0.17 on Debian's Linux 6.1 (emulated), kprobes on ext4 on a
loop device; dd wrote 300 blocks of 4 KiB and an fsync, read them in 16 KiB and then, directly, in
64 KiB, and wrote 20 blocks with O_DSYNC. Before and behind it 110 blocks more, outside the trace.
"""

import json
from pathlib import Path

import pytest

from fsbench_web.core.measurement_columns import UnreadableBlock, pack
from fsbench_web.core.traces import operations
from fsbench_web.core.traces.operations import (
    CALLS,
    FUNCTIONS,
    MAGIC,
    UnreadableOutput,
    read,
)
from fsbench_web.core.traces.tracers import bin_edge

SAMPLES = Path(__file__).parent / "samples"
TRACED = (SAMPLES / "functions.bpftrace.json").read_text()
CALLED = (SAMPLES / "calls.bpftrace.json").read_text()
BEGIN = (
    '{"type": "attached_probes", "data": {"probes": 2}}\n{"type": "printf", "data": "begun\\n"}\n'
)
END = '{"type": "printf", "data": "ended\\n"}\n\n'


def output_of(**maps: object) -> str:
    """What it prints of these maps, ``ns`` as a histogram."""
    lines = [
        json.dumps({"type": "hist" if name == "ns" else "map", "data": {f"@{name}": value}})
        for name, value in maps.items()
    ]
    return BEGIN + END + "\n".join(lines)


def test_what_bpftrace_printed_is_counted_to_the_last_operation() -> None:
    trace = read(CALLED, CALLS, 2.4)
    assert trace is not None
    assert trace.ended == {"read": 3990, "write": 12394, "open": 4, "sync": 123}
    assert trace.bytes_of == {"read": 3990 * 4096, "write": 50765824}
    assert trace.total_ns["sync"] == 2189984677
    assert (trace.failed, trace.queued, trace.without_end, trace.lost) == ({}, {}, 0, 0)
    # What is printed is kept: each bin of the text is a row.
    (printed,) = (json.loads(line) for line in CALLED.splitlines() if '"hist"' in line)
    rows = {
        (name, max(bucket["min"], 0), bucket["max"] + 1, bucket["count"])
        for name, bins in printed["data"]["@ns"].items()
        for bucket in bins
        if bucket["count"]
    }
    assert set(trace.latency_rows()) == rows
    for name, total in trace.total_ns.items():
        of_it = [row for row in trace.latency_rows() if row[0] == name]
        assert sum(low * count for _, low, _, count in of_it) <= total
        assert total < sum(high * count for _, _, high, count in of_it)
    assert [row[:2] for row in trace.summary_rows()] == list(trace.ended.items())
    assert next(trace.summary_rows())[2:] == (1073955270, 16343040, 0, 0)


def test_functions_are_counted_whoever_calls_them() -> None:
    trace = read(TRACED, FUNCTIONS, 1)
    assert trace is not None
    # Each write with O_DSYNC is a sync within a write; both are timed.
    assert trace.ended == {"read": 96, "write": 320, "open": 4, "sync": 21}
    assert trace.bytes_of == {"write": 320 * 4096, "read": 2 * 300 * 4096}
    assert trace.without_end == 0
    assert all(trace.total_ns[name] > 0 for name in trace.ended)


def test_bins_are_powers_of_two_nanoseconds() -> None:
    # As bpftrace names them: below 0, 0, 1, and from 2 to 3 and on.
    edges = ((-1, -1), (0, 0), (1, 1), (2, 3), (4, 7), (2**62, 2**63 - 1))
    bins = [{"min": low, "max": high, "count": 1} for low, high in edges]
    trace = read(output_of(begun={"read": 6}, ns={"read": bins}, time={"read": 5}), CALLS, 1)
    assert trace is not None
    low = [("read", 0, 2, 3), ("read", 2, 4, 1), ("read", 4, 8, 1)]
    assert list(trace.latency_rows()) == [*low, ("read", 2**62, 2**63, 1)]
    assert [bin_edge(place) for place in (0, 1, 2, 10)] == [0, 2, 4, 1024]


def test_what_has_no_latency_is_said() -> None:
    text = output_of(
        begun={"write": 10, "sync": 1},
        queued={"write": 6},
        failed={"sync": 1},
        ns={
            "write": [{"min": 8, "max": 15, "count": 3}],
            "sync": [{"min": 2, "max": 3, "count": 1}],
        },
        time={"write": 30, "sync": 2},
        at_write={"1234": 5678},
        is_on=0,
    )
    text += '\n{"type": "lost_events", "data": {"events": 12}}'
    trace = read(text, FUNCTIONS, 1, is_cut=True)
    assert trace is not None
    assert (trace.without_end, trace.lost, trace.is_cut) == (1, 12, True)
    assert list(trace.summary_rows()) == [("write", 3, 30, 0, 0, 6), ("sync", 1, 2, "", 1, 0)]
    only_queued = read(output_of(begun={"read": 2}, queued={"read": 2}), FUNCTIONS, 1)
    assert only_queued is not None
    assert list(only_queued.summary_rows()) == [("read", 0, 0, 0, 0, 2)]
    assert read(output_of(is_on=1, begun={}), CALLS, 1) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BEGIN, "did not come to its end"),
        ("", "did not come to its end"),
        (CALLED[:-400], "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("7", "no JSON"),
        (output_of(begun={"read\x1b": 1}), "was not asked"),
        (output_of(begun={"read": "many"}), "not a whole number"),
        (output_of(begun={"read": True}), "not a whole number"),
        (output_of(ns={"read": [{"min": 1}]}), "not made as it should be"),
        (output_of(ns={"read": 7}), "not made as it should be"),
        (BEGIN + END + '{"type": "map", "data": 7}', "not made as it should be"),
    ],
)
def test_what_is_not_of_the_script_is_refused(text: str, words: str) -> None:
    with pytest.raises(UnreadableOutput, match=words):
        read(text, CALLS, 1)


def test_a_block_is_read_as_it_was_written_or_not_at_all() -> None:
    trace = read(CALLED, CALLS, 2.4)
    assert trace is not None
    block = operations.encode(trace)
    assert operations.decode(block) == trace
    assert len(block) < 2000
    for wrong in (block[:-1], b"", b"x" + block[1:], pack({}, [], MAGIC), pack([], [], MAGIC)):
        with pytest.raises(UnreadableBlock):
            operations.decode(wrong)
