"""Names of tests: IOzone's thirteen in their usual order, and how any test is written. Pure."""

import re

PAPER_TESTS = ("write", "rewrite", "read", "reread", "random_write", "random_read")
"""The six of the Unisys 2005 paper, in its order."""

IOZONE_TESTS = (
    *PAPER_TESTS,
    *("backward_read", "record_rewrite", "stride_read"),
    *("fwrite", "refwrite", "fread", "refread"),
)
CREATION_TESTS = ("mkfs", "mount")
"""How long making and mounting a file system takes, in seconds."""

_LABELS = {
    "mkfs": "File system creation",
    "mount": "Mounting",
    "kernel_source_space_df": "Space of the source tree (df)",
    "kernel_source_space_du": "Space of the source tree (du)",
}
# How published studies name what they timed: make_bzimage_cpu is "Make bzImage, CPU time".
_WORDS = {"io": "I/O", "bzimage": "bzImage"}
_ENDINGS = {" cpu": ", CPU time", " cpu load": ", CPU load", " real": ", real time"}
_LOAD = re.compile("@[a-z]+=[0-9]+(,[a-z]+=[0-9]+)*$")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_ORDER = {test: place for place, test in enumerate((*IOZONE_TESTS, *CREATION_TESTS))}


def at_load(test: str, load: str) -> str:
    """The name under which a test at a load is scored: ``randread@threads=16``.

    Speeds at two loads are two answers to two questions, so they are ranked in two tables.
    """
    return f"{test}@{load}" if load else test


def label(test: str) -> str:
    """What people read: ``random_write@threads=8`` is "Random write at threads=8"."""
    name, load = parts(test)
    text = _LABELS.get(name) or _in_words(name)
    return f"{text} at {load.replace(',', ', ')}" if load else text


def place(test: str) -> tuple[int, str]:
    """Sort key: IOzone's order, mkfs and mount, then all others by name.

    Numbers in names and loads sort as numbers: p1 before p10, p99.5 before p99.95, and that
    before p100.
    """
    name, load = parts(test)
    text = f"{name}@{load}" if load else name
    return (_ORDER.get(name, len(_ORDER)), _NUMBER.sub(_padded, text))


def _padded(number: re.Match[str]) -> str:
    whole, point, rest = number[0].partition(".")
    return whole.zfill(12) + point + rest


def parts(test: str) -> tuple[str, str]:
    """Name and load of a test, the inverse of ``at_load``; the load is "" where there is none."""
    name, _, load = test.rpartition("@") if _LOAD.search(test) else (test, "", "")
    return name, load


def _in_words(name: str) -> str:
    text = name.replace("_", " ")
    text = " ".join(_WORDS.get(word, word) for word in text.split(" "))
    for ending, words in _ENDINGS.items():
        text = text.removesuffix(ending) + words if text.endswith(ending) else text
    return text[:1].upper() + text[1:]


def slug(test: str) -> str:
    """The test's name as an element id: letters, digits and "-" alone."""
    return re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-") or "test"
