"""Every call as its own description has it: schemathesis makes requests of the schema and looks.

Good and bad requests; no answer is a server error, and each has a status, a content type and a body
that the description names. The examples are the same in every run.
"""

import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from ninja import Schema
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi import checks

from fsbench_web.catalog.models import Worker
from tests.api.conftest import one_of_everything
from tests.api.results.test_contract import CALLS

pytestmark = pytest.mark.django_db
EXAMPLES = 6
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


@cache
def described() -> Any:
    """The API says it when a test asks: every process of the tests collects this file."""
    load_all_checks()
    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", get_wsgi_application())


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """The tests' transaction goes on over requests, as Django's own test client has it."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture(scope="module")
def everything(module_db: None) -> dict[str, Any]:
    return one_of_everything()


@pytest.fixture
def arguments(everything: dict[str, Any], is_well: None) -> dict[str, Any]:
    Worker.objects.update(seen_at=timezone.now())  # the tests take longer than it may be silent
    return everything


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("method", "path"), sorted(CALLS), ids=lambda part: part)
def test_a_call_is_as_described(
    method: str, path: str, mode: GenerationMode, arguments: dict[str, Any]
) -> None:
    operation = described()[path][method]
    count = 0

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def check(case: schemathesis.Case) -> None:
        nonlocal count
        count += 1
        if count % 2:  # what is there, else what nobody has
            for name in case.path_parameters or {}:
                case.path_parameters[name] = arguments.get(name, case.path_parameters[name])
        response = case.call(headers={"Authorization": f"Bearer {arguments['token']}"})
        case.validate_response(response, checks=CHECKS)

    try:
        check()
    except Unsatisfiable:
        # A call without parameters and body cannot be asked wrongly.
        assert mode is GenerationMode.NEGATIVE
        return
    assert count


def test_no_two_models_have_one_name() -> None:
    """The description would show one of them in place of the other."""
    names = [
        cls.__qualname__
        for name, module in sys.modules.items()
        if name.startswith("fsbench_web.api.")
        for cls in vars(module).values()
        if isinstance(cls, type)
        and issubclass(cls, Schema)
        and cls.__module__ == name
        and not cls.__name__.startswith("_")
    ]
    assert sorted(names) == sorted(set(names))
