"""The upload form with a real browser: files dropped on it, the preview, the result."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from django.contrib.auth.models import User
from django.db import connection
from playwright.sync_api import Page, expect

from fsbench_web.imports import queue
from fsbench_web.imports.models import Import
from fsbench_web.studies.models import Run

# A table of megabytes takes a busy machine longer than Playwright's five seconds.
PATIENCE_MS = 60_000
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
        ["first.txt, 3.6 KiB", "second.txt, 3.6 KiB"]
    )
    page.get_by_label("Study").fill("Lab 7")
    page.get_by_label("File system").fill("xfs")
    page.get_by_label("Configuration", exact=True).fill("xfs_noatime")
    page.get_by_role("button", name="Show what was recognised").click()
    expect(page.get_by_role("heading", name="xfs_noatime, repeat 2")).to_be_visible()
    assert not Run.objects.exists()
    page.get_by_role("button", name="Import 2 runs").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("2 runs stored")
    assert Run.objects.count() == 2


def test_a_long_name_stays_in_its_field_and_the_button_says_what_is_left_out(
    page: Page, sign_in: Callable[[Page, User], None]
) -> None:
    sign_in(page, User.objects.create_user("ada"))
    page.goto("/imports/new/")
    table = {"name": "t.csv", "mimeType": "text/csv"}
    text = 'fs;test;value;unit;Run #;Site\nXFS;boot;"1,034.5";ms;1;a\nXFS;boot;"1,031.2";ms;2;a\n'
    page.locator("input[type=file]").first.set_input_files([{**table, "buffer": text.encode()}])
    page.get_by_label("Study").fill("one_word_of_" * 6)
    page.get_by_role("button", name="Show what was recognised").click()
    expect(page.get_by_role("heading", name="xfs, repeat 2")).to_be_visible()
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        spilt = page.locator("#preview-form .field").evaluate_all(
            "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
        )
        assert spilt == 0, width
    page.get_by_role("button", name="Import 2 runs without column “Site”").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("2 runs stored")
    assert Run.objects.count() == 2


def test_a_folder_is_chosen_corrected_and_imported(
    page: Page,
    sign_in: Callable[[Page, User], None],
    sample: Callable[[str], bytes],
    tmp_path: Path,
) -> None:
    sign_in(page, User.objects.create_user("ada"))
    files = {
        "ext4_noatime/run1.txt": sample("iozone-3.489-tests-0-1-2"),
        "ext4_noatime/run2.txt": sample("iozone-3.489-tests-0-1-2-again"),
        "xfs/run1.txt": sample("iozone-3.489-tests-0-1-2"),
        "xfs/cut.txt": sample("iozone-3.489-tests-0-1-2")[:1500],
        "xfs/notes.txt": b"measured on a rainy day",
        "xfs/.DS_Store": b"litter",
    }
    for name, data in files.items():
        (tmp_path / "lab" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "lab" / name).write_bytes(data)
    page.goto("/imports/new/")
    page.set_input_files("input[data-folder]", tmp_path / "lab")
    expect(page.locator("[data-chosen] li")).to_have_count(5)
    page.get_by_label("Study").fill("Lab 7")
    page.get_by_role("button", name="Show what was recognised").click()
    expect(page.get_by_text("1 file cannot be imported as it is.")).to_be_visible()
    expect(page.get_by_text("notes.txt").first).to_be_visible()  # named, and not read
    page.get_by_label("lab/xfs/cut.txt").get_by_role("checkbox").uncheck()
    page.get_by_label("lab/xfs/run1.txt").get_by_label("Configuration").fill("xfs_noatime")
    page.get_by_role("button", name="Check again").click()
    expect(page.get_by_role("heading", name="xfs_noatime, repeat 1")).to_be_visible()
    page.get_by_role("button", name="Import 3 runs").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("3 runs stored")
    labels = Run.objects.values_list("series__configuration__label", flat=True)
    assert sorted(labels) == ["ext4_noatime", "ext4_noatime", "xfs_noatime"]


def test_a_large_table_shows_how_far_it_is_and_goes_on_by_itself(
    page: Page, sign_in: Callable[[Page, User], None]
) -> None:
    sign_in(page, User.objects.create_user("ada"))
    rows = "".join(f"write,4,{n + 4},{n}.5,KB/s\n" for n in range(510_000))
    table = f"test,record_size_kb,file_size_kb,value,unit\n{rows}".encode()
    page.goto("/imports/new/")
    page.set_input_files("#id_file", {"name": "big.csv", "mimeType": "text/csv", "buffer": table})
    page.get_by_label("Study").fill("Lab 7")
    page.get_by_label("File system").fill("xfs")
    page.get_by_label("Configuration", exact=True).fill("xfs")
    page.get_by_role("button", name="Show what was recognised").click()
    expect(page.get_by_role("cell", name="510,000")).to_be_visible(timeout=PATIENCE_MS)
    page.get_by_role("button", name="Import 1 run").click()
    storing = page.get_by_role("heading", name="Storing many runs or scores")
    expect(storing).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_role("progressbar")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("Waiting for the importer")).to_be_visible(timeout=PATIENCE_MS)
    Import.objects.update(phase="Reading", progress=0.4)
    expect(page.get_by_text("40%")).to_be_visible(timeout=PATIENCE_MS)
    _work()
    done = page.get_by_role("heading", level=1)
    expect(done).to_contain_text("1 run stored", timeout=PATIENCE_MS)
    assert Run.objects.count() == 1


def _work() -> None:
    """What the importer does with what waits. Playwright's loop runs in this thread."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_work_in_thread).result()


def _work_in_thread() -> None:
    while (row := queue.claim()) is not None:
        queue.work_on(row, threading.Event())
    connection.close()


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
