"""What every tool prints goes through the whole import, and the pages show it."""

from pathlib import Path

import pytest
from django.test import Client

from fsbench_web.core.formats import parse
from fsbench_web.studies.models import Run, Score, Series
from tests.importing import import_files
from tests.measured import judged_again, judged_now, measured

SAMPLES = Path(__file__).parents[1] / "core/formats/samples"
NAMES = [
    *("fio-3.33-json.txt", "fio-2.1.11-json.txt", "fio-3.33-client-server.txt"),
    *("fio-3.33-twice.txt", "fio-3.33-terse-5.txt", "bonnie-1.96.txt", "postmark-two-reports.txt"),
    *("dbench-3.03.txt", "filebench-1.4.9.txt", "sysbench-1.0.20.txt", "mdtest-1.9.3.txt"),
    *("ior-4.0.txt", "elbencho-3.1.txt", "iozone-3.489-throughput-1-to-3.txt"),
    *("iozone-3.489-matrix.xls", "phoronix-composite.txt", "phoronix-csv.txt"),
    *("phoronix-fio-two-units.txt", "phoronix-pgbench.txt", "ior-3.4-no-summary.txt"),
    "io500-isc24.txt",
    *("fio-3.33-normal.txt", "fio-3.33-windows_bw.1.log", "fio-3.33-windows_clat_hist.1.log"),
    *("ior-4.1-json.txt", "ior-4.1-csv.txt", "mdtest-4.1-ranks-csv.txt"),
    *("elbencho-3.1-file-json.txt", "elbencho-3.1-files-table.txt", "sysbench-1.0.20-cpu.txt"),
    *("diskspd-linux.txt", "crystaldiskmark-8.0.1.txt", "vdbench-5.0-flatfile.txt"),
    *("pgbench-15-progress.txt", "db_bench-7.8.3.txt", "ioping-1.3.txt", "hdparm-9.65.txt"),
    *("dd-9.1.txt", "compilebench-0.6.txt", "postmark-1.51.txt"),
]


def content(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_file_becomes_measurements_scores_and_pages(name: str, db: None, client: Client) -> None:
    parsed = parse(name, content(name))
    result = import_files(
        [(name, content(name))],
        study="Lab",
        filesystem="ext4",
        # A Phoronix file with several systems names its configurations itself.
        configuration="ext4",
        user=None,
    )
    stored = [
        (measurement.test, measurement.load, measurement.value, measurement.unit, measurement.line)
        for measurement in measured()
    ]
    assert sorted(stored) == sorted(
        (v.test, v.load, v.value, v.unit, v.line) for v in parsed.values
    )
    assert Score.objects.exists()
    at_import = judged_now()
    assert judged_again() == at_import
    for address in ("/studies/lab/", "/compare/?study=lab", f"/runs/{result.runs[0]}/"):
        page = client.get(address)
        assert page.status_code == 200, address
    tables = client.get("/api/v1/deltas?study=lab").json()["tables"]
    units = {v.unit for v in parsed.values} | {"score"}
    assert {table["unit"] for table in tables} | {"score"} == units


def test_settings_of_a_tool_are_told_in_words(db: None, client: Client) -> None:
    for name in ("bonnie-1.96.txt", "iozone-3.489-throughput-1-to-3.txt"):
        result = import_files(
            [(name, content(name))],
            study="Lab",
            filesystem="ext4",
            configuration="ext4",
            user=None,
        )
        text = client.get(f"/runs/{result.runs[0]}/").content.decode()
        settings = text.split("<dt>Settings of the tool</dt><dd>")[1].split("</dd>")[0]
        assert settings
        assert not set("[]'&") & set(settings)


def test_repeats_of_a_file_are_numbered_on(db: None) -> None:
    # Of none of them a command says how many files there were.
    set_number = b"pm>set number 20000\n"
    for name in ("postmark-two-reports.txt", "postmark-1.51.txt"):
        data = content(name).replace(set_number, b"")
        import_files(
            [(name, data)], study="Lab", filesystem="ext4", configuration="ext4", user=None
        )
    changed = content("postmark-two-reports.txt").replace(set_number, b"")
    changed = changed.replace(b"127 seconds", b"128 seconds")
    changed = changed.replace(b"131 seconds", b"132 seconds")
    import_files(
        [("again.txt", changed)], study="Lab", filesystem="ext4", configuration="ext4", user=None
    )
    assert Series.objects.count() == 1
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 2, 3, 4, 5]


def test_other_settings_are_another_series(db: None) -> None:
    data = content("fio-3.33-json.txt")
    for text in (data, data.replace(b'"bs" : "4k"', b'"bs" : "8k"')):
        import_files(
            [("a.json", text)], study="Lab", filesystem="ext4", configuration="ext4", user=None
        )
    assert Series.objects.count() == 2


def test_throughput_is_no_repeat_of_a_matrix_and_shows_one_number_a_test(
    db: None, client: Client
) -> None:
    names = ("iozone-3.489-all-tests.txt", "iozone-3.489-throughput.txt")
    result = import_files(
        [(name, content(name)) for name in names],
        study="Lab",
        filesystem="ext4",
        configuration="ext4",
        user=None,
    )
    assert list(Run.objects.order_by("id").values_list("repeat", flat=True)) == [1, 1]
    assert Series.objects.count() == 2
    text = client.get(f"/runs/{result.runs[1]}/").content.decode()
    scores = text.split('id="scores-head"')[1].split("</section>")[0]
    assert "Target average" not in scores
    assert "Write at 2 processes<" in scores
