"""Uploading workloads: who may, versions that never change, and jobs that name one."""

import json
import threading

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import Role
from fsbench_web.catalog.models import Lun, OwnWorkload, Workload
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.catalog.workloads.own_workloads import add_version, offered_presets, preset_of
from fsbench_web.core.workloads import ParameterError
from fsbench_web.studies.models import Run
from tests.accounts.people import person
from tests.studies.conftest import worker_announcement

pytestmark = pytest.mark.django_db
JOB = "[job]\nrw=randread\nsize=2m\nbs=4k\n"
HOSTILE = "[job]\nexec_prerun=<script>alert(1)</script>\n"


@pytest.fixture
def lun() -> Lun:
    announcement = worker_announcement()
    usable = {"usable": True, "version": "1", "package": "", "reason": ""}
    announcement.capabilities["tools"] |= {"fio": usable, "own:iozone": usable}
    return announce(announcement).luns.get(name="disk1")


@pytest.fixture
def root() -> User:
    return User.objects.create_user("root", is_staff=True)


@pytest.fixture
def administrator(root: User) -> Client:
    client = Client()
    client.force_login(root)
    return client


def form(**changes: object) -> dict[str, object]:
    return {
        "title": "Small reads",
        "kind": "fio",
        "text": JOB,
        "space_mb": "16",
        "parser": "fio-json",
    } | changes


def test_operators_may_upload_and_administrators_withdraw(client: Client, root: User) -> None:
    row = add_version("Mine", "fio", JOB, space_mb=16, by=root)
    paths = ("/workloads/new/", f"/workloads/{row.pk}/withdraw/")
    assert [client.post(path, form()).status_code for path in paths] == [302, 302]
    client.force_login(person(Role.CONTRIBUTOR))
    answers = [client.post(path, form()) for path in paths]
    assert [answer.status_code for answer in answers] == [403, 403]
    assert "needs the role operator" in answers[0].content.decode()
    assert client.get("/workloads/new/").status_code == 403
    assert not OwnWorkload.objects.exclude(pk=row.pk).exists()
    client.force_login(person(Role.OPERATOR))
    answers = [client.post(path, form()) for path in paths]
    assert [answer.status_code for answer in answers] == [302, 403]
    assert "needs the role administrator" in answers[1].content.decode()
    row.refresh_from_db()
    assert not row.is_withdrawn


def test_an_upload_is_a_version_and_the_next_one_another(administrator: Client, root: User) -> None:
    assert administrator.get("/workloads/new/").status_code == 200
    assert administrator.post("/workloads/new/", form()).status_code == 302
    same = administrator.post("/workloads/new/", form())
    assert same.status_code == 422
    assert "Version 1 says the same" in same.content.decode()
    file = SimpleUploadedFile("job.fio", JOB.replace("4k", "8k").encode())
    assert administrator.post("/workloads/new/", form(text="", file=file)).status_code == 302
    first, second = OwnWorkload.objects.order_by("version")
    assert (first.slug, first.version, first.text) == ("small-reads", 1, JOB)
    assert (second.slug, second.version, second.created_by) == ("small-reads", 2, root)
    # Only the newest is offered, and every one can be named.
    uploaded = [preset.slug for preset in offered_presets() if preset.slug.startswith("own-")]
    assert uploaded == ["own-small-reads-v2"]
    old = preset_of("own-small-reads-v1")
    assert old is not None
    assert old.parameters["text"] == JOB
    named = [preset.slug for preset in offered_presets({"own-small-reads-v1"})]
    assert named[-2:] == ["own-small-reads-v1", "own-small-reads-v2"]
    page = Client().get("/workloads/").content.decode()
    assert "own-small-reads-v1" in page

    assert administrator.post(f"/workloads/{second.pk}/withdraw/").status_code == 302
    assert not [preset for preset in offered_presets() if preset.slug.startswith("own-")]
    assert preset_of("own-small-reads-v2") is not None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"text": HOSTILE}, "Line 2: the option exec_prerun is not among those"),
        ({"text": ""}, "Give a file, or write the text."),
        ({"text": "[job]\nbs=\x00"}, "Null characters are not allowed"),
        ({"title": ""}, "This field is required"),
        ({"title": "///"}, "letters or digits"),
        ({"title": "x" * 101}, "at most 100 characters"),
        ({"kind": "shell"}, "not one of the available choices"),
        ({"kind": "command", "text": "/bin/sh -c reboot"}, "without a path"),
        ({"kind": "command", "text": "dd of=/dev/sda"}, "a path must begin with {folder}"),
        ({"kind": "command", "text": "dd", "parser": "nosuch"}, "not one of the available choices"),
        ({"space_mb": "0"}, "greater than or equal to 1"),
        ({"text": "[j]\n" + "bs=4k\n" * 9000}, "at most 32,768 characters"),
    ],
)
def test_what_cannot_be_is_refused_and_kept_in_the_form(
    administrator: Client, changes: dict[str, object], words: str
) -> None:
    answer = administrator.post("/workloads/new/", form(**changes))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert words in page
    assert "<script>alert" not in page
    assert not OwnWorkload.objects.exists()


def test_a_file_that_is_no_text_is_refused(administrator: Client) -> None:
    for data in (b"\xff\xfe[job]", b"[job]\n" + b"x" * 40_000):
        file = SimpleUploadedFile("job.fio", data)
        assert administrator.post("/workloads/new/", form(text="", file=file)).status_code == 422
    assert not OwnWorkload.objects.exists()


def test_titles_that_would_be_the_same_name_are_told_apart(root: User) -> None:
    add_version("Small reads", "fio", JOB, space_mb=16, by=root)
    with pytest.raises(ParameterError, match="too much like “Small reads”"):
        add_version("small-reads", "fio", JOB, space_mb=32, by=root)


def test_what_a_later_release_refuses_takes_no_page_away(
    administrator: Client, root: User, lun: Lun
) -> None:
    row = add_version("Small reads", "fio", JOB, space_mb=16, by=root)
    OwnWorkload.objects.filter(pk=row.pk).update(text=HOSTILE)
    page = administrator.get(f"/runs/new/?lun={lun.pk}&workload=own-small-reads-v1")
    assert page.status_code == 200
    assert "own-small-reads-v1" not in [preset.slug for preset in offered_presets()]
    spec = f"lun={lun.pk}&fs=ext4.1&scheduler=none&repeats=1&new_study=S"
    review = administrator.get(f"/runs/new/review/?{spec}&workload=own-small-reads-v1")
    assert review.status_code == 422
    assert "exec_prerun is not among those" in review.content.decode()


def test_a_job_keeps_its_version(administrator: Client, root: User, lun: Lun) -> None:
    add_version("Small reads", "fio", JOB, space_mb=16, by=root)
    token = tokens.create(root, "tests")[1]
    page = administrator.get(f"/runs/new/?lun={lun.pk}&workload=own-small-reads-v1").content
    assert b"Uploaded here" in page
    assert b"own-small-reads-v1.time_limit_s" in page
    assert b"own-small-reads-v1.text" not in page
    spec = {
        "study": "Mine",
        "lun": "disk1",
        "confirm": "disk1",
        "configurations": [{"filesystem": "ext4", "scheduler": "none"}],
        "workload": "own-small-reads-v1",
        "repeats": 1,
    }

    def post(**changes: object) -> tuple[int, str]:
        answer = Client().post(
            "/api/v1/runs",
            json.dumps(spec | changes),
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}"},
        )
        return answer.status_code, answer.content.decode()

    for key, value in (("text", "[x]\nrw=write\n"), ("space_mb", 1), ("name", "x"), ("version", 2)):
        status, text = post(parameters={key: value})
        assert status == 422
        assert "belongs to the workload itself" in text
    assert post(workload="own-small-reads-v2")[0] == 422
    assert not Run.objects.exists()
    assert post(parameters={"time_limit_s": 60})[0] == 201
    assert post()[0] == 201
    add_version("Small reads", "fio", JOB + "iodepth=4\n", space_mb=16, by=root)
    assert post()[0] == 201
    assert set(Workload.objects.values_list("parameters__text", flat=True)) == {JOB}
    assert Workload.objects.get(slug="own-small-reads-v1").title == "Small reads, version 1"
    run = Run.objects.order_by("-pk").first()
    assert run is not None
    assert "own-small-reads-v1" in administrator.get(f"/runs/{run.pk}/").content.decode()


def test_a_command_that_no_worker_may_call_is_kept_with_a_warning(
    administrator: Client, root: User, lun: Lun
) -> None:
    sentence = "No worker lets uploaded commands call fs_mark now"
    upload = form(title="Marks", kind="command", text="fs_mark -d {folder}", parser="table")
    page = administrator.post("/workloads/new/", upload, follow=True)
    assert sentence in page.content.decode()
    fine = add_version("Zone", "command", "iozone -a", parser="iozone", space_mb=16, by=root)
    job = add_version("Reads", "fio", JOB, space_mb=16, by=root)
    rows = administrator.get("/api/v1/own-workloads").json()["workloads"]
    warnings = {row["title"]: row["warning"] for row in rows}
    assert warnings["Marks"].startswith(sentence)
    assert (warnings["Zone"], warnings["Reads"]) == ("", "")
    for row in (fine, job):
        assert "No worker lets" not in administrator.get(f"/workloads/{row.pk}/").content.decode()
    response = administrator.post(
        "/api/v1/own-workloads",
        {"title": "More", "kind": "command", "text": "fs_mark -n 1", "parser": "table"},
        content_type="application/json",
    )
    assert response.json()["warning"].startswith(sentence)
    # The host names it: the next heartbeat takes the warning away.
    announcement = worker_announcement()
    usable = {"usable": True, "version": "3.3", "package": "", "reason": ""}
    announcement.capabilities["tools"] |= {"own:fs_mark": usable}
    announce(announcement)
    rows = administrator.get("/api/v1/own-workloads").json()["workloads"]
    assert {row["title"]: row["warning"] for row in rows}["Marks"] == ""


def test_a_command_is_refused_where_no_host_allows_its_program(
    administrator: Client, root: User, lun: Lun
) -> None:
    for title, text in (("Allowed", "iozone -f {folder}/x"), ("Not", "dd of={folder}/x")):
        add_version(title, "command", text, parser="iozone", space_mb=16, by=root)
    spec = f"lun={lun.pk}&fs=ext4.1&scheduler=none&repeats=1&new_study=S&workload=own-"
    allowed = administrator.get(f"/runs/new/review/?{spec}allowed-v1")
    assert allowed.status_code == 200
    assert "iozone -f /mnt/fsbench/fsbench.work/x" in allowed.content.decode()
    refused = administrator.get(f"/runs/new/review/?{spec}not-v1")
    assert refused.status_code == 422
    assert "does not let uploaded commands call dd" in refused.content.decode()


def test_the_list_is_reached_from_where_workloads_are_used(
    lun: Lun, administrator: Client, root: User
) -> None:
    add_version("Small reads", "fio", JOB, space_mb=1024, by=root)
    for address in ("/runs/", f"/runs/new/?lun={lun.pk}", "/operations/", "/people/"):
        assert 'href="/workloads/"' in administrator.get(address).content.decode(), address
    client = Client()
    operator = person(Role.OPERATOR)
    client.force_login(operator)
    form = client.get("/runs/new/").content.decode()
    assert 'href="/workloads/new/"' in form
    row = OwnWorkload.objects.get()
    assert "<dd>1 GiB</dd>" in client.get(f"/workloads/{row.pk}/").content.decode()


@pytest.mark.django_db(transaction=True)
def test_uploads_at_the_same_moment_are_versions_of_their_own(root: User) -> None:
    def upload(number: int) -> None:
        try:
            text = JOB.replace("2m", f"{number}m")
            add_version("Small reads", "fio", text, space_mb=16, by=root)
        finally:
            connection.close()

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(OwnWorkload.objects.values_list("version", flat=True)) == [1, 2, 3, 4]
