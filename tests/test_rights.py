"""Who may do what at every address. An address that is in no table here fails the test."""

import io
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from fsbench_web.accounts import tokens
from fsbench_web.catalog.announce import announce
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.compare import permalinks
from fsbench_web.compare.spec import ComparisonSpec
from fsbench_web.imports.commit import import_files
from fsbench_web.imports.models import Import
from fsbench_web.imports.plan import Target
from fsbench_web.imports.sources import unpack
from fsbench_web.imports.uploads import stash
from fsbench_web.studies.models import Run, RunState, Submission
from fsbench_web.studies.submission import ConfigurationRequest, RunRequest, submit
from tests.studies.conftest import worker_announcement

pytestmark = pytest.mark.django_db
TABLE = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,%d,KB/s\n"
TARGET = Target("Lab", "ext4", "ext4")

# (address, status for anybody); {} is filled from ``there`` below.
READ_BY_ALL = {
    "": ("", 200),
    "studies/": ("studies/", 200),
    "studies/<slug:slug>/": ("studies/lab/", 200),
    "studies/<slug:slug>/report/": ("studies/lab/report/", 200),
    "studies/<slug:slug>/report.pdf": ("studies/lab/report.pdf", 200),
    "studies/<slug:slug>/matrix/": ("studies/lab/matrix/", 200),
    "runs/": ("runs/", 200),
    "runs/<int:run_id>/": ("runs/{run}/", 200),
    "runs/<int:run_id>/artefacts/<int:artefact_id>/": ("runs/{run}/artefacts/{artefact}/", 200),
    "runs/<int:run_id>/artefacts/<int:artefact_id>/lines/": (
        "runs/{run}/artefacts/{artefact}/lines/",
        200,
    ),
    "sweeps/": ("sweeps/", 200),
    "sweeps/<int:order_id>/": ("sweeps/{order}/", 200),
    "sweeps/<int:order_id>/document.yaml": ("sweeps/{order}/document.yaml", 200),
    "search/": ("search/?q=ext4", 200),
    "history/": ("history/?study=lab", 200),
    "workers/": ("workers/", 200),
    "workers/<slug:name>/": ("workers/{worker}/", 200),
    "luns/": ("luns/", 200),
    "hardware/": ("hardware/", 200),
    "hardware/<slug:slug>/": ("hardware/unisys-2005-es7000/", 200),
    "compare/": ("compare/?study=lab", 200),
    "compare/deltas.csv": ("compare/deltas.csv?study=lab", 200),
    "compare/deltas.<str:suffix>": ("compare/deltas.xlsx?study=lab", 200),
    "compare/export/": ("compare/export/?study=lab", 200),
    "compare/pictures/": ("compare/pictures/?study=lab", 200),
    "compare/pictures.csv": ("compare/pictures.csv?study=lab", 200),
    "compare/cells/<str:test>/": ("compare/cells/write/?study=lab", 200),
    "compare/charts/<str:test>/": ("compare/charts/write/?study=lab", 200),
    "p/<slug:key>/": ("p/{key}/", 200),
    "p/<slug:key>/deltas.<str:suffix>": ("p/{key}/deltas.csv", 200),
    "p/<slug:key>/export/": ("p/{key}/export/", 200),
    "p/<slug:key>/charts/<str:test>/": ("p/{key}/charts/write/", 200),
    "p/<slug:key>/snapshot.json": ("p/{key}/snapshot.json", 200),
    "p/<slug:key>/picture.png": ("p/{key}/picture.png", 200),
    "p/<slug:key>/embed/": ("p/{key}/embed/", 200),
    "account/sign-in/": ("account/sign-in/", 200),
    "api/v1/openapi.json": ("api/v1/openapi.json", 200),
    "api/v1/docs": ("api/v1/docs", 200),
    "api/v1/health": ("api/v1/health", 503),
    "api/v1/health/live": ("api/v1/health/live", 200),
    "api/v1/health/ready": ("api/v1/health/ready", 200),
    "metrics": ("metrics", 401),  # its own token (tests/operations)
    "api/v1/studies": ("api/v1/studies", 200),
    "api/v1/studies/<str:slug>": ("api/v1/studies/lab", 200),
    "api/v1/deltas": ("api/v1/deltas?study=lab", 200),
    "api/v1/deltas.csv": ("api/v1/deltas.csv?study=lab", 200),
    "api/v1/runs/<int:run_id>": ("api/v1/runs/{run}", 200),
    "api/v1/runs/<int:run_id>/log": ("api/v1/runs/{run}/log", 200),
    "api/v1/sweeps/<int:sweep_id>": ("api/v1/sweeps/{order}", 200),
    "api/v1/workers": ("api/v1/workers", 200),
    "api/v1/search": ("api/v1/search?q=ext4", 200),
}
# Pages of a signed-in user: anybody else is sent to sign in.
SIGNED_IN = {
    "runs/new/": "runs/new/",
    "runs/new/review/": "runs/new/review/",
    "runs/new/document/": "runs/new/document/",
    "imports/new/": "imports/new/",
    "imports/<int:import_id>/files/<int:file_id>/columns/": (
        "imports/{upload}/files/{file}/columns/"
    ),
    "imports/reread/<int:artefact_id>/": "imports/reread/{artefact}/",
    "account/": "account/",
    "operations/": "operations/",
    "p/": "p/",
    "p/<slug:key>/edit/": "p/{key}/edit/",
    "p/<slug:key>/delete/": "p/{key}/delete/",
}
# Forms: POST alone; anybody else is sent to sign in, and nothing has happened.
POSTS = {
    "runs/<int:run_id>/cancel/": "runs/{queued}/cancel/",
    "runs/<int:run_id>/retry/": "runs/{queued}/retry/",
    "sweeps/<int:order_id>/cancel/": "sweeps/{order}/cancel/",
    "sweeps/<int:order_id>/pause/": "sweeps/{order}/pause/",
    "sweeps/<int:order_id>/resume/": "sweeps/{order}/resume/",
    "sweeps/<int:order_id>/priority/": "sweeps/{order}/priority/",
    "sweeps/<int:order_id>/retry/": "sweeps/{order}/retry/",
    "workers/<slug:name>/drain/": "workers/{worker}/drain/",
    "workers/<slug:name>/resume/": "workers/{worker}/resume/",
    "imports/<int:import_id>/check/": "imports/{upload}/check/",
    "imports/<int:import_id>/commit/": "imports/{upload}/commit/",
    "imports/<int:import_id>/discard/": "imports/{upload}/discard/",
    "compare/pin/": "compare/pin/",
    "account/password/": "account/password/",
    "account/tokens/": "account/tokens/",
    "account/tokens/<int:token_id>/revoke/": "account/tokens/{token}/revoke/",
}
API_WRITES = {
    "api/v1/imports": "api/v1/imports",
    "api/v1/runs": "api/v1/runs",  # GET is open
    "api/v1/runs/<int:run_id>/cancel": "api/v1/runs/{queued}/cancel",
    "api/v1/sweeps": "api/v1/sweeps",  # GET is open
    "api/v1/sweeps/preview": "api/v1/sweeps/preview",
    "api/v1/sweeps/<int:sweep_id>/cancel": "api/v1/sweeps/{order}/cancel",
    "api/v1/sweeps/<int:sweep_id>/pause": "api/v1/sweeps/{order}/pause",
    "api/v1/sweeps/<int:sweep_id>/resume": "api/v1/sweeps/{order}/resume",
    "api/v1/sweeps/<int:sweep_id>/priority": "api/v1/sweeps/{order}/priority",
    "api/v1/sweeps/<int:sweep_id>/retry": "api/v1/sweeps/{order}/retry",
    "api/v1/workers/<name>/drain": "api/v1/workers/{worker}/drain",
    "api/v1/workers/<name>/resume": "api/v1/workers/{worker}/resume",
}
OTHER = {
    "imports/<int:import_id>/",  # a preview: of who uploaded; a result: everybody's. See below.
    "imports/<int:import_id>/progress/",  # the same
    "runs/<int:run_id>/events/",  # open; it reads on other threads (tests/studies)
    "account/sign-out/",  # ends the caller's own session, if there is one
    "api/v1/",  # leads to the documentation
}


def addresses(resolver: URLResolver, before: str = "") -> Iterator[str]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from addresses(entry, before + str(entry.pattern))
        elif isinstance(entry, URLPattern):
            yield before + str(entry.pattern)


def test_every_address_is_in_one_table() -> None:
    known = [*READ_BY_ALL, *SIGNED_IN, *POSTS, *API_WRITES, *OTHER]
    assert len(known) == len(set(known))
    assert set(addresses(get_resolver())) == set(known)


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def there(ada: User) -> dict[str, object]:
    """One of everything, all of it Ada's."""
    call_command("load_published", verbosity=0)
    given = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}
    result = import_files([("a.csv", TABLE % 1)], **given, user=ada)
    run = Run.objects.get(pk=result.runs[0])
    queued = Run.objects.create(
        series=run.series, repeat=9, origin=Run.Origin.MEASURED, state=RunState.QUEUED
    )
    announce(worker_announcement())
    lun = Lun.objects.select_related("worker").get(name="disk1")
    ordered = submit(
        RunRequest(
            lun_id=lun.pk,
            configurations=(ConfigurationRequest("ext4", {}, "none"),),
            workload="iozone-small",
            new_study="Ordered",
        ),
        "disk1",
        ada,
    )
    upload = stash(unpack([("b.csv", io.BytesIO(TABLE % 2))]), TARGET, ada)
    return {
        "order": ordered[0].submission_id,
        "worker": lun.worker.name,
        "run": run.pk,
        "artefact": run.artefacts.get().pk,
        "queued": queued.pk,
        "key": permalinks.pin(ComparisonSpec(studies=("lab",)), ada).key,
        "upload": upload.pk,
        "file": upload.files.get().pk,
        "result": result.id,
        "token": tokens.create(ada, "hers")[0].pk,
    }


def counts() -> list[object]:
    return [
        Run.objects.count(),
        list(Run.objects.order_by("pk").values_list("state", flat=True)),
        Import.objects.count(),
        list(Import.objects.order_by("pk").values_list("state", flat=True)),
        tokens.ApiToken.objects.count(),
        permalinks.Permalink.objects.count(),
        list(Submission.objects.order_by("pk").values_list("priority", "paused_at")),
        list(Worker.objects.values_list("drained_at", flat=True)),
    ]


def test_anybody_reads_what_is_open(client: Client, there: dict[str, object]) -> None:
    for address, status in READ_BY_ALL.values():
        path = "/" + address.format(**there)
        assert client.get(path).status_code == status, path
        # With the CSRF check on, as browsers meet it, a read address takes no POST of a stranger.
        if address != "account/sign-in/":
            strict = Client(enforce_csrf_checks=True)
            assert strict.post(path).status_code in (403, 405), path


def test_a_stranger_is_sent_to_sign_in(client: Client, there: dict[str, object]) -> None:
    for address in SIGNED_IN.values():
        response = client.get("/" + address.format(**there))
        assert (response.status_code, response.headers["Location"].split("?")[0]) == (
            302,
            "/account/sign-in/",
        ), address


def test_a_stranger_changes_nothing(client: Client, there: dict[str, object]) -> None:
    before = counts()
    for address in POSTS.values():
        path = "/" + address.format(**there)
        assert client.get(path).status_code in (302, 405), path
        response = client.post(path, {"query": "study=lab"})
        assert response.status_code == 302, path
        assert response.headers["Location"].startswith("/account/sign-in/"), path
    for address in API_WRITES.values():
        path = "/" + address.format(**there)
        assert client.post(path).status_code == 401, path
    assert counts() == before


def test_forms_need_their_csrf_secret(ada: User, there: dict[str, object]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    before = counts()
    for address in [*POSTS.values(), *SIGNED_IN.values(), *API_WRITES.values()]:
        path = "/" + address.format(**there)
        assert client.post(path).status_code in (403, 405), path
    assert counts() == before


def test_uploads_and_tokens_of_others_are_not_there(there: dict[str, object]) -> None:
    client = Client()
    client.force_login(User.objects.create_user("eve"))
    before = counts()
    for part in ("check/", "commit/", "discard/", "files/{file}/columns/"):
        address = "/imports/{upload}/" + part
        assert client.post(address.format(**there)).status_code == 404, address
    assert client.get("/imports/{upload}/files/{file}/columns/".format(**there)).status_code == 404
    assert client.post("/account/tokens/{token}/revoke/".format(**there)).status_code == 404
    assert counts() == before
    for address in ("/imports/{upload}/", "/imports/{upload}/progress/"):
        assert client.get(address.format(**there)).status_code == 404, address
        assert Client().get(address.format(**there)).status_code == 404, address
    # What is imported is everybody's to read.
    for address in ("/imports/{result}/", "/imports/{result}/progress/"):
        assert Client().get(address.format(**there)).status_code == 200, address


def test_raw_output_is_found_under_its_own_run_only(
    client: Client, there: dict[str, object]
) -> None:
    assert client.get("/runs/{queued}/artefacts/{artefact}/".format(**there)).status_code == 404
    address = "/runs/{queued}/artefacts/{artefact}/lines/"
    assert client.get(address.format(**there)).status_code == 404
