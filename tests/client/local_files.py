"""Files of two entries for comparisons on this machine: samples with other last digits."""

import random
import re
from pathlib import Path

from fsbench_web.core.formats import parse
from fsbench_web.core.formats.tables.file_numbers import numbers_of

SAMPLES = Path(__file__).parent.parent / "core" / "formats" / "samples"
_NUMBER = re.compile(r"(?<![\w.:-])[0-9]+(?:\.[0-9]+)?(?![\w:-])")
ENTRIES = ("ext4", "xfs")
REPEATS = 3


def folders_of(sample: str, folder: Path) -> list[tuple[str, bytes]]:
    """Write REPEATS of a sample for each of ENTRIES; returns (path in ``folder``, content)."""
    found = []
    for entry in ENTRIES:
        for repeat in range(1, REPEATS + 1):
            content = changed(sample, random.Random(f"{entry}{repeat}"))
            path = f"{entry}/repeat-{repeat}.txt"
            (folder / entry).mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
            found.append((path, content))
    return found


def changed(sample: str, rng: random.Random) -> bytes:
    """The same output with other last digits in the lines that hold values."""
    content = (SAMPLES / sample).read_bytes()
    text = content.decode()
    lines = {value.line for value in numbers_of(parse(sample, content)).values()}
    rows = text.split("\n")
    for line in lines:
        rows[line - 1] = _NUMBER.sub(lambda match: _changed(match[0], rng), rows[line - 1])
    return "\n".join(rows).encode()


def _changed(number: str, rng: random.Random) -> str:
    """Of four digits or more the last two, as many as before."""
    if len(number.replace(".", "")) < 4 or number in ("1024", "2048", "4096", "8192", "16384"):
        return number
    last = iter(rng.choices("123456789", k=2))
    digits = list(number)
    for place in [place for place, sign in enumerate(digits) if sign != "."][-2:]:
        digits[place] = next(last)
    return "".join(digits)
