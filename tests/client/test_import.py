"""``fsbench import`` of folders and of what a site leaves out; and the curl example."""

import re
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from fsbench_web.studies.models import Run
from tests.client.conftest import Command
from tests.measured import measured

DOCUMENT = Path(settings.BASE_DIR) / "docs" / "importing.md"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for number, (name, rate) in enumerate(
        [("ext4/run1", 1), ("ext4/run2", 2), ("xfs_noatime/run1", 3)]
    ):
        path = tmp_path / "results" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"test,value,unit\nuntar,{rate}.{number},s\n")
    (tmp_path / "results" / ".hidden").write_text("not a result")
    return tmp_path / "results"


def stored() -> list[tuple[str, int]]:
    rows = Run.objects.values_list("series__configuration__label", "repeat")
    return sorted(rows)


def test_a_folder_is_its_configurations_and_repeats(fsbench: Command, results: Path) -> None:
    done = fsbench("import", "--study", "Lab", results)
    assert done.returncode == 0, done.stderr
    assert stored() == [("ext4", 1), ("ext4", 2), ("xfs_noatime", 1)]


def test_files_are_repeats(fsbench: Command, results: Path) -> None:
    files = sorted((results / "ext4").iterdir())
    options = ["--study", "Lab", "--filesystem", "xfs", "--configuration", "xfs"]
    done = fsbench("import", "--url", f"{fsbench.site}/", *options, *files)
    assert done.returncode == 0, done.stderr
    assert stored() == [("xfs", 1), ("xfs", 2)]


def test_blocks_and_kilobytes_are_options(fsbench: Command, tmp_path: Path) -> None:
    for place in ("ext4/round-1", "ext4/round-2", "xfs/round-1"):
        path = tmp_path / "lab" / place / "run.csv"
        path.parent.mkdir(parents=True)
        path.write_text(f"test,value,unit\nuntar,{len(str(path))}.{place[-1]},KB/s\n")
    options = ["--study", "Lab", "--blocks", "folders", "--kilobyte", "1024"]
    done = fsbench("import", *options, tmp_path / "lab")
    assert done.returncode == 0, done.stderr
    runs = Run.objects.order_by("series__configuration__label", "repeat")
    assert [(run.series.configuration.label, run.block) for run in runs] == [
        *(("ext4", "round-1"), ("ext4", "round-2"), ("xfs", "round-1"))
    ]
    assert {row.unit for run in runs for row in measured(run)} == {"KiB/s"}


def test_problems_are_printed_with_their_places(fsbench: Command, tmp_path: Path) -> None:
    bad = tmp_path / 'b"ad.csv'
    bad.write_text("test,value,unit\nuntar,fast,s\nmake,-1,s\n")
    done = fsbench("import", "--study", "Lab", bad)
    assert done.returncode == 3
    lines = done.stderr.splitlines()
    assert lines[0] == "Nothing was stored."
    assert re.match(r"b.*ad\.csv:2:2: Found \"fast\"", lines[1]), lines
    assert not Run.objects.exists()


def test_preview_and_new_runs_alone_exclude_each_other(fsbench: Command, results: Path) -> None:
    done = fsbench("import", "--study", "Lab", "--preview", "--if-new", results)
    assert (done.returncode, "--if-new" in done.stderr) == (2, True)


def test_the_curl_example_works_as_it_stands(
    fsbench: Command, results: Path, tmp_path: Path
) -> None:
    match = re.search(r"```sh\n(curl .*?)```", DOCUMENT.read_text(), re.S)
    assert match is not None
    for name, rate in (("first.txt", "5"), ("second.txt", "6")):
        (tmp_path / name).write_text(f"test,value,unit\nuntar,{rate},s\n")
    done = subprocess.run(
        ["sh", "-c", match[1].replace("http://localhost:8000", fsbench.site)],
        cwd=tmp_path,
        env={"TOKEN": fsbench.token, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert '"state": "done"' in done.stdout, done.stdout + done.stderr
    assert len(stored()) == 2


def test_what_is_left_out_is_printed_and_strict_refuses_it(
    fsbench: Command, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("test,value,unit,mood\nuntar,1,s,good\nmake,0,s,bad\ncp,0,s,\n")
    options = ["--study", "Lab", "--filesystem", "xfs", "--configuration", "xfs"]
    done = fsbench("import", *options, "--strict", tmp_path / "a.csv")
    assert done.returncode == 3
    assert 'a.csv:1: Left out, and the import is strict: Column "mood"' in done.stderr
    strict = [*options, "--strict", "--ignore-columns", "mood"]
    done = fsbench("import", *strict, tmp_path / "a.csv")
    assert done.returncode == 0, done.stderr
    column, zeros = done.stderr.splitlines()
    assert column == 'a.csv:1: Column "mood" is not read, as the import says.'
    assert re.fullmatch(r"a\.csv:3:2: 0 is kept as measured; .* \(2 times\)", zeros)
    (tmp_path / "b.csv").write_text("test,value,unit,mood\nuntar,2,s,good\n")
    done = fsbench("import", *options, tmp_path / "b.csv")
    assert (done.returncode, done.stderr) == (
        0,
        'b.csv:1: Column "mood" is not one that fsbench keeps.\n'
        "b.csv: Repeat 2 of xfs lacks 2 of the 3 values of its repeats: make, cp.\n",
    )
