"""How the promise of explanations is held against a simulation
(benchmarks/simulations/explanations.py)."""

import scipy  # its parts are loaded when they are asked for

from benchmarks.simulations import explanations


def test_a_share_of_five_percent_is_hardly_ever_refused_and_six_and_a_half_is() -> None:
    trials = explanations.TRIALS
    refused = [hits for hits in range(trials) if explanations.is_refuted(hits, trials)]
    shares = len(explanations.COUNTS) * len(explanations.HOW)
    assert scipy.stats.binom.sf(refused[0] - 1, trials, 0.05) * shares <= 0.01
    assert scipy.stats.binom.sf(refused[0] - 1, trials, 0.07) > 0.95
    assert 0.05 < refused[0] / trials < 0.065


def test_without_a_difference_little_is_called_one() -> None:
    """A few of the simulation's trials, so that a rule that calls anything is seen at once."""
    draw = explanations.np.random.default_rng(3)
    differing, _ = explanations.count_hits(draw, 5, "blocks", {}, 40)
    assert differing <= 8  # of 5% that is more in 1 of 3,000 draws
