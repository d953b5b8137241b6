"""What a run's page says of the intervals of its measurements."""

import pytest
from django.test import Client

from fsbench_web.studies.models import Run, Score
from fsbench_web.studies.runs.shown.steadiness import MOST_SHOWN, steadiness
from fsbench_web.studies.scores.measurements import Measurement
from tests.measured import change, measured
from tests.studies.conftest import complete


def number(samples: list[float] | None) -> Measurement:
    return Measurement(1, None, 1, "write", "", None, None, 1.0, "KB/s", samples, None)


def words(samples: list[float] | None) -> list[str]:
    return [judged.words for judged in steadiness([number(samples)])]


@pytest.mark.parametrize(
    ("samples", "message"),
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
def test_it_says_so_in_words(samples: list[float], message: str) -> None:
    (sentence,) = words(samples)
    assert message in sentence


def test_what_has_no_samples_is_not_named() -> None:
    assert words(None) == []
    assert words([]) == []
    assert len(steadiness([number([1])] * 300)) == MOST_SHOWN


def test_trials_are_no_intervals_that_could_be_steady() -> None:
    [judged] = steadiness([number([10.0, 50.0, 90.0, 100.0, 101.0])], are_trials=True)
    assert (judged.count, judged.start, judged.words) == (5, None, "")
    assert judged.interval is not None
    assert judged.interval.of == "trials"
    [broken] = steadiness([number([1.0, float("nan")])], are_trials=True)
    assert (broken.words, broken.interval) == ("a trial has no number", None)


@pytest.mark.django_db
def test_the_page_tells_it_and_no_number_changes(client: Client, runs: list[Run]) -> None:
    complete(runs[0])
    before = client.get(f"/runs/{runs[0].pk}/").content.decode()
    assert "steady-head" not in before
    scores = list(Score.objects.order_by("id").values())
    first = measured(runs[0])[0]
    samples = [500, 900, 1000, 1000, 1000, 1000, 1001]
    change(lambda row: row._replace(samples=samples) if row == first else row)
    page = client.get(f"/runs/{runs[0].pk}/").content.decode()
    assert "steady from interval 2 on" in page
    assert list(Score.objects.order_by("id").values()) == scores
