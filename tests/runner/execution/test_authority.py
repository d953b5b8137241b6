"""A worker erases nothing for who may not any more, and goes on with what others submitted."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from fsbench_web.accounts.models import AuditEntry, LunGrant, Role
from fsbench_web.studies.models import Run, RunState
from runner.execution import last_checks
from runner.worker import Host
from tests.accounts.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MakeHost = Callable[..., Host]
Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]


def submitted_by(run: Run, user: User) -> Run:
    Run.objects.filter(pk=run.pk).update(created_by=user)
    return run


def test_refused_runs_do_not_hold_up_those_behind_them(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, started: list[int]
) -> None:
    host, eve, ada = make_host(), person(Role.OPERATOR, "eve"), person(Role.OPERATOR, "ada")
    hers = [submitted_by(submitted(host), eve), submitted_by(submitted(host), eve)]
    behind = submitted_by(submitted(host), ada)
    assert behind.series.lun is not None
    LunGrant.objects.create(user=ada, lun=behind.series.lun)
    for run in hers:
        run = carry_out(run, host)
        assert run.state == RunState.FAILED
        assert "not granted any more to eve" in run.reason
        assert run.commands == []
    behind.refresh_from_db()
    assert behind.state == RunState.DONE
    assert started == [behind.pk]
    assert AuditEntry.objects.filter(what="LUN erased").count() == 1


def test_a_grant_withdrawn_during_the_last_checks_stops_the_erasing(
    make_host: MakeHost,
    submitted: Submit,
    carry_out: CarryOut,
    started: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host, eve = make_host(), person(Role.OPERATOR, "eve")
    run = submitted_by(submitted(host), eve)
    assert run.series.lun is not None
    LunGrant.objects.create(user=eve, lun=run.series.lun)
    note = last_checks.note_erasures

    def withdrawn_meanwhile(*arguments: Any) -> None:
        note(*arguments)
        LunGrant.objects.all().delete()

    monkeypatch.setattr(last_checks, "note_erasures", withdrawn_meanwhile)
    run = carry_out(run, host)
    assert run.state == RunState.FAILED
    assert run.reason.startswith("Refused: scratch is not granted any more to eve")
    assert "Nothing was erased." in run.reason
    assert started == []
    assert run.commands == []
    assert AuditEntry.objects.filter(what="run refused", thing=f"run {run.pk}").count() == 1
