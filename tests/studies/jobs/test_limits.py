"""What memory and its limits do to a job."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers import capacity
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import planned
from fsbench_web.studies.views.job_review import review_context
from tests.studies.conftest import worker_announcement

USABLE = {"usable": True, "version": "1.0", "path": "/usr/bin/it", "reason": ""}
TOOLS = {"fio": USABLE, "stress-ng": USABLE}


@pytest.fixture
def with_fio(worker: Worker) -> Callable[..., Worker]:
    """``with_fio(executor, memory)`` announces the worker of ``spec`` anew, with fio."""

    def again(executor: str, memory: str) -> Worker:
        announcement = worker_announcement()
        return announce(
            worker_announcement(
                executor=executor,
                capabilities={**announcement.capabilities, "tools": TOOLS},
                hardware=[["Memory", memory], ["Processors online", "4"]],
            )
        )

    return again


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7.5 GiB", int(7.5 * 2**30)),
        ("512 MB", 2**29),
        ("16 GB (4 x 4 GB)", None),
        ("much", None),
        ("", None),
    ],
)
def test_memory_is_what_the_hardware_profile_says(
    worker: Worker, text: str, expected: int | None
) -> None:
    again = announce(worker_announcement(hardware=[["CPU", "x"], ["Memory", text]]))
    assert capacity.memory_bytes(again) == expected


def _pgmeter(spec: Callable[..., JobSpec], **parameters: Any) -> JobSpec:
    configurations = spec().configurations[:1]
    return spec(workload="pgmeter-small", parameters=parameters, configurations=configurations)


def test_the_review_warns_of_files_that_fit_into_memory(
    with_fio: Callable[..., Worker], spec: Callable[..., JobSpec]
) -> None:
    with_fio("docker", "4.0 GiB")
    request = _pgmeter(spec)
    warnings = review_context(request, planned(request), "t")["memory_warnings"]
    assert warnings == [
        "pgmeter's files have 32 MiB together, and 4,096 MiB of memory can hold all of them: this "
        "measures the cache. The paper's files were at least 2 times the memory. Make the files "
        "larger, or set the memory limit to 64 MiB."
    ]
    request = spec(workload="fio-8k-small", parameters={"direct": False})
    (warning,) = review_context(request, planned(request), "t")["memory_warnings"]
    assert "4,096 MiB of memory" in warning
    request = spec(workload="fio-8k-small")
    assert review_context(request, planned(request), "t")["memory_warnings"] == []
    request = _pgmeter(spec, file_mb=200, memory_mb=100)
    assert review_context(request, planned(request), "t")["memory_warnings"] == []


def test_review_and_preview_warn_where_data_compress_on_a_file_system_that_compresses(
    worker: Worker, spec: Callable[..., JobSpec]
) -> None:
    announcement = worker_announcement()
    filesystems = {**announcement.capabilities["filesystems"], "btrfs": {"usable": True}}
    capabilities = {**announcement.capabilities, "filesystems": filesystems, "tools": TOOLS}
    announce(worker_announcement(capabilities=capabilities))
    written = {"preallocate": False}
    for options, parameters, message in (
        ({"compression": "zstd"}, written | {"compress_percent": 40}, "compress by 40%"),
        ({"compression": "zstd"}, written, ""),
        ({"compression": "zstd"}, {"compress_percent": 40}, "Btrfs compresses nothing"),
        ({}, {"compress_percent": 40}, ""),
    ):
        btrfs = ConfigurationSpec("btrfs", options, "none")
        request = spec(workload="fio-4k-small", parameters=parameters, configurations=(btrfs,))
        warnings = review_context(request, planned(request), "t")["data_warnings"]
        assert len(warnings) == bool(message)
        assert message in "".join(warnings)


def test_the_review_says_where_nothing_can_be_mounted_anew(
    with_fio: Callable[..., Worker], spec: Callable[..., JobSpec]
) -> None:
    worker = with_fio("local", "4.0 GiB")
    folder = worker.luns.get(name="folder1")
    plain = ConfigurationSpec("ext4", {}, "")
    for workload, lun, is_warned in (
        ("pgmeter-small", folder, True),
        ("pgmeter-small", worker.luns.get(name="disk1"), False),
        ("mongo-small", folder, False),
    ):
        scheduler = "none" if lun.schedulers else ""
        configurations = (replace(plain, scheduler=scheduler),)
        request = spec(workload=workload, lun_id=lun.pk, configurations=configurations)
        context = review_context(request, planned(request), "t")
        assert context["remounts_nothing"] == is_warned


def test_memory_cannot_be_limited_without_a_container(
    with_fio: Callable[..., Worker], spec: Callable[..., JobSpec]
) -> None:
    with_fio("local", "4.0 GiB")
    with pytest.raises(JobRefused) as refused:
        planned(_pgmeter(spec, memory_mb=100))
    assert "cannot limit their memory: set the memory limit to 0" in str(refused.value.problems)
    assert planned(_pgmeter(spec))


def test_no_more_cpus_can_be_asked_for_than_there_are(
    with_fio: Callable[..., Worker], spec: Callable[..., JobSpec]
) -> None:
    with_fio("docker", "4.0 GiB")
    with pytest.raises(JobRefused) as refused:
        planned(spec(workload="multiuser-freenix"))
    assert "asks for 28 CPUs, and the worker lab1 has 4: choose fewer" in str(
        refused.value.problems
    )
    assert planned(spec(workload="multiuser-scaled"))
