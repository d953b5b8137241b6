"""Debian's Chromium, driven by Playwright, with an ear for everything a page complains about."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

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


class SharedChromium:
    """One Chromium for all tests that follow each other: started for the first of them.

    ``close`` after the last: the event loop goes with it, which async_to_sync of other tests
    refuses.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._browser: Browser | None = None

    def browser(self) -> Browser:
        """Raises ServiceFailed."""
        if self._browser is None:
            self._browser = self._stack.enter_context(chromium_browser())
        return self._browser

    def close(self) -> None:
        self._browser = None
        self._stack.close()


def collect_complaints(page: Page, complaints: list[str]) -> None:
    """Add to ``complaints`` each console error or warning (violations of the content security
    policy are such), uncaught exception and failed request of the page.
    """

    def console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(f"console {message.type}: {message.text} ({page.url})")

    page.on("console", console)
    page.on("pageerror", lambda error: complaints.append(f"uncaught: {error} ({page.url})"))
