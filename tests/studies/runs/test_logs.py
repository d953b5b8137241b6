"""Logs, live and folded, and how long they are kept."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from fsbench_web.platform import clock
from fsbench_web.studies.models import Artefact, LogLine, MeasurementBlock, Run, RunState, Score
from fsbench_web.studies.runs import lifecycle, logs
from fsbench_web.studies.views.events import read_snapshot
from tests.studies.conftest import complete, start

pytestmark = pytest.mark.django_db

ODD = 'ä\u2028 \\n {"x": 1}\u0085 end'


@pytest.fixture
def ended(runs):
    """A failed run with three lines, one of them odd."""
    handle = start(runs[0], (("fsbench", "$ mkfs"), ("stdout", ODD), ("stderr", "oh")))
    lifecycle.finish(handle, RunState.FAILED, "It failed.")
    return Run.objects.get(pk=runs[0].pk)


def in_an_hour():
    return timezone.now() + timedelta(hours=1)


def in_days(days):
    return timezone.now() + timedelta(days=days)


def prune(*arguments):
    output = StringIO()
    call_command("prune_logs", *arguments, stdout=output)
    return output.getvalue()


def test_a_folded_log_reads_as_before(client, ended):
    addresses = [
        f"/runs/{ended.pk}/",
        f"/api/v1/runs/{ended.pk}/log",
        f"/api/v1/runs/{ended.pk}/log?limit=1",
        f"/api/v1/runs/{ended.pk}/log?format=text",
        f"/api/v1/runs/{ended.pk}/log?after={ended.log_lines.first().pk}",
    ]

    def read():
        pages = [client.get(address).content.decode() for address in addresses]
        # The raw output lists the folded log, and nothing else of the page may change.
        return [pages[0].split('id="log"')[1].split("</section>")[0], *pages[1:]]

    live, snapshot, all_lines = read(), read_snapshot(ended.pk, 0), logs.lines(ended)
    assert "oh" in live[0]
    assert logs.fold_ended(in_an_hour()) == [ended.pk]
    assert not LogLine.objects.exists()
    assert logs.lines(ended) == all_lines
    assert logs.last_lines(ended, 2) == all_lines[-2:]
    assert [line.text for line in all_lines] == ["$ mkfs", ODD, "oh"]
    assert read() == live
    assert read_snapshot(ended.pk, 0) == snapshot
    assert read_snapshot(ended.pk, all_lines[-1].id).lines == []


def test_it_is_compressed(ended):
    LogLine.objects.bulk_create(
        LogLine(run=ended, at=timezone.now(), stream="stdout", text="the same again")
        for _ in range(500)
    )
    logs.fold(ended.pk)
    artefact = Artefact.objects.get(run=ended)
    assert artefact.name == "log"
    assert len(artefact.content_gzip) * 10 < artefact.size_bytes


def test_only_logs_of_runs_that_ended_a_while_ago_are_folded(ended, runs):
    start(runs[1], (("stdout", "still at it"),))
    assert logs.fold_ended() == []
    assert logs.fold_ended(in_an_hour()) == [ended.pk]
    assert LogLine.objects.get().run == runs[1]
    assert not logs.fold(runs[1].pk)
    assert logs.fold_ended(in_an_hour()) == []
    assert not logs.fold(ended.pk)


def test_old_logs_are_deleted_and_nothing_else(runs, settings):
    settings.LOG_DAYS = 30
    for run in runs[:2]:
        complete(run)
        LogLine.objects.create(run=run, at=timezone.now(), stream="stdout", text="a line")
    logs.fold(runs[0].pk)
    counts = [model.objects.count() for model in (Run, MeasurementBlock, Score)]
    assert logs.prune(now=in_days(29)).runs == 0
    assert logs.prune(now=in_days(31), dry_run=True) == logs.prune(now=in_days(31))
    assert logs.prune(now=in_days(31)) == logs.PrunedLogs(0, 0)
    assert not LogLine.objects.exists()
    assert list(Artefact.objects.values_list("name", flat=True)) == ["iozone.txt"] * 2
    assert [model.objects.count() for model in (Run, MeasurementBlock, Score)] == counts


def test_a_tools_output_that_is_called_log_is_no_log(ended, settings):
    Artefact.objects.create(
        run=ended, name="log", sha256="", size_bytes=1, content_gzip=b"", media_type="text/plain"
    )
    assert logs.prune(1, in_days(9)).runs == 1
    assert Artefact.objects.count() == 1


def test_all_are_kept_unless_a_site_says_otherwise(ended):
    assert logs.prune(now=in_days(9999)) == logs.PrunedLogs(0, 0)
    assert "kept for ever" in prune()
    assert LogLine.objects.count() == 3


def test_a_run_that_goes_on_keeps_its_log(runs, settings):
    settings.LOG_DAYS = 1
    start(runs[0], (("stdout", "for days"),))
    assert logs.prune(now=in_days(99)).runs == 0


def test_the_command_says_what_it_does(ended):
    Run.objects.update(ended_at=timezone.now() - timedelta(days=3))
    logs.fold(ended.pk)
    assert "1 logs of runs that ended more than 2 days ago would be deleted" in prune(
        "--days=2", "--dry-run"
    )
    assert Artefact.objects.exists()
    assert "were deleted" in prune("--days=2")
    assert not Artefact.objects.exists()
    assert prune("--days=2").startswith("0 logs")
    with pytest.raises(CommandError, match="or more"):
        prune("--days=-1")


def test_the_run_page_says_why_there_is_no_log(client, ended, settings):
    settings.LOG_DAYS = 2
    assert "oh" in client.get(f"/runs/{ended.pk}/").content.decode()
    Run.objects.update(ended_at=timezone.now() - timedelta(days=3))
    logs.prune()
    page = client.get(f"/runs/{ended.pk}/").content.decode()
    assert "This site keeps logs for 2 days after a run" in page


def test_keeping_house_does_both(ended, settings):
    settings.LOG_DAYS = 1
    Run.objects.update(ended_at=timezone.now() - timedelta(hours=1))
    logs.run_maintenance()
    assert Artefact.objects.get().name == "log"
    Run.objects.update(ended_at=timezone.now() - timedelta(days=2))
    logs.run_maintenance()
    assert not Artefact.objects.exists()


def test_the_clock_of_one_host_deletes_and_folds_no_log(ended, monkeypatch, settings):
    """Every worker does this work; one of them is 60 days ahead of the database."""
    settings.LOG_DAYS = 30
    right = timezone.now()
    monkeypatch.setattr(clock, "now", lambda: right)
    monkeypatch.setattr(timezone, "now", lambda: right + timedelta(days=60))
    assert not logs.may_be_pruned(ended)
    logs.run_maintenance()
    assert LogLine.objects.filter(run=ended).count() == 3
    assert not Artefact.objects.filter(run=ended, name=logs.LOG_NAME).exists()
