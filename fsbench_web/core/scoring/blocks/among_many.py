"""How many blocks many contenders need, where runs are of two speeds. Pure.

A test of three blocks rests on its promise that runs scatter normally. Runs that are now and then a
quarter slower, as on a disk that collects its garbage, make a difference by chance in few blocks,
and the more contenders, the more often. From so many blocks on at most one in ten tables of alike
contenders calls the best faster where that befalls every second run, the worst of what
``benchmarks/simulations/verdicts.py`` simulates.
"""

from math import isqrt

_LEAST = ((3, 3), (12, 5))
_OF_MORE = 8


def least_blocks(contenders: int) -> int:
    """Of so many contenders."""
    return next(
        (blocks for most_contenders, blocks in _LEAST if contenders <= most_contenders), _OF_MORE
    )


def contenders_of(pairs: int) -> int:
    """Whose pairs are so many."""
    return (1 + isqrt(1 + 8 * pairs)) // 2
