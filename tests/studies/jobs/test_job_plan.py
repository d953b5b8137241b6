"""Documents as jobs: what they stand for, what is left out, and every problem with its place."""

from typing import Any

import pytest

from fsbench_web.catalog.configurations.preparation import Preparation
from fsbench_web.core.scoring.repeating import RepeatTarget
from fsbench_web.studies.jobs.documents.plan import expand
from fsbench_web.studies.jobs.documents.text import read, write
from fsbench_web.studies.jobs.documents.writer import document_of
from fsbench_web.studies.jobs.spec import (
    ConfigurationSpec,
    JobSpec,
    ReferenceSpec,
    WorkloadSpec,
)


def job(**changes: Any) -> dict[str, Any]:
    """A document that is fine as it is."""
    document: dict[str, Any] = {
        "study": "Array test",
        "lun": "disk1",
        "configurations": [{"filesystem": "ext4", "options": {"atime": "noatime"}}],
        "schedulers": ["none"],
        "workloads": ["iozone-small"],
    }
    return {key: value for key, value in (document | changes).items() if value is not ...}


def configurations(**changes: Any) -> list[tuple[str, dict[str, Any], str, str]]:
    plan = expand(job(**changes))
    assert plan.unreadable == {}
    return [
        (
            configuration.filesystem,
            dict(configuration.options),
            configuration.scheduler,
            configuration.journal,
        )
        for configuration in plan.configurations
    ]


def problems(**changes: Any) -> dict[str, list[str]]:
    return dict(expand(job(**changes)).unreadable)


def test_lists_multiply_in_the_order_they_are_written() -> None:
    assert configurations(
        configurations=[
            {
                "filesystem": ["ext3", "ext4"],
                "options": {"journal_mode": ["default", "writeback"], "atime": "noatime"},
                "journals": ["internal", "log1"],
            },
            "xfs",
        ],
        schedulers=["none", "bfq"],
    )[:9] == [
        ("ext3", {"atime": "noatime"}, "none", ""),
        ("ext3", {"atime": "noatime"}, "none", "log1"),
        ("ext3", {"atime": "noatime"}, "bfq", ""),
        ("ext3", {"atime": "noatime"}, "bfq", "log1"),
        ("ext3", {"journal_mode": "writeback", "atime": "noatime"}, "none", ""),
        ("ext3", {"journal_mode": "writeback", "atime": "noatime"}, "none", "log1"),
        ("ext3", {"journal_mode": "writeback", "atime": "noatime"}, "bfq", ""),
        ("ext3", {"journal_mode": "writeback", "atime": "noatime"}, "bfq", "log1"),
        ("ext4", {"atime": "noatime"}, "none", ""),
    ]


def test_an_entrys_own_schedulers_replace_those_of_the_job() -> None:
    expanded = configurations(
        configurations=[{"filesystem": "ext4", "schedulers": "bfq"}, "xfs"], schedulers=["none"]
    )
    assert [(slug, scheduler) for slug, _, scheduler, _ in expanded] == [
        ("ext4", "bfq"),
        ("xfs", "none"),
    ]


def test_a_number_is_the_choice_it_looks_like() -> None:
    entry = {"filesystem": "ext4", "options": {"inode_size": [256, "512"]}}
    sizes = [options["inode_size"] for _, options, _, _ in configurations(configurations=[entry])]
    assert sizes == ["256", "512"]


def test_without_schedulers_none_is_set() -> None:
    assert configurations(schedulers=...) == [("ext4", {"atime": "noatime"}, "", "")]


def test_a_combination_that_cannot_be_is_left_out_with_its_reason() -> None:
    plan = expand(
        job(
            configurations=[
                {"filesystem": ["ext2", "ext4"], "options": {"journal_mode": [None, "writeback"]}}
            ]
        )
    )
    assert plan.unreadable == {}
    assert [
        (configuration.filesystem, dict(configuration.options))
        for configuration in plan.configurations
    ] == [
        ("ext2", {}),
        ("ext4", {}),
        ("ext4", {"journal_mode": "writeback"}),
    ]
    ((place, combination, why),) = plan.left_out
    assert (place, combination) == (
        "configurations[0]",
        "ext2 journal_mode=writeback scheduler=none",
    )
    assert 'ext2 has no option "journal_mode"' in why


def test_options_that_do_not_go_together_are_left_out_too() -> None:
    entry = {
        "filesystem": "btrfs",
        "options": {"compression": ["default", "zstd"], "copy_on_write": ["default", "off"]},
    }
    plan = expand(job(configurations=[entry]))
    assert len(plan.configurations) == 3
    assert "does not compress without copy on write" in plan.left_out[0][2]


def test_a_journal_elsewhere_is_left_out_where_it_cannot_be() -> None:
    plan = expand(
        job(configurations=[{"filesystem": ["btrfs", "xfs"], "journals": ["internal", "log1"]}])
    )
    assert [
        (configuration.filesystem, configuration.journal) for configuration in plan.configurations
    ] == [
        ("btrfs", ""),
        ("xfs", ""),
        ("xfs", "log1"),
    ]
    assert "Btrfs cannot keep its journal on another device" in plan.left_out[0][2]


def test_an_entry_of_which_nothing_can_be_is_a_problem() -> None:
    alone = problems(configurations=[{"filesystem": "ext2", "journals": "log1"}])
    assert list(alone) == ["configurations[0]"]
    both = problems(
        configurations=[
            {
                "filesystem": "btrfs",
                "options": {"compression": ["zstd", "lzo"], "copy_on_write": "off"},
            }
        ]
    )
    assert both["configurations[0]"][0].startswith("Nothing of this entry can be: Btrfs does not")


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        ({"study": ...}, "study", "study is missing"),
        ({"lun": ""}, "lun", "lun is missing"),
        ({"lun": 7}, "lun", "must be a text"),
        ({"study": True}, "study", "must be a text"),
        ({"worker": ["a"]}, "worker", "must be a text"),
        ({"wokrer": "lab1"}, "wokrer", '"wokrer" means nothing here'),
        ({"configurations": ...}, "configurations", "at least one entry"),
        ({"configurations": []}, "configurations", "at least one entry"),
        ({"configurations": {"filesystem": "ext4"}}, "configurations", "must be a list"),
        ({"configurations": [3]}, "configurations[0]", "is a map with filesystem"),
        ({"configurations": [{}]}, "configurations[0]", "filesystem is missing"),
        ({"configurations": ["hammer2"]}, "configurations[0].filesystem", '"hammer2"'),
        (
            {"configurations": [{"filesystem": ["ext4", "hammer2"]}]},
            "configurations[0].filesystem[1]",
            '"hammer2"',
        ),
        ({"configurations": [{"filesystem": []}]}, "configurations[0].filesystem", "empty"),
        ({"configurations": [{"filesystem": [4]}]}, "configurations[0].filesystem[0]", "a name"),
        (
            {"configurations": ["xfs", {"filesystem": "ext4", "optoins": {}}]},
            "configurations[1]",
            '"optoins" means nothing here',
        ),
        (
            {
                "configurations": [
                    "xfs",
                    "xfs",
                    {"filesystem": "ext4", "options": {"journal_mode": "wb"}},
                ]
            },
            "configurations[2].options.journal_mode",
            '"wb" is not one of',
        ),
        (
            {
                "configurations": [
                    {"filesystem": ["ext3", "ext4"], "options": {"atime": ["noatime", "x"]}}
                ]
            },
            "configurations[0].options.atime[1]",
            '"x" is not one of',
        ),
        (
            {"configurations": [{"filesystem": "ext4", "options": {"atmie": "default"}}]},
            "configurations[0].options.atmie",
            'no option "atmie"',
        ),
        (
            {"configurations": [{"filesystem": "ext4", "options": {"inode_size": True}}]},
            "configurations[0].options.inode_size",
            "not",
        ),
        (
            {"configurations": [{"filesystem": "ext4", "options": []}]},
            "configurations[0].options",
            "map",
        ),
        ({"schedulers": [1]}, "schedulers[0]", "must be a name"),
        ({"schedulers": []}, "schedulers", "empty"),
        ({"journals": {"a": 1}}, "journals", "must be a name"),
        ({"workloads": ...}, "workloads", "at least one name"),
        ({"workloads": "iozone-small"}, "workloads", "must be a list"),
        ({"workloads": [3]}, "workloads[0]", "a name, or a map"),
        ({"workloads": [{"parameters": {}}]}, "workloads[0].name", "name is missing"),
        ({"workloads": [{"name": "iozone-small", "speed": 1}]}, "workloads[0]", '"speed" means'),
        (
            {"workloads": ["iozone-small", {"name": "iozone-direct", "parameters": {"x": 1.5}}]},
            "workloads[1].parameters.x",
            "whole number, a list",
        ),
        ({"workloads": [{"name": "a", "parameters": [1]}]}, "workloads[0].parameters", "map"),
        ({"repeats": "two"}, "repeats", "whole number"),
        ({"repeats": True}, "repeats", "whole number"),
        ({"repeats": {"least": 3, "most": 5}}, "repeats.half_width_percent", "a number"),
        ({"repeats": {"half_width_percent": 5, "most": 5}}, "repeats.least", "missing"),
        ({"repeats": {"half_width_percent": 5, "least": "3", "most": 5}}, "repeats.least", "whole"),
        ({"preparation": {"trim": True}}, "preparation", '"trim" means nothing here'),
        ({"preparation": [True]}, "preparation", "map"),
        ({"seed": "x"}, "seed", "whole number"),
        ({"priority": 1.5}, "priority", "whole number"),
        ({"time_limit_s": "2 h"}, "time_limit_s", "whole number"),
        ({"reference": "ext4"}, "reference", "map with configuration"),
        ({"reference": {"every": 5}}, "reference.configuration", "missing"),
        (
            {"reference": {"every": "x", "configuration": "ext4"}},
            "reference.every",
            "whole number",
        ),
        (
            {"reference": {"configuration": {"filesystem": "ext4", "options": {"atime": "x"}}}},
            "reference.configuration.options.atime",
            '"x"',
        ),
        (
            {"reference": {"configuration": {"filesystem": ["ext4", "xfs"]}}},
            "reference.configuration",
            "stands for 2 configurations",
        ),
        (
            {"schedulers": ["none", "bfq"], "reference": {"configuration": "ext4"}},
            "reference.configuration",
            "one scheduler",
        ),
    ],
)
def test_every_problem_has_its_place(change: dict[str, Any], place: str, message: str) -> None:
    by_place = problems(**change)
    assert place in by_place, by_place
    assert message in " ".join(by_place[place])


@pytest.mark.parametrize("data", [None, [], "ext4", 3])
def test_what_is_no_map_is_no_job(data: object) -> None:
    assert "A job is a map" in expand(data).unreadable["document"][0]


def test_who_knows_the_option_says_what_is_wrong_with_its_value() -> None:
    entry = {"filesystem": ["ext2", "ext4"], "options": {"journal_mode": "wb"}}
    (problem,) = problems(configurations=[entry])["configurations[0].options.journal_mode"]
    assert problem == 'Journal mode: "wb" is not one of ordered, writeback, journal.'


def test_all_problems_are_told_at_once() -> None:
    by_place = problems(
        lun=3,
        configurations=["hammer2", {"filesystem": "ext4", "options": {"atime": "x", "y": 1}}],
        workloads=[],
        seed="x",
    )
    assert set(by_place) == {
        "lun",
        "configurations[0].filesystem",
        "configurations[1].options.atime",
        "configurations[1].options.y",
        "workloads",
        "seed",
    }


def test_lists_that_multiply_without_end_are_refused_before_they_do() -> None:
    options = {key: [None] * 60 for key in ("atime", "journal_mode", "inode_size", "block_size")}
    by_place = problems(configurations=[{"filesystem": "ext4", "options": options}])
    assert "With 12960000 combinations here" in by_place["configurations[0]"][0]


def test_everything_is_read() -> None:
    plan = expand(
        job(
            worker="lab1",
            workloads=[
                "iozone-small",
                {"name": "iozone-direct", "parameters": {"maximum_file_kb": 65536}},
            ],
            repeats={"half_width_percent": 2.5, "least": 3, "most": 8},
            preparation={"discard": True, "fill_percent": 50},
            order="as-written",
            priority=-3,
            time_limit_s=7200,
            reference={"every": 4, "configuration": {"filesystem": "xfs", "schedulers": "bfq"}},
        )
    )
    assert plan.unreadable == {}
    assert plan.workloads == (
        WorkloadSpec("iozone-small"),
        WorkloadSpec("iozone-direct", {"maximum_file_kb": 65536}),
    )
    assert plan.until == RepeatTarget(2.5, 3, 8)
    assert plan.preparation == Preparation(discard=True, fill_percent=50)
    assert (plan.order, plan.seed, plan.priority, plan.time_limit_s) == (
        *("as-written", None, -3, 7200),
    )
    assert plan.reference == ReferenceSpec(ConfigurationSpec("xfs", {}, "bfq"), 4)


def test_the_defaults_are_two_repeats_in_a_random_order() -> None:
    plan = expand(job())
    assert (plan.repeats, plan.order, plan.seed, plan.reference) == (2, "random", None, None)


SPECS = [
    JobSpec(
        lun_id=1,
        configurations=(ConfigurationSpec("ext4", {"atime": "noatime"}, "none"),),
        workload="iozone-small",
    ),
    JobSpec(
        lun_id=1,
        configurations=(
            ConfigurationSpec("ext4", {"journal_mode": "writeback", "inode_size": "512"}, "bfq"),
            ConfigurationSpec("btrfs", {"copy_on_write": "off"}, "none"),
            ConfigurationSpec("xfs", {}, "", "log1"),
        ),
        workload="iozone-small",
        parameters={"maximum_file_kb": 1024, "direct_io": True},
        repeats=5,
        more_workloads=(WorkloadSpec("iozone-direct"),),
        order="random",
        seed=0,
        reference=ReferenceSpec(ConfigurationSpec("xfs", {}, "none"), 7),
        priority=3,
        time_limit_s=900,
        preparation=Preparation(precondition=True, fill_percent=10),
    ),
    JobSpec(
        lun_id=1,
        configurations=(ConfigurationSpec("xfs"),),
        workload="iozone-paper",
        until=RepeatTarget(2.5, 3, 9),
        order="random",
        seed=4294967295,
    ),
]


@pytest.mark.parametrize("spec", SPECS)
def test_a_job_written_down_is_read_as_the_same_job(spec: JobSpec) -> None:
    document = document_of(spec, study="Array test", lun="disk1", worker="lab1")
    plan: JobSpec = expand(read(write(document)))
    assert plan.unreadable == {}
    assert (plan.study, plan.lun, plan.worker) == ("Array test", "disk1", "lab1")
    for name in (
        *("configurations", "repeats", "until", "preparation", "order", "seed", "reference"),
        *("priority", "time_limit_s"),
    ):
        assert getattr(plan, name) == getattr(spec, name), name
    assert plan.workloads == spec.workloads
    assert dict(plan.document) == document
