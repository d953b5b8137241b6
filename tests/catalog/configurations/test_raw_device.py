"""The raw device as a contender: what is done to it, and what it cannot be asked for."""

import pytest

from fsbench_web.catalog.configurations.commands.filesystem import mkfs_command, mount_command
from fsbench_web.catalog.configurations.commands.run import RAW_FROM_BYTES, run_commands
from fsbench_web.catalog.configurations.filesystems import (
    FILESYSTEMS,
    RAW,
    OptionError,
    validated_options,
)
from fsbench_web.catalog.configurations.journals import JournalLun
from fsbench_web.catalog.configurations.labels import configuration_label, parse_label
from fsbench_web.catalog.configurations.preparation import Preparation, PreparationError
from fsbench_web.catalog.configurations.stacks import DATA, Member
from fsbench_web.core.workloads import Workload, presets
from runner.plan import plan_run

MIB = 2**20


def fio() -> Workload:
    return presets()["fio-4k-small"].workload()


def test_the_benchmark_writes_behind_a_label_of_fsbench_and_nothing_is_mounted() -> None:
    commands = run_commands(RAW, {}, fio(), "/dev/sdx", "/mnt/fsbench", makes_filesystem=True)
    assert {command.phase for command in commands} == {"wipe", "benchmark"}
    wipe, label, layout, *measured = commands
    assert wipe.argv == ("wipefs", "--all", "/dev/sdx")
    assert label.argv[:5] == ("mkfs.ext2", "-q", "-F", "-L", "fsbench")
    assert label.argv[-2:] == ("/dev/sdx", "512k")
    for command in (layout, *measured):
        assert {"--filename=/dev/sdx", f"--offset={MIB}", "--direct=1"} <= set(command.argv)
    assert [command.output for command in measured] == [
        *("fio-read-1.json", "fio-read-8.json", "fio-write-1.json", "fio-write-8.json"),
    ]


def test_a_name_with_colons_is_one_name_to_fio() -> None:
    path = "/dev/disk/by-path/pci-0000:00:05.0"
    commands = run_commands(RAW, {}, fio(), path, "", makes_filesystem=True)
    assert r"--filename=/dev/disk/by-path/pci-0000\:00\:05.0" in commands[-1].argv


def test_its_plan_has_no_folder_and_nothing_to_unmount() -> None:
    plan = plan_run(RAW, {}, "fio-depths", {}, device="/dev/sdx", size_bytes=2**33)
    assert (plan.mount_point, plan.unmount, plan.filesystem) == ("", [], "raw")
    assert plan.is_on_device
    folder = plan_run("ext4", {}, "fio-depths", {}, device="/srv/folder", is_directory=True)
    assert not folder.is_on_device


def test_preparation_comes_before_and_filling_is_refused() -> None:
    once = Preparation(discard=True, precondition=True)
    commands = run_commands(
        *(RAW, {}, fio(), "/dev/sdx", "", True), preparation=once, size_bytes=2**30, probe_s=10
    )
    phases = list(dict.fromkeys(command.phase for command in commands))
    assert phases == ["discard", "precondition", "probe", "wipe", "benchmark"]
    with pytest.raises(PreparationError, match="neither filled nor aged"):
        run_commands(
            *(RAW, {}, fio(), "/dev/sdx", "", True), preparation=Preparation(fill_percent=50)
        )


def test_a_workload_with_files_other_luns_and_a_small_lun_are_refused() -> None:
    files = presets()["postmark-small"].workload()
    with pytest.raises(OptionError, match="needs a file system"):
        run_commands(RAW, {}, files, "/dev/sdx", "", makes_filesystem=True)
    plain = (RAW, {}, fio(), "/dev/sdx", "", True)
    with pytest.raises(OptionError, match="one LUN only"):
        run_commands(*plain, journal=JournalLun("/dev/sdy", 2**30))
    with pytest.raises(OptionError, match="one LUN only"):
        run_commands(*plain, members=[Member(DATA, "/dev/sdy", 2**30)])
    needed = RAW_FROM_BYTES + fio().space_needed_bytes()
    run_commands(*plain, size_bytes=needed)
    with pytest.raises(OptionError, match=f"has {needed - 1}: make its file smaller"):
        run_commands(*plain, size_bytes=needed - 1)


def test_it_is_no_file_system_that_is_made_and_has_no_options() -> None:
    assert RAW not in FILESYSTEMS
    with pytest.raises(OptionError, match="no file system"):
        mkfs_command(RAW, {}, "/dev/sdx")
    with pytest.raises(OptionError, match="no file system"):
        mount_command(RAW, {}, "/dev/sdx", "/mnt")
    with pytest.raises(OptionError, match='no option "atime"'):
        validated_options(RAW, {"atime": "noatime"})


def test_its_label_says_raw_and_the_scheduler() -> None:
    assert configuration_label(RAW, {}, "none") == "raw_none"
    parts = parse_label("raw_none")
    assert parts is not None
    assert (parts.filesystem, parts.scheduler) == (RAW, "none")


def test_which_workloads_can_do_without_a_file_system() -> None:
    can = {slug for slug, preset in presets().items() if preset.workload().takes_device}
    assert can == {
        *("fio-4k", "fio-4k-small", "fio-8k", "fio-8k-small", "fio-stream", "fio-stream-small"),
        *(f"fio-{block}k-small" for block in (16, 64, 128, 256)),
        *("fio-stream-256k-small", "fio-stream-512k-small"),
    }
