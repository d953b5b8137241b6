"""dd, hdparm, ioping and compilebench: real output, and what can be wrong with it."""

from collections.abc import Callable

import pytest

from fsbench_web.core.formats import ParsedResult, UnreadableFile, parse

Sample = Callable[[str], bytes]


def numbers(result: ParsedResult, repeat: int | None = None) -> dict[str, tuple[float, str]]:
    return {v.test: (v.value, v.unit) for v in result.values if v.repeat == repeat}


def test_dd(sample: Sample) -> None:
    result = parse("x", sample("dd-9.1"))
    assert (result.format, result.tool) == ("dd", "dd")
    assert numbers(result) == {"dd_throughput": (491, "MB/s"), "dd_time": (0.427196, "s")}
    # The rate is what bytes and seconds say, in MB of 1000000.
    assert pytest.approx(491, abs=0.5) == 209715200 / 0.427196 / 1e6


@pytest.mark.parametrize(("text", "rate"), [("1.9 GB/s", 1900), ("84.6 kB/s", 0.0846)])
def test_dd_in_other_units(text: str, rate: float) -> None:
    data = f"1+0 records in\n1+0 records out\n4096 bytes (4.1 kB, 4.0 KiB) copied, 5.5 s, {text}\n"
    assert numbers(parse("x", data.encode()))["dd_throughput"] == (rate, "MB/s")


def test_copies_of_dd_are_repeats_only_if_their_commands_say_so(sample: Sample) -> None:
    with pytest.raises(UnreadableFile, match="Another copy of dd than that of line 3") as refused:
        parse("x", sample("dd-9.1-three"))
    assert [problem.line for problem in refused.value.problems] == [6, 9]
    copy = sample("dd-9.1")
    same = b"$ dd if=/dev/zero of=/mnt/a bs=1M count=200 oflag=dsync\n" + copy
    assert parse("x", same).modes == (
        *("bs=1M", "count=200", "if=/dev/zero", "oflag=dsync"),
        *("209715200 bytes", "200 blocks"),
    )
    assert {value.repeat for value in parse("x", same + same).values} == {1, 2}
    with pytest.raises(UnreadableFile, match="of=/mnt/a of=/mnt/b"):
        parse("x", same + same.replace(b"/mnt/a", b"/mnt/b"))
    with pytest.raises(UnreadableFile, match="line 8: Another copy of dd"):
        parse("x", same + same.replace(b"bs=1M", b"bs=4k"))


def test_dd_that_failed(sample: Sample) -> None:
    data = b"dd: error writing 'x': No space left on device\n" + sample("dd-9.1")
    result = parse("x", data)
    assert not result.complete
    assert "line 1: dd says: dd: error writing 'x'" in str(result.warnings[0])


def test_hdparm(sample: Sample) -> None:
    result = parse("x", sample("hdparm-9.65"))
    assert result.format == "hdparm"
    assert numbers(result) == {
        "hdparm_cached": (5784.29, "MiB/s"),
        "hdparm_buffered_disk": (252.91, "MiB/s"),
    }
    direct = parse("x", sample("hdparm-9.65-direct"))
    assert numbers(direct) == {"hdparm_o_direct_disk": (153.85, "MiB/s")}


def test_hdparm_of_two_devices_and_twice(sample: Sample) -> None:
    data = sample("hdparm-9.65")
    two = parse("x", data + data.replace(b"/dev/loop0", b"/dev/sdb"))
    assert {value.hardware for value in two.values} == {"/dev/loop0", "/dev/sdb"}
    assert {value.repeat for value in parse("x", data * 2).values} == {1, 2}


def test_ioping(sample: Sample) -> None:
    result = parse("x", sample("ioping-1.3"))
    assert result.format == "ioping"
    assert numbers(result) == {
        "ioping_read_iops": (5920, "ops/s"),
        "ioping_read_throughput": (23.1, "MiB/s"),
        "ioping_read_latency_min": (129.8, "µs"),
        "ioping_read_latency_avg": (168.8, "µs"),
        "ioping_read_latency_max": (193.0, "µs"),
    }
    [mean] = [value for value in result.values if value.test.endswith("avg")]
    assert mean.samples == (183.1, 169.4, 193.0, 129.8)
    assert sum(mean.samples) / 4 == pytest.approx(168.8, abs=0.05)
    write = numbers(parse("x", sample("ioping-1.3-write")))
    assert write["ioping_write_latency_avg"] == (6670, "µs")
    assert write["ioping_write_throughput"] == (9.37, "MiB/s")
    assert numbers(parse("x", sample("ioping-1.3-rate")))["ioping_read_latency_max"] == (
        *(14600, "µs"),
    )


def test_ioping_several_times_and_cut_off(sample: Sample) -> None:
    data = sample("ioping-1.3")
    assert {value.repeat for value in parse("x", data * 2).values} == {1, 2}
    with pytest.raises(UnreadableFile, match="with other sizes"):
        parse("x", data + data.replace(b"4 KiB <<<", b"64 KiB <<<"))
    with pytest.raises(UnreadableFile, match="they are cut off"):
        parse("x", data[: data.index(b"4 requests completed")])


def test_compilebench(sample: Sample) -> None:
    result = parse("x", sample("compilebench-0.6"))
    assert result.format == "compilebench"
    assert numbers(result) == {
        "compilebench_initial_create": (8.73, "MiB/s"),
        "compilebench_create": (102.48, "MiB/s"),
        "compilebench_delete_compiled_tree": (2.84, "s"),
        "compilebench_stat_tree": (0.67, "s"),
    }
    assert result.modes == ("1 intial dirs 3 runs",)
    assert result.complete


def test_compilebench_twice_and_cut_off(sample: Sample) -> None:
    data = sample("compilebench-0.6")
    assert {value.repeat for value in parse("x", data * 2).values} == {1, 2}
    with pytest.raises(UnreadableFile, match="other numbers of directories"):
        parse("x", data + data.replace(b"3 runs", b"9 runs"))
    with pytest.raises(UnreadableFile, match="the run did not end"):
        parse("x", data[: data.index(b"intial create total")])
    cut = parse("x", data[: data.index(b"delete compiled")])
    assert not cut.complete
    assert "it is cut off" in str(cut.warnings[-1])


def test_ioping_of_two_sizes_that_printed_no_request(sample: Sample) -> None:
    data = sample("ioping-1.3-two-sizes-quiet")
    with pytest.raises(UnreadableFile, match=r"size 4 KiB, size 64 KiB\) are in one file"):
        parse("x", data)
    first = data[: data.index(b"\n\n---", 5) + 1]
    assert parse("x", first).modes == ("size 64 KiB",)
    # Of 4.54 k requests and 17.7 MiB.
    assert parse("x", sample("ioping-1.3-rate")).modes == ("size 4 KiB",)
    odd = first.replace(b"256 KiB read", b"350 KiB read")
    assert parse("x", odd).modes == ()
