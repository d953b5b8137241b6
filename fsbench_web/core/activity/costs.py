"""Costs: what the work of a run cost the device, the processors and the memory. Pure.

They count a run's activity during the measured commands of its benchmark and the ``sync`` behind
them, which writes what these left in memory (``window``). The work is what their processes asked
the kernel for (``rchar``, ``wchar``, ``syscr`` and ``syscw`` of proc(5)), or where the tool asks
past these counts (libaio, io_uring) what it says itself. A cost that cannot be known is missing.
Write, read and space amplification are those of
J. Mohan, R. Kadekodi and V. Chidambaram, "Analyzing IO Amplification in Linux File Systems"
(2017, arXiv 1707.08514): I/O of the storage for I/O of the user.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsbench_web.core.activity.price import CURRENCIES, Price, per_million_operations
from fsbench_web.core.activity.price import test_of as price_test
from fsbench_web.core.activity.window import WindowedActivity, Work, ratio, window_of

if TYPE_CHECKING:
    # It brings NumPy, and every command knows what costs there are.
    from fsbench_web.core.activity.series import Activity

SECTOR_BYTES = 512  # of the kernel's statistics, whatever the device's own are
MIB, GIB = 2**20, 2**30
LEAST_BYTES = MIB
"""Of a direction of which the benchmark asked for less, nothing is said."""
LEAST_OPERATIONS = 100
LEAST_S = 0.5
"""The kernel counts processors' time in hundredths of a second: of a shorter one nothing is said"""
LOWER, HIGHER, NEITHER = "lower", "higher", "neither"


@dataclass(frozen=True)
class Cost:
    """``definition`` is a sentence. ``better`` is LOWER, HIGHER or NEITHER.

    ``floor`` is what counts as next to nothing of it, in its unit: below, differences say nothing.
    """

    test: str
    label: str
    unit: str
    better: str
    definition: str
    floor: float


TIMES, SHARE = "B/B", "% of time"
COSTS = {
    cost.test: cost
    for cost in (
        Cost(
            "write_amplification",
            "Write amplification",
            TIMES,
            LOWER,
            "Bytes written to the device (journal and metadata included) for each byte that the "
            "benchmark wrote.",
            0.05,
        ),
        Cost(
            "read_amplification",
            "Read amplification",
            TIMES,
            LOWER,
            "Bytes read from the device for each byte that the benchmark read; below 1 the page "
            "cache gave the rest.",
            0.05,
        ),
        Cost(
            "flushes_per_1000_operations",
            "Flushes for 1,000 operations",
            "flushes/1000 ops",
            LOWER,
            "Cache flushes that the device was asked for, for each 1,000 reads and writes of the "
            "benchmark.",
            0.5,
        ),
        Cost(
            "mean_write_request",
            "Mean write request",
            "KiB/request",
            NEITHER,
            "Bytes of a write request as the device got it, after merging, on average.",
            1.0,
        ),
        Cost(
            "mean_read_request",
            "Mean read request",
            "KiB/request",
            NEITHER,
            "Bytes of a read request as the device got it, after merging, on average.",
            1.0,
        ),
        Cost(
            "cpu_seconds_per_gib",
            "CPU seconds for each GiB",
            "CPU s/GiB",
            LOWER,
            "Seconds that the machine's processors were busy (user, system and interrupts, kernel "
            "threads included) for each GiB that the benchmark read and wrote.",
            0.02,
        ),
        Cost(
            "process_cpu_seconds_per_gib",
            "CPU seconds of its processes for each GiB",
            "CPU s/GiB",
            LOWER,
            "Seconds of user and system time of the benchmark's own processes, without kernel "
            "threads and whatever else the machine did, for each GiB that it read and wrote.",
            0.02,
        ),
        Cost(
            "operations_per_cpu_second",
            "Operations for each CPU second",
            "ops/CPU s",
            HIGHER,
            "Reads and writes of the benchmark for each second that the machine's processors were "
            "busy.",
            1.0,
        ),
        Cost(
            "space_amplification",
            "Space amplification",
            TIMES,
            LOWER,
            "Bytes in use of the file system after the benchmark, less those before it, for each "
            "byte in the files that it left.",
            0.01,
        ),
        Cost(
            "io_pressure",
            "I/O pressure",
            SHARE,
            LOWER,
            "Share of the time in which something of the run waited for I/O (PSI, some).",
            1.0,
        ),
        Cost(
            "cpu_pressure",
            "CPU pressure",
            SHARE,
            LOWER,
            "Share of the time in which something of the run waited for a processor (PSI, some).",
            1.0,
        ),
        Cost(
            "memory_pressure",
            "Memory pressure",
            SHARE,
            LOWER,
            "Share of the time in which something of the run waited for memory (PSI, some).",
            1.0,
        ),
        Cost(
            "energy_per_gib",
            "Energy for each GiB",
            "J/GiB",
            LOWER,
            "Energy of the processor packages (RAPL) for each GiB that the benchmark read and "
            "wrote.",
            0.1,
        ),
        Cost(
            "device_energy_per_gib",
            "Energy of the device for each GiB",
            "J/GiB",
            LOWER,
            "Energy of the device, by the reading of power that it has itself (hwmon), for each "
            "GiB that the benchmark read and wrote.",
            0.1,
        ),
        *(
            Cost(
                price_test(currency),
                f"{currency} for each million operations",
                f"{currency}/million ops",
                LOWER,
                "The part of the hardware's stated price that falls to the measured time, spread "
                "evenly over the stated years of use, for each million reads and writes of the "
                "benchmark.",
                1e-6,
            )
            for currency in CURRENCIES
        ),
    )
}


def costs_of(
    activity: "Activity", work: Work | None, price: Price | None = None
) -> dict[str, float]:
    """The costs that can be known, by test. ``work`` is None where nobody knows it.

    ``price`` is what was stated for the hardware.
    """
    window = window_of(activity)
    if window is None or not activity.is_whole or window.seconds <= 0:
        return {}
    windowed = WindowedActivity(activity, window)
    costs = {
        **_of_the_device(windowed, work),
        **_of_processors(windowed, work),
        **_of_pressure(windowed),
        "space_amplification": _space_ratio(activity),
    }
    if price is not None and work is not None:
        costs[price_test(price.currency)] = per_million_operations(
            price, window.seconds, work.operations
        )
    return {test: value for test, value in costs.items() if value is not None}


def _of_the_device(windowed: WindowedActivity, work: Work | None) -> Mapping[str, float | None]:
    written, read = windowed.of_devices("sectors_written"), windowed.of_devices("sectors_read")
    costs = {
        "mean_write_request": ratio(
            written, windowed.of_devices("writes"), LEAST_OPERATIONS, SECTOR_BYTES / 1024
        ),
        "mean_read_request": ratio(
            read, windowed.of_devices("reads"), LEAST_OPERATIONS, SECTOR_BYTES / 1024
        ),
    }
    if work is None or not windowed.window.is_settled:
        return costs
    return costs | {
        "write_amplification": ratio(written, work.written_bytes, LEAST_BYTES, SECTOR_BYTES),
        "read_amplification": ratio(read, work.read_bytes, LEAST_BYTES, SECTOR_BYTES),
        "flushes_per_1000_operations": ratio(
            windowed.of_devices("flushes"), work.operations, LEAST_OPERATIONS, 1000
        ),
    }


def _of_processors(windowed: WindowedActivity, work: Work | None) -> Mapping[str, float | None]:
    busy_ms = windowed.grown("cpu.user_ms", "cpu.system_ms", "cpu.irq_ms")
    if busy_ms is None or work is None or windowed.window.seconds < LEAST_S:
        return {}
    moved = work.read_bytes + work.written_bytes
    return {
        "cpu_seconds_per_gib": ratio(busy_ms, moved, LEAST_BYTES, GIB / 1000),
        "process_cpu_seconds_per_gib": ratio(work.cpu_s, moved, LEAST_BYTES, GIB),
        "operations_per_cpu_second": ratio(work.operations, busy_ms, LEAST_S * 100, 1000),
        "energy_per_gib": ratio(windowed.grown("energy.package_uj"), moved, LEAST_BYTES, GIB / 1e6),
        "device_energy_per_gib": ratio(
            windowed.grown("energy.device_uj"), moved, LEAST_BYTES, GIB / 1e6
        ),
    }


def _of_pressure(windowed: WindowedActivity) -> Mapping[str, float | None]:
    """That of the control group where the run has one, else of the whole machine."""
    costs: dict[str, float | None] = {}
    if windowed.window.seconds < LEAST_S:
        return costs
    for resource in ("io", "cpu", "memory"):
        stalled_us = windowed.grown(f"group.pressure_{resource}_some_us")
        if stalled_us is None:
            stalled_us = windowed.grown(f"pressure.{resource}_some_us")
        share = ratio(stalled_us, windowed.window.seconds * 1e6, 0.0, 100.0)
        # Counts and clock are not read in the same instant.
        costs[f"{resource}_pressure"] = None if share is None else min(share, 100.0)
    return costs


def _space_ratio(activity: "Activity") -> float | None:
    before, after, size = (
        activity.space.get(name)
        for name in ("used_before_bytes", "used_after_bytes", "contents_bytes")
    )
    if before is None or after is None or not size or size < LEAST_BYTES or after < before:
        return None
    return float(after - before) / float(size)
