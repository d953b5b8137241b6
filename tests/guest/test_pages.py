"""What pages and API show of guests: what a worker boots, the form, the review, a crash."""

import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.catalog.workers.machines import CONSOLE, OOPS
from fsbench_web.studies.jobs.spec import GuestSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState, Series
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.scores import ingest
from fsbench_web.studies.views import run_details
from tests.guest.conftest import announced
from tests.studies.conftest import start, worker_announcement

MakeSpec = Callable[..., JobSpec]
EMULATED = "No /dev/kvm <here>."


@pytest.fixture
def signed_in(client: Client, ann: User) -> Client:
    client.force_login(ann)
    return client


def test_the_workers_pages_show_what_it_can_boot(worker: Worker, client: Client) -> None:
    assert "guests, KVM: 2 kernels" in " ".join(client.get("/workers/").content.decode().split())
    page = client.get("/workers/lab1/").content.decode()
    assert "6.1.0-44-amd64" in page
    assert "ext2, ext3, ext4, XFS, JFS, ReiserFS" in page
    assert "anticipatory cfq deadline noop" in page
    assert "It panics before its root is mounted." in page
    assert "for function" not in page
    announced(accelerator="emulated", accelerator_reason=EMULATED)
    page = client.get("/workers/lab1/").content.decode()
    assert "Emulated: for function, not for speed." in page
    assert "No /dev/kvm &lt;here&gt;." in page
    announced(kernels=[])
    assert "No kernel to boot." in client.get("/workers/lab1/").content.decode()
    announced(usable=False, reason="QEMU is missing.")
    assert "QEMU is missing." in client.get("/workers/lab1/").content.decode()
    assert "no guests now" in client.get("/workers/").content.decode()


def test_the_api_shows_it_and_null_where_a_worker_says_nothing(
    worker: Worker, client: Client
) -> None:
    guest = client.get("/api/v1/workers").json()["workers"][0]["guest"]
    assert (guest["usable"], guest["accelerator"]) == (True, "kvm")
    assert [kernel["name"] for kernel in guest["kernels"]] == ["debian-6.1", "own-2.6", "broken-5"]
    assert guest["kernels"][0]["filesystems"]["jfs"]["usable"] is True
    announce(worker_announcement())
    assert client.get("/api/v1/workers").json()["workers"][0]["guest"] is None
    assert "reports no guest kernels" in client.get("/workers/lab1/").content.decode()


def test_the_form_offers_what_the_chosen_kernels_can(disk: Lun, signed_in: Client) -> None:
    own = signed_in.get(f"/runs/new/?lun={disk.pk}").content.decode()
    assert "But the guest kernels debian-6.1, own-2.6 mount JFS" in own
    address = f"/runs/new/?lun={disk.pk}&executor=guest&repeats=2"
    page = signed_in.get(f"{address}&kernel=own-2.6")
    assert [name for name, _ in page.context["schedulers"]] == [
        "anticipatory",
        "cfq",
        "mq-deadline",
        "none",
    ]
    text = page.content.decode()
    assert "noop in own-2.6" in text
    assert "The guest kernel own-2.6 cannot mount XFS" in text
    both = signed_in.get(f"{address}&kernel=own-2.6&kernel=debian-6.1")
    notes = dict(both.context["schedulers"])
    assert notes["bfq"] == "only with debian-6.1"
    assert notes["none"] == "noop in own-2.6"
    # Without a choice the first that can be booted.
    assert signed_in.get(address).context["form"]["kernels"] == ["debian-6.1"]
    assert "Emulated guests: they show function, not speed." not in text
    announced(accelerator="emulated", accelerator_reason=EMULATED)
    assert (
        "Emulated guests: they show function, not speed." in signed_in.get(address).content.decode()
    )


def test_the_usual_memory_is_no_more_than_a_worker_can_give(disk: Lun, signed_in: Client) -> None:
    announced(most_memory_bytes=512 * 2**20, most_cpus=1)
    form = signed_in.get(f"/runs/new/?lun={disk.pk}&executor=guest").context["form"]
    assert (form["guest_memory_mib"], form["guest_cpus"]) == ("512", "1")
    address = f"/runs/new/?lun={disk.pk}&executor=guest&guest_memory_mib=700&guest_cpus=4"
    form = signed_in.get(address).context["form"]
    assert (form["guest_memory_mib"], form["guest_cpus"]) == ("700", "4")


def test_what_stands_against_guests_leads_to_the_workers_page(disk: Lun, signed_in: Client) -> None:
    link = '<a href="/workers/lab1/#guest-head">'
    assert link not in signed_in.get(f"/runs/new/?lun={disk.pk}").content.decode()
    announced(usable=False, reason="QEMU is missing.", kernels=[])
    page = signed_in.get(f"/runs/new/?lun={disk.pk}").content.decode()
    assert "QEMU is missing." in page
    assert link in page


def test_a_directory_is_offered_no_guest(disk: Lun, signed_in: Client) -> None:
    folder = disk.worker.luns.get(name="folder1")
    page = signed_in.get(f"/runs/new/?lun={folder.pk}").content.decode()
    assert "a guest is given a disk" in page


def test_the_review_says_kernel_reboot_and_seconds(disk: Lun, signed_in: Client) -> None:
    announced(accelerator="emulated", accelerator_reason=EMULATED)
    query = (
        f"lun={disk.pk}&executor=guest&kernel=debian-6.1&kernel=own-2.6&fs=jfs.1&fs=ext4.1"
        "&scheduler=none&workload=iozone-small&repeats=2&new_study=Both"
    )
    page = signed_in.get(f"/runs/new/review/?{query}")
    text = page.content.decode()
    assert page.status_code == 200
    assert "rebooted for every run" in text
    assert "boots in at least 4.5 s" in text
    assert "boots in usually about 15 s; not measured here yet" in text
    # Two kernels with JFS and one of them with ext4, twice: four boots of one, two of the other.
    assert page.context["guest"]["boots_s"] == 4 * 4.5 + 2 * 15
    assert "Emulated: for function, not for speed." in text
    assert "The guest kernel own-2.6 cannot mount ext4" in text
    assert page.context["most_runs"] == 6


def test_one_repeat_of_one_configuration_is_said_so(disk: Lun, signed_in: Client) -> None:
    query = f"lun={disk.pk}&fs=ext4.1&fs=xfs.1&scheduler=none&workload=iozone-small&repeats=1"
    text = signed_in.get(f"/runs/new/review/?{query}&new_study=Once").content.decode()
    assert "2 configurations, 1 repeat," in text


def test_the_memory_of_the_guest_is_what_files_are_set_against(
    disk: Lun, signed_in: Client
) -> None:
    query = (
        f"lun={disk.pk}&executor=guest&kernel=debian-6.1&fs=jfs.1&scheduler=none"
        "&workload=pgmeter-small&repeats=1&new_study=Memory"
    )
    worker = disk.worker
    worker.capabilities["tools"]["fio"] = {"usable": True}
    worker.save()
    large = signed_in.get(f"/runs/new/review/?{query}&guest_memory_mib=1024")
    assert "1,024 MiB of memory can hold all of them" in " ".join(large.context["memory_warnings"])


def test_a_crash_stands_on_top_of_the_run(guest_spec: MakeSpec, ann: User, client: Client) -> None:
    run = submit(guest_spec(), "disk1", ann)[0]
    lines = ["BUG: <kernel> NULL pointer dereference", *(f"line {n}" for n in range(100))]
    handle = start(run)
    with transaction.atomic():
        ingest.store_artefact(run, CONSOLE, b"booting\n")
        ingest.store_artefact(run, OOPS, "\n".join(lines).encode())
        lifecycle.finish(handle, RunState.FAILED, "The guest's kernel crashed.")
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "BUG: &lt;kernel&gt; NULL pointer dereference" in page
    assert page.index("BUG:") < page.index("This run failed.")
    assert "21 more lines" in page
    console = run.artefacts.get(name=CONSOLE)
    assert f"/runs/{run.pk}/artefacts/{console.pk}/lines/" in page


def test_without_a_crash_the_console_is_a_click_away(
    guest_spec: MakeSpec, ann: User, client: Client
) -> None:
    run = submit(guest_spec(), "disk1", ann)[0]
    handle = start(run)
    with transaction.atomic():
        ingest.store_artefact(run, CONSOLE, b"booting\n")
        lifecycle.finish(
            handle, RunState.FAILED, "The guest sent no heartbeat for 60 s and was ended."
        )
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "Console of the guest kernel" not in page
    assert "its console" in page


def test_a_run_is_submitted_again_in_the_same_guest(guest_spec: MakeSpec, ann: User) -> None:
    run = submit(
        guest_spec(
            guest=GuestSpec(("own-2.6",), 1024, 1),
            configurations=(guest_spec().configurations[:1]),
        ),
        "disk1",
        ann,
    )[0]
    run = Run.objects.select_related("series__study", "series__lun").get(pk=run.pk)
    again = run_details.submit_again(run)
    assert "executor=guest&kernel=own-2.6&guest_memory_mib=1024&guest_cpus=1" in again
    assert "/dev/vda" in run_details.planned_commands(run)[0].argv


def test_a_run_that_was_emulated_after_all_is_of_another_series(
    guest_spec: MakeSpec, ann: User
) -> None:
    run = submit(guest_spec(), "disk1", ann)[0]
    before = run.series
    with transaction.atomic():
        moved = ingest.move_to_kernel(run, before.kernel, before.distribution, "emulated")
    assert moved.pk != before.pk
    assert moved.machine == {**before.machine, "accelerator": "emulated"}
    with transaction.atomic():
        assert ingest.move_to_kernel(run, before.kernel, before.distribution).pk == moved.pk


def test_the_api_takes_jobs_of_guests(disk: Lun, signed_in: Client, ann: User) -> None:
    _, token = tokens.create(ann, "t")
    headers = {"Authorization": f"Bearer {token}"}
    spec = {
        "study": "By call",
        "lun": "disk1",
        "confirm": "disk1",
        "configurations": [{"filesystem": "reiser3", "scheduler": "none"}],
        "workload": "iozone-small",
        "guest": {"kernels": ["debian-6.1"], "memory_mib": 512, "cpus": 1},
    }

    def send(path: str, body: object) -> tuple[int, dict[str, object]]:
        answer = signed_in.post(
            f"/api/v1/{path}", json.dumps(body), content_type="application/json", headers=headers
        )
        return answer.status_code, answer.json()

    status, body = send("runs", spec)
    assert status == 201, body
    assert Series.objects.get().machine["memory_bytes"] == 512 * 2**20
    status, body = send("runs", {**spec, "guest": {"kernels": ["nine"], "cpus": 99}})
    assert status == 422
    assert {error["field"] for error in body["errors"]} == {"guest.cpus", "guest.kernels"}  # type: ignore[attr-defined]
    document = {
        "study": "By call",
        "lun": "disk1",
        "configurations": ["jfs", "reiser3"],
        "schedulers": "none",
        "workloads": ["iozone-small"],
        "guest": {"kernels": ["debian-6.1", "own-2.6"]},
    }
    status, body = send("sweeps/preview", {"document": document})
    assert status == 200, body
    assert body["most_runs"] == 6
    runs = body["runs"]
    assert isinstance(runs, list)
    assert {run["machine"]["kernel"] for run in runs} == {"debian-6.1", "own-2.6"}
    assert {run["kernel"] for run in runs} == {"6.1.0-44-amd64", "2.6.8.1"}
    assert {run["boot_s"] for run in runs} == {4.5, 5.0}
    left_out = body["left_out"]
    assert isinstance(left_out, list)
    assert [row["configuration"] for row in left_out] == ["reiser3_none own-2.6"]
