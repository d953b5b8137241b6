"""Shares are made with the scores, of the probes of their blocks; what is above them is flagged."""

import pytest
from django.db import transaction
from django.test import Client

from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.scoring.quality import ABOVE_DEVICE
from fsbench_web.platform import clock
from fsbench_web.studies.models import LunProbe, Run, Selection
from fsbench_web.studies.runs import lifecycle, probes
from fsbench_web.studies.runs.shown.quality import run_quality
from fsbench_web.studies.scores import ingest, quality
from tests.core.scoring.test_ceilings import KIB, MIB, document, point
from tests.studies.conftest import start

pytestmark = pytest.mark.django_db


def probe(run: Run, reads: float) -> LunProbe:
    return LunProbe.objects.create(
        lun=run.series.lun,
        run=run,
        at=clock.now(),
        result=document(
            point("sequential", "read", MIB, 32, reads, reads, reads),
            point("random", "read", 4 * KIB, 1, 1000, 1000, 1000),
        ),
    )


def measured(run: Run, **tests: float) -> None:
    handle = start(run)
    lifecycle.advance(handle, "collecting")
    values = [
        ParsedValue(test, record, 1024, value, "KB/s", 1)
        for test, value in tests.items()
        for record in (4, 8)
    ]
    with transaction.atomic():
        artefact = ingest.store_artefact(run, "iozone.txt", b"raw")
        ingest.store_values(run, artefact, values)
        probes.attach(run)
        lifecycle.finish(handle, "done", "")
        ingest.rescore(run.series)


def test_a_score_is_set_against_the_mean_of_its_blocks(runs: list[Run]) -> None:
    first, again = (run for run in runs if run.series.configuration.filesystem == "xfs")
    probe(first, 80)
    probe(again, 120)
    for run in (first, again):
        # iozone-small is buffered, and its reads are read ahead.
        measured(run, read=50 * 1024, reread=100 * 1024, mkfs_like=7)
    scores = first.series.scores
    half = scores.get(test="read", category="total_average").share
    assert half["percent"] == pytest.approx(50)
    assert half["ceiling"] == 100 * 1024
    assert half["probes"] == 2
    assert scores.get(test="read", category="maximum").share["percent"] == pytest.approx(50)
    assert scores.get(test="read", category="overall").share is None
    assert scores.get(test="mkfs_like", category="maximum").share is None
    sound = scores.model.selections.get(
        series=first.series, test="read", category="maximum", selection=Selection.SOUND
    )
    # Nothing is left out of it: it is the same score, of the same ceiling.
    whole = scores.get(test="read", category="maximum")
    assert (sound.value, sound.share) == (whole.value, whole.share)
    # The chart of the scores has it as a line.
    query = f"study={first.series.study.slug}&of=read&in=total_average"
    page = Client().get(f"/compare/pictures/?{query}")
    figure = page.context["shown"].picture.figure
    assert [shape.x0 for shape in figure.layout.shapes] == [pytest.approx(100)]
    assert "the LUN itself, sequential read, at its best depth: 100 MiB/s" in (
        figure.layout.xaxis.title.text
    )


def test_what_is_above_the_lun_is_not_of_the_disk(runs: list[Run]) -> None:
    [run, *_] = runs
    stored = probe(run, 100)
    measured(run, read=102 * 1024, reread=104 * 1024, random_read=4200)
    run.refresh_from_db()
    assert run.probe == stored
    series = run.series
    series.refresh_from_db()
    assert series.quality["limit_from"] == "probe"
    flags = {
        test: series.scores.get(test=test, category="maximum").flags
        for test in ("read", "reread", "random_read")
    }
    assert ABOVE_DEVICE not in flags["read"]
    assert ABOVE_DEVICE in flags["reread"]
    # 4 KB at a time the LUN does 4,000 KB/s.
    assert ABOVE_DEVICE in flags["random_read"]
    sound = series.scores.model.selections.filter(series=series, selection=Selection.SOUND)
    assert not sound.filter(test="reread").exists()
    assert sound.filter(test="read").exists()
    (device, _) = run_quality(run, 6).limits
    assert device.startswith("The LUN itself was measured: a number is flagged that is above 103%")
    assert "single burst" not in device
    assert run.probe is not None
    run.probe.result["points"][1].update(iops=[1000], latency_ns=[1000], flush_ns=[])
    assert (
        "1 of 2 kinds of request was measured in a single burst" in (run_quality(run, 6).limits[0])
    )


def test_the_ceiling_of_a_selection_is_that_of_the_cells_that_are_left(runs: list[Run]) -> None:
    [run, *_] = runs
    probe(run, 100)
    handle = start(run)
    lifecycle.advance(handle, "collecting")
    # 4 KB at a time the LUN does 4,000 KB/s, and 8 KB 8,000 at most: 4 KB came from a cache.
    numbers = {4: 9000, 8: 2000}
    values = [
        ParsedValue("random_read", record, 1024, value, "KB/s", 1)
        for record, value in numbers.items()
    ]
    with transaction.atomic():
        artefact = ingest.store_artefact(run, "iozone.txt", b"raw")
        ingest.store_values(run, artefact, values)
        probes.attach(run)
        lifecycle.finish(handle, "done", "")
        ingest.rescore(run.series)
    of_test = {"series": run.series, "test": "random_read", "category": "total_average"}
    sound = run.series.scores.model.selections.get(**of_test, selection=Selection.SOUND)
    assert sound.value == 2000
    basis = quality.basis_of(run.series)
    assert basis.ceilings is not None
    own = basis.ceilings.share_of_one("KB/s", "random_read", 8)
    assert own is not None
    assert sound.share["ceiling"] == pytest.approx(own.ceiling)
    assert sound.share["percent"] == pytest.approx(100 * 2000 / own.ceiling)


def test_runs_of_other_blocks_and_machines_are_not_set_against_it(runs: list[Run]) -> None:
    [run, *others] = runs
    probe(run, 100)
    assert probes.due_s(run) == 0  # its job asks for none
    same = [other for other in others if other.block == run.block]
    assert same
    assert all(probes.probe_of_block(other) for other in same)
    assert not any(probes.probe_of_block(other) for other in others if other.block != run.block)
    [guest, *_] = same
    guest.series.machine = {"executor": "guest", "kernel": "debian-6.1", "accelerator": "kvm"}
    assert probes.probe_of_block(guest) is None
    Run.objects.filter(pk=run.pk).update(job=None)
    assert not any(probes.probe_of_block(other) for other in same)


@pytest.mark.parametrize(
    "printed", ["", "no JSON", "[]", '{"probe": 1}', '{"probe": 2, "points": []}', "x" * 2**20 * 2]
)
def test_what_no_agent_of_ours_printed_is_no_probe(runs: list[Run], printed: str) -> None:
    assert probes.record(runs[0], printed, {}) is None
    assert not LunProbe.objects.exists()


def test_pictures_and_lines_over_time_have_the_lun_itself(runs: list[Run], client: Client) -> None:
    first, again = (run for run in runs if run.series.configuration.filesystem == "xfs")
    for run in (first, again):
        probe(run, 100)
        measured(run, read=50 * 1024, random_read=2000)
    address = "/compare/pictures/?study=first-look&by=configuration&picture=roofline&of=read"
    page = client.get(address).content.decode()
    assert "Roofline" in page
    assert '"role": "ceiling"' in page or '"role":"ceiling"' in page
    assert "The LUN itself" in page
    table = client.get(address.replace("pictures/", "pictures.csv")).content.decode()
    assert "The LUN itself" in table
    assert "102400" in table
    line = f"series={first.series.pk}&along=date&test=read&category=total_average"
    page = client.get(f"/history/?{line}").content.decode()
    assert "The LUN itself (sequential read, at its best depth)" in page
    [point, *_] = client.get(f"/api/v1/history?{line}").json()["points"]
    assert point["lun"] == 100 * 1024
    assert point["share_percent"] == pytest.approx(50)
