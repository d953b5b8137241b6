"""Audits of simulated machines count what is true of them."""

import numpy as np
import pytest
import scipy  # its parts are loaded when they are asked for

from benchmarks.simulations.auditing import simulated
from fsbench_web.core.stats.auditing import ROUNDS, Audit
from fsbench_web.core.stats.intervals import share_interval
from fsbench_web.core.stats.verdicts import detectable

RISING = {f"round {place}": 1000.0 + place for place in range(12)}


def times(values: dict[str, float], *factors: float) -> dict[str, float]:
    return {
        name: value * factors[place % len(factors)]
        for place, (name, value) in enumerate(values.items())
    }


@pytest.mark.parametrize(("hits", "tries"), [(0, 40), (5, 100), (200, 4000), (40, 40)])
def test_the_interval_of_a_share_is_the_exact_one(hits: int, tries: int) -> None:
    expected = scipy.stats.binomtest(hits, tries).proportion_ci(0.95, method="exact")
    assert share_interval(hits, tries) == pytest.approx(tuple(expected))


def test_of_no_difference_hardly_any_is_called_and_five_percent_in_one_is_found() -> None:
    audit = simulated(np.random.default_rng(7), 0.01, 5, 200)
    assert audit.equal.made == 200
    assert audit.equal.found <= 20  # of 5% that is more in 1 of 1,000 draws
    known = audit.known_handicap
    assert known is not None
    assert known.made == 200
    assert known.found >= 190
    assert known.percent == pytest.approx(5, abs=0.5)
    # 1% a run is 1.41% of a ratio.
    assert audit.smallest_percent == pytest.approx(2.3, abs=0.2)


def test_rounds_count_once_and_only_five_that_both_sides_have() -> None:
    audit = Audit()
    shorter = {name: value for name, value in RISING.items() if name != "round 0"}
    audit.add(RISING, times(shorter, 1.0, 1.001), {900.0: times(RISING, 0.9, 0.901)}, is_time=False)
    assert audit.equal.made == 11 // ROUNDS
    assert audit.equal.found == 0
    (handicap,) = audit.handicaps
    assert (handicap.found, handicap.made) == (2, 2)


def test_only_a_handicap_near_five_percent_counts_as_one() -> None:
    audit = Audit()
    free = dict.fromkeys(RISING, 1000.0)
    limited = {
        rate: times(free, rate / 1000, rate / 1001) for rate in (930.0, 945.0, 955.0, 1010.0)
    }
    audit.add(free, times(free, 1.0, 1.001), limited, is_time=False)
    known = audit.known_handicap
    assert known is not None
    assert known.made == 4
    assert known.percent == pytest.approx(5.0, abs=0.1)
    assert [round(row.percent) for row in audit.rows] == [0, 5, 6, 7]


def test_without_rounds_nothing_is_claimed() -> None:
    audit = Audit()
    audit.add({}, {}, {1.0: {}}, is_time=False)
    assert audit.smallest_percent is None
    assert audit.known_handicap is None
    assert audit.rows == [audit.equal]


def test_a_machine_without_noise_shows_what_is_not_equivalent() -> None:
    assert detectable(0.0, ROUNDS) == pytest.approx(np.log(1.02))
    assert detectable(0.02, ROUNDS) == pytest.approx(0.02 / np.sqrt(5) * 3.717, rel=1e-3)
