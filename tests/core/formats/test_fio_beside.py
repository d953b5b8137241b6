"""One fio job in every output of fio 3.33: its job file names the same tests in all of them."""

import time
from pathlib import Path

import pytest

from fsbench_web.core.formats import ParsedResult, parse
from fsbench_web.core.formats.fio.naming import Beside, jobs_in
from fsbench_web.core.identity import of_fio_name, of_stored

SAMPLES = Path(__file__).parent / "samples"
NAME = "fio-3.33-8k"
JOB_FILE = (SAMPLES / f"{NAME}.fio").read_text()
BESIDE: Beside = {f"{NAME}.fio": jobs_in(JOB_FILE.split("\n"))}
OUTPUTS = ("normal", "terse")


def output(kind: str) -> str:
    return (SAMPLES / f"{NAME}-{kind}.txt").read_text()


def read(text: str, beside: Beside = BESIDE, name: str = "x") -> ParsedResult:
    return parse(name, text.encode(), beside)


def cells(result: ParsedResult) -> set[tuple[str, str]]:
    return {(value.test, value.load) for value in result.values if value.test.endswith("_iops")}


OURS = {("random_8k_read_iops", "iodepth=8")}
THEIRS = {("theirs_read_iops", "")}
UNSURE = {("random_8k_cache-unknown_read_iops", "iodepth=8")}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_each_output_has_the_names_and_settings_of_the_json(kind: str) -> None:
    exact, result = read(output("json")), read(output(kind))
    assert cells(exact) == cells(result) == OURS
    assert result.modes == exact.modes
    assert ("Jobs", "theirs") in result.facts
    assert {value.test for value in result.values} < {value.test for value in exact.values}
    assert not {warning.code for warning in result.warnings} & {
        *("fio_work_unsaid", "fio_cache_unsaid")
    }
    assert dict(result.beside) == dict(BESIDE)


def test_a_log_has_the_name_of_the_job_that_writes_it() -> None:
    name = f"{NAME}_lat.1.log"
    text = (SAMPLES / name).read_text()
    result = read(text, name=name)
    assert {(value.test, value.load) for value in result.values} == {
        ("random_8k_read_lat_log", "iodepth=8")
    }
    assert result.modes == read(output("json")).modes
    for other in ({}, {"a.fio": jobs_in(JOB_FILE.replace("write_lat", "write_hist").split("\n"))}):
        [value] = read(text, other, name).values
        assert (value.test, value.load) == ("fio-3.33-8k_read_lat_log", "")
    two = JOB_FILE + JOB_FILE.split("[theirs]")[1].join(["\n[b]", "stonewall\n"])
    assert {
        value.load for value in read(text, {"a.fio": jobs_in(two.split("\n"))}, name).values
    } == {""}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_a_job_file_above_an_output_says_the_same(kind: str) -> None:
    shown = f"$ cat {NAME}.fio\n{JOB_FILE}\n$ fio {NAME}.fio --eta=never\n{output(kind)}"
    assert cells(read(shown, {})) == OURS
    assert cells(read(JOB_FILE + output(kind), {})) == OURS
    other = JOB_FILE.replace("bs=8k", "bs=256k").replace("direct=1", "direct=0")
    assert cells(read(f"{other}\n{output(kind)}", {})) != OURS


def test_an_output_alone_says_what_it_leaves_open() -> None:
    report = read(output("normal"), {})
    assert cells(report) == UNSURE
    assert [warning.code for warning in report.warnings if warning.code] == ["fio_cache_unsaid"]
    line = read(output("terse"), {})
    assert cells(line) == THEIRS
    assert [warning.code for warning in line.warnings] == ["fio_work_unsaid"]


def test_the_page_cache_that_nobody_names_is_unknown_and_covers_nothing() -> None:
    found = of_fio_name(*UNSURE.copy().pop())
    assert found is not None
    assert (found[0].direct, found[0].block_bytes, found[0].depth) == (None, 8192, 8)
    assert of_stored(*UNSURE.copy().pop()) is None


def test_two_reports_that_leave_much_open_are_no_repeats() -> None:
    text = output("normal")
    assert read(text, {}).modes != read(text.replace("theirs", "other"), {}).modes


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("normal", ("bs=8k", "bs=16k")),
        ("normal", ("iodepth=8", "iodepth=4")),
        ("normal", ("libaio", "psync")),
        ("normal", ("iodepth=8", "iodepth=8\nnumjobs=4")),
        *(
            (kind, change)
            for kind in OUTPUTS
            for change in [
                ("[theirs]", "[another]"),
                ("rw=randread", "rw=randwrite"),
                ("bs=8k", "bs=${BLOCK}"),
                ("[theirs]", "[beside]\nrw=read\n[theirs]"),
            ]
        ),
    ],
)
def test_a_job_file_that_is_of_another_run_names_nothing(
    kind: str, change: tuple[str, str]
) -> None:
    beside = {"a.fio": jobs_in(JOB_FILE.replace(*change).split("\n"))}
    assert cells(read(output(kind), beside)) in (UNSURE, THEIRS)


def test_a_command_names_its_job_file() -> None:
    other = {"other.fio": jobs_in(JOB_FILE.replace("bs=8k", "bs=64k").split("\n"))}
    text = output("terse")
    assert cells(read(f"$ fio --minimal /x/{NAME}.fio\n{text}", other | BESIDE)) == OURS
    assert cells(read(f"$ fio --minimal /x/{NAME}.fio\n{text}", other)) == THEIRS
    assert cells(read(text, other | BESIDE)) == THEIRS, "the files say two things"
    assert cells(read(f"$ fio --bs=4k {NAME}.fio\n{text}", BESIDE)) == THEIRS


def test_options_in_a_job_file_are_read_as_fio_does() -> None:
    text = "[GLOBAL]\n# first\nbs = 4k\n[a]\nrw=read\n[global]\nbs=8k\ntime_based\n"
    text += "[b]\nrw=write\nstonewall\n"
    jobs = jobs_in(text.split("\n"))
    assert jobs == {
        "a": {"bs": "4k", "name": "a", "rw": "read"},
        "b": {"bs": "8k", "time_based": "", "name": "b", "rw": "write", "stonewall": ""},
    }
    many = "[global]\nrw=read\nstonewall\n" + "".join(f"[j{n}]\n" for n in range(100_000))
    begun = time.process_time()
    assert jobs_in([*many.split("\n"), "[last]", "rw=read"]) == {}
    assert time.process_time() - begun < 2
    assert jobs_in(["[section]", "key=value"]) == {}
    assert jobs_in(text.replace("stonewall\n", "").split("\n")) == {}, "they ran at once"


def test_many_jobs_above_many_lines_are_read_in_linear_time() -> None:
    jobs = "".join(f"[j{n}]\nrw=read\nstonewall\n" for n in range(400))
    line = output("terse").replace("theirs", "j399")
    text = f"{jobs}$ fio a.fio --minimal\n{line * 500}"
    begun = time.process_time()
    read(text, {})
    assert time.process_time() - begun < 2
