"""The Unisys 2005 paper run again, small, and really: guests boot on a loop device."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.studies.jobs import lookup, reproductions
from fsbench_web.studies.jobs.reproductions import CELL, PLAIN, ReproductionRequest
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState
from runner.guests import kernels
from runner.guests.executor import GuestExecutor
from runner.worker import Host
from tests.runner.conftest import carry_out, lun_file, make_host
from tests.runner.guests.test_guest import folder, guests, kernel

__all__ = ["carry_out", "folder", "guests", "kernel", "lun_file", "make_host"]
pytestmark = [pytest.mark.django_db, pytest.mark.docker, pytest.mark.root]


def test_jfs_and_reiser3_with_a_reboot_before_each_of_two_repeats(
    make_host: Callable[..., Host],
    guests: GuestExecutor,
    kernel: kernels.Kernel,
    carry_out: Callable[[Run, Host], Run],
    ann: User,
    client: Client,
) -> None:
    call_command("load_published", verbosity=0)
    host = make_host(guests=guests)
    worker = announce(host.announcement(has_started=True))
    ability = availability.guest(worker)
    assert ability is not None
    assert ability.is_emulated
    document, _ = reproductions.unisys_2005(
        ReproductionRequest(CELL, PLAIN, filesystems=("jfs", "reiser3"), memory_mib=384),
        ability,
        study="Unisys 2005, small",
        lun="scratch",
        worker=worker.name,
    )
    submitted = submit(lookup.spec_of(document), "scratch", ann)
    assert len(submitted) == 4

    for run in submitted:
        run.refresh_from_db()
        if not run.has_ended:
            carry_out(run, host)

    runs = list(Run.objects.order_by("pk").prefetch_related("artefacts"))
    assert [run.state for run in runs] == [RunState.DONE] * 4, [run.reason for run in runs]
    # Write, rewrite, read, reread, random write and random read of one cell.
    assert [run.reason for run in runs] == ["6 values measured."] * 4
    assert {run.series.kernel for run in runs} == {kernel.version}
    assert all(run.series.runs_on.is_emulated for run in runs)
    assert {run.series.configuration.filesystem for run in runs} == {"jfs", "reiser3"}
    # A console each: each run booted for itself.
    assert all(
        any(artefact.name == "console.log" for artefact in run.artefacts.all()) for run in runs
    )

    page = client.get("/studies/unisys-2005-small/papers/unisys-2005/")
    text = page.content.decode()
    agreement = page.context["agreement"]
    assert agreement["tables"] == 42
    assert agreement["pairs"] == 42
    assert "The hardware differs." in text
    assert "Everything shown was emulated: for function, not for speed." in text
    assert kernel.version in text
