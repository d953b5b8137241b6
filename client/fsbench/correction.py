"""Holm's correction: of many tests at once some are below the limit by chance."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected p-values, in the order given: S. Holm, Scand. J. Statist. 6 (1979).

    The smallest of m is multiplied by m, the next by m - 1 and so on; none is below the one before
    it, nor above 1.
    """
    found = [0.0] * len(p_values)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, p_values[place] * (len(p_values) - rank)))
        found[place] = least
    return found
