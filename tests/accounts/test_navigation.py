"""The menu of five: what it offers to whom, and where it says one is."""

import re

import pytest
from django.test import Client

from fsbench_web.accounts import navigation
from fsbench_web.accounts.models import Role
from fsbench_web.accounts.navigation import ADMINISTER, IMPORT, RUN
from tests.accounts.people import person


def here(path: str) -> list[str]:
    bar = navigation.entries(path, {RUN, IMPORT})
    account = navigation.account_places(path, {ADMINISTER}, is_signed_in=True)
    places = [place for entry in bar for place in entry.places] + list(account)
    return [place.label for place in places if place.is_here]


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/studies/unisys-2005/", "Studies"),
        ("/compare/pictures/", "Compare"),
        ("/p/abc/", "Compare"),
        ("/watches/3/", "Watches"),
        ("/runs/7/", "All runs"),
        ("/runs/new/review/", "New run"),
        ("/imports/4/", "Import results"),
        ("/jobs/", "Jobs"),
        ("/people/", "Administration"),
        ("/guide/method/", "Guide"),
    ],
)
def test_a_page_belongs_to_one_place(path: str, label: str) -> None:
    assert here(path) == [label]


def test_home_and_what_no_entry_leads_to_belong_to_none() -> None:
    assert here("/") == here("/search/") == here("") == []


def test_what_is_refused_is_left_out_and_an_entry_with_nothing_goes() -> None:
    assert [entry.label for entry in navigation.entries("/", ())] == [
        *("Results", "Compare", "Runs", "Lab")
    ]
    (new,) = [entry for entry in navigation.entries("/", {IMPORT}) if entry.label == "New"]
    assert [place.label for place in new.places] == ["Import results"]


@pytest.mark.django_db
def test_every_place_is_a_page_and_the_administration_is_the_administrators() -> None:
    client = Client()
    client.force_login(person(Role.ADMINISTRATOR))
    page = client.get("/").content.decode()
    head = page.partition("</header>")[0]
    places = [place for entry in navigation.ENTRIES for place in entry.places]
    for place in (*places, *navigation.OWN):
        assert f'href="{place.address}"' in head
        assert client.get(place.address).status_code == 200, place.address
    assert re.search(r"<summary>some-administrator</summary>", head)
    viewer = Client()
    viewer.force_login(person(Role.VIEWER))
    viewer_head = viewer.get("/").content.decode().partition("</header>")[0]
    assert "/operations/" not in viewer_head
    assert "/runs/new/" not in viewer_head
    stranger = Client().get("/").content.decode().partition("</header>")[0]
    assert "/runs/new/" in stranger
    assert "/account/sign-in/" in stranger
    assert "/operations/" not in stranger
