"""No headline names a winner where no test of the answer is significant."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.studies.models import Score
from tests.compare.conftest import make_run, make_score

NO_WINNER = "no clear winner"


def measure(xfs: float) -> None:
    for name, value in (("ext4", 100.0), ("xfs", xfs)):
        score = make_score(name, value, category="mean", repeats=5)
        make_run(score.series)
        interval = {"mean": value, "half_width": 5.0, "count": 5, "of": "repeats"}
        Score.objects.filter(pk=score.pk).update(interval=interval)


def headlines(client: Client, jo: User) -> dict[str, str]:
    """Of every rendering its text, in lower case."""
    link = records.pin(ComparisonSpec(studies=("lab",)), jo)
    pages = {
        "study": "/studies/lab/",
        "comparison": "/compare/?study=lab",
        "report": "/studies/lab/report/",
        "image": "/compare/image.svg?study=lab",
        "image of the permalink": f"/p/{link.key}/image.svg",
        "permalink": f"/p/{link.key}/",
    }
    answers = {
        name: client.get(f"/api/v1/{name}?study=lab").json()["answer"]["sentence"]
        for name in ("comparison", "findings")
    }
    return {
        **{name: client.get(address).content.decode().lower() for name, address in pages.items()},
        **{f"api {name}": text.lower() for name, text in answers.items()},
    }


@pytest.mark.django_db
def test_nothing_significant_is_no_winner_and_something_is_one(client: Client, jo: User) -> None:
    measure(102.0)
    for name, text in headlines(client, jo).items():
        assert NO_WINNER in text, name
    measure(150.0)
    for name, text in headlines(client, jo).items():
        assert NO_WINNER not in text, name
        assert "xfs is 50% faster than ext4" in text, name


@pytest.mark.django_db
def test_what_was_measured_once_is_no_winner_either(client: Client, jo: User) -> None:
    for name, value in (("ext4", 100.0), ("xfs", 900.0)):
        make_score(name, value, category="mean")
    for name, text in headlines(client, jo).items():
        assert NO_WINNER in text, name
