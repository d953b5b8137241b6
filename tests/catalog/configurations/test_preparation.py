import subprocess
from pathlib import Path

import pytest

from fsbench_web.catalog.configurations.commands.filesystem import mkfs_command
from fsbench_web.catalog.configurations.commands.run import run_commands
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.configurations.preparation import (
    PLAIN,
    Preparation,
    PreparationError,
    has_sprandom,
    in_words,
)
from fsbench_web.core.workloads import MOUNT_POINT, presets

MIB = 2**20
MATRIX = presets()["iozone-small"].workload()


def commands(preparation: Preparation, size_bytes: int | None = 100 * MIB) -> dict[str, list[str]]:
    steps = run_commands(
        *("ext4", {}, MATRIX, "/dev/x", MOUNT_POINT, True),
        preparation=preparation,
        size_bytes=size_bytes,
    )
    return {command.phase: list(command.argv) for command in steps}


def test_what_is_stored_is_what_was_asked_for() -> None:
    for preparation in (PLAIN, Preparation(True, True, 40), Preparation(fill_percent=90)):
        assert Preparation.of(preparation.stored()) == preparation
    assert PLAIN.stored() == {}
    assert Preparation(fill_percent=5).stored() == {"fill_percent": 5}


@pytest.mark.parametrize(
    "bad",
    [
        {"fill_percent": 91},
        {"fill_percent": -1},
        {"fill_percent": 1.5},
        {"fill_percent": True},
        {"fill_percent": "; reboot"},
        {"discard": "yes"},
        {"precondition": 1},
        {"format": True},
        {"age_extents": 150},
    ],
)
def test_what_cannot_be_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(PreparationError) as refused:
        Preparation.of(bad)
    assert ".." not in str(refused.value)


def test_it_is_said_in_words_also_what_is_not_known_any_more() -> None:
    assert in_words({}) == ""
    assert in_words({"discard": True, "fill_percent": 50}) == "discarded, filled to 50%"
    assert in_words({"polish": 3}) == "polish 3"


def test_the_commands_come_in_the_order_in_which_they_make_sense() -> None:
    assert list(commands(Preparation(True, True, 50))) == [
        *("discard", "precondition", "mkfs", "mount", "fill", "benchmark", "sync", "unmount")
    ]
    assert list(commands(PLAIN)) == ["mkfs", "mount", "benchmark", "sync", "unmount"]


def test_the_whole_lun_is_written_but_its_label() -> None:
    dd = commands(Preparation(precondition=True))["precondition"]
    assert f"count={99 * MIB}" in dd
    assert "seek=1" in dd
    assert "of=/dev/x" in dd


def test_a_lun_that_was_unplugged_is_not_made_as_a_file(tmp_path: Path) -> None:
    """It would fill the memory that /dev is, up to the size of the LUN."""
    dd = commands(Preparation(precondition=True), 3 * MIB)["precondition"]
    gone = tmp_path / "gone"
    done = subprocess.run(
        [word.replace("/dev/x", str(gone)) for word in dd], capture_output=True, check=False
    )
    assert done.returncode != 0
    assert not gone.exists()


@pytest.mark.parametrize("filesystem", [slug for slug in FILESYSTEMS if slug != "zfs"])
def test_mkfs_leaves_alone_what_was_written_once(filesystem: str) -> None:
    """Some discard nothing; mke2fs(8) counts its last -E alone."""
    plain, keeping = (
        mkfs_command(filesystem, {}, "/dev/x", keeps_blocks=keeps) for keeps in (False, True)
    )
    assert (plain == keeping) == (filesystem in ("jfs", "reiser3", "exfat", "ntfs3", "bcachefs"))
    assert keeping.count("-E") <= 1
    assert not any("nodiscard" in word or word == "-K" for word in plain)
    steps = run_commands(
        *(filesystem, {}, MATRIX, "/dev/x", MOUNT_POINT, True),
        preparation=Preparation(precondition=True),
        size_bytes=600 * MIB,
    )
    assert [list(command.argv) for command in steps if command.phase == "mkfs"] == [keeping]


def test_a_lun_of_unknown_size_cannot_be_written_once() -> None:
    with pytest.raises(PreparationError, match="size is not known"):
        commands(Preparation(precondition=True), size_bytes=None)


@pytest.mark.parametrize(
    "preparation",
    [Preparation(discard=True), Preparation(precondition=True), Preparation(fill_percent=1)],
)
def test_a_directory_takes_no_preparation(preparation: Preparation) -> None:
    with pytest.raises(PreparationError, match="A directory LUN"):
        run_commands("ext4", {}, MATRIX, "/srv/x", "/srv/x", False, preparation=preparation)
    assert run_commands("ext4", {}, MATRIX, "/srv/x", "/srv/x", False)


def test_a_file_system_is_aged_at_a_fill_level() -> None:
    aged = Preparation(fill_percent=40, age_rounds=3, age_extents=150)
    assert Preparation.of(aged.stored()) == aged
    assert aged.words() == ["filled to 40%", "aged for 3 rounds or 1.5 extents a file"]
    assert aged.written_bytes(1000) == 1600
    by_phase = commands(aged)
    assert by_phase["fill"] == [
        *("fsbench-aging", "/mnt/fsbench/fsbench.fill", "--percent=40", "--rounds=3"),
        *("--extents=150", "--seed=1"),
    ]
    assert by_phase["layout"] == ["fsbench-layout", "/mnt/fsbench", "/dev/x", "ext4"]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"age_rounds": 2}, "say fill_percent, too"),
        ({"fill_percent": 40, "age_extents": 150}, "say age_rounds, too"),
        ({"fill_percent": 40, "age_rounds": 101}, "less than or equal to 100"),
    ],
)
def test_ageing_that_cannot_be_is_refused(bad: dict[str, int], words: str) -> None:
    with pytest.raises(PreparationError, match=words):
        Preparation.of(bad)


def test_written_twice_is_two_passes_of_the_same_command() -> None:
    twice = Preparation(precondition=True, precondition_twice=True)
    assert twice.words() == ["written twice"]
    assert twice.stored() == {"precondition": True, "precondition_twice": True}
    steps = run_commands(
        *("ext4", {}, MATRIX, "/dev/x", MOUNT_POINT, True), preparation=twice, size_bytes=100 * MIB
    )
    first, second, third = steps[:3]
    assert first == second
    assert (first.phase, third.phase) == ("precondition", "mkfs")
    with pytest.raises(PreparationError, match="needs precondition"):
        Preparation(precondition_twice=True)


def test_sprandom_writes_behind_the_label_and_makes_no_file(tmp_path: Path) -> None:
    fio = commands(Preparation(sprandom_percent=15), 3 * MIB)["precondition"]
    assert {"--filename=/dev/x", f"--offset={MIB}", f"--size={2 * MIB}", "--spr_op=0.15"} <= set(
        fio
    )
    gone = tmp_path / "gone"
    # What a fio of before 3.41 knows of it.
    of_old_fio = [word for word in fio if not word.startswith(("--spr", "--random_generator"))]
    done = subprocess.run(
        [word.replace("/dev/x", str(gone)) for word in of_old_fio], capture_output=True, check=False
    )
    assert done.returncode != 0
    assert not gone.exists()


def test_sprandom_is_one_pass_instead_of_writing_once() -> None:
    preparation = Preparation(sprandom_percent=7)
    assert preparation.passes == 1
    assert preparation.words() == ["written by sprandom for 7% over-provisioning"]
    assert preparation.stored() == {"sprandom_percent": 7}
    with pytest.raises(PreparationError, match="leave precondition out"):
        Preparation(precondition=True, sprandom_percent=7)
    # fio keeps in memory what grows with a region: of large disks there are more, not larger ones.
    for size_bytes, regions in ((3 * MIB, 100), (16 * 1024**4, 2048)):
        large = commands(preparation, size_bytes)["precondition"]
        assert f"--spr_num_regions={regions}" in large
    by_phase = commands(Preparation(discard=True, sprandom_percent=7))
    assert list(by_phase)[:3] == ["discard", "precondition", "mkfs"]
    assert any("nodiscard" in word for word in by_phase["mkfs"])


@pytest.mark.parametrize(
    ("version", "has"),
    [("3.33", False), ("3.40", False), ("3.41", True), ("3.41-12-gabc", True), ("4.0", True)],
)
def test_sprandom_is_of_fio_3_41_and_later(version: str, has: bool) -> None:
    assert has_sprandom(version) == has
    assert not has_sprandom("")
