"""manage.py submit_job: a preview without a confirmation, a job with one."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from fsbench_web.accounts.models import Role
from fsbench_web.catalog.models import Lun
from fsbench_web.studies.models import Job, Run
from tests.accounts.people import person
from tests.studies.jobs.test_job_pages import DOCUMENT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(DOCUMENT)
    return path


def call_submit_job(*arguments: object) -> str:
    out = StringIO()
    call_command("submit_job", *map(str, arguments), stdout=out)
    return out.getvalue()


def test_without_a_confirmation_it_shows_what_would_be_done(file, worker):
    text = call_submit_job(file)
    assert len([line for line in text.splitlines() if "  repeat " in line]) == 16
    assert text.count(" reference\n") == 4
    assert "left out  configurations[0]: ext2 journal_mode=writeback scheduler=none" in text
    assert "Estimated duration: not known (16 of 16 runs). Erasures: 16." in text
    assert "Seed: 7." in text
    assert '--confirm "disk1" --user NAME' in text
    assert not Run.objects.exists()


def test_it_submits(file, worker, ann):
    assert call_submit_job(file, "--confirm", "disk1", "--user", "ann") == (
        f"Job {Job.objects.get().pk}: 16 runs are queued.\n"
    )
    assert Run.objects.filter(created_by=ann).count() == 16


@pytest.mark.parametrize(
    ("text", "arguments", "error"),
    [
        (DOCUMENT, ["--confirm", "disk1"], 'no active user ""'),
        (DOCUMENT, ["--confirm", "disk1", "--user", "bob"], 'no active user "bob"'),
        (DOCUMENT, ["--confirm", "disk2", "--user", "ann"], "confirmation: The confirmation does"),
        (
            DOCUMENT.replace("ext4", "hammer2"),
            [],
            r"configurations\[0\].filesystem\[1\]: .*hammer2",
        ),
        ("a: *b", [], "anchors and aliases"),
        ("a: 1\n" * 99_999, [], "larger than 64 KiB"),
    ],
)
def test_it_refuses(file, worker, ann, text, arguments, error):
    file.write_text(text)
    with pytest.raises(CommandError, match=error):
        call_submit_job(file, *arguments)
    assert not Run.objects.exists()


def test_a_file_that_is_not_there(tmp_path, db):
    with pytest.raises(CommandError, match="No such file"):
        call_submit_job(tmp_path / "nothing.yaml")


def test_without_schedulers_the_one_in_effect_on_the_lun_is_taken_and_named(file, worker, ann):
    Lun.objects.filter(name="disk1").update(scheduler="mq-deadline")
    file.write_text("study: Lab\nlun: disk1\nconfigurations: [ext4]\nworkloads: [iozone-small]")
    note = "names no I/O scheduler: mq-deadline is used, which is in effect on disk1 now."
    assert note in call_submit_job(file)
    call_submit_job(file, "--confirm", "disk1", "--user", "ann")
    run = Run.objects.order_by("id")[0]
    assert run.series.configuration.scheduler == "mq-deadline"
    # The job's document is the same job on another day too.
    assert Job.objects.get().document["schedulers"] == ["mq-deadline"]


@pytest.mark.parametrize(
    ("scheduler", "document"),
    [
        ("", "lun: disk1\nconfigurations: [ext4]"),  # nobody knows which is in effect
        ("kyber", "lun: disk1\nconfigurations: [ext4]"),  # it is not offered any more
        ("none", "lun: disk1\nconfigurations: [ext4]\nschedulers: [null]"),  # asked for as nothing
    ],
)
def test_a_scheduler_that_is_not_known_has_to_be_named(file, worker, scheduler, document):
    Lun.objects.filter(name="disk1").update(scheduler=scheduler)
    file.write_text(f"study: Lab\nworkloads: [iozone-small]\n{document}")
    with pytest.raises(CommandError, match="Choose an I/O scheduler for disk1"):
        call_submit_job(file)


def test_a_scheduler_that_is_named_stays(file, worker):
    Lun.objects.filter(name="disk1").update(scheduler="mq-deadline")
    file.write_text(
        "study: Lab\nlun: disk1\nworkloads: [iozone-small]\n"
        "configurations: [{filesystem: ext4, schedulers: none}]"
    )
    assert "names no I/O scheduler" not in call_submit_job(file)


def test_what_its_worker_would_refuse_is_not_submitted(file, worker):
    person(Role.OPERATOR, "eve")
    with pytest.raises(CommandError, match="disk1 is not granted to you"):
        call_submit_job(file, "--confirm", "disk1", "--user", "eve")
    assert not Run.objects.exists()


def test_it_is_still_there_by_its_former_name(file, worker) -> None:
    out = StringIO()
    call_command("submit_sweep", str(file), stdout=out)
    assert "Nothing was submitted." in out.getvalue()
