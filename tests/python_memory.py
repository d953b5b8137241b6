"""What Python's memory costs the processes of the tests, made less. Hooks of ``conftest.py``."""

import gc
from collections.abc import Generator

import pytest
from _pytest.runner import runtestprotocol

SLOTS = 100_000
"""Values for which one frame asks, of eight bytes each."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector: it would look again and again, a third of the work,
    through what stays until the end.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        # Every request and page of a test makes thousands of objects that refer to each other: a
        # collector that looks after 700 of them, as Python has it, is 2 to 5% of the work.
        gc.set_threshold(50_000, 10, 10)


def _run(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    runtestprotocol(item, nextitem=nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


# Python 3.11 keeps the frames of calls in pieces of 16 KiB, and gives one back to the kernel when a
# call returns to the piece before. A loop whose calls go to and fro over such an edge maps and
# unmaps memory each time, which was two thirds of what the kernel did for these processes. The
# piece of a frame that asks for much has room left for whatever is called within.
_run.__code__ = _run.__code__.replace(co_stacksize=SLOTS)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """As pytest's own, in a frame that asks for much."""
    _run(item, nextitem)
    return True
