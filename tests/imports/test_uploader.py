"""The uploader that needs nothing but Python, and curl, against a real server."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from fsbench_web.accounts import tokens
from fsbench_web.studies.models import Run
from tests.measured import measured

UPLOADER = Path(settings.BASE_DIR) / "tools" / "fsbench_upload.py"
DOCUMENT = Path(settings.BASE_DIR) / "docs" / "importing.md"


@pytest.fixture
def token(site: str) -> str:
    return tokens.create(User.objects.create_user("ada"), "uploader")[1]


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


def upload(*arguments: str, token: str | None) -> subprocess.CompletedProcess[str]:
    environment = {"FSBENCH_TOKEN": token} if token else {}
    # -I: nothing of this project's environment; -S: no installed package.
    return subprocess.run(
        [sys.executable, "-I", "-S", str(UPLOADER), *arguments],
        env=environment,
        capture_output=True,
        text=True,
    )


def stored() -> list[tuple[str, int]]:
    rows = Run.objects.values_list("series__configuration__label", "repeat")
    return sorted(rows)


def test_a_folder_is_uploaded(site: str, token: str, results: Path) -> None:
    done = upload("--url", site, "--study", "Lab", str(results), token=token)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"Import \d+: 3 runs stored.\n", done.stdout)
    assert stored() == [("ext4", 1), ("ext4", 2), ("xfs_noatime", 1)]


def test_files_are_repeats(site: str, token: str, results: Path) -> None:
    files = [str(path) for path in sorted((results / "ext4").iterdir())]
    options = ["--study", "Lab", "--filesystem", "xfs", "--configuration", "xfs"]
    done = upload("--url", f"{site}/", *options, *files, token=token)
    assert done.returncode == 0, done.stderr
    assert stored() == [("xfs", 1), ("xfs", 2)]


def test_blocks_and_kilobytes_are_said(site: str, token: str, tmp_path: Path) -> None:
    for place in ("ext4/round-1", "ext4/round-2", "xfs/round-1"):
        path = tmp_path / "lab" / place / "run.csv"
        path.parent.mkdir(parents=True)
        path.write_text(f"test,value,unit\nuntar,{len(str(path))}.{place[-1]},KB/s\n")
    options = ["--study", "Lab", "--blocks", "folders", "--kilobyte", "1024"]
    done = upload("--url", site, *options, str(tmp_path / "lab"), token=token)
    assert done.returncode == 0, done.stderr
    runs = Run.objects.order_by("series__configuration__label", "repeat")
    assert [(run.series.configuration.label, run.block) for run in runs] == [
        *(("ext4", "round-1"), ("ext4", "round-2"), ("xfs", "round-1"))
    ]
    assert {row.unit for run in runs for row in measured(run)} == {"KiB/s"}


def test_problems_are_printed_with_their_places(site: str, token: str, tmp_path: Path) -> None:
    bad = tmp_path / 'b"ad.csv'
    bad.write_text("test,value,unit\nuntar,fast,s\nmake,-1,s\n")
    done = upload("--url", site, "--study", "Lab", str(bad), token=token)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Nothing was stored."
    assert re.match(r"b.*ad\.csv:2:2: Found \"fast\"", lines[1]), lines
    assert not Run.objects.exists()


def test_a_token_that_opens_nothing(site: str, token: str, results: Path) -> None:
    done = upload("--url", site, "--study", "Lab", str(results), token="fsb_wrong")
    assert done.returncode == 3
    assert done.stderr.strip()


@pytest.mark.parametrize(
    ("arguments", "token", "code", "words"),
    [
        (["--study", "x", "{results}"], None, 2, "FSBENCH_TOKEN is not set"),
        (["--study", "x", "/no/such"], "t", 2, "no such file"),
        (["{results}"], "t", 2, "--study"),
        (["--study", "x", "--url", "ftp://x", "{results}"], "t", 2, "is not an address"),
        (["--study", "x", "--url", "http://127.0.0.1:9", "{results}"], "t", 4, "cannot be reached"),
    ],
)
def test_wrong_use_has_its_own_codes(
    results: Path, arguments: list[str], token: str | None, code: int, words: str
) -> None:
    filled = [argument.replace("{results}", str(results)) for argument in arguments]
    done = upload(*filled, token=token)
    assert done.returncode == code
    assert words in done.stderr


def test_it_imports_the_standard_library_alone() -> None:
    tree = ast.parse(UPLOADER.read_text(), feature_version=(3, 7))
    names = [
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
        + ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [])
    ]
    assert "http" in names
    assert not [name for name in names if name not in sys.stdlib_module_names]


def test_the_curl_example_works_as_it_stands(
    site: str, token: str, results: Path, tmp_path: Path
) -> None:
    match = re.search(r"```sh\n(curl .*?)```", DOCUMENT.read_text(), re.S)
    assert match is not None
    for name, rate in (("first.txt", "5"), ("second.txt", "6")):
        (tmp_path / name).write_text(f"test,value,unit\nuntar,{rate},s\n")
    done = subprocess.run(
        ["sh", "-c", match[1].replace("http://localhost:8000", site)],
        cwd=tmp_path,
        env={"TOKEN": token, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert '"state": "done"' in done.stdout, done.stdout + done.stderr
    assert len(stored()) == 2


def test_what_is_left_out_is_printed_and_strict_refuses_it(
    site: str, token: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_text("test,value,unit,mood\nuntar,1,s,good\nmake,0,s,bad\ncp,0,s,\n")
    options = ["--url", site, "--study", "Lab", "--filesystem", "xfs", "--configuration", "xfs"]
    done = upload(*options, "--strict", str(tmp_path / "a.csv"), token=token)
    assert (done.returncode, 'a.csv:1: Left out, and the import is strict: Column "mood"') == (
        1,
        done.stderr.splitlines()[1].partition(" is not one")[0],
    )
    strict = [*options, "--strict", "--ignore-columns", "mood"]
    done = upload(*strict, str(tmp_path / "a.csv"), token=token)
    assert done.returncode == 0, done.stderr
    column, zeros = done.stderr.splitlines()
    assert column == 'a.csv:1: Column "mood" is not read, as the import says.'
    assert re.fullmatch(r"a\.csv:3:2: 0 is kept as measured; .* \(2 times\)", zeros)
    (tmp_path / "b.csv").write_text("test,value,unit,mood\nuntar,2,s,good\n")
    done = upload(*options, str(tmp_path / "b.csv"), token=token)
    assert (done.returncode, done.stderr) == (
        0,
        'b.csv:1: Column "mood" is not one that fsbench keeps.\n'
        "b.csv: Repeat 2 of xfs lacks 2 of the 3 values of its repeats: make, cp.\n",
    )
