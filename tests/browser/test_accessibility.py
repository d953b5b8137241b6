"""axe-core finds nothing on any page: WCAG 2.2 AA, light and dark, wide and
narrow, for a stranger and for a user. The pages are those of tests/test_rights.py, so that a new
address is looked at from its first day. axe-core (MPL-2.0) is in vendor/ as its package ships it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect

from tests.services.pages import look
from tests.test_rights import READ_BY_ALL, SIGNED_IN, one_of_everything

AXE = (Path(__file__).parent / "vendor" / "axe-4.14.1.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
Looks = list[tuple[Literal["light", "dark"], int]]
LOOKS: Looks = [("light", 1440), ("dark", 390)]
# The same elements in the other colours, at the same places: only contrast is asked again.
OTHER_LOOKS: Looks = [("dark", 1440), ("light", 390)]
RULES_OF_LOOKS = ["color-contrast"]
# A page is laid out anew for each width, and only painted for other colours.
IN_TURN: Looks = [LOOKS[0], OTHER_LOOKS[0], LOOKS[1], OTHER_LOOKS[1]]
# Fragments, files and JSON: no pages of their own.
NO_PAGES = (
    "api/",
    "/possible/",
    "charts/",
    "/lines/",
    "/artefacts/",
    ".csv",
    ".yaml",
    ".json",
    ".png",
    ".svg",
)
OF_THIS_ANSWER = re.compile(
    r'name="csrfmiddlewaretoken" value="\w+"|(?<=<time )datetime="[^"]*">[^<]*'
)
MESSAGES = re.compile(
    r'<div class="stack" role="status" data-messages>(.*?</div>){2}', flags=re.DOTALL
)
NO_PAGES_AT_ALL = (".xlsx", ".tex", ".md", ".pdf", "/figures/", "/fragment/")
# 42 tables each, most of what axe has to do. A user has nothing on them that is not on the pages of
# the smaller studies, which users are shown.
LARGE = [
    "studies/unisys-2005/",
    "compare/?study=unisys-2005",
    # Each tab has its own content; what is alike on both pages is looked at once.
    *(f"compare/?study=galli-2001&tab={tab}" for tab in ("tests", "charts", "setup")),
    "studies/galli-2001/?tab=charts",
]
MORE = [
    "studies/freenix-2002/",
    "compare/?study=freenix-2002",
    "compare/?by=nonsense",
    "compare/pictures/?study=unisys-2005&picture=stacked",
    "compare/pictures/?study=freenix-2002&picture=load",
    "runs/?state=failed&study=nothing",
    "search/",
    "runs/999999/",
]


@pytest.fixture
def ada(site: str) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def ids(ada: User) -> dict[str, object]:
    return one_of_everything(ada)


def violations(page: Page, rules: list[str] | None = None) -> list[str]:
    """What axe says of the page as it is shown: rule, impact, place and why."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)  # Not a script tag: the content security policy allows none from here.
    descriptions = page.evaluate(
        """({tags, only}) => axe.run(document, {
            runOnly: only ? {type: "rule", values: only} : {type: "tag", values: tags},
            resultTypes: ["violations"],
            selectors: false,
        }).then(result => result.violations
            .flatMap(one => one.nodes.slice(0, 3).map(node =>
                `${one.id} (${one.impact}): ${node.html} ${node.failureSummary}`)))""",
        {"tags": TAGS, "only": rules},
    )
    return list(descriptions)


def addresses(signed_in: bool) -> Iterator[str]:
    yield from (address for address, status in READ_BY_ALL.values() if status == 200)
    yield from MORE
    yield from SIGNED_IN.values() if signed_in else LARGE


def to_look_at(ids: dict[str, object], user: User | None) -> list[str]:
    """Paths of pages: the longest of several with the very same templates, or with the same main
    part but for messages, and of a user's those whose main part is not to the letter the
    stranger's, who is shown it in a test of its own.
    """
    stranger, client = Client(), Client()
    if user is not None:
        client.force_login(user)
    longest: dict[object, tuple[int, str, str]] = {}
    for address in addresses(user is not None):
        if any(part in address for part in (*NO_PAGES, *NO_PAGES_AT_ALL)):
            continue
        path = "/" + address.format(**ids)
        answer = client.get(path)
        main = main_of(answer.content.decode())
        if user is not None and main and main == main_of(stranger.get(path).content.decode()):
            continue
        templates = frozenset(template.name for template in answer.templates) or path
        this = (len(answer.content), path, MESSAGES.sub("", main) or path)
        longest[templates] = max(longest.get(templates, this), this)
    with_this_main = {main: path for _, path, main in sorted(longest.values())}
    return [path for _, path, main in longest.values() if with_this_main[main] == path]


def main_of(page: str) -> str:
    """The page without its frame, moments and what is drawn anew for each answer."""
    match = re.search(r"<main.*</main>", page, re.DOTALL)
    return OF_THIS_ANSWER.sub("", match[0]) if match else ""


@pytest.mark.parametrize("signed_in", [False, True], ids=["a-stranger", "a-user"])
def test_axe_finds_nothing_on_any_page(
    page: Page,
    ada: User,
    ids: dict[str, object],
    sign_in,
    complaints: list[str],
    signed_in: bool,
) -> None:
    if signed_in:
        sign_in(page, ada)
    places = {}
    looked_at = []
    for path in to_look_at(ids, ada if signed_in else None):
        page.goto(path)
        looked_at.append(path)
        for scheme, width in IN_TURN:
            # Whether a table scrolls is found out when its new width is.
            look(page, scheme, width)
            rules = RULES_OF_LOOKS if (scheme, width) in OTHER_LOOKS else None
            for violation in violations(page, rules):
                places.setdefault(violation, f"{path} {scheme} {width}")
    # The page that is not there complains of itself.
    complaints[:] = [
        complaint
        for complaint in complaints
        if not any(status in complaint for status in ("400", "403", "404", "422"))
    ]
    assert len(looked_at) > 25, looked_at
    assert not places, "\n\n".join(f"{place}: {violation}" for violation, place in places.items())


def test_dark_is_other_colours_and_nothing_else() -> None:
    """So sizes and places need be judged in one of the two."""
    rules = []
    for sheet in (settings.BASE_DIR / "static" / "css").glob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)
        screen = re.sub(r"@media print \{(?:[^{}]*\{[^{}]*\})*\s*\}", "", text)
        assert "light-dark(" not in screen
        dark = re.findall(r"prefers-color-scheme: dark\) \{\s*([^{}]*)\{", screen)
        assert len(dark) == screen.count("prefers-color-scheme")
        assert all("data-theme" in selector for selector in dark)
        rules += re.findall(r"data-theme[^{}]*\{([^{}]*)\}", screen)
    assert len(rules) == 2
    for name, value in re.findall(r"([\w-]+):\s*([^;]+);", "".join(rules)):
        assert name == "color-scheme" or re.fullmatch(r"#\w{3,8}|none", value), name


def test_keys_reach_the_search_the_rows_and_what_scrolls(
    page: Page, ids: dict[str, object]
) -> None:
    page.goto("/runs/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("j")
    first = page.locator("table.runs tbody tr").first.locator("th a")
    expect(first).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(first).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#site-search")).to_be_focused()
    # In a field they are letters.
    page.keyboard.type("ext4/?j")
    expect(page.locator("#site-search")).to_have_value("ext4/?j")
    page.locator("#site-search").fill("ext4")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/search/\?q=ext4$"))
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()


def test_single_keys_can_be_switched_off(page: Page, ids: dict[str, object]) -> None:
    page.goto("/runs/")
    page.keyboard.press("?")
    dialog = page.locator("#keys")
    expect(dialog).to_be_visible()
    assert not violations(page)
    dialog.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.reload()
    page.keyboard.press("?")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Keys").click()
    expect(dialog.get_by_role("checkbox")).not_to_be_checked()


def test_a_table_that_scrolls_is_in_the_order_of_the_tab_key(
    page: Page, ids: dict[str, object]
) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto("/studies/freenix-2002/")
    # One that is much wider than the screen: others are by a few pixels, as the fonts have it.
    region = page.locator(".table-wrap[tabindex='0'][aria-label='Workloads: pgmeter']")
    expect(region).to_have_attribute("role", "group")
    region.focus()
    expect(region).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.activeElement.scrollLeft > 0", polling=100)
