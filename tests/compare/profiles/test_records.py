"""Work profiles of people: versions that never change, who sees them, who changes them."""

import json
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.test import Client

from fsbench_web.accounts.models import Team
from fsbench_web.compare.models import WorkProfile, WorkProfileVersion
from fsbench_web.compare.permalinks import records as permalinks
from fsbench_web.compare.profiles import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.core.scoring.profiles.presets import LATEST
from tests.accounts.people import person
from tests.compare.tables.test_work_profiles import database

pytestmark = pytest.mark.django_db

MINE = replace(LATEST["oltp"], title="My shop", slug="", version=0)
JSON = "application/json"


@pytest.fixture
def ada() -> User:
    return person("contributor", "ada")


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_a_change_makes_a_version_and_an_address_of_the_old_one_stays(ada):
    first = records.create(MINE, ada)
    assert (first.profile.slug, first.number) == ("my-shop", 1)
    heavier = replace(MINE.parts[0], weight=90.0)
    changed = replace(MINE, parts=(heavier, MINE.parts[1]))
    assert records.change(first.profile, changed, ada).number == 2
    database("ext4", 200, 100)
    client = signed_in(ada)
    for name, share in (("my-shop@1", 65), ("my-shop", 90 / 125 * 100)):
        answer = client.get("/api/v1/deltas", {"profile": name}).json()
        assert answer["work"][0]["parts"][0]["percent"] == pytest.approx(share)
    assert WorkProfileVersion.objects.get(number=1).document == MINE.as_dict()


def test_what_changes_nothing_makes_no_version(ada):
    version = records.create(MINE, ada)
    assert records.change(version.profile, MINE, ada).number == 1


def test_no_profile_takes_the_name_of_a_preset_or_of_another(ada):
    slugs = [
        records.create(replace(MINE, title=title), ada).profile.slug
        for title in ("oltp", "My shop", "My  Shop!", "new", "数据库")
    ]
    assert slugs == ["oltp-2", "my-shop", "my-shop-2", "new-2", "profile"]


def test_profiles_of_one_title_are_told_apart_where_one_is_chosen(ada):
    records.create(MINE, ada)
    page = Client().get("/compare/?study=none").content.decode()
    assert ">My shop</option>" in page
    records.create(MINE, ada)
    page = Client().get("/compare/?study=none").content.decode()
    assert ">My shop (my-shop)</option>" in page
    assert ">My shop (my-shop-2)</option>" in page


def test_a_permalink_keeps_its_version_and_its_numbers(ada):
    version = records.create(MINE, ada)
    database("ext4", 200, 100)
    database("xfs", 400, 400)
    link = permalinks.pin(ComparisonSpec.from_query("profile=my-shop&baseline=ext4"), ada)
    assert "profile=my-shop%401" in link.query
    records.change(version.profile, replace(MINE, parts=MINE.parts[:1]), ada)
    database("xfs", 800, 800)
    pinned = permalinks.read(link)
    [table] = pinned.tables
    scores = {row.contender: row.score for row in table.rows}
    assert scores["xfs"] == pytest.approx(2**0.65 * 4**0.35)
    assert table.work.headline == "12 of 12 cells of your work measured"
    assert table.work.baseline == "ext4"
    page = Client().get(f"/p/{link.key}/")
    assert b"12 of 12 cells of your work measured" in page.content


def test_its_title_is_printed_as_it_was_given(ada):
    records.create(replace(MINE, title="ACME SQL Box"), ada)
    for filesystem, speed in (("ext4", 100), ("xfs", 400)):
        series = database(filesystem, speed, speed)
    title = "ACME SQL Box, version 1"
    client = signed_in(ada)
    query = "study=lab&profile=acme-sql-box"
    for address in (
        *(f"/compare/?{query}", f"/studies/lab/?{query}"),
        *(f"/compare/image.svg?{query}", f"/compare/pictures/?{query}"),
        f"/history/?series={series.pk}&test=work&category=profile:acme-sql-box",
    ):
        page = client.get(address).content.decode()
        assert title in page, address
        assert "cme sql box" not in page, address


@pytest.mark.parametrize(
    ("visibility", "is_seen"),
    [("public", True), ("team", False), ("private", False)],
)
def test_what_somebody_must_not_see_is_not_there(ada, visibility, is_seen):
    team = Team.objects.create(name="Shop")
    team.members.add(ada)
    mate = person("viewer", "mate")
    team.members.add(mate)
    records.create(MINE, ada, visibility=visibility, team=team)
    anybody = Client()
    status = 200 if is_seen else 404
    assert anybody.get("/profiles/my-shop/").status_code == status
    assert anybody.get("/api/v1/profiles/my-shop").status_code == status
    assert (b"My shop" in anybody.get("/profiles/").content) is is_seen
    listed = anybody.get("/api/v1/profiles").json()
    assert (listed["total"], [profile["slug"] for profile in listed["profiles"]]) == (
        (1, ["my-shop"]) if is_seen else (0, [])
    )
    response = anybody.get("/api/v1/deltas", {"profile": "my-shop"})
    assert response.status_code == (200 if is_seen else 422)
    assert (b"My shop" in anybody.get("/compare/?papers=yes").content) is is_seen
    assert signed_in(mate).get("/profiles/my-shop/").status_code == (
        200 if is_seen or visibility == "team" else 404
    )
    assert signed_in(ada).get("/profiles/my-shop/").status_code == 200


def test_only_its_maker_its_team_and_administrators_change_it(ada):
    team = Team.objects.create(name="Shop")
    version = records.create(MINE, ada, team=team)
    other = person("contributor", "other")
    changed = replace(MINE, summary="Other")
    with pytest.raises(PermissionDenied, match="Only the author of"):
        records.change(version.profile, changed, other)
    assert signed_in(other).get("/profiles/my-shop/edit/").status_code == 403
    answer = signed_in(other).post(
        "/profiles/my-shop/edit/", {"title": "Other", "part_operation": "read"}
    )
    assert answer.status_code == 403
    assert version.profile.versions.count() == 1
    team.members.add(other)
    assert records.change(version.profile, changed, other).number == 2
    chief = person("administrator", "chief")
    assert records.change(version.profile, MINE, chief).number == 3


FORM = {
    "title": "Mine",
    "together": "ratio",
    "visibility": "public",
    "part_operation": ["random_read", "mail_transactions", ""],
    "part_weight": ["3", "1", ""],
    "part_block": ["8k-16k", "", ""],
    "part_file": ["1g-4g", "", ""],
    "part_load": ["", "threads=8", ""],
    "part_cached": ["no", "", ""],
    "part_flushed": ["", "yes", ""],
}


def test_the_form_makes_a_profile_and_shows_it_again(ada):
    client = signed_in(ada)
    answer = client.post("/profiles/new/", FORM)
    assert (answer.status_code, answer["Location"]) == (302, "/profiles/mine/")
    document = WorkProfileVersion.objects.get().document
    assert document["parts"][0] == {
        "operation": "random_read",
        "weight": 3.0,
        "block_sizes_kb": [8, 16],
        "file_sizes_kb": [1048576, 4194304],
        "load": "",
        "cached": False,
        "flushed": None,
    }
    assert document["parts"][1]["load"] == "threads=8"
    page = client.get("/profiles/mine/edit/").content.decode()
    assert 'value="8k-16k"' in page
    assert 'value="threads=8"' in page
    again = client.post("/profiles/mine/edit/", FORM | {"summary": "Said."})
    assert again.status_code == 302
    assert WorkProfile.objects.get().versions.count() == 2


def test_the_form_tells_every_problem_and_keeps_what_was_typed(ada):
    answer = signed_in(ada).post(
        "/profiles/new/",
        FORM
        | {
            "title": "",
            "part_weight": ["many", "-1", ""],
            "part_block": ["8q", "", ""],
            "visibility": "team",
        },
    )
    page = answer.content.decode()
    assert answer.status_code == 422
    for words in (
        "Part 1: weight is a number above 0.",
        "Part 1: block sizes are sizes as 8k-16k or 1g-4g.",
        "Part 2: weight is a number above 0.",
        "A profile needs a title.",
        "Choose the team",
        'value="8q"',
    ):
        assert words in page
    assert not WorkProfile.objects.exists()


def test_what_people_write_is_never_markup(ada):
    records.create(replace(MINE, title="<script>x</script>", source="<b>bold</b>"), ada)
    client = Client()
    for address in ("/profiles/", f"/profiles/{WorkProfile.objects.get().slug}/"):
        assert b"<script>x" not in client.get(address).content
        assert b"<b>bold" not in client.get(address).content


def test_the_api_makes_reads_and_changes(ada):
    client = signed_in(ada)
    body = {
        "title": "By a program",
        "parts": [
            {"operation": "read", "weight": 1, "block_sizes_kb": [4, 4], "file_sizes_kb": [64, 64]}
        ],
    }
    response = client.post("/api/v1/profiles", json.dumps(body), JSON)
    assert response.status_code == 201, response.content
    assert response.json()["name"] == "by-a-program@1"
    profile = client.get("/api/v1/profiles/by-a-program@1").json()
    assert profile["parts"] == response.json()["parts"]
    again = client.post(
        "/api/v1/profiles/by-a-program/versions",
        json.dumps(body | {"summary": "More"}),
        JSON,
    )
    assert (again.status_code, again.json()["versions"]) == (201, [2, 1])
    preset = client.get("/api/v1/profiles/oltp").json()
    assert (preset["is_preset"], preset["name"]) == (True, "oltp@1")
    wrong = client.post(
        "/api/v1/profiles", json.dumps(body | {"parts": [{"operation": "a b", "weight": 0}]}), JSON
    )
    assert wrong.status_code == 422
    assert "Part 1: weight" in wrong.content.decode()
    assert client.get("/api/v1/profiles/oltp@9").status_code == 404
    assert client.get("/api/v1/profiles/oltp@x").status_code == 404


def test_parts_that_nothing_gives_are_said_where_the_profile_is_saved(ada):
    client = signed_in(ada)
    sizes = {"block_sizes_kb": [8, 16], "file_sizes_kb": [1048576, 4194304]}
    document = {"title": "Typo", "parts": [{"operation": "randread", **sizes}]}
    sent = client.post("/api/v1/profiles", json.dumps(document), JSON)
    assert sent.status_code == 201, sent.content
    [warning] = sent.json()["warnings"]
    assert warning.endswith('nobody imported it. Is "random_read" meant?')
    typed = {"title": "Typed", "together": "ratio", "visibility": "public"}
    part = {"part_operation": "randread", "part_block": "8k-16k", "part_file": "1g-4g"}
    page = client.post("/profiles/new/", typed | part, follow=True).content.decode()
    assert "fsbench cannot measure all of it." in page
    assert "Is &quot;random_read&quot; meant?" in page
    # What no number could meet is not saved.
    never = {"title": "Never", "parts": [{"operation": "mkfs", "cached": True}]}
    refused = client.post("/api/v1/profiles", json.dumps(never), JSON)
    assert refused.status_code == 422
    assert "leave cached open" in refused.content.decode()
    cached = {"part_operation": "mkfs", "part_cached": "yes"}
    refused = client.post("/profiles/new/", typed | cached)
    assert refused.status_code == 422
    assert "leave cached open" in refused.content.decode()
    fine = client.post("/api/v1/profiles", json.dumps(MINE.as_dict()), JSON).json()
    assert fine["warnings"] == []
    assert client.get("/api/v1/profiles/typo").json()["warnings"] == [warning]
