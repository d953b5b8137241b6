"""What jobs were called before: its addresses lead on for good, so do links and forms of then."""

import pytest
from django.test import Client

from fsbench_web.studies.models import Job, Run


@pytest.mark.parametrize(
    ("former", "address"),
    [
        ("/sweeps/", "/jobs/"),
        ("/sweeps/?page=2&study=%C3%A4", "/jobs/?page=2&study=%C3%A4"),
        ("/sweeps/7/", "/jobs/7/"),
        ("/sweeps/7/document.yaml", "/jobs/7/document.yaml"),
        ("/studies/lab/beside/unisys-2005/", "/studies/lab/papers/unisys-2005/"),
        (
            "/studies/lab/beside/unisys-2005/tables.csv?x=1",
            "/studies/lab/papers/unisys-2005/tables.csv?x=1",
        ),
    ],
)
def test_a_former_address_leads_on_for_good(client: Client, former: str, address: str) -> None:
    answer = client.get(former)
    assert (answer.status_code, answer["Location"]) == (301, address)
    assert client.head(former).status_code == 301


def test_a_form_of_a_former_page_is_sent_again_as_it_was(client: Client) -> None:
    answer = client.post("/sweeps/7/priority/?a=b", {"priority": "3"})
    assert (answer.status_code, answer["Location"]) == (308, "/jobs/7/priority/?a=b")


def test_no_former_address_leads_elsewhere(client: Client) -> None:
    assert client.get("/sweeps///evil.example/")["Location"] == "/jobs///evil.example/"
    assert client.get("/sweeps/http:%2F%2Fevil").status_code == 404


def test_links_of_before_name_a_job_by_its_former_words(client: Client, runs: list[Run]) -> None:
    job = Job.objects.get()
    assert client.get(f"/runs/?order={job.pk}").context["page"].paginator.count == len(runs)
    assert client.get(f"/runs/?order={job.pk + 1}").context["page"].paginator.count == 0
    assert client.get(f"/api/v1/runs?sweep={job.pk}").json()["total"] == len(runs)
    assert client.get(f"/api/v1/runs?job={job.pk + 1}").json()["total"] == 0
