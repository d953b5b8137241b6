"""Percents are written in one way, wherever people read them: 10%, as most texts have it."""

import re
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
READ = (
    *("templates/**/*.html", "docs/*.md", "static/js/*.js", "README.md", "CHANGELOG.md"),
    *("client/**/*.md", "client/**/*.py", "fsbench_web/compare/**/*.py"),
    *("fsbench_web/figures/**/*.py", "fsbench_web/studies/**/*.py", "runner/**/*.py"),
)
# A number or a placeholder, a blank and the sign, which is not that of a template tag.
APART = re.compile(r"[\d}][ \u00a0\u202f]%(?![}\w(\[])")
DIVISION = re.compile(r" % [a-z0-9_(]")


@pytest.mark.parametrize("pattern", READ)
def test_no_blank_stands_before_a_percent_sign(pattern: str) -> None:
    files = sorted(ROOT.glob(pattern))
    assert files
    places = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for file in files
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1)
        if APART.search(line) and not (file.suffix in (".py", ".js") and DIVISION.search(line))
    ]
    assert places == []
