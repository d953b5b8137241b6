"""What pages weigh: their HTML, raw and compressed, and the scripts that they load at once.

The bounds are a tenth above what was measured (docs/performance.md). Who needs more room for
something that is worth it raises one, and writes the new figure there.
"""

import gzip
import re
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.test import Client

from tests.compare.conftest import make_run, make_score

KB = 1000


def page(client: Client, address: str) -> tuple[int, int, int]:
    """Bytes of the HTML, of the same compressed, and of its scripts raw."""
    answer = client.get(address)
    assert answer.status_code == 200, address
    html = answer.content
    names = re.findall(r'<script[^>]* src="/static/([^"?]+)"', html.decode())
    scripts = [finders.find(name) for name in names]
    assert all(scripts), names
    return len(html), len(gzip.compress(html)), sum(Path(str(s)).stat().st_size for s in scripts)


@pytest.fixture
def lab(db: None) -> int:
    """A study of 40 tests of five file systems; the key of a run of it."""
    call_command("load_published", stdout=StringIO())
    for test in range(40):
        for number, name in enumerate(("ext2", "ext3", "ext4", "xfs", "btrfs")):
            score = make_score(name, 1000.0 + test + number, test=f"test {test}", category="mean")
    return make_run(score.series).pk


MOST = {
    "/": (11, 4, 15),
    "/studies/unisys-2005/": (247, 26, 84),
    "/studies/unisys-2005/?tab=tests": (173, 14, 84),
    "/studies/lab/": (61, 8, 76),
    "/studies/lab/?tab=tests": (39, 7, 84),
    "/studies/lab/?tab=charts": (16, 4, 76),
    "/compare/?study=unisys-2005": (78, 14, 84),
    "/compare/?study=unisys-2005&tab=tests": (53, 10, 84),
    "/compare/?study=galli-2001": (83, 13, 84),
    "/compare/?study=lab": (113, 14, 84),
    "/compare/?study=lab&tab=tests": (67, 11, 84),
    "/compare/?study=lab&tab=charts": (44, 8, 84),
    "/runs/{run}/": (17, 4, 32),
}
"""Of each address: KB of HTML, of the same compressed, and of scripts."""


def test_pages_are_light(client: Client, lab: int) -> None:
    measured = {address: page(client, address.format(run=lab)) for address in MOST}
    heavy = {
        address: weights
        for address, weights in measured.items()
        if any(is_ > most * KB for is_, most in zip(weights, MOST[address], strict=True))
    }
    assert not heavy, measured
