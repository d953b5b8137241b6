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

_LABELS = {"mkfs": "File system creation", "mount": "Mounting"}
# How published studies name what they timed: make_bzimage_cpu is "Make bzImage, CPU time".
_WORDS = {"io": "I/O", "bzimage": "bzImage"}
_ENDINGS = {" cpu": ", CPU time", " real": ", real time"}
_ORDER = {test: place for place, test in enumerate((*IOZONE_TESTS, *CREATION_TESTS))}


def label(test: str) -> str:
    """What people read: ``random_write`` is "Random write"."""
    if test in _LABELS:
        return _LABELS[test]
    text = test.replace("_", " ")
    text = " ".join(_WORDS.get(word, word) for word in text.split(" "))
    for ending, words in _ENDINGS.items():
        text = text.removesuffix(ending) + words if text.endswith(ending) else text
    return text[:1].upper() + text[1:]


def place(test: str) -> tuple[int, str]:
    """Sort key: IOzone's order, mkfs and mount, then all others by name."""
    return (_ORDER.get(test, len(_ORDER)), test)


def slug(test: str) -> str:
    """The test's name as an element id: letters, digits and "-" alone."""
    return re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-") or "test"
