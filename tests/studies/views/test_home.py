"""The home page: readable by everybody, with a next step wherever something is missing."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from fsbench_web.catalog.models import Worker
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState, Score, Study
from fsbench_web.studies.views.study_list import own_studies, published_studies
from tests.studies.conftest import complete, start

pytestmark = pytest.mark.django_db


def test_an_empty_site_says_what_to_do_next(client):
    page = client.get("/").content.decode()
    assert "No study yet." in page
    assert "No runs now." in page
    assert "No answer yet." in page
    assert "No worker has announced itself." in page


def test_it_shows_studies_runs_workers_and_luns_without_a_sign_in(client, runs):
    complete(runs[0])
    start(runs[1])
    Study.objects.create(slug="paper", title="A paper", is_published=True)
    page = client.get("/").content.decode()
    assert "First look" in page
    assert "1 of 4 runs done" in page
    assert "A paper" in page
    assert runs[1].series.configuration.label in page
    assert f"in use by run {runs[1].pk}" in page
    assert "busy" in page
    assert "for journals" in page


def test_a_silent_worker_is_said_to_be_silent(client, worker):
    Worker.objects.update(seen_at=timezone.now() - timedelta(hours=3))
    page = client.get("/").content.decode()
    assert "silent for 3\xa0hours" in page
    assert "start it on its host" in page


def test_it_needs_the_same_queries_for_much_and_for_little(
    client, spec, ann, runs, django_assert_num_queries
):
    with django_assert_num_queries(6):
        client.get("/")
    call_command("load_published", verbosity=0)
    for number in range(5):
        submit(spec(new_study=f"Study {number}"), "disk1", ann)
    with django_assert_num_queries(6):
        client.get("/")


def news(client, name):
    page = client.get("/").content.decode()
    return page.partition(f'data-news="{name}"')[2].partition("</section>")[0]


def test_each_job_that_runs_or_waits_is_one_line_with_its_progress(client, spec, ann, runs):
    complete(runs[0])
    start(runs[1])
    submit(spec(new_study="Second look"), "disk1", ann)
    running = news(client, "running")
    assert running.count('<progress class="progress" max="4"') == 2
    assert 'max="4" value="1"' in running
    assert f'href="/runs/{runs[1].pk}/"' in running
    assert "Second look" in running


def test_a_failed_run_needs_attention_until_it_is_retried_or_a_week_old(client, runs):
    runs[0].state, runs[0].reason = RunState.FAILED, "The LUN is full."
    runs[0].ended_at = timezone.now()
    runs[0].save()
    assert "The LUN is full." in news(client, "attention")
    Run.objects.filter(pk=runs[0].pk).update(ended_at=timezone.now() - timedelta(days=8))
    assert "The LUN is full." not in news(client, "attention")
    Run.objects.filter(pk=runs[0].pk).update(ended_at=timezone.now())
    Run.objects.filter(pk=runs[1].pk).update(retry_of=runs[0])
    assert "The LUN is full." not in news(client, "attention")


@pytest.mark.parametrize("address", ["/", "/studies/"])
def test_own_studies_come_first_and_papers_with_most_to_compare_next(client, address):
    call_command("load_published", verbosity=0)
    for number in range(2):
        Study.objects.create(slug=f"mine-{number}", title=f"Mine {number}")
    page = client.get(address).content.decode()
    papers = ["unisys-2005", "galli-2001", "hilzinger-2006", "sun-2004", "freenix-2002"]
    places = [page.index(f'href="/studies/{slug}/"') for slug in ["mine-1", "mine-0", *papers]]
    assert places == sorted(places)


def test_counts_of_runs_and_scores_do_not_multiply(client, runs):
    complete(runs[0])
    complete(runs[1])
    call_command("load_published", verbosity=0)
    own = own_studies()[0]
    assert (own.run_count, own.done_count, own.configuration_count) == (4, 2, 2)
    paper = published_studies()[0]
    assert paper.score_count == Score.objects.filter(series__study=paper).count() > 0


def test_own_studies_come_a_page_at_a_time(client, django_assert_num_queries):
    Study.objects.bulk_create(
        Study(slug=f"mine-{number}", title=f"Mine {number}") for number in range(50)
    )
    with django_assert_num_queries(5):  # one of them for the choices of the filters
        first = client.get("/studies/").content.decode()
    assert first.count('href="/studies/mine-') == 48
    assert "Page 1 of 2" in first
    assert client.get("/studies/?page=2").content.decode().count('href="/studies/mine-') == 2
