"""Measurements, samples and scores as Parquet and Arrow: all of them, with units, in parts."""

import io
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.studies.models import Run, RunState, Score
from fsbench_web.studies.scores import measurements, tables
from tests.core.formats.conftest import SAMPLES
from tests.importing import import_files

pytestmark = pytest.mark.django_db
TABLE = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,%d.5,KB/s\ncreate,,,7,1/s\n"


@pytest.fixture
def lab(alice: User) -> list[int]:
    """Three repeats of ext4."""
    runs = []
    for rate in (100, 110, 120):
        found = import_files(
            [("r.csv", TABLE % rate)],
            **{"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "kernel": "6.1"},
            user=alice,
        )
        runs += found.runs
    return runs


def read(client: Client, table: str, query: str = "", suffix: str = "parquet") -> pyarrow.Table:
    answer = client.get(f"/api/v1/studies/lab/{table}.{suffix}{query}")
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == tables.MEDIA_TYPES[suffix]
    if suffix == "parquet":
        return pyarrow.parquet.read_table(io.BytesIO(answer.content))
    return pyarrow.ipc.open_stream(answer.content).read_all()


def test_every_measurement_with_its_run(client: Client, lab: list[int]) -> None:
    found = read(client, "measurements")
    assert read(client, "measurements", suffix="arrows").to_pylist() == found.to_pylist()
    stored = [row for run in lab for row in measurements.rows(measurements.of_run(run))]
    names = ("test", "load", "record_size_kb", "file_size_kb", "value", "unit", "line", "flags")
    assert [tuple(row[name] for name in ("run", *names)) for row in found.to_pylist()] == [
        (row.run_id, *(getattr(row, name) for name in names)) for row in stored
    ]
    first = found.to_pylist()[0]
    assert (first["filesystem"], first["kernel"], first["repeat"]) == ("ext4", "6.1", 1)
    assert first["date"] == Run.objects.get(pk=lab[0]).date
    assert found.schema.field("record_size_kb").metadata == {b"unit": b"KB of 1024 bytes"}


def test_only_finished_runs_count(client: Client, lab: list[int]) -> None:
    Run.objects.filter(pk=lab[0]).update(state=RunState.FAILED)
    Run.objects.filter(pk=lab[1]).update(tracing="requests")
    assert set(read(client, "measurements")["run"].to_pylist()) == {lab[2]}


def test_every_score_with_its_half_width(client: Client, lab: list[int]) -> None:
    found = read(client, "scores").to_pylist()
    scores = Score.objects.order_by("pk")
    assert [row["value"] for row in found] == [score.value for score in scores]
    assert [row["half_width"] for row in found] == [score.half_width for score in scores]
    assert {(row["origin"], row["filesystem"]) for row in found} == {("computed", "ext4")}


def test_every_sample_of_a_number(client: Client, alice: User) -> None:
    output = SAMPLES / "pgbench-15-progress.txt"
    import_files(
        [(output.name, output.read_bytes())],
        **{"study": "Lab", "filesystem": "ext4", "configuration": "ext4"},
        user=alice,
    )
    stored = measurements.rows(measurements.of_run(Run.objects.get().pk))
    found = read(client, "measurements")["samples"].to_pylist()
    assert found == [row.samples for row in stored]
    assert max(len(values) for values in found if values) > 3


@pytest.mark.parametrize("table", ["measurements", "scores"])
def test_what_is_too_large_comes_in_parts(
    client: Client, lab: list[int], table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(client, table).to_pylist()
    monkeypatch.setattr(tables, "MOST_NUMBERS", 1)
    monkeypatch.setattr(tables, "MOST_SCORES", 2)
    refused = client.get(f"/api/v1/studies/lab/{table}.parquet")
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "after"
    rows: list[dict[str, Any]] = []
    address, parts = f"/api/v1/studies/lab/{table}.parquet?after=0", 0
    while address:
        answer = client.get(address)
        rows += pyarrow.parquet.read_table(io.BytesIO(answer.content)).to_pylist()
        address, parts = answer.get("Link", "").partition(">")[0].removeprefix("<"), parts + 1
    assert rows == whole
    assert parts > 2


def test_the_same_answer_is_not_sent_again(client: Client, lab: list[int]) -> None:
    address = "/api/v1/studies/lab/measurements.parquet"
    tag = client.get(address)["ETag"]
    assert client.get(address, headers={"If-None-Match": tag}).status_code == 304
    Run.objects.filter(pk=lab[0]).update(block="round 1")
    assert client.get(address, headers={"If-None-Match": tag}).status_code == 200


def test_a_study_without_numbers_has_empty_tables(client: Client, papers: None) -> None:
    answer = client.get("/api/v1/studies/unisys-2005/measurements.parquet")
    found = pyarrow.parquet.read_table(io.BytesIO(answer.content))
    assert found.num_rows == 0
    assert found.column_names == list(tables.COLUMNS["measurements"])


@pytest.mark.parametrize(("study", "table"), [("lab", "measurements"), ("unisys-2005", "scores")])
def test_the_page_of_a_study_leads_there(
    client: Client, papers: None, lab: list[int], study: str, table: str
) -> None:
    address = f"/api/v1/studies/{study}/{table}.parquet"
    assert f'href="{address}"' in client.get(f"/studies/{study}/").content.decode()
    found = pyarrow.parquet.read_table(io.BytesIO(client.get(address).content))
    assert found.num_rows > 0


@pytest.mark.parametrize(
    ("path", "status"),
    [("lab/runs.parquet", 422), ("lab/scores.xlsx", 422), ("none/scores.parquet", 404)],
)
def test_what_there_is_not(client: Client, lab: list[int], path: str, status: int) -> None:
    assert client.get(f"/api/v1/studies/{path}").status_code == status
