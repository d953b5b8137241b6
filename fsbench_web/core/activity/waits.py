"""How a run waited: what is no test of its own, and says where the time went. Pure."""

from typing import TYPE_CHECKING

from fsbench_web.core.activity.costs import HIGHER, LOWER, NEITHER, SHARE, Cost
from fsbench_web.core.activity.window import WindowedActivity, Work, ratio, window_of

if TYPE_CHECKING:
    # It brings NumPy, and every command knows what costs there are.
    from fsbench_web.core.activity.series import Activity

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
