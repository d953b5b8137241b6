import json

import pytest

from fsbench_web.catalog.configurations.commands.run import run_commands
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS, OWN_LABEL, OptionError
from fsbench_web.catalog.configurations.journals import JournalLun
from fsbench_web.core.workloads import MOUNT_POINT, ParameterError, workload_of
from fsbench_web.core.workloads.iozone import OUTPUT
from runner.plan import PlanError, RunPlan, plan_run
from tests.runner.conftest import SMALL


def plan(filesystem: str = "ext4", **changes: object) -> RunPlan:
    arguments = {"options": {}, "tool": "iozone", "parameters": SMALL, "device": "/dev/x"}
    return plan_run(filesystem, **(arguments | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_it_runs_the_commands_that_the_preview_shows(filesystem: str) -> None:
    commands = run_commands(
        filesystem, {}, workload_of("iozone", SMALL), "/dev/x", MOUNT_POINT, makes_filesystem=True
    )
    steps = plan(filesystem).steps
    assert [(step.phase, tuple(step.argv)) for step in steps] == [
        (command.phase, command.argv) for command in commands
    ]
    phases = [step.phase for step in steps if step.phase not in ("pool", "teardown")]
    assert phases == ["mkfs", "mount", "benchmark", "sync", "unmount"]


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_every_file_system_is_labelled_as_its_own(filesystem: str) -> None:
    (mkfs,) = (step.argv for step in plan(filesystem).steps if step.phase == "mkfs")
    if filesystem == "zfs":
        # Its label is the pool's name; of zpool(8) the device is a node of the agent's.
        assert mkfs[-2:] == [OWN_LABEL, "/dev/fsbench.zpool/x"]
        return
    flag = "-l" if filesystem in ("reiser3", "f2fs") else "-L"
    assert mkfs[mkfs.index(flag) + 1] == OWN_LABEL
    assert mkfs[-1] == "/dev/x"


def test_a_journal_has_a_step_and_a_device_of_its_own() -> None:
    run_plan = plan("ext3", journal=JournalLun("/dev/log", 2**27))
    assert run_plan.journal_device == "/dev/log"
    assert [step.phase for step in run_plan.steps][:2] == ["journal", "mkfs"]
    assert run_plan.steps[0].argv[-1] == "/dev/log"
    assert plan("ext3").journal_device == ""


def test_only_the_benchmark_is_kept_and_every_step_has_a_limit() -> None:
    run_plan = plan(parameters=SMALL | {"time_limit_s": 77})
    assert [step.save_output_as for step in run_plan.steps] == ["", "", OUTPUT, "", ""]
    assert run_plan.steps[2].timeout_s == 77
    assert all(step.timeout_s > 0 for step in run_plan.steps)


def test_a_directory_is_neither_made_nor_mounted() -> None:
    run_plan = plan(device="/srv/bench/", is_directory=True)
    assert [step.phase for step in run_plan.steps] == ["benchmark"]
    assert not run_plan.is_on_device
    assert run_plan.unmount == []
    assert run_plan.steps[0].argv[-1] == "/srv/bench/fsbench.work.iozone"
    assert run_plan.leave_nothing == "fsbench.work"


def test_it_is_one_line_of_json() -> None:
    text = plan().to_json()
    assert "\n" not in text
    assert json.loads(text)["parameters"]["maximum_record_kb"] == SMALL["maximum_record_kb"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"options": {"journal_mode": "; rm -rf /"}}, OptionError),
        ({"options": {"nosuch": "1"}}, OptionError),
        ({"filesystem": "ntfs"}, OptionError),
        ({"tool": "sh"}, ParameterError),
        ({"parameters": SMALL | {"maximum_file_kb": 100}}, ParameterError),
        ({"filesystem": "btrfs", "journal": JournalLun("/dev/log")}, OptionError),
        ({"is_directory": True, "options": {"atime": "noatime"}}, PlanError),
    ],
)
def test_what_is_not_allowed_makes_no_plan(
    changes: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        plan(**changes)
