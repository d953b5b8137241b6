"""A race of real file systems, written by a worker: who writes everything twice loses."""

from collections.abc import Callable

import pytest

from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, RaceSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Race, Run, RunState
from fsbench_web.studies.runs import races
from runner.executors.local import LocalExecutor
from runner.worker import Host
from tests.measured import measured

pytestmark = [pytest.mark.django_db, pytest.mark.root]

# One cell, with the time of fsync: data=journal writes everything twice.
FLUSHED = {
    "minimum_record_kb": 1024,
    "maximum_record_kb": 1024,
    "minimum_file_kb": 16384,
    "maximum_file_kb": 16384,
    "include_flush": True,
}


def test_the_best_is_found_on_a_loop_device(
    make_host: Callable[..., Host], carry_out: Callable[[Run, Host], Run]
) -> None:
    host = make_host(LocalExecutor())
    announce(host.announcement(has_started=True))
    spec = JobSpec(
        lun_id=Lun.objects.get(name="scratch").pk,
        configurations=(
            ConfigurationSpec("ext4", {"journal_mode": "journal"}, "none"),
            ConfigurationSpec("ext4", {}, "none"),
        ),
        workload="iozone-small",
        parameters=FLUSHED,
        race=RaceSpec(runs=40, margin_percent=5),
        new_study="Race",
    )
    first, _ = submit(spec, "scratch", None)
    carry_out(first, host)
    race = Race.objects.get()
    report = races.report_of(race.job)
    assert report is not None
    assert set(Run.objects.values_list("state", flat=True)) == {RunState.DONE}
    assert race.conclusion.startswith("ext4_none is the best of 2 configurations")
    assert report.remaining_runs
    # What decided is what the runs have measured.
    values = {str(row.run_id): row.value for row in measured() if row.test == "write"}
    assert race.values == pytest.approx(values)
