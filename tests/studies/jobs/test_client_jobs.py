"""Jobs of several clients: workers that have mounted the same export, and no others."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts.models import LunGrant, Role
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from fsbench_web.catalog.workers.machines import Machine
from fsbench_web.studies.jobs import submit_warnings
from fsbench_web.studies.jobs.features import clients as client_checks
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Run, RunClient
from fsbench_web.studies.runs import control, lifecycle
from fsbench_web.studies.runs.clients import parts
from tests.accounts.people import person
from tests.studies.conftest import worker_announcement
from tests.studies.jobs.test_mount_jobs import FOUND, IDENTITY, MakeSpec

pytestmark = pytest.mark.django_db

NFS = (ConfigurationSpec("nfs"),)


def mounted(worker: str, lun: str = "nas", **changes: Any) -> Lun:
    values: dict[str, Any] = {
        "name": lun,
        "role": "data",
        "kind": "mount",
        "device": f"/mnt/nas/fsbench-{worker}-{lun}",
        "size_bytes": 9 * 10**9,
        "identity": IDENTITY,
        "fingerprint": FOUND | {"mark": worker},
    } | changes
    luns = [*worker_announcement().luns, LunAnnouncement(**values)]
    announced = announce(worker_announcement(name=worker, luns=luns))
    return announced.luns.get(name=lun)


@pytest.fixture
def nas(disk: Lun) -> Lun:
    """That of lab1, which lab2 and lab3 have mounted as well."""
    mounted("lab3", "share")
    mounted("lab2")
    return mounted("lab1")


def client_spec(spec: MakeSpec, nas: Lun, *clients: str, **changes: Any) -> JobSpec:
    return spec(lun_id=nas.pk, configurations=NFS, clients=clients, **changes)


def refused(job: JobSpec) -> str:
    with pytest.raises(JobRefused) as refusal:
        submit(job, "nas", None)
    assert not Run.objects.exists()
    assert set(refusal.value.by_part) <= {"clients"}
    return " ".join(refusal.value.problems)


def test_all_take_part_and_each_mount_is_confirmed(nas: Lun, spec: MakeSpec, ann: User) -> None:
    job = client_spec(spec, nas, "lab3", "lab2")
    (first, *_) = planned(job).runs
    assert first.machine.clients == (("lab2", "nas"), ("lab3", "share"))
    assert not first.erases
    run = submit(job, "nas", ann)[0]
    assert run.series.machine == {"clients": [["lab2", "nas"], ["lab3", "share"]]}
    assert run.series.runs_on.words == "3 clients (with lab2, lab3)"
    assert run.confirmed == {
        "data": FOUND | {"mark": "lab1"},
        "client lab2 nas": FOUND | {"mark": "lab2"},
        "client lab3 share": FOUND | {"mark": "lab3"},
    }
    alone = submit(client_spec(spec, nas, new_study="Alone"), "nas", ann)[0]
    assert alone.series_id != run.series_id
    assert alone.series.machine == {}


def test_only_who_has_the_same_export_can(nas: Lun, spec: MakeSpec) -> None:
    mounted("lab4", fingerprint=FOUND | {"export": "/vol2"})
    announce(worker_announcement(name="lab5"))
    assert [lun.worker.name for lun in client_checks.offered_luns(nas)] == ["lab2", "lab3"]
    for other in ("lab4", "lab5", "nobody", "lab1", "lab2/disk1"):
        reason = refused(client_spec(spec, nas, other))
        assert (
            f'"{other}" is not a worker that lists a mount of the export of nas: choose of'
            in reason
        )
        assert "lab2, lab3." in reason
    assert "lab2 is named twice" in refused(client_spec(spec, nas, "lab2", "lab2/nas"))


def test_a_disk_has_no_clients(nas: Lun, spec: MakeSpec) -> None:
    disk = announce(worker_announcement()).luns.first()
    assert disk is not None
    assert client_checks.offered_luns(disk) == []
    tmpfs = mounted("lab1", fingerprint={"kind": "mount", "filesystem": "tmpfs", "export": "x"})
    assert client_checks.offered_luns(tmpfs) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"problem": "Nothing is mounted at /mnt/nas."}, "Nothing is mounted at /mnt/nas."),
        (
            {"identity": [*IDENTITY[:-1], ["Mount options", "rw,vers=3,proto=tcp,sec=sys"]]},
            "nas on lab2 is mounted as nfs3",
        ),
    ],
)
def test_a_client_that_cannot_is_told_before(
    nas: Lun, spec: MakeSpec, changes: dict[str, Any], why: str
) -> None:
    mounted("lab2", **changes)
    assert why in refused(client_spec(spec, nas, "lab2"))


def test_a_client_without_the_program_is_told_before(nas: Lun, spec: MakeSpec) -> None:
    worker = mounted("lab2").worker
    worker.capabilities = worker.capabilities | {"tools": {}}
    worker.save()
    assert "lab2" in refused(client_spec(spec, nas, "lab2"))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"tracing": ("requests",)}, "An extra run that is traced"),
        ({"guest": GuestSpec(("debian-6.1",))}, "Guests measure alone"),
    ],
)
def test_it_goes_with_neither_guests_nor_tracing(
    nas: Lun, spec: MakeSpec, changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(JobRefused) as refusal:
        planned(client_spec(spec, nas, "lab2", **changes))
    assert why in " ".join(refusal.value.problems)


def test_the_lun_of_a_client_must_be_granted(nas: Lun, client: Client) -> None:
    eve = person(Role.OPERATOR, "eve")
    LunGrant.objects.create(user=eve, lun=nas)
    client.force_login(eve)
    job = {
        "study": "Two",
        "lun": "nas",
        "worker": "lab1",
        "configurations": [{"filesystem": "nfs"}],
        "workload": "iozone-small",
        "clients": ["lab2"],
        "confirm": "nas",
    }

    def posted() -> Any:
        return client.post("/api/v1/runs", job, content_type="application/json")

    answer = posted()
    assert answer.status_code == 403
    assert not Run.objects.exists()
    LunGrant.objects.create(user=eve, lun=client_checks.offered_luns(nas)[0])
    answer = posted()
    assert answer.status_code == 201, answer.content
    assert answer.json()["runs"][0]["machine"] == {"clients": [["lab2", "nas"]]}


def test_form_review_and_pages_say_it(nas: Lun, client: Client, ann: User, spec: MakeSpec) -> None:
    client.force_login(ann)
    form = client.get("/runs/new/", {"lun": nas.pk}).content.decode()
    assert 'name="clients" value="lab2"' in form
    assert "lab1 alone" in form
    run = submit(client_spec(spec, nas, "lab2"), "nas", ann)[0]
    handle = lifecycle.claim(run.pk, nas.worker)
    assert handle is not None
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "2 clients (with lab2)" in page
    assert "asked" in page
    RunClient.objects.filter(run=run, place=1).update(
        state="failed",
        reason="<b>",
        results=[
            ["a_read_iops", "", None, None, 12.5, "ops/s"],
            ["a_read_clat_p99", "", None, None, 604, "ns"],
        ],
    )
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "&lt;b&gt;" in page
    assert "12.5" in page
    # Nanoseconds are written as microseconds, under their name.
    assert "0.604" in page
    assert ">604<" not in page
    answer = client.get(f"/api/v1/runs/{run.pk}").json()
    assert [
        (member["worker"], member["leads"], member["state"]) for member in answer["clients"]
    ] == [
        ("lab1", True, "preparing"),
        ("lab2", False, "failed"),
    ]
    assert answer["clients"][1]["results"][0]["value"] == 12.5
    assert answer["machine"] == {"clients": [["lab2", "nas"]]}
    assert "2 clients (with lab2)" in client.get("/runs/").content.decode()
    page = " ".join(client.get(f"/jobs/{run.job_id}/").content.decode().split())
    assert "on nas of lab1 and 1 other client, submitted" in page
    assert "lab1 leads</span>, lab2</dd>" in page


def test_what_the_form_is_asked_for_is_not_said_back_at_any_length(
    nas: Lun, client: Client, ann: User
) -> None:
    client.force_login(ann)
    query = {"lun": nas.pk, "variant": "nfs"}
    for clients in (["x" * 100_000], [f"n{number}" * 50 for number in range(500)]):
        for path in ("/runs/new/", "/runs/new/review/"):
            usual = len(client.get(path, query).content)
            answer = client.get(path, query | {"clients": clients})
            assert answer.status_code < 500
            assert len(answer.content) < usual + 40_000
            assert "not on the same export" in answer.content.decode()
    page = client.get("/runs/new/review/", query | {"clients": [f"n{n}" for n in range(40)]})
    assert page.status_code == 422
    assert "name 31 other workers at most, each once" in page.content.decode()


def test_a_client_by_its_full_name_is_known_to_the_form(
    nas: Lun, client: Client, ann: User
) -> None:
    client.force_login(ann)
    query = {"lun": nas.pk, "clients": ["lab2/nas", "lab3"]}
    page = client.get("/runs/new/", query).content.decode()
    assert "not on the same export" not in page
    for name in ("lab2", "lab3"):
        assert f'name="clients" value="{name}" checked' in page


def test_workers_of_one_machine_are_said_to_be(
    nas: Lun, client: Client, ann: User, spec: MakeSpec
) -> None:
    for worker, mark in (("lab1", "a"), ("lab2", "a"), ("lab3", "b")):
        announced = mounted(worker, "share" if worker == "lab3" else "nas").worker
        announced.capabilities = announced.capabilities | {"host_mark": mark}
        announced.save()
    nas.refresh_from_db()
    assert submit_warnings.of_clients(planned(client_spec(spec, nas, "lab3")).runs) == []
    (warning,) = submit_warnings.of_clients(planned(client_spec(spec, nas, "lab2", "lab3")).runs)
    assert warning.startswith("lab1, lab2 are workers of one machine")
    client.force_login(ann)
    run = submit(client_spec(spec, nas, "lab2"), "nas", ann)[0]
    assert lifecycle.claim(run.pk, nas.worker)
    assert warning in client.get(f"/runs/{run.pk}/").content.decode()
    # A result keeps what held when it was measured.
    Run.objects.filter(pk=run.pk).update(conditions={"clients": {"count": 2, "one_machine": []}})
    assert warning not in client.get(f"/runs/{run.pk}/").content.decode()


def test_it_is_submitted_again_as_it_was(nas: Lun, spec: MakeSpec, ann: User) -> None:
    run = submit(client_spec(spec, nas, "lab2"), "nas", ann)[0]
    lifecycle.cancel(run.pk, "ann")
    assert control.run_confirmation(run) == "nas"
    assert [lun.worker.name for lun, _ in control.confirmed_by([run])] == ["lab1", "lab2"]


def test_the_machine_is_read_as_it_is_stored() -> None:
    machine = Machine(clients=(("b", "nas"), ("a", "nas")))
    assert machine.stored() == {"clients": [["a", "nas"], ["b", "nas"]]}
    assert Machine.of(machine.stored()).clients == (("a", "nas"), ("b", "nas"))
    many = Machine(clients=tuple((f"n{number}", "nas") for number in range(5)))
    assert many.words == "6 clients (with n0, n1, n2 and 2 more)"
    assert parts.MOST_RESULTS < 1000
