"""Distributions of statistics, as ``scipy.special`` has them, loaded when the first is asked for.

Loading costs a fifth of a second of a processor. Commands, the supervisor and a worker that waits
ask for none. Names and arguments are those of ``scipy.special`` .
"""

from functools import cache
from typing import Any


@cache
def _special() -> Any:
    """The module; to import it where it is used costs as much again as one value of it."""
    from scipy import special

    return special


def bdtr(successes: float, tries: float, share: float) -> Any:
    """Probability of at most ``successes`` in ``tries`` of probability ``share`` each."""
    return _special().bdtr(successes, tries, share)


def bdtrik(probability: float, tries: float, share: float) -> Any:
    """The inverse of ``bdtr`` in its first argument, not rounded."""
    return _special().bdtrik(probability, tries, share)


def betaincinv(a: float, b: float, probability: float) -> Any:
    """The quantile of the beta distribution."""
    return _special().betaincinv(a, b, probability)


def ndtr(deviations: Any) -> Any:
    """Probability of the standard normal distribution up to ``deviations``."""
    return _special().ndtr(deviations)


def ndtri(probability: Any) -> Any:
    """The quantile of the standard normal distribution."""
    return _special().ndtri(probability)


def stdtr(freedom: Any, t: Any) -> Any:
    """Probability of Student's distribution of ``freedom`` degrees up to ``t``."""
    return _special().stdtr(freedom, t)


def stdtrit(freedom: Any, probability: Any) -> Any:
    """The quantile of Student's distribution of ``freedom`` degrees."""
    return _special().stdtrit(freedom, probability)
