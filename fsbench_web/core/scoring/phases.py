"""Workloads with phases of one work as tests, drawn side by side. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from fsbench_web.core.scoring import loads, testnames

_MONGO = ("create", "copy", "append", "modify", "overwrite", "read", "stats", "rename", "delete")
# A compilation makes a kernel or, of a tree that fsbench writes, everything.
_COMPILATION = {
    "copy": "copy",
    "make_bzimage": "make bzImage",
    "make_all": "make all",
    "make_clean": "make clean",
    "remove": "remove",
}
_TIMES = {"real": "real time", "cpu": "CPU time"}


@dataclass(frozen=True)
class PhasedWorkload:
    """``phases`` are {test without its load: what the phase is called}, in their order."""

    name: str
    phases: Mapping[str, str]


WORKS = tuple(
    PhasedWorkload(
        f"{name}, {words}", {f"{test}_{ending}": phase for test, phase in phases.items()}
    )
    for name, phases in (
        ("Mongo", {f"mongo_{phase}": phase for phase in _MONGO}),
        ("Compilation", _COMPILATION),
    )
    for ending, words in _TIMES.items()
)


def work_of(test: str) -> PhasedWorkload | None:
    """The work that has a test, at any load, as a phase."""
    name, _ = testnames.parts(test)
    return next((work for work in WORKS if name in work.phases), None)


def tests_of(test: str) -> list[str]:
    """All phases of the test's work at the test's load; empty where it is no phase."""
    work, (_, load) = work_of(test), testnames.parts(test)
    return [testnames.at_load(name, load) for name in work.phases] if work else []


def place(test: str) -> tuple[int, tuple[int, str, int, str]]:
    """Sort key: work by work in their order, each by its loads."""
    work = work_of(test)
    return (WORKS.index(work) if work else len(WORKS), testnames.place(test))


def label(test: str) -> str:
    """What all phases together are called: "Mongo, real time at about 100 bytes a file"."""
    work, (_, load) = work_of(test), testnames.parts(test)
    if work is None:
        return testnames.label(test)
    return f"{work.name} at {loads.words(load)}" if load else work.name
