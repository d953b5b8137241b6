"""Imported histogram logs of fio: their completions as one distribution, and over time."""

import csv
import io

import pytest
from django.test import Client

from tests.core.formats.conftest import SAMPLES

pytestmark = pytest.mark.django_db
LOG = "depth-8_clat_hist.1.log"


def test_an_imported_histogram_log_is_drawn_over_time(signed_in: Client) -> None:
    with (SAMPLES / LOG).open("rb") as file:
        given = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "file": file}
        made = signed_in.post("/api/v1/imports", given)
    assert made.status_code == 201, made.content
    (run_id,) = made.json()["runs"]
    told = signed_in.get(f"/api/v1/runs/{run_id}/latencies").json()
    (one,) = told["over_time"]
    assert (one["test"], one["ends_s"]) == ("depth-8_read_clat_hist", [1.001, 2.001, 3.001])
    assert one["counts"] == [30905, 35073, 28498]
    (whole,) = told["latencies"]
    assert whole["total"] == sum(one["counts"])
    page = signed_in.get(f"/runs/{run_id}/").content.decode()
    assert "by its log: over time" in page
    of = {"study": "lab", "picture": "latency-time", "of": "depth-8_read_clat_hist_p50"}
    table = signed_in.get("/compare/pictures.csv", of).content.decode()
    drawn = list(csv.DictReader(io.StringIO(table)))
    assert [one["p99, ns"] for one in drawn] == ["3194880.0", "3424256.0", "4014080.0"]


def test_of_a_table_of_several_runs_nothing_is_told_over_time(signed_in: Client) -> None:
    data = io.BytesIO(b"test,value,unit,repeat\nwrite,1000,KB/s,1\nwrite,1100,KB/s,2\n")
    data.name = "results.csv"  # type: ignore[attr-defined]
    given = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "file": data}
    for run_id in signed_in.post("/api/v1/imports", given).json()["runs"]:
        told = signed_in.get(f"/api/v1/runs/{run_id}/latencies").json()
        assert told == {"latencies": [], "over_time": []}
