"""The pages of triggers: confirmed once, shown with the next times, steered by their owner."""

import re

import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts.models import AuditEntry
from fsbench_web.studies.jobs.documents import text as job_document
from fsbench_web.studies.models import Job, Trigger
from fsbench_web.studies.triggers import ordering, records
from tests.studies.triggers.conftest import DOCUMENT, FOUND, Lab, Make

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client: Client, eve: User) -> Client:
    client.force_login(eve)
    return client


def fields(content: bytes) -> dict[str, str]:
    """What a browser would send of the hidden fields and the job file."""
    text = content.decode()
    seen = re.search(r'name="seen" value="([0-9a-f]+)"', text)
    assert seen is not None
    document = re.search(r"<textarea[^>]*>\s*(.*?)</textarea>", text, re.S)
    assert document is not None
    return {"seen": seen[1], "document": document[1].replace("&#x27;", "'")}


def test_a_job_is_run_again_on_a_schedule(page: Client, make: Make, lab: Lab) -> None:
    first = make()
    ordering.order(first.pk, "person", "person 1")
    job = Job.objects.get()
    assert f'href="/triggers/new/?job={job.pk}"'.encode() in page.get(f"/jobs/{job.pk}/").content
    shown = page.get(f"/triggers/new/?job={job.pk}").content
    assert b"serial S3Z, 500 bytes" in shown
    sent = fields(shown) | {"title": "Again", "schedule": "0 2 * * *", "zone": "Europe/Berlin"}
    refused = page.post("/triggers/new/", sent)
    assert refused.status_code == 422
    assert set(refused.context["form"].errors) == {"confirmation"}
    assert Trigger.objects.count() == 1
    answer = page.post("/triggers/new/", sent | {"confirmation": "disk1"})
    trigger = Trigger.objects.latest("pk")
    assert (answer.status_code, answer["Location"]) == (302, f"/triggers/{trigger.pk}/")
    assert "seed" not in trigger.document
    content = page.get(f"/triggers/{trigger.pk}/").content.decode()
    assert re.findall(r'<time datetime="([^"]+)" data-reader-time>([^<]+)<', content) == [
        ("2026-03-28T01:00:00+00:00", "2026-03-28 01:00 UTC"),
        ("2026-03-29T01:00:00+00:00", "2026-03-29 01:00 UTC"),  # 03:00: there is no 02:00
        ("2026-03-30T00:00:00+00:00", "2026-03-30 00:00 UTC"),
    ]
    assert f'<a href="/triggers/{trigger.pk}/">Again</a>'.encode() in page.get("/triggers/").content


def test_one_above_the_limit_is_refused_by_page_and_api(
    page: Client, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "MOST_TRIGGERS", 1)
    trigger = make()
    sent = {"title": "A", "document": DOCUMENT, "confirmation": "disk1"}
    refused = page.post("/triggers/new/", sent)
    assert refused.status_code == 422
    assert set(refused.context["form"].errors) == {"__all__"}
    called = {"title": "A", "document": DOCUMENT, "confirm": "disk1"}
    answer = page.post("/api/v1/triggers", called, "application/json")
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, None)
    assert page.post(f"/triggers/{trigger.pk}/edit/", sent).status_code == 302
    assert Trigger.objects.count() == 1


def test_a_page_that_showed_another_disk_confirms_nothing(
    page: Client, make: Make, lab: Lab
) -> None:
    trigger = make()
    address = f"/triggers/{trigger.pk}/edit/"
    sent = fields(page.get(address).content) | {"title": "A", "confirmation": "disk1"}
    lab.fingerprint = FOUND | {"serial": "S4A"}
    lab.announce()
    refused = page.post(address, sent)
    assert refused.status_code == 422
    assert set(refused.context["form"].errors) == {"confirmation"}
    assert b"serial S4A" in refused.content
    assert page.post(address, sent | fields(refused.content)).status_code == 302


def test_a_void_one_is_confirmed_again(page: Client, make: Make, lab: Lab) -> None:
    trigger = make(schedule="0 2 * * *", zone="UTC")
    lab.fingerprint = FOUND | {"serial": "S4A"}
    lab.at("2026-03-28T02:00")
    ordering.run_maintenance()
    address = f"/triggers/{trigger.pk}/"
    assert b'data-state="void"' in page.get(address).content
    assert b'data-problem="void"' in page.get(address).content
    assert page.post(f"{address}resume/")["Location"] == f"{address}edit/"
    sent = fields(page.get(f"{address}edit/").content)
    values = {"title": "A", "schedule": "0 2 * * *", "confirmation": "disk1"}
    assert page.post(f"{address}edit/", sent | values).status_code == 302
    assert b'data-state="active"' in page.get(address).content
    lab.at("2026-03-29T02:00")
    (order,) = ordering.run_maintenance()
    assert order.problem == ""


def test_it_is_ordered_by_hand_paused_resumed_and_deleted(
    page: Client, make: Make, eve: User
) -> None:
    trigger = make(schedule="0 2 * * *", zone="UTC")
    address = f"/triggers/{trigger.pk}/"
    page.post(f"{address}order/")
    page.post(f"{address}order/")
    shown = page.get(address).content.decode()
    found = re.findall(r'data-cause="(\w+)" data-problem="(\w*)"', shown)
    assert found == [("person", "running"), ("person", "")]
    job = Job.objects.get()
    assert b'data-ordered-by="person"' in page.get(f"/jobs/{job.pk}/").content
    page.post(f"{address}pause/")
    assert b'data-state="paused"' in page.get(address).content
    assert b"data-reader-time" not in page.get(address).content
    page.post(f"{address}resume/")
    assert b'data-state="active"' in page.get("/triggers/").content
    page.post(f"{address}delete/")
    assert not Trigger.objects.exists()
    assert b'data-ordered-by="person"' in page.get(f"/jobs/{job.pk}/").content
    words = [
        *("trigger made", "study made", "job submitted", "trigger ordered"),
        *("trigger paused", "trigger resumed", "trigger deleted"),
    ]
    assert list(AuditEntry.objects.order_by("id").values_list("what", flat=True)) == words


def test_others_see_that_a_trigger_ordered_a_job_and_not_its_name(make: Make) -> None:
    trigger = make(title="Secret plan")
    ordering.order(trigger.pk, "webhook", "webhook 1", detail="commit 4711")
    content = Client().get(f"/jobs/{Job.objects.get().pk}/").content
    assert b'data-ordered-by="webhook"' in content
    assert b"Secret plan" not in content


def test_the_token_is_shown_once(page: Client, make: Make) -> None:
    trigger = make()
    answer = page.post(f"/triggers/{trigger.pk}/token/")
    match = re.search(r"fsb_[\w-]{43}", answer.content.decode())
    assert (answer.status_code, match is not None) == (201, True)
    assert match is not None
    assert match[0].encode() not in page.get(f"/triggers/{trigger.pk}/").content


@pytest.mark.parametrize("query", ["", "?job=x", "?job=999999", "?job=" + "9" * 40, "?job=-1"])
def test_the_form_begins_empty_where_there_is_no_job(page: Client, query: str) -> None:
    assert page.get(f"/triggers/new/{query}").status_code == 200


def test_hostile_names_are_shown_as_text(page: Client, make: Make) -> None:
    hostile = "<script>alert(1)</script>"
    document = yaml.safe_load(DOCUMENT) | {"study": f"A {hostile}"}
    trigger = make(title=hostile, document=job_document.write(document))
    for address in ("/triggers/", f"/triggers/{trigger.pk}/", f"/triggers/{trigger.pk}/edit/"):
        assert hostile.encode() not in page.get(address).content
