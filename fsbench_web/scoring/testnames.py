"""Names of tests: IOzone's thirteen in their usual order, and how any test is written. Pure."""

import re

PAPER_TESTS = ("write", "rewrite", "read", "reread", "random_write", "random_read")
"""The six of the Unisys 2005 paper, in its order."""

IOZONE_TESTS = (
    *PAPER_TESTS,
    *("backward_read", "record_rewrite", "stride_read"),
    *("fwrite", "refwrite", "fread", "refread"),
)
_LOAD = re.compile("@[a-z]+=[0-9]+(,[a-z]+=[0-9]+)*$")
_ORDER = {test: place for place, test in enumerate(IOZONE_TESTS)}


def at_load(test: str, load: str) -> str:
    """The name under which a test at a load is scored: ``randread@threads=16``.

    Speeds at two loads are two answers to two questions, so they are ranked in two tables.
    """
    return f"{test}@{load}" if load else test


def label(test: str) -> str:
    """What people read: ``random_write@threads=8`` is "Random write at threads=8"."""
    name, _, load = test.rpartition("@") if _LOAD.search(test) else (test, "", "")
    text = name.replace("_", " ")
    text = text[:1].upper() + text[1:]
    return f"{text} at {load.replace(',', ', ')}" if load else text


def place(test: str) -> tuple[int, str]:
    """Sort key: IOzone's order, then all others by name; loads of one test by their numbers."""
    name = test.rpartition("@")[0] if _LOAD.search(test) else test
    text = name + re.sub("[0-9]+", lambda number: number[0].zfill(12), test[len(name) :])
    return (_ORDER.get(name, len(_ORDER)), text)


def slug(test: str) -> str:
    """The test's name as an element id: letters, digits and "-" alone."""
    return re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-") or "test"
