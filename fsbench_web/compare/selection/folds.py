"""Which tests a page folds. Pure. Further percentiles and costs come in folds of their own."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from fsbench_web.core.scoring import testnames

Entry = TypeVar("Entry")
COSTS = "what the work took of device, processors and memory"
"""What the fold of costs is of, among the latencies that others are of."""


@dataclass(frozen=True)
class Fold:
    """``of`` says in words which latency it has more percentiles of; ``size`` is how many tests."""

    of: str
    size: int

    @property
    def title(self) -> str:
        if self.of == COSTS:
            return f"Costs ({self.size})"
        return f"More percentiles ({self.size})"


@dataclass(frozen=True)
class FoldedEntry(Generic[Entry]):
    """An entry in the order of the page: the first of a fold ``opens`` it, the last ``closes``."""

    entry: Entry
    opens: Fold | None = None
    closes: bool = False


def folded_tests(tests: Iterable[str], chosen: Collection[str] = ()) -> dict[str, str]:
    """The tests in folds, each with the latency of its fold, or COSTS; none of the ``chosen``."""
    names = list(dict.fromkeys(tests))
    stems = {test: testnames.further_percentile_of(test) for test in names}
    in_sight = {testnames.latency_of(test) for test in names if not stems[test] or test in chosen}
    folded = {
        test: stem
        for test, stem in stems.items()
        if stem and stem in in_sight and test not in chosen
    }
    costs = [test for test in names if testnames.is_cost(test) and test not in chosen]
    if len(costs) < len(names):
        folded |= dict.fromkeys(costs, COSTS)
    return folded


def with_folds(
    entries: Iterable[Entry], test_of: Callable[[Entry], str], chosen: Collection[str] = ()
) -> list[FoldedEntry[Entry]]:
    """The entries, with those of a fold behind the last that is shown of the same latency."""
    listed = list(entries)
    folded = folded_tests(map(test_of, listed), chosen)
    if not folded:
        return [FoldedEntry(entry) for entry in listed]
    behind: dict[str, list[Entry]] = defaultdict(list)
    last: dict[str, int] = {}
    for place, entry in enumerate(listed):
        test = test_of(entry)
        if test in folded:
            behind[folded[test]].append(entry)
        else:
            last[testnames.latency_of(test)] = last[COSTS] = place
    placed_entries: list[FoldedEntry[Entry]] = []
    for place, entry in enumerate(listed):
        test = test_of(entry)
        if test in folded:
            continue
        placed_entries.append(FoldedEntry(entry))
        for stem in (testnames.latency_of(test), COSTS):
            if stem and last[stem] == place and stem in behind:
                placed_entries += _fold(stem, behind[stem], test_of)
    return placed_entries


def _fold(
    stem: str, entries: list[Entry], test_of: Callable[[Entry], str]
) -> Iterable[FoldedEntry[Entry]]:
    title = COSTS if stem == COSTS else testnames.label_of_latency(stem)
    fold = Fold(title, len({test_of(entry) for entry in entries}))
    for number, entry in enumerate(entries):
        yield FoldedEntry(entry, fold if number == 0 else None, number == len(entries) - 1)
