"""A job file beside fio's output: kept through the preview, and for reading again."""

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.imports import rereads as reading
from fsbench_web.imports.models import ImportedFile, ImportFile
from fsbench_web.studies.models import Artefact, Score
from tests.api.imports.test_fio_beside import JOB_FILE, theirs
from tests.importing import import_files

pytestmark = pytest.mark.django_db
TEST = "random_8k_read_iops@iodepth=8"
TARGET = {"study": "Lab", "filesystem": "xfs", "configuration": "xfs"}


def test_a_preview_stores_what_it_showed_although_the_job_file_is_left_out(
    signed_in: Client,
) -> None:
    files = [SimpleUploadedFile(*theirs("terse")), SimpleUploadedFile(*JOB_FILE)]
    address = signed_in.post("/imports/new/", {"file": files, **TARGET})["Location"]
    assert [file.path for file in ImportFile.objects.filter(is_left_out=True)] == [JOB_FILE[0]]
    assert signed_in.post(f"{address}commit/", follow=True).status_code == 200
    assert Score.objects.filter(test=TEST).exists()


def test_what_the_job_file_said_is_kept_for_reading_again(ada: User) -> None:
    import_files([JOB_FILE, theirs("terse")], **TARGET, user=ada)
    artefact = Artefact.objects.get()
    assert reading.difference(artefact).is_empty
    ImportedFile.objects.update(beside={})
    difference = reading.difference(artefact)
    assert difference.total(reading.ADDED) == difference.total(reading.REMOVED) > 0
