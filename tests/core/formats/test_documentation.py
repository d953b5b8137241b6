"""docs/formats.md names every format that is read, and no other."""

import re
from pathlib import Path

from fsbench_web.core.formats import FORMATS

PAGE = (Path(__file__).parents[3] / "docs/formats.md").read_text()
ROWS = re.findall(r"^\| [^|]*\(`([^`]+)`\) \|(.*)\|$", PAGE, re.MULTILINE)


def test_every_format_has_one_row() -> None:
    assert sorted(name for name, _ in ROWS) == sorted(FORMATS)


def test_every_row_says_what_the_file_contains_and_what_results() -> None:
    for name, rest in ROWS:
        cells = re.split(r"(?<!\\)\|", rest)
        assert len(cells) == 4, name
        assert all(cell.strip() for cell in cells), name
