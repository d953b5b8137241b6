"""Who may keep an answer: every address says so, and is closed unless it is in ``SAME_FOR_ALL``."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from fsbench_web.accounts.models import Visibility
from fsbench_web.platform.http.caching import closed
from fsbench_web.studies.models import Study
from tests.test_rights import API_CALLS, EVERY, OTHER, ada, everything, ids

pytestmark = pytest.mark.django_db
__all__ = ["ada", "everything", "ids"]

# Of a public permalink, and without a name of whoever asks: chats and wikis keep them.
SAME_FOR_ALL = {"favicon.ico", "p/<slug:key>/image.<str:suffix>", "p/<slug:key>/embed/"}


def directives(response: Any) -> set[str]:
    return set(response.headers["Cache-Control"].replace(" ", "").split(","))


def is_closed(response: Any) -> bool:
    cache_control = directives(response)
    return "no-store" in cache_control or {"private", "no-cache"} <= cache_control


def walked(client: Client, fields: dict[str, object]) -> dict[str, Any]:
    """Every address with what it answers to GET and, where it has a form, to an empty POST."""
    answers = {}
    for route, address in EVERY.items():
        path = "/" + address.format(**fields)
        answers[route] = client.get(path)
        answers[f"POST {route}"] = client.post(path)
    for (method, route), (address, _) in API_CALLS.items():
        if method == "get":
            answers[f"{method} {route}"] = client.get("/" + address.format(**fields))
    for route in OTHER - {"account/sign-out/", "runs/<int:run_id>/events/"}:
        path = "/" + route.replace("<int:import_id>", "{result}").format(**fields)
        answers[f"other {route}"] = client.get(path)
    answers["nothing"] = client.get("/no/such/address/")
    return answers


@pytest.mark.same_on_any_database
@pytest.mark.parametrize("who", ["a stranger", "whose all of it is"])
def test_every_address_is_closed_to_caches(who: str, ada: User, ids: dict[str, object]) -> None:
    client = Client()
    if who != "a stranger":
        client.force_login(ada)
    for route, response in walked(client, ids).items():
        if route in SAME_FOR_ALL and who == "a stranger":
            assert "public" in directives(response), route
        elif route not in SAME_FOR_ALL:
            assert is_closed(response), (route, response.headers["Cache-Control"])


def test_nothing_of_a_hidden_study_is_kept(ada: User, ids: dict[str, object]) -> None:
    Study.objects.filter(slug="lab").update(visibility=Visibility.PRIVATE, created_by=ada)
    client = Client()
    client.force_login(ada)
    addresses = [
        "/studies/lab/",
        "/studies/lab/report/",
        "/studies/lab/matrix/",
        "/runs/{run}/",
        "/runs/{run}/artefacts/{artefact}/",
        "/imports/{result}/",
        "/compare/?study=lab",
        "/compare/deltas.csv?study=lab",
        "/compare/deltas.xlsx?study=lab",
        "/compare/export/?study=lab",
        "/compare/pictures.csv?study=lab",
        "/history/?study=lab",
        "/search/?q=lab",
        "/p/{key}/",
        "/p/{key}/image.png",
        "/p/{key}/deltas.csv",
        "/api/v1/studies/lab",
    ]
    for address in addresses:
        response = client.get(address.format(**ids))
        assert response.status_code == 200, address
        assert is_closed(response), address
        assert "public" not in directives(response), address


def test_a_view_that_says_who_may_keep_it_is_heard() -> None:
    answer = closed(lambda request: HttpResponse(headers={"Cache-Control": "public, max-age=9"}))
    request: HttpRequest = RequestFactory().get("/")
    assert answer(request).headers["Cache-Control"] == "public, max-age=9"  # type: ignore[union-attr]


def test_pictures_of_the_guide_are_asked_for_again(client: Client) -> None:
    address = "/guide/images/unisys-2005.png"
    tag = client.get(address).headers["ETag"]
    assert client.get(address, headers={"If-None-Match": tag}).status_code == 304
    assert client.get(address, headers={"If-None-Match": '"another"'}).status_code == 200


def test_static_files_stay_with_browsers(client: Client) -> None:
    assert "max-age" in client.get("/static/css/fsbench.css").headers["Cache-Control"]
