"""The tabs of a comparison that no published study has: *Latency* and *Runs*, as axe-core sees."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_accessibility import IN_TURN, OTHER_LOOKS, RULES_OF_LOOKS, violations
from tests.compare.conftest import make_run, make_score
from tests.compare.selection.test_folds import TESTS
from tests.services.pages import look


@pytest.fixture
def measured(site: str) -> None:
    for name, value in (("ext4", 1000.0), ("xfs", 2000.0)):
        for number, test in enumerate(TESTS):
            unit = "ns" if "clat" in test else "KB/s"
            score = make_score(name, value + number, test=test, unit=unit, category="mean")
        make_run(score.series)


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize(
    ("address", "heading"),
    [
        ("/compare/?study=lab&tab=latency", "Latency"),
        ("/compare/?study=lab&tab=runs", "Runs"),
        ("/compare/?study=lab&profile=oltp&test=write", "Compare"),
    ],
)
def test_axe_finds_nothing_serious_on_tabs_of_what_was_measured(
    page: Page, address: str, heading: str
) -> None:
    page.goto(address)
    expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    open_all = "document.querySelectorAll('main details').forEach(one => { one.open = true; })"
    page.evaluate(open_all)
    for scheme, width in IN_TURN:
        look(page, scheme, width)
        rules = RULES_OF_LOOKS if (scheme, width) in OTHER_LOOKS else None
        assert violations(page, rules) == [], (scheme, width)
