"""What a watch tells somebody who may not, or no longer, see a study of its line."""

import copy
import html
import json

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.utils import timezone

from fsbench_web.accounts.models import Role, Visibility
from fsbench_web.compare.models import Watch, WatchDelivery
from fsbench_web.compare.watches import deliveries, watching
from fsbench_web.studies.models import Series, Study
from tests.accounts.people import person
from tests.compare.watches.test_watches import kernel, three_alike, watched

pytestmark = pytest.mark.django_db


@pytest.fixture
def eve() -> User:
    user = person(Role.VIEWER, "eve")
    user.email = "ada@example.org"  # what ``watched`` writes to
    user.save()
    return user


@pytest.fixture
def hers(client: Client, eve: User) -> Client:
    client.force_login(eve)
    return client


@pytest.fixture(autouse=True)
def _sends(settings):
    settings.SENDS_EMAIL = True


@pytest.fixture(scope="module")
def nightly(module_db) -> Series:
    return three_alike()


@pytest.fixture
def line(nightly, db) -> Series:
    return copy.deepcopy(nightly)


def hide(slug: str) -> None:
    Study.objects.filter(slug=slug).update(visibility=Visibility.PRIVATE)


def pages_of(client: Client, watch: Watch) -> str:
    pages = ("/watches/", f"/watches/{watch.pk}/", f"/watches/{watch.pk}/delete/")
    return html.unescape("".join(client.get(page).content.decode() for page in pages))


def test_a_private_study_of_the_same_line_is_not_told(eve, line):
    watched(eve, line)
    kernel("6.3", 80, study="weekly")
    hide("weekly")
    assert watching.run_maintenance() == []
    assert mail.outbox == []


def test_who_may_see_it_is_told(eve, line):
    watched(eve, line)
    kernel("6.3", 80, study="weekly")
    Study.objects.filter(slug="weekly").update(visibility=Visibility.PRIVATE, created_by=eve)
    assert len(watching.run_maintenance()) == 1
    assert len(mail.outbox) == 1


def test_a_message_of_a_study_that_was_hidden_since_is_not_shown(eve, hers, line):
    watch = watched(eve, line)
    kernel("6.3", 80, study="weekly")
    (message,) = watching.run_maintenance()
    assert message.sentence in pages_of(hers, watch)
    hide("weekly")
    assert "6.3" not in pages_of(hers, watch)
    assert "100.33" not in pages_of(hers, watch)
    assert "Write, total average" in pages_of(hers, watch)  # the line itself is still there


def test_a_message_compared_with_a_hidden_study_is_not_shown(eve, hers, line):
    watch = watched(eve, line)
    kernel("6.3", 80, study="weekly")
    watching.run_maintenance()
    hide("nightly")
    assert "100.33" not in pages_of(hers, watch)


def test_a_line_that_is_hidden_altogether_has_no_name_and_no_message(eve, hers, line):
    watch = watched(eve, line)
    kernel("6.3", 80)
    watching.run_maintenance()
    hide("nightly")
    pages = pages_of(hers, watch)
    for secret in ("ext4", "Write", "Array", "6.3", "100.33"):
        assert secret not in pages, secret
    assert "not yours to see" in pages
    mail.outbox.clear()
    answer = hers.post(f"/watches/{watch.pk}/test/", follow=True).content.decode()
    assert "may no longer see this line" in answer
    assert mail.outbox == []


def test_what_waits_is_not_sent_once_it_is_hidden(eve, line):
    watch = watched(eve, line)
    kernel("6.3", 80)
    (message,) = watching.check_all()
    hide("nightly")
    deliveries.send_due()
    assert mail.outbox == []
    delivery = WatchDelivery.objects.get(message=message)
    assert (delivery.state, delivery.last_error) == ("failed", deliveries.NOT_TO_SEE)
    assert watch.messages.count() == 1


def test_a_closed_account_is_sent_nothing_that_waits(eve, line):
    watched(eve, line)
    kernel("6.3", 80)
    watching.check_all()
    User.objects.filter(pk=eve.pk).update(is_active=False)
    assert deliveries.send_due() == 0
    assert mail.outbox == []


def test_a_watch_takes_a_hidden_study_up_again_when_it_is_shown(eve, line):
    watch = watched(eve, line)
    hide("nightly")
    watching.run_maintenance()
    watch.refresh_from_db()
    assert watch.series is None
    Study.objects.filter(slug="nightly").update(visibility=Visibility.PUBLIC)
    kernel("6.3", 80)
    (message,) = watching.run_maintenance(timezone.now())
    assert json.dumps(message.payload["line"]).count("/history/?series=") == 1


def test_a_hidden_line_cannot_be_watched(eve, hers, line):
    hide("nightly")
    fields = {"series": line.pk, "test": "write", "category": "total_average", "along": "kernel"}
    assert hers.get("/watches/new/", fields).status_code == 404
    assert hers.post("/watches/new/", fields | {"margin": 10}).status_code == 404
    assert hers.get("/history/", fields).status_code == 404
    assert not Watch.objects.exists()
