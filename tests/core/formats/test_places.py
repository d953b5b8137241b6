"""Runs of one file that were made in several places: paths are no settings, and may matter."""

from collections.abc import Callable

import pytest

from fsbench_web.core.formats import parse

Sample = Callable[[str], bytes]


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("iozone-3.489-two-places", "(/mnt/ext4/t, /mnt/xfs/t)"),
        ("fio-3.33-two-places", "(/mnt/ext4, /mnt/xfs)"),
    ],
)
def test_runs_in_several_places_are_said_to_be(sample: Sample, name: str, places: str) -> None:
    data = sample(name)
    result = parse("x", data)
    assert result.has_several_places
    assert {value.repeat for value in result.values} == {1, 2}
    assert places in str(result.warnings[0])
    assert not result.warnings[0].is_note
    same = parse("x", data.replace(b"/mnt/xfs", b"/mnt/ext4"))
    assert not same.has_several_places
    assert not any("several places" in str(warning) for warning in same.warnings)


def test_jobs_of_one_report_of_fio_may_have_a_file_each() -> None:
    job = (
        '{"jobname": "%s", "job options": {"filename": "%s"},\n'
        '"read": {"io_bytes": 4096, "bw": 4, "iops": 1.0, "total_ios": 1}}'
    )
    jobs = ",\n".join(job % pair for pair in (("a", "/dev/sda"), ("b", "/dev/sdb")))
    result = parse("x", f'{{"fio version": "fio-3.33",\n"jobs": [\n{jobs}]}}\n'.encode())
    assert not result.has_several_places


def test_the_place_that_ioping_prints(sample: Sample) -> None:
    data = sample("ioping-1.3")
    assert not parse("x", data + data).has_several_places
    title = next(line for line in data.splitlines() if line.startswith(b"---"))
    other = data.replace(title, b"--- /mnt/xfs (xfs /dev/sdb 50.0 GiB) ioping statistics ---")
    assert parse("x", data + other).has_several_places
