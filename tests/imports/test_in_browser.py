"""The upload form with a real browser: files dropped on it, the preview, the result."""

from collections.abc import Callable

from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from fsbench_web.studies.models import Run

DROP = """([names, texts]) => {
  const dropped = new DataTransfer();
  names.forEach((name, place) => dropped.items.add(new File([texts[place]], name)));
  return dropped;
}"""


def test_dropped_files_are_previewed_and_imported(
    page: Page, sign_in: Callable[[Page, User], None], sample: Callable[[str], bytes]
) -> None:
    sign_in(page, User.objects.create_user("ada"))
    page.goto("/imports/new/")
    names = ["first.txt", "second.txt"]
    texts = [
        sample(f"iozone-3.489-{name}").decode() for name in ("tests-0-1-2", "tests-0-1-2-again")
    ]
    dropped = page.evaluate_handle(DROP, [names, texts])
    page.dispatch_event("[data-import-form]", "drop", {"dataTransfer": dropped})
    expect(page.locator("[data-chosen] li")).to_have_text(
        ["first.txt, 3.6 KB", "second.txt, 3.6 KB"]
    )
    page.get_by_label("Study").fill("Lab 7")
    page.get_by_label("File system").fill("xfs")
    page.get_by_label("Configuration").fill("xfs_noatime")
    page.get_by_role("button", name="Show what was recognised").click()
    expect(page.get_by_role("heading", name="xfs_noatime, repeat 2")).to_be_visible()
    assert not Run.objects.exists()
    page.get_by_role("button", name="Import 2 runs").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("2 runs stored")
    assert Run.objects.count() == 2


def test_files_beyond_the_limit_are_not_even_sent(
    page: Page, sign_in: Callable[[Page, User], None]
) -> None:
    sign_in(page, User.objects.create_user("ada"))
    page.goto("/imports/new/")
    page.evaluate(
        """() => {
          const dropped = new DataTransfer();
          dropped.items.add(new File([new ArrayBuffer(65 * 1024 * 1024)], "big.txt"));
          const input = document.querySelector('input[type="file"]');
          input.files = dropped.files;
          input.dispatchEvent(new Event("change"));
        }"""
    )
    expect(page.locator("[data-too-large]")).to_be_visible()
    expect(page.get_by_role("button", name="Show what was recognised")).to_be_disabled()
