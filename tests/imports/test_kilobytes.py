"""What KB and MB are is asked where neither unit nor tool says it, and never guessed."""

import csv
import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.core.formats import parse
from fsbench_web.imports import rereads as reading
from fsbench_web.imports.models import Import
from fsbench_web.imports.sources import Target
from fsbench_web.imports.storing.commit import import_uploads
from fsbench_web.studies.models import Artefact, Score
from tests.importing import import_files
from tests.measured import measured

pytestmark = pytest.mark.django_db
Sample = Callable[[str], bytes]
LABELS = {"filesystem": "ext4", "configuration": "ext4"}
PTS = "phoronix-fio-two-units"  # MB/s and IOPS of one run
TABLE = b"test,value,unit\nwrite,1000,KB/s\nread,3,s\n"


def posted(client: Client, data: bytes, where: str = "/api/v1/imports", **fields: str) -> Any:
    file = io.BytesIO(data)
    file.name = "results.csv"  # type: ignore[attr-defined]
    return client.post(where, {"study": "Lab", **LABELS, **fields, "file": file})


def units() -> set[str]:
    return {measurement.unit for measurement in measured()}


@pytest.mark.parametrize(
    ("kilobyte", "expected"), [("", "MB/s"), ("1024", "MiB/s"), ("1000", "SI MB/s")]
)
def test_real_output_that_does_not_say_it(
    sample: Sample, signed_in: Client, kilobyte: str, expected: str
) -> None:
    stored = posted(signed_in, sample(PTS), kilobyte=kilobyte, strict="true").json()
    assert units() == {expected, "IOPS"}
    values = sorted(measurement.value for measurement in measured())
    assert values == sorted(value.value for value in parse(PTS, sample(PTS)).values)
    warnings = [
        warning for warning in stored["warnings"] if "1,000 or of 1,024" in warning["message"]
    ]
    assert [warning["lost"] for warning in warnings] == ([] if kilobyte else [False])
    # Read again it is what was said.
    assert reading.difference(Artefact.objects.get()).is_empty


def test_a_tool_that_is_known_is_not_asked_about(sample: Sample, signed_in: Client) -> None:
    name = "iozone-3.489-tests-0-1-2"
    stored = posted(signed_in, sample(name), kilobyte="1000").json()
    assert stored["warnings"] == []
    assert units() == {"KB/s"}


def test_another_answer_is_refused(signed_in: Client) -> None:
    refused = posted(signed_in, TABLE, kilobyte="1023")
    assert refused.status_code == 422
    assert 'kilobyte is "1023"; it can be 1000 or 1024' in refused.json()["detail"]
    assert not Import.objects.exists()


def test_two_answers_are_no_repeats(signed_in: Client) -> None:
    assert posted(signed_in, TABLE, kilobyte="1024").status_code == 201
    other = posted(signed_in, TABLE.replace(b"1000", b"1001"), kilobyte="1000")
    assert other.status_code == 422
    assert "write was measured in KiB/s and in kB/s" in other.json()["detail"]


def test_the_preview_asks(signed_in: Client) -> None:
    preview = posted(signed_in, TABLE, "/api/v1/imports/previews").json()
    assert preview["target"]["kilobyte"] == ""
    address = f"/imports/{preview['id']}/"
    page = signed_in.get(address).content.decode()
    assert "<strong>KB/s</strong> in these files may mean 1,000 or 1,024 bytes" in page
    corrected = signed_in.patch(
        f"/api/v1/imports/{preview['id']}", {"kilobyte": "1024"}, content_type="application/json"
    ).json()
    assert {test["unit"] for run in corrected["files"][0]["runs"] for test in run["tests"]} == {
        "KiB/s",
        "s",
    }
    page = signed_in.get(address).content.decode()
    assert '<option value="1024" selected>' in page
    assert signed_in.post(f"{address}commit/", {"kilobyte": "1000"}).status_code == 302
    assert units() == {"kB/s", "s"}


def test_a_preview_of_a_known_tool_does_not_ask(sample: Sample, signed_in: Client) -> None:
    data = sample("iozone-3.489-tests-0-1-2")
    preview = posted(signed_in, data, "/api/v1/imports/previews").json()
    assert "kilobyte" not in signed_in.get(f"/imports/{preview['id']}/").content.decode()


@pytest.mark.parametrize(("kilobyte", "expected"), [("", "MB/s"), ("1024", "MiB/s")])
def test_a_table_likewise(kilobyte: str, expected: str) -> None:
    rows = "".join(f"write,{number},MB/s,{number}\n" for number in range(1, 20))
    data = f"test,value,unit,repeat\n{rows}".encode()
    target = Target("Lab", **LABELS, kilobyte=kilobyte)
    done = import_uploads([("t.csv", io.BytesIO(data))], target, None)
    assert units() == {expected}
    assert [
        ("1,000 or of 1,024" in warning["message"], warning["lost"]) for warning in done.warnings
    ] == ([] if kilobyte else [(True, False)])


def test_the_same_measurement_in_two_units_ties_with_itself(
    sample: Sample, client: Client, ada: User
) -> None:
    """IOzone's own output, and each of its numbers in MiB/s in a table."""
    name = "iozone-3.489-tests-0-1-2"
    read = parse(name, sample(name)).values
    rows = [
        f"{cell.test},{cell.record_size_kb},{cell.file_size_kb},{Decimal(cell.value) / 1024},MiB/s"
        for cell in read
    ]
    table = "\n".join(["test,record_size_kb,file_size_kb,value,unit", *rows]).encode()
    import_files([(name, sample(name))], study="First", **LABELS, user=None)
    xfs = {"filesystem": "xfs", "configuration": "xfs"}
    import_files([("t.csv", table)], study="Second", **xfs, user=None)
    tables = delta_tables(ComparisonSpec())
    assert {delta_table.category for delta_table in tables} > {
        "maximum",
        "total_average",
        "overall",
    }
    for delta_table in tables:
        assert {row.contender for row in delta_table.rows} == {"ext4", "xfs"}, delta_table
        assert {row.delta1_percent for row in delta_table.rows} == {0.0}
        assert (delta_table.unit, delta_table.summed_unit) in {("MiB/s", ""), ("score", "MiB/s")}
    best = max(cell.value for cell in read if cell.test == "write")
    scores = {
        score.series.study.slug: score.value
        for score in Score.objects.filter(test="write", category="maximum")
    }
    assert scores == {"first": best, "second": best / 1024}  # as printed
    deltas = client.get("/api/v1/deltas?test=write&category=maximum&units=decimal").json()
    [rates] = [{row["score"] for row in delta_table["rows"]} for delta_table in deltas["tables"]]
    assert rates == {float(Decimal(best) * 1024 / 10**6)}
    # Every picture of both, in one unit: each is as fast as itself.
    for kind in ("bars", "profile", "repeats", "matrix"):
        text = client.get(f"/compare/pictures.csv?picture={kind}&of=write&in=maximum&units=decimal")
        assert "MB/s" in text.content.decode().splitlines()[0], kind
    [head, *cells] = csv.reader(
        client.get("/compare/pictures.csv?picture=ratio&of=write").content.decode().splitlines()
    )
    assert "MiB/s" in head[2]
    assert {row[head.index("Times as fast")] for row in cells} == {"1.0"}
    Score.objects.filter(series__study__slug="first", test="write").delete()
    Score.objects.filter(series__study__slug="second", test="read").delete()
    both = client.get("/compare/pictures.csv?picture=stacked&of=write&in=maximum")
    assert "MiB/s" in both.content.decode().splitlines()[0]
    page = client.get("/studies/first/?tab=tests&units=decimal").content.decode()
    assert "MB/s; printed: " in page  # in the title of each number
    report = client.get("/studies/first/report/?units=decimal").content.decode()
    assert "MB/s from KB/s" in report
