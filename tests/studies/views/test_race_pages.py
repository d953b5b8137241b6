"""A race on its pages: asked for in the form, reviewed, followed, and quoted afterwards."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import Run
from fsbench_web.studies.scores import ingest
from tests.studies.runs.test_races import (
    THREE,
    fail,
    measure,
    race,
    run_to_its_end,
    waiting,
)
from tests.studies.runs.test_races import submitted as submitted

ASKED = "fs=ext4.1&fs=xfs.1&workload=iozone-small&scheduler=none&repeat_by=race&new_study=x"


def part(client: Client, job_id: int | None) -> str:
    html = client.get(f"/jobs/{job_id}/", headers={"HX-Request": "true"}).content.decode()
    return " ".join(html.split('id="job-race"')[1].split('id="job-progress"')[0].split())


def test_it_shows_who_leads_and_who_is_out(
    submitted: Callable[..., list[Run]], client: Client
) -> None:
    runs = submitted(hours=8)
    job = runs[0].job_id
    assert "No leader yet" in part(client, job)
    for _ in range(2):
        fail(next(run for run in waiting() if run.series == runs[2].series))
        for run in waiting():
            if run.series != runs[2].series:
                measure(run)
    html = part(client, job)
    assert '<strong class="mono">ext4_none</strong> is ahead so far' in html
    assert "It failed 2 times in one round. The last was run" in html
    assert "8 h: " in html
    assert "probability" not in html
    assert "Time left of this round" in client.get(f"/jobs/{job}/").content.decode()


def test_it_ends_with_a_sentence_and_a_word(
    submitted: Callable[..., list[Run]], client: Client
) -> None:
    runs = submitted(THREE[:2], runs=40)
    run_to_its_end()
    html = part(client, runs[0].job_id)
    assert f'<p id="race-conclusion">{race().conclusion}' in html
    assert '<span class="badge is-best">best</span>' in html
    assert ">next best</span>" in html
    assert "data-live-every" not in html
    assert "<progress" not in html


def test_a_budget_of_runs_says_what_of_it_only_waits(
    submitted: Callable[..., list[Run]], client: Client
) -> None:
    runs = submitted(THREE[:2], runs=40)
    assert "<dd>40 runs: 0 spent, 2 queued, 38 left</dd>" in part(client, runs[0].job_id)
    measure(runs[0])
    html = part(client, runs[0].job_id)
    assert "<dd>40 runs: 1 spent, 1 queued, 38 left</dd>" in html
    assert 'value="0.025"' in html
    answer = client.get(f"/api/v1/sweeps/{runs[0].job_id}").json()["race"]
    assert answer["spent_runs"] == 1


def test_its_sentence_says_what_the_scores_are_flagged_with(
    submitted: Callable[..., list[Run]], client: Client
) -> None:
    runs = submitted(runs=40)
    run_to_its_end()
    job, quoted = runs[0].job_id, race().conclusion
    Run.objects.update(is_contended=False)  # which they are here: each began before the last ended
    for run in runs:
        ingest.rescore(run.series)
    html, answer = part(client, job), client.get(f"/api/v1/sweeps/{job}").json()["race"]
    assert 'class="flag"' not in html
    assert answer["conclusion"] == quoted
    of_slowest = Run.objects.filter(series=runs[2].series)
    Run.objects.filter(
        pk__in=[runs[0].pk, runs[1].pk, *of_slowest.values_list("pk", flat=True)]
    ).update(is_contended=True)
    Run.objects.filter(pk=runs[1].pk).update(drift_percent=7.5)
    for run in runs:
        ingest.rescore(run.series)
    html, answer = part(client, job), client.get(f"/api/v1/sweeps/{job}").json()["race"]
    # Of the two that it is about; the third is out, and has its flag in the table.
    sentence = "Flagged: ext4_none (contended); xfs_none (contended, drifted)."
    assert f'<p id="race-conclusion">{quoted} {sentence}</p>' in html
    assert answer["conclusion"] == f"{quoted} {sentence}"
    assert {row["configuration"]: row["flags"] for row in answer["contenders"]} == {
        "ext4_none": ["contended"],
        "xfs_none": ["contended", "drifted"],
        "ext2_none": ["contended"],
    }
    assert html.count('<span class="flag" title="Another run was active on the same host') == 3


def test_one_that_waits_for_somebody_says_so(
    submitted: Callable[..., list[Run]], client: Client
) -> None:
    runs = submitted()
    for run in runs:
        fail(run, Cause.REFUSED)
    assert "Needs your input." in part(client, runs[0].job_id)
    # Ended it has not: whoever waits for that by the API would take it for the answer.
    assert client.get(f"/api/v1/sweeps/{runs[0].job_id}").json()["state"] == "held"


def test_jobs_without_one_have_no_part_of_it(runs: list[Run], client: Client) -> None:
    assert 'id="job-race"' not in client.get(f"/jobs/{runs[0].job_id}/").content.decode()


def test_the_review_says_what_is_asked_for(client: Client, ann: User, disk: Lun) -> None:
    client.force_login(ann)
    html = client.get(f"/runs/new/review/?lun={disk.pk}&{ASKED}&race_hours=8").content.decode()
    assert "<h1>The best of 2 on disk1</h1>" in html
    assert "a race of at most 2000 runs" in html
    assert (
        "within 8 h, or until it is known, by write, total average; less than 2% is no difference"
    ) in html


@pytest.mark.parametrize("hours", ["", "&race_hours=8", "&race_hours="])
def test_a_number_of_runs_instead_of_hours(
    client: Client, ann: User, disk: Lun, hours: str
) -> None:
    client.force_login(ann)
    address = f"/runs/new/review/?lun={disk.pk}&{ASKED}&race_runs=60{hours}"
    html = client.get(address).content.decode()
    assert "within 60 runs, or until it is known, by write, total average" in html
    assert "a race of at most 60 runs" in html
    assert "race_runs=60" in html  # on the way back to the form
    assert "race_hours=" not in html
    form = client.get(address.replace("/review", "")).content.decode()
    fields = dict(re.findall(r'name="(race_(?:runs|hours))"[^>]*? value="([^"]*)"', form))
    assert fields == {"race_hours": "", "race_runs": "60"}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("race_runs=x", "is not a whole number: say how many runs the race may have in all"),
        ("race_runs=60&race_hours=9", "Give the race a budget of hours or runs."),
        ("race_runs=4", "A race of these takes 8 to 2000 runs"),
        ("race_hours=x", "is not a number: say how many hours the race may take"),
        ("race_hours=", "is not a number: say how many hours the race may take"),
        ("race_hours=0", "A race takes 0.05 to 240 hours, not 0."),
        ("race_hours=8&race_margin=x", "say how many percent are no difference"),
        ("race_hours=8&race_test=wrote", "choose one of the tests write, rewrite"),
    ],
)
def test_the_form_says_what_is_wrong(
    client: Client, ann: User, disk: Lun, query: str, message: str
) -> None:
    client.force_login(ann)
    response = client.get(f"/runs/new/review/?lun={disk.pk}&{ASKED}&{query}")
    assert response.status_code == 422
    html = response.content.decode()
    assert message in html.split('id="repeat-race"')[1].split("</fieldset>")[0]
    assert '<option value="random_write">Random write</option>' in html
