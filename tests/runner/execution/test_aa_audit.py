"""The audit of a LUN, really run: two names without a limit, and a limit of its reads."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from fsbench_web.catalog.workers.announce import announce
from fsbench_web.core.stats.auditing import ROUNDS
from fsbench_web.studies.jobs import aa_audit
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, LimitsSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, RunState
from fsbench_web.studies.sequence import RANDOM
from runner.executors.local import LocalExecutor
from runner.worker import Host
from tests.measured import measured

pytestmark = [pytest.mark.django_db, pytest.mark.root]
LIMIT_MIB_S = 4
"""Below what any disk reads, so that a busy machine decides nothing."""


def test_a_limited_name_is_found_in_rounds_of_a_real_lun(
    make_host: Callable[..., Host], carry_out: Callable[[Run, Host], Run], admin_user: User
) -> None:
    host = make_host(LocalExecutor())
    lun = announce(host.announcement(has_started=True)).luns.get(name="scratch")
    job = JobSpec(
        lun_id=lun.pk,
        configurations=(ConfigurationSpec("ext2", {}, "none"),),
        workload=aa_audit.WORKLOAD,
        parameters=aa_audit.PARAMETERS | {"file_mb": 16, "ramp_s": 0, "runtime_s": 1},
        repeats=ROUNDS,
        order=RANDOM,
        seed=1,
        new_study="Audit",
        limits=LimitsSpec(read_mib_s=(*aa_audit.NAMES, LIMIT_MIB_S)),
    )
    runs = submit(job, "scratch", admin_user)
    for run in runs:
        carry_out(run, host)
    assert {run.state for run in runs} == {RunState.DONE}, [run.reason for run in runs]
    audit = aa_audit.lun_audit(lun)
    assert audit.equal.made == 1
    (handicap,) = audit.handicaps
    assert (handicap.made, handicap.found) == (1, 1)
    (test,) = audit.tests
    limited = [run for run in runs if run.series.runs_on.limits.read_mib_s == LIMIT_MIB_S]
    names = test.partition("@")[0]
    rates = [value.value for run in limited for value in measured(run, test=names)]
    assert len(rates) == ROUNDS
    assert max(rates) < 1.3 * LIMIT_MIB_S * aa_audit.UNITS_IN_MIB
    assert audit.smallest_percent is not None
    assert f"limit_read_mib_s={aa_audit.NAMES[0]}" in aa_audit.order_query(lun, audit)
