"""Which workers say that they are on one machine: together they have only what that one has."""

from collections.abc import Iterable

from fsbench_web.catalog.models import Worker


def on_one_machine(workers: Iterable[Worker]) -> list[list[str]]:
    """The names of workers that announced the same machine, for each machine of several."""
    by_mark: dict[str, list[str]] = {}
    for worker in workers:
        if mark := worker.capabilities.get("host_mark"):
            by_mark.setdefault(str(mark), []).append(worker.name)
    return [sorted(names) for names in by_mark.values() if len(names) > 1]


def in_words(groups: Iterable[Iterable[str]]) -> list[str]:
    """A sentence of each machine, for people."""
    return [
        f"{', '.join(names)} are workers of one machine (the same machine ID, which a copied disk "
        "image has too). They share its processors, memory and network, and show less than as "
        "many hosts would."
        for names in groups
    ]
