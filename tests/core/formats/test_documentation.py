"""docs/formats.md names every format that is read, and no other."""

import re
from pathlib import Path

from fsbench_web.core.formats import FORMATS

PAGE = (Path(__file__).parents[3] / "docs/formats.md").read_text()


def test_every_format_has_its_section() -> None:
    assert sorted(re.findall(r"^## .*\(`([^`]+)`\)$", PAGE, re.MULTILINE)) == sorted(FORMATS)


def test_every_section_says_how_it_is_recognised_and_what_results() -> None:
    for section in PAGE.split("\n## ")[1:]:
        assert "*Recognised by*" in section, section.splitlines()[0]
        assert "*Tests*" in section, section.splitlines()[0]
        assert "nits*" in section, section.splitlines()[0]
