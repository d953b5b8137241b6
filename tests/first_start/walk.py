"""Walks the README's five minutes in Chromium, as somebody who reads them for the first time."""

import re
import time
from collections.abc import Callable

from playwright.sync_api import Browser, Page, expect

from tests.first_start.readme import Step, five_minutes
from tests.first_start.site import LONG_S, Site
from tests.services.browser import collect_complaints
from tests.services.compose import Person

PUBLISHED = {"unisys-2005", "galli-2001", "hilzinger-2006", "freenix-2002", "sun-2004"}


class Walk:
    """The steps of a new user's; ``took`` is the seconds of each.

    ``got`` is what the site prints when all that a first run needs is there.
    """

    def __init__(self, site: Site, browser: Browser, got: str) -> None:
        expect.set_options(timeout=60_000)
        self.site, self.browser, self.got = site, browser, got
        self.complaints: list[str] = []
        self.took: dict[str, float] = {}
        self.address = self.password = self.study = self.first_printed = ""
        self.page: Page

    def walk(self) -> None:
        """All steps, each with everything that it names."""
        self._take(
            self._start,
            self._look_around,
            self._order,
            self._watch,
            self._study,
            self._stop_and_start_again,
        )

    def measure(self) -> None:
        """From the first start to the last run: where these are carried out is what differs."""
        self._take(self._start, None, self._order, self._watch, None, None)
        self._all_are_done("Its job")
        (study,) = {study["slug"] for study in self.site.read("/studies")} - PUBLISHED
        for test in ("random_8k_write_iops@iodepth=8", "random_8k_read_iops@iodepth=8"):
            tables = self.site.read(f"/deltas?study={study}&test={test}")["tables"]
            assert tables, test
            for table in tables:
                scores = {row["contender"]: row["score"] for row in table["rows"]}
                assert scores.keys() == {"ext4", "xfs"}
                assert all(scores.values()), scores
        self.first_printed = self.site.printed()
        self.page.context.close()

    def _take(self, *walked: Callable[[Step], None] | None) -> None:
        steps = five_minutes()
        assert len(steps) == len(walked), [step.text for step in steps]
        for number, (take, step) in enumerate(zip(walked, steps, strict=True), 1):
            if take is None:
                continue
            began = time.monotonic()
            take(step)
            step.is_walked()
            self.took[f"step {number}"] = round(time.monotonic() - began, 1)
            assert not self.complaints, "The page complained:\n" + "\n".join(self.complaints)

    # 1

    def _start(self, step: Step) -> None:
        self.site.start(step.typed())
        # The example's own address and password are those of another machine.
        patterns = [re.escape(line.strip()) for line in step.printed.splitlines()]
        assert len(patterns) == 2, step.printed
        pattern = r"\n\s*".join(patterns)
        pattern = re.sub(r"http://\S+?(?=\\n)", r"(http://\\S+)", pattern)
        pattern = re.sub(r"password\\ \w+", r"password (\\S+)", pattern).replace(r"\ ", r"\s+")
        pattern = re.sub(r"(\\s\+)+", r"\\s+", pattern)
        match = re.search(pattern, self.site.printed())
        assert match, f"not printed: {pattern}\n{self.site.printed()}"
        self.address, self.password = match.groups()
        assert self.address == f"http://127.0.0.1:{self.site.port}"
        health = self.site.read("/health")
        assert (health["status"], len(health["workers"])) == ("ok", 1), health
        assert {study["slug"] for study in self.site.read("/studies")} >= PUBLISHED
        self.page = self._new_page()
        self.page.goto("/")

    # 2

    def _look_around(self, step: Step) -> None:
        heading = self.page.get_by_role("heading", name=step.word(), exact=True)
        expect(heading).to_be_visible()
        cards = heading.locator("xpath=following-sibling::*[1]").get_by_role("link")
        expect(cards).to_have_count(step.number(r"(\w+) \*\*Published papers\*\*"))
        study = step.word()
        cards.filter(has_text=study).click()
        expect(self.page.get_by_role("heading", name=study, level=1)).to_be_visible()
        tables = self.page.locator("#tests table.deltas")
        expect(tables).to_have_count(step.number(r"the paper's (\d+) tables"))
        expect(self.page.locator("#tests .flag").first).to_be_attached()

    def _new_page(self) -> Page:
        context = self.browser.new_context(
            base_url=self.address, viewport={"width": 1440, "height": 900}
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        collect_complaints(page, self.complaints)
        return page

    # 3

    def _order(self, step: Step) -> None:
        page = self.page
        page.get_by_role("link", name=step.word(), exact=True).click()
        page.get_by_label("Username").fill("admin")
        page.get_by_label("Password", exact=True).fill(self.password)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator(".site-user summary", has_text="admin")).to_be_visible()
        menu = page.get_by_role("navigation", name="Main")
        menu.locator("summary", has_text=step.word()).click()
        menu.get_by_role("link", name=step.word(), exact=True).click()
        page.wait_for_url("**/runs/new/")
        page.evaluate("window.isTheSame = true")
        self._wait_without_asking()
        for _ in range(4):  # LUN, two file systems, workload
            ticked = page.locator("label", has=page.locator(f"strong:text-is('{step.word()}')"))
            expect(ticked.locator("input")).to_be_checked(timeout=LONG_S * 1000)
        expect(page.locator("input[name=fs]:checked")).to_have_count(2)
        expect(page.locator("input[name=workload]:checked")).to_have_count(1)
        # What is being installed still keeps runs waiting: the page says so until it is there.
        expect(page.get_by_role("progressbar")).to_have_count(0, timeout=LONG_S * 1000)
        assert page.evaluate("window.isTheSame")
        page.get_by_role("button", name=step.word(), exact=True).click()
        expect(page.get_by_text("mkfs.xfs").first).to_be_visible()
        expect(page.get_by_role("heading", name=step.word())).to_be_visible()
        page.get_by_label("Type the name").fill(step.typed())
        page.get_by_role("button", name=step.word(), exact=True).click()

    def _wait_without_asking(self) -> None:
        """The page asks each second how far packages or an image are, which took more than all the
        other pages of the walk: the question that it asks now is on its way until they are there.
        """
        self.page.route("**/*", lambda route: route.continue_())
        self.site.wait_for(self.got)
        self.page.unroute("**/*")

    # 4

    def _watch(self, step: Step) -> None:
        page = self.page
        expect(page.get_by_role("heading", name=step.word(), exact=True)).to_be_visible()
        # The last of them, which waits yet: the page follows it from there on.
        page.get_by_role("row").get_by_role("link").last.click()
        expect(page.locator("[data-run-phase], [data-run-badge]").first).to_be_visible()
        expect(page.get_by_role("heading", name=step.word(), exact=True)).to_be_visible()
        expect(page.locator("[data-run-log]")).to_contain_text("fio", timeout=LONG_S * 1000)
        expect(page.locator("[data-run-badge]")).to_have_text("done", timeout=LONG_S * 1000)
        expect(page.get_by_role("heading", name=step.word(), exact=True)).to_be_visible()
        name = page.get_by_role("heading", name=step.word())
        raw = page.locator("section", has=name)
        name.click()  # it is folded once the run is done
        output = raw.get_by_role("link", name="fio-read-1.json").first
        address = output.get_attribute("href")
        assert address
        text = page.request.get(address).text()
        assert "fio version" in text
        expect(page.get_by_role("heading", name=step.word(), exact=True)).to_be_visible()

    # 5

    def _study(self, step: Step) -> None:
        page = self.page
        self._all_are_done(step.word())
        page.get_by_role("link", name=step.word(), exact=True).click()
        expect(page.get_by_role("region", name="Answer")).to_have_attribute(
            "data-status", re.compile("^(faster|equivalent|mixed|inconclusive)$")
        )
        page.get_by_role("link", name=step.word(), exact=True).click()
        page.wait_for_url(re.compile("tab=tests"))
        self._has_scores(page)
        self.study = page.url
        page.get_by_role("link", name=step.word()).first.click()
        expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
        page.goto(self.study)
        page.locator("main").get_by_role("link", name=step.word(), exact=True).first.click()
        stranger = self._new_page()
        stranger.goto(page.url)
        self._has_scores(stranger)
        page.get_by_text(step.word(), exact=True).click()
        page.get_by_role("button", name=step.word()).click()
        page.wait_for_url(re.compile("/p/"))
        stranger.goto(page.url)
        self._has_scores(stranger)
        stranger.get_by_role("contentinfo").get_by_role("link", name=step.word()).click()
        expect(stranger.get_by_role("heading", level=1)).to_be_visible()
        stranger.context.close()

    def _all_are_done(self, back_to_the_job: str) -> None:
        self.page.get_by_role("link", name=back_to_the_job, exact=True).click()
        expect(self.page.get_by_text("10 of 10: 10 done")).to_be_visible(timeout=LONG_S * 1000)

    def _has_scores(self, page: Page) -> None:
        """A delta table of ext4 and XFS, with numbers that are no zeros: a row of tests opens."""
        row_of_test = page.locator("main details.test:not([open]) > summary")
        if "/p/" not in page.url:
            if not row_of_test.first.is_visible():  # a comparison's summary folds its tests
                page.locator("#all-tests > summary").click()
            row_of_test.first.click()
        for filesystem in ("ext4", "xfs"):
            row = page.locator("main table tr").filter(has_text=re.compile(rf"\b{filesystem}"))
            expect(row.filter(has_text=re.compile(r"[1-9][\d,.]+")).first).to_be_attached()

    # 6

    def _stop_and_start_again(self, step: Step) -> None:
        self.page.goto("about:blank")
        self.site.end()
        self.first_printed = self.site.printed()
        self.site.start(step.typed())
        assert "Installing" not in self.site.printed()
        assert f"user admin, password {self.password}\n" in self.site.printed()
        self.page.goto(self.study)
        self._has_scores(self.page)
        self.page.context.close()
        Person(self.address).sign_in("admin", self.password)
