"""IOzone's throughput mode, and the BIFF2 files of -b, which hold what the text says."""

import struct
from collections.abc import Callable

import pytest

from fsbench_web.core.formats import ParsedResult, UnreadableFile, parse

Sample = Callable[[str], bytes]
Cells = dict[tuple[str, str, int | None, int | None], float]
BOF = struct.pack("<HHHH", 9, 4, 2, 16)
EOF = struct.pack("<HH", 10, 0)


def cells(result: ParsedResult) -> Cells:
    return {(v.test, v.load, v.record_size_kb, v.file_size_kb): v.value for v in result.values}


def label(row: int, column: int, text: str) -> bytes:
    body = text.encode().ljust(256, b"\0")
    return struct.pack("<HHHH3xB", 4, 264, row, column, len(text)) + body


def value(row: int, column: int, content: float) -> bytes:
    return struct.pack("<HHHH3xd", 3, 15, row, column, content)


def integer(row: int, column: int, content: int) -> bytes:
    return struct.pack("<HHHH3xH", 2, 9, row, column, content)


def test_throughput(sample: Sample) -> None:
    result = parse("x", sample("iozone-3.489-throughput-tests-0-1-2"))
    assert (result.format, result.tool, result.tool_version) == (
        *("iozone-throughput", "iozone"),
        "3.489",
    )
    assert result.command == "iozone -t 2 -s 512k -r 4k -i 0 -i 1 -i 2 -F b/a b/b"
    values = cells(result)
    at = ("processes=2", 4, 512)
    assert values["write", *at] == 1273106.75
    assert values["write_parent", *at] == 46660.28
    assert values["write_max", *at] == 1273106.75
    assert values["write_avg", *at] == 636553.38
    assert values["rewrite_min", *at] == 1890521.12
    assert values["random_write", *at] == 4199377.5
    assert ("write_min", *at) not in values
    assert {v.unit for v in result.values} == {"KB/s"}
    assert result.modes == ()
    assert result.complete


def test_throughput_of_one_to_three_processes(sample: Sample) -> None:
    values = cells(parse("x", sample("iozone-3.489-throughput-1-to-3")))
    assert [values["write", f"processes={n}", 4, 512] for n in (1, 2, 3)] == [
        *(1216149.50, 924123.62, 2189047.44),
    ]


def test_throughput_of_threads_in_operations(sample: Sample) -> None:
    data = sample("iozone-3.489-throughput")
    data = data.replace(b"processes", b"threads").replace(b"process", b"thread")
    data = data.replace(b"kB/sec", b"ops/sec").replace(b"kByte", b"KByte")
    result = parse("x", data)
    assert {(v.load, v.unit, v.file_size_kb) for v in result.values} == {
        ("threads=2", "ops/s", 64),
    }


def test_runs_one_after_the_other_are_repeats(sample: Sample) -> None:
    data = sample("iozone-3.489-throughput")
    result = parse("x", data + data.replace(b"1049372.50", b"1049999.50"))
    writes = [(v.value, v.repeat) for v in result.values if v.test == "write"]
    assert writes == [(1049372.5, 1), (1049999.5, 2)]


def test_throughput_that_was_stopped(sample: Sample) -> None:
    data = sample("iozone-3.489-throughput")
    result = parse("x", data[: data.index(b"Children see throughput for  2 readers")])
    assert not result.complete
    assert {v.test.split("_")[0] for v in result.values} == {"write", "rewrite"}
    with pytest.raises(UnreadableFile, match="the run did not end"):
        parse("x", data[: data.index(b"Children see")])


def test_biff_holds_what_the_text_says(sample: Sample) -> None:
    sheet = parse("x.txt", sample("iozone-3.489-matrix.xls"))
    text = parse("x", sample("iozone-3.489-matrix-as-text"))
    assert sheet.format == "iozone-biff2"
    assert cells(sheet) == cells(text)
    assert sheet.command.startswith("iozone -i 0 -i 1")
    assert sheet.complete
    assert {v.unit for v in sheet.values} == {"KB/s"}
    first = next(v for v in sheet.values if (v.test, v.record_size_kb) == ("write", 4))
    assert (first.value, first.line) == (1105556, 6)


def test_biff_of_microseconds(sample: Sample) -> None:
    result = parse("x", sample("iozone-3.489-microseconds.xls"))
    assert {v.unit for v in result.values} == {"µs"}
    assert any("0 is printed" in str(warning) for warning in result.warnings)
    assert all(v.value > 0 for v in result.values)


def test_biff_of_throughput(sample: Sample) -> None:
    values = cells(parse("x", sample("iozone-3.489-throughput.xls")))
    assert values == {
        ("write", "processes=2", 4, 512): 980673.1875,
        ("rewrite", "processes=2", 4, 512): 4476894.5,
        ("read", "processes=2", 4, 512): 5724631.25,
        ("reread", "processes=2", 4, 512): 5753928.0,
    }
    several = cells(parse("x", sample("iozone-3.489-throughput-1-to-3.xls")))
    assert [several["write", f"processes={n}", 4, 512] for n in (1, 2, 3)] == [
        *(1216149.5, 924123.625, 2189047.4375),
    ]


def test_biff_with_integers() -> None:
    body = label(0, 0, "iozone -aRO -b x.xls") + label(3, 0, "Writer Report")
    body += integer(4, 1, 4) + integer(5, 0, 64) + integer(5, 1, 60_000)
    result = parse("x", BOF + body + EOF)
    assert [(v.test, v.value, v.unit) for v in result.values] == [("write", 60_000, "ops/s")]


def sheet(*rows: bytes, end: bytes = EOF) -> bytes:
    head = label(0, 0, "iozone -aR -b x.xls") + label(3, 0, "Writer Report")
    return BOF + head + value(4, 1, 4.0) + value(5, 0, 64.0) + b"".join(rows) + end


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (sheet(value(5, 1, 9.0))[:-30], "cut off or damaged at byte"),
        (sheet(value(5, 1, float("nan"))), "row|nan is not a measurement"),
        (sheet(value(5, 1, float("inf"))), "inf is not a measurement"),
        (sheet(value(5, 1, -1.0)), "-1.0 is not a measurement"),
        (sheet(value(5, 1, 1.0), value(5, 1, 2.0)), "is given twice"),
        (sheet(), "holds no measurement"),
        (BOF + label(0, 0, "=cmd|' /C calc'!A0") + EOF, "does not start with IOzone's command"),
        (BOF + EOF, "does not start with IOzone's command"),
        (BOF + struct.pack("<HH", 3, 2) + b"ab", "cut off or damaged"),
    ],
)
def test_biff_that_is_wrong(data: bytes, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        parse("x", data)


def test_biff_without_an_end_says_so() -> None:
    result = parse("x", sheet(value(5, 1, 9.0), end=b""))
    assert not result.complete
    assert "has no end" in str(result.warnings[0])


def test_a_matrix_beside_throughput_is_not_lost_in_silence(sample: Sample) -> None:
    texts = [sample("iozone-3.489-throughput"), sample("iozone-3.489-tests-0-1-2")]
    for data in (b"".join(texts), b"".join(reversed(texts))):
        with pytest.raises(UnreadableFile, match="A matrix starts here"):
            parse("x", data)


def test_the_kernel_that_throughput_mode_ran_on(sample: Sample) -> None:
    data = sample("iozone-3.489-throughput-machine")
    assert parse("x", data).printed_kernels == ("6.1.0-37-amd64",)
    other = data.replace(b"6.1.0-37-amd64", b"6.12.3")
    assert parse("x", data + other).printed_kernels == ("6.1.0-37-amd64", "6.12.3")


def test_the_kernels_of_several_runs_of_the_matrix(sample: Sample) -> None:
    machine = b"\tMachine = Linux vm 6.1 #1 SMP x86_64 GNU/Linux\n"
    data = sample("iozone-3.489-tests-0-1-2").replace(
        b"\tCommand line", machine + b"\tCommand line"
    )
    assert parse("x", data).printed_kernels == ("6.1",)
    other = data.replace(b"Linux vm 6.1 ", b"Linux vm 6.12 ")
    assert parse("x", data + other).printed_kernels == ("6.1", "6.12")
