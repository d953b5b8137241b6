"""The glossary: whoever meets a score, a flag, a state or a label finds there what it is."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils.html import escape
from pytest_django import DjangoAssertNumQueries

from fsbench_web.catalog.configurations.filesystems import (
    ALL,
    AS_MOUNTED,
    FILESYSTEMS,
    SCHEDULER_LABELS,
)
from fsbench_web.catalog.configurations.labels import parse_label
from fsbench_web.compare.selection.wording import FLAGS
from fsbench_web.core.scoring.categories import CATEGORIES, MEAN_CATEGORY
from fsbench_web.pages.glossary import STATES, label_parts
from fsbench_web.studies.models import RunState

pytestmark = pytest.mark.django_db
ALL_CATEGORIES = [*CATEGORIES.values(), MEAN_CATEGORY]


def page(client: Client) -> str:
    answer = client.get("/glossary/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_every_page_leads_to_it(client: Client) -> None:
    assert '<a href="/glossary/">' in client.get("/").content.decode()


def test_it_defines_every_category_flag_and_state(client: Client) -> None:
    text = page(client)
    for category in ALL_CATEGORIES:
        assert f"<dt>{category.label}</dt><dd>{escape(category.definition)}</dd>" in text
    for label, meaning in FLAGS.values():
        assert f'<span class="flag">{escape(label)}</span></dt><dd>{escape(meaning)}</dd>' in text
    for state in RunState:
        assert escape(STATES[state]) in text


def test_its_anchors_are_those_it_links_to(client: Client) -> None:
    text = page(client)
    links = set(re.findall(r'href="#([a-z]+)"', text)) - {"content"}
    assert len(links) == 8
    assert links <= set(re.findall(r'id="([a-z]+)"', text))


def test_every_part_of_a_label_that_it_explains_is_one() -> None:
    mounted = {
        part
        for spec in AS_MOUNTED.values()
        for option in spec.options
        for part in (
            *(choice.label for choice in option.choices),
            option.label_template.replace("{}", "N"),
        )
    }
    parts = list(label_parts())
    assert len({(part, option) for part, option, _ in parts}) == len(parts)
    for part, _, _ in parts:
        tried = [f"{name}_{part.replace('N', n)}" for name in FILESYSTEMS for n in ("4", "64")]
        assert any(parse_label(label) for label in tried) or part in mounted, part


def test_no_part_of_a_label_is_left_out() -> None:
    explained = {part for part, _, _ in label_parts()}
    assert {"xj", *SCHEDULER_LABELS.values()} <= explained
    for filesystem in ALL.values():
        for option in filesystem.options:
            labels = {choice.label for choice in option.choices}
            labels |= {option.label_template.format("N")} if not option.choices else set()
            assert labels <= explained, (filesystem.slug, option.key)


def test_it_asks_the_database_nothing(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        page(client)


def test_the_document_on_numbers_defines_every_category_too() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "method.md").read_text()
    words = " ".join(text.split())
    for category in ALL_CATEGORIES:
        assert f"| `{category.slug}` | {category.label} | {category.definition} |" in words


def test_the_former_address_leads_to_it_for_good(client: Client) -> None:
    answer = client.get("/words/")
    assert (answer.status_code, answer["Location"]) == (301, "/glossary/")
