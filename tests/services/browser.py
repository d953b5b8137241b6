"""Debian's Chromium, driven by Playwright, with an ear for everything a page complains about."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.services.process import program

FLAGS = [
    "--no-sandbox",  # root has no user namespaces to sandbox in
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str:
    """Chromium's path. Raises ServiceFailed."""
    return program("chromium", "chromium")


@contextmanager
def chromium_browser() -> Iterator[Browser]:
    """Start Chromium; one for the whole session, pages get contexts of their own."""
    # Playwright's synchronous interface runs an event loop in this thread, at the sight of which
    # Django refuses every query. The loop only waits here; no query runs inside it.
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
            yield browser
            browser.close()
    finally:
        if before is None:
            del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
        else:
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


def collect_complaints(page: Page, complaints: list[str]) -> None:
    """Add to ``complaints`` each console error or warning (violations of the content security

    policy are such), uncaught exception and failed request of the page.
    """

    def console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(f"console {message.type}: {message.text} ({page.url})")

    page.on("console", console)
    page.on("pageerror", lambda error: complaints.append(f"uncaught: {error} ({page.url})"))


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
        ...document.querySelectorAll("[data-chart-waits]"),
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
