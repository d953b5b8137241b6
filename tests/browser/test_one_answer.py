"""Every page gives the same answer to a study whose truth is known, in a browser.

What each answer is made of is tested in tests/compare/test_one_answer.py.
"""

import html
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page

from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from tests.browser.test_accessibility import violations
from tests.compare.test_one_answer import Truth, exceed_the_disk, fit_into_memory, measure


@dataclass(frozen=True)
class Case:
    """Speeds by file system, and what every page has to say of them."""

    truth: Truth
    noise: float
    status: str
    leader: str | None = None
    caveats: tuple[str, ...] = ()
    blocks: int = 5
    prepare: Callable[[], None] = lambda: None


AHEAD: Truth = {"ext4": {"": 1.0}, "xfs": {"": 1.5}}
CASES = {
    "no difference": Case(
        {"ext4": {"": 1.0}, "xfs": {"": 1.0}, "btrfs": {"": 1.0}}, 0.08, "inconclusive"
    ),
    "a real five percent": Case({"ext4": {"": 1.0}, "xfs": {"": 1.05}}, 0.005, "faster", "xfs"),
    "below the margin": Case({"ext4": {"": 1.0}, "xfs": {"": 1.002}}, 0.002, "equivalent"),
    "mixed": Case({"ext4": {"": 1.0}, "xfs": {"": 1.3, "create": 0.7, "copy": 0.8}}, 0.01, "mixed"),
    "one run each": Case(
        {"ext4": {"": 1.0}, "xfs": {"": 3.0}}, 0.01, "inconclusive", None, ("one_block",), 1
    ),
    "one file system": Case({"ext4": {"": 1.0}}, 0.01, "none"),
    "page cache": Case(AHEAD, 0.01, "faster", "xfs", ("page_cache",), prepare=fit_into_memory),
    "unreliable probes": Case(
        AHEAD, 0.01, "faster", "xfs", ("ceiling_unreliable",), prepare=exceed_the_disk
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_page_gives_the_same_answer(page: Page, site: str, case: Case) -> None:
    jo = User.objects.create_superuser("jo")
    measure(case.truth, case.noise, case.blocks)
    case.prepare()
    key = records.pin(ComparisonSpec(studies=("lab",)), jo).key
    found = page.request.get("/api/v1/comparison?study=lab").json()["answer"]
    expected = (case.status, case.leader, list(case.caveats))
    assert (found["status"], found["leader"], found["caveats"]) == expected
    for address in (
        "/studies/lab/",
        "/studies/lab/?tab=tests",
        "/compare/?study=lab",
        "/studies/lab/report/",
        f"/p/{key}/",
    ):
        page.goto(address)
        answer = page.locator("#answer")
        assert answer.get_attribute("data-status") == case.status, address
        assert answer.get_attribute("data-leader") == (case.leader or ""), address
        assert answer.locator(".who").inner_text() == found["sentence"], address
        told = answer.locator("[data-caveat]").evaluate_all(
            "all => all.map(one => one.dataset.caveat)"
        )
        assert told == list(case.caveats), address
        # Significant cells are coloured: text on them stays readable.
        assert violations(page, ["color-contrast"]) == [], address
    # The image, and what is said to who does not see it.
    image_alt = page.locator("meta[property='og:image:alt']").get_attribute("content")
    assert image_alt is not None
    assert image_alt.startswith(found["sentence"])
    for image in ("/compare/image.svg?study=lab", f"/p/{key}/image.svg"):
        assert found["sentence"] in html.unescape(page.request.get(image).text()), image
