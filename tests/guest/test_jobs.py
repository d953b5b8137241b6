"""Jobs of guests: kernels as a dimension of tuning, and what cannot be."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import GUEST_DEVICE, Machine
from fsbench_web.studies.jobs import lookup
from fsbench_web.studies.jobs.documents import plan as job_plan
from fsbench_web.studies.jobs.documents import text as job_document
from fsbench_web.studies.jobs.documents import writer
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec, ReferenceSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Job, Series
from tests.guest.conftest import GIB, announced

MakeSpec = Callable[..., JobSpec]
pytestmark = pytest.mark.django_db


def problems_of(spec: JobSpec) -> dict[str, list[str]]:
    with pytest.raises(JobRefused) as refused:
        planned(spec)
    return refused.value.by_part


def test_a_guest_runs_a_file_system_that_the_host_lacks(guest_spec: MakeSpec, ann: User) -> None:
    runs = submit(guest_spec(), "disk1", ann)
    series = {run.series for run in runs}
    assert {row.configuration.filesystem for row in series} == {"jfs", "ext4"}
    assert {row.kernel for row in series} == {"6.1.0-44-amd64"}
    machines = [Machine.of(row.machine) for row in series]
    assert machines == [Machine("debian-6.1", "kvm", GIB, 2)] * 2
    assert not any(machine.is_emulated for machine in machines)


def test_the_host_alone_refuses_it_and_says_which_guest_can(guest_spec: MakeSpec) -> None:
    problems = problems_of(guest_spec(guest=None))["configurations"]
    assert problems == [
        "The kernel 6.1.0 cannot mount JFS. But the guest kernels debian-6.1, own-2.6 mount JFS: "
        "choose a guest as the executor."
    ]


def test_commands_name_the_disk_of_the_guest(guest_spec: MakeSpec) -> None:
    for run in planned(guest_spec()).runs:
        mkfs = next(command for command in run.commands if command.phase == "mkfs")
        assert mkfs.argv[-1] == GUEST_DEVICE
        assert run.boot_s == (4.5, True)


def test_kernels_are_a_dimension_of_tuning(guest_spec: MakeSpec, ann: User) -> None:
    configurations = tuple(ConfigurationSpec(slug, {}, "") for slug in ("ext2", "jfs"))
    spec = guest_spec(configurations=configurations, guest=GuestSpec(("debian-6.1", "own-2.6")))
    # Each kernel has schedulers of its own: none of both is left to chance.
    assert "schedulers" in problems_of(spec)
    names = ("noop", "mq-deadline", "bfq", "anticipatory")
    configurations = tuple(ConfigurationSpec("jfs", {}, name) for name in names)
    spec = spec.model_copy(update={"configurations": configurations})
    plan = planned(spec)
    ran = [(run.machine.kernel, run.scheduler, run.repeat) for run in plan.runs]
    # What was renamed is one scheduler; anticipatory and bfq exist on one side only.
    assert ran == [
        (kernel, scheduler, repeat)
        for repeat in (1, 2)
        for kernel, scheduler in (
            ("debian-6.1", "none"),
            ("debian-6.1", "mq-deadline"),
            ("debian-6.1", "bfq"),
            ("own-2.6", "none"),
            ("own-2.6", "mq-deadline"),
            ("own-2.6", "anticipatory"),
        )
    ]
    assert plan.most_runs == 12
    assert plan.left_out == (
        (
            "configurations",
            "jfs_as debian-6.1",
            'The guest kernel debian-6.1 has no I/O scheduler "anticipatory": choose one of none, '
            "mq-deadline, bfq.",
        ),
        (
            "configurations",
            "jfs_bfq own-2.6",
            'The guest kernel own-2.6 has no I/O scheduler "bfq": choose one of anticipatory, cfq, '
            "deadline, noop.",
        ),
    )
    submit(spec, "disk1", ann)
    assert len(Job.objects.get().left_out) == 2
    assert set(Series.objects.values_list("kernel", flat=True)) == {"6.1.0-44-amd64", "2.6.8.1"}


def test_what_no_kernel_can_is_a_problem_and_so_is_a_kernel_that_can_nothing(
    guest_spec: MakeSpec, old_and_new: GuestSpec
) -> None:
    btrfs = (ConfigurationSpec("btrfs", {}, "none"),)
    problems = problems_of(guest_spec(configurations=btrfs))
    assert problems["configurations"] == ["mkfs.btrfs is not in the image."]
    ext4 = (ConfigurationSpec("ext4", {}, "none"),)
    problems = problems_of(guest_spec(configurations=ext4, guest=old_and_new))
    sentence = "The kernel own-2.6 can run nothing of this job: leave it out."
    assert problems == {"guest.kernels": [sentence]}


def test_runs_of_a_guest_are_repeats_of_nothing_else(guest_spec: MakeSpec, ann: User) -> None:
    spec = guest_spec(configurations=(ConfigurationSpec("ext4", {}, "none"),))
    study = submit(spec, "disk1", ann)[0].series.study.slug
    again = spec.model_copy(update={"new_study": "", "study": study})
    for changed in (
        again,
        again.model_copy(update={"guest": None}),
        again.model_copy(update={"guest": GuestSpec(("debian-6.1",), 2048)}),
        again.model_copy(update={"guest": GuestSpec(("debian-6.1",), cpus=1)}),
    ):
        submit(changed, "disk1", ann)
    announced(accelerator="emulated", accelerator_reason="There is no /dev/kvm.")
    runs = submit(again, "disk1", ann)
    assert runs[0].series.machine["accelerator"] == "emulated"
    assert Series.objects.count() == 5
    counts = sorted(series.runs.count() for series in Series.objects.all())
    assert counts == [2, 2, 2, 2, 4]


@pytest.mark.parametrize(
    ("guest", "part", "sentence"),
    [
        (GuestSpec(()), "guest.kernels", "Choose at least one kernel"),
        (GuestSpec(("debian-7",)), "guest.kernels[0]", 'has no kernel "debian-7"'),
        (GuestSpec(("broken-5",)), "guest.kernels[0]", "It panics"),
        (GuestSpec(("own-2.6", "own-2.6")), "guest.kernels[0]", "in the job twice"),
        (GuestSpec(("debian-6.1",), 8192), "guest.memory_mib", "can give a guest 4 GiB"),
        (GuestSpec(("debian-6.1",), 1), "guest.memory_mib", "256 MiB or more"),
        (GuestSpec(("debian-6.1",), cpus=5), "guest.cpus", "can give a guest 4 CPUs"),
        (GuestSpec(("debian-6.1",), cpus=0), "guest.cpus", "1 to 256 CPUs"),
    ],
)
def test_it_refuses_guests_that_cannot_be(
    guest_spec: MakeSpec, guest: GuestSpec, part: str, sentence: str
) -> None:
    problems = problems_of(guest_spec(guest=guest))
    assert list(problems) == [part]
    assert sentence in problems[part][0]


def test_a_directory_or_a_worker_without_guests_has_none(disk: Lun, guest_spec: MakeSpec) -> None:
    folder = disk.worker.luns.get(name="folder1")
    problems = problems_of(guest_spec(lun_id=folder.pk))
    assert "a guest is given a disk" in problems["executor"][0]
    announced(usable=False, reason="QEMU is not in the image: build it anew.")
    assert problems_of(guest_spec())["executor"] == ["QEMU is not in the image: build it anew."]
    announced(kernels=[])
    assert "folder of kernels" in problems_of(guest_spec())["executor"][0]


def test_a_limit_of_memory_is_refused_in_guests(guest_spec: MakeSpec) -> None:
    spec = guest_spec(workload="pgmeter-small", parameters={"memory_mb": 512})
    assert "A guest has its memory as a whole" in " ".join(problems_of(spec)["workload"])


def test_a_reference_is_run_with_the_first_kernel(guest_spec: MakeSpec) -> None:
    reference = ReferenceSpec(ConfigurationSpec("ext4", {}, "none"), 10)
    plan = planned(guest_spec(reference=reference))
    assert {run.machine.kernel for run in plan.runs if run.is_reference} == {"debian-6.1"}


def test_document_form_and_address_say_the_same_job(
    disk: Lun, guest_spec: MakeSpec, old_and_new: GuestSpec
) -> None:
    spec = guest_spec(guest=old_and_new)
    document = writer.document_of(spec, study="In guests", lun="disk1", worker="lab1")
    assert document["executor"] == "guest"
    assert document["guest"] == {
        "kernels": ["debian-6.1", "own-2.6"],
        "memory_mib": 2048,
        "cpus": 1,
    }
    text = job_document.write(document)
    assert lookup.spec_of(job_document.read(text)).guest == old_and_new
    form = job_form.read(QueryDict(job_form.prefilled(spec).to_query()))
    assert form.spec().guest == old_and_new
    assert "executor" not in job_form.prefilled(guest_spec(guest=None)).to_query()


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        ({"executor": "vm"}, "executor"),
        ({"executor": "own", "guest": {"kernels": ["a"]}}, "guest"),
        ({"executor": "guest"}, "guest"),
        ({"guest": ["a"]}, "guest"),
        ({"guest": {}}, "guest.kernels"),
        ({"guest": {"kernels": [5]}}, "guest.kernels[0]"),
        ({"guest": {"kernels": "a", "memory_mib": "2 GiB"}}, "guest.memory_mib"),
        ({"guest": {"kernels": "a", "memory": 5}}, "guest"),
    ],
)
def test_a_document_says_where_its_guest_makes_no_sense(
    parts: dict[str, object], place: str
) -> None:
    assert place in job_plan.expand({"study": "a", "lun": "b", **parts}).unreadable


def test_problems_of_a_document_are_told_at_their_places(guest_spec: MakeSpec) -> None:
    document = writer.document_of(guest_spec(), study="S", lun="disk1", worker="lab1")
    document["guest"] = {"kernels": ["debian-6.1", "nine"], "memory_mib": 4096, "cpus": 2}
    assert list(problems_of(lookup.spec_of(document))) == ["guest.kernels[1]"]
    document["guest"] = {"kernels": ["debian-6.1"], "memory_mib": 9999, "cpus": 9}
    assert set(problems_of(lookup.spec_of(document))) == {"guest.memory_mib", "guest.cpus"}


def test_texts_that_are_no_numbers_are_refused(disk: Lun) -> None:
    query = (
        f"lun={disk.pk}&fs=ext4.1&executor=guest&kernel=debian-6.1&guest_memory_mib=2G&repeats=1"
    )
    unreadable = job_form.read(QueryDict(query)).spec().unreadable
    assert list(unreadable) == ["guest.memory_mib"]
    assert "executor" in job_form.read(QueryDict("executor=vm&repeats=1")).spec().unreadable


def test_kernels_of_other_versions_of_a_worker_are_read_as_far_as_they_go() -> None:
    worker = announced(kernels=[{"name": "bare"}, {"version": "7"}, "text"], most_cpus="many")
    ability = availability.guest(worker)
    assert ability is not None
    assert [kernel.name for kernel in ability.kernels] == ["bare"]
    assert ability.most_cpus is None
    assert ability.boot_s("bare") == (5.0, False)
