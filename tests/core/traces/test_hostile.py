"""No text makes a reader of traces slow."""

import random
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest

from fsbench_web.core.traces.observed import TraceError
from fsbench_web.core.traces.reading import observed
from tests.core.formats.test_hostile import KIB, grows_evenly, hostile_text, with_run

HISTOGRAM = "operation,block,file,count\nread,8k,1g,100\nrandom_write,4k,2g,50\n"
SAMPLES = {
    path.name: path.read_text()
    for path in (Path(__file__).parent / "samples").iterdir()
    if path.suffix not in (".json", ".txt")
} | {"histogram": HISTOGRAM}


def seconds(text: str) -> float:
    began = time.process_time()
    with suppress(TraceError):
        observed(text.encode())
    return time.process_time() - began


@pytest.mark.parametrize("name", SAMPLES)
def test_no_hostile_text_takes_long(name: str) -> None:
    times = {seed: seconds(hostile_text(SAMPLES[name], seed)) for seed in range(5)}
    assert {seed: took for seed, took in times.items() if took > 2} == {}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("unit", [" ", "(", "9", '"', ",", "<", "st_mode=S_IF"])
def test_time_grows_as_runs_within_lines_do(name: str, unit: str) -> None:
    lines = SAMPLES[name].splitlines()[:60]

    def with_runs(length: int) -> str:
        chance = random.Random(unit)
        return "\n".join([*lines, *(with_run(line, unit, length, chance) for line in lines)])

    assert grows_evenly(with_runs, 3000, seconds)


@pytest.mark.parametrize("name", SAMPLES)
def test_time_grows_as_the_number_of_lines_does(name: str) -> None:
    lines = SAMPLES[name].splitlines()[:60]

    def numbered(size: int) -> str:
        count = size // sum(map(len, lines)) + 1
        again = [re.sub("[0-9]", str(number), line) for number in range(count) for line in lines]
        return "\n".join([*lines, *again])

    assert grows_evenly(numbered, 128 * KIB, seconds)


def test_time_grows_as_the_number_of_processes_does() -> None:
    """Many run; of as many others each is named once there are two, and ends."""

    def with_processes(count: int) -> str:
        read = 'read(3, "", 5) = 5\n'
        running = [f"[pid {number}] {read}" for number in range(count)]
        ending = [
            f"{read}[pid {number}] {read}[pid {number}] +++ exited with 0 +++\n"
            for number in range(count, 2 * count)
        ]
        return "".join([*running, *ending])

    assert grows_evenly(with_processes, 2000, seconds)
