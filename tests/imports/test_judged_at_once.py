"""An import judges new numbers together with the stored ones.

Of tools' own output ``test_tool_output`` shows it, file by file.
"""

from pathlib import Path

import pytest

from fsbench_web.studies.models import Run
from tests.importing import import_files
from tests.measured import judged_again, judged_now, measured

pytestmark = pytest.mark.django_db
SAMPLES = Path(__file__).parents[1] / "core/formats/samples"
CELLS = [(record, size) for size in (64, 128, 256, 512) for record in (4, 8, 16, 32, 64)]


def import_run(name: str, data: bytes, configuration: str = "ext4") -> int:
    """The run that a file became, or was added to."""
    result = import_files(
        [(name, data)], study="Lab", filesystem="ext4", configuration=configuration, user=None
    )
    [run] = result.runs
    return run


def repeat_of(factor: float, odd: float = 1.0) -> bytes:
    """Twenty numbers, some kB/s apart; the last is ``odd`` times what it would be."""
    values = [1000 + 10 * place for place, _ in enumerate(CELLS)]
    values[-1] *= odd
    rows = [
        f"write,{record},{size},{value * factor:.1f},KB/s"
        for (record, size), value in zip(CELLS, values, strict=True)
    ]
    return "\n".join(["test,record_size_kb,file_size_kb,value,unit", *rows]).encode()


def flags_of(run: int) -> list[list[str] | None]:
    return [measurement.flags for measurement in measured() if measurement.run_id == run]


def test_a_further_repeat_changes_the_flags_of_those_before() -> None:
    first = import_run("a.csv", repeat_of(1, odd=1.15))
    second = import_run("b.csv", repeat_of(1.001))
    assert flags_of(first) == [None] * 20  # of two nobody knows which is odd
    for number in range(2, 6):
        import_run(f"{number}.csv", repeat_of(1 + number / 1000))
    assert flags_of(first) == [None] * 19 + [["outlier"]]
    assert flags_of(second) == [None] * 20
    at_import = judged_now()
    assert judged_again() == at_import


def test_a_further_part_of_a_run_is_judged_with_what_the_run_has() -> None:
    lines = repeat_of(1).splitlines()
    first = import_run("a.csv", b"\n".join(lines[:11]))
    second = import_run("b.csv", b"\n".join([lines[0], *lines[11:]]))
    assert first == second
    import_run("c.csv", repeat_of(1.1))
    at_import = judged_now()
    assert judged_again() == at_import
    assert Run.objects.count() == 2


@pytest.mark.parametrize("others", [(), ("postmark-two-reports.txt",)])
def test_what_the_clock_of_postmark_limits_is_flagged_at_once(others: tuple[str, ...]) -> None:
    for name in others:
        data = (SAMPLES / name).read_bytes()
        import_files(
            [(name, data)], study="Lab", filesystem="ext4", configuration="ext4", user=None
        )
    run = import_run("a.txt", (SAMPLES / "postmark-1.51.txt").read_bytes())
    assert set(map(str, flags_of(run))) == {"['clock']"}
