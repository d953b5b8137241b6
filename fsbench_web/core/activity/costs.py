"""Costs: what the work of a run cost the device, the processors and the memory. Pure.

Of the measured commands and the ``sync`` after them. The work is what the processes requested
(proc(5)), or what the tool says. Amplification: Mohan, Kadekodi and Chidambaram, "Analyzing IO
Amplification in Linux File Systems", 2017, arXiv 1707.08514.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # It brings NumPy, and every command knows what costs there are.
    from fsbench_web.core.activity.series import Activity, Step

SECTOR_BYTES = 512  # of the kernel's statistics, whatever the device's own are
MIB, GIB = 2**20, 2**30
LEAST_BYTES = MIB
"""A direction has no costs if the benchmark asked for fewer bytes."""
LEAST_OPERATIONS = 100
LEAST_S = 0.5
"""The kernel counts processors' time in hundredths of a second: of a shorter one nothing is said"""
LOWER, HIGHER, NEITHER = "lower", "higher", "neither"
CURRENCIES = ("EUR", "USD", "GBP", "CHF")
USUAL_YEARS = 5.0
_YEAR_S = 365.25 * 86_400
_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,2})?")
_YEARS = re.compile(r"[0-9]{1,2}(\.[0-9]{1,2})?")


@dataclass(frozen=True)
class Work:
    """What a benchmark asked for, in bytes and operations; ``cpu_s`` of its processes, None:
    unknown.
    """

    read_bytes: float
    written_bytes: float
    operations: float
    cpu_s: float | None = None


@dataclass(frozen=True)
class Window:
    """The measured parts of a run, (from, to) in seconds; ``is_settled``: a sync follows each."""

    parts: tuple[tuple[float, float], ...]
    is_settled: bool

    @property
    def seconds(self) -> float:
        return sum(end_s - start_s for start_s, end_s in self.parts)


def measured_steps(steps: "Iterable[Step]") -> "list[Step]":
    """The commands of a benchmark that give its values. Others prepare, warm up or remove."""
    return [step for step in steps if _is_measured(step)]


def _is_measured(step: "Step") -> bool:
    return step.phase == "benchmark" and bool(step.output)


def window_of(activity: "Activity") -> Window | None:
    """The measured commands, with the sync behind each row of them; None without any."""
    parts: list[tuple[float, float, bool]] = []
    is_open = False
    for step in activity.steps:
        if _is_measured(step):
            start_s = parts.pop()[0] if is_open else step.start_s
            parts.append((start_s, step.end_s, False))
            is_open = True
        elif is_open and step.phase == "sync":
            parts.append((parts.pop()[0], step.end_s, True))
        elif step.phase == "benchmark":
            is_open = False
    if not parts:
        return None
    return Window(
        tuple((start_s, end_s) for start_s, end_s, _ in parts),
        all(is_settled for _, _, is_settled in parts),
    )


def work_of(steps: "list[Step]") -> Work | None:
    """What the processes of measured commands asked for; None where that was not counted."""
    if not steps or any(
        name not in step.processes for step in steps for name in ("rchar", "wchar")
    ):
        return None

    def total(*names: str) -> float:
        return sum(step.processes.get(name, 0) for step in steps for name in names)

    is_timed = all("user_s" in step.processes for step in steps)
    cpu_s = total("user_s", "system_s") if is_timed else None
    return Work(total("rchar"), total("wchar"), total("syscr", "syscw"), cpu_s)


@dataclass(frozen=True)
class WindowedActivity:
    activity: "Activity"
    window: Window

    def grown(self, *names: str) -> float | None:
        """By how much some counts grew together; None where any is not known."""
        growths = [
            self.activity.grown(name, start_s, end_s)
            for name in names
            for start_s, end_s in self.window.parts
        ]
        return (
            None
            if not growths or None in growths
            else float(sum(growth or 0 for growth in growths))
        )

    def of_devices(self, name: str) -> float | None:
        """Of the data and the journal device together."""
        roles = [
            column.rpartition(".")[0]
            for column in self.activity.columns
            if column.endswith(".writes")
        ]
        return (
            None if self.activity.is_shared else self.grown(*(f"{role}.{name}" for role in roles))
        )


def ratio(
    count: float | None, whole: float | None, least: float = 0.0, times: float = 1.0
) -> float | None:
    if count is None or whole is None or whole <= 0 or whole < least:
        return None
    return count * times / whole


class InvalidPrice(ValueError):
    """What was given is not a price; the text says what is one."""


@dataclass(frozen=True)
class Price:
    """``amount`` in ``currency`` (one of CURRENCIES) is spread over ``years``."""

    amount: float
    currency: str
    years: float


def parsed_price(amount: str, currency: str, years: str) -> Price | None:
    """The price that texts of a form state; None for no amount. Raises InvalidPrice."""
    amount, years = amount.strip().replace(",", ""), years.strip()
    if not amount:
        return None
    if not _AMOUNT.fullmatch(amount) or float(amount) == 0:
        raise InvalidPrice(
            f'"{amount[:40]}" is not a price: give it as 12000 or 12000.50, or nothing where it is '
            "not known."
        )
    if currency not in CURRENCIES:
        raise InvalidPrice(f"The currency is one of {', '.join(CURRENCIES)}.")
    if not _YEARS.fullmatch(years) or not 0.5 <= float(years) <= 50:
        raise InvalidPrice(
            f'"{years[:40]}" are not years of use: give 0.5 to 50, such as 5 or 3.5.'
        )
    return Price(float(amount), currency, float(years))


def price_test(currency: str) -> str:
    """The cost's test; one for each currency, because no table may mix them."""
    return f"price_{currency.lower()}_per_million_operations"


PRICE_TESTS = frozenset(map(price_test, CURRENCIES))


def per_million_operations(price: Price | None, seconds: float, operations: float) -> float | None:
    """In its currency, by straight-line depreciation; None without a price, or if too little was
    done. Compare the TPC's Pricing Specification and SPC-1.
    """
    if price is None or operations < LEAST_OPERATIONS or seconds < LEAST_S:
        return None
    of_the_time = price.amount * seconds / (price.years * _YEAR_S)
    return of_the_time / operations * 1e6


@dataclass(frozen=True)
class Cost:
    """``better`` is LOWER, HIGHER or NEITHER. Below ``floor``, in its unit, differences say
    nothing.
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
    """The costs that can be known, by test, of the ``work`` and the hardware's ``price``."""
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


LEAST_REQUESTS = 100
WAITS = {
    wait.test: wait
    for wait in (
        Cost(
            "device_utilisation",
            "Utilisation of the device",
            SHARE,
            NEITHER,
            "Share of the time in which the device had any request.",
            2.0,
        ),
        Cost(
            "device_queue_depth",
            "Queue depth of the device",
            "requests",
            NEITHER,
            "Requests that the device had at a time, on average.",
            0.1,
        ),
        Cost(
            "wait_outside_device",
            "Waited outside of the device",
            SHARE,
            LOWER,
            "Share of the time in which something waited for I/O (PSI, some) and the device had "
            "neither a request nor a flush: held back by a limit, or by a lock.",
            5.0,
        ),
        Cost(
            "device_read_time",
            "Time of a read of the device",
            "ms",
            LOWER,
            "From when a read request was made to its end, on average.",
            0.02,
        ),
        Cost(
            "device_write_time",
            "Time of a write of the device",
            "ms",
            LOWER,
            "From when a write request was made to its end, on average.",
            0.02,
        ),
        Cost(
            "device_flush_time",
            "Time of a flush of the device",
            "ms",
            LOWER,
            "From when a cache flush was asked for to its end, on average.",
            0.02,
        ),
        Cost(
            "merged_share",
            "Merged requests",
            "% of requests",
            HIGHER,
            "Share of the requests that were merged with another before the device got them.",
            2.0,
        ),
        Cost(
            "switches_per_1000_operations",
            "Context switches for 1,000 operations",
            "switches/1000 ops",
            LOWER,
            "Context switches of the machine for each 1,000 reads and writes of the benchmark.",
            20.0,
        ),
    )
}


def waits_of(activity: "Activity", work: Work | None) -> dict[str, float]:
    """Those that can be known, by name."""
    window = window_of(activity)
    if window is None or not activity.is_whole or window.seconds <= 0:
        return {}
    windowed = WindowedActivity(activity, window)
    busy = _share(windowed.of_devices("busy_ms"), windowed, 1000)
    stalled = _share(windowed.grown("group.pressure_io_some_us"), windowed, 1e6)
    if stalled is None:
        stalled = _share(windowed.grown("pressure.io_some_us"), windowed, 1e6)
    flushed = _share(windowed.of_devices("flush_ms"), windowed, 1000)
    merged = _sum(windowed.of_devices("reads_merged"), windowed.of_devices("writes_merged"))
    requests = _sum(windowed.of_devices("reads"), windowed.of_devices("writes"))
    waits = {
        "device_utilisation": busy,
        "device_queue_depth": ratio(
            windowed.of_devices("weighted_ms"), window.seconds, 0, 1 / 1000
        ),
        "wait_outside_device": (
            # A flush is no request in flight for the kernel's counts.
            None if stalled is None or busy is None else max(stalled - busy - (flushed or 0.0), 0.0)
        ),
        "device_read_time": _time(windowed, "read_ms", "reads"),
        "device_write_time": _time(windowed, "write_ms", "writes"),
        "device_flush_time": _time(windowed, "flush_ms", "flushes"),
        "merged_share": ratio(merged, _sum(merged, requests), LEAST_REQUESTS, 100),
        "switches_per_1000_operations": ratio(
            windowed.grown("cpu.context_switches"),
            work.operations if work else None,
            LEAST_REQUESTS,
            1000,
        ),
    }
    return {name: value for name, value in waits.items() if value is not None}


def _share(count: float | None, windowed: WindowedActivity, a_second: float) -> float | None:
    share = ratio(count, windowed.window.seconds * a_second, 0, 100)
    return None if share is None else min(share, 100.0)


def _time(windowed: WindowedActivity, took_ms: str, count: str) -> float | None:
    return ratio(windowed.of_devices(took_ms), windowed.of_devices(count), LEAST_REQUESTS)


def _sum(*counts: float | None) -> float | None:
    return None if None in counts else sum(count or 0.0 for count in counts)
