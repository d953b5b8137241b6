"""Every erasure is in the audit log before the disk is touched; what was not erased is not."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError

from fsbench_web.accounts import audit
from fsbench_web.accounts.models import AuditEntry
from fsbench_web.studies.models import Run, RunState
from runner.safety import blockdev
from runner.worker import Host

pytestmark = [pytest.mark.django_db, pytest.mark.root]

MakeHost = Callable[..., Host]
Submit = Callable[..., Run]
CarryOut = Callable[[Run, Host], Run]


def test_an_erasure_says_who_which_lun_and_which_serial(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = {"serial": "S3X9", "wwn": "0x5002538e"}
    monkeypatch.setattr(blockdev, "identity", lambda number: identity)
    host = make_host()
    run = submitted(host)
    Run.objects.filter(pk=run.pk).update(created_by=User.objects.create_user("ada"))
    assert carry_out(run, host).state == RunState.DONE
    entry = AuditEntry.objects.get(what="LUN erased")
    assert entry.who == f"worker:{host.name}"
    assert run.series.lun is not None
    assert entry.thing == f"LUN {host.name}/{run.series.lun.name}"
    detail = entry.detail
    assert (detail["run"], detail["submitted_by"]) == (run.pk, "ada")
    assert (detail["serial"], detail["wwn"]) == ("S3X9", "0x5002538e")
    assert detail["device"].startswith("/dev/loop")
    assert detail["size_bytes"] > 0


def test_a_refused_run_erased_nothing_and_says_nothing(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut
) -> None:
    host = make_host()
    run = submitted(host)
    host.config.lun_file.write_text("")
    assert carry_out(run, host).state == RunState.FAILED
    assert not AuditEntry.objects.exists()


def test_what_cannot_be_noted_is_not_erased(
    make_host: MakeHost, submitted: Submit, carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: object, **kwargs: object) -> None:
        raise OperationalError("the database is away")

    monkeypatch.setattr(audit, "note", away)
    host = make_host()
    run = carry_out(submitted(host), host)
    assert run.state != RunState.DONE
    assert "Nothing was erased." in run.reason
    assert run.commands == []
