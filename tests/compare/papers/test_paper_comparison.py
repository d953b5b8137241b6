"""A study beside a published one: which papers are offered, and how the page reads."""

import pytest
from django.test import Client

from fsbench_web.compare.papers import views as papers
from fsbench_web.studies.models import Score
from tests.compare.conftest import make_score

pytestmark = pytest.mark.django_db


@pytest.mark.usefixtures("papers")
@pytest.mark.parametrize("slug", sorted(papers.TESTS))
def test_the_tests_of_a_paper_are_those_it_prints_scores_of(slug: str) -> None:
    printed = Score.objects.filter(series__study__slug=slug).values_list("test", flat=True)
    assert papers.TESTS[slug] == set(printed)
    assert slug in papers.SHORT_TITLES


@pytest.mark.usefixtures("papers")
@pytest.mark.parametrize(
    ("test", "offered"),
    [
        ("write", "unisys-2005"),
        ("random_io_real", "galli-2001"),
        ("kernel_source_copy", "hilzinger-2006"),
        ("random_io_real@mb=1", None),
    ],
)
def test_a_study_leads_to_the_papers_whose_tests_it_has(
    client: Client, test: str, offered: str | None
) -> None:
    make_score("ext4", 1, study="own", test=test, unit="s", category="mean")
    page = client.get("/studies/own/").content.decode()
    assert [slug for slug in papers.TESTS if f'"/studies/own/papers/{slug}/"' in page] == (
        [offered] if offered else []
    )


@pytest.mark.usefixtures("papers")
def test_tests_of_one_table_each_stand_side_by_side(client: Client) -> None:
    make_score("xfs", 50, study="own", test="random_io_real", unit="s", category="mean")
    page = client.get("/studies/own/papers/galli-2001/").content.decode()
    assert page.count('<h2 id="tables-head">') == 1
    assert 'id="test-random_io_real"' not in page
    assert "Random I/O, real time · Mean" in page
    assert "less is better; here 1 run</span>" in page
    assert page.count("<section") == page.count("</section>") == 2
    several = client.get("/studies/own/papers/unisys-2005/").content.decode()
    assert 'id="test-write"' in several
    assert several.count("<section") == several.count("</section>") == 7


@pytest.mark.usefixtures("papers")
def test_without_a_common_table_it_says_which_workloads_have_them(client: Client) -> None:
    make_score("xfs", 1, study="own", test="random_io_real@mb=1", unit="s", category="mean")
    page = client.get("/studies/own/papers/galli-2001/").content.decode()
    assert "Run the presets named after the paper" in page
