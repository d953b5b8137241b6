"""Jobs of people who may not erase the disk any more when their turn comes."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db.models import ProtectedError
from django.test import Client

from fsbench_web.accounts import rights
from fsbench_web.accounts.models import AuditEntry, LunGrant, Person, Role, Team
from fsbench_web.accounts.people import accounts
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.core.scoring.repeating import RepeatTarget
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Lease, Run, RunState, Study
from fsbench_web.studies.runs import authority, control, lifecycle
from tests.accounts.people import person
from tests.studies.conftest import start

MakeSpec = Callable[..., JobSpec]
ONE = (ConfigurationSpec("ext4", {}, "none"),)


@pytest.fixture
def eve(disk: Lun) -> User:
    """An operator to whom disk1 is granted."""
    user = person(Role.OPERATOR, "eve")
    LunGrant.objects.create(user=user, lun=disk)
    return user


@pytest.fixture
def root(db: None) -> User:
    return person(Role.ADMINISTRATOR, "root")


@pytest.fixture
def hers(spec: MakeSpec, eve: User) -> list[Run]:
    return submit(spec(configurations=ONE), "disk1", eve)


def refused(run: Run, worker: Worker) -> str:
    """Claim the run, which must end it; gives the reason."""
    assert lifecycle.claim(run.pk, worker) is None
    run.refresh_from_db()
    assert run.state == RunState.FAILED
    assert run.started_at is None
    assert not Lease.objects.exclude(run=None).exists()
    return run.reason


def close(user: User, by: User) -> None:
    accounts.change(user.pk, role=Role.OPERATOR, is_active=False, teams=[], luns=[], by=by)


def test_who_still_may_is_not_stopped(hers: list[Run], worker: Worker) -> None:
    assert authority.refusal(hers[0].pk) == ""
    assert lifecycle.claim(hers[0].pk, worker) is not None


def test_a_withdrawn_grant_refuses_what_waits(hers: list[Run], worker: Worker) -> None:
    LunGrant.objects.all().delete()
    reason = refused(hers[0], worker)
    assert reason == (
        "Refused: disk1 is not granted any more to eve, who submitted it. Nothing was erased. "
        "Somebody who may erase it can submit the run again."
    )
    last = hers[0].changes.last()
    assert last is not None
    assert (last.state, last.reason) == (RunState.FAILED, reason)
    entry = AuditEntry.objects.get(what="run refused")
    assert (entry.who, entry.thing) == ("worker:lab1", f"run {hers[0].pk}")


def test_a_closed_account_starts_nothing(hers: list[Run], worker: Worker, root: User) -> None:
    close(User.objects.get(username="eve"), root)
    assert "The account of eve, who submitted it, is closed." in refused(hers[0], worker)


@pytest.mark.parametrize("role", [Role.CONTRIBUTOR, Role.VIEWER])
def test_a_role_that_was_taken_away_starts_nothing(
    hers: list[Run], worker: Worker, role: Role
) -> None:
    Person.objects.filter(user__username="eve").update(role=role)
    reason = refused(hers[0], worker)
    assert f"eve, who submitted it, is a {role} now, and a run needs an operator." in reason


def test_a_grant_of_a_team_ends_with_membership(
    spec: MakeSpec, eve: User, disk: Lun, worker: Worker
) -> None:
    team = Team.objects.create(name="Storage")
    team.members.add(eve)
    LunGrant.objects.all().delete()
    LunGrant.objects.create(lun=disk, team=team)
    first, second = submit(spec(configurations=ONE), "disk1", eve)
    lifecycle.finish(start(first), RunState.DONE, "")
    team.members.remove(eve)
    assert "disk1 is not granted any more" in refused(second, worker)


def test_the_journal_lun_counts_too(hers: list[Run], worker: Worker) -> None:
    journal = worker.luns.get(name="log1")
    hers[0].series.journal_lun = journal
    hers[0].series.save()
    assert "log1 is not granted any more to eve" in refused(hers[0], worker)


def test_a_study_that_went_to_another_team_takes_no_run_of_hers(
    hers: list[Run], worker: Worker
) -> None:
    Study.objects.filter(pk=hers[0].series.study_id).update(
        team=Team.objects.create(name="Databases")
    )
    assert "belongs to the team Databases, and eve" in refused(hers[0], worker)


def test_an_account_with_jobs_is_not_deleted(hers: list[Run], worker: Worker, eve: User) -> None:
    """Without an author they would pass for jobs of the host, which nobody asks any more."""
    LunGrant.objects.all().delete()
    with pytest.raises(ProtectedError):
        eve.delete()
    with pytest.raises(ProtectedError):
        User.objects.filter(pk=eve.pk).delete()
    assert "not granted any more to eve" in refused(hers[0], worker)


def test_an_administrator_needs_no_grant(spec: MakeSpec, root: User, worker: Worker) -> None:
    run = submit(spec(configurations=ONE), "disk1", root)[0]
    assert lifecycle.claim(run.pk, worker) is not None


def test_a_grant_that_came_back_in_time_changes_nothing(
    hers: list[Run], worker: Worker, eve: User, disk: Lun
) -> None:
    LunGrant.objects.all().delete()
    LunGrant.objects.create(user=eve, lun=disk)
    assert lifecycle.claim(hers[0].pk, worker) is not None


def test_a_run_under_way_goes_on(hers: list[Run], worker: Worker) -> None:
    """It has erased already: what is withdrawn is the next time."""
    handle = start(hers[0])
    LunGrant.objects.all().delete()
    lifecycle.heartbeat(handle, phase="running")
    lifecycle.finish(handle, RunState.DONE, "")
    assert "not granted any more" in refused(hers[1], worker)


def test_a_cancelled_run_stays_cancelled(hers: list[Run], worker: Worker) -> None:
    lifecycle.cancel(hers[0].pk, "eve")
    LunGrant.objects.all().delete()
    assert lifecycle.claim(hers[0].pk, worker) is None
    hers[0].refresh_from_db()
    assert hers[0].state == RunState.CANCELLED


def test_the_next_repeat_is_not_written_to_be_refused(
    spec: MakeSpec, eve: User, worker: Worker, root: User
) -> None:
    runs = submit(spec(configurations=ONE, until=RepeatTarget(5, 2, 9)), "disk1", eve)
    LunGrant.objects.all().delete()
    for run in runs:
        refused(run, worker)
    assert not Run.objects.filter(state=RunState.QUEUED).exists()
    again = control.retry_run(runs[0].pk, "disk1", root)
    assert again is not None
    lifecycle.finish(start(again), RunState.FAILED, "x")
    assert Run.objects.filter(state=RunState.QUEUED, created_by=root).exists()


def test_what_was_refused_is_submitted_again_by_who_may(
    hers: list[Run], worker: Worker, root: User
) -> None:
    LunGrant.objects.all().delete()
    for run in hers:
        refused(run, worker)
    job_id = hers[0].job_id
    assert job_id is not None
    again = control.retry(job_id, "disk1", root)
    assert [run.created_by for run in again] == [root, root]
    assert lifecycle.claim(again[0].pk, worker) is not None


def test_resuming_says_it_before_the_runs_do(hers: list[Run], worker: Worker) -> None:
    job_id = hers[0].job_id
    assert job_id is not None
    control.pause(job_id)
    Person.objects.update(role=Role.VIEWER)
    with pytest.raises(control.ControlRefused) as problem:
        control.resume(job_id)
    assert problem.value.problems == [
        "eve, who submitted it, is a viewer now, and a run needs an operator. Its runs would be "
        "refused: cancel the job, and rerun the cancelled runs yourself."
    ]
    assert lifecycle.claim(hers[0].pk, worker) is None
    hers[0].refresh_from_db()
    assert hers[0].state == RunState.QUEUED


def test_pages_and_api_name_what_will_not_start_before_its_turn(
    hers: list[Run], eve: User, root: User, client: Client, worker: Worker
) -> None:
    run, job = f"/runs/{hers[0].pk}/", f"/jobs/{hers[0].job_id}/"
    for address in (run, job):
        assert b"will not start" not in client.get(address).content
    team = Team.objects.create(name="Storage & co")
    team.members.add(eve)
    LunGrant.objects.all().delete()
    for address in (run, job):
        page = client.get(address).content.decode()
        assert "will not start" in page
        assert "disk1 is not granted any more to eve, who submitted it." in page
        assert "an operator of the team Storage &amp; co who may erase" in page
    close(eve, root)
    for address in (run, job):
        page = client.get(address).content.decode()
        assert (
            "The account of eve, who submitted it, is closed. An administrator can cancel" in page
        )
    closed = ["The account of eve, who submitted it, is closed."]
    assert client.get(f"/api/v1/sweeps/{hers[0].job_id}").json()["refusals"] == closed
    assert [client.get(f"/api/v1{run[:-1]}").json()["refusal"]] == closed
    # As the page says: cancelled and submitted again by somebody who may.
    with rights.as_user(root):
        control.cancel(hers[0].job_id or 0, "root")
        retries = control.retry(hers[0].job_id or 0, "disk1", root, [RunState.CANCELLED])
    assert lifecycle.claim(retries[0].pk, worker) is not None
    assert b"will not start" not in client.get(job).content
