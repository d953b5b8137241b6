"""The answer as an image, and the addresses of slides that lead to it."""

import io
import re
from html import unescape
from itertools import pairwise

import pytest
from django.contrib.auth.models import User
from django.test import Client
from PIL import Image

from fsbench_web.compare import answer_shown
from fsbench_web.compare.answer import answer_of
from fsbench_web.compare.answer_image import SIZE_PX, answer_image, svg
from fsbench_web.compare.answer_shown import MOST_ROWS, answer_chart
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.core.stats.answers import INCONCLUSIVE, Answer, Standing
from tests.compare.conftest import make_run, make_score

pytestmark = pytest.mark.django_db


def measure(xfs: float = 150.0) -> None:
    for name, value in (("ext4", 100.0), ("xfs", xfs)):
        make_run(make_score(name, value, category="mean", hardware="array-1").series)


def test_png_and_svg_have_the_answer_and_what_it_rests_on(client: Client) -> None:
    measure()
    png = client.get("/compare/image.png?study=lab")
    assert png["Content-Type"] == "image/png"
    with Image.open(io.BytesIO(png.content)) as picture:
        assert (picture.format, picture.size) == ("PNG", SIZE_PX)
    drawn = client.get("/compare/image.svg?study=lab")
    assert drawn["Content-Type"] == "image/svg+xml"
    text = drawn.content.decode()
    answer = client.get("/api/v1/comparison?study=lab").json()["answer"]
    for part in (answer["basis"], "array-1", "1.50×", "http://testserver/compare/?study=lab"):
        assert part in text, part
    assert client.get("/compare/image.svg?study=lab")["ETag"] == drawn["ETag"]


def test_a_permalink_draws_its_pinned_numbers(client: Client, jo: User) -> None:
    measure()
    link = records.pin(ComparisonSpec(studies=("lab",)), jo)
    before = client.get(f"/p/{link.key}/image.svg").content.decode()
    assert "1.50×" in before
    assert f"http://testserver/p/{link.key}/" in before
    make_score("xfs", 50.0, category="mean", hardware="array-1")
    assert client.get(f"/p/{link.key}/image.svg").content.decode() == before


def test_the_embedded_view_has_the_answer_and_its_chart(client: Client, jo: User) -> None:
    measure()
    link = records.pin(ComparisonSpec(studies=("lab",)), jo)
    text = client.get(f"/p/{link.key}/embed/").content.decode()
    assert text.count('<svg class="answer-chart"') == 1
    assert text.count('data-entry="') == 2
    assert answer_shown.headline(answer_of(records.read(link).tables)) in unescape(text)


def test_page_and_image_are_one_drawing(client: Client) -> None:
    measure()
    page = client.get("/compare/?study=lab").content.decode()
    image = client.get("/compare/image.svg?study=lab").content.decode()
    [chart] = re.findall(r'<svg class="answer-chart".*?</svg>', page, re.DOTALL)
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", chart)
    assert {"xfs", "ext4", "1.50×"} <= set(texts)
    assert [text for text in texts if f">{text}</text>" not in image] == []


def test_no_row_of_an_image_is_lost_or_outside() -> None:
    names = [f"entry_{number:02}" for number in range(MOST_ROWS + 2)]
    standings = tuple(Standing(name, 2.0 - number / 10) for number, name in enumerate(names))
    answer = Answer(
        *(INCONCLUSIVE, tuple(names), names[-1], standings, ("read",), None, {}, {}, 1.0, None),
        repeats=(3, 3),
    )
    for height in (120.0, 200.0, 260.0):
        chart = answer_chart(answer, 500.0, height)
        assert chart.height <= height
        assert len(chart.rows) + chart.hidden == len(names)
        assert all(right.y - left.y >= 15 for left, right in pairwise(chart.rows))
    assert answer_chart(answer, 500.0, 50.0).rows


def test_names_are_neither_markup_nor_formulas() -> None:
    image = answer_image(answer_of([]), [], "https://bench.example/?a=$x^2$&b=<b>", "$\\frac{1}$")
    text = svg(image).decode()
    assert "$x^2$" in text
    assert "<b>" not in text
    assert "Nothing to compare" in text


@pytest.mark.parametrize(
    ("address", "status"),
    [("image.gif?study=lab", 404), ("image.png?by=moon", 400), ("image.png?study=none", 400)],
)
def test_what_cannot_be_drawn_is_refused(client: Client, address: str, status: int) -> None:
    measure()
    assert client.get(f"/compare/{address}").status_code == status


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("slide/?study=lab&of=write&in=mean", "?study=lab&test=write&category=mean"),
        ("slide.png?study=lab&sentence=x&was=y", "image.png?study=lab"),
        ("slide.pdf?study=lab&in=profile:oltp", "?study=lab&profile=oltp"),
    ],
)
def test_old_addresses_of_slides_lead_on(client: Client, old: str, new: str) -> None:
    measure()
    answer = client.get(f"/compare/{old}")
    assert (answer.status_code, answer["Location"]) == (301, f"/compare/{new}")
    assert client.get(answer["Location"]).status_code == 200


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("picture.png", "image.png"),
        ("slide.svg", "image.svg"),
        ("slide.pdf", ""),
        ("slide/", ""),
    ],
)
def test_old_addresses_of_permalinks_lead_on(client: Client, jo: User, old: str, new: str) -> None:
    measure()
    link = records.pin(ComparisonSpec(studies=("lab",)), jo)
    answer = client.get(f"/p/{link.key}/{old}")
    assert (answer.status_code, answer["Location"]) == (301, f"/p/{link.key}/{new}")
