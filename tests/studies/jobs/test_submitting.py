"""Jobs: what is refused, with all reasons at once, and what a good one makes."""

from dataclasses import replace
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from fsbench_web.catalog.models import Lun, Worker, Workload
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Job, Run, RunState, Series, Study
from tests.studies.conftest import NO_BTRFS, complete, worker_announcement

pytestmark = pytest.mark.django_db


def problems(spec, confirmation="disk1") -> list[str]:
    """Why a job is refused; nothing may have been written."""
    with pytest.raises(JobRefused) as refused:
        submit(spec, confirmation, None)
    assert not Run.objects.exists()
    assert not Series.objects.exists()
    assert not Job.objects.exists()
    return refused.value.problems


def test_it_previews_exactly_what_is_run(spec):
    runs = planned(spec()).runs
    assert [(run.repeat, run.configuration) for run in runs] == [
        (1, "ext4_wb_none"),
        (1, "xfs_none"),
        (2, "ext4_wb_none"),
        (2, "xfs_none"),
    ]
    phases = [command.phase for command in runs[0].commands]
    assert phases == ["mkfs", "mount", "benchmark", "sync", "unmount"]
    mkfs, mount = runs[0].commands[0].argv, runs[0].commands[1].argv
    assert mkfs[0] == "mkfs.ext4"
    assert mkfs[-1] == "/dev/disk/by-id/disk1"
    assert "data=writeback" in mount[mount.index("-o") + 1].split(",")
    assert all(run.erases for run in runs)
    assert not Run.objects.exists()


def test_it_makes_all_first_repeats_before_the_second(spec, ann, worker):
    runs = submit(spec(), "disk1", ann)
    labels = [(run.series.configuration.label, run.repeat) for run in runs]
    assert labels == [("ext4_wb_none", 1), ("xfs_none", 1), ("ext4_wb_none", 2), ("xfs_none", 2)]
    assert [run.pk for run in runs] == sorted(run.pk for run in runs)
    assert {run.state for run in runs} == {RunState.QUEUED}
    assert {run.series.kernel for run in runs} == {"6.1.0"}
    assert {run.series.hardware for run in runs} == {worker.hardware}
    assert runs[0].changes.get().reason == "Submitted by ann."
    assert Study.objects.get(slug="first-look").created_by == ann


def test_it_goes_on_numbering_repeats_in_the_same_study(spec, ann, runs):
    more = submit(spec(new_study="", study="first-look", repeats=1), "disk1", ann)
    assert [run.repeat for run in more] == [3, 3]
    assert Series.objects.count() == 2


def test_it_nudges_the_worker_only_once_the_runs_are_committed(
    spec, ann, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr("fsbench_web.studies.runs.nudges.nudge", lambda run: sent.append(run.pk))
    with django_capture_on_commit_callbacks(execute=True):
        runs = submit(spec(), "disk1", ann)
        assert sent == []
    # One is enough: who comes for it goes on with the others.
    assert sent == [runs[0].pk]


def test_it_refuses_a_wrong_confirmation(spec):
    for wrong in ("", "DISK1", " disk1", "disk1 ", "small1"):
        assert problems(spec(), wrong) == [
            'The confirmation does not match: type the name of the LUN, "disk1", exactly as it is '
            "written."
        ]


def test_it_tells_all_problems_at_once(spec):
    bad = spec(
        configurations=(
            ConfigurationSpec("btrfs", {}, "none"),
            ConfigurationSpec("ext4", {"journal_mode": "$(reboot)"}, "none"),
            ConfigurationSpec("xfs", {}, "anticipatory"),
        ),
        workload="iozone-huge",
        repeats=21,
        new_study="",
    )
    with pytest.raises(JobRefused) as refused:
        submit(bad, "nope", None)
    assert set(refused.value.by_part) == {
        "configurations",
        "schedulers",
        "workload",
        "repeats",
        "study",
        "confirmation",
    }


def test_it_refuses_a_lun_that_nobody_announced(spec):
    assert "No worker has announced a LUN with the number 4711" in problems(spec(lun_id=4711))[0]
    assert problems(spec(lun_id=None)) == ["Choose the LUN to run on."]


def test_it_refuses_a_lun_that_its_worker_no_longer_lists(spec, disk):
    shorter = worker_announcement()
    announce(replace(shorter, luns=[lun for lun in shorter.luns if lun.name != "disk1"]))
    assert "disk1 is no longer in the LUN file of the worker lab1" in problems(spec())[0]


def test_it_refuses_a_lun_with_a_problem(spec, worker):
    mounted = worker.luns.get(name="mounted1")
    (problem,) = problems(spec(lun_id=mounted.pk), "mounted1")
    assert "It is mounted." in problem


def test_it_refuses_a_journal_lun(spec, worker):
    journal = worker.luns.get(name="log1")
    (problem,) = problems(spec(lun_id=journal.pk), "log1")
    assert "choose a LUN with the role data" in problem


def test_it_refuses_a_silent_worker(spec, worker):
    Worker.objects.update(seen_at=timezone.now() - timedelta(hours=2))
    (problem,) = problems(spec())
    assert "no heartbeat" in problem
    assert "/guide/operating/#starting-and-stopping" in problem


def test_it_refuses_a_worker_that_cannot_run_anything(spec):
    announcement = worker_announcement()
    reason = "Docker cannot be reached: start it."
    announce(
        replace(
            announcement,
            capabilities=announcement.capabilities | {"is_usable": False, "reason": reason},
        )
    )
    assert problems(spec()) == [reason]


def test_it_refuses_an_option_outside_the_allow_list(spec):
    for options in ({"mkfs": "-F /dev/sda"}, {"journal_mode": "none; rm"}, {"inode_size": "١٢٨"}):
        bad = spec(configurations=(ConfigurationSpec("ext4", options, "none"),))
        assert len(problems(bad)) == 1
    (problem,) = problems(spec(configurations=(ConfigurationSpec("hammer2", {}, "none"),)))
    assert "ext4" in problem


def test_it_refuses_the_same_configuration_twice(spec):
    twice = (
        ConfigurationSpec("ext4", {"atime": "noatime"}, "none"),
        ConfigurationSpec("ext4", {"atime": "noatime", "inode_size": ""}, "none"),
    )
    (problem,) = problems(spec(configurations=twice))
    assert "ext4_noatime_none is in the job twice" in problem


def test_it_refuses_a_scheduler_that_the_lun_does_not_offer(spec):
    unknown = (ConfigurationSpec("ext4", {}, "kyber"),)
    assert "choose one of none, mq-deadline, bfq" in problems(spec(configurations=unknown))[0]
    # Left out, the device would keep whatever the run before had set.
    left_out = (ConfigurationSpec("ext4", {}, ""),)
    assert "Choose an I/O scheduler" in problems(spec(configurations=left_out))[0]


def test_it_refuses_what_the_kernel_cannot_mount(spec):
    assert problems(spec(configurations=(ConfigurationSpec("btrfs", {}, "none"),))) == [NO_BTRFS]


def test_it_refuses_a_missing_tool_and_names_its_package(spec):
    announcement = worker_announcement()
    tools = {"iozone": {"usable": False, "reason": "", "package": "iozone3"}}
    announce(replace(announcement, capabilities=announcement.capabilities | {"tools": tools}))
    (problem,) = problems(spec())
    assert "install the package iozone3" in problem


def test_it_refuses_a_workload_that_is_larger_than_the_lun(spec):
    (problem,) = problems(spec(parameters={"maximum_file_kb": 32 * 1024 * 1024}))
    assert "make them smaller, or choose a larger LUN" in problem


def test_it_refuses_a_parameter_outside_its_bounds(spec):
    assert "power of two" in problems(spec(parameters={"maximum_file_kb": 3000}))[0]
    assert "no parameter speed" in problems(spec(parameters={"speed": 3}))[0]


def test_it_refuses_a_lun_below_the_minimum_of_the_file_system(spec, worker):
    small = worker.luns.get(name="small1")
    (problem,) = problems(
        spec(lun_id=small.pk, configurations=(ConfigurationSpec("xfs", {}, "none"),)), "small1"
    )
    assert "XFS needs 300 MiB or more, and small1 has 64 MiB" in problem


def test_it_refuses_options_that_do_not_fit_the_lun(spec, worker):
    small = worker.luns.get(name="small1")
    journal = (ConfigurationSpec("ext4", {"journal_size_mb": "40"}, "none"),)
    (problem,) = problems(spec(lun_id=small.pk, configurations=journal), "small1")
    assert "more than half of small1" in problem
    groups = (ConfigurationSpec("xfs", {"agcount": "5"}, "none"),)
    refused = problems(spec(lun_id=small.pk, configurations=groups), "small1")
    assert any("room for 4 XFS allocation groups" in problem for problem in refused)


@pytest.mark.parametrize("repeats", [0, -1, 21, 10**9])
def test_it_refuses_repeats_outside_1_to_20(spec, repeats):
    assert any("1 to 20 times" in problem for problem in problems(spec(repeats=repeats)))


def test_it_refuses_more_runs_than_one_job_may_have(spec):
    many = tuple(
        ConfigurationSpec("ext4", {"journal_size_mb": str(size)}, "none") for size in range(4, 105)
    )
    (problem,) = problems(spec(configurations=many, repeats=20))
    assert "2020 runs" in problem


def test_it_refuses_a_published_study(spec):
    Study.objects.create(slug="paper", title="A paper", is_published=True)
    (problem,) = problems(spec(study="paper", new_study=""))
    assert "takes no further runs" in problem


def test_it_refuses_a_study_that_is_not_there_or_has_no_name(spec):
    assert "There is no study" in problems(spec(study="nowhere", new_study=""))[0]
    assert "Choose the study" in problems(spec(new_study="  "))[0]
    assert "letter or a digit" in problems(spec(new_study="…"))[0]
    Study.objects.create(slug="first-look", title="First look")
    assert "exists already" in problems(spec())[0]


def test_it_refuses_any_file_system_but_that_of_the_folder(spec, worker):
    folder = worker.luns.get(name="folder1")
    on_xfs = spec(lun_id=folder.pk, configurations=(ConfigurationSpec("xfs"),))
    assert "folder1 is a directory on ext4" in problems(on_xfs, "folder1")[0]
    with_options = (ConfigurationSpec("ext4", {"atime": "noatime"}),)
    assert (
        "no option can be"
        in problems(spec(lun_id=folder.pk, configurations=with_options), "folder1")[0]
    )


def test_it_erases_nothing_in_a_folder(spec, worker):
    folder = worker.luns.get(name="folder1")
    runs = planned(spec(lun_id=folder.pk, configurations=(ConfigurationSpec("ext4"),))).runs
    assert [command.phase for command in runs[0].commands] == ["benchmark"]
    assert not any(run.erases for run in runs)


def test_changed_parameters_are_a_workload_of_their_own(spec, ann):
    submit(spec(), "disk1", ann)
    submit(spec(new_study="Second", parameters={"maximum_file_kb": 1024}), "disk1", ann)
    submit(spec(new_study="Third", parameters={"maximum_file_kb": 1024}), "disk1", ann)
    assert Workload.objects.count() == 2
    assert Workload.objects.get(slug="iozone-small").parameters["maximum_file_kb"] == 4096


def test_the_same_form_sent_twice_makes_its_runs_once(spec, ann):
    first = submit(spec(), "disk1", ann, token="t" * 32)
    second = submit(spec(), "disk1", ann, token="t" * 32)
    assert [run.pk for run in second] == [run.pk for run in first]
    assert Run.objects.count() == 4


def test_a_form_that_was_refused_can_be_sent_again(spec, ann):
    with pytest.raises(JobRefused):
        submit(spec(), "wrong", ann, token="t" * 32)
    assert len(submit(spec(), "disk1", ann, token="t" * 32)) == 4


def test_the_form_of_somebody_else_is_refused(spec, ann):
    submit(spec(), "disk1", ann, token="t" * 32)
    bob = User.objects.create_user("bob")
    with pytest.raises(JobRefused, match="Somebody else already sent"):
        submit(spec(), "disk1", bob, token="t" * 32)


@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_make_the_runs_once(spec, ann):
    job, barrier, results = spec(), Barrier(2), []

    def click() -> None:
        try:
            barrier.wait(60)
            results.append([run.pk for run in submit(job, "disk1", ann, token="t" * 32)])
        except Exception as error:
            results.append(error)
        finally:
            connection.close()

    threads = [Thread(target=click) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert results[0] == results[1]
    assert Run.objects.count() == 4


def test_a_finished_repeat_is_followed_by_the_next(spec, ann, runs):
    complete(runs[0])
    again = submit(
        spec(
            new_study="",
            study="first-look",
            repeats=1,
            configurations=(ConfigurationSpec("ext4", {"journal_mode": "writeback"}, "none"),),
        ),
        "disk1",
        ann,
    )
    assert again[0].series_id == runs[0].series_id
    assert again[0].repeat == 3


def test_a_lun_of_another_worker_is_told_apart_by_number(spec, ann):
    other = announce(worker_announcement(name="lab2"))
    lun = Lun.objects.get(worker=other, name="disk1")
    runs = submit(spec(lun_id=lun.pk), "disk1", ann)
    assert {run.series.lun_id for run in runs} == {lun.pk}
