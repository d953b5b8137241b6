"""Files compared on this machine have the answer that a site gives for them."""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fsbench
import pytest
from django.contrib.auth.models import User
from django.test import Client as Browser
from fsbench.local.comparison import LocalComparison

from fsbench_web.imports.problems import ImportRefused
from tests.client.local_files import SAMPLES, folders_of
from tests.importing import import_files

# One or more of each tool that is read.
NAMES = (
    *("bonnie-1.96", "compilebench-0.6", "crystaldiskmark-8.0.1", "db_bench-7.8.3-histogram"),
    *("dbench-4.00", "dd-9.1", "diskspd-linux", "elbencho-3.1-files-csv", "elbencho-3.1-mix-json"),
    *("filebench-1.4.9", "fio-1.57-terse-2", "fio-3.33-json", "fio-3.33-normal", "fio-3.33-each"),
    *("fio-3.33-two-depths-ungrouped", "fio-3.33-two-block-sizes", "fs_mark-3.3-loops"),
    *("hdparm-9.65", "io500-isc24", "ioping-1.3", "ior-4.0", "ior-4.1-csv", "iozone-3.489-sweep"),
    *("iozone-3.489-all-tests", "iozone-3.489-direct-io", "iozone-3.489-throughput-1-to-3"),
    *("mdtest-4.1", "pgbench-15-select", "phoronix-pgbench", "phoronix-fio-two-units"),
    *("postmark-1.51", "sysbench-1.0.20", "sysbench-two-runs", "vdbench-5.0-flatfile"),
    *("vdbench-5.04-totals-file-system",),
)


def archive_of(files: Sequence[tuple[str, bytes]]) -> bytes:
    """A zip of (path, content)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, content in files:
            archive.writestr(path, content)
    return out.getvalue()


def of_site(files: Sequence[tuple[str, bytes]], **target: Any) -> dict[str, Any]:
    """What ``GET /comparison`` says of the files, imported as one archive."""
    user = User.objects.create_user("ada")
    packed = [("results.zip", archive_of(files))]
    import_files(packed, study="lab", user=user, repeats_differ="yes", **target)
    answer = Browser().get("/api/v1/comparison?study=lab&by=filesystem")
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def assert_same(here: LocalComparison, there: dict[str, Any]) -> None:
    """Answer, verdicts and scores are equal to the last digit."""
    ours = here.to_dict()
    assert ours["answer"] == there["answer"]
    assert len(ours["tables"]) == len(there["tables"]) > 0
    for table, other in zip(ours["tables"], there["tables"], strict=True):
        assert (table["test"], table["unit"]) == (other["test"], other["unit"])
        for row, other_row in zip(table["rows"], other["rows"], strict=True):
            for name in ("contender", "score", "runs", "verdict", "interval", "flags"):
                assert row[name] == other_row[name], (table["test"], name)


@pytest.mark.django_db
@pytest.mark.parametrize("name", NAMES)
def test_samples_have_the_sites_answer(name: str, tmp_path: Path) -> None:
    files = folders_of(f"{name}.txt", tmp_path)
    here = fsbench.compare(tmp_path, units="printed")
    assert_same(here, of_site(files))
    assert not here.losses


@pytest.mark.django_db
def test_blocks_of_folders_are_paired(tmp_path: Path) -> None:
    files = []
    for entry, speed in (("ext4", 100.0), ("xfs", 108.0)):
        for block in range(1, 6):
            rows = [f"write,{speed + block * 3},MB/s", f"read,{2 * speed + block},MB/s"]
            rows.append(f"delete,{speed + block},ops/s")
            content = "\n".join(["test,value,unit", *rows]).encode()
            files.append((f"{entry}/block-{block}/result.csv", content))
    for path, content in files:
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_bytes(content)
    here = fsbench.compare(tmp_path, blocks="folders", units="printed")
    assert here.basis == "5 rounds, paired"
    assert (here.status, here.leader) == ("faster", "xfs")
    assert_same(here, of_site(files, blocks="folders"))


@pytest.mark.django_db
def test_one_table_names_what_its_rows_are_of(tmp_path: Path) -> None:
    lines = ["configuration,filesystem,repeat,test,value,unit"]
    for repeat in range(1, 5):
        lines.append(f"ext4,ext4,{repeat},write,{100 + repeat},MB/s")
        lines.append(f"xfs,xfs,{repeat},write,{150 + repeat},MB/s")
        lines.append(f"ext4,ext4,{repeat},read,{190 - repeat},MB/s")
        lines.append(f"xfs,xfs,{repeat},read,{150 - repeat},MB/s")
    table = "\n".join(lines).encode()
    (tmp_path / "results.csv").write_bytes(table)
    here = fsbench.compare(tmp_path / "results.csv", units="printed")
    assert (here.by, here.status) == ("configuration", "mixed")
    assert_same(here, of_site([("results.csv", table)]))


@pytest.mark.django_db
def test_what_a_site_refuses_as_given_twice_counts_once(tmp_path: Path) -> None:
    content = (SAMPLES / "fio-3.33-json.txt").read_bytes()
    for path in ("ext4/a-1.json", "ext4/a-2.json", "xfs/a-1.json"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    here = fsbench.compare(tmp_path)
    assert [problem.code for problem in here.losses] == ["given_twice"]
    assert here.run_count == 2
    with pytest.raises(ImportRefused):
        of_site([(path, content) for path in ("ext4/a-1.json", "ext4/a-2.json")])
