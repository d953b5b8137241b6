"""What belongs together: a sweep over files is one repeat, and what a repeat lacks is said."""

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from fsbench_web.core.comparison.imported import KnownCells, Repeats, cells_of
from fsbench_web.core.measurement_columns import MeasuredTest, MeasurementColumns, of_rows
from fsbench_web.imports import rereads as reading
from fsbench_web.imports.models import Import, RunContent
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.imports.sources import FileDescription, Target, unpack
from fsbench_web.imports.storing import numbering
from fsbench_web.imports.storing.commit import import_sources
from fsbench_web.imports.targets import ImportResult
from fsbench_web.platform import limits
from fsbench_web.studies.models import Artefact, Run, Score, Series
from fsbench_web.studies.scores.ingest import rescore
from tests.importing import import_files
from tests.measured import measured

Sample = Callable[[str], bytes]
BANNER = b"\tIozone: Performance Test"
SIZES = ("1m", "4m", "16m", "64m", "128m")


def columns(*cells: tuple[str, int, int]) -> MeasurementColumns:
    return of_rows((MeasuredTest(t, "", "KB/s"), r, f, 1.0, 1) for t, r, f in cells)


def as_cells(*cells: tuple[str, int, int]) -> Any:
    return cells_of(columns(*cells))


A, B, C = ("write", 4, 64), ("write", 8, 64), ("read", 4, 64)


def test_cells_are_those_of_each_test_in_order() -> None:
    cells = as_cells(C, B, A)
    assert {test: sizes.tolist() for test, sizes in cells.items()} == {
        "write": [4 + 64j, 8 + 64j],
        "read": [4 + 64j],
    }
    two_loads = MeasurementColumns(
        [MeasuredTest("untar", "", "s"), MeasuredTest("untar", "threads=2", "s")],
        *(np.array(of) for of in ([1, 0], [-1, -1], [-1, -1], [1.0, 2.0], [1, 2])),
    )
    assert sorted(cells_of(two_loads)) == ["untar", "untar@threads=2"]


def test_cells_of_the_same_are_found_once() -> None:
    known_cells, other = KnownCells(), columns(A, B, C)
    first = known_cells.of(columns(C, B, A))
    assert known_cells.of(columns(C, B, A)) is first
    for part in (other, columns(A), columns(("read", 4, 64), ("read", 8, 64)), columns(B, C)):
        cells, expected = known_cells.of(part), cells_of(part)
        assert {test: sizes.tolist() for test, sizes in cells.items()} == {
            test: sizes.tolist() for test, sizes in expected.items()
        }


def test_what_is_measured_belongs_to_the_first_repeat_after_the_last_with_any_of_it() -> None:
    repeats = Repeats()
    assert repeats.places(as_cells(A)) == []
    repeats.add(1, as_cells(A))
    assert repeats.places(as_cells(B)) == [1]
    assert repeats.places(as_cells(A, B)) == []
    repeats.add(1, as_cells(B))
    repeats.add(2, as_cells(B, C))
    assert repeats.places(as_cells(A)) == [2]
    assert repeats.places(as_cells(C)) == []
    assert (
        repeats.has_any(1, as_cells(B)),
        repeats.has_any(1, as_cells(C)),
        repeats.has_any(7, as_cells(A)),
    ) == (
        *(True, False),
        False,
    )
    assert repeats.unequal == [1, 2]
    assert repeats.missing_cells(1) == "1 of the 3 values of its repeats: read"
    assert repeats.missing_cells(2) == "1 of the 3 values of its repeats: write (1 of 2)"
    repeats.add(0, as_cells(A, B, C))
    assert repeats.unequal == [1, 2]


def do(files: list[tuple[str, bytes]], **fields: Any) -> ImportResult:
    target = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "user": None}
    return import_files(files, **{**target, **fields})


@pytest.fixture
def sweep(sample: Sample) -> list[tuple[str, bytes]]:
    """A log of IOzone of each of five sizes of files."""
    logs = sample("iozone-3.489-sweep").split(BANNER)[1:]
    return [(f"{size}.log", BANNER + log) for size, log in zip(SIZES, logs, strict=True)]


def slower(log: bytes) -> bytes:
    """The same once more, with another number."""
    place = max(log.rindex(digit) for digit in (b"%d    " % n for n in range(10)) if digit in log)
    return log[:place] + (b"2" if log[place : place + 1] == b"1" else b"1") + log[place + 1 :]


@pytest.mark.django_db
def test_a_sweep_over_files_is_one_repeat(sweep: list[tuple[str, bytes]]) -> None:
    result = do(sweep)
    run = Run.objects.get()
    assert (result.runs, run.repeat) == ([run.pk], 1)
    assert run.reason.startswith("Imported from 1m.log. Imported from 4m.log. ")
    assert {artefact.name for artefact in run.artefacts.all()} == {name for name, _ in sweep}
    assert {measurement.file_size_kb for measurement in measured()} == {
        1024 << (2 * n) for n in range(4)
    } | {128 * 1024}
    assert len(measured()) == 30
    total = Score.objects.get(test="write", category="total_average")
    assert (total.cells, total.repeats, total.interval, total.flags) == (5, 1, None, [])
    messages = [warning["message"] for warning in result.warnings]
    assert len(messages) == 1
    assert messages[0].startswith(
        "1m.log, 4m.log, 16m.log, 64m.log, 128m.log: part of repeat 1 of ext4"
    )
    # Made again from what is stored they are the same, and so is the digest.
    before = list(Score.objects.order_by("id").values_list("test", "category", "value", "flags"))
    rescore(Series.objects.get())
    after = Score.objects.order_by("id").values_list("test", "category", "value", "flags")
    assert list(after) == before
    assert RunContent.objects.get().digest == numbering.digest_of(run.pk)


@pytest.mark.django_db
def test_files_one_after_the_other_belong_together_as_at_once(
    sweep: list[tuple[str, bytes]],
) -> None:
    results = [do([file]) for file in sweep]
    runs = [result.runs for result in results]
    [warning] = results[1].warnings
    assert warning["file"] == "4m.log"
    assert f"Part of repeat 1 of ext4 (run {runs[0][0]}), because" in warning["message"]
    assert runs == [runs[0]] * 5
    assert Run.objects.get().artefacts.count() == 5
    assert Score.objects.get(test="write", category="maximum").cells == 5
    assert "further" not in Run.objects.get().reason
    assert Run.objects.get().changes.count() == 5
    # Any of them again is known, one by one and all together, also as a part.
    with pytest.raises(ImportRefused, match="already there, as run"):
        do(sweep[2:3])
    with pytest.raises(ImportRefused, match="already there, as run"):
        do(sweep)
    assert Run.objects.count() == 1


@pytest.mark.django_db
def test_a_second_sweep_is_a_second_repeat(sweep: list[tuple[str, bytes]]) -> None:
    again = [(f"b-{name}", slower(log)) for name, log in sweep]
    do([*sweep[:2], again[0]])
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 2]
    result = do([*again[1:3], sweep[2]])
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 2]
    assert sorted(len(run.artefacts.all()) for run in Run.objects.all()) == [3, 3]
    assert len(result.runs) == 2
    assert not any("lacks" in warning["message"] for warning in result.warnings)


@pytest.mark.django_db
def test_what_a_repeat_lacks_is_said(sample: Sample) -> None:
    names = ("iozone-3.489-tests-0-1-2", "iozone-3.489-killed")
    result = do([(name, sample(name)) for name in names])
    assert len(result.runs) == 2
    messages = [warning["message"] for warning in result.warnings if "lacks" in warning["message"]]
    assert messages[0].startswith(
        "Repeat 1 of ext4 lacks 390 of the 480 values of its repeats: write (65 "
    )
    assert len(messages) == 1


@pytest.mark.django_db
def test_another_ones_run_is_not_added_to(
    sweep: list[tuple[str, bytes]], django_user_model: type[User]
) -> None:
    ada, bob = (django_user_model.objects.create_superuser(name) for name in ("ada", "bob"))
    do(sweep[:1], user=ada)
    result = do(sweep[1:2], user=bob)
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 2]
    assert [warning["message"].partition(" of ")[0] for warning in result.warnings] == [
        *("Repeat 2", "1"),
    ]
    assert "1 of the stored repeats of ext4 lack some values too" in result.warnings[1]["message"]
    [first] = do(sweep[2:3], user=ada).runs
    assert first == Run.objects.get(repeat=1).pk


@pytest.mark.django_db
def test_a_repeat_that_is_said_takes_what_it_has_not(sweep: list[tuple[str, bytes]]) -> None:
    def send(number: int, repeat: int, log: bytes | None = None) -> list[int]:
        name, content = sweep[number]
        [source] = unpack([(name, io.BytesIO(log or content))])
        described = [replace(source, description=FileDescription(repeat=repeat))]
        return import_sources(described, Target("Lab", "ext4", "ext4"), None).runs

    first = send(0, 3)
    assert Run.objects.get().repeat == 3
    assert send(1, 3) == first
    with pytest.raises(ImportRefused, match="Repeat 3 of ext4 is already there"):
        send(1, 3, slower(sweep[1][1]))
    # Who says that a size is another repeat is believed, and told.
    assert send(2, 4) != first


@pytest.mark.django_db
def test_tools_and_settings_do_not_mix(sample: Sample, sweep: list[tuple[str, bytes]]) -> None:
    direct = sweep[1][1].replace(b"\tCommand line", b"\tO_DIRECT feature enabled\n\tCommand line")
    do([sweep[0], ("direct.log", direct), ("dbench", sample("dbench-4.00"))])
    assert (Series.objects.count(), Run.objects.count()) == (3, 3)
    assert set(Run.objects.values_list("repeat", flat=True)) == {1}


@pytest.mark.django_db
def test_nobody_knows_the_settings_of_files_that_say_none(sample: Sample) -> None:
    data = sample("hdparm-9.65")
    again = data.replace(b" MB/sec", b"1 MB/sec")
    result = do([("a", data), ("b", again)])
    assert len(result.runs) == 2
    [warning] = [warning for warning in result.warnings if "no settings" in warning["message"]]
    assert warning["file"] == "a"
    # One of them alone may be what it is.
    [warning] = do([("c", data)], study="Other").warnings
    assert warning["message"].startswith("fsbench has this file already")


@pytest.mark.django_db
def test_a_refusal_after_some_were_placed_stores_nothing(sweep: list[tuple[str, bytes]]) -> None:
    do(sweep[:1])
    before = (Run.objects.count(), Artefact.objects.count(), Import.objects.count())
    with pytest.raises(ImportRefused):
        do([*sweep[1:3], ("copy.log", sweep[0][1])])
    assert (Run.objects.count(), Artefact.objects.count(), Import.objects.count()) == before
    assert Run.objects.get().changes.count() == 1
    assert RunContent.objects.count() == 1


@pytest.mark.django_db
def test_a_part_is_read_again_by_itself(sweep: list[tuple[str, bytes]], client: Client) -> None:
    [run] = do(sweep).runs
    assert all(reading.difference(artefact).is_empty for artefact in Artefact.objects.all())
    page = client.get(f"/runs/{run}/")
    assert page.status_code == 200
    for name, _ in sweep:
        assert name in page.content.decode()


@pytest.mark.django_db
def test_a_run_comes_as_so_many_files_and_its_page_shows_so_many(
    sweep: list[tuple[str, bytes]], monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    monkeypatch.setattr(limits, "MOST_OUTPUTS_OF_RUN", 3)
    monkeypatch.setattr(limits, "MOST_OUTPUTS", 2)
    result = do(sweep)
    assert [run.artefacts.count() for run in Run.objects.order_by("repeat")] == [3, 2]
    assert any("Repeat 2 of ext4 lacks" in warning["message"] for warning in result.warnings)
    text = client.get(f"/runs/{result.runs[0]}/").content.decode()
    assert "The first 2 of 3" in " ".join(text.split())
    assert "16m.log</a>" not in text


@pytest.mark.django_db
def test_a_thousand_files_are_placed_in_a_moment() -> None:
    files = [(f"{n}.csv", f"test,value,unit\nt{n},{n}.5,s\n".encode()) for n in range(1, 1001)]
    result = do(files)
    assert len(result.runs) == 1
    assert Run.objects.get().reason.endswith(" And 995 more files.")
    [warning] = result.warnings
    assert "5.csv and 995 more files: part of repeat 1" in warning["message"]


@pytest.mark.django_db
def test_a_preview_says_what_belongs_together(
    signed_in: Client, sweep: list[tuple[str, bytes]], sample: Sample
) -> None:
    form = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}
    files = [SimpleUploadedFile(name, log) for name, log in sweep[:2]]
    where = signed_in.post("/imports/new/", {**form, "file": files})["Location"]
    text = " ".join(signed_in.get(where).content.decode().split())
    assert "1m.log, 4m.log: part of repeat 1 of ext4, because nothing in one" in text
    assert text.count("ext4, repeat 1, one of its 2 files") == 2
    assert "Import 1 run</button>" in text
    assert not Run.objects.exists()
    signed_in.post(f"{where}commit/", form)
    assert Run.objects.get().artefacts.count() == 2
    third = {**form, "file": SimpleUploadedFile(*sweep[2])}
    where = signed_in.post("/imports/new/", third)["Location"]
    text = " ".join(signed_in.get(where).content.decode().split())
    assert "ext4, repeat 1, which is there already" in text
    names = ("iozone-3.489-tests-0-1-2", "iozone-3.489-killed")
    both = [SimpleUploadedFile(f"{name}.txt", sample(name)) for name in names]
    form |= {"study": "Other"}
    where = signed_in.post("/imports/new/", {**form, "file": both})["Location"]
    assert "Repeat 1 of ext4 lacks 390 of the 480" in signed_in.get(where).content.decode()
    [file, _] = signed_in.get(f"/api/v1{where.rstrip('/')}").json()["files"]
    assert [run["numbered"] for run in file["runs"]] == [1]


@pytest.mark.django_db
def test_one_repeat_is_not_several(sample: Sample) -> None:
    [source] = unpack([("a.txt", io.BytesIO(sample("fs_mark-3.3-loops")))])
    described = replace(source, description=FileDescription(repeat=4))
    with pytest.raises(ImportRefused, match=r"The file holds 2 repeats: leave its repeat empty"):
        import_sources([described], Target("Lab", "ext4", "ext4"), None)
    assert len(import_sources([source], Target("Lab", "ext4", "ext4"), None).runs) == 2


@pytest.mark.django_db
def test_the_command_says_a_repeat(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("test,value,unit\nuntar,1.5,s\n")
    fields = {"study": "Lab", "filesystem": "xfs", "configuration": "xfs"}
    call_command("import_results", str(tmp_path / "a.csv"), repeat="6", **fields)
    assert Run.objects.get().repeat == 6
    with pytest.raises(CommandError, match="is not a whole number from 1"):
        call_command("import_results", str(tmp_path / "a.csv"), repeat="six", **fields)


@pytest.mark.django_db(transaction=True)
def test_parts_that_are_imported_at_once_are_one_run(sweep: list[tuple[str, bytes]]) -> None:
    def import_log(log: tuple[str, bytes]) -> list[int]:
        try:
            return do([log]).runs
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(import_log, sweep[:3]))
    assert runs == [runs[0]] * 3
    assert Run.objects.get().artefacts.count() == 3
    assert Score.objects.get(test="write", category="maximum").cells == 3
