"""Jobs whose files cannot fit: told file system by file system, before a disk is erased."""

import pytest

from fsbench_web.catalog.configurations.journals import MIB
from fsbench_web.catalog.models import Lun
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, ReferenceSpec
from fsbench_web.studies.jobs.submitting import planned

pytestmark = pytest.mark.django_db

# The workload of ``spec``: a largest file of 512 MiB and a tenth more.
FILE_KB = {"parameters": {"maximum_file_kb": 512 * 1024}}
NEEDED = int(512 * MIB * 1.1)


def refused(spec, lun: Lun, size_bytes: int, **more) -> list[str]:
    """What is said of room where the LUN has this size; nothing else may be wrong with it."""
    Lun.objects.filter(pk=lun.pk).update(size_bytes=size_bytes)
    try:
        plan = planned(spec(**FILE_KB, **more))
    except JobRefused as error:
        return error.problems
    assert plan.runs[0].workload[1].space_needed_bytes() == NEEDED
    return []


@pytest.fixture
def lun(worker) -> Lun:
    return worker.luns.get(name="disk1")


def only(filesystem: str, **more) -> dict[str, object]:
    return {"configurations": (ConfigurationSpec(filesystem, scheduler="none", **more),)}


def test_each_file_system_says_how_much_it_leaves_at_most(spec, lun) -> None:
    # Of 600 MiB ext4 takes 5%, 1/64 for inodes and 16 MiB of journal: 544.6 MiB are left, and
    # XFS 3% and a log of 10 MiB: 572 MiB. 563.2 are needed.
    assert refused(spec, lun, 600 * MIB, **only("xfs")) == []
    [problem] = refused(spec, lun, 600 * MIB)  # ext4 and XFS
    assert "need 563.2 MiB with what they add. Of the 600 MiB of disk1" in problem
    assert "at most ext4 leaves 544.6 MiB: make the files smaller" in problem
    assert "XFS" not in problem
    [problem] = refused(spec, lun, 580 * MIB)
    assert "ext4 leaves 525.9 MiB; XFS leaves 552.6 MiB" in problem


def test_what_may_fit_is_not_refused(spec, lun) -> None:
    # 0.934375 of 625 MiB and 16 MiB of journal: 567.98 MiB.
    assert refused(spec, lun, 625 * MIB, **only("ext4")) == []
    # Nine tenths were enough for all that fsbench knew before; ext4's journal may be elsewhere.
    assert refused(spec, lun, 604 * MIB, **only("ext2")) == []
    assert refused(spec, lun, 604 * MIB, **only("ext4")) != []
    assert refused(spec, lun, 604 * MIB, **only("ext4", options={"journal_size_mb": "4"})) != []
    assert refused(spec, lun, 608 * MIB, **only("ext4", options={"journal_size_mb": "4"})) == []


def test_files_larger_than_the_lun_are_no_matter_of_file_systems(spec, lun) -> None:
    [problem] = refused(spec, lun, NEEDED - 1)
    assert "and disk1 has 563.2 MiB: make them smaller, or choose a larger LUN" in problem
    assert "ext4" not in problem


def test_a_directory_has_its_file_system_already(spec, lun) -> None:
    Lun.objects.filter(pk=lun.pk).update(kind=Lun.Kind.DIRECTORY)
    assert not any("larger LUN" in problem for problem in refused(spec, lun, NEEDED))


def test_the_reference_has_to_fit_too(spec, lun) -> None:
    reference = ReferenceSpec(ConfigurationSpec("ext4", scheduler="none"), every=2)
    [problem] = refused(spec, lun, 600 * MIB, **only("xfs"), reference=reference)
    assert "ext4 leaves 544.6 MiB" in problem


def test_sizes_that_read_alike_say_by_how_much_it_is_too_little(spec, lun) -> None:
    changes = {"parameters": {"maximum_file_kb": 16 * 1024 * 1024}}  # 17.6 GiB
    # ext2 takes 6.5625% of 19,284 MiB: 18,018.5 MiB are left, and 18,022.4 are needed.
    Lun.objects.filter(pk=lun.pk).update(size_bytes=19_284 * MIB)
    with pytest.raises(JobRefused) as error:
        planned(spec(**changes, **only("ext2")))
    [problem] = error.value.problems
    assert "need 17.6 GiB" in problem
    assert "ext2 leaves 17.6 GiB (4 MiB too few)" in problem


def test_parameters_that_ask_for_more_time_than_the_limit_are_refused(spec) -> None:
    """Five tests of 1 + 6 s at 2 loads are 70 s."""
    own = {"outstanding": [1, 4], "time_limit_s": 60}
    with pytest.raises(JobRefused) as caught:
        planned(spec(workload="pgmeter-small", parameters=own))
    assert any(
        "its parameters ask for 1 min 10 s, and its time limit is 1 min" in problem
        for problem in caught.value.problems
    )
    with pytest.raises(JobRefused) as caught:
        planned(spec(workload="pgmeter-small", parameters={**own, "time_limit_s": 70}))
    assert "fio" in " ".join(caught.value.problems)
    assert "time limit" not in " ".join(caught.value.problems)
