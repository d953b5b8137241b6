"""A traced run is in no number of a study, of none of its answers, pages and files."""

import re
from datetime import timedelta
from difflib import unified_diff
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.db import transaction
from django.test import Client

from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.latency import distribution
from fsbench_web.core.traces.tracers import REQUESTS
from fsbench_web.core.workloads import presets
from fsbench_web.core.workloads.iozone import TESTS
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.models import MeasurementBlock, Run, RunState, Score
from fsbench_web.studies.runs.windows.durations import Experience
from fsbench_web.studies.scores import ingest
from tests.studies.conftest import complete

pytestmark = pytest.mark.django_db
ANSWERS = (
    "/api/v1/deltas?{0}",
    "/api/v1/deltas.csv?{0}",
    "/api/v1/comparison?{0}",
    "/api/v1/findings?{0}",
    "/api/v1/exports/deltas.json?{0}",
    "/api/v1/exports/deltas.tex?{0}",
    "/api/v1/exports/deltas.xlsx?{0}",
    "/api/v1/exports/pictures.csv?{0}",
    "/api/v1/history?series={1}&test=write",
    "/api/v1/history/lines?{0}",
    "/api/v1/studies",
    "/api/v1/studies/{2}",
    "/api/v1/series?{0}",
    "/api/v1/series/{1}",
    "/api/v1/configurations",
    "/compare/?{0}",
    "/compare/charts/write/?{0}",
    "/compare/pictures/?{0}",
    "/compare/image.svg?{0}",
    "/history/?series={1}&test=write",
    "/studies/{2}/",
    "/studies/",
)
# Of each answer anew, whatever is stored.
_ANEW = re.compile(
    r'csrf[^>]*>|nonce="[^"]*"|[?&;]seen=[0-9.]+|the last (?:now|[^<]*ago)|"generated_at": "[^"]*"'
)


def answers(client: Client, run: Run) -> dict[str, str]:
    study = run.series.study.slug
    texts = {}
    for address in ANSWERS:
        response = client.get(address.format(f"study={study}", run.series_id, study))
        assert response.status_code == 200, (address, response.content[:300])
        texts[address] = _ANEW.sub("", text_of(response.content))
    return texts


def changed(before: str, after: str) -> list[str]:
    both = (text.replace(">", ">\n").splitlines() for text in (before, after))
    return [line for line in unified_diff(*both, lineterm="", n=0) if line[:2] != "@@"]


def text_of(content: bytes) -> str:
    """Of a workbook its parts, without the time at which it was made."""
    if not content.startswith(b"PK"):
        return content.decode()
    with ZipFile(BytesIO(content)) as parts:
        names = sorted(set(parts.namelist()) - {"docProps/core.xml"})
        return "\n".join(parts.read(name).decode() for name in names)


def ten_times_as_fast(like: Run) -> Run:
    """One more finished run of the series, with everything that a run may leave."""
    assert like.started_at is not None
    run = Run.objects.create(
        series=like.series,
        repeat=9,
        origin=Run.Origin.MEASURED,
        state=RunState.DONE,
        started_at=like.started_at,
        ended_at=like.started_at + timedelta(hours=9),
        environment=like.environment,
    )
    cells = presets()["iozone-small"].workload().cells()
    values = [
        ParsedValue(test, record, file, 10_000.0 + 50 * line, "KB/s", line)
        for line, (test, record, file) in enumerate(
            ((test, *cell) for test in TESTS for cell in cells), start=1
        )
    ]
    tail = distribution("write_clat", "", "ns", ((1000, 5),), 500.0, 9e6)
    assert tail is not None
    with transaction.atomic():
        ingest.store_values(run, None, values)
        latencies.store(run, None, [tail])
        ingest.rescore(run.series)
    return run


def test_no_answer_knows_of_a_traced_run(runs: list[Run], client: Client) -> None:
    for run, value in zip(runs, (1000.0, 900.0, 1010.0, 905.0), strict=True):
        complete(run, value)
    first = Run.objects.get(pk=runs[0].pk)
    before = answers(client, first)
    extra = ten_times_as_fast(first)
    # As one that counts it is in every one of them: the comparison below is worth something.
    same = [address for address, text in answers(client, first).items() if text == before[address]]
    assert same == []

    # Even where its numbers lie in the database.
    Run.objects.filter(pk=extra.pk).update(tracing=REQUESTS)
    extra.refresh_from_db()
    ingest.rescore(extra.series)
    assert MeasurementBlock.objects.filter(run=extra).exists()
    after = answers(client, first)
    changes = {address: changed(before[address], text) for address, text in after.items()}
    assert {address: lines for address, lines in changes.items() if lines} == {}
    assert set(Score.objects.filter(series=extra.series).values_list("repeats", flat=True)) == {2}
    assert latencies.of_series([extra.series_id], "write_clat", "") == {}
    lun, workload = extra.series.lun_id, extra.series.workload_id
    assert lun is not None
    assert workload is not None
    estimate = Experience([workload]).of((workload, lun, "ext4"))
    assert estimate is not None
    assert estimate.runs == 2

    # It can be found and looked at, and says what it is.
    (listed,) = [run for run in client.get("/api/v1/runs").json()["runs"] if run["id"] == extra.pk]
    assert listed["tracing"] == [REQUESTS]
    assert "This is an extra run." in client.get(f"/runs/{extra.pk}/").content.decode()


def test_an_extra_run_stores_no_number(runs: list[Run]) -> None:
    Run.objects.filter(pk=runs[0].pk).update(tracing=REQUESTS)
    runs[0].refresh_from_db()
    complete(runs[0])
    assert not MeasurementBlock.objects.filter(run=runs[0]).exists()
    assert not Score.objects.filter(series=runs[0].series).exists()
