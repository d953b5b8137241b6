"""Debian's Chromium, driven by Playwright, with an ear for everything a page complains about."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Page,
    ViewportSize,
    sync_playwright,
)

from tests.services.process import ServiceFailed

WIDE: ViewportSize = {"width": 1440, "height": 900}
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
    """That of Chromium as users have it, else of Playwright's own: Ubuntu has no package of it but
    a snap, which sees no folder of the tests. Raises ServiceFailed.
    """
    found = shutil.which("chromium")
    if found and "/snap/" not in found:
        return found
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path(cache, "ms-playwright"))
    for path in sorted(folder.glob("chromium-*/chrome-linux*/chrome")):
        return str(path)
    raise ServiceFailed(
        "there is no Chromium: run tests/services/install.sh, on Ubuntu "
        ".venv/bin/python -m playwright install --with-deps chromium"
    )


def headless_path() -> str:
    """That of Chromium without a window, where the distribution has it. Raises ServiceFailed.

    The same engine in the same version. What has a window draws each page twice, into the page and
    into the window that nobody sees: half of the work of a page.
    """
    return shutil.which("chromium-headless-shell") or chromium_path()


@contextmanager
def chromium_browser(path: str) -> Iterator[Browser]:
    """Start the Chromium of this path; one for many tests, pages get contexts of their own."""
    # Playwright's synchronous interface runs an event loop in this thread, at the sight of which
    # Django refuses every query. The loop only waits here; no query runs inside it.
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            yield browser
            browser.close()
    finally:
        if before is None:
            del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
        else:
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = before


class SharedChromium:
    """One Chromium for all tests that follow each other, and one page for those that need no more:
    started for the first of them.

    A page of its own costs each test most of a second of a processor before it has shown anything.
    ``close`` after the last: the event loop goes with it, which async_to_sync of other tests
    refuses.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._browser: Browser | None = None
        self._page: Page | None = None

    def browser(self) -> Browser:
        """Raises ServiceFailed."""
        if self._browser is None:
            self._browser = self._stack.enter_context(chromium_browser(headless_path()))
        return self._browser

    @contextmanager
    def page(self, site: str, complaints: list[str]) -> Iterator[Page]:
        """A page on ``site`` that knows nothing of what was there before.

        What it complains about is added to ``complaints``. Whoever needs what cannot be taken back
        (a script at the start of each document, a time zone) opens a context of its own.
        """
        page, self._page = self._page or self._new_page(site), None
        listeners = collect_complaints(page, complaints)
        try:
            yield page
        finally:
            for event, listener in listeners.items():
                page.remove_listener(event, listener)
            try:
                forget(page)
            except Error:  # it was closed, or does not answer: the next is another
                page.context.close()
            else:
                self._page = page

    def _new_page(self, site: str) -> Page:
        page = self.browser().new_context(base_url=site, viewport=WIDE).new_page()
        page.set_default_timeout(60_000)  # a limit, not a wait: machines are busy
        return page

    def close(self) -> None:
        self._browser = self._page = None
        self._stack.close()


def forget(page: Page) -> None:
    """Take back whatever a test did to this page: routes, looks, storage, cookies and cache.

    Raises Error of Playwright where the page does not answer.
    """
    context = page.context
    page.unroute_all(behavior="ignoreErrors")
    for other in context.pages:
        if other is not page:
            other.close()
    # A file without scripts, of the same site: what is stored belongs to the site.
    page.goto("/static/img/fsbench.svg")
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    context.clear_cookies()
    context.clear_permissions()
    session = context.new_cdp_session(page)
    session.send("Network.clearBrowserCache")
    session.detach()
    page.emulate_media(
        media="null", color_scheme="null", reduced_motion="null", forced_colors="null"
    )
    page.set_viewport_size(WIDE)


def collect_complaints(page: Page, complaints: list[str]) -> dict[str, Callable[..., None]]:
    """Add to ``complaints`` each console error or warning (violations of the content security
    policy are such), uncaught exception and failed request of the page. The listeners by event.
    """

    def console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            about = message.location.get("url") or page.url  # of a file that is missing: that file
            complaints.append(f"console {message.type}: {message.text} ({about}, on {page.url})")

    def uncaught(error: Error) -> None:
        complaints.append(f"uncaught: {error} ({page.url})")

    page.on("console", console)
    page.on("pageerror", uncaught)
    return {"console": console, "pageerror": uncaught}
