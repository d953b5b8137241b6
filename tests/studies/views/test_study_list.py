"""The list of studies: filters, orders, tags and archive."""

import pytest
from django.contrib.auth.models import User

from fsbench_web.accounts.models import Team, Visibility
from fsbench_web.studies.models import Study

pytestmark = pytest.mark.django_db


@pytest.fixture
def studies(ann: User) -> None:
    team = Team.objects.create(name="Storage")
    Study.objects.create(slug="b", title="Beta nvme", created_by=ann, tags=",nvme,release-6.12,")
    Study.objects.create(slug="a", title="Alpha", created_by=User.objects.create_user("bob"))
    Study.objects.create(slug="old", title="Old", created_by=ann, is_archived=True, team=team)
    Study.objects.create(
        slug="secret", title="Secret", tags=",secret,", visibility=Visibility.PRIVATE
    )


@pytest.mark.parametrize(
    ("query", "slugs"),
    [
        ("", ["a", "b"]),
        ("sort=title", ["a", "b"]),
        ("sort=latest", ["a", "b"]),
        ("q=NVME", ["b"]),
        ("tag=nvme", ["b"]),
        ("tag=nvm", []),
        ("tag=release-6.12", ["b"]),
        ("tag=secret", []),
        ("owner=bob", ["a"]),
        ("owner=ann&archived=yes", ["old"]),
        ("team=Storage&archived=yes", ["old"]),
        ("team=Storage", []),
        ("sort=nonsense&page=x", ["a", "b"]),
        ("q=%00", []),
    ],
)
def test_filters_and_orders(client, studies, query, slugs):
    page = client.get(f"/studies/?{query}")
    assert sorted(study.slug for study in page.context["page"]) == slugs
    assert ("No study matches" in page.content.decode()) == (not slugs)


def test_choices_are_those_of_studies_that_the_reader_may_see(client, studies):
    context = client.get("/studies/").context
    assert context["owners"] == ["ann", "bob"]
    assert context["teams"] == ["Storage"]
    assert context["tags"] == ["nvme", "release-6.12"]


def test_an_archived_study_leaves_lists_and_keeps_its_page(client, studies):
    assert "Old" not in client.get("/").content.decode()
    assert client.get("/studies/old/").status_code == 200


def test_the_owner_sets_tags_and_archives(client, studies, ann):
    client.force_login(ann)
    form = {"visibility": "public", "tags": "NVMe, array-1 nvme", "is_archived": "on"}
    assert client.post("/studies/b/access/", form).status_code == 302
    study = Study.objects.get(slug="b")
    assert (study.tag_names, study.is_archived) == (["array-1", "nvme"], True)
    assert 'value="array-1 nvme"' in client.get("/studies/b/access/").content.decode()


@pytest.mark.parametrize("tags", ["<b>", "a_b", "-a", "x" * 31, " ".join(map(str, range(11)))])
def test_tags_are_short_plain_words(client, studies, ann, tags):
    client.force_login(ann)
    answer = client.post("/studies/b/access/", {"visibility": "public", "tags": tags})
    assert answer.status_code == 422
    assert Study.objects.get(slug="b").tag_names == ["nvme", "release-6.12"]
