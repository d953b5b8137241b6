"""One of a thing is one, in what the page of a run says of it."""

import pytest
from django.template.loader import render_to_string

from fsbench_web.studies.models import Run
from fsbench_web.studies.runs.shown.conditions import conditions
from fsbench_web.studies.runs.shown.quality import steady_words


def shown(noted: dict[str, object]) -> str:
    """The conditions of a run on its page."""
    run = Run(conditions=noted)
    context = {"run": run, "noted": noted, "conditions": conditions(run)}
    return render_to_string("studies/run_conditions.html", context)


@pytest.mark.parametrize(
    ("attained", "missed", "says"),
    [
        (["write"], [], "1 of 1 value is of a test that had become steady when it ended."),
        (["write"], ["read"], "1 of 2 values are of tests that had become steady when they ended."),
    ],
)
def test_tests_that_became_steady(attained: list[str], missed: list[str], says: str) -> None:
    noted = {"steady_state": {"attained": attained, "missed": missed}}
    assert steady_words(noted) == f"Steady state, as the tool judged it: {says}"


@pytest.mark.parametrize(
    ("count", "says"), [(1, "1.00 on 1 processor"), (2, "1.00 on 2 processors")]
)
def test_processors(count: int, says: str) -> None:
    noted = {"before": {"load": [1.0], "processors": count}}
    assert f"<dd>{says}</dd>" in shown(noted)


def test_requests() -> None:
    before = {"reads": 0, "sectors_read": 0, "writes": 5, "sectors_written": 0}
    after = {"reads": 1, "sectors_read": 8, "writes": 7, "sectors_written": 16}
    html = shown({"device": {"before": before, "after": after}})
    assert "<dt>Reads</dt><dd>1 request, 4 KiB</dd>" in html
    assert "<dt>Writes</dt><dd>2 requests, 8 KiB</dd>" in html
