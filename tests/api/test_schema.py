"""Every call as its own description has it: schemathesis makes requests of the schema and looks.

Good and bad requests; no answer is a server error, and each has a status, a content type and a body
that the description names. The examples are the same in every run.
"""

import io
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from ninja import Schema
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi import checks

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import Role, Team
from fsbench_web.api.health import _Broker
from fsbench_web.catalog.models import HardwareProfile, OwnWorkload
from fsbench_web.compare import permalinks
from fsbench_web.compare.spec import ComparisonSpec
from fsbench_web.imports.commit import import_files
from fsbench_web.imports.plan import Target
from fsbench_web.imports.sources import unpack
from fsbench_web.imports.uploads import stash
from fsbench_web.studies.models import Run
from tests.accounts.people import person

from .conftest import announced
from .test_contract import CALLS

pytestmark = pytest.mark.django_db
EXAMPLES = 6
TABLE = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,%d,KB/s\n"
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
load_all_checks()
schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", get_wsgi_application())


@pytest.fixture(autouse=True)
def _one_connection() -> Iterator[None]:
    """The tests' transaction goes on over requests, as Django's own test client has it."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """One of everything, and a token that may do all."""
    monkeypatch.setattr("fsbench_web.api.health._broker", lambda expected: _Broker("ok", ["x"]))
    monkeypatch.setattr("fsbench_web.api.health.broker_state", lambda: "ok")
    admin = person(Role.ADMINISTRATOR, "ada")
    announced("bench-1")
    HardwareProfile.objects.create(slug="array", name="Array", facts=[["CPU", "8"]])
    given = {"study": "lab", "filesystem": "ext4", "configuration": "ext4"}
    runs = [
        import_files([(f"{n}.csv", TABLE % n)], **given, hardware="Array", user=admin).runs[0]
        for n in (100, 110)
    ]
    Team.objects.create(name="Storage").members.add(User.objects.create_user("eve"))
    run = Run.objects.get(pk=runs[0])
    upload = stash(unpack([("b.csv", io.BytesIO(TABLE % 2))]), Target(**given), admin)
    return {
        "slug": "lab",
        "run_id": run.pk,
        "series_id": run.series_id,
        "artefact_id": run.artefacts.get().pk,
        "import_id": upload.pk,
        "file_id": upload.files.get().pk,
        "name": "bench-1",
        "key": permalinks.pin(ComparisonSpec(studies=("lab",)), admin).key,
        "suffix": "md",
        "user_id": User.objects.get(username="eve").pk,
        "team_id": Team.objects.get().pk,
        "workload_id": OwnWorkload.objects.create(
            slug="own", version=1, title="Own", kind="fio", text="[a]\nrw=read\n", space_mb=1
        ).pk,
        "token": tokens.create(admin, "all", can_administer=True)[1],
    }


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("method", "path"), sorted(CALLS), ids=lambda part: part)
def test_a_call_is_as_described(
    method: str, path: str, mode: GenerationMode, there: dict[str, Any]
) -> None:
    operation = schema[path][method]
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
                case.path_parameters[name] = there.get(name, case.path_parameters[name])
        response = case.call(headers={"Authorization": f"Bearer {there['token']}"})
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
