"""Three files in a browser: what their names say, and what is the same for all of them."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.imports.guesses import from_name, repeats_from_names
from fsbench_web.imports.models import ImportFile
from fsbench_web.studies.models import Run

pytestmark = pytest.mark.django_db


def sheet(value: float, test: str = "randread") -> bytes:
    return f"test,value,unit\n{test},{value},MiB/s\n".encode()


def upload(client: Client, files: dict[str, bytes], **fields: str) -> str:
    sent = [SimpleUploadedFile(name, data) for name, data in files.items()]
    answer = client.post("/imports/new/", {"study": "Lab", "file": sent, **fields})
    assert answer.status_code == 302, answer.content.decode()
    return str(answer["Location"])


THREE = {f"xfs-randread-{n}.csv": sheet(n) for n in (2, 1, 3)}


def test_names_say_file_system_configuration_and_repeat(signed_in: Client) -> None:
    where = upload(signed_in, THREE)
    given = {file.path: file.given for file in ImportFile.objects.all()}
    assert {
        path: (said["filesystem"], said["configuration"], said["repeat"])
        for path, said in given.items()
    } == {f"xfs-randread-{n}.csv": ("xfs", "xfs", n) for n in (1, 2, 3)}
    assert signed_in.post(f"{where}commit/").status_code == 302
    runs = Run.objects.order_by("repeat").select_related("series__configuration")
    assert [(run.series.configuration.label, run.repeat) for run in runs] == [
        ("xfs", n) for n in (1, 2, 3)
    ]


def test_what_is_the_same_for_all_files_is_said_once(signed_in: Client) -> None:
    where = upload(signed_in, {"a.csv": sheet(1), "b.csv": sheet(2)})
    text = signed_in.get(where).content.decode()
    assert 'aria-label="Same for all files"' in text
    assert signed_in.post(f"{where}commit/").status_code == 422
    first, second = ImportFile.objects.order_by("path")
    form = {"filesystem": "ext4", "configuration": "ext4_noatime", "hardware": "Old server"}
    for file in (first, second):
        form |= {f"take-{file.pk}": "1", f"configuration-{file.pk}": "", f"hardware-{file.pk}": ""}
    form[f"hardware-{second.pk}"] = "New server"
    assert signed_in.post(f"{where}commit/", form).status_code == 302
    runs = Run.objects.select_related("series__configuration", "series__hardware")
    assert {(run.series.configuration.label, run.series.hardware.name) for run in runs} == {
        ("ext4_noatime", "Old server"),
        ("ext4_noatime", "New server"),
    }


def test_what_was_said_of_all_files_can_be_said_anew(signed_in: Client) -> None:
    where = upload(signed_in, {"a.csv": sheet(1), "b.csv": sheet(2)}, filesystem="ext3")
    first, second = ImportFile.objects.order_by("path")
    form = {"filesystem": "ext4", "configuration": "ext4"}
    for file in (first, second):
        form |= {f"take-{file.pk}": "1", f"configuration-{file.pk}": ""}
        form |= {f"filesystem-{file.pk}": "ext3"}
    assert signed_in.post(f"{where}check/", form).status_code == 302
    assert {file.given["filesystem"] for file in ImportFile.objects.all()} == {"ext4"}


def test_numbers_in_names_are_no_repeats_where_files_measure_other_things(
    signed_in: Client,
) -> None:
    upload(signed_in, {"xfs-1.csv": sheet(1), "xfs-2.csv": sheet(2, "randwrite")})
    assert {file.given["repeat"] for file in ImportFile.objects.all()} == {None}


def test_a_study_with_runs_numbers_further_repeats_itself(signed_in: Client) -> None:
    where = upload(signed_in, THREE)
    signed_in.post(f"{where}commit/")
    where = upload(signed_in, {f"xfs-randread-{n}.csv": sheet(n + 10) for n in (1, 2)})
    assert signed_in.post(f"{where}commit/").status_code == 302
    assert list(Run.objects.order_by("repeat").values_list("repeat", flat=True)) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("xfs-randread-1.json", "xfs"),
        ("lab_ext4_noatime_run2.txt", "ext4_noatime"),
        ("ext4-noatime-randread.json", "ext4_noatime"),
        ("results-2.txt", ""),
    ],
)
def test_a_label_is_found_among_the_words_of_a_name(name: str, label: str) -> None:
    assert from_name(name).configuration == label


def test_only_what_counts_from_one_counts_repeats() -> None:
    assert repeats_from_names(["xfs-0.txt", "xfs-1.txt"]) == {"xfs-0.txt": 1, "xfs-1.txt": 2}
    for names in (["a-16.txt", "a-32.txt"], ["a-1.txt"], ["a-1.txt", "a-3.txt"], ["a.txt"]):
        assert repeats_from_names(names) == {}
