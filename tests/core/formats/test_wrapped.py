"""What mail, terminals and CI put around a tool's lines is taken off, and that is said."""

import quopri
from collections.abc import Callable
from typing import Any

import pytest

from fsbench_web.core.formats import FORMATS, ParsedResult, UnreadableFile, parse
from fsbench_web.core.formats.fio import logs
from fsbench_web.core.formats.iozone import biff
from tests.core.formats.test_hostile import WITHOUT_A_SAMPLE, samples

TOOLS = [name for name in FORMATS if name not in (logs.FORMAT, biff.FORMAT, "table", "wide table")]


def clock(number: int) -> str:
    return f"12:{number // 60 % 60:02}:{number % 60:02}"


EACH_LINE: dict[str, Callable[[int, str], str]] = {
    "quoted": lambda _, line: f"> {line}".rstrip(),
    "quoted twice": lambda _, line: f"> > {line}",
    "cat -n": lambda number, line: f"{number:6}\t{line}",
    "grep -n": lambda number, line: f"{number}:{line}",
    "GitHub's log": lambda number, line: f"2024-05-01T{clock(number)}.1234567Z {line}",
    "gh run view": lambda number, line: f"build\tRun fio\t2024-05-01T{clock(number)}.12Z {line}",
    "Jenkins": lambda number, line: f"[{clock(number)}] {line}",
    "syslog": lambda number, line: f"May  1 {clock(number)} lab bench[123]: {line}",
    "docker compose": lambda _, line: f"fio-1  | {line}".rstrip(),
    "pdsh": lambda _, line: f"node01: {line}",
    "diff": lambda _, line: f"+{line}",
    "colours": lambda _, line: f"\x1b[0;32m{line}\x1b[0m\x1b[K",
    "quoted log": lambda number, line: f"> 2024-05-01T{clock(number)}Z {line}",
}


def what_was_read(result: ParsedResult) -> list[Any]:
    values = [
        (value.test, value.value, value.unit, value.repeat, value.load, value.line)
        for value in result.values
    ]
    return [result.format, result.complete, result.modes, values]


@pytest.mark.parametrize("name", TOOLS)
def test_nothing_of_a_wrapped_output_is_lost(name: str) -> None:
    lines = samples()[name].splitlines()
    right = what_was_read(parse("x", ("\n".join(lines) + "\n").encode()))
    for kind, wrapped in EACH_LINE.items():
        text = "".join(f"{wrapped(number, line)}\n" for number, line in enumerate(lines, start=1))
        result = parse("x", text.encode())
        assert what_was_read(result) == right, kind
        assert any("taken off" in note.message for note in result.warnings if note.is_note), kind
    for encoding in ("utf-16-le", "utf-16-be"):
        result = parse("x", ("\n".join(lines) + "\n").encode(encoding))
        assert what_was_read(result) == right, encoding


@pytest.mark.parametrize("name", sorted({*TOOLS} - {"vdbench-summary", "vdbench-totals"}))
def test_a_quoted_printable_mail_is_decoded(name: str) -> None:
    """But of Vdbench, whose two header lines must stand below each other."""
    data = quopri.encodestring((samples()[name].rstrip() + "\n").encode())
    right = parse("x", (samples()[name].rstrip() + "\n").encode())
    result = parse("x", data)
    assert [(v.test, v.value) for v in result.values] == [(v.test, v.value) for v in right.values]
    assert result.modes == right.modes


MAIL = (
    "> Throughput=C2=A0 646.55 MB/sec=C2=A0=C2=A0 2 clients=C2=A0=C2=A0 2 pro=\n"
    "cs=C2=A0 max_latency=3D0.104\n> ms\n"
    "> Throughput 1361.06 MB/sec=C2=A0=C2=A0 5 clients=C2=A0=C2=A0 5 procs=C2=\n"
    "=A0 max_latency=3D0.100\n> ms\n"
)


def test_a_mail_of_tbench_keeps_its_latencies() -> None:
    """Of a public mail to linux-kernel (May 2023): its lines are broken twice."""
    result = parse("x", MAIL.encode())
    assert {(value.test, value.load): (value.value, value.line) for value in result.values} == {
        ("dbench_throughput", "clients=2"): (646.55, 1),
        ("dbench_max_latency", "clients=2"): (0.104, 1),
        ("dbench_throughput", "clients=5"): (1361.06, 4),
        ("dbench_max_latency", "clients=5"): (0.1, 4),
    }


def test_two_containers_are_not_mixed() -> None:
    line = "Throughput {} MB/sec  4 clients  4 procs  max_latency=1.5 ms"
    text = "".join(f"fio-{n % 2}  | {line.format(100 + n)}\n" for n in range(6))
    with pytest.raises(UnreadableFile):
        parse("x", text.encode())


def test_what_a_tool_prints_itself_is_no_wrapping() -> None:
    for name in TOOLS:
        notes = [note.message for note in parse("x", samples()[name].encode()).warnings]
        assert not [note for note in notes if "taken off" in note], name


def test_tables_keep_what_stands_in_their_first_column() -> None:
    for name in ("table", "wide table"):
        assert parse("x", WITHOUT_A_SAMPLE[name].encode()).warnings == []
