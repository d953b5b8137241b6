"""A slide shows what its comparison ranks by, and what it shows stays when it is shared."""

import html
import re
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client

from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from tests.compare.conftest import make_score
from tests.compare.slides.test_slides import texts
from tests.compare.tables.test_work_profiles import RANGE, database, make
from tests.studies.scores.test_cells import finished

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def two(module_db: None) -> None:
    database("ext4", 200, 100, repeats=3)
    database("xfs", 400, 400, repeats=3)


def svg(client: Client, query: str) -> str:
    answer = client.get(f"/compare/slide.svg?{query}")
    assert answer.status_code == 200, answer.content.decode()
    return " ".join(texts(answer.content))


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    "query",
    [
        "profile=oltp",
        "study=lab&profile=oltp&of=work",
        "profile=oltp&of=work&in=profile:oltp@1",
        "profile=oltp&in=profile:oltp",
        "in=profile:oltp",
        "in=profile:oltp&of=read",
    ],
)
def test_a_slide_by_a_profile_shows_the_profile(client: Client, query: str) -> None:
    text = svg(client, query)
    assert "Work profile: OLTP database, version 1" in text
    assert "1.00 is ext4; 12 of 12 cells of your work measured" in text
    assert "profile=oltp" in text
    assert "verall" not in text
    page = client.get(f"/compare/slide/?{query}").content.decode()
    assert '<option value="profile:oltp@1" selected>' in page
    assert 'name="profile" value="oltp' in page


@pytest.mark.usefixtures("two")
def test_a_slide_by_a_range_shows_the_range(client: Client) -> None:
    assert "Random write: range of sizes" in svg(client, RANGE)
    both = f"{RANGE}&operation=random_read"
    assert "Work profile: range of sizes" in svg(client, both)
    read = svg(client, f"{both}&of=random_read")
    assert "Random read: range of sizes" in read
    assert (
        "part_test=random_read"
        in client.get(f"/compare/slide/?{both}&of=random_read").context["slide"].address
    )


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("of=work", '"work"; it has random_write, random_read'),
        ("of=random_read&in=mean", '"mean"; it has maximum, minimum, total_average'),
        ("profile=oltp&of=random_read", '"random_read"; it has work'),
        ("profile=oltp&of=work&in=overall", '"overall"; it has profile:oltp@1'),
        ("profile=oltp&in=profile:mail", '"profile:mail"; it has profile:oltp@1'),
        ("in=profile:nope", 'There is no profile "nope"'),
        ("profile=backup", "0 of"),
    ],
)
def test_what_is_not_there_is_refused_with_what_there_is(
    client: Client, query: str, problem: str
) -> None:
    answer = client.get(f"/compare/slide.svg?{query}")
    assert answer.status_code == 400
    assert problem in answer.content.decode()


def test_what_is_not_there_leaves_the_form_as_it_was_typed(client: Client) -> None:
    make_score("xfs", 200, test="write")
    make_score("xfs", 200, test="copy", category="mean")
    for query, chosen, problem in (
        ("of=copy&in=maximum", "copy", 'Copy has no category "maximum"; it has mean.'),
        ("of=nope", "write", 'no test "nope"; it has'),
        ("of=copy&in=profile:nope", "copy", 'There is no profile "nope"'),
    ):
        answer = client.get(f"/compare/slide/?study=lab&{query}&sentence=Our+own")
        assert answer.status_code == 400
        page = html.unescape(answer.content.decode())
        assert problem in page
        assert f'<option value="{chosen}" selected>' in page
        assert ">Our own</textarea>" in page
        assert 'name="study" value="lab"' in page
        # What it shows has an address of its own.
        [preview] = re.findall(r'<img src="([^"]*)"', page)
        assert client.get(preview).status_code == 200
    # The sentence of the table that was shown is nobody's own: that of the other takes its place.
    page = client.get("/compare/slide/?study=lab&of=copy&in=maximum&sentence=Write&was=Write")
    assert page.context["typed"] == page.context["said"]
    long = "x" * 300
    answer = client.get(f"/compare/slide/?study=lab&of=copy&sentence={long}")
    assert answer.status_code == 400
    assert f">{long}</textarea>" in answer.content.decode()
    assert b"has up to 200 characters" in answer.content


def test_so_does_the_slide_of_a_permalink(client: Client, jo) -> None:
    make_score("xfs", 200, test="write")
    make_score("xfs", 200, test="copy", category="mean")
    link = records.pin(ComparisonSpec.from_query("study=lab"), jo)
    answer = client.get(f"/p/{link.key}/slide/?of=copy&in=maximum&sentence=Our+own")
    assert answer.status_code == 400
    page = html.unescape(answer.content.decode())
    assert 'Copy has no category "maximum"; it has mean.' in page
    assert '<option value="copy" selected>' in page
    assert ">Our own</textarea>" in page


def test_the_foot_leads_to_the_very_table(client: Client) -> None:
    for test in ("write", "read"):
        make_score("xfs", 200, test=test)
        make_score("ext4", 100, test=test)
        make_score("xfs", 300, test=test, category="overall")
    text = svg(client, "study=lab&of=read&in=maximum")
    [address] = re.findall(r"http://\S+", text)
    assert dict(parse_qsl(urlsplit(address).query)) == {
        "study": "lab",
        "test": "read",
        "category": "maximum",
    }
    page = client.get(address.removeprefix("http://testserver"))
    [section] = page.context["sections"]
    assert [(table.test, table.category) for table in section.tables] == [("read", "maximum")]


@pytest.mark.parametrize("is_of_work", [False, True])
def test_sharing_a_slide_keeps_test_category_and_sentence(
    client: Client, jo, is_of_work: bool
) -> None:
    if is_of_work:
        database("ext4", 200, 100)
        database("xfs", 400, 400)
        query, place = "profile=oltp", ("work", "profile:oltp@1")
    else:
        for test in ("write", "read"):
            make_score("xfs", 200, test=test)
            make_score("xfs", 300, test=test, category="overall")
        query, place = "of=read&in=overall", ("read", "overall")
    client.force_login(jo)
    page = client.get(f"/compare/slide/?{query}&sentence=Our+own+%26+words").content.decode()
    form = re.search(r'<form[^>]*id="share".*?</form>', page, re.S)
    fields = dict(re.findall(r'type="hidden" name="(query|slide)" value="([^"]*)"', form[0]))
    posted = {name: html.unescape(value) for name, value in fields.items()}
    # A title that cannot be is asked for again, with the slide that it is of.
    refused = client.post("/compare/pin/", posted | {"title": "x" * 1000})
    assert refused.status_code == 422
    assert f'name="slide" value="{fields["slide"]}"' in refused.content.decode()
    shared = client.post("/compare/pin/", posted, follow=True)
    assert shared.status_code == 200, shared.content.decode()
    [(address, _)] = shared.redirect_chain
    assert re.match(r"/p/[^/]+/slide/\?", address)
    slide = shared.context["slide"]
    assert (slide.table.test, slide.table.category) == place
    assert slide.sentence == "Our own & words"
    assert re.search(r"/p/[^/]+/$", slide.address)


def test_a_profile_that_nobody_measured_is_said_to_be_so(client: Client) -> None:
    finished(make("ext4"))
    database("xfs", 400, 400)
    answer = client.get("/compare/slide/?profile=mail")
    assert answer.status_code == 400
    assert "cells of your work measured" in answer.content.decode()
