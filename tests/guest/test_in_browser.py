"""Choosing a guest in a real browser: the rest of the form follows."""

import re
from collections.abc import Callable

from django.contrib.auth.models import User
from django.core.management import call_command
from playwright.sync_api import Page, expect

from tests.guest.conftest import announced


def test_the_form_follows_executor_and_kernels(
    page: Page, sign_in: Callable[[Page, User], None]
) -> None:
    announced(accelerator="emulated", accelerator_reason="No /dev/kvm.")
    sign_in(page, User.objects.create_user("ann", password="correct horse"))
    page.goto("/runs/new/")
    page.get_by_role("radio", name=re.compile("disk1")).check()
    jfs = page.locator("input[name=fs][value='jfs.1']")
    expect(jfs).to_be_disabled()
    page.locator("#form-advanced > summary").click()
    page.get_by_role("radio", name=re.compile("A guest kernel")).check()
    expect(page.get_by_text("Emulated guests: they show function, not speed.")).to_be_visible()
    expect(jfs).to_be_enabled()
    expect(page.get_by_role("checkbox", name=re.compile("anticipatory"))).to_have_count(0)
    page.get_by_role("checkbox", name=re.compile(r"own-2\.6 2\.6\.8\.1")).check()
    expect(page.get_by_role("checkbox", name=re.compile("anticipatory"))).to_be_visible()
    jfs.check()
    for suggested in ("ext4", "xfs"):
        page.locator(f"input[name=fs][value='{suggested}.1']").uncheck()
    page.get_by_label(re.compile("Memory of the guest")).fill("512")
    page.get_by_role("spinbutton", name="Repeats", exact=True).fill("1")
    page.get_by_role("button", name="Review the job").click()
    expect(page.get_by_role("heading", name="2 runs on disk1")).to_be_visible()
    expect(page.get_by_text("a guest with 512 MiB of memory")).to_be_visible()
    expect(page.get_by_role("cell", name="own-2.6")).to_be_visible()


def test_one_click_reproduces_the_paper(page: Page, sign_in: Callable[[Page, User], None]) -> None:
    call_command("load_published", verbosity=0)
    announced(accelerator="emulated", accelerator_reason="No /dev/kvm.")
    sign_in(page, User.objects.create_user("ann", password="correct horse"))
    page.goto("/studies/unisys-2005/")
    page.get_by_role("link", name="Reproduce it").click()
    expect(page.get_by_role("heading", name="10 runs on disk1")).to_be_visible()
    expect(page.get_by_text("The paper's kernel was 2.6.5; here it is 6.1.0-44")).to_be_visible()
    page.get_by_text("Change LUN, size, tuning or kernels").click()
    page.get_by_label("Sizes").select_option("small")
    page.get_by_role("button", name="Show the job").click()
    expect(page.get_by_text("Not the paper's matrix. A small matrix")).to_be_visible()
    page.get_by_label("Type the name of the LUN").fill("disk1")
    page.get_by_role("button", name="Erase disk1 and run").click()
    expect(page.get_by_text("10 runs are queued.")).to_be_visible()
    expect(page.get_by_text("a guest for every run")).to_be_visible()


def test_a_workers_page_follows_the_kernel_that_it_was_asked_for(
    page: Page, sign_in: Callable[[Page, User], None]
) -> None:
    none = {"usable": False, "reason": "It has no kernel.", "kernels": [], "why_not_fetch": ""}
    announced(**none)
    sign_in(page, User.objects.create_superuser("root"))
    page.goto("/workers/lab1/")
    section = page.locator("[data-guest-kernels]")
    section.get_by_role("button", name="Fetch a kernel").click()
    expect(page.get_by_text("lab1 is asked for the kernel of its distribution")).to_be_visible()
    on_its_way = {"package": "", "state": "running", "phase": "Downloading it", "share": 0.42}
    announced(**none, fetching=on_its_way)
    expect(section.get_by_text("Downloading it: 42%")).to_be_visible(timeout=30_000)
    expect(section.get_by_role("button", name="Fetch a kernel")).to_have_count(0)
    announced(fetching={"package": "linux-image-6", "state": "done"}, why_not_fetch="")
    expect(section.get_by_text("linux-image-6 was fetched.")).to_be_visible(timeout=30_000)
    expect(section.get_by_text("debian-6.1")).to_be_visible()
