"""The IOzone matrix: its cells, its bounds, and the command it stands for."""

import pytest

from fsbench_web.core.workloads import ParameterError, Place, Workload, presets, workload_of
from fsbench_web.core.workloads.iozone import Iozone


def matrix(**changes: object) -> Workload:
    sizes = {
        "minimum_record_kb": 4,
        "maximum_record_kb": 64,
        "minimum_file_kb": 16,
        "maximum_file_kb": 64,
    }
    return Iozone(**(sizes | changes))  # type: ignore[arg-type]


def test_every_cell_fits_its_file() -> None:
    assert list(matrix().cells()) == [
        *((4, 16), (8, 16), (16, 16)),
        *((4, 32), (8, 32), (16, 32), (32, 32)),
        *((4, 64), (8, 64), (16, 64), (32, 64), (64, 64)),
    ]


def test_the_paper_has_its_matrix() -> None:
    cells = list(presets()["iozone-paper"].workload().cells())
    assert cells[0] == (1, 4)
    assert cells[-1] == (1024, 4194304)
    # 21 file sizes from 4 KB to 4 GB; 3 to 10 record sizes fit below 1 MB, 11 from there on.
    assert len(cells) == sum(range(3, 11)) + 13 * 11
    assert len(cells) == len(set(cells))


def test_the_command_names_the_matrix_of_the_paper() -> None:
    every = matrix(direct_io=True, include_flush=True, include_close=True)
    (command,) = every.commands(Place("/m"))
    assert list(command.argv) == [
        *("iozone", "-a", "-z", "-i", "0", "-i", "1", "-i", "2"),
        *("-y", "4k", "-q", "64k", "-n", "16k", "-g", "64k", "-I", "-e", "-c"),
        *("-f", "/m/fsbench.work.iozone"),
    ]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"minimum_record_kb": 0}, "smallest record must be 1 to"),
        ({"minimum_record_kb": 3}, "power of two"),
        ({"maximum_record_kb": 2}, "largest record must be 4 KB or more"),
        ({"maximum_record_kb": 32768}, "largest record"),
        ({"maximum_file_kb": 8}, "largest file must be 16 KB or more"),
        ({"minimum_record_kb": 64, "minimum_file_kb": 4, "maximum_file_kb": 32}, "No record fits"),
        ({"minimum_record_kb": 2, "direct_io": True}, "4 KB or more"),
        ({"time_limit_s": 1}, "time limit"),
    ],
)
def test_what_cannot_be_run_is_refused_in_words(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        matrix(**changes)


def test_stored_parameters_are_checked_again() -> None:
    assert workload_of("iozone", presets()["iozone-small"].parameters).maximum_file_kb == 4096
    with pytest.raises(ParameterError, match="cannot run"):
        workload_of("nosuch", {})
    with pytest.raises(ParameterError, match="no parameter modes"):
        workload_of("iozone", {"modes": []})
    with pytest.raises(ParameterError, match="not complete"):
        workload_of("iozone", {"minimum_record_kb": 4})


@pytest.mark.parametrize("value", ["4", 4.5, None, True, []])
def test_parameters_of_another_type_are_refused(value: object) -> None:
    with pytest.raises(ParameterError):
        workload_of("iozone", {**presets()["iozone-small"].parameters, "minimum_record_kb": value})


@pytest.mark.parametrize(
    ("name", "value"), [("direct_io", "no"), ("include_close", 1), ("time_limit_s", True)]
)
def test_flags_and_the_time_limit_are_what_they_say(name: str, value: object) -> None:
    with pytest.raises(ParameterError):
        workload_of("iozone", {**presets()["iozone-small"].parameters, name: value})
