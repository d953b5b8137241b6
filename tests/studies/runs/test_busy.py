"""Runs that began on a busy machine say so, and so does every number made of them."""

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from fsbench_web.catalog.models import Environment, Lun
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, Series
from tests.studies.conftest import complete

ON_TWO = {"load": [3.79, 2.5, 1.0], "processors": 2}


@pytest.fixture
def done(
    spec: Callable[..., JobSpec], ann: User, disk: Lun
) -> Callable[[str, dict[str, Any]], Run]:
    """``done(study, before)``: a finished run of which that was noted as it began."""

    def make(study: str, before: dict[str, Any]) -> Run:
        configurations = (ConfigurationSpec("ext4", {}, "none"),)
        job = spec(lun_id=disk.pk, configurations=configurations, repeats=1, new_study=study)
        [run] = submit(job, disk.name, ann)
        Run.objects.filter(pk=run.pk).update(conditions={"before": before})
        complete(run)
        run.refresh_from_db()
        return run

    return make


def flags(run: Run) -> set[str]:
    return {flag for score in run.series.scores.all() for flag in score.flags}


def test_a_load_of_3_79_on_two_processors_is_said(
    done: Callable[[str, dict[str, Any]], Run], client: Client
) -> None:
    run = done("Busy", ON_TWO)
    assert run.conditions["busy"] == {"load": 3.79, "of_others": 3.79, "processors": 2}
    assert flags(run) == {"busy"}
    page = client.get(f"/runs/{run.pk}/").content.decode()
    assert "The machine was busy when this repeat started." in page
    study = run.series.study.slug
    for address in ("/runs/", f"/studies/{study}/", f"/compare/?study={study}"):
        assert "busy machine" in client.get(address).content.decode(), address
    answer = client.get(f"/api/v1/deltas?study={study}&category=maximum").json()
    assert all(row["flags"] == ["busy"] for table in answer["tables"] for row in table["rows"])
    assert client.get(f"/api/v1/deltas?study={study}&cells=sound").json() == {"tables": []}


def test_the_benchmark_before_is_not_taken_for_others(
    done: Callable[[str, dict[str, Any]], Run], client: Client
) -> None:
    done("First", {})
    busy, idle = done("Busy", ON_TWO), done("Idle", {"load": [2.6, 1, 1], "processors": 2})
    assert busy.conditions["busy"]["of_others"] == pytest.approx(1.79, abs=0.3)
    assert flags(idle) == set()
    for address in (f"/runs/{idle.pk}/", f"/compare/?study={idle.series.study.slug}"):
        assert "busy machine" not in client.get(address).content.decode(), address
    Run.objects.filter(pk=busy.pk).update(is_contended=True)  # two at once: who knows
    assert flags(done("After", {"load": [9, 9, 9], "processors": 2})) == set()


@pytest.mark.parametrize("before", [{}, {"processors": 2}, {"load": [3.79, 1, 1]}])
def test_what_was_not_told_is_not_judged(
    done: Callable[[str, dict[str, Any]], Run], before: dict[str, Any]
) -> None:
    assert flags(done("Unknown", before)) == set()


def test_runs_of_before_are_found_by_reflag(done: Callable[[str, dict[str, Any]], Run]) -> None:
    run = done("Old", {"load": [3.79, 2.5, 1.0]})
    environment = Environment.objects.create(
        digest="old", facts={"Machine": [["Processors online", "2"]]}
    )
    Run.objects.filter(pk=run.pk).update(environment=environment)
    Series.objects.update(quality={"rules": 1})
    call_command("reflag", stdout=StringIO())
    run.refresh_from_db()
    assert run.conditions["busy"]["processors"] == 2
    assert run.conditions["others"] == []
    assert flags(run) == {"busy"}
