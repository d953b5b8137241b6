"""The forms of jobs and uploads offer the studies that whoever asks may add to, and no others."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import LunGrant, Role, Team, Visibility
from fsbench_web.catalog.models import Lun
from fsbench_web.studies.models import Study
from tests.accounts.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def eve(disk: Lun) -> User:
    user = person(Role.OPERATOR, "eve")
    LunGrant.objects.create(user=user, lun=disk)
    return user


@pytest.fixture
def studies(eve: User) -> None:
    mine, theirs = Team.objects.create(name="Storage"), Team.objects.create(name="Databases")
    mine.members.add(eve)
    Study.objects.create(slug="open", title="Open")
    Study.objects.create(slug="mine", title="Mine", team=mine)
    Study.objects.create(slug="theirs", title="Theirs", team=theirs)
    Study.objects.create(slug="own", title="Own", team=theirs, created_by=eve)
    Study.objects.create(slug="paper", title="Paper", is_published=True)
    Study.objects.create(slug="secret", title="Secret", visibility=Visibility.PRIVATE)


def offered(html: str, name: str) -> list[str]:
    """The values that a select box or a list of proposals offers."""
    box = re.search(rf'<(?:select|datalist) id="{name}".*?</(?:select|datalist)>', html, re.S)
    assert box is not None
    return [value for value in re.findall(r'<option value="([^"]*)"', box[0]) if value]


@pytest.mark.parametrize(
    ("address", "name"), [("/runs/new/", "id-study"), ("/imports/new/", "studies")]
)
def test_only_studies_are_offered_that_one_may_add_to(
    client: Client, eve: User, studies: None, address: str, name: str
) -> None:
    client.force_login(eve)
    slugs = offered(client.get(address).content.decode(), name)
    assert slugs == ["mine", "open"]
    action = rights.Action.RUN if name == "id-study" else rights.Action.IMPORT
    takes_runs = Study._base_manager.filter(is_published=False)
    with rights.as_user(eve):
        assert {study.slug for study in Study.objects.filter(is_published=False)} > set(slugs)
    assert {study.slug for study in takes_runs if rights.may(eve, action, study)} - {
        "secret"
    } == set(slugs)


def test_an_administrator_may_add_to_all(client: Client, admin_user: User, studies: None) -> None:
    client.force_login(admin_user)
    html = client.get("/runs/new/").content.decode()
    assert offered(html, "id-study") == ["mine", "open", "own", "secret", "theirs"]


def test_a_link_that_names_another_study_says_why_it_is_not_offered(
    client: Client, eve: User, studies: None
) -> None:
    client.force_login(eve)
    html = client.get("/runs/new/?study=theirs").content.decode()
    assert "The study belongs to the team Databases, and you are not in it." in html
    assert 'value="theirs"' not in html
    assert 'name="new_study"' in html
    assert "belongs to the team" not in client.get("/runs/new/?study=mine").content.decode()
    assert "belongs to the team" not in client.get("/runs/new/?study=secret").content.decode()
