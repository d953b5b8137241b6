"""A run is flagged only where arithmetic says that the device got too few flushes."""

from dataclasses import asdict
from typing import Any

import pytest

from fsbench_web.core.activity.promises import (
    FLUSHES_NOT_COUNTED,
    FUA_NOT_COUNTED,
    KEPT,
    NO_SYNCS,
    NOT_KEPT,
    NOTHING_TO_FLUSH,
    PRESET,
    REASONS,
    SHARED_DEVICE,
    SYNCS_NOT_COUNTED,
    UNKNOWN,
    Promise,
    Syncs,
    promise,
)
from fsbench_web.core.activity.series import Activity, ActivityBuilder, Step, decode, encode

CACHE = {"counts_flushes": True, "write_cache": "write back", "fua": 0}


def activity(
    *flushes: int | None,
    devices: dict[str, dict[str, Any]] | None = None,
    is_shared: bool = False,
    role: str = "data",
) -> Activity:
    """One command a second, ``out-0`` and on, during which the device got so many flushes."""
    builder = ActivityBuilder()
    facts = {role: CACHE} if devices is None else devices
    builder.begin([f"{role}.flushes"], is_shared=is_shared, devices=facts)
    total = 500
    builder.add(0, [total], is_edge=True)
    for at, count in enumerate(flushes):
        total += count or 0
        builder.add(at + 1, [None if count is None else total], is_edge=True)
        builder.steps.append(Step(at, at + 1, "benchmark", f"out-{at}"))
    built = builder.built(is_whole=True)
    assert built is not None
    return built


def verdict(flushes: int | None, syncs: Syncs | None, **changes: Any) -> tuple[str, str]:
    found = promise({"out-0": syncs}, activity(flushes, **changes))
    return found.verdict, found.reason


@pytest.mark.parametrize(
    ("issued", "at_once", "flushes", "expected"),
    [
        (300, 1, 600, KEPT),
        (300, 1, 300, KEPT),
        (300, 1, 299, NOT_KEPT),
        (300, 1, 0, NOT_KEPT),
        # Eight jobs: one flush can serve a sync of each.
        (800, 8, 100, KEPT),
        (800, 8, 99, NOT_KEPT),
        (801, 8, 100, NOT_KEPT),
        (1, 64, 1, KEPT),
        (1, 64, 0, NOT_KEPT),
    ],
)
def test_fewer_flushes_than_can_serve_the_syncs_are_too_few(
    issued: int, at_once: int, flushes: int, expected: str
) -> None:
    assert verdict(flushes, Syncs(issued, at_once)) == (expected, "")


def test_the_numbers_of_a_verdict() -> None:
    syncs = {"out-0": Syncs(300), "out-1": Syncs(800, 8, PRESET), "out-2": Syncs(0)}
    found = promise(syncs, activity(600, 100, 7))
    assert found == Promise(KEPT, "", 1100, 400, 700, "preset, tool")
    assert found.as_dict() == asdict(found) | {"ratio": 700 / 1100}


def test_one_command_with_too_few_flushes_is_enough() -> None:
    """Many flushes of another command do not make up for it."""
    syncs = {"out-0": Syncs(300), "out-1": Syncs(300)}
    assert promise(syncs, activity(10_000, 299)).verdict == NOT_KEPT
    assert promise(syncs, activity(10_000, 300)).verdict == KEPT


def test_flushes_of_commands_that_are_not_measured_do_not_count() -> None:
    found = activity(900, 0)
    assert promise({"out-1": Syncs(100)}, found).verdict == NOT_KEPT


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"write_cache": "write through"}, NOTHING_TO_FLUSH),
        ({"write_cache": "write through", "fua": 1}, NOTHING_TO_FLUSH),
        ({"write_cache": ""}, NOTHING_TO_FLUSH),
        # Partitions, and devices that hand requests on (md, most of dm, zram), count none.
        ({"counts_flushes": False}, FLUSHES_NOT_COUNTED),
    ],
)
def test_where_a_counter_of_zero_proves_nothing(changes: dict[str, Any], reason: str) -> None:
    for flushes in (0, 600):
        found = verdict(flushes, Syncs(300), devices={"data": CACHE | changes})
        assert found == (UNKNOWN, reason)
    assert reason in REASONS


def test_one_device_of_several_without_a_cache_proves_nothing() -> None:
    devices = {"data": CACHE, "journal": CACHE | {"write_cache": "write through"}}
    assert verdict(0, Syncs(300), devices=devices) == (UNKNOWN, NOTHING_TO_FLUSH)


def test_flushes_of_all_devices_count_together() -> None:
    builder = ActivityBuilder()
    roles = ("data", "journal")
    builder.begin([f"{role}.flushes" for role in roles], devices=dict.fromkeys(roles, CACHE))
    builder.add(0, [0, 0], is_edge=True)
    builder.add(1, [100, 200], is_edge=True)
    builder.steps = [Step(0, 1, "benchmark", "out-0")]
    found = builder.built(is_whole=True)
    assert found is not None
    assert promise({"out-0": Syncs(300)}, found).verdict == KEPT
    assert promise({"out-0": Syncs(301)}, found).verdict == NOT_KEPT


def test_forced_writes_need_no_flush_where_the_device_has_them() -> None:
    forced = Syncs(300, can_be_forced=True)
    assert verdict(0, forced) == (NOT_KEPT, "")
    assert verdict(0, forced, devices={"data": CACHE | {"fua": 1}}) == (UNKNOWN, FUA_NOT_COUNTED)
    unsaid = {name: value for name, value in CACHE.items() if name != "fua"}
    assert verdict(0, forced, devices={"data": unsaid}) == (UNKNOWN, FUA_NOT_COUNTED)
    # fsync sends a flush all the same.
    assert verdict(0, Syncs(300), devices={"data": CACHE | {"fua": 1}}) == (NOT_KEPT, "")


def test_what_others_flush_too_is_no_proof_and_too_few_still_are() -> None:
    assert verdict(600, Syncs(300), is_shared=True) == (UNKNOWN, SHARED_DEVICE)
    assert verdict(9, Syncs(300), is_shared=True) == (NOT_KEPT, "")


def test_what_is_not_known_is_not_judged() -> None:
    assert verdict(0, None) == (UNKNOWN, SYNCS_NOT_COUNTED)
    assert verdict(0, Syncs(0)) == (UNKNOWN, NO_SYNCS)
    assert verdict(None, Syncs(5)) == (UNKNOWN, FLUSHES_NOT_COUNTED)
    assert verdict(0, Syncs(5), devices={}) == (UNKNOWN, FLUSHES_NOT_COUNTED)
    nothing = promise({}, activity(0))
    assert (nothing.verdict, nothing.reason) == (UNKNOWN, SYNCS_NOT_COUNTED)
    elsewhere = promise({"other": Syncs(5)}, activity(0))
    assert (elsewhere.verdict, elsewhere.reason) == (UNKNOWN, FLUSHES_NOT_COUNTED)


def test_the_facts_of_devices_are_kept_with_the_samples() -> None:
    found = activity(3)
    assert decode(encode(found)).devices == {"data": CACHE}
