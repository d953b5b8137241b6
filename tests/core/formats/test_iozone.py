"""IOzone's output: real files of 3.489, older layouts, and everything that can be wrong."""

import re
from collections.abc import Callable
from itertools import pairwise

import pytest

from fsbench_web.core.formats import ParsedResult, UnreadableFile, parse

Sample = Callable[[str], bytes]
PAPER = ["write", "rewrite", "read", "reread", "random_read", "random_write"]
ALL = [
    *PAPER,
    *("backward_read", "record_rewrite", "stride_read", "fwrite", "refwrite", "fread", "refread"),
]
HEADER = (
    "                                                              random    random     bkwd"
    "    record    stride\n"
    "              kB  reclen    write  rewrite    read    reread    read     write     read"
    "   rewrite      read   fwrite frewrite    fread  freread\n"
)


def cells(result: ParsedResult) -> dict[tuple[str, int | None, int | None], float]:
    return {(v.test, v.record_size_kb, v.file_size_kb): v.value for v in result.values}


def row(file_kb: int, record_kb: int, *values: object) -> str:
    """A row as 3.489 prints it; "" leaves a column blank."""
    widths = (8, 8, 8, 8, 8, 8, 8, 9, 9, 8, 8, 8, 8)
    texts = (f" {value!s:>{width}}" for value, width in zip(values, widths, strict=False))
    return f"{file_kb:16d}{record_kb:8d}{''.join(texts)}\n"


def output(*rows: str, end: str = "\niozone test complete.\n", unit: str = "kBytes/sec") -> bytes:
    return f"\tOutput is in {unit}\n{HEADER}{''.join(rows)}{end}".encode()


def test_it_reads_the_tests_of_the_paper(sample: Sample) -> None:
    result = parse("x.csv", sample("iozone-3.489-tests-0-1-2"))
    assert (result.tool, result.tool_version, result.complete) == ("iozone", "3.489", True)
    assert result.command == "iozone -i 0 -i 1 -i 2 -a -z -y 4k -q 64k -n 64k -g 256k -f t"
    assert len(result.values) == 15 * 6
    assert cells(result)["write", 4, 64] == 566551
    assert cells(result)["random_read", 32, 256] == 14953435
    assert cells(result)["random_write", 64, 256] == 4404088
    assert {value.unit for value in result.values} == {"KB/s"}
    assert result.warnings == []


def test_it_keeps_the_line_of_every_value(sample: Sample) -> None:
    data = sample("iozone-3.489-all-tests")
    lines = data.decode().split("\n")
    for value in parse("x", data).values:
        words = lines[value.line - 1].split()
        assert words[:2] == [str(value.file_size_kb), str(value.record_size_kb)]
        assert f"{value.value:.0f}" in words[2:]


def test_it_knows_all_thirteen_columns(sample: Sample) -> None:
    result = parse("x", sample("iozone-3.489-all-tests"))
    first = [value for value in result.values if value.record_size_kb == 16]
    assert [value.test for value in first] == ALL
    assert [value.value for value in first] == [
        *(901377, 1828508, 10821524, 10821524, 15972885, 1330167, 4897948),
        *(4274062, 9006179, 1285575, 2203800, 5860307, 10821524),
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "iozone-3.489-tests-0-2-6",
            {
                "write": 1734015,
                "rewrite": 1828508,
                "random_read": 5389653,
                "random_write": 1947927,
                "fwrite": 1722886,
                "refwrite": 2379626,
            },
        ),
        (
            "iozone-3.489-tests-0-5",
            {"write": 1828508, "rewrite": 1828508, "stride_read": 7940539},
        ),
        (
            "iozone-3.397-fsync",
            {
                "write": 31782,
                "rewrite": 22524,
                "random_read": 816017,
                "random_write": 10411,
                "stride_read": 3779260,
            },
        ),
    ],
)
def test_it_leaves_blank_columns_blank(
    sample: Sample, name: str, expected: dict[str, float]
) -> None:
    assert {value.test: value.value for value in parse("x", sample(name)).values} == expected


def test_it_reads_the_narrower_columns_of_2005(sample: Sample) -> None:
    result = parse("x", sample("iozone-3.226-tests-0-2-5"))
    assert result.tool_version == "3.226"
    assert cells(result)["random_read", 32, 64] == 1733988
    assert cells(result)["stride_read", 64, 64] == 1734146
    assert {value.test for value in result.values} == {
        *("write", "rewrite", "random_read", "random_write", "stride_read")
    }


@pytest.mark.parametrize(
    ("name", "unit"),
    [("operations", "ops/s"), ("microseconds", "µs"), ("direct-io", "KB/s")],
)
def test_it_reads_the_unit(sample: Sample, name: str, unit: str) -> None:
    result = parse("x", sample(f"iozone-3.489-{name}"))
    assert {value.unit for value in result.values} == {unit}


@pytest.mark.parametrize(
    ("name", "modes"),
    [
        ("direct-io", ("O_DIRECT feature enabled",)),
        (
            "fsync-close-report",
            ("Include fsync in write timing", "Include close in write timing"),
        ),
        ("mmap", ("Using mmap files",)),
        ("tests-0-1-2", ()),
        ("report", ()),
        ("operations", ()),
    ],
)
def test_it_names_the_modes_that_change_what_is_measured(
    sample: Sample, name: str, modes: tuple[str, ...]
) -> None:
    assert parse("x", sample(f"iozone-3.489-{name}")).modes == modes


def test_it_reads_matrix_and_report_once(sample: Sample) -> None:
    assert len(parse("x", sample("iozone-3.489-report")).values) == 6 * 6


def test_the_report_alone_gives_the_same_numbers(sample: Sample) -> None:
    data = sample("iozone-3.489-report")
    report = data[data.index(b'"Writer report"') :]
    alone = parse("x", report)
    assert cells(alone) == cells(parse("x", data))
    assert alone.complete
    assert "does not say its unit" in alone.warnings[0].message


def test_a_zero_in_the_report_is_a_missing_cell() -> None:
    data = b'"Writer report"\n        "4"  "8"  "16"\n"64"   0  270000  0 \n'
    result = parse("x", data)
    assert cells(result) == {("write", 8, 64): 270000}
    assert len([w for w in result.warnings if "0 is printed" in w.message]) == 2


def test_it_passes_over_the_cpu_tables_of_the_report() -> None:
    data = (
        b'"Writer report"\n        "4"\n"64"   270000 \n\n'
        b'"Writer CPU utilization report (Zero values should be ignored)"\n'
        b'        "4"\n"64"   99 \n'
    )
    assert cells(parse("x", data)) == {("write", 4, 64): 270000}


def test_a_report_that_contradicts_its_matrix_is_refused(sample: Sample) -> None:
    data = sample("iozone-3.489-report").replace(b'"64"   1780008', b'"64"   1780009')
    with pytest.raises(UnreadableFile, match=r"1780009 for write of 16 KB .* matrix in line"):
        parse("x", data)


def test_a_zero_in_the_matrix_is_a_missing_cell() -> None:
    result = parse("x", output(row(64, 4, 100, 0, 300)))
    assert cells(result) == {("write", 4, 64): 100, ("read", 4, 64): 300}
    assert [(w.line, w.column) for w in result.warnings] == [(4, 42)]


def test_a_value_too_long_for_its_field_pushes_its_row() -> None:
    wide = 123456789
    text = row(64, 4, wide, wide, "", "", wide, wide, "", 7, "", "", "", 8)
    assert {value.test: value.value for value in parse("x", output(text)).values} == {
        **dict.fromkeys(("write", "rewrite", "random_read", "random_write"), wide),
        "record_rewrite": 7,
        "fread": 8,
    }


def test_a_value_under_no_column_is_refused_with_its_place() -> None:
    text = f"{64:16d}{4:8d}         1234\n"
    with pytest.raises(UnreadableFile) as refused:
        parse("x", output(text))
    [problem] = refused.value.problems
    assert (problem.line, problem.column) == (4, 34)
    assert '"1234" stands under no column' in problem.message


def test_a_killed_run_keeps_its_finished_cells(sample: Sample) -> None:
    result = parse("x", sample("iozone-3.489-killed"))
    assert not result.complete
    assert len(result.values) == 80 * 6
    assert "ends before IOzone did" in result.warnings[-1].message


def test_no_cut_of_a_file_invents_a_number(sample: Sample) -> None:
    data = sample("iozone-3.489-tests-0-1-2")
    whole = cells(parse("x", data))
    start = data.index(b"reclen") + 150
    for cut in range(start, len(data)):
        try:
            part = parse("x", data[:cut])
        except UnreadableFile:
            continue
        assert cells(part).items() <= whole.items(), cut
        assert part.complete == (b"iozone test complete." in data[:cut])


def test_it_reports_what_iozone_complains_about(sample: Sample) -> None:
    result = parse("x", sample("iozone-3.489-no-space"))
    assert not result.complete
    assert len(result.values) == 8
    messages = [warning.message for warning in result.warnings]
    assert 'IOzone says "Error writing block 16, fd= 3".' in messages
    assert 'IOzone says "write: No space left on device".' in messages


def test_an_error_within_a_row_keeps_what_stands_before_it() -> None:
    text = row(64, 4, 100, 200).rstrip("\n") + " Error writing block 3\n"
    result = parse("x", output(text))
    assert cells(result) == {("write", 4, 64): 100, ("rewrite", 4, 64): 200}
    assert not result.complete
    assert result.warnings[0].message == 'IOzone says "Error writing block 3".'


@pytest.mark.parametrize("damaged", ["12x45", "1O0", "1e5", "12,345", "12.5"])
def test_a_damaged_number_is_refused_and_not_taken_for_words(damaged: str) -> None:
    text = row(64, 4, 100, 200) + row(64, 8, 300, 400).replace("300", damaged)
    with pytest.raises(UnreadableFile) as refused:
        parse("x", output(text))
    assert f'"{damaged}" stands among the values' in str(refused.value)
    assert [problem.line for problem in refused.value.problems] == [
        next(n for n, line in enumerate(output(text).decode().splitlines(), 1) if damaged in line)
    ]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no-temp-file", r"No value follows .* \"Can not open temp file"),
        ("record-larger-than-file", r"No value follows .* \"Error reading block"),
        ("diagnostic", "invalid in this mode"),
    ],
)
def test_it_says_why_there_is_nothing_to_keep(sample: Sample, name: str, words: str) -> None:
    with pytest.raises(UnreadableFile, match=words):
        parse("x", sample(f"iozone-3.489-{name}"))


def test_runs_one_after_the_other_are_repeats(sample: Sample) -> None:
    texts = [sample(f"iozone-3.489-{name}") for name in ("tests-0-1-2", "tests-0-1-2-again")]
    result = parse("x", b"".join(texts))
    alone = [parse("x", text) for text in texts]
    for repeat, run in enumerate(alone, start=1):
        values = [value for value in result.values if value.repeat == repeat]
        assert [(v.test, v.value) for v in values] == [(v.test, v.value) for v in run.values]
    lines = b"".join(texts).decode().split("\n")
    assert all(f"{value.value:.0f}" in lines[value.line - 1].split() for value in result.values)
    assert (result.complete, result.command) == (True, alone[0].command)


def test_runs_of_different_sizes_are_parts_of_one(sample: Sample) -> None:
    whole = output(row(64, 4, 100), row(128, 4, 200)).decode()
    banner = "\tIozone: Performance Test of File I/O\n"
    parts = [output(row(64, 4, 100)).decode(), output(row(128, 4, 200)).decode()]
    result = parse("x", "".join(banner + part for part in parts).encode())
    assert cells(result) == cells(parse("x", whole.encode()))
    assert {value.repeat for value in result.values} == {None}


def test_runs_with_other_settings_are_no_repeats(sample: Sample) -> None:
    first, second = sample("iozone-3.489-tests-0-1-2"), sample("iozone-3.489-direct-io")
    with pytest.raises(UnreadableFile, match="A second IOzone run starts here") as refused:
        parse("x", first + second)
    [problem] = refused.value.problems
    line = (first + second).decode().split("\n")[(problem.line or 0) - 1]
    assert line.strip() == "Iozone: Performance Test of File I/O"
    assert "O_DIRECT feature enabled" in problem.message


def test_a_broken_run_among_several_is_told_with_its_line(sample: Sample) -> None:
    first, second = sample("iozone-3.489-tests-0-1-2"), sample("iozone-3.489-no-temp-file")
    with pytest.raises(UnreadableFile, match="No value follows") as refused:
        parse("x", first + second)
    assert (refused.value.problems[0].line or 0) > first.count(b"\n")


def test_the_same_cell_twice_is_refused() -> None:
    with pytest.raises(UnreadableFile, match=r"write of 4 KB records in 64 KB files .* in line 4"):
        parse("x", output(row(64, 4, 100), row(64, 4, 101)))


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(UnreadableFile, match=re.escape('Output is in "CPU%"')):
        parse("x", output(row(64, 4, 100), unit="CPU%"))


def test_an_unknown_column_is_named_and_left_out() -> None:
    data = output(row(64, 4, 100, 200, 300)).replace(b"    read    reread", b"  pwrite    reread")
    result = parse("x", data)
    assert cells(result) == {("write", 4, 64): 100, ("rewrite", 4, 64): 200}
    assert result.warnings[0].message == 'Column "pwrite" is not known and is left out.'


def test_windows_line_ends_and_what_a_terminal_adds_change_nothing(sample: Sample) -> None:
    data = sample("iozone-3.489-tests-0-1-2")
    noisy = b"$ iozone -a\n" + data + b"\nreal\t0m1.234s\n"
    assert cells(parse("x", noisy)) == cells(parse("x", data))
    assert parse("x", noisy).complete
    assert cells(parse("x", data.replace(b"\n", b"\r\n"))) == cells(parse("x", data))


def test_absurd_sizes_and_numbers_do_not_become_cells() -> None:
    with pytest.raises(UnreadableFile):
        parse("x", output(f"{'9' * 5000} 4 100\n"))
    with pytest.raises(UnreadableFile, match="more than 1,000 digits"):
        parse("x", output(row(64, 4, "9" * 5000)))
    with pytest.raises(UnreadableFile, match="No value"):
        parse("x", output(row(64, 4, "9" * 900)))
    with pytest.raises(UnreadableFile, match="0 KB"):
        parse("x", output(row(0, 4, 100)))


def test_columns_are_in_order(sample: Sample) -> None:
    result = parse("x", sample("iozone-3.489-tests-0-1-2"))
    for before, after in pairwise(result.values):
        if before.line == after.line:
            assert ALL.index(before.test) < ALL.index(after.test)


def test_more_values_than_a_matrix_has_are_refused() -> None:
    """A file within the limit of an upload must not fill the memory of the web process."""
    rows = (row(64 + n, 4, *[7] * 13) for n in range(20_000))
    with pytest.raises(UnreadableFile, match="more than 200,000 values"):
        parse("x", output(*rows))
    sizes = " ".join(f'"{n + 4}"' for n in range(500))
    report = "".join(f'"{n + 64}" {"0 " * 500}\n' for n in range(500))
    text = f'\tOutput is in kBytes/sec\n"Writer report"\n  {sizes}\n{report}'
    with pytest.raises(UnreadableFile, match="more than 200,000 values"):
        parse("x", text.encode())


def test_cells_that_were_too_short_do_not_end_a_run() -> None:
    notice = (
        "\nThe test completed too quickly to give a good result\n"
        "You will get a more precise measure of this machine's\n"
        "performance by re-running iozone using the command:\n\n"
        "\tiozone 256 \t(i.e., file size = 256 kilobytes64)\n"
    )
    result = parse("x", output(row(64, 4, 100) + notice, row(64, 8, 100)))
    assert (result.complete, len(result.values), len(result.warnings)) == (True, 2, 4)


@pytest.mark.parametrize("text", ["-100", "nan", "-inf", "Infinity"])
def test_what_can_be_no_rate_is_refused(text: str) -> None:
    with pytest.raises(UnreadableFile, match="no rate or time") as refused:
        parse("x", output(row(64, 4, 100, text, 300), row(64, 8, 100)))
    assert refused.value.problems[0].line == 4


def test_numbers_that_touch_are_told_apart_by_their_columns(sample: Sample) -> None:
    """A value that fills its column has no blank before it: 68779377128000000 are two."""
    result = parse("x", sample("iozone-3.489-columns-that-touch"))
    assert len(result.values) == 210
    assert "Timer resolution is poor" in result.warnings[0].message
    row = [v.value for v in result.values if (v.file_size_kb, v.record_size_kb) == (128, 64)]
    assert row == [8036304, 25804035, 68779377, 128000000, 68779377, 21643049]


COLLAPSED = (
    "random random\n"
    "KB reclen write rewrite read reread read write\n"
    "8192 4 725 679 615 679 474 611\n"
    "\n"
)


def test_collapsed_blanks_leave_the_order_of_the_columns() -> None:
    result = parse("x", COLLAPSED.encode())
    assert {value.test: value.value for value in result.values} == {
        **{"write": 725, "rewrite": 679, "read": 615, "reread": 679},
        **{"random_read": 474, "random_write": 611},
    }


ALL_SAMPLES = [
    *("all-tests", "columns-that-touch", "direct-io", "fsync-close-report", "killed"),
    *("matrix-as-text", "microseconds", "mmap", "no-space", "operations", "report", "sweep"),
    *("tests-0-1-2", "tests-0-2-6", "tests-0-5"),
]


def matrix_alone(data: bytes) -> list[str]:
    """The lines of the matrix: as people paste it, without the report below."""
    return data.decode().partition("Excel output is below")[0].expandtabs(8).split("\n")


PASTES = [
    pytest.param(lambda lines: "\n".join(lines).strip().split("\n"), id="stripped"),
    pytest.param(lambda lines: [line.lstrip() for line in lines], id="left-trimmed"),
    pytest.param(lambda lines: ["    " + line for line in lines], id="indented"),
    pytest.param(lambda lines: [line.rstrip() for line in lines], id="right-trimmed"),
    pytest.param(lambda lines: [" ".join(line.split()) for line in lines], id="collapsed"),
    pytest.param(lambda lines: [re.sub("[ \t]+", "\t", line) for line in lines], id="tabbed"),
    pytest.param(lambda lines: [re.sub(" +", "  ", line) for line in lines], id="two blanks"),
]


@pytest.mark.parametrize("name", ALL_SAMPLES)
@pytest.mark.parametrize("changed", PASTES)
def test_no_change_of_blanks_moves_a_number(
    sample: Sample, name: str, changed: Callable[[list[str]], list[str]]
) -> None:
    """A number stands in its column, or the file is refused; it is in no other column."""
    lines = matrix_alone(sample(f"iozone-3.489-{name}"))
    right = parse("x", "\n".join(lines).encode())
    text = ("\n".join(changed(lines)) + "\n").encode()
    has_its_blanks = b"   " in text
    if name == "columns-that-touch" and not has_its_blanks:
        with pytest.raises(UnreadableFile, match="under 13 columns"):
            parse("x", text)
    else:
        result = parse("x", text)
        assert cells(result) == cells(right)
        assert result.modes == right.modes


@pytest.mark.parametrize("name", ["machine", "tests-0-1-2", "1-to-3", ""])
@pytest.mark.parametrize("changed", PASTES)
def test_no_change_of_blanks_loses_a_rate_of_throughput_mode(
    sample: Sample, name: str, changed: Callable[[list[str]], list[str]]
) -> None:
    data = sample(f"iozone-3.489-throughput{name and '-' + name}")
    right = parse("x", data)
    result = parse("x", "\n".join(changed(data.decode().split("\n"))).encode() + b"\n")
    assert [(v.test, v.value, v.load, v.repeat) for v in result.values] == [
        (v.test, v.value, v.load, v.repeat) for v in right.values
    ]
    assert result.modes == right.modes


def test_collapsed_blanks_without_a_command_are_refused_where_columns_are_empty() -> None:
    words = " ".join(HEADER.split("\n")[1].split())
    text = f"random random bkwd record stride\n{words}\n64 4 100 200 300\n\n"
    with pytest.raises(UnreadableFile) as refused:
        parse("x", text.encode())
    [problem] = refused.value.problems
    assert (problem.line, problem.column) == (3, 6)
    told = parse("x", f"$ iozone -a -i 0 -i5 -f /mnt/t\n{text}".encode())
    assert {value.test: value.value for value in told.values} == {
        "write": 100,
        "rewrite": 200,
        "stride_read": 300,
    }


def test_collapsed_rows_under_a_header_as_printed_are_not_placed_by_position() -> None:
    """Three numbers of eight digits end where the first three columns do."""
    rows = ["64 4 12345678 23456789 34567890\n"]
    with pytest.raises(UnreadableFile):
        parse("x", output(*rows))


@pytest.mark.parametrize(
    ("above", "names", "tests"),
    [
        ("", "write rewrite read reread read write", PAPER),
        ("File stride size set to 17 * record size.", "write rewrite read reread", PAPER[:4]),
        ("SanDisk A1 random random", "read write", ["random_read", "random_write"]),
        ("random", "read", ["random_read"]),
        ("", "read", ["read"]),
        ("bkwd", "write rewrite", None),
        ("stride", "write rewrite read reread", PAPER[:4]),
        ("random", "write rewrite read reread read read", None),
        ("", "write write write", None),
    ],
)
def test_names_are_counted_in_iozones_order(
    above: str, names: str, tests: list[str] | None
) -> None:
    values = " ".join(str(100 + n) for n, _ in enumerate(names.split()))
    text = f"{above}\n kB reclen {names}\n64 4 {values}\n\n".encode()
    if tests is None:
        with pytest.raises(UnreadableFile, match="These columns are not IOzone's"):
            parse("x", text)
    else:
        assert [value.test for value in parse("x", text).values] == tests


def test_a_line_that_mail_wrapped_is_no_row_of_its_own() -> None:
    text = (
        "                                                            random\n"
        "random    bkwd   record   stride\n"
        "              KB  reclen   write rewrite    read    reread    read\n"
        "write    read  rewrite     read\n"
        "         1048576       4   73070   36713    75187    74916    1292\n"
        "674   26724    45514     8491\n"
    )
    with pytest.raises(UnreadableFile):
        parse("x", text.encode())


def test_a_counter_that_ran_over_is_missing() -> None:
    result = parse("x", output(row(64, 4, 100, 999999999999999, 300)))
    assert cells(result) == {("write", 4, 64): 100, ("read", 4, 64): 300}
    assert [(w.line, w.is_note) for w in result.warnings] == [(4, False)]
