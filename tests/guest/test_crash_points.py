"""Crash points of a job: who tries them, who cannot, and what a run's page says."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.configurations.commands.durability import (
    DISK,
    LEAST_POINTS,
    MODULES,
    MOST_POINTS,
    PHASE,
    problems,
)
from fsbench_web.catalog.workers.machines import GUEST_DEVICE
from fsbench_web.core.activity.durability import UNKNOWN, UNREADABLE, read_durability
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Run
from fsbench_web.studies.runs import durability
from tests.core.activity.test_durability import LOSS, printed
from tests.guest.conftest import NEW, announced

MakeSpec = Callable[..., JobSpec]
pytestmark = pytest.mark.django_db


@pytest.fixture
def crash_spec(guest_spec: MakeSpec) -> MakeSpec:
    announced(kernels=[NEW | {"layers": sorted(MODULES)}])
    known = tuple(
        ConfigurationSpec("ext4", options, "none") for options in ({}, {"barrier": "off"})
    )
    return lambda **changes: guest_spec(
        **({"crash_points": 300, "configurations": known} | changes)
    )


def refusals(spec: JobSpec) -> list[str]:
    with pytest.raises(JobRefused) as refused:
        planned(spec)
    assert set(refused.value.by_part) == {"crash_points"}
    return refused.value.by_part["crash_points"]


def test_the_first_run_of_each_configuration_tries_them_at_its_end(crash_spec: MakeSpec) -> None:
    runs = planned(crash_spec()).runs
    trying = [(run.filesystem, run.repeat) for run in runs if run.commands[-1].phase == PHASE]
    assert trying == [("ext4", 1), ("ext4", 1)]
    command = next(run.commands[-1] for run in runs if run.filesystem == "ext4")
    request = json.loads(command.stdin)
    assert (request["device"], request["points"]) == (GUEST_DEVICE, 300)
    assert request["mkfs"][-1] == DISK
    assert request["mount"][-2] == DISK
    assert command.may_fail
    assert command.timeout_s is not None
    assert planned(crash_spec()).time_limit_s >= command.timeout_s


def test_options_of_the_configuration_are_tried(crash_spec: MakeSpec) -> None:
    wanted = (ConfigurationSpec("ext4", {"barrier": "off"}, "none"),)
    [run, _] = planned(crash_spec(configurations=wanted)).runs
    assert "barrier=0" in json.loads(run.commands[-1].stdin)["mount"]


def test_without_them_nothing_is_tried(crash_spec: MakeSpec) -> None:
    for run in planned(crash_spec(crash_points=0)).runs:
        assert PHASE not in [command.phase for command in run.commands]


@pytest.mark.parametrize("points", [-1, LEAST_POINTS - 1, MOST_POINTS + 1])
def test_their_number_is_bounded(crash_spec: MakeSpec, points: int) -> None:
    assert str(MOST_POINTS) in refusals(crash_spec(crash_points=points))[0]


def test_they_need_a_guest_and_modules_of_its_kernel(
    crash_spec: MakeSpec, guest_spec: MakeSpec
) -> None:
    ext4 = (ConfigurationSpec("ext4", {}, "none"),)
    assert len(refusals(crash_spec(guest=None, configurations=ext4))) == 1
    announced()
    assert all(name in refusals(crash_spec())[0] for name in MODULES)


@pytest.mark.parametrize(
    ("filesystem", "options", "is_alone", "size_bytes", "count"),
    [
        ("ext4", {}, True, None, 0),
        ("xfs", {}, True, 977 * 2**20, 0),
        ("xfs", {}, True, 960 * 2**20, 1),
        ("ext4", {}, False, None, 1),
        ("ext4", {"overlay": "on"}, True, None, 1),
        ("ext4", {"nfs": "4.2"}, True, None, 1),
        ("reiser3", {}, True, None, 1),
        ("ext2", {}, True, None, 1),
        ("ext3", {}, True, None, 1),
        ("jfs", {}, True, None, 1),
        ("raw", {}, True, None, 1),
    ],
)
def test_which_configurations_can_be_tried(
    filesystem: str, options: dict[str, str], is_alone: bool, size_bytes: int | None, count: int
) -> None:
    assert len(list(problems(filesystem, options, is_alone, size_bytes))) == count


def test_an_unknown_file_system_is_refused_by_its_own_name(crash_spec: MakeSpec) -> None:
    with pytest.raises(JobRefused) as refused:
        planned(crash_spec(configurations=(ConfigurationSpec("ª", {}, "none"),)))
    assert "crash_points" not in refused.value.by_part


def first_run(spec: JobSpec, ann: User) -> Run:
    numbers = [run.pk for run in submit(spec, "disk1", ann)]
    runs = Run.objects.filter(pk__in=numbers, series__configuration__filesystem="ext4")
    return runs.order_by("pk")[0]


def test_a_run_asks_its_job_until_one_of_its_series_knows(crash_spec: MakeSpec, ann: User) -> None:
    run = first_run(crash_spec(), ann)
    again = Run.objects.filter(series=run.series).exclude(pk=run.pk).get()
    assert (durability.due_points(run), durability.due_points(again)) == (300, 300)
    Run.objects.filter(pk=run.pk).update(conditions=durability.noted(run, ""))
    assert durability.due_points(again) == 300
    Run.objects.filter(pk=run.pk).update(conditions=durability.noted(run, printed()))
    assert durability.due_points(again) == 0
    plain = first_run(crash_spec(crash_points=0, new_study="Plain"), ann)
    assert durability.due_points(plain) == 0
    again.is_reference = True
    assert durability.due_points(again) == 0


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (printed(), "nothing_lost"),
        (printed(LOSS, fine=311, lost=1), "lost"),
        (printed(raw_lost=1), "unknown"),
    ],
)
def test_the_page_and_the_api_say_it(
    crash_spec: MakeSpec, ann: User, client: Client, text: str, verdict: str
) -> None:
    run = first_run(crash_spec(), ann)
    Run.objects.filter(pk=run.pk).update(conditions=durability.noted(run, text))
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert f'data-durability="{verdict}"' in page
    assert (str(LOSS["lost"]) in page) is (verdict == "lost")
    assert ('<a href="#durability">' in page) is (verdict == "lost")
    found: dict[str, Any] = client.get(f"/api/v1/runs/{run.pk}").json()["conditions"]
    assert found["durability"] == read_durability(text).as_dict()


def test_what_cannot_be_read_is_not_known(crash_spec: MakeSpec, ann: User) -> None:
    found = durability.noted(first_run(crash_spec(), ann), printed(lost=1))["durability"]
    assert (found["verdict"], found["reason"], found["points"]) == (UNKNOWN, UNREADABLE, 0)
