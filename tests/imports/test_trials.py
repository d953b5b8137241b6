"""Trials that one file reports are told from the samples of the intervals of one trial."""

from pathlib import Path

import pytest
from django.test import Client

from fsbench_web.studies.models import Score
from tests.importing import import_files

pytestmark = pytest.mark.django_db
SAMPLES = Path(__file__).parents[1] / "core/formats/samples"


def import_sample(name: str) -> list[int]:
    """The runs that a file became."""
    content = (SAMPLES / name).read_bytes()
    result = import_files(
        [(name, content)], study="Lab", filesystem="ext4", configuration="ext4", user=None
    )
    return list(result.runs)


def kinds() -> set[str]:
    """What the intervals of all scores are of."""
    scores = Score.objects.filter(interval__isnull=False)
    return {interval["of"] for interval in scores.values_list("interval", flat=True)}


@pytest.mark.parametrize("name", ["phoronix-composite.txt", "ior-4.1-json.txt"])
def test_what_a_tool_begins_anew_each_time_are_trials(client: Client, name: str) -> None:
    runs = import_sample(name)
    assert kinds() <= {"trials"}  # of a matrix, as IOR's cells are, trials make no interval
    page = client.get(f"/runs/{runs[0]}/").content.decode()
    assert "by trial" in page
    assert "Steady state" not in page


def test_what_it_reports_as_it_goes_are_samples(client: Client) -> None:
    [run] = import_sample("pgbench-15-progress.txt")
    assert kinds() == {"samples"}
    assert "by interval" in client.get(f"/runs/{run}/").content.decode()


def test_the_interval_of_a_single_result_is_of_its_trials() -> None:
    import_sample("phoronix-composite.txt")
    assert kinds() == {"trials"}
