"""A colleague's report, terse line and log with their job file meet our own preset's output."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.core.workloads import presets
from fsbench_web.studies.models import Run
from tests.api.imports.test_fio_identity import RATE, outputs, send

pytestmark = pytest.mark.django_db

SAMPLES = Path(__file__).parents[2] / "core/formats/samples"
NAME = "fio-3.33-8k"
JOB_FILE = (f"{NAME}.fio", (SAMPLES / f"{NAME}.fio").read_bytes())


def theirs(kind: str) -> tuple[str, bytes]:
    name = f"{NAME}_lat.1.log" if kind == "log" else f"{NAME}-{kind}.txt"
    return name, (SAMPLES / name).read_bytes()


def upload(writer: Client, *files: tuple[str, bytes], **fields: str) -> tuple[int, dict[str, Any]]:
    target = {"study": "Lab", "filesystem": "xfs", "configuration": "xfs", **fields}
    sent = [SimpleUploadedFile(name, data) for name, data in files]
    response = writer.post("/api/v1/imports", {"file": sent, **target})
    return response.status_code, response.json()


def tables(writer: Client) -> list[dict[str, Any]]:
    body: dict[str, Any] = writer.get("/api/v1/comparison?study=lab&category=mean").json()
    return [table for table in body["tables"] if table["test"].startswith("random_8k")]


@pytest.mark.parametrize("kind", ["normal", "terse", "json"])
def test_our_preset_and_any_output_of_the_same_settings_are_one_table(
    writer: Client, kind: str
) -> None:
    ours = outputs(presets()["fio-8k"].workload(), 5000.0)["fio-read-8.json"]
    send(writer, "ours.json", ours, "ext4")
    status, answer = upload(writer, JOB_FILE, theirs(kind))
    assert (status, answer["errors"], len(answer["runs"])) == (201, [], 1)
    [left_out] = [row for row in answer["warnings"] if row["code"] == "job_file"]
    assert (left_out["file"], left_out["lost"]) == (JOB_FILE[0], False)
    [table] = [table for table in tables(writer) if table["test"] == f"{RATE}@iodepth=8"]
    assert {row["contender"] for row in table["rows"]} == {"ext4", "xfs"}


def test_outputs_of_one_job_are_repeats_whatever_fio_printed(writer: Client) -> None:
    upload(writer, JOB_FILE, theirs("json"))
    upload(writer, JOB_FILE, theirs("normal"), repeats_differ="yes")
    upload(writer, JOB_FILE, theirs("terse"), repeats_differ="yes")
    upload(writer, JOB_FILE, theirs("log"))  # a part of the first
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 2, 3]
    assert Run.objects.values("series").distinct().count() == 1


def test_a_job_file_counts_in_its_folder_and_below(writer: Client) -> None:
    def archive(place: str) -> tuple[str, bytes]:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as packed:
            packed.writestr(f"lab/{place}{JOB_FILE[0]}", JOB_FILE[1])
            packed.writestr("lab/xfs/run/out.txt", theirs("terse")[1])
        return "lab.zip", buffer.getvalue()

    assert upload(writer, archive("other/"))[0] == 201
    assert not tables(writer)
    assert upload(writer, archive(""), study="Lab 2")[0] == 201
    body = writer.get("/api/v1/comparison?study=lab-2&category=mean").json()
    assert f"{RATE}@iodepth=8" in {table["test"] for table in body["tables"]}


def test_a_job_file_alone_is_refused_by_what_it_is(writer: Client) -> None:
    status, answer = upload(writer, JOB_FILE)
    assert (status, [row["code"] for row in answer["errors"]]) == (422, ["job_file"])
    assert not Run.objects.exists()


def test_an_output_that_was_cut_off_below_its_command_is_refused(writer: Client) -> None:
    begun = b"$ fio --name=a --rw=read --bs=4k\na: (g=0): rw=read, ioengine=psync, iodepth=1\n"
    status, answer = upload(writer, ("a.txt", begun), theirs("json"))
    assert (status, [row["code"] for row in answer["errors"]]) == (422, [""])
