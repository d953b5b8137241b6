"""The main job, whole: from the form in a browser to a measured delta table, with nothing played.

A real worker runs real mkfs, mount and IOzone in containers on a loop LUN; the browser submits,
watches, reads the tables and shares them.
"""

import gzip
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Locator, Page, expect

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.models import Artefact, Run, RunState
from tests.measured import Measured, measured
from tests.runner.conftest import sparse_lun, tool, write_luns
from tests.runner.test_worker import WorkerProcess

pytestmark = [pytest.mark.root]

RUN_TIMEOUT_MS = 90_000


@pytest.fixture
def worker(
    site: str, docker_host: str, runner_image: str, tmp_path: Path
) -> Iterator[WorkerProcess]:
    """A worker with the Docker executor and one sparse-file LUN, on the site's database."""
    lun_file, image = tmp_path / "luns.toml", tmp_path / "scratch.img"
    write_luns(lun_file, sparse_lun(image))
    worker = WorkerProcess(
        lun_file,
        tmp_path / "worker.log",
        FSBENCH_EXECUTOR="docker",
        FSBENCH_IMAGE=runner_image,
        DOCKER_HOST=docker_host,
    ).start()
    yield worker
    if worker.process is not None and worker.process.poll() is None:
        worker.send(15)
    for device in tool("losetup", "--noheadings", "-O", "NAME", "-j", str(image)).split():
        tool("losetup", "--detach", device)


def submit_ext4_and_xfs(page: Page, study: str) -> None:
    """Fill in the form for the smallest workload, read the review, confirm."""
    page.goto("/runs/new/?workload=iozone-small")
    for filesystem in ("ext4", "xfs"):
        page.locator(f"input[name=fs][value='{filesystem}.1']").check()
    page.locator("#form-advanced > summary").click()
    page.locator("#values-iozone-small > summary").click()
    page.locator("[name='iozone-small.maximum_record_kb']").select_option(label="8 KB")
    page.locator("[name='iozone-small.maximum_file_kb']").select_option(label="128 KB")
    page.get_by_label("Title of the new study").fill(study)
    page.get_by_label("Repeats", exact=True).fill("2")  # five are the form's own, and take longer
    page.get_by_role("button", name="Review the job").click()
    expect(page.get_by_role("heading", name="4 runs on scratch")).to_be_visible()
    page.get_by_label("Type the name of the LUN").fill("scratch")
    page.get_by_role("button", name="Erase scratch and run").click()
    expect(page.get_by_text("4 runs are queued.")).to_be_visible()


def numbers(table: Locator) -> list[str]:
    """As shown; each of the two contenders has a score, its interval and its difference."""
    return re.findall(r"-?\d[\d,]*(?:\.\d+)?", table.locator("tbody").inner_text())


def test_a_job_ends_in_a_delta_table_of_two_file_systems(
    page: Page, worker: WorkerProcess, sign_in
):
    sign_in(page, User.objects.create_user("ann", password="correct horse"))
    submit_ext4_and_xfs(page, "Measured here")
    assert Lun.objects.get().worker.executor == "docker"

    # Watched: the page of the last run follows it to its end without a reload.
    last = Run.objects.order_by("-id")[0]
    page.goto(f"/runs/{last.pk}/")
    expect(page.locator("[data-run-badge]")).to_have_text("done", timeout=RUN_TIMEOUT_MS)
    has_reloaded(page)
    page.get_by_role("heading", name="How to reproduce").click()
    expect(page.locator("#commands")).to_contain_text("iozone -a -z")
    expect(page.locator("#commands")).to_be_visible()
    assert set(Run.objects.values_list("state", flat=True)) == {RunState.DONE}

    # The delta table: two file systems, two runs each, the best one marked.
    page.get_by_role("link", name="Delta tables of Measured here").click()
    expect(page.locator("main")).to_contain_text(
        re.compile("(ext4|xfs)[^.]* (comes first|is level)|No clear winner")
    )
    page.goto("/compare/?study=measured-here&test=write&category=maximum&numbers=exact")
    rows = page.locator("tr", has=page.locator("th[scope=row]", has_text=re.compile("ext4|xfs")))
    expect(rows.first).to_be_visible()
    page.wait_for_load_state()  # all of the page, which is read at once below
    answer = page.request.get("/api/v1/deltas?study=measured-here&test=write&category=maximum")
    (table,) = answer.json()["tables"]
    assert {row["contender"] for row in table["rows"]} == {"ext4", "xfs"}
    assert [row["best"] for row in table["rows"]] == [False, True]
    assert {row["runs"] for row in table["rows"]} == {2}
    page_text = page.locator("main").inner_text()
    for row in table["rows"]:
        # Every score goes back to a line that IOzone printed.
        value = Decimal(repr(row["score"]))
        measurements = measured(test="write", value=row["score"])
        assert any(printed(measurement) == value for measurement in measurements)
        assert repr(row["score"]) in page_text

    # Shared: the address restores the view, and a permalink keeps its numbers.
    page.goto("/compare/?study=measured-here&test=write&category=overall")
    expect(page.locator("table.deltas")).to_have_count(1)
    before = numbers(page.locator("table.deltas"))
    assert len([number for number in before if number != "4"]) == 6  # without the name of ext4
    page.get_by_text("Share", exact=True).click()
    page.get_by_role("button", name="Permalink").click()
    page.wait_for_url(re.compile(r"/p/[^/]+/"))
    permalink = page.url
    page.goto("/runs/new/")
    page.goto(f"/runs/{last.pk}/")
    page.get_by_role("link", name="Copy to a new job").click()
    page.get_by_role("button", name="Review the job").click()
    page.get_by_label("Type the name of the LUN").fill("scratch")
    page.get_by_role("button", name="Erase scratch and run").click()
    page.wait_for_url(re.compile(r"/runs/\d+/$"))
    newest = Run.objects.order_by("-id")[0]
    assert newest.pk != last.pk
    page.goto(f"/runs/{newest.pk}/")
    expect(page.locator("[data-run-badge]")).to_have_text("done", timeout=RUN_TIMEOUT_MS)
    has_reloaded(page)
    page.goto(permalink)
    assert numbers(page.locator("table.deltas")) == before
    expect(page.get_by_text(re.compile("newer", re.I)).first).to_be_visible()


def has_reloaded(page: Page) -> None:
    """At the end of a run its page is loaded anew, which would take the place of a next page."""
    expect(page.locator("[data-run-live]")).to_have_count(0)


def printed(measurement: Measured) -> Decimal:
    """The first number of the write column on the line of the raw output it points to."""
    artefact = measurement.artefact
    assert isinstance(artefact, Artefact)
    text = gzip.decompress(bytes(artefact.content_gzip)).decode()
    assert measurement.line is not None
    return Decimal(text.splitlines()[measurement.line - 1].split()[2])
