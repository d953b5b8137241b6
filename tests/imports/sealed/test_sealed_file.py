"""A study as a sealed file: whole, signed, and every number follows from its raw output."""

import io
import json
import zipfile
from base64 import b64decode
from pathlib import Path

import pyarrow.parquet
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from fsbench_web.accounts.models import AuditEntry
from fsbench_web.catalog.models import Environment
from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.core.sealed import envelope, verifying
from fsbench_web.imports.models import SigningKey
from fsbench_web.imports.sealed import inputs, keys
from fsbench_web.serving import preparation
from fsbench_web.studies.models import MeasurementBlock, Run, Score, Series
from fsbench_web.studies.scores import ingest, measurements, quality
from fsbench_web.studies.scores.shares import SeriesCeilings
from tests.core.formats.conftest import SAMPLES
from tests.importing import import_files

pytestmark = pytest.mark.django_db
TOOLS = (
    *("bonnie-1.96", "dbench-4.00", "fio-3.33-json", "fio-3.33-each", "ior-4.0", "mdtest-4.1"),
    *("iozone-3.489-sweep", "iozone-3.489-direct-io", "pgbench-15-progress", "postmark-1.51"),
    *("phoronix-fio-two-units", "sysbench-two-runs", "vdbench-5.0-flatfile"),
)
TABLE = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,%d.5,KB/s\ncreate,,,7,1/s\n"


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, settings: object) -> Path:
    settings.DATA_DIR = tmp_path  # type: ignore[attr-defined]
    return tmp_path


@pytest.fixture
def lab(ada: User) -> list[int]:
    """Three repeats of ext4."""
    known = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "kernel": "6.1"}
    files = [[("r.csv", TABLE % rate)] for rate in (100, 110, 120)]
    return [run for file in files for run in import_files(file, **known, user=ada).runs]


def sealed(client: Client, study: str = "lab") -> bytes:
    answer = client.get(f"/api/v1/studies/{study}/sealed.zip")
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == "application/zip"
    return answer.content


@pytest.mark.parametrize("tool", TOOLS)
def test_every_number_follows_from_raw_output(client: Client, ada: User, tool: str) -> None:
    [sample] = list(SAMPLES.glob(f"{tool}.*"))[:1]
    content = sample.read_bytes()
    known = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}
    import_files([(sample.name, content)], **known, user=ada, repeats_differ="yes")
    data = sealed(client)
    report = verifying.verify(data)
    assert (report.problems, report.stated) == ([], 0)
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert archive.testzip() is None
    for table in ("measurements", "scores"):
        ours = pyarrow.parquet.read_table(io.BytesIO(archive.read(f"tables/{table}.parquet")))
        theirs = client.get(f"/api/v1/studies/lab/{table}.parquet").content
        assert ours.equals(pyarrow.parquet.read_table(io.BytesIO(theirs)))
    assert report.scores == Score.objects.count()
    assert content in [archive.read(name) for name in archive.namelist() if "raw/" in name]


def test_deltas_and_verdicts_are_those_of_the_site(client: Client, ada: User) -> None:
    for name, rates in (("ext4", (100, 110, 120)), ("xfs", (150, 160, 175))):
        known = {"study": "Lab", "filesystem": name, "configuration": name}
        for rate in rates:
            import_files([("r.csv", TABLE % rate)], **known, user=ada)
    data = sealed(client)
    assert verifying.verify(data).problems == []
    content = zipfile.ZipFile(io.BytesIO(data)).read("tables/deltas.parquet")
    ours = pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist()
    theirs = client.get("/api/v1/comparison?study=lab&by=configuration").json()["tables"]
    names = ("contender", "score", "delta1_percent", "delta2_percent", "runs")
    judged = ("status", "method", "ratio", "ratio_low", "ratio_high", "p_value", "p_holm", "blocks")
    expected = [
        [table["test"], *(row[name] for name in names)]
        + [(row["verdict"] or {}).get(name) for name in judged]
        for table in theirs
        for row in table["rows"]
    ]
    assert [[row["test"], *(row[name] for name in (*names, *judged))] for row in ours] == expected
    assert {row["status"] for row in ours} - {None}


def test_the_file_says_what_was_measured_and_how(client: Client, lab: list[int]) -> None:
    Run.objects.filter(pk=lab[0]).update(block="round 1")
    environment = Environment.objects.create(
        digest="d", facts={"System": [["Kernel", "6.1"], ["Path on the host", "/dev/sdz"]]}
    )
    Run.objects.filter(pk=lab[1]).update(environment=environment)
    content = sealed(client)
    archive = zipfile.ZipFile(io.BytesIO(content))
    names = archive.namelist()
    assert names[:3] == ["ro-crate-metadata.json", "attestation.dsse.json", "datapackage.json"]
    outer = json.loads(archive.read(names[1]))
    statement = json.loads(b64decode(outer["payload"]))
    raw = [name for name in names if name.startswith("raw/")]
    assert [row["name"] for row in statement["subject"]] == raw
    inputs_said = statement["predicate"]
    assert [run["run"] for run in inputs_said["runs"]] == lab
    assert inputs_said["runs"][0]["block"] == "round 1"
    assert inputs_said["runs"][1]["environment"] == {"System": [["Kernel", "6.1"]]}
    assert inputs_said["rules"]["flags"] == Series.objects.get().quality["rules"]
    # Inputs are signed, and no score.
    assert str(Score.objects.filter(category="maximum").first().value) not in str(statement)
    crate = json.loads(archive.read(names[0]))["@graph"]
    assert len([one for one in crate if one["@type"] == "CreateAction"]) == 3
    assert client.get("/api/v1/studies/lab/sealed.zip").content == content


def test_numbers_that_no_raw_file_gives_are_stated(client: Client, lab: list[int]) -> None:
    """What a run measured beside its output, and what an older reader made of it."""
    row = ParsedValue("device_writes", None, None, 12.5, "KB/s", 1)
    ingest.store_values(Run.objects.get(pk=lab[0]), None, [row])
    block = MeasurementBlock.objects.filter(run=lab[1]).get()
    numbers = measurements.rows(measurements.of_run(lab[1]))
    [stored] = measurements.listed(MeasurementBlock.objects.filter(pk=block.pk))
    measurements.rewrite(stored, [one._replace(value=one.value + 1) for one in numbers])
    ingest.rescore(Series.objects.get())
    data = sealed(client)
    report = verifying.verify(data)
    assert (report.problems, report.stated) == ([], 3)
    theirs = client.get("/api/v1/studies/lab/scores.parquet").content
    ours = zipfile.ZipFile(io.BytesIO(data)).read("tables/scores.parquet")
    tables = [pyarrow.parquet.read_table(io.BytesIO(one)) for one in (ours, theirs)]
    assert tables[0].equals(tables[1])


def test_what_the_lun_itself_did_bounds_numbers(
    client: Client, lab: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ceilings(SeriesCeilings):
        def bound(self, test: str, unit: str, record_kb: int) -> tuple[float, float] | None:
            return (1.0, 105.0) if test == "write" else None

    found = Ceilings(workload=None, probes=[])  # type: ignore[arg-type]
    monkeypatch.setattr(Ceilings, "share", lambda *_: None)
    monkeypatch.setattr(quality, "ceilings_of", lambda series, ids: found)
    ingest.rescore(Series.objects.get())
    flags = {score.category: score.flags for score in Score.objects.filter(test="write")}
    assert "above_device" in flags["maximum"]
    assert "above_device" not in flags["minimum"]
    data = sealed(client)
    assert verifying.verify(data).problems == []
    table = zipfile.ZipFile(io.BytesIO(data)).read("tables/scores.parquet")
    rows = pyarrow.parquet.read_table(io.BytesIO(table)).to_pylist()
    assert {row["category"]: row["flags"] for row in rows if row["test"] == "write"} == flags


def refusal(client: Client, study: str = "lab") -> str:
    answer = client.get(f"/api/v1/studies/{study}/sealed.zip")
    assert answer.status_code == 422
    return str(answer.json()["detail"])


def test_what_is_not_sealed(
    client: Client, papers: None, lab: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refusal(client, "unisys-2005") == str(inputs.NotSealable(inputs.NOTHING))
    for name in ("MOST_RAW_BYTES", "MOST_RUNS", "MOST_RAW_FILES", "MOST_NUMBERS"):
        with monkeypatch.context() as patch:
            patch.setattr(inputs, name, 1)
            assert "more" in refusal(client)
    Series.objects.update(quality={"rules": 1})
    assert "reflag" in refusal(client)
    assert client.get("/api/v1/studies/none/sealed.zip").status_code == 404


def test_the_page_of_a_study_leads_there(client: Client, papers: None, lab: list[int]) -> None:
    address = 'href="/api/v1/studies/{}/sealed.zip"'
    assert address.format("lab") in client.get("/studies/lab/").content.decode()
    page = client.get("/studies/unisys-2005/").content.decode()
    assert address.format("unisys-2005") not in page


class TestKeys:
    def listed(self, client: Client) -> list[tuple[str, str]]:
        rows = client.get("/api/v1/keys").json()["keys"]
        assert all(row["key"] == envelope.key_id(row["public_key"]) for row in rows)
        return [(row["key"], row["state"]) for row in rows]

    def test_made_once_for_this_account_alone(self, db: None, data_folder: Path) -> None:
        key = keys.ensure()
        file = data_folder / "signing-key.pem"
        assert file.stat().st_mode & 0o777 == 0o600
        assert keys.ensure() == key
        assert [path.name for path in data_folder.iterdir()] == [file.name]

    def test_rotated_and_revoked(self, client: Client, lab: list[int]) -> None:
        old = verifying.verify(sealed(client)).key
        call_command("signing_keys", "rotate")
        new = verifying.verify(sealed(client)).key
        assert self.listed(client) == [(new, "active"), (old, "retired")]
        call_command("signing_keys", "revoke", new[:8])
        assert self.listed(client) == [(new, "revoked"), (old, "retired")]
        assert "rotate" in refusal(client)
        call_command("signing_keys", "rotate")
        assert [state for _, state in self.listed(client)] == ["active", "revoked", "retired"]
        said = [entry.what for entry in AuditEntry.objects.filter(what__startswith="signing key")]
        assert sorted(set(said)) == [
            f"signing key {word}" for word in ("made", "retired", "revoked")
        ]

    @pytest.mark.parametrize("words", [("revoke",), ("revoke", "abc"), ("revoke", "0" * 8)])
    def test_what_is_no_key_is_not_revoked(self, db: None, words: tuple[str, ...]) -> None:
        with pytest.raises(CommandError):
            call_command("signing_keys", *words)

    def test_a_broken_key_is_said(self, client: Client, lab: list[int], data_folder: Path) -> None:
        (data_folder / "signing-key.pem").write_text("nothing")
        assert "signing-key.pem" in refusal(client)

    def test_made_at_the_first_start(self, db: None, data_folder: Path) -> None:
        said: list[str] = []
        preparation._make_signing_key(said.append)
        assert (SigningKey.objects.count(), said) == (1, [])
        (data_folder / "signing-key.pem").write_text("nothing")
        preparation._make_signing_key(said.append)
        assert len(said) == 1
