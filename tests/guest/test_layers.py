"""Jobs with layers below their file systems: in guests alone, and with kernels that have them."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.configurations.layers import Layer, layer_modules, programs_of
from fsbench_web.catalog.configurations.stacks import Stack
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from fsbench_web.studies.jobs.documents.plan import expand
from fsbench_web.studies.jobs.documents.writer import document_of
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Run
from tests.guest.conftest import GIB, NEW, OLD, guests
from tests.studies.conftest import USABLE, worker_announcement

pytestmark = pytest.mark.django_db

MD, LUKS = Layer.of({"layer": "md", "level": "raid1"}), Layer("luks")
ON_BOTH = Stack(("disk2",), layers=(MD, LUKS))


@pytest.fixture
def worker(db: None) -> Worker:
    """One with a second disk, the tools, and a kernel with and one without the modules."""
    plain = worker_announcement()
    programs = programs_of([MD, LUKS, Layer.of({"layer": "lvm", "layout": "thin"})])
    can = {
        "tools": plain.capabilities["tools"] | dict.fromkeys(programs, USABLE),
        "guest": guests(kernels=[NEW | {"layers": sorted(layer_modules())}, OLD]),
    }
    disk2 = LunAnnouncement("disk2", "data", "device", "/dev/disk2", 20 * GIB, [], ["none"])
    return announce(
        worker_announcement(capabilities=plain.capabilities | can, luns=[*plain.luns, disk2])
    )


MakeSpec = Callable[..., JobSpec]


def stacked(stack: Stack = ON_BOTH, filesystem: str = "ext4") -> tuple[ConfigurationSpec, ...]:
    return (ConfigurationSpec(filesystem, {}, "none", stack=stack),)


def problems(spec: JobSpec) -> str:
    with pytest.raises(JobRefused) as refused:
        submit(spec, "disk1 disk2", None)
    assert not Run.objects.exists()
    return " ".join(refused.value.problems)


def test_it_is_planned_with_the_names_of_the_guest(guest_spec: MakeSpec, ann: User) -> None:
    spec = guest_spec(configurations=stacked(), guest=GuestSpec(("debian-6.1",)), repeats=1)
    (run,) = planned(spec).runs
    assert run.configuration == "ext4_md-raid1_luks_2luns_none"
    assert run.commands[0].argv == ("wipefs", "--all", "/dev/vda", "/dev/vdb")
    assert run.shown_command.argv[-1] == "/dev/mapper/fsbench1-0"
    assert run.commands[-1].argv == ("wipefs", "--all", "/dev/vda", "/dev/vdb")
    (submitted,) = submit(spec, "disk1 disk2", ann)
    stored = submitted.series.configuration.stack
    assert stored == {
        "data": 2,
        "layers": [{"layer": "md", "level": "raid1"}, {"layer": "luks"}],
    }


def test_a_layer_on_one_lun_is_another_configuration(guest_spec: MakeSpec, ann: User) -> None:
    both = (ConfigurationSpec("ext4", {}, "none"), *stacked(Stack(layers=(LUKS,))))
    spec = guest_spec(configurations=both, guest=GuestSpec(("debian-6.1",)), repeats=1)
    runs = submit(spec, "disk1", ann)
    assert [run.series.configuration.label for run in runs] == ["ext4_none", "ext4_luks_none"]


def test_layers_are_refused_outside_of_a_guest(guest_spec: MakeSpec) -> None:
    assert "made in guests alone" in problems(guest_spec(configurations=stacked(), guest=None))


def test_a_kernel_without_their_modules_is_refused(guest_spec: MakeSpec) -> None:
    spec = guest_spec(
        configurations=(ConfigurationSpec("ext3", {}, "deadline", stack=ON_BOTH),),
        guest=GuestSpec(("own-2.6",)),
    )
    text = problems(spec)
    assert "The guest kernel own-2.6 has no md_mod, raid1 for md raid1" in text


def test_a_cache_that_bcache_would_refuse_is_refused_with_the_reason(
    guest_spec: MakeSpec, worker: Worker
) -> None:
    """Linux says "not permitted" of a cache of 512 buckets or less."""
    worker.luns.filter(name="disk2").update(role="journal", size_bytes=64 * 2**20)
    small = Layer.of({"layer": "bcache", "cache_mode": "writeback"})
    stack = Stack(cache=("disk2",), layers=(small,))
    text = problems(guest_spec(configurations=stacked(stack)))
    assert "bcache needs 256.5 MiB or more with buckets of this size, and disk2 has 64 MiB" in text
    fits = Layer.of({"layer": "bcache", "cache_mode": "writeback", "bucket_kb": 64})
    submit(
        guest_spec(configurations=stacked(Stack(cache=("disk2",), layers=(fits,)))),
        "disk1 disk2",
        None,
    )
    label = Run.objects.first().series.configuration.label  # type: ignore[union-attr]
    assert label == "ext4_bcache-writeback-b64_1cache_none"


def test_what_a_workload_misses_on_a_file_system_is_said(guest_spec: MakeSpec) -> None:
    spec = guest_spec(
        configurations=(ConfigurationSpec("exfat", {}, "none"),), workload="container-image-small"
    )
    text = problems(spec)
    assert "Container image needs symbolic links and hard links, and exFAT has none" in text


def test_an_image_without_their_tools_is_refused(guest_spec: MakeSpec, worker: Worker) -> None:
    worker.executor = "docker"
    worker.capabilities["tools"]["mdadm"] = {"usable": False, "reason": "mdadm is not there."}
    worker.save()
    spec = guest_spec(configurations=stacked(), guest=GuestSpec(("debian-6.1",)))
    assert "mdadm is not there. The benchmark image has it" in problems(spec)


def document(**changes: Any) -> dict[str, Any]:
    return {
        "study": "Stacks",
        "lun": "disk1",
        "configurations": ["ext4"],
        "schedulers": ["none"],
        "workloads": ["iozone-small"],
        "executor": "guest",
        "guest": {"kernels": ["debian-6.1"]},
    } | changes


def test_values_of_layers_multiply_and_the_document_is_written_as_it_was() -> None:
    md = {"layer": "md", "level": ["raid0", "raid10"], "chunk_kb": [64, "512", "default"]}
    luns = ["disk2", "disk3", "disk4"]
    plan = expand(document(stacks=["single", {"luns": luns, "layers": [md, "luks"]}]))
    assert plan.unreadable == {}
    labels = ["_".join(layer.label for layer in spec.stack.layers) for spec in plan.configurations]
    assert labels == [
        "",
        *("md-raid0-c64_luks", "md-raid0-c512_luks", "md-raid0_luks"),
        *("md-raid10-c64_luks", "md-raid10-c512_luks", "md-raid10_luks"),
    ]
    again = expand(document_of(plan, study="Stacks", lun="disk1", worker=""))
    assert again.configurations == plan.configurations


@pytest.mark.parametrize(
    ("layers", "place", "words"),
    [
        (
            ["zfs"],
            "stacks.layers[0]",
            '"zfs" is not a layer: write one of md, lvm, luks, integrity',
        ),
        ([{"layer": "md"}], "stacks.layers[0]", "needs its level"),
        ([7], "stacks.layers[0]", "A layer is one of md, lvm, luks"),
        (["luks"] * 7, "stacks.layers", "6 layers at most"),
        ([{"layer": "luks", "key_bits": [256, 1]}], "stacks.layers[0]", "is not one of 256, 512"),
    ],
)
def test_what_is_no_layer_is_told_with_its_place(layers: object, place: str, words: str) -> None:
    by_place = dict(expand(document(stacks={"layers": layers})).unreadable)
    assert words in " ".join(by_place[place]), by_place


def test_the_form_offers_layers_to_guests_and_brings_them_to_the_review(
    ann: User, disk: Lun
) -> None:
    client = Client()
    client.force_login(ann)
    query = [
        ("lun", str(disk.pk)),
        *(("fs", "ext4.1"), ("ext4.1.luns", "disk2"), ("ext4.1.layers", "md-raid1_luks")),
        *(("scheduler", "none"), ("workload", "iozone-small"), ("repeats", "1")),
        *(("executor", "guest"), ("kernel", "debian-6.1"), ("new_study", "Stacks")),
    ]

    def page(address: str, changed: list[tuple[str, str]]) -> str:
        answer = client.get(f"{address}?{urlencode(changed)}")
        return unescape(re.sub(r"\s+", " ", answer.content.decode()))

    form = page("/runs/new/", query)
    assert re.search(r'name="ext4.1.layers">.*?value="md-raid1_luks" selected>md raid1, then', form)
    assert re.search(r'name="ext4.1.luns" value="disk2" checked', form)
    review = page("/runs/new/review/", query)
    assert "ext4_md-raid1_luks_2luns_none" in review
    assert "Everything on disk1 and disk2 will be erased" in review
    own = [pair for pair in query if pair[0] not in ("executor", "kernel")]
    assert 'name="xfs.1.layers"' not in page("/runs/new/", own)
    assert "choose a guest as the executor" in page("/runs/new/review/", own)
    wrong = [(key, "md-raid9" if key.endswith("layers") else value) for key, value in query]
    assert '"md-raid9" is not a list of layers' in page("/runs/new/review/", wrong)
