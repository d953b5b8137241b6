"""Submitting in the browser, the list of runs, the page of a run, cancelling, the live log."""

import asyncio
import json
import re
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from fsbench_web.accounts.models import LunGrant, Role
from fsbench_web.catalog.models import Lun
from fsbench_web.studies.models import Run, RunState, Study
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.views import events
from tests.accounts.people import person
from tests.studies.conftest import NO_BTRFS, complete, start

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client: Client, ann) -> Client:
    client.force_login(ann)
    return client


@pytest.fixture
def query(disk: Lun) -> list[tuple[str, str]]:
    return [
        ("lun", str(disk.pk)),
        ("fs", "ext4.1"),
        ("fs", "ext4.2"),
        ("fs", "xfs.1"),
        ("ext4.2.journal_mode", "writeback"),
        ("scheduler", "none"),
        ("scheduler", "bfq"),
        ("workload", "iozone-small"),
        ("iozone-small.maximum_file_kb", "2048"),
        ("repeats", "2"),
        ("new_study", "First look"),
    ]


def text(response) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


# ---- submitting ----


def test_submitting_needs_a_sign_in(client):
    for name in ("studies:new_job", "studies:review_job"):
        response = client.get(reverse(name))
        assert response.status_code == 302
        assert response["Location"].startswith(reverse("accounts:sign_in"))


def test_it_says_how_to_get_a_lun_when_there_is_none(signed_in):
    page = text(signed_in.get("/runs/new/"))
    assert "No worker has announced a LUN yet." in page
    assert "/guide/operating/#trying-it-without-a-disk" in page


def test_the_form_shows_identity_and_problems_of_every_lun(signed_in, worker):
    page = text(signed_in.get("/runs/new/"))
    assert "/dev/disk/by-id/disk1" in page
    assert "WD-123" in page
    assert "It is mounted." in page
    assert "reserved for external journals" in page
    assert "<b>800</b>" not in page


def test_the_form_says_first_that_a_lun_is_not_granted(client: Client, disk: Lun) -> None:
    eve = person(Role.OPERATOR, "eve")
    client.force_login(eve)
    why = "disk1 is not granted to you, and a run erases it. An administrator grants LUNs"
    radio = re.compile(rf'name="lun" value="{disk.pk}" required( checked)?( disabled)?')
    page = text(client.get("/runs/new/"))
    assert why in page
    assert radio.search(page)[2] == " disabled"
    assert why in text(client.get(f"/runs/new/?lun={disk.pk}"))
    LunGrant.objects.create(lun=disk, user=eve)
    page = text(client.get("/runs/new/"))
    assert why not in page
    assert radio.search(page)[2] is None


def test_grants_are_one_query_however_many_luns_there_are(client: Client, disk: Lun) -> None:
    eve = person(Role.OPERATOR, "eve")
    client.force_login(eve)
    counted = []
    for lun in [disk, *Lun.objects.exclude(pk=disk.pk)]:
        LunGrant.objects.create(lun=lun, user=eve)
        with CaptureQueriesContext(connection) as queries:
            client.get(f"/runs/new/?lun={disk.pk}")
        counted.append(len(queries))
    assert len(counted) == 5
    assert len(set(counted)) == 1, counted


def test_the_form_says_why_a_file_system_cannot_be_chosen(signed_in, disk):
    page = text(signed_in.get(f"/runs/new/?lun={disk.pk}"))
    assert NO_BTRFS in page
    assert re.search(r'value="btrfs\.1"[^>]* disabled', page)
    assert not re.search(r'value="ext4\.1"[^>]* disabled', page)


def test_the_form_proposes_a_scheduler_and_a_title_of_the_lun(signed_in, disk):
    page = text(signed_in.get(f"/runs/new/?lun={disk.pk}&repeats=2"))
    assert 'name="scheduler" value="none" checked' in page
    assert re.search(r'name="new_study" maxlength="200" value="disk1, \d', page)


def test_the_form_keeps_what_was_typed(signed_in, query):
    page = text(signed_in.get("/runs/new/?" + urlencode([*query, ("add", "ext4")])))
    assert 'value="ext4.3" checked' in page
    assert re.search(r'name="ext4.2.journal_mode">.*?value="writeback" selected', page)
    assert 'name="scheduler" value="bfq" checked' in page
    assert 'value="2048" selected' in page


def test_a_variant_can_be_removed(signed_in, query):
    page = text(signed_in.get("/runs/new/?" + urlencode([*query, ("remove_variant", "ext4.2")])))
    assert "ext4.2" not in page


def test_a_changed_form_has_an_address_with_all_its_rows(signed_in, query):
    unticked = [pair for pair in query if pair != ("fs", "ext4.2")]
    sent = [*unticked, ("ext4.3.atime", ""), ("xfs.1.agcount", ""), ("add", "xfs")]
    changed = signed_in.get("/runs/new/?" + urlencode(sent), headers={"HX-Request": "true"})
    address = changed["HX-Replace-Url"]
    assert "add=" not in address
    again = signed_in.get(address)
    rows = r'<input type="checkbox" name="fs" value="([^"]+)"( checked)?'
    expected = [
        *(("ext2.1", ""), ("ext3.1", ""), ("ext4.1", " checked"), ("ext4.2", ""), ("ext4.3", "")),
        *(("xfs.1", " checked"), ("xfs.2", " checked"), ("raw.1", "")),
        # What is not possible comes last.
        *((f"{slug}.1", "") for slug in ("btrfs", "jfs", "reiser3", "f2fs", "nilfs2")),
        *(("exfat.1", ""), ("ntfs3.1", ""), ("bcachefs.1", ""), ("zfs.1", "")),
    ]
    assert re.findall(rows, text(changed)) == re.findall(rows, text(again)) == expected
    assert re.search(r'name="ext4.2.journal_mode">.*?value="writeback" selected', text(again))
    assert "HX-Replace-Url" not in again


def test_the_review_shows_runs_commands_and_what_is_erased(signed_in, query):
    response = signed_in.get("/runs/new/review/?" + urlencode(query))
    assert response.status_code == 200
    page = text(response)
    assert "12 runs on disk1" in page
    assert "Everything on disk1 will be erased, 12 times" in page
    assert "WD-123" in page
    assert "-g 2048k" in page
    assert "data=writeback" in page
    assert not Run.objects.exists()


def test_the_address_of_a_review_leads_back_to_the_same_form(signed_in, query):
    page = signed_in.get("/runs/new/review/?" + urlencode(query)).content.decode()
    address = re.search(r'href="(/runs/new/\?[^"]+)"', page)[1].replace("&amp;", "&")
    again = signed_in.get(address.replace("/runs/new/?", "/runs/new/review/?"))
    assert "12 runs on disk1" in text(again)


def test_a_bad_job_is_refused_with_all_reasons_and_kept(signed_in, disk):
    bad = [
        ("lun", str(disk.pk)),
        ("fs", "btrfs.1"),
        ("fs", "ext4.1"),
        ("ext4.1.journal_size_mb", "9999"),
        ("scheduler", "none"),
        ("workload", "iozone-small"),
        ("iozone-small.time_limit_s", "soon"),
        ("repeats", "many"),
        ("new_study", "First\x00look"),
    ]
    response = signed_in.get("/runs/new/review/?" + urlencode(bad))
    assert response.status_code == 422
    page = text(response)
    assert NO_BTRFS in page
    assert "a whole number from 4 to 1024" in page
    assert "&quot;soon&quot; is not a whole number of seconds" in page
    assert "&quot;many&quot; is not a whole number" in page
    assert 'value="9999"' in page
    assert 'value="soon"' in page


@pytest.mark.parametrize(
    "address",
    [
        "/runs/new/?lun=x&fs=..%2F..&fs=ext4.0&fs=ext4.100&add=hammer2&remove=&workload=nope&repeats=",
        "/runs/new/?lun=99999999999999999999999&ext4.1.inode_size=%00&scheduler=%00",
        "/runs/new/review/?lun=%00&repeats=1e9&study=%00",
        "/runs/new/review/?lun=99999999999&fs=hammer2&workload=iozone-small&repeats=99999999999",
        "/runs/?study=%00&state=x&filesystem=%00&lun=x&order=99999999999999999999&page=-1",
    ],
)
def test_senseless_addresses_are_answered(signed_in, worker, address):
    assert signed_in.get(address).status_code in (200, 422)


def token_of(response) -> str:
    return re.search(r'name="token" value="([^"]+)"', response.content.decode())[1]


def test_a_wrong_confirmation_makes_nothing(signed_in, query):
    address = "/runs/new/review/?" + urlencode(query)
    token = token_of(signed_in.get(address))
    response = signed_in.post(address, {"token": token, "confirmation": "disk2"})
    assert response.status_code == 422
    assert "The confirmation does not match" in text(response)
    assert token_of(response) == token
    assert not Run.objects.exists()


def test_a_confirmed_job_leads_to_its_runs_once(signed_in, query, ann):
    address = "/runs/new/review/?" + urlencode(query)
    form = {"token": token_of(signed_in.get(address)), "confirmation": "disk1"}
    first = signed_in.post(address, form)
    assert first.status_code == 302
    second = signed_in.post(address, form)
    assert second["Location"] == first["Location"]
    assert Run.objects.filter(created_by=ann).count() == 12
    page = text(signed_in.get(first["Location"]))
    assert "12 runs are queued." in page
    assert "ext4_wb_bfq" in page


def test_confirming_needs_a_csrf_token(ann, query):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ann)
    address = "/runs/new/review/?" + urlencode(query)
    assert strict.post(address, {"confirmation": "disk1"}).status_code == 403
    assert not Run.objects.exists()


# ---- lists ----


def test_the_list_filters_by_its_address(client, runs):
    complete(runs[0])
    start(runs[1])

    def listed_runs(query: str) -> set[int]:
        page = client.get(f"/runs/?{query}").context["page"]
        return {run.pk for run in page}

    ids = [run.pk for run in runs]
    assert listed_runs("") == set(ids)
    assert listed_runs("state=done") == {ids[0]}
    assert listed_runs("state=unfinished") == set(ids[1:])
    assert listed_runs("filesystem=xfs") == {ids[1], ids[3]}
    assert listed_runs("study=first-look&state=running") == {ids[1]}
    assert listed_runs("study=elsewhere") == set()


def test_the_list_refreshes_itself_only_while_something_is_unfinished(client, runs):
    assert 'data-live-every="3"' in client.get("/runs/").content.decode()
    for run in runs:
        lifecycle.cancel(run.pk, by="ann")
    assert "data-live-every" not in client.get("/runs/").content.decode()
    fragment = client.get("/runs/", headers={"HX-Request": "true"}).content.decode()
    assert fragment.startswith('<div id="run-rows"')
    assert "<html" not in fragment


def test_an_empty_list_says_what_to_do(client, db):
    assert "No run yet." in text(client.get("/runs/"))
    assert "No run matches these filters." in text(client.get("/runs/?state=done"))


def test_the_list_needs_the_same_queries_for_many_runs(
    client, spec, ann, runs, django_assert_num_queries
):
    from fsbench_web.studies.jobs.submitting import submit

    with django_assert_num_queries(5):
        client.get("/runs/")
    submit(spec(new_study="", study="first-look", repeats=20), "disk1", ann)
    with django_assert_num_queries(5):
        client.get("/runs/")


# ---- one run ----


def test_a_run_that_is_not_there_is_a_helpful_404(client, db):
    for address in ("/runs/99/", "/runs/99999999999999999999999/"):
        response = client.get(address)
        assert response.status_code == 404
        assert "The list of runs shows all" in text(response)


def test_a_queued_run_shows_what_will_follow(client, runs):
    page = text(client.get(f"/runs/{runs[2].pk}/"))
    assert "2 runs of the same LUN come first" in page
    assert "These commands follow" in page
    assert "data=writeback" in page
    assert "Cancel this run" not in page


def test_commands_of_a_run_under_way_are_not_said_to_be_still_to_come(client, runs):
    start(runs[0])
    page = text(client.get(f"/runs/{runs[0].pk}/"))
    assert "Planned commands. The actual ones appear here when the run finishes." in page
    assert "Nothing has run yet" not in page


def test_a_finished_run_shows_scores_measurements_commands_and_output(client, runs):
    complete(runs[0], value=1234.5)
    page = text(client.get(f"/runs/{runs[0].pk}/"))
    assert "The only finished repeat of this configuration" in page
    assert re.search(r'<th class="num"[^>]*>Overall <span class="unit">score</span>', page)
    assert page.index(">Random write<") < page.index(">Random read<")
    assert page.index("Random write: the numbers") < page.index("Random read: the numbers")
    assert "1,234.50" in page
    # Rounded as in tables of comparisons, with all digits in the title.
    assert '<span title="1234.5 KB/s">1.21</span>' in page
    assert ">7,407<" in page  # overall: the sum of six
    assert 'raw output" href="' in page
    assert '><span title="1234.5 KB/s">1,235</span></a>' in page
    assert "mkfs.ext4 &#x27;a b&#x27;" in page
    assert 'id="matrix-0-data"' in page
    assert page.count("data-figure=") == 6
    assert "iozone.txt" in page
    assert f'href="{reverse("studies:study", args=["first-look"])}"' in page


def test_a_failed_run_shows_its_reason_first_and_enters_no_score(client, runs):
    handle = start(runs[0], log=(("stderr", "<script>alert(1)</script>"),))
    lifecycle.finish(handle, RunState.FAILED, "iozone ended with exit code 1.")
    page = text(client.get(f"/runs/{runs[0].pk}/"))
    assert page.index("iozone ended with exit code 1.") < page.index('id="log"')
    assert page.count("No measurement of it entered a score.") == 1
    Run.objects.filter(pk=runs[0].pk).update(reason="Its score log is full.")
    again = text(client.get(f"/runs/{runs[0].pk}/"))
    assert again.count("No measurement of it entered a score.") == 1
    assert "Read its log" in again
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "data-run-live" not in page


def test_an_imported_run_has_no_log_and_no_progress(client, runs):
    run = runs[0]
    complete(run)
    Run.objects.filter(pk=run.pk).update(origin=Run.Origin.IMPORTED, commands=[])
    run.log_lines.all().delete()
    run.series.__class__.objects.filter(pk=run.series_id).update(lun=None, hardware=None)
    page = text(client.get(f"/runs/{run.pk}/"))
    assert 'id="log"' not in page
    assert "The import names no command." in page
    assert "Copy to a new job" not in page


def test_a_run_can_be_submitted_again_with_the_same_form(signed_in, runs):
    page = signed_in.get(f"/runs/{runs[0].pk}/").content.decode()
    address = re.search(r'href="/runs/new/\?([^"]+)"', page)[1].replace("&amp;", "&")
    review = text(signed_in.get(f"/runs/new/review/?{address}"))
    assert "1 run on disk1" in review
    assert "ext4_wb_none" in review
    assert "First look" in review


def test_the_page_of_a_run_needs_the_same_queries_for_many_cells(
    client, runs, django_assert_max_num_queries
):
    complete(runs[0])
    with django_assert_max_num_queries(12):
        client.get(f"/runs/{runs[0].pk}/")


# ---- cancelling ----


def test_cancelling_needs_a_sign_in_and_a_post(client, signed_in, runs):
    assert signed_in.get(f"/runs/{runs[0].pk}/cancel/").status_code == 405
    anonymous = Client()
    assert anonymous.post(f"/runs/{runs[0].pk}/cancel/").status_code == 302
    runs[0].refresh_from_db()
    assert runs[0].state == RunState.QUEUED


def test_a_queued_run_is_cancelled_at_once(signed_in, runs):
    response = signed_in.post(f"/runs/{runs[0].pk}/cancel/", follow=True)
    page = text(response)
    assert f"Run {runs[0].pk} is cancelled." in page
    assert "Cancelled by ann before it started." in page


def test_an_active_run_is_asked_to_stop(signed_in, runs):
    start(runs[0])
    page = text(signed_in.post(f"/runs/{runs[0].pk}/cancel/", follow=True))
    assert "Cancelling: the worker stops the benchmark" in page
    runs[0].refresh_from_db()
    assert runs[0].cancel_requested_at is not None


def test_cancelling_a_run_that_is_not_there_is_a_404(signed_in):
    assert signed_in.post("/runs/99/cancel/").status_code == 404


# ---- live log ----


def parsed(chunks: list[str]) -> list[tuple[str, dict]]:
    """(event, data) of a stream; comments and retry are left out."""
    received = []
    for block in "".join(chunks).split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" in fields:
            received.append((fields["event"], json.loads(fields["data"])))
    return received


def collect(run: Run, after: int = 0) -> list[str]:
    """What a viewer of a run that has ended gets."""

    async def follow() -> list[str]:
        return [chunk async for chunk in events.stream(run.pk, after, first, poll_s=0)]

    first = events.read_snapshot(run.pk, after)
    return asyncio.run(follow())


@pytest.mark.django_db(transaction=True)
def test_the_stream_tells_every_line_once_and_ends(runs, monkeypatch):
    monkeypatch.setattr(events, "LINES_AT_ONCE", 3)
    lines = tuple(("stdout", f"line {number}\nevent: fake") for number in range(7))
    lifecycle.finish(start(runs[0], log=lines), RunState.FAILED, "why")
    heard = parsed(collect(runs[0]))
    assert [data["text"] for name, data in heard if name == "log"] == [t for _, t in lines]
    assert heard[-1][0] == "end"
    assert [name for name, _ in heard if name == "state"] == ["state"]


@pytest.mark.django_db(transaction=True)
def test_the_stream_goes_on_behind_the_last_line_heard(runs):
    lifecycle.finish(
        start(runs[0], log=(("stdout", "one"), ("stdout", "two"))), RunState.FAILED, ""
    )
    chunks = collect(runs[0])
    first = re.search(r"id: (\d+)", "".join(chunks))[1]
    again = parsed(collect(runs[0], after=int(first)))
    assert [data["text"] for name, data in again if name == "log"] == ["two"]


@pytest.mark.django_db(transaction=True)
def test_a_viewer_keeps_no_connection_and_is_told_to_stop(runs, client):
    lifecycle.finish(start(runs[0], log=(("stdout", "one"),)), RunState.FAILED, "")
    address = f"/runs/{runs[0].pk}/events/"

    async def ask(**headers: str):
        from django.test import AsyncClient

        response = await AsyncClient().get(address, headers=headers)
        if not response.streaming:
            return response.status_code, response.headers, ""
        body = b"".join([chunk async for chunk in response.streaming_content])
        return response.status_code, response.headers, body.decode()

    status, headers, body = asyncio.run(ask())
    assert status == 200
    assert headers["Content-Type"].startswith("text/event-stream")
    assert headers["Cache-Control"] == "no-store"
    assert "event: end" in body
    last = re.findall(r"id: (\d+)", body)[-1]
    status, _, _ = asyncio.run(ask(**{"Last-Event-ID": last}))
    assert status == 204
    address = "/runs/999999/events/"
    status, _, _ = asyncio.run(ask())
    assert status == 404


def test_a_job_into_a_published_study_is_refused_on_the_form(signed_in, query):
    Study.objects.create(slug="paper", title="A paper", is_published=True)
    pairs = [pair for pair in query if pair[0] != "new_study"]
    response = signed_in.get("/runs/new/review/?" + urlencode([*pairs, ("study", "paper")]))
    assert response.status_code == 422
    assert "takes no further runs" in text(response)
