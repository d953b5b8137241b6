"""The very same file twice: told in the preview, hidden with its study, and allowed."""

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.accounts.models import Person, Role
from fsbench_web.imports.models import Import
from fsbench_web.imports.storing import known_files
from fsbench_web.studies.models import Artefact, Study

pytestmark = pytest.mark.django_db
TARGET = {"filesystem": "ext4", "configuration": "ext4_noatime"}
HEADER = "test,record_size_kb,file_size_kb,value,unit\n"
TABLE = f"{HEADER}write,4,64,100,KiB/s\n"


def upload(client: Client, study: str, text: str = TABLE) -> str:
    file = SimpleUploadedFile("a.csv", text.encode())
    answer = client.post("/imports/new/", {**TARGET, "study": study, "file": file})
    assert answer.status_code == 302
    return str(answer["Location"])


def stored(client: Client, study: str) -> Import:
    address = upload(client, study)
    client.post(f"{address}commit/")
    return Import.objects.latest("id")


def page_and_file(client: Client, address: str) -> tuple[str, dict]:
    """The page of a preview, and its one file as the API says it."""
    page = client.get(address).content.decode()
    return page, client.get(f"/api/v1{address[:-1]}").json()["files"][0]


def test_a_file_that_is_stored_is_told_and_can_be_stored_again(signed_in: Client) -> None:
    first = stored(signed_in, "Lab")
    address = upload(signed_in, "Second lab")
    page, file = page_and_file(signed_in, address)
    assert "fsbench has this file already" in page
    assert f'href="/imports/{first.pk}/"' in page
    assert " by ada" in page
    assert "the latest of" not in page
    earlier = file["known"]
    assert (earlier["import_id"], earlier["study"], earlier["by"]) == (first.pk, "lab", "ada")
    assert (earlier["page"], earlier["times"]) == (f"/imports/{first.pk}/", 1)
    assert earlier["run"] == first.runs.get().pk
    signed_in.post(f"{address}commit/")
    assert Artefact.objects.count() == 2, "whoever means it stores it again"
    page, file = page_and_file(signed_in, upload(signed_in, "Third lab"))
    assert (file["known"]["study"], file["known"]["times"]) == ("second-lab", 2)
    assert "the latest of 2 times" in page


def test_another_file_is_not_said_to_be_known(signed_in: Client) -> None:
    stored(signed_in, "Lab")
    page, file = page_and_file(signed_in, upload(signed_in, "Lab", TABLE.replace("100", "101")))
    assert (file["known"], "has this file already" in page) == (None, False)


def test_what_only_a_hidden_study_has_is_not_told(signed_in: Client) -> None:
    other = Client()
    eve = User.objects.create_user("eve")
    Person.objects.create(user=eve, role=Role.CONTRIBUTOR)
    other.force_login(eve)
    hidden = stored(signed_in, "Secret lab")
    Study.objects.filter(pk=hidden.study_id).update(visibility="private")
    page, file = page_and_file(other, upload(other, "Lab of eve"))
    assert file["known"] is None
    assert "has this file already" not in page
    assert "Secret" not in page
    assert (
        page_and_file(signed_in, upload(signed_in, "Fourth"))[1]["known"]["study"] == "secret-lab"
    )


def test_an_output_of_a_run_leads_to_the_run(signed_in: Client) -> None:
    first = stored(signed_in, "Lab")
    first.imported_files.all().delete()
    run = first.runs.get()
    page, file = page_and_file(signed_in, upload(signed_in, "Second lab"))
    assert (file["known"]["import_id"], file["known"]["page"]) == (None, f"/runs/{run.pk}/")
    assert f'href="/runs/{run.pk}/"' in page


def test_all_files_of_an_upload_are_asked_about_at_once(
    signed_in: Client, django_assert_max_num_queries
) -> None:
    stored(signed_in, "Lab")
    digests = [*Artefact.objects.values_list("sha256", flat=True), *map(str, range(400))]
    with django_assert_max_num_queries(3):
        assert len(known_files.by_digest(digests)) == 1


def test_a_direct_import_says_what_is_stored_already(signed_in: Client) -> None:
    first = stored(signed_in, "Lab")

    def direct(study: str, **more: str) -> dict:
        file = SimpleUploadedFile("b.csv", TABLE.encode())
        form = {**TARGET, "study": study, "file": file, **more}
        return signed_in.post("/api/v1/imports", form).json()

    # Strict refuses what is lost: of this nothing is.
    answer = direct("Second lab", strict="true")
    [warning] = answer["warnings"]
    assert (warning["file"], warning["lost"], answer["state"]) == ("b.csv", False, "done")
    day = f"{first.created_at:%Y-%m-%d}"
    assert warning["message"] == (
        f"fsbench has this file already: import {first.pk} of {day} by ada, in the study lab."
    )
    # Its page says so as well.
    assert "has this file already" in signed_in.get(f"/imports/{answer['id']}/").content.decode()
    repeated = direct("Second lab", if_new="true")
    # Who wants only what is new is told by run what is known, and that once.
    assert (repeated["state"], repeated["id"], repeated["warnings"]) == ("known", None, [])
    assert len(repeated["known"]) == 1


def test_many_files_that_are_stored_already_are_told_once(signed_in: Client) -> None:
    def sent(study: str) -> dict:
        files = [
            SimpleUploadedFile(f"run{n}.csv", TABLE.replace("100", str(100 + n)).encode())
            for n in range(5)
        ]
        return signed_in.post("/api/v1/imports", {**TARGET, "study": study, "file": files}).json()

    assert sent("Lab")["state"] == "done"
    [warning] = sent("Second lab")["warnings"]
    assert (warning["file"], warning["count"], warning["lost"]) == (None, 5, False)


def test_a_direct_import_tells_nothing_of_a_hidden_study(signed_in: Client) -> None:
    hidden = stored(signed_in, "Secret lab")
    Study.objects.filter(pk=hidden.study_id).update(visibility="private")
    eve = User.objects.create_user("eve")
    Person.objects.create(user=eve, role=Role.CONTRIBUTOR)
    other = Client()
    other.force_login(eve)
    file = SimpleUploadedFile("b.csv", TABLE.encode())
    answer = other.post("/api/v1/imports", {**TARGET, "study": "Lab of eve", "file": file})
    assert answer.json()["warnings"] == []
