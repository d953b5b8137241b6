"""An option of a job is declared once: API, documents and the form have it by that."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import settings
from django.http import QueryDict

from fsbench_web.api.runs.schemas import JobIn
from fsbench_web.catalog.configurations.preparation import Preparation
from fsbench_web.core.scoring.repeating import RepeatTarget
from fsbench_web.studies.jobs.documents.plan import expand
from fsbench_web.studies.jobs.documents.text import read, write
from fsbench_web.studies.jobs.documents.writer import document_of
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.jobs.forms.options import FIELDS, LABELS
from fsbench_web.studies.jobs.spec import GuestSpec, JobOptions, JobSpec, LimitsSpec, RaceSpec

OPTIONS = {
    "repeats": 3,
    "order": "random",
    "seed": 42,
    "priority": -4,
    "time_limit_s": 900,
    "run_again": 0,
    "probe_s": 45,
    "crash_points": 300,
    "start_at": datetime(2026, 11, 23, 22, 0, tzinfo=UTC),
    "stop_before": datetime(2026, 11, 24, 6, 0, 30, tzinfo=UTC),
}
PARTS = {
    "until": RepeatTarget(2.5, 3, 8),
    "preparation": Preparation(discard=True, fill_percent=50),
    "guest": GuestSpec(("debian-6.1", "own-2.6"), 2048, 1),
    "tracing": ("requests",),
}
LIMITS = {
    "limits": LimitsSpec(read_mib_s=(0, 16), memory_mib=(512,)),
    "clients": ("node2", "node3/nas"),
}
RACE = {"race": RaceSpec(hours=2.5, test="read", category="overall", margin_percent=5)}


def test_each_has_an_example_here_and_a_place_everywhere() -> None:
    assert set(JobOptions.model_fields) == {*OPTIONS, *PARTS, *LIMITS, *RACE}
    assert set(OPTIONS) <= set(FIELDS)
    for name, field in JobOptions.model_fields.items():
        assert JobIn.model_fields[name].description == field.description
        assert JobIn.model_fields[name].annotation == field.annotation


@pytest.mark.parametrize("options", [{}, OPTIONS, {"order": "as-written"}, PARTS, LIMITS, RACE])
def test_documents_and_the_form_say_the_same(
    spec: Callable[..., JobSpec], options: dict[str, Any]
) -> None:
    job = spec(**options)
    document = document_of(job, study="S", lun="disk1", worker="lab1")
    assert expand(read(write(document))).options() == job.options()
    assert job_form.read(QueryDict(job_form.prefilled(job).to_query())).spec().options() == (
        job.options()
    )


def test_what_is_no_such_value_is_told_at_its_place(spec: Callable[..., JobSpec]) -> None:
    document = document_of(spec(), study="S", lun="disk1", worker="lab1")
    wrong = dict.fromkeys(set(OPTIONS) - {"order"}, "x")
    assert set(wrong) == set(expand(document | wrong).unreadable)
    query = job_form.prefilled(spec()).to_query() + "&" + "&".join(f"{name}=x" for name in wrong)
    assert set(wrong) == set(job_form.read(QueryDict(query)).spec().unreadable)


@pytest.mark.parametrize(
    ("preparation", "sentence"),
    [
        (
            {"precondition_twice": True},
            "Writing twice needs {precondition}: add it.",
        ),
        (
            {"age_rounds": 2},
            "A file system is aged at a fill level: say {fill_percent}, too, or leave {age_rounds} "
            "out.",
        ),
        (
            {"fill_percent": 50, "age_extents": 150},
            "{age_extents} ends the ageing earlier: say {age_rounds}, too.",
        ),
        (
            {"precondition": True, "sprandom_percent": 10},
            "sprandom already writes the whole LUN: leave {precondition} out, or sprandom.",
        ),
    ],
)
def test_options_that_do_not_go_together_are_told_where_they_stand(
    spec: Callable[..., JobSpec], preparation: dict[str, Any], sentence: str
) -> None:
    """In words, by the form too, which was an error of the server, and with its own labels."""
    document = document_of(spec(), study="S", lun="disk1", worker="lab1") | {
        "preparation": preparation
    }
    [problem] = expand(document).unreadable["preparation"]
    assert problem == sentence.format_map({name: name for name in LABELS})
    query = QueryDict(job_form.prefilled(spec()).to_query(), mutable=True)
    query.update(
        {name: "yes" if value is True else str(value) for name, value in preparation.items()}
    )
    labelled = sentence.format_map({name: f"“{label}”" for name, label in LABELS.items()})
    assert job_form.read(query).spec().unreadable == {"preparation": [labelled]}


@pytest.mark.parametrize("name", LABELS)
def test_the_form_has_the_labels_that_sentences_name(name: str) -> None:
    template = (settings.BASE_DIR / "templates/studies/job_form.html").read_text()
    place = re.search(rf'name="{name}"[^\n]*<span>{LABELS[name]}</span>', template)
    assert place or f'<label for="id-{name}">{LABELS[name]} <' in template


def test_a_part_of_a_part_is_told_at_its_place_too(spec: Callable[..., JobSpec]) -> None:
    document = document_of(spec(**PARTS), study="S", lun="disk1", worker="lab1")
    document["repeats"] |= {"least": "x", "mots": 1}
    document["preparation"] = {"discard": "x", "fill_percent": 91}
    document["guest"] = {"kernels": ["a", 3], "cpus": 1.5}
    assert set(expand(document).unreadable) == {
        *("repeats", "repeats.least", "preparation.discard", "preparation.fill_percent"),
        *("guest.kernels[1]", "guest.cpus"),
    }
    query = job_form.prefilled(spec(**PARTS)).to_query()
    wrong = "&least=x&discard=x&fill_percent=91&guest_cpus=1.5"
    job = job_form.read(QueryDict(query + wrong)).spec()
    assert {place: len(problems) for place, problems in job.unreadable.items()} == {
        **{"repeats": 1, "preparation": 2, "guest.cpus": 1}
    }
    # What can be read stays, so that nothing else seems to be wrong.
    assert job.guest == GuestSpec(("debian-6.1", "own-2.6"), 2048)
