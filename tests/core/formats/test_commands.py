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


LOCALISED = {
    "de": (
        "1024+0 Datensätze ein\n1024+0 Datensätze aus\n"
        "1073741824 Bytes (1,1 GB, 1,0 GiB) kopiert, 2,1 s, 511 MB/s\n"
    ),
    "fr": (
        "15+1 enregistrements lus\n15+1 enregistrements écrits\n"
        "1010827264 octets (1,0 GB, 964 MiB) copiés, 142,078 s, 511 MB/s\n"
    ),
    "es": (
        "8+0 registros leídos\n8+0 registros escritos\n"
        "8000 bytes (8,0 kB, 7,8 KiB) copied, 0,01 s, 511 MB/s\n"
    ),
    "ru": (
        "2048+0 записей получено\n2048+0 записей отправлено\n"
        " скопировано 2147483648 байт (2,1 GB), 4,17328 c, 511 MB/c\n"
    ),
    "pl": (
        "7+0 przeczytanych rekordów\n7+0 zapisanych rekordów\n"
        "skopiowane 7340032 bajty (7,3 MB, 7,0 MiB), 0,01 s, 511 MB/s\n"
    ),
    "zh": (
        "记录了1024+0 的读入\n记录了1024+0 的写出\n"
        "1073741824字节（1.1 GB，1.0 GiB）已复制，1.2 s，511 MB/s\n"
    ),
}
"""As coreutils prints it in these languages; from readmes and wikis."""


@pytest.mark.parametrize("language", LOCALISED)
def test_dd_in_other_languages(language: str) -> None:
    result = parse("x", f"$ dd bs=1M if=a of=b\n{LOCALISED[language]}".encode())
    assert result.format == "dd"
    assert numbers(result)["dd_throughput"] == (511, "MB/s")


def test_a_writing_and_a_reading_dd_are_two_tests() -> None:
    records = "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, "
    text = (
        f"$ dd if=/dev/zero of=/mnt/t bs=1M count=1024 conv=fsync\n{records}2.1 s, 511 MB/s\n"
        f"$ dd if=/mnt/t of=/dev/null bs=1M\n{records}0.21 s, 5.1 GB/s\n"
    )
    result = parse("x", text.encode())
    assert numbers(result) == {
        **{"dd_write_throughput": (511, "MB/s"), "dd_write_time": (2.1, "s")},
        **{"dd_read_throughput": (5100, "MB/s"), "dd_read_time": (0.21, "s")},
    }
    assert {"conv=fsync", "of=/dev/null"} <= {*result.modes}
    assert {value.repeat for value in parse("x", (text * 2).encode()).values} == {1, 2}


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


def test_ioping_of_2012() -> None:
    """Printed in the readme of ioping 0.6: one unit behind all four times."""
    text = (
        "4096 bytes from . (ext4 /dev/sda3): request=1 time=0.2 ms\n"
        "4096 bytes from . (ext4 /dev/sda3): request=4 time=12.7 ms\n"
        "\n--- . (ext4 /dev/sda3) ioping statistics ---\n"
        "5 requests completed in 4794.0 ms, 364 iops, 1.4 MiB/s\n"
        "min/avg/max/mdev = 0.2/2.8/12.7/5.0 ms\n"
    )
    result = parse("x", text.encode())
    assert numbers(result) == {
        "ioping_read_iops": (364, "ops/s"),
        "ioping_read_throughput": (1.4, "MiB/s"),
        "ioping_read_latency_min": (200, "µs"),
        "ioping_read_latency_avg": (2800, "µs"),
        "ioping_read_latency_max": (12700, "µs"),
    }
    assert result.modes == ("size 4 KiB",)
    [average] = [value for value in result.values if value.test.endswith("_avg")]
    assert average.samples == (200, 12700)
    older = parse("x", text.replace("1.4 MiB/s", "1.4 mb/s").encode())
    assert numbers(older)["ioping_read_throughput"] == (1.4, "MiB/s")


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
