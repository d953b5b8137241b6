"""Cells that several workloads measured in one way are one measurement, in every answer alike."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from fsbench_web.accounts.models import Role
from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workloads.stored import stored_workload
from fsbench_web.compare.history import lines
from fsbench_web.compare.profiles import records
from fsbench_web.compare.profiles.order import find_missing
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import comparison
from fsbench_web.core.formats import ParsedValue
from fsbench_web.core.scoring.profiles.definition import from_dict
from fsbench_web.core.workloads import presets
from fsbench_web.core.workloads.iozone import Iozone
from fsbench_web.studies.models import Run, Series
from fsbench_web.studies.series import series_for
from tests.accounts.people import person
from tests.compare.conftest import make_study
from tests.studies.scores.test_cells import finished

pytestmark = pytest.mark.django_db
KERNEL = "6.1.0-18-amd64"
SMALL_CELL, LARGE_CELL = (64, 4096), (128, 8192)
SMALL_ORDER = ("64", "4096")
ORDER = "/compare/order/?study=lab&profile=duo"


def part(cell: tuple[int, int]) -> dict[str, Any]:
    block, file = cell
    return {
        **{"operation": "write", "weight": 1},
        **{"block_sizes_kb": [block, block], "file_sizes_kb": [file, file]},
    }


@pytest.fixture(autouse=True)
def duo() -> None:
    parts = [part(SMALL_CELL), part(LARGE_CELL)]
    profile = {"title": "Duo", "together": "ratio", "parts": parts}
    records.create(from_dict(profile), person(Role.CONTRIBUTOR, "ada"))


@pytest.fixture
def lun() -> Lun:
    now = timezone.now()
    worker = Worker.objects.create(
        name="lab9", started_at=now, seen_at=now, capabilities={"kernel": KERNEL}
    )
    return Lun.objects.create(
        **{"worker": worker, "name": "sdb", "device": "/dev/sdz", "role": Lun.Role.DATA},
        **{"kind": Lun.Kind.DEVICE, "size_bytes": 64 * 2**30, "announced_at": now},
    )


def small(**changes: Any) -> Iozone:
    return Iozone(**{**presets()["iozone-small"].parameters, **changes})


def single(cell: tuple[int, int] = LARGE_CELL, **changes: Any) -> Iozone:
    block, file = cell
    return Iozone(
        **{"minimum_record_kb": block, "maximum_record_kb": block},
        **{"minimum_file_kb": file, "maximum_file_kb": file},
        **changes,
    )


def measured(
    filesystem: str, workload: Iozone, cell: tuple[int, int], *speeds: float, **place: Any
) -> Series:
    row = stored_workload("iozone-small", workload)
    place = {"kernel": KERNEL} | place
    series = series_for(make_study("lab"), configuration_for(filesystem, {}), workload=row, **place)
    for speed in speeds:
        finished(series, ParsedValue("write", *cell, speed, "KB/s", 1))
    return series


def comparison_of(query: str = "profile=duo"):
    return comparison(ComparisonSpec.from_query(query))


def in_blocks(*serieses: Series, shared: bool) -> None:
    for series in serieses:
        for place, run in enumerate(series.runs.order_by("pk")):
            block = f"b{place}" if shared else f"{series.pk}-{place}"
            Run.objects.filter(pk=run.pk).update(block=block)


@pytest.mark.parametrize("blocks", ["", "shared", "of each job"])
def test_two_jobs_of_one_matrix_complete_a_profile(client: Client, blocks: str) -> None:
    serieses = []
    for filesystem, speed in (("ext4", 100.0), ("xfs", 200.0)):
        serieses += [
            measured(filesystem, small(), SMALL_CELL, speed - 1, speed + 1),
            measured(filesystem, single(), LARGE_CELL, 2 * speed - 1, 2 * speed + 1),
        ]
    if blocks:
        in_blocks(*serieses, shared=blocks == "shared")
    work_comparison = comparison_of()
    [table], [answer] = work_comparison.tables, work_comparison.work
    assert answer.headline == "2 of 2 cells of your work measured"
    rows = {row.contender: row for row in table.rows}
    assert rows["xfs"].score == pytest.approx(2)
    assert rows["xfs"].interval.count == 2
    assert len(rows["xfs"].run_ids) == 4
    assert rows["xfs"].workload == "IOzone, small; IOzone, records 128–128 KB, files 8192–8192 KB"
    names = [block for block, _ in rows["xfs"].repeat_scores]
    last = [serieses[2].pk, serieses[3].pk]
    assert (
        names
        == {
            "": ["", ""],
            "shared": ["b0", "b1"],
            "of each job": [f"{last[0]}-{place}+{last[1]}-{place}" for place in (0, 1)],
        }[blocks]
    )
    # Over time it is the same, of either workload's line.
    for series in serieses[:2]:
        query = {"series": series.pk, "test": "work", "category": "profile:duo"}
        point = client.get("/api/v1/history", query).json()["points"][0]
        assert len(point["runs"]) == 4
        line = lines.history(series, "work", "profile:duo@1", "kernel", 10)
        assert line.points[0].interval is not None
        assert line.reference == pytest.approx(1024 * (100 * 200) ** 0.5)


def test_what_both_measured_is_of_the_workload_with_more_cells() -> None:
    series = measured("ext4", small(maximum_record_kb=128, maximum_file_kb=8192), SMALL_CELL, 100)
    finished(series, ParsedValue("write", *LARGE_CELL, 100, "KB/s", 1))
    Run.objects.filter(series=series).last().delete()
    finished(
        series,
        ParsedValue("write", *SMALL_CELL, 100, "KB/s", 1),
        ParsedValue("write", *LARGE_CELL, 100, "KB/s", 1),
    )
    measured("ext4", single(), LARGE_CELL, 9000)
    [row] = comparison_of().tables[0].rows
    assert row.workload.startswith("IOzone, records 4–128 KB")


def test_cells_of_other_parameters_stay_apart_and_it_is_said(client: Client, lun: Lun) -> None:
    series = measured("ext4", small(include_close=True), SMALL_CELL, 100, lun=lun)
    measured("ext4", single(), LARGE_CELL, 100, lun=lun)
    work_comparison = comparison_of()
    assert work_comparison.tables == []
    [answer] = work_comparison.work
    assert answer.headline == (
        "2 of 2 cells of your work measured, all of them in one way by 0 of 1 entry"
    )
    [coverage] = answer.coverage
    title = "IOzone, records 4–64 KB, files 64–4096 KB, with close"
    assert coverage.why == (
        f"1 of 2 cells were measured by another workload alone ({title}), which measures in "
        "another way or does not say how"
    )
    assert coverage.missing == (f"write, 64 KB in 4 MB, measured by {title}",)
    assert client.get("/api/v1/deltas?profile=duo").json()["work"][0]["apart"] == 1
    page = client.get("/compare/?study=lab&profile=duo").content.decode()
    assert "measured by another workload alone" in page
    response = client.get(
        "/api/v1/history", {"series": series.pk, "test": "work", "category": "profile:duo"}
    )
    assert (
        "in one way: write, 128 KB in 8 MB was measured by another workload alone"
        in (response.json()["problem"])
    )


@pytest.mark.parametrize(
    ("how", "place", "ordered"),
    [
        ({}, {}, ("128", "8192")),
        # Its job could not be put together with what is there, so that it measures both.
        ({"include_close": True}, {}, SMALL_ORDER),
        ({}, {"kernel": "5.10"}, SMALL_ORDER),
        ({}, {"preparation": {"fill_percent": 50}}, SMALL_ORDER),
    ],
)
def test_what_is_ordered_completes_the_profile(
    lun: Lun, how: dict[str, Any], place: dict[str, Any], ordered: tuple[str, str]
) -> None:
    measured("ext4", small(**how), SMALL_CELL, 100, **{"lun": lun, **place})
    client = Client()
    client.force_login(person(Role.OPERATOR, "op"))
    answer = client.get(ORDER)
    query = parse_qs(urlsplit(answer["Location"]).query)
    messages = [str(message) for message in get_messages(answer.wsgi_request)]
    is_whole = ordered == SMALL_ORDER
    assert [
        message.startswith("Measured again, too: write, 64 KB in 4 MB.") for message in messages
    ] == ([True] * is_whole)
    [slug] = query["workload"]
    parameters = {
        key.removeprefix(f"{slug}."): value for key, [value] in query.items() if "." in key
    }
    assert (parameters["minimum_record_kb"], parameters["minimum_file_kb"]) == ordered
    assert (parameters["maximum_record_kb"], parameters["maximum_file_kb"]) == ("128", "8192")
    job = Iozone(**{name: int(parameters[name]) for name in Iozone.sizes})
    series = measured("ext4", job, LARGE_CELL, 100, lun=lun)
    if is_whole:
        finished(
            series,
            *[ParsedValue("write", *cell, 100, "KB/s", 1) for cell in (SMALL_CELL, LARGE_CELL)],
        )
    [answer] = comparison_of().work
    assert answer.is_complete
    assert find_missing(ComparisonSpec.from_query("profile=duo")).demands == ()


def test_of_workloads_as_contenders_a_job_measures_every_cell(lun: Lun) -> None:
    measured("ext4", small(), SMALL_CELL, 100, lun=lun)
    missing = find_missing(ComparisonSpec.from_query("profile=duo&by=workload"))
    assert [(demand.record_kb, demand.file_kb) for demand in missing.demands] == [
        SMALL_CELL,
        LARGE_CELL,
    ]
    assert missing.repeated_demands == missing.demands[:1]


def test_with_and_without_flush_is_measured_by_two_workloads_each_in_its_way() -> None:
    parts = [part(SMALL_CELL) | {"flushed": flushed} for flushed in (True, False)]
    profile = {"title": "Both", "together": "ratio", "parts": parts}
    records.create(from_dict(profile), person(Role.CONTRIBUTOR, "bob"))
    measured("ext4", single(SMALL_CELL), SMALL_CELL, 100)
    assert comparison_of("profile=both").work[0].coverage[0].measured == 1
    measured("ext4", single(SMALL_CELL, include_flush=True), SMALL_CELL, 50)
    assert comparison_of("profile=both").work[0].is_complete


def test_what_was_measured_under_another_kernel_is_said() -> None:
    measured("ext4", small(), SMALL_CELL, 100, kernel="5.10")
    measured("ext4", single(), LARGE_CELL, 100)
    [answer] = comparison_of().work
    assert answer.coverage[0].missing == (
        "write, 64 KB in 4 MB, measured under other circumstances",
    )
