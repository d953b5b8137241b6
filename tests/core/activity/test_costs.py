"""Costs follow from the counts by their definitions, and are missing where they cannot."""

from dataclasses import replace
from typing import Any

import pytest

from fsbench_web.core import units
from fsbench_web.core.activity.costs import (
    COSTS,
    GIB,
    HIGHER,
    LOWER,
    MIB,
    NEITHER,
    Price,
    Window,
    Work,
    costs_of,
    measured_steps,
    window_of,
    work_of,
)
from fsbench_web.core.activity.series import Activity, ActivityBuilder, Step
from fsbench_web.core.scoring import testnames

BEFORE = dict.fromkeys(
    (
        *("data.reads", "data.sectors_read", "data.writes", "data.sectors_written"),
        *("data.flushes", "cpu.user_ms", "cpu.system_ms", "cpu.irq_ms", "energy.package_uj"),
        *("pressure.io_some_us", "pressure.cpu_some_us", "pressure.memory_some_us"),
    ),
    10**6,
)
WORK = Work(read_bytes=0.5 * GIB, written_bytes=0.5 * GIB, operations=10_000, cpu_s=3.0)


def run(
    grown: dict[str, int], *, phases: tuple[str, ...] = ("benchmark", "sync"), **changes: Any
) -> Activity:
    """Ten seconds of a benchmark, of which the last one is a sync."""
    builder = ActivityBuilder(is_shared=changes.pop("is_shared", False))
    names = [*BEFORE, *(name for name in grown if name not in BEFORE)]
    is_shared = builder.is_shared
    builder.begin(names, is_shared=is_shared)
    first = [BEFORE.get(name, 0) for name in names]
    builder.add(0, first, is_edge=True)
    builder.add(9, first, is_edge=True)
    last = [count + grown.get(name, 0) for name, count in zip(names, first, strict=True)]
    builder.add(10, last, is_edge=True)
    times = {"mkfs": (0, 0), "benchmark": (0, 9), "sync": (9, 10)}
    outputs = {"benchmark": "fio.json"}
    builder.steps = [Step(*times[phase], phase, output=outputs.get(phase, "")) for phase in phases]
    builder.space = changes.pop("space", {})
    activity = builder.built(is_whole=changes.pop("is_whole", True))
    assert activity is not None
    return activity


def test_each_cost_follows_from_its_definition() -> None:
    activity = run(
        {
            "data.reads": 1000,
            "data.sectors_read": GIB // 4 // 512,
            "data.writes": 2000,
            "data.sectors_written": GIB // 512,
            "data.flushes": 25,
            "cpu.user_ms": 1000,
            "cpu.system_ms": 3000,
            "cpu.irq_ms": 1000,
            "pressure.io_some_us": 2_500_000,
            "pressure.cpu_some_us": 0,
            "pressure.memory_some_us": 100_000,
            "energy.package_uj": 42_000_000,
        },
        space={"used_before_bytes": MIB, "used_after_bytes": 5 * MIB, "contents_bytes": 2 * MIB},
    )
    assert costs_of(activity, WORK) == pytest.approx(
        {
            "write_amplification": 2.0,
            "read_amplification": 0.5,
            "flushes_per_1000_operations": 2.5,
            "mean_write_request": GIB / 1024 / 2000,
            "mean_read_request": GIB / 4 / 1024 / 1000,
            "cpu_seconds_per_gib": 5.0,
            "process_cpu_seconds_per_gib": 3.0,
            "operations_per_cpu_second": 2000.0,
            "io_pressure": 25.0,
            "cpu_pressure": 0.0,
            "memory_pressure": 1.0,
            "energy_per_gib": 42.0,
            "space_amplification": 2.0,
        }
    )


def test_a_stated_price_is_spread_over_its_years() -> None:
    stated = Price(6311.52, "EUR", 2.0)  # 0.0001 EUR for each second
    costs = costs_of(run({}), WORK, stated)
    # Ten seconds for 10,000 operations.
    assert costs["price_eur_per_million_operations"] == pytest.approx(0.1)
    assert "price_usd_per_million_operations" not in costs
    assert "price_eur_per_million_operations" not in costs_of(run({}), WORK)
    assert "price_eur_per_million_operations" not in costs_of(run({}), None, stated)
    assert "price_eur_per_million_operations" not in costs_of(run({}), Work(0, 0, 99), stated)


def test_the_energy_of_the_device_is_told_for_itself() -> None:
    costs = costs_of(run({"energy.device_uj": 7_000_000}), WORK)
    assert costs["device_energy_per_gib"] == 7.0


def test_the_journal_device_counts_with_the_data_device() -> None:
    grown = {"data.sectors_written": MIB // 512, "journal.sectors_written": MIB // 512}
    grown |= {"data.writes": 100, "journal.writes": 100}
    costs = costs_of(run(grown), Work(0, 2 * MIB, 0))
    assert costs["write_amplification"] == 1.0
    assert costs["mean_write_request"] == pytest.approx(2 * 1024 / 200)


@pytest.mark.parametrize(
    ("changes", "missing"),
    [
        ({"phases": ("benchmark",)}, {"write_amplification", "flushes_per_1000_operations"}),
        ({"is_shared": True}, {"write_amplification", "mean_write_request"}),
        ({"is_whole": False}, set(COSTS)),
        ({"phases": ("mkfs",)}, set(COSTS)),
    ],
    ids=["not synced", "a folder's device", "broke off", "no benchmark"],
)
def test_what_cannot_be_known_is_missing(changes: dict[str, Any], missing: set[str]) -> None:
    grown = {"data.sectors_written": 10**6, "data.writes": 10**4, "cpu.user_ms": 5000}
    whole = costs_of(run(grown), WORK)
    assert missing - set(whole) <= set(COSTS)
    assert not missing & set(costs_of(run(grown, **changes), WORK))


def test_little_work_says_nothing() -> None:
    grown = {"data.sectors_written": 10**6, "data.writes": 99, "cpu.user_ms": 5000}
    costs = costs_of(run(grown), Work(MIB / 4, MIB / 4, 99))
    assert set(costs) == {"io_pressure", "cpu_pressure", "memory_pressure"} | {
        "operations_per_cpu_second"
    }


def test_preparation_and_what_it_left_is_no_part_of_the_window() -> None:
    """Seconds 0 to 2 make the data and warm up, 2 to 5 measure, 5 to 7 remove it and make another,
    7 to 9 measure that. Each second writes as many MiB as its number doubled.
    """
    builder = ActivityBuilder()
    builder.begin(["data.writes", "data.sectors_written", "pressure.io_some_us"])
    for second in range(11):
        builder.add(second, [2**second, 2**second * MIB // 512, 0], is_edge=True)
    asked = {"rchar": 0, "wchar": MIB, "syscr": 0, "syscw": 1}
    builder.steps = [
        Step(*times, phase, output, asked)
        for times, phase, output in (
            ((0, 1), "benchmark", ""),
            ((1, 2), "benchmark", ""),
            ((2, 3), "benchmark", "first.txt"),
            ((3, 4), "benchmark", "second.txt"),
            ((4, 5), "sync", ""),
            ((5, 7), "benchmark", ""),
            ((7, 8), "benchmark", "third.txt"),
            ((8, 9), "sync", ""),
            ((9, 10), "unmount", ""),
        )
    ]
    activity = builder.built(is_whole=True)
    assert activity is not None
    window = window_of(activity)
    assert window == Window(((2, 5), (7, 9)), is_settled=True)
    assert window.seconds == 5
    work = work_of(measured_steps(activity.steps))
    assert work == Work(0, 3 * MIB, 3)
    written_mib = 2**5 - 2**2 + 2**9 - 2**7
    assert costs_of(activity, work)["write_amplification"] == pytest.approx(written_mib / 3)
    # What the first of them left in memory would be written with the preparation of the next.
    unsynced = [step for step in activity.steps if step.start_s != 4]
    assert window_of(replace(activity, steps=unsynced)) == Window(
        ((2, 4), (7, 9)), is_settled=False
    )
    preparation = [step for step in activity.steps if not step.output]
    assert window_of(replace(activity, steps=preparation)) is None


def test_no_flush_is_a_value() -> None:
    assert costs_of(run({}), WORK)["flushes_per_1000_operations"] == 0.0


def test_work_is_what_all_commands_asked_for() -> None:
    steps = [
        Step(0, 1, "benchmark", "", {"rchar": 1, "wchar": 2, "syscr": 3, "syscw": 4}),
        Step(1, 2, "benchmark", "", {"rchar": 10, "wchar": 20, "syscr": 30, "syscw": 40}),
    ]
    assert work_of(steps) == Work(11, 22, 77)
    times = {"user_s": 0.5, "system_s": 0.25}
    timed = [replace(step, processes={**step.processes, **times}) for step in steps]
    work = work_of(timed)
    assert work is not None
    assert work.cpu_s == 1.5
    assert work_of([*steps, Step(2, 3, "benchmark")]) is None
    assert work_of([]) is None


def test_every_unit_has_the_direction_that_its_cost_has() -> None:
    for cost in COSTS.values():
        if cost.better == NEITHER:
            assert not units.is_known(cost.unit), cost.test
        else:
            assert units.lower_is_better(cost.unit) is (cost.better == LOWER), cost.test
        assert cost.better in (LOWER, HIGHER, NEITHER)
        assert len(cost.unit) <= 20
        assert cost.definition.endswith(".")


def test_costs_come_after_all_tests_of_speed_and_before_mkfs_and_mount() -> None:
    tests = ["write_amplification", "mount", "zebra", "mkfs", "write", "io_pressure"]
    assert sorted(tests, key=testnames.place) == [
        *("write", "zebra"),
        *("write_amplification", "io_pressure"),
        *("mkfs", "mount"),
    ]
    assert testnames.label("write_amplification") == "Write amplification"
    assert testnames.is_cost("write_amplification@jobs=2")
    assert not testnames.is_cost("write")
