"""Files that are drawn up: once for the same, anew for what changed, and for nobody else."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from fsbench_web.accounts.models import Role, Visibility
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.renderings import answers
from fsbench_web.renderings.addresses import is_rendered
from fsbench_web.renderings.process import RendererUnavailable, TooLarge
from fsbench_web.studies.models import Score, Study
from tests.accounts.people import person
from tests.importing import import_files
from tests.test_rights import EVERY, one_of_everything

pytestmark = pytest.mark.django_db
TABLE = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,%d,KB/s\n"
XLSX = "/compare/deltas.xlsx?study=lab"


@pytest.fixture
def ada(db: None) -> User:
    return person(Role.CONTRIBUTOR)


@pytest.fixture
def lab(ada: User) -> Study:
    arguments = {"filesystem": "ext4", "configuration": "ext4", "user": ada}
    import_files([("a.csv", TABLE % 1)], study="Lab", **arguments)
    import_files([("b.csv", TABLE % 7654321)], study="Den", **arguments)
    return Study.objects.get(slug="lab")


@pytest.fixture
def drawn_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was drawn up, by the name of its function."""
    answers.cache.clear()
    calls: list[str] = []
    as_it_is = answers._write

    def noted(write: Callable[..., bytes], arguments: Any) -> bytes:
        calls.append(write.__name__)
        return as_it_is(write, arguments)

    monkeypatch.setattr(answers, "_write", noted)
    return calls


def session(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("path", [XLSX, "/api/v1/exports/deltas.xlsx?study=lab"])
def test_it_is_made_once_however_often_it_is_asked_for(
    client: Client, lab: Study, drawn_up: list[str], path: str
) -> None:
    first = client.get(path)
    responses = [client.get(path), client.head(path), client.get(path, HTTP_X_ANY="thing")]
    assert [response.status_code for response in (first, *responses)] == [200] * 4
    assert {
        response.content for response in responses if response.request["REQUEST_METHOD"] == "GET"
    } == {first.content}
    assert {response["ETag"] for response in responses} == {first["ETag"]}
    unchanged = client.get(path, headers={"If-None-Match": first["ETag"]})
    assert (unchanged.status_code, unchanged.content, unchanged["ETag"]) == (
        304,
        b"",
        first["ETag"],
    )
    assert len(drawn_up) == 1


def test_who_has_it_already_needs_no_making(
    client: Client, lab: Study, drawn_up: list[str]
) -> None:
    tag = client.get(XLSX)["ETag"]
    answers.cache.clear()  # as after a restart
    for method in (client.get, client.head):
        assert method(XLSX, headers={"If-None-Match": f'"x", {tag}'}).status_code == 304
    assert len(drawn_up) == 1


@pytest.mark.parametrize("path", [XLSX, "/compare/deltas.md?study=lab"])
def test_what_another_version_made_is_made_anew(
    client: Client, lab: Study, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A version that mends a file would leave the wrong one with everybody who has it."""
    tag = client.get(path)["ETag"]
    assert client.get(path, headers={"If-None-Match": tag}).status_code == 304
    monkeypatch.setattr(answers, "VERSION", "0.0.1")
    assert client.get(path, headers={"If-None-Match": tag}).status_code == 200


def test_scores_and_titles_that_change_are_seen_at_once(
    client: Client, lab: Study, drawn_up: list[str]
) -> None:
    path = "/compare/deltas.json?study=lab"
    tags = [client.get(path)["ETag"]]
    Score.objects.filter(series__study=lab).update(value=2)
    changed = client.get(path)
    assert changed.json()["tables"][0]["rows"][0]["score"] == 2
    Study.objects.update(title="Laboratory")
    tags += [changed["ETag"], client.get(path)["ETag"]]
    assert client.get(path, headers={"If-None-Match": tags[0]}).status_code == 200
    assert len(set(tags)) == 3
    assert drawn_up == ["_json"] * 3


@pytest.mark.parametrize("suffix", ["json", "xlsx", "md", "tex"])
def test_nobody_gets_what_was_made_for_somebody_who_sees_more(
    client: Client, ada: User, lab: Study, drawn_up: list[str], suffix: str
) -> None:
    Study.objects.filter(slug="den").update(visibility=Visibility.PRIVATE, created_by=ada)
    hers, path = session(ada), f"/compare/deltas.{suffix}?by=study"
    secret = hers.get(path)
    public = client.get(path)
    assert public["ETag"] != secret["ETag"]
    assert public.content != secret.content
    assert b"7654321" not in public.content
    # Her ETag, were it known, opens nothing.
    assert client.get(path, headers={"If-None-Match": secret["ETag"]}).status_code == 200
    # It stays so when she asks again, and is the same for all who see the same.
    assert hers.get(path).content == secret.content
    assert session(person(Role.VIEWER)).get(path).content == public.content
    assert len(drawn_up) == 2


def test_a_workbook_of_what_is_hidden_now_is_gone_though_it_is_kept(
    client: Client, ada: User, lab: Study, drawn_up: list[str]
) -> None:
    tag = client.get(XLSX)["ETag"]
    Study.objects.filter(pk=lab.pk).update(visibility=Visibility.PRIVATE, created_by=ada)
    for method in (client.get, client.head):
        assert method(XLSX).status_code == 400
        assert method(XLSX, headers={"If-None-Match": tag}).status_code == 400
    assert session(ada).get(XLSX).status_code == 200
    assert len(drawn_up) == 1


def test_it_is_as_old_as_the_day_at_most(
    client: Client, lab: Study, drawn_up: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    noon = datetime(2026, 11, 22, 12, tzinfo=timezone.get_default_timezone())
    tags = []
    for later in (timedelta(0), timedelta(hours=3), timedelta(days=1)):
        monkeypatch.setattr(timezone, "now", lambda later=later: noon + later)
        for path in (XLSX, "/compare/deltas.json?study=lab"):
            tags.append(client.get(path)["ETag"])
    assert tags[:2] == tags[2:4]
    assert set(tags[:2]).isdisjoint(tags[4:])
    assert drawn_up == ["write", "_json"] * 2


@pytest.mark.same_on_any_database
def test_every_file_is_told_apart_by_what_it_says_alone(
    client: Client, ada: User, lab: Study, drawn_up: list[str]
) -> None:
    call_command("load_published", verbosity=0)
    key = records.pin(ComparisonSpec(studies=("unisys-2005",)), ada).key
    paths = [
        "/studies/lab/papers/unisys-2005/tables.json",
        f"/p/{key}/image.png",
        *(f"/compare/deltas.{suffix}?study=unisys-2005" for suffix in ("xlsx", "json", "tex")),
        *(f"/p/{key}/deltas.{suffix}" for suffix in ("csv", "md")),
    ]
    first = [client.get(path) for path in paths]
    assert [response.status_code for response in first] == [200] * len(paths)
    assert [client.get(path)["ETag"] for path in paths] == [response["ETag"] for response in first]
    assert len({response["ETag"] for response in first}) == len(drawn_up) == len(paths)


@pytest.mark.parametrize(
    ("error", "status"), [(TooLarge, 422), (RendererUnavailable, 503)], ids=["too large", "away"]
)
def test_what_cannot_be_drawn_up_says_what_to_do(
    client: Client,
    lab: Study,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
    status: int,
) -> None:
    def refuse(*arguments: object) -> bytes:
        raise error

    answers.cache.clear()
    monkeypatch.setattr(answers, "_write", refuse)
    page = client.get(XLSX)
    assert (page.status_code, "choose fewer tests" in page.content.decode()) == (status, True)
    assert ("Retry-After" in page) is (status == 503)
    call = client.get("/api/v1/exports/deltas.xlsx?study=lab")
    assert call.status_code == status
    assert "choose fewer tests" in call.json()["detail"]


@pytest.mark.same_on_any_database
def test_every_address_that_draws_something_up_goes_the_way_of_such(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    as_it_is = answers.answer

    def noted(request: Any, *arguments: Any, **named: Any) -> Any:
        drawn.append(request.path_info)
        return as_it_is(request, *arguments, **named)

    monkeypatch.setattr(answers, "answer", noted)
    values, hers = one_of_everything(ada), session(ada)
    for address in EVERY.values():
        hers.get("/" + address.format(**values))
    assert len(drawn) >= 6
    # A CSV takes what a page takes.
    assert [path for path in drawn if not is_rendered(path) and not path.endswith(".csv")] == []


def test_other_addresses_are_pages() -> None:
    for path in (
        *("/", "/glossary/", "/studies/lab/", "/compare/", "/compare/deltas.csv", "/api/v1/deltas"),
        *("/api/v1/deltas.csv", "/p/key/", "/p/key/embed/", "/report/x", "/runs/new/"),
    ):
        assert not is_rendered(path), path


def test_what_is_not_known_is_not_told_apart_by_a_part_of_it() -> None:
    with pytest.raises(TypeError, match="cannot be told apart"):
        answers._digest((1, object()))
    assert answers._digest((1, "1", 1.0, True)) != answers._digest((1, "1", 1, 1))
    assert answers._digest([{"a": 1, "b": {2, 3}}]) == answers._digest([{"a": 1, "b": {3, 2}}])
    assert answers._digest(["ab", "c"]) != answers._digest(["a", "bc"])
