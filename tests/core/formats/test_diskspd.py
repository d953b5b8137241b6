"""DiskSpd's and CrystalDiskMark's texts, of public collections and of DiskSpd for Linux."""

import re
from collections.abc import Callable

import pytest

from fsbench_web.core.formats import ParsedResult, UnreadableFile, parse

Sample = Callable[[str], bytes]


def numbers(result: ParsedResult, repeat: int | None = None) -> dict[str, tuple[float, str]]:
    return {v.test: (v.value, v.unit) for v in result.values if v.repeat == repeat}


def test_diskspd_of_windows(sample: Sample) -> None:
    result = parse("x", sample("diskspd-2"))
    assert (result.format, result.tool) == ("diskspd", "diskspd")
    values = numbers(result)
    assert values["diskspd_total_throughput"] == (4.64, "MiB/s")
    assert values["diskspd_read_iops"] == (834.98, "ops/s")
    assert values["diskspd_write_latency_avg"] == (2.179, "ms")
    assert {v.load for v in result.values} == {"iodepth=1,threads=1"}
    assert result.facts == [("Run at", "2021/04/16 19:03:38 UTC")]
    assert {"duration: 30s", "block size: 4096"} <= set(result.modes)
    newer = parse("x", sample("diskspd-2.2.0"))
    assert numbers(newer)["diskspd_write_iops"] == (508.09, "ops/s")
    assert numbers(newer)["diskspd_write_latency_max"] == (164.312, "ms")
    assert not any("read" in test for test in numbers(newer))
    assert {v.load for v in newer.values} == {"iodepth=16,threads=4"}
    assert newer.command.endswith("-D -L -Rtext C:\\diskspd-test.dat")


@pytest.mark.parametrize("name", ["diskspd-2", "diskspd-2.2.0", "diskspd-linux"])
def test_mebibytes_are_what_bytes_and_ios_say(sample: Sample, name: str) -> None:
    """What it calls MB or MiB follows from its bytes: as many a second as I/Os of a block."""
    data = sample(name)
    values = numbers(parse("x", data))
    total = re.search(rb"total:\s+([0-9]+) \|\s+([0-9]+) ", data)
    assert total is not None
    size = int(total[1]) / int(total[2])
    expected = values["diskspd_total_iops"][0] * size / 2**20
    assert values["diskspd_total_throughput"][0] == pytest.approx(expected, rel=0.004)


def test_diskspd_for_linux_with_percentiles(sample: Sample) -> None:
    values = numbers(parse("x", sample("diskspd-linux")))
    assert values["diskspd_total_throughput"] == (204.15, "MiB/s")
    assert values["diskspd_read_latency_p99.9"] == (37.541, "ms")
    assert values["diskspd_write_latency_p50"] == (0.013, "ms")


def test_diskspd_several_times_and_cut_off(sample: Sample) -> None:
    data = sample("diskspd-2")
    assert {v.repeat for v in parse("x", data + b"\n" + data).values} == {1, 2}
    with pytest.raises(UnreadableFile, match="A run with other settings than that in line 1"):
        parse("x", data + b"\n" + data.replace(b"block size: 4096", b"block size: 8192"))
    with pytest.raises(UnreadableFile, match="Time span 2 starts here"):
        parse("x", data.replace(b"timespan:   1", b"timespan:   2"))
    with pytest.raises(UnreadableFile, match="no total: the run did not end"):
        parse("x", data[: data.index(b"total:")])


def test_crystaldiskmark(sample: Sample) -> None:
    result = parse("x", sample("crystaldiskmark-8.0.1"))
    assert (result.format, result.tool_version) == ("crystaldiskmark", "8.0.1")
    values = {(v.test, v.load): (v.value, v.unit) for v in result.values}
    assert values["crystaldiskmark_seq_1mib_read_throughput", "iodepth=8,threads=1"] == (
        *(550.022, "MB/s"),
    )
    assert values["crystaldiskmark_rnd_4kib_write_iops", "iodepth=1,threads=1"] == (
        *(25908.4, "ops/s"),
    )
    assert values["crystaldiskmark_rnd_4kib_read_latency", "iodepth=32,threads=1"] == (490.44, "µs")
    assert len(values) == 24
    # Its IOPS are its MB/s in blocks.
    for side in ("read", "write"):
        rate = values[f"crystaldiskmark_rnd_4kib_{side}_throughput", "iodepth=1,threads=1"][0]
        iops = values[f"crystaldiskmark_rnd_4kib_{side}_iops", "iodepth=1,threads=1"][0]
        assert iops * 4096 / 1e6 == pytest.approx(rate, rel=0.001)
    assert "Test 512 MiB (x2)" in result.modes
    assert result.facts == [("Run at", "2021/06/23 0:05:57")]
    utf_16 = parse("x", sample("crystaldiskmark-8.0.1").decode().encode("utf-16"))
    assert len(utf_16.values) == 24


def test_crystaldiskmark_of_old_and_cut_off(sample: Sample) -> None:
    data = sample("crystaldiskmark-8.0.1")
    result = parse("x", data[: data.index(b"[Write]")])
    assert not result.complete
    assert len(result.values) == 12
    old = b"CrystalDiskMark 3.0.1 x64\n[Read]\n  Sequential Read :   482.1 MB/s\n"
    with pytest.raises(UnreadableFile, match="older ones are not read"):
        parse("x", old)
