"""An option of a job is declared once: API, documents and the form have it by that."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from django.http import QueryDict

from fsbench_web.api.runs.schemas import JobIn
from fsbench_web.studies.jobs.documents.plan import expand
from fsbench_web.studies.jobs.documents.text import read, write
from fsbench_web.studies.jobs.documents.writer import written
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.jobs.forms.options import OptionsForm
from fsbench_web.studies.jobs.spec import JobOptions, JobSpec

OPTIONS = {
    "repeats": 3,
    "order": "random",
    "seed": 42,
    "priority": -4,
    "time_limit_s": 900,
    "run_again": 0,
}


def test_each_has_an_example_here_and_a_place_everywhere() -> None:
    names = set(JobOptions.model_fields)
    assert names == set(OPTIONS)
    assert names <= {one.name for one in fields(OptionsForm)}
    assert {name: JobIn.model_fields[name].description for name in names} == {
        name: one.description for name, one in JobOptions.model_fields.items()
    }


@pytest.mark.parametrize("said", [{}, OPTIONS, {"order": "as-written"}])
def test_documents_and_the_form_say_the_same(
    spec: Callable[..., JobSpec], said: dict[str, Any]
) -> None:
    wanted = spec(**said)
    document = written(wanted, study="S", lun="disk1", worker="lab1")
    assert expand(read(write(document))).options() == wanted.options()
    assert job_form.read(QueryDict(job_form.prefilled(wanted).to_query())).spec().options() == (
        wanted.options()
    )


def test_what_is_no_such_value_is_told_at_its_place(spec: Callable[..., JobSpec]) -> None:
    document = written(spec(), study="S", lun="disk1", worker="lab1")
    wrong = dict.fromkeys(set(OPTIONS) - {"order"}, "x")
    assert set(wrong) == set(expand(document | wrong).problems)
    query = job_form.prefilled(spec()).to_query() + "&" + "&".join(f"{name}=x" for name in wrong)
    assert set(wrong) == set(job_form.read(QueryDict(query)).spec().unreadable)
