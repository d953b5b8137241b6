"""No text makes a reader slow: hostile lines cost each of them time that grows as they do."""

import json
import random
import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from fsbench_web.core.formats import FORMATS, UnreadableFile, parse
from fsbench_web.core.formats.fio import logs
from fsbench_web.core.formats.iozone import biff
from tests.core.formats.test_aim7 import TABLE as AIM7

SAMPLES = Path(__file__).parent / "samples"
TEXTS = [name for name in FORMATS if name not in (logs.FORMAT, biff.FORMAT)]
KIB = 1024
UNITS = (
    *(" ", "\t", "(", "[", "{", "<", "9", "9.", '"', "'", ",", ";", ":", "-", "_", "=", "/", "."),
    *("a", "A ", "a_", ", 0", "=1 ", " - ", "()", '""', "\t ", "1: ", "[1s] ", "é"),
)
# 1,000 of each reader were read once: none took more than a second.
SEEDS = range(5)
MOST_S = 2.0
# Time that may be a pause of the machine is no growth.
NOTHING_S = 0.3
WITHOUT_A_SAMPLE = {
    "table": (
        "test,record_size_kb,file_size_kb,value,unit,filesystem (x),configuration,lat p99 (us)\n"
        "write,4,64,1.5,KB/s,ext4,plain,7\nread,4,64,2.5,KB/s,ext4,plain,8\n"
    ),
    "wide table": "filesystem,seq read (MB/s),rand write p99 (us),n us\next4,1,2,3\nxfs,4,5,6\n",
    "aim7": AIM7,
    "fsbench-lines": '{"fsbench": "write", "value": 5, "unit": "MB/s"}\n' * 3,
    "filemark": json.dumps(
        {"filemark": "report", "threads": 8, "transactions_per_s": 110.0, "samples": [1.5, 2.5]},
        indent=1,
    ),
}


@cache
def samples() -> dict[str, str]:
    """The shortest sample of each format."""
    found = dict(WITHOUT_A_SAMPLE)
    for path in sorted(SAMPLES.glob("*.txt"), key=lambda path: path.stat().st_size):
        with suppress(UnreadableFile):
            data = path.read_bytes()
            found.setdefault(parse(path.name, data).format, data.decode("utf-8-sig"))
    return found


def seconds(text: str) -> float:
    """How long it takes to read a text, or to refuse it."""
    data = text.encode()
    began = time.process_time()
    with suppress(UnreadableFile):
        parse("anything", data)
    return time.process_time() - began


def hostile_text(sample: str, seed: int) -> str:
    """The sample again and again, with a long run of something in many of its lines."""
    chance = random.Random(seed)
    units = chance.sample(UNITS, chance.choice((1, 1, 3)))
    length = chance.choice((40, 400, 3000, 9000))
    is_first_whole = chance.random() < 0.7
    share = chance.choice((0.1, 0.5, 0.9))
    lines = sample.splitlines()[:400]
    text = lines if is_first_whole else []
    size = sum(map(len, text))
    while size < 64 * KIB:
        line = chance.choice(lines)
        if chance.random() < share:
            line = with_run(line, chance.choice(units), length, chance)
        text = [*text, line]
        size += len(line) + 1
    return "\n".join(text)[: 64 * KIB]


def with_run(line: str, unit: str, length: int, chance: random.Random) -> str:
    """The line with a run of the unit between two words of it, or in the place of letters."""
    place = chance.choice([0, len(line), *(match.start() for match in re.finditer(r"\b", line))])
    return line[:place] + unit * (length // len(unit)) + line[place + chance.choice((0, 0, 3)) :]


@pytest.mark.parametrize("name", TEXTS)
def test_no_hostile_text_takes_long(name: str) -> None:
    times = {seed: seconds(hostile_text(samples()[name], seed)) for seed in SEEDS}
    assert {seed: took for seed, took in times.items() if took > MOST_S} == {}


@pytest.mark.parametrize("name", TEXTS)
def test_time_grows_as_runs_within_lines_do(name: str) -> None:
    lines = samples()[name].splitlines()[:30]
    for unit in (" ", "(", "9", '"', ",", "1: ", "a_"):

        def with_runs(length: int, unit: str = unit) -> str:
            chance = random.Random(unit)
            text = [with_run(line, unit, length, chance) for line in lines]
            return "\n".join([*lines, *text])

        assert grows_evenly(with_runs, 2000), unit


MIB = 1024 * KIB
HOSTILE = (" ", "\t", "(", "[", "{", "<", "9", '"', "'", ",", ";", "=", "> ", "0.", "\u00a0")
DOCUMENTS = ("fio-json", "elbencho-json", "ior-json", "filemark", "phoronix-xml")
"""Formats whose lines may have any length."""


@pytest.mark.parametrize("name", TEXTS)
def test_a_mebibyte_of_hostile_lines_takes_four_times_as_long_as_a_quarter(name: str) -> None:
    """A line of each kind in turn, with a run as long as a line may be."""
    lines = [line for line in samples()[name].splitlines()[:30] if len(line) < 900]
    lines = lines or [samples()[name][:800]]

    def with_runs(size: int) -> str:
        text, length, count = list(lines), sum(map(len, lines)), 0
        while length < size:
            line, unit = lines[count % len(lines)], HOSTILE[count % len(HOSTILE)]
            place = count * 7 % (len(line) + 1)
            text.append(line[:place] + unit * (9000 // len(unit)) + line[place:])
            length += len(text[-1]) + 1
            count += 1
        return "\n".join(text)

    assert grows_evenly(with_runs, MIB // 4)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_line_of_a_mebibyte_takes_four_times_as_long_as_one_of_a_quarter(name: str) -> None:
    sample = samples()[name]
    for unit in (" ", "[", "9", '"', ",", '{"a":'):
        for place in (1, len(sample) // 2):
            assert grows_evenly(
                lambda size, unit=unit, place=place: (
                    sample[:place] + unit * (size // len(unit)) + sample[place:]
                ),
                MIB // 4,
            ), unit


@pytest.mark.parametrize("name", TEXTS)
def test_time_grows_as_the_number_of_lines_does(name: str) -> None:
    lines = samples()[name].splitlines()[:60]

    def numbered(size: int) -> str:
        """Lines of the sample again and again, each with other numbers."""
        count = size // sum(map(len, lines)) + 1
        again = [re.sub("[0-9]", str(number), line) for number in range(count) for line in lines]
        return "\n".join([*lines, *again])

    assert grows_evenly(numbered, 48 * KIB)
    assert grows_evenly(
        lambda size: "\n".join([*lines, *[lines[-1]] * (size // (len(lines[-1]) + 1))]), 48 * KIB
    )


def grows_evenly(
    text_of: Callable[[int], str], size: int, seconds: Callable[[str], float] = seconds
) -> bool:
    """Whether four times the size takes less than ten times the time: sixteen is quadratic."""
    large = seconds(text_of(4 * size))
    if large < NOTHING_S:
        return True
    most = 10 * seconds(text_of(size))
    return large < most or seconds(text_of(4 * size)) < most


def test_a_number_of_thousands_of_digits_is_refused_at_its_place() -> None:
    text = samples()["diskspd"].splitlines()
    place = next(number for number, line in enumerate(text) if "timespan" in line)
    text[place] = "timespan: " + "9" * 9000
    with pytest.raises(UnreadableFile) as refused:
        parse("x", "\n".join(text).encode())
    assert [(p.line, p.column) for p in refused.value.problems] == [(place + 1, 11)]


@pytest.mark.parametrize("name", ["vdbench", "vdbench-summary"])
def test_intervals_below_another_header_are_no_samples(name: str) -> None:
    """They have other columns, and were an error of ours."""
    for seed in (41, 99, 12, 53):
        with suppress(UnreadableFile):
            parse("x", hostile_text(samples()[name], seed).encode())


@pytest.mark.parametrize("header", ["c{}", "MB/s", "a us", "w{}/s", "read", "{}"])
def test_a_table_of_very_many_columns_is_looked_at_quickly(header: str) -> None:
    """6 MB; where each word was looked at in each of several ways it took 8 to 15 seconds."""
    chance = random.Random(1)
    names = ",".join(header.format(number) for number in range(1, 1500))
    row = ",".join(str(chance.randint(100, 999)) for _ in range(1, 1500))
    assert seconds(f"fs,{names}\n" + f"ext4,{row}\n" * 1000) < 3


def test_a_header_of_thousands_of_words_is_looked_at_quickly() -> None:
    assert seconds("test,value," + "a " * 4900 + "\nwrite,1,2\n" * 5) < 1
    assert seconds("\n".join("x,1: " + "1: " * 3000 for _ in range(7))) < 1
