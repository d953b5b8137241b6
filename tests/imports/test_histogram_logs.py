"""Imported histogram logs of fio: their completions as one distribution, and over time."""

import csv
import io
import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.imports import rereads as reading
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.models import Artefact, LatencySeriesBlock, StateChange
from tests.core.formats.conftest import SAMPLES

pytestmark = pytest.mark.django_db
LOG = "depth-8_clat_hist.1.log"


def test_an_imported_histogram_log_is_drawn_over_time(signed_in: Client) -> None:
    with (SAMPLES / LOG).open("rb") as file:
        form = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "file": file}
        response = signed_in.post("/api/v1/imports", form)
    assert response.status_code == 201, response.content
    (run_id,) = response.json()["runs"]
    body = signed_in.get(f"/api/v1/runs/{run_id}/latencies").json()
    (over_time,) = body["over_time"]
    assert (over_time["test"], over_time["ends_s"]) == (
        "depth-8_read_clat_hist",
        [1.001, 2.001, 3.001],
    )
    assert over_time["counts"] == [30905, 35073, 28498]
    (whole,) = body["latencies"]
    assert whole["total"] == sum(over_time["counts"])
    page = signed_in.get(f"/runs/{run_id}/").content.decode()
    assert "by its log: over time" in page
    of = {"study": "lab", "picture": "latency", "show": "time", "of": "depth-8_read_clat_hist_p50"}
    table = signed_in.get("/compare/pictures.csv", of).content.decode()
    drawn = list(csv.DictReader(io.StringIO(table)))
    assert [row["p99, ns"] for row in drawn] == ["3194880.0", "3424256.0", "4014080.0"]


def test_what_was_stored_before_has_its_latencies_over_time_once_it_is_read_again(
    signed_in: Client,
) -> None:
    with (SAMPLES / LOG).open("rb") as file:
        form = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "file": file}
        (run_id,) = signed_in.post("/api/v1/imports", form).json()["runs"]
    artefact = Artefact.objects.get(run=run_id)
    address = f"/api/v1/artefacts/{artefact.pk}/reread"
    assert signed_in.get(address).json()["is_empty"]
    before = latencies.series_of_run(run_id)
    LatencySeriesBlock.objects.all().delete()

    difference = signed_in.get(address).json()
    assert (difference["is_empty"], difference["changed_runs"]) == (False, [])  # no number changes
    page = " ".join(signed_in.get(f"/imports/reread/{artefact.pk}/").content.decode().split())
    assert "1 run gets other latencies over time" in page
    applied = signed_in.post(
        address, json.dumps({"digest": difference["digest"]}), content_type="application/json"
    )
    assert applied.status_code == 200, applied.content
    assert latencies.series_of_run(run_id) == before
    assert signed_in.get(address).json()["is_empty"]
    assert "over time" in StateChange.objects.filter(run=run_id).latest("pk").reason


def test_a_kept_block_that_cannot_be_read_is_written_anew(signed_in: Client) -> None:
    with (SAMPLES / LOG).open("rb") as file:
        form = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "file": file}
        (run_id,) = signed_in.post("/api/v1/imports", form).json()["runs"]
    artefact = Artefact.objects.get(run=run_id)
    before = latencies.series_of_run(run_id)
    LatencySeriesBlock.objects.update(content=b"broken")
    reading.apply(
        artefact.pk, reading.difference(artefact).digest, User.objects.get(username="ada")
    )
    assert latencies.series_of_run(run_id) == before


def test_of_a_table_of_several_runs_nothing_is_told_over_time(signed_in: Client) -> None:
    data = io.BytesIO(b"test,value,unit,repeat\nwrite,1000,KB/s,1\nwrite,1100,KB/s,2\n")
    data.name = "results.csv"  # type: ignore[attr-defined]
    form = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "file": data}
    for run_id in signed_in.post("/api/v1/imports", form).json()["runs"]:
        body = signed_in.get(f"/api/v1/runs/{run_id}/latencies").json()
        assert body == {"latencies": [], "over_time": []}
