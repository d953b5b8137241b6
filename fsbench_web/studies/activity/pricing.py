"""The price of hardware and the cost of runs on it. A new price reprices all of them."""

from collections.abc import Iterable

from django.db import transaction

from fsbench_web.catalog.models import HardwareProfile
from fsbench_web.core.activity.costs import (
    COSTS,
    PRICE_TESTS,
    Price,
    WindowedActivity,
    per_million_operations,
    price_test,
    window_of,
)
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.studies.activity import records
from fsbench_web.studies.models import UNTRACED, Run, RunActivity, RunState
from fsbench_web.studies.scores import ingest, measurements
from fsbench_web.studies.series import lock_all

MOST_AT_ONCE = 1000
"""Runs that are priced within one request; more take the command line."""
OPERATIONS = "operations"
"""Reads and writes of a benchmark, kept among ``RunActivity.costs``."""


class TooManyRuns(ValueError):
    """More runs than one request prices; the text says what to do."""


def price_of(profile: HardwareProfile | None) -> Price | None:
    """What was stated; None where nothing was."""
    if profile is None or profile.price is None or not profile.price_years:
        return None
    return Price(profile.price, profile.price_currency, profile.price_years)


@transaction.atomic
def state_price(
    profile: HardwareProfile, price: Price | None, limit: int | None = MOST_AT_ONCE
) -> int:
    """Keep the price and reprice finished runs; returns how many. Raises TooManyRuns before."""
    runs = _runs_on(profile)
    if limit is not None and len(runs) > limit:
        raise TooManyRuns(
            f"{len(runs):,} runs were measured on it, and one request prices {limit:,}: state it "
            f"on the server, with manage.py hardware_price {profile.slug}."
        )
    HardwareProfile.objects.filter(pk=profile.pk).update(
        price=price.amount if price else None,
        price_currency=price.currency if price else "",
        price_years=price.years if price else None,
    )
    lock_all({run.series_id: run.series for run in runs}.values())
    priced = sum(_price_run(run, price) for run in runs)
    for series in {run.series_id: run.series for run in runs}.values():
        ingest.rescore(series)
    return priced


def _runs_on(profile: HardwareProfile) -> list[Run]:
    runs = Run.objects.filter(
        series__hardware=profile,
        state=RunState.DONE,
        tracing=UNTRACED,
        activity__isnull=False,
    )
    return list(runs.select_related("series").order_by("pk"))


def _price_run(run: Run, price: Price | None) -> bool:
    """Take the prices of before from a run and give it the one of now; whether it has one."""
    run_activity = RunActivity.objects.get(run=run)
    costs = {test: value for test, value in run_activity.costs.items() if test not in PRICE_TESTS}
    for block in measurements.listed(measurements.of_run(run.pk)):
        if any(test in PRICE_TESTS for test, *_ in block.tests):
            measurements.rewrite(block, _without_prices(block.read().rows()))
    value = _value(run_activity, price)
    if price is not None and value is not None:
        test = price_test(price.currency)
        costs[test] = value
        cost = ParsedValue(test, None, None, value, COSTS[test].unit, 1)
        ingest.store_values(run, None, [cost])
    if costs != run_activity.costs:
        RunActivity.objects.filter(run=run).update(costs=costs)
    return value is not None


def _without_prices(rows: Iterable[measurements.Measurement]) -> list[measurements.Measurement]:
    return [row for row in rows if row.test not in PRICE_TESTS]


def _value(run_activity: RunActivity, price: Price | None) -> float | None:
    """Runs of before kept no operations: theirs are those of each CPU second, times these."""
    activity = records.activity_of(run_activity)
    window = window_of(activity)
    if window is None:
        return None
    operations = run_activity.costs.get(OPERATIONS)
    if operations is None:
        rate = run_activity.costs.get("operations_per_cpu_second")
        busy_ms = WindowedActivity(activity, window).grown(
            "cpu.user_ms", "cpu.system_ms", "cpu.irq_ms"
        )
        if rate is None or busy_ms is None:
            return None
        operations = rate * busy_ms / 1000
    return per_million_operations(price, window.seconds, operations)
