"""``fsbench seal``, ``verify`` and ``table``: files of a study, and what a sealed file is worth."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest
from fsbench.cli import main

from fsbench_web.core.sealed import container, envelope
from fsbench_web.imports.sealed import keys
from tests.client.conftest import Command
from tests.core.sealed.conftest import KEY, OTHER_KEY, inputs_of, raw_files, sealed, verifying


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lab.zip"
    path.write_bytes(sealed())
    return path


def public_key(folder: Path, key: object = KEY) -> Path:
    path = folder / "key.pem"
    path.write_text(envelope.public_pem(key))  # type: ignore[arg-type]
    return path


def found(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, object]]:
    code = main(["verify", "--json", *map(str, arguments)])
    return code, json.loads(capsys.readouterr().out)


def test_a_sound_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = found(capsys, file)
    assert (code, said["sound"], said["trusted"], said["study"]) == (0, True, None, "lab")
    code, said = found(capsys, file, "--key", public_key(file.parent))
    assert (code, said["trusted"]) == (0, True)
    assert main(["verify", str(file)]) == 0
    assert str(said["key"]) in capsys.readouterr().out


def test_a_key_that_nobody_trusts(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = found(capsys, file, "--key", public_key(file.parent, OTHER_KEY))
    assert (code, said["sound"], said["trusted"]) == (3, False, False)


def test_a_changed_file_is_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    members = container.read(file.read_bytes()) | {"raw/1-r.csv": b"other"}
    file.write_bytes(container.write(members))
    code, said = found(capsys, file)
    assert code == 3
    assert said["problems"] == [{"code": "digest", "file": "raw/1-r.csv", "detail": ""}]
    assert main(["verify", str(file)]) == 3
    assert "raw/1-r.csv" in capsys.readouterr().err


def test_rules_that_this_client_does_not_know(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = raw_files()
    inputs = inputs_of(raw)
    inputs["rules"] = {**inputs["rules"], "scores": 2}
    file.write_bytes(verifying.seal(inputs, raw, KEY))
    assert found(capsys, file)[0] == 4


def test_what_is_no_file_and_no_key(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in (file.parent / "none.zip", file.parent):
        assert main(["verify", str(place)]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"{place}: ")
        assert "Errno" not in said
    assert main(["verify", str(file), "--key", str(file)]) == 2


@pytest.mark.django_db(transaction=True)
def test_a_site_seals_and_its_keys_are_trusted(
    measured: Callable[..., None], fsbench: Command, tmp_path: Path, settings: object
) -> None:
    settings.DATA_DIR = tmp_path  # type: ignore[attr-defined]
    measured("Lab", ext4=[100, 101], xfs=[110])
    path = tmp_path / "sealed.zip"
    assert fsbench("seal", "lab", "-o", path).returncode == 0
    assert fsbench("seal", "lab", "-o", path).returncode == 2  # never over another file
    done = fsbench("verify", path, "--site", fsbench.site, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["sound"], said["trusted"], said["stated"]) == (True, True, 0)
    keys.revoke(str(said["key"])[:8])
    done = fsbench("verify", path, "--site", fsbench.site, "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["problems"][0]["code"] == "revoked"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("table", ["measurements", "scores"])
def test_tables_of_a_study(
    measured: Callable[..., None], fsbench: Command, tmp_path: Path, table: str
) -> None:
    measured("Lab", ext4=[100])
    for suffix in ("parquet", "arrows"):
        done = fsbench("table", "lab", table, "-o", tmp_path / f"x.{suffix}")
        assert done.returncode == 0, done.stderr
    found_rows = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    stream = pyarrow.ipc.open_stream((tmp_path / "x.arrows").read_bytes()).read_all()
    assert stream.to_pylist() == found_rows.to_pylist()
    assert found_rows.num_rows > 0
    assert fsbench("table", "lab", table, "-o", tmp_path / "x.parquet").returncode == 2
    assert fsbench("table", "lab", table, "-o", tmp_path / "x.csv").returncode == 2
