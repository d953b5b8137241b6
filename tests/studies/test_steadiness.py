"""What a run's page says of the intervals of its measurements."""

import pytest
from django.test import Client

from fsbench_web.studies.models import Measurement, Run, Score
from fsbench_web.studies.runs.steadiness import MOST_SHOWN, steadiness
from tests.studies.conftest import complete


def words(samples: list[float] | None) -> list[str]:
    return [one.words for one in steadiness([Measurement(samples=samples)])]


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        ([10, 50, 90, 100, 101, 99, 100, 102], "steady from interval 3 on"),
        ([100] * 5, "steady from interval 1 on"),
        ([100] * 4, "not known: the rule needs 5 intervals or more"),
        ([100, 104, 108, 112, 116], "the last 5 intervals rise or fall by 14.8%, and 10% is the"),
        ([100] * 10 + [50], "differ by 55.6%, and 20% is the most; they rise or fall by 44.4%"),
        ([-1, 1, -1, 1, 0], "have an average of zero"),
        ([1, None, 1, 1, 1], "an interval has no number"),
    ],
)
def test_it_says_so_in_words(samples: list[float], said: str) -> None:
    (found,) = words(samples)
    assert said in found


def test_what_has_no_samples_is_not_named() -> None:
    assert words(None) == []
    assert words([]) == []
    assert len(steadiness([Measurement(samples=[1])] * 300)) == MOST_SHOWN


@pytest.mark.django_db
def test_the_page_tells_it_and_no_number_changes(client: Client, runs: list[Run]) -> None:
    complete(runs[0])
    before = client.get(f"/runs/{runs[0].pk}/").content.decode()
    assert "steady-head" not in before
    scores = list(Score.objects.order_by("id").values())
    Measurement.objects.filter(pk=runs[0].measurements.order_by("id")[0].pk).update(
        samples=[500, 900, 1000, 1000, 1000, 1000, 1001]
    )
    page = client.get(f"/runs/{runs[0].pk}/").content.decode()
    assert "steady from interval 2 on" in page
    assert list(Score.objects.order_by("id").values()) == scores
