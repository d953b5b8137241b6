"""A race as it is asked for: document, form and API say the same, and what is none is refused."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.core.workloads import presets
from fsbench_web.studies.jobs.documents.plan import expand
from fsbench_web.studies.jobs.documents.text import read, write
from fsbench_web.studies.jobs.documents.writer import document_of
from fsbench_web.studies.jobs.features.race import measure_of, measures
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import (
    ConfigurationSpec,
    JobSpec,
    RaceSpec,
    ReferenceSpec,
    WorkloadSpec,
)
from fsbench_web.studies.jobs.submitting import planned

MakeSpec = Callable[..., JobSpec]
DOCUMENT = {"study": "S", "lun": "disk1", "configurations": ["ext4", "xfs"], "workloads": ["w"]}


@pytest.mark.parametrize(
    ("preset", "first"),
    [
        ("iozone-small", ("write", "total_average")),
        ("filemark-small", ("filemark_transactions@threads=4", "mean")),
        ("postmark-small", ("postmark_transactions_time@transactions=4000", "mean")),
        ("source-copy-small", ("kernel_source_copy@files=60", "mean")),
    ],
)
def test_what_decides_unless_another_is_chosen(preset: str, first: tuple[str, str]) -> None:
    assert measures(presets()[preset].workload())[0] == first


def test_every_preset_has_a_measure() -> None:
    for preset in presets().values():
        choices = measures(preset.workload())
        assert choices
        assert len(set(choices)) == len(choices)


def test_a_chosen_one_decides() -> None:
    workload = presets()["iozone-small"].workload()
    assert measure_of(RaceSpec(test="read"), workload) == ("read", "total_average")
    assert measure_of(RaceSpec(category="ora_ta"), workload) == ("write", "ora_ta")


@pytest.mark.parametrize(
    "race",
    [
        RaceSpec(hours=8),
        RaceSpec(hours=0.5, test="read", category="overall", margin_percent=5),
        RaceSpec(runs=120),
    ],
)
def test_a_document_says_it_and_is_read_as_the_same(spec: MakeSpec, race: RaceSpec) -> None:
    document = document_of(spec(race=race), study="S", lun="disk1", worker="lab1")
    assert "repeats" not in document
    plan = expand(read(write(document)))
    assert plan.race == race
    assert not plan.unreadable


@pytest.mark.parametrize(
    ("race", "place", "message"),
    [
        ([], "race", "must be"),
        ({"hours": "x"}, "race.hours", "must be a number"),
        ({"hours": True}, "race.hours", "must be a number"),
        ({"runs": 2.5}, "race.runs", "must be a whole number"),
        ({"days": 1}, "race", "means nothing here"),
    ],
)
def test_what_is_no_race_in_a_document_is_told(race: Any, place: str, message: str) -> None:
    problems = expand(DOCUMENT | {"race": race}).unreadable
    assert message in problems[place][0]


def test_a_race_and_repeats_are_one_too_many() -> None:
    problems = expand(DOCUMENT | {"race": {"hours": 1}, "repeats": 2}).unreadable
    assert "leave repeats out" in problems["race"][0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"race": RaceSpec()}, "Give the race a budget"),
        ({"race": RaceSpec(hours=8, runs=9)}, "Give the race a budget"),
        ({"race": RaceSpec(hours=0)}, "0.05 to 240 hours"),
        ({"race": RaceSpec(hours=float("nan"))}, "0.05 to 240 hours"),
        ({"race": RaceSpec(runs=7)}, "takes 8 to 2000 runs"),
        ({"race": RaceSpec(runs=2001)}, "takes 8 to 2000 runs"),
        ({"race": RaceSpec(hours=1, margin_percent=0)}, "0.1 to 50 percent"),
        ({"race": RaceSpec(hours=1, test="wrote")}, "choose one of the tests write, "),
        ({"race": RaceSpec(hours=1, category="mean")}, "does not measure anything by mean"),
        ({"configurations": (ConfigurationSpec("ext4"),)}, "needs two configurations or more"),
        ({"more_workloads": (WorkloadSpec("filemark-small"),)}, "choose one workload"),
        ({"reference": ReferenceSpec(ConfigurationSpec("ext4"), 3)}, "no reference"),
    ],
)
def test_what_is_no_race_is_refused(spec: MakeSpec, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(JobRefused) as refused:
        planned(spec(**{"race": RaceSpec(hours=1)} | changes))
    assert message in " ".join(refused.value.by_part["race"])


def test_the_review_knows_the_first_block_and_the_most(spec: MakeSpec) -> None:
    plan = planned(spec(race=RaceSpec(runs=40)))
    assert (len(plan.runs), plan.most_runs) == (2, 40)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"race_hours": "500"}, ["race_hours"]),
        ({"race_hours": "x"}, ["race_hours"]),
        ({"race_runs": "3", "race_hours": ""}, ["race_runs"]),
        ({"race_margin": "90"}, ["race_margin"]),
        ({"race_margin": "x"}, ["race_margin"]),
        ({"race_test": "wrote"}, ["race_test"]),
        ({"race_category": "mean"}, ["race_category"]),
        ({"age_rounds": "3"}, ["fill_percent"]),
        ({"age_rounds": "500", "fill_percent": "10"}, ["age_rounds"]),
        ({"precondition_twice": "yes"}, ["precondition"]),
        ({"repeat_by": "number", "repeats": "0"}, ["repeats"]),
        ({"repeat_by": "interval", "half_width": "99"}, ["half_width"]),
        ({"repeat_by": "interval", "least": "1"}, ["least"]),
        ({"limit_cpus": "x"}, ["limit_cpus"]),
    ],
)
def test_the_form_marks_the_field_that_is_wrong_and_no_other(
    client: Client, ann: User, worker: Worker, changes: dict[str, str], wrong: list[str]
) -> None:
    client.force_login(ann)
    order = {
        **{"lun": str(Lun.objects.get(name="disk1").pk), "fs": ["ext4.1", "xfs.1"]},
        **{"scheduler": "none", "workload": "iozone-small", "new_study": "A"},
        **{"repeat_by": "race", "race_hours": "8"},
    }
    answer = client.get("/runs/new/review/", order | changes)
    assert answer.status_code == 422
    fields = re.findall(r"<(?:input|select)[^>]*>", answer.content.decode())
    marked = [field for field in fields if 'aria-invalid="true"' in field]
    assert [re.findall(r' name="([^"]*)"', field)[0] for field in marked] == wrong
