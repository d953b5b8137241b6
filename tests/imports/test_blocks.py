"""What was measured beside each other: a column of a table, or folders of the same name."""

import io
import zipfile

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.imports import rereads, uploads
from fsbench_web.imports.models import ImportedFile
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.imports.sources import FileDescription, Target, unpack
from fsbench_web.imports.storing.commit import import_uploads
from fsbench_web.studies.models import Artefact, Run
from tests.importing import import_files

pytestmark = pytest.mark.django_db

HEADER = "filesystem,configuration,block,test,value,unit"
ROWS = [
    *("ext4,ext4,night 1,untar,10,s", "xfs,xfs,night 1,untar,11,s"),
    *("ext4,ext4,night 2,untar,10,s", "xfs,xfs,,untar,12,s"),
]


def table(*rows: str, header: str = HEADER) -> bytes:
    return "\n".join([header, *rows, ""]).encode()


def stored() -> list[tuple[str, int, str]]:
    runs = Run.objects.order_by("series__configuration__label", "repeat")
    return [(run.series.configuration.label, run.repeat, run.block) for run in runs]


EXPECTED = [("ext4", 1, "night 1"), ("ext4", 2, "night 2"), ("xfs", 1, "night 1"), ("xfs", 2, "")]


def test_a_table_says_it_in_a_column() -> None:
    import_files([("t.csv", table(*ROWS))], study="Lab", user=None)
    assert stored() == EXPECTED
    artefact = Artefact.objects.get()
    assert rereads.difference(artefact).is_empty
    # An import of before there were blocks kept four words of each run.
    imported = ImportedFile.objects.get()
    assert {len(key) for key, _ in imported.runs} == {6}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["ext4,ext4,a,untar,10,s", "ext4,ext4,a,untar,11,s"], "column repeat, date or block"),
        ([f"ext4,ext4,{'x' * 61},untar,10,s"], "more than 60 characters"),
    ],
)
def test_what_cannot_be_is_refused(rows: list[str], message: str) -> None:
    with pytest.raises(ImportRefused, match=message):
        import_files([("t.csv", table(*rows))], study="Lab", user=None)
    assert not Run.objects.exists()


def archive(*names: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for number, name in enumerate(names):
            file.writestr(name, table(f"untar,{number + 10},s", header="test,value,unit"))
    return packed.getvalue()


NAMES = ("repeat-1/ext4.csv", "repeat-1/xfs.csv", "repeat-2/ext4.csv", "repeat-2/xfs.csv")
UNDER = ("ext4/repeat-1/a.csv", "xfs/repeat-1/a.csv", "ext4/repeat-2/a.csv", "xfs/repeat-2/a.csv")


STORED = [
    *(("ext4", 1, "repeat-1"), ("ext4", 2, "repeat-2")),
    *(("xfs", 1, "repeat-1"), ("xfs", 2, "repeat-2")),
]


@pytest.mark.parametrize("names", [NAMES, UNDER])
def test_folders_are_blocks_where_somebody_says_so(names: tuple[str, ...]) -> None:
    import_uploads(
        [("lab.zip", io.BytesIO(archive(*names)))], Target("Lab", blocks="folders"), None
    )
    assert stored() == STORED


def test_what_is_said_of_all_files_goes_before_their_names() -> None:
    target = Target("Lab", "ext4", "ext4", blocks="folders")
    import_uploads([("lab.zip", io.BytesIO(archive(*NAMES)))], target, None)
    assert {run.series.configuration.label for run in Run.objects.all()} == {"ext4"}


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("names", [NAMES, UNDER])
def test_the_preview_calls_no_configuration_by_a_block(
    names: tuple[str, ...], is_late: bool, ada: User
) -> None:
    """It may be said before the upload, or in the preview."""
    target = Target("Lab", blocks="folders")
    sources = unpack([("lab.zip", io.BytesIO(archive(*names)))])
    row = uploads.store_upload(sources, Target("Lab") if is_late else target, ada)
    descriptions = {file.pk: FileDescription.from_json(file.given) for file in row.files.all()}
    corrections = {
        pk: uploads.Correction(description, False) for pk, description in descriptions.items()
    }
    uploads.correct(row.pk, target, corrections, ada)
    uploads.commit_stashed(row.pk, ada)
    assert stored() == STORED


def test_a_folder_that_cannot_be_a_block_is_refused() -> None:
    """Cut to what fits, two blocks would be one."""
    packed = archive(f"ext4/{'x' * 61}/a.csv", f"xfs/{'x' * 61}/a.csv")
    with pytest.raises(ImportRefused, match="more than 60 characters"):
        import_uploads([("lab.zip", io.BytesIO(packed))], Target("Lab", blocks="folders"), None)


def test_a_column_that_cannot_be_a_block_is_refused() -> None:
    table = "test,block,value,unit\nwrite,a\u202eb,100,KB/s\n".encode()
    with pytest.raises(ImportRefused, match="U\\+202E"):
        import_uploads([("a.csv", io.BytesIO(table))], Target("Lab", "ext4", "ext4"), None)


def test_nobody_takes_folders_for_blocks_by_themselves() -> None:
    import_files([("lab.zip", archive("ext4/a.csv", "xfs/a.csv"))], study="Lab", user=None)
    assert {run.block for run in Run.objects.all()} == {""}


def test_the_api_takes_it(client: Client, ada: User) -> None:
    client.force_login(ada)
    form = {"study": "Lab", "file": io.BytesIO(archive(*UNDER)), "blocks": "maybe"}
    form["file"].name = "lab.zip"  # type: ignore[attr-defined]
    refused = client.post("/api/v1/imports", form)
    assert refused.status_code == 422
    assert 'blocks is "maybe"' in refused.json()["detail"]
    form["file"] = io.BytesIO(archive(*UNDER))
    form["file"].name = "lab.zip"  # type: ignore[attr-defined]
    response = client.post("/api/v1/imports", form | {"blocks": "folders"})
    assert response.status_code == 201, response.content
    run = client.get(f"/api/v1/runs/{response.json()['runs'][0]}").json()
    assert run["block"] == "repeat-1"
