"""On a telephone each row of a list is a card, and nothing of it is out of sight."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page

from tests.services.pages import at_rest
from tests.test_rights import one_of_everything

LISTS = {
    "/jobs/": 1,
    "/jobs/{job}/": 1,
    "/runs/": 1,
    "/luns/{lun}/": 1,
    "/workers/": 1,
    "/workers/{worker}/": 1,
    "/workloads/": 1,
    "/operations/": 1,
    "/profiles/": 2,
    "/profiles/new/": 1,
    "/history/?study=lab": 1,
    "/imports/new/": 1,
    "/imports/{result}/": 2,
    "/audit/": 1,
    "/people/": 2,
    "/people/{user}/": 1,
    "/account/": 1,
}
# [what a cell says before its value, the column that it stands in], where these differ.
WRONG = """all => all.flatMap(table => {
    const names = Array.from(table.tHead.rows[0].cells, one => one.textContent.trim());
    return Array.from(table.tBodies[0].rows)
        .flatMap(row => Array.from(row.cells))
        .filter(cell => "label" in cell.dataset && cell.dataset.label !== names[cell.cellIndex])
        .map(cell => [cell.dataset.label, names[cell.cellIndex]]);
})"""


@pytest.fixture
def ids(site: str) -> dict[str, object]:
    return one_of_everything(User.objects.create_superuser("ada"))


def test_a_row_of_a_list_is_a_card_on_a_telephone(
    page: Page, ids: dict[str, object], sign_in
) -> None:
    sign_in(page, User.objects.get(username="ada"))
    page.set_viewport_size({"width": 390, "height": 900})
    for address, count in LISTS.items():
        page.goto(address.format(**ids))
        at_rest(page)
        page.locator("main details:has(table.is-cards)").evaluate_all(
            "all => all.forEach(one => { one.open = true; })"
        )
        tables = page.locator("table.is-cards")
        assert tables.count() >= count, address
        assert tables.evaluate_all(WRONG) == [], address
        hidden = page.locator(".table-wrap").evaluate_all(
            "all => all.filter(one => one.scrollWidth > one.clientWidth).length"
        )
        assert hidden == 0, address


def test_a_card_is_a_row_of_its_table_to_a_screen_reader(
    page: Page, ids: dict[str, object]
) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto("/workers/")
    at_rest(page)
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    named = [
        (node["role"]["value"], node["name"]["value"])
        for node in nodes
        if not node["ignored"] and "name" in node
    ]
    assert [name for role, name in named if role == "columnheader"] == [
        *("Worker", "State", "Last heartbeat", "Executor", "LUNs", "Running", "Waiting")
    ]
    cells = [name for role, name in named if role in ("cell", "gridcell")]
    assert len(cells) == 6
    # The name of a column is its header's, and not read as a part of each value.
    assert not any(name.startswith(("State", "Executor")) for name in cells), cells
