"""The list of workloads: what each preset does, what it needs, and where its results are."""

import pytest

from fsbench_web.core.workloads import presets
from tests.studies.conftest import complete

pytestmark = pytest.mark.django_db


def test_every_preset_is_listed_with_its_results(client, runs):
    complete(runs[0])
    page = client.get("/workloads/")
    text = page.content.decode()
    assert all(f'id="{slug}"' in text for slug in presets())
    assert len(presets()) >= 55
    slug = runs[0].series.workload.slug
    assert f'href="/compare/?workload={slug}">1<' in text
    assert client.get(f"/compare/?workload={slug}").status_code == 200


def test_the_list_takes_a_constant_number_of_queries(client, runs, django_assert_max_num_queries):
    with django_assert_max_num_queries(3):
        client.get("/workloads/")
