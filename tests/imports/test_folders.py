"""Folders and archives at once: one configuration a sub-folder, repeats by file."""

import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from pytest_django.fixtures import Settings

from fsbench_web.imports.guesses import folder_labels, from_command
from fsbench_web.imports.models import Import, ImportFile
from fsbench_web.imports.plan import plan_files
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.imports.sources import Target, safe_path, unpack
from fsbench_web.platform import plain_text
from fsbench_web.studies.models import Artefact, Run, Study
from tests.importing import import_files
from tests.measured import measurement_of

pytestmark = pytest.mark.django_db
Sample = Callable[[str], bytes]
FIRST, SECOND = "iozone-3.489-tests-0-1-2", "iozone-3.489-tests-0-1-2-again"


def table(rate: float) -> bytes:
    return f"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,{rate},KB/s\n".encode()


FILES = [
    ("lab/ext4_noatime/run10.csv", table(3)),
    ("lab/ext4_noatime/run2.csv", table(2)),
    ("lab/ext4_noatime/run1.csv", table(1)),
    ("lab/XFS/run1.csv", table(4)),
]


def zipped(files: list[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return packed.getvalue()


def tarred(files: list[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


def stored() -> list[tuple[str, int, float]]:
    return [
        (
            run.series.configuration.label,
            run.repeat,
            measurement_of(
                run,
            ).value,
        )
        for run in Run.objects.order_by("series__configuration__label", "repeat")
    ]


EXPECTED = [("ext4_noatime", 1, 1), ("ext4_noatime", 2, 2), ("ext4_noatime", 3, 3), ("xfs", 1, 4)]


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_an_archive_is_a_configuration_a_folder_and_a_repeat_a_file(
    pack: Callable[[list[tuple[str, bytes]]], bytes],
) -> None:
    result = import_files([("results", pack(FILES))], study="Lab", user=None)
    assert stored() == EXPECTED
    assert len(result.runs) == 4
    assert sorted(Artefact.objects.values_list("name", flat=True))[0] == "run1.csv"
    assert "lab/XFS/run1.csv" in Run.objects.get(series__configuration__label="xfs").reason


def test_the_command_takes_folders_and_archives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, data in FILES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    call_command("import_results", str(tmp_path / "lab"), study="Lab")
    assert stored() == EXPECTED
    (tmp_path / "all.zip").write_bytes(
        zipped([("a/ext4/1.csv", table(7)), ("a/xfs/1.csv", table(8))])
    )
    call_command("import_results", str(tmp_path / "all.zip"), study="Other")
    assert "2 runs stored" in capsys.readouterr().out


def test_a_folder_of_the_browser_is_read_like_an_archive(signed_in: Client) -> None:
    files = [SimpleUploadedFile(path.split("/")[-1], data) for path, data in FILES]
    paths = json.dumps([path for path, _ in FILES])
    answer = signed_in.post("/imports/new/", {"study": "Lab", "file": files, "paths": paths})
    assert answer.status_code == 302, answer.content.decode()
    assert signed_in.get(answer["Location"]).status_code == 200
    signed_in.post(f"{answer['Location']}commit/")
    assert stored() == EXPECTED


@pytest.mark.parametrize(
    "paths",
    ["[", "{}", '["a/b.csv"]', '["x/other.csv", 5]', "[" * 5000, '["../../a.csv", "b.csv"]'],
)
def test_paths_that_do_not_fit_are_no_paths(signed_in: Client, paths: str) -> None:
    files = [SimpleUploadedFile("a.csv", table(1)), SimpleUploadedFile("b.csv", table(2))]
    target = {"study": "Lab", "filesystem": "xfs", "configuration": "xfs"}
    signed_in.post("/imports/new/", {**target, "file": files, "paths": paths})
    assert list(ImportFile.objects.values_list("path", flat=True)) == ["a.csv", "b.csv"]


def test_everything_wrong_in_an_archive_is_told_and_nothing_is_stored() -> None:
    bad = [
        ("ext4/good.csv", table(1)),
        ("ext4/bad.csv", b"test,value,unit\nuntar,fast,s\n"),
        ("../../etc/passwd", table(2)),
        ("xfs/inner.zip", zipped([("a", b"1")])),
    ]
    with pytest.raises(ImportRefused) as refused:
        import_files([("r.zip", zipped(bad))], study="Lab", user=None)
    problems = [(p.file, p.line, p.message.split(".")[0][:40]) for p in refused.value.problems]
    assert [(file, line) for file, line, _ in problems] == [
        ("etc/passwd", None),
        ("ext4/bad.csv", 2),
        ("xfs/inner.zip", None),
    ]
    assert not Study.objects.exists()
    assert not Import.objects.exists()


def test_a_bad_file_among_good_ones_can_be_left_out(signed_in: Client) -> None:
    files = [*FILES, ("lab/XFS/bad.csv", b"test,value,unit\nsync,fast,MB/s\n")]
    upload = SimpleUploadedFile("r.zip", zipped(files))
    where = signed_in.post("/imports/new/", {"study": "Lab", "file": upload})["Location"]
    answer = signed_in.get(where)
    assert answer.status_code == 200
    text = answer.content.decode()
    assert "lab/XFS/bad.csv" in text
    assert "1 file cannot be imported as it is" in text
    assert signed_in.post(f"{where}commit/").status_code == 422
    assert not Run.objects.exists()
    form = preview_form(signed_in, where)
    bad = ImportFile.objects.get(path="lab/XFS/bad.csv")
    del form[f"take-{bad.pk}"]
    answer = signed_in.post(f"{where}check/", form, follow=True)
    assert answer.status_code == 200
    assert "Import 4 runs" in answer.content.decode()
    signed_in.post(f"{where}commit/", preview_form(signed_in, where))
    assert stored() == EXPECTED


def test_what_is_no_result_is_left_out_until_somebody_takes_it_in(signed_in: Client) -> None:
    files = [*FILES, ("lab/notes.txt", b"measured on a rainy day\n")]
    upload = SimpleUploadedFile("r.zip", zipped(files))
    where = signed_in.post("/imports/new/", {"study": "Lab", "file": upload})["Location"]
    text = signed_in.get(where).content.decode()
    assert "lab/notes.txt" in text
    assert "not the output of a tool" in text
    assert "It is left out" in text
    form = preview_form(signed_in, where)
    notes = ImportFile.objects.get(path="lab/notes.txt")
    answer = signed_in.post(f"{where}check/", form | {f"take-{notes.pk}": "1"}, follow=True)
    assert "1 file cannot be imported as it is" in answer.content.decode()
    signed_in.post(f"{where}check/", form)
    signed_in.post(f"{where}commit/", preview_form(signed_in, where))
    assert stored() == EXPECTED


def preview_form(client: Client, where: str) -> dict[str, Any]:
    """What a browser would send of the preview's form."""
    row = Import.objects.get(pk=int(where.strip("/").split("/")[-1]))
    form: dict[str, Any] = {"study": row.target["study"]}
    for file in row.files.all():
        form |= {f"{name}-{file.pk}": value or "" for name, value in file.given.items()}
        if not file.is_left_out:
            form[f"take-{file.pk}"] = "1"
    return form


def test_everything_can_be_corrected_before_it_is_stored(signed_in: Client, sample: Sample) -> None:
    files = [SimpleUploadedFile(f"{n}.txt", sample(n)) for n in (FIRST, SECOND)]
    answer = signed_in.post("/imports/new/", {"study": "Lab", "file": files})
    where = answer["Location"]
    text = signed_in.get(where).content.decode()
    assert "File system is missing" in text
    form = preview_form(signed_in, where)
    first, second = ImportFile.objects.all()
    form |= {"study": "Lab 8", "source": "ACME <labs>", "licence": "CC0"}
    for file, label, repeat in ((first, "xfs", "4"), (second, "xfs_noatime", "")):
        form |= {f"filesystem-{file.pk}": "xfs", f"configuration-{file.pk}": label}
        form |= {f"hardware-{file.pk}": "Rack 3", f"repeat-{file.pk}": repeat}
    text = signed_in.post(f"{where}check/", form, follow=True).content.decode()
    assert "xfs, repeat 4" in text
    assert "xfs_noatime, repeat 1" in text
    assert "ACME &lt;labs&gt;" in text
    assert not Run.objects.exists()
    signed_in.post(f"{where}commit/", form)
    runs = Run.objects.order_by("id").values_list(
        "series__configuration__label", "repeat", "series__hardware__name", "series__study__slug"
    )
    assert list(runs) == [("xfs", 4, "Rack 3", "lab-8"), ("xfs_noatime", 1, "Rack 3", "lab-8")]


@pytest.mark.parametrize("repeat", ["0", "-1", "x", "²", "9999999"])
def test_a_repeat_that_is_none_is_refused(signed_in: Client, sample: Sample, repeat: str) -> None:
    file = SimpleUploadedFile("a.txt", sample(FIRST))
    target = {"study": "Lab", "filesystem": "xfs", "configuration": "xfs"}
    where = signed_in.post("/imports/new/", {**target, "file": file})["Location"]
    form = preview_form(signed_in, where)
    form[f"repeat-{ImportFile.objects.get().pk}"] = repeat
    answer = signed_in.post(f"{where}commit/", form)
    assert answer.status_code == 422
    assert "is not a whole number from 1" in answer.content.decode()
    assert not Run.objects.exists()


def test_nobody_else_corrects_an_upload(signed_in: Client, client: Client, sample: Sample) -> None:
    from django.contrib.auth.models import User

    file = SimpleUploadedFile("a.txt", sample(FIRST))
    where = signed_in.post("/imports/new/", {"study": "Lab", "file": file})["Location"]
    form = preview_form(signed_in, where)
    client.force_login(User.objects.create_user("eve"))
    assert client.post(f"{where}check/", form).status_code == 404
    assert client.post(f"{where}commit/", form).status_code == 404


def test_the_same_numbers_are_shown_with_the_run_that_has_them(
    signed_in: Client, sample: Sample
) -> None:
    target = {"study": "Lab", "filesystem": "xfs", "configuration": "xfs"}
    where = signed_in.post(
        "/imports/new/", {**target, "file": SimpleUploadedFile("a.txt", sample(FIRST))}
    )["Location"]
    signed_in.post(f"{where}commit/")
    run = Run.objects.get()
    files = [SimpleUploadedFile(f"{n}.txt", sample(n)) for n in (FIRST, SECOND)]
    where = signed_in.post("/imports/new/", {**target, "file": files})["Location"]
    text = signed_in.get(where).content.decode()
    assert f'href="/runs/{run.pk}/"' in text
    form = preview_form(signed_in, where)
    form.pop(f"take-{ImportFile.objects.order_by('id')[0].pk}")
    signed_in.post(f"{where}commit/", form)
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 2]


def test_too_many_files_are_refused_in_words(signed_in: Client, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 3
    for address in ("/imports/new/", "/api/v1/imports"):
        files = [SimpleUploadedFile(f"{n}.csv", table(n)) for n in range(1, 6)]
        answer = signed_in.post(address, {"study": "Lab", "file": files})
        assert answer.status_code in (413, 422)
        assert "more than 3 files" in answer.content.decode()
    assert not Import.objects.exists()


def test_a_broken_archive_keeps_nothing(signed_in: Client) -> None:
    upload = SimpleUploadedFile("r.zip", zipped(FILES)[:-30])
    answer = signed_in.post("/imports/new/", {"study": "Lab", "file": upload})
    assert answer.status_code == 422
    assert "damaged or not complete" in answer.content.decode()
    assert not Import.objects.exists()


@pytest.mark.parametrize(
    ("paths", "labels"),
    [
        (["a.txt", "b.txt"], ["", ""]),
        (["r/ext4/1", "r/xfs_noatime/1"], ["ext4", "xfs_noatime"]),
        (["r/ext4/noatime/1", "r/ext4/1"], ["ext4_noatime", "ext4"]),
        (["ext4_noatime/1", "ext4_noatime/2"], ["ext4_noatime"] * 2),
        (["results/1", "results/2"], ["", ""]),
        (["r/ext4/cold/1", "r/xfs/warm/1"], ["ext4_cold", "xfs_warm"]),
        (["Host A!/1", "Host B/1"], ["host_a", "host_b"]),
    ],
)
def test_what_folders_say(paths: list[str], labels: list[str]) -> None:
    assert folder_labels(paths) == labels


@pytest.mark.parametrize(
    ("path", "command", "expected"),
    [
        ("a.txt", "iozone -a -f /RHTSspareLUN1/ext2/t", ("ext2", "ext2")),
        ("a.txt", "iozone -a -U /mnt/ext3_wb_noatime -f /mnt/x", ("ext3", "ext3_wb_noatime")),
        ("xfs_noatime-3.txt", "", ("xfs", "xfs_noatime")),
        ("a.txt", "fio --directory=/mnt/zfs", ("zfs", "zfs")),
        ("a.txt", "iozone -f t", ("", "")),
        ("a.txt", "iozone -f /tmp/t", ("", "")),
    ],
)
def test_what_a_command_line_says(path: str, command: str, expected: tuple[str, str]) -> None:
    guess = from_command(path, command)
    assert (guess.filesystem, guess.configuration) == expected
    assert bool(guess.reasons) == bool(expected[0])


def test_a_guess_is_named_as_one(signed_in: Client, sample: Sample) -> None:
    data = sample(FIRST).replace(b"-f t\n", b"-f /RHTSspareLUN1/ext2/t\n")
    file = SimpleUploadedFile("a.txt", data)
    where = signed_in.post("/imports/new/", {"study": "Lab", "file": file})["Location"]
    text = signed_in.get(where).content.decode()
    assert "is guessed from /RHTSspareLUN1/ext2/t in the command line" in text
    assert "ext2, repeat 1" in text


def test_of_runs_in_several_places_nothing_is_guessed(signed_in: Client) -> None:
    run = (
        "\tIozone: Performance Test of File I/O\n\tCommand line used: iozone -f /lun1/{0}/t\n"
        " kB reclen write rewrite\n {1} 4 100 200\n\niozone test complete.\n"
    )
    text = run.format("ext2", 64) + run.format("xfs", 128)
    file = SimpleUploadedFile("a.txt", text.encode())
    where = signed_in.post("/imports/new/", {"study": "Lab", "file": file})["Location"]
    text = signed_in.get(where).content.decode()
    assert "is guessed from" not in text
    assert "made in several places (/lun1/ext2/t, /lun1/xfs/t)" in text


def test_the_same_in_several_places_is_refused(signed_in: Client, sample: Sample) -> None:
    data = sample(FIRST).replace(b"-f t\n", b"-f /RHTSspareLUN1/ext2/t\n")
    data += data.replace(b"/ext2/t", b"/xfs/t")
    file = SimpleUploadedFile("a.txt", data)
    text = signed_in.post("/imports/new/", {"study": "Lab", "file": file}).content.decode()
    assert "/RHTSspareLUN1/ext2/t /RHTSspareLUN1/xfs/t" in text


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("../../etc/pass\x00wd", "etc/passwd"),
        ("C:\\lab\\x.txt", "lab/x.txt"),
        ("/", "unnamed"),
        ("a//./b", "a/b"),
        ("x/../y", "y"),
    ],
)
def test_a_path_is_a_label(path: str, label: str) -> None:
    assert safe_path(path) == label


NAMED_BACKWARDS = "ext4\u202e\u2066/run\u200b\u202etxt.csv"


def test_no_name_of_a_file_has_a_sign_that_nobody_sees(signed_in: Client) -> None:
    upload = SimpleUploadedFile("run\u200b\u202etxt.csv", FILES[0][1])
    paths = {"paths": json.dumps([NAMED_BACKWARDS])}
    signed_in.post("/imports/new/", {"study": "Lab", "file": [upload], **paths})
    assert ImportFile.objects.get().path == "ext4/runtxt.csv"
    (source,) = unpack([("a\u202e.csv", io.BytesIO(FILES[0][1]))])
    assert source.path == "a.csv"


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_no_name_in_an_archive_has_one(
    pack: Callable[[list[tuple[str, bytes]]], bytes],
) -> None:
    names = [NAMED_BACKWARDS, f"../{NAMED_BACKWARDS}", f"x/\u202e/{'y' * 600}"]
    data = pack([(name, FILES[0][1]) for name in names])
    sources = unpack([("\u202ex.zip", io.BytesIO(data)), ("y", io.BytesIO(data))])
    assert len(sources) == 6
    assert "x/ext4/runtxt.csv" in {source.path for source in sources}
    texts = [text for source in sources for text in (source.path, source.problem)]
    assert not any(map(plain_text.problem, texts))
    with pytest.raises(ImportRefused) as refused:
        unpack([("\u202ex.zip", io.BytesIO(data[: len(data) // 2]))])
    assert not any(plain_text.problem(str(problem)) for problem in refused.value.problems)


def test_of_files_with_the_same_numbers_in_a_folder_the_fullest_is_read(sample: Sample) -> None:
    """An output folder of Vdbench; its other reports are passed over as a readme is."""
    names = {"totals": "totals", "summary": "summary", "flatfile": "flatfile"}
    files = [(f"{name}.html", sample(f"vdbench-5.04-{of}")) for name, of in names.items()]
    other = ("sd1.html", files[1][1].replace(b"summary.html</title>", b"sd1.html</title>"))
    for some, fullest in ((files[:2], 1), (files, 2)):
        uploads = [("vdb.zip", io.BytesIO(zipped([*some, other])))]
        plan = plan_files(unpack(uploads), Target("Lab", "ext4", "ext4"))
        (file,) = plan.files
        assert file.source.read() == files[fullest][1]
        messages = [warning.message for warning in plan.warnings]
        assert messages.count(f"Not read: its numbers are those of {file.path}.") == len(some) - 1
        assert sum("writes next to its results" in message for message in messages) == 1
        assert plan.all_problems == []
    # Whoever chooses files one by one gets what was chosen.
    chosen = unpack([(name, io.BytesIO(data)) for name, data in files])
    assert len(plan_files(chosen, Target("Lab", "ext4", "ext4")).files) == 3


def test_the_choices_of_the_command_are_all_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call_command("import_results", "--help")
    said = capsys.readouterr().out
    assert "{," not in said
    assert "--kilobyte {1000,1024}" in said
