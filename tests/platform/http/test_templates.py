"""What a template was given is let go of when it is written, without the garbage collector."""

import gc
import weakref
from collections.abc import Iterator

import pytest
from django.http import HttpRequest
from django.template import TemplateDoesNotExist, engines
from django.test import RequestFactory


class Data:
    def __str__(self) -> str:
        return "<b>"


@pytest.fixture
def no_collector() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    yield
    if was_enabled:
        gc.enable()


@pytest.fixture(params=["with a request", "without"])
def request_or_none(request: pytest.FixtureRequest, rf: RequestFactory) -> HttpRequest | None:
    return rf.get("/") if request.param == "with a request" else None


@pytest.mark.usefixtures("no_collector")
def test_what_a_page_is_made_of_goes_with_it(request_or_none: HttpRequest | None) -> None:
    data = Data()
    template = engines["django"].from_string(
        "{% with twice=data %}{% for one in many %}{{ one }}{% endfor %}{{ twice }}{% endwith %}"
    )
    context = {"data": data, "many": [data]}
    assert template.render(context, request_or_none) == "&lt;b&gt;&lt;b&gt;"
    context.clear()
    reference = weakref.ref(data)
    del data
    assert reference() is None


def test_what_is_asked_for_goes_before_what_every_page_knows(rf: RequestFactory) -> None:
    template = engines["django"].from_string("{{ request }} {{ messages }}")
    context = {"request": "own"}
    assert template.render(context, rf.get("/")).startswith("own ")
    assert context == {"request": "own"}


def test_an_included_template_that_is_not_there_is_said() -> None:
    template = engines["django"].from_string("{% include 'nowhere.html' %}")
    with pytest.raises(TemplateDoesNotExist, match="nowhere"):
        template.render({})
