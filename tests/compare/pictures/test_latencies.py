"""Latencies that tools count in nanoseconds: people read micro- and milliseconds everywhere, and
what is stored and what machines are given stays in nanoseconds.
"""

import csv
import io
import re

import openpyxl
import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from fsbench_web.catalog.configurations.records import configuration_for
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.core.formats import ParsedValue
from fsbench_web.studies.models import Run, Study
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.series import next_repeat, series_for
from tests.measured import finished_run

TEST = "oltp_8k_clat_mean"
AT = f"{TEST}@iodepth=4,jobs=1"
NAME = "8K OLTP, mean completion latency at queue depth 4, 1 job"
ASKED = f"study=lab&test={AT}"
READABLE = '<span title="1234567.0 ns">1.23</span>'


@pytest.fixture
def runs(db: None) -> list[Run]:
    study = Study.objects.create(slug="lab", title="Lab")
    measured = []
    for filesystem, latency_ns in (("ext4", 815_240.5), ("xfs", 1_234_567.0)):
        series = series_for(study, configuration_for(filesystem, {}))
        with transaction.atomic():
            run = finished_run(series, next_repeat(series))
            value = ParsedValue(TEST, None, None, latency_ns, "ns", 7, load="iodepth=4,jobs=1")
            other = ParsedValue(TEST, None, None, latency_ns / 2, "ns", 7, load="iodepth=1,jobs=1")
            ingest.store_values(run, None, [value, other])
            ingest.rescore(series)
        measured.append(run)
    return measured


def test_pages_write_them_in_microseconds(client: Client, runs: list[Run]) -> None:
    page = client.get(f"/runs/{runs[1].pk}/").content.decode()
    assert NAME in page
    assert '<span title="1234567.0 ns">1.23</span>' in page
    assert 'title="617283.5 ns">617</span>' in page
    table = client.get(f"/compare/?{ASKED}").content.decode()
    assert NAME in table
    assert READABLE in table
    study = client.get("/studies/lab/?tab=tests").content.decode()
    assert READABLE in study
    for text in (page, table, study):
        assert "1,234,567" not in text
        assert not any(f"{before}ns{after}" in text for before in ">, " for after in ",< ")


def test_curves_have_an_axis_in_microseconds(client: Client, runs: list[Run]) -> None:
    query = f"study=lab&picture=load&of={TEST}"
    page = client.get(f"/compare/pictures/?{query}").content.decode()
    assert "over queue depth" in page
    assert "Mean, µs" in page
    assert "1,234.567" in page
    assert "queue depth 4, 1 job" in page
    rows = list(
        csv.reader(io.StringIO(client.get(f"/compare/pictures.csv?{query}").content.decode()))
    )
    assert "Mean, ns" in rows[0]
    assert "1234567.0" in rows[-1] or any("1234567.0" in row for row in rows)


def test_machines_are_given_nanoseconds(client: Client, runs: list[Run]) -> None:
    (table,) = client.get(f"/api/v1/deltas?{ASKED}").json()["tables"]
    assert (table["unit"], [row["score"] for row in table["rows"]]) == ("ns", [1234567.0, 815240.5])
    assert b",1234567.0,ns," in client.get(f"/compare/deltas.csv?{ASKED}").content
    book = openpyxl.load_workbook(
        io.BytesIO(client.get(f"/compare/deltas.xlsx?{ASKED}").content), read_only=True
    )
    cells = [cell for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row]
    assert 1234567 in cells
    assert any("ns, less is better" in str(cell) for cell in cells)
    assert not any("µs" in str(cell) for cell in cells)


def test_papers_are_given_the_unit_of_the_page(client: Client, runs: list[Run]) -> None:
    for suffix in ("md", "tex"):
        text = client.get(f"/compare/deltas.{suffix}?{ASKED}").content.decode()
        assert "ms, less is better" in text
        assert re.findall(r"(?<![\d.])(1\.23|0\.815)(?![\d])", text) == ["1.23", "0.815"]
        assert " ns" not in text


def test_a_permalink_of_a_load_keeps_all_of_it(client: Client, runs: list[Run]) -> None:
    user = User.objects.create_user("ann")
    client.force_login(user)
    link = records.pin(ComparisonSpec.from_query(ASKED), user)
    page = client.get(f"/p/{link.key}/").content.decode()
    assert NAME in page
    assert READABLE in page
    assert "ms, less is better" in page
    content = client.get(f"/p/{link.key}/deltas.csv").content
    assert b"oltp_8k_clat_mean@iodepth=4,jobs=1" in content
    assert b"1234567.0,ns," in content
    for suffix in ("md", "tex", "xlsx", "json"):
        assert client.get(f"/p/{link.key}/deltas.{suffix}").status_code == 200
    chart = client.get(f"/p/{link.key}/charts/{AT}/")
    assert "ms, less is better" in chart.content.decode()
