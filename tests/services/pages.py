"""When a page can be read at once: its sizes, colours and places, and what it complained about."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from playwright.sync_api import Page


@contextmanager
def complaint_about(page: Page, complaints: list[str], *words: str) -> Iterator[None]:
    """What is done inside makes the page complain in these words: wait for that, and forget it.

    A complaint may come later than what it is about; nothing else is forgotten.
    """

    def is_it(text: str) -> bool:
        return any(word in text for word in words)

    with page.expect_console_message(lambda message: is_it(message.text)):
        yield
    complaints[:] = [complaint for complaint in complaints if not is_it(complaint)]


_IS_AT_REST = """() => {
    const isSeen = element => {
        const box = element.getBoundingClientRect();
        return element.checkVisibility()
            && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
    };
    const waits = [
        ...document.querySelectorAll("figure[data-figure]:not([data-drawn])"),
        ...document.querySelectorAll("[data-chart-waits], [data-fetch]:not(:has(button))"),
    ];
    return document.readyState === "complete"
        && !document.querySelector(".htmx-request, .htmx-swapping, .htmx-settling")
        && !waits.some(isSeen);
}"""
_TWO_FRAMES = """new Promise(
    done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))
)"""


def at_rest(page: Page) -> None:
    """Wait until the page is loaded, what is in sight has come and is drawn, and observers of
    sizes have had their say. What is read once (sizes, colours, places) is read after this.
    """
    page.wait_for_function(_IS_AT_REST)
    page.evaluate(_TWO_FRAMES)


def look(page: Page, scheme: Literal["light", "dark"], width: int) -> None:
    """Show the page in these colours and at this width, without moving parts, and at rest."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function(
        "([scheme, width]) => innerWidth === width"
        " && matchMedia(`(prefers-color-scheme: ${scheme})`).matches",
        arg=[scheme, width],
    )
    at_rest(page)
