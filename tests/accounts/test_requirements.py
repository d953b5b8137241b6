"""What a view says that it requires, and how it is read (every address: tests/test_rights.py)."""

import pytest
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_POST

from fsbench_web.accounts.requirements import Action, action_of, requires, requires_by_method


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


def silent() -> object:
    """A view of its own for each test, as yet without a word."""
    return lambda request: view(request)


METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "BREW", "", None)


def test_a_view_requires_the_same_by_every_method_and_without_a_word_is_closed() -> None:
    assert {action_of(silent(), method) for method in METHODS} == {None}
    steers = requires(Action.STEER)(silent())
    assert {action_of(steers, method) for method in METHODS} == {Action.STEER}


def test_it_is_seen_through_the_decorators_above() -> None:
    stacked = never_cache(gzip_page(require_POST(requires(Action.RUN)(silent()))))
    assert action_of(stacked, "POST") is Action.RUN
    # One that hides its view closes it, and opens nothing.
    assert action_of(lambda request: stacked(request), "POST") is None


def test_what_is_said_is_not_said_again() -> None:
    """Of two decorators, or of one function at two addresses, the last would win unseen."""
    with pytest.raises(ValueError, match="already"):
        requires(Action.READ)(require_POST(requires(Action.RUN)(silent())))


def test_each_method_of_a_call_has_its_own() -> None:
    calls = requires_by_method({"GET": Action.ACCOUNT, "POST": Action.RUN, "PUT": None})(silent())
    assert {action_of(calls, method) for method in ("GET", "HEAD", "OPTIONS")} == {Action.ACCOUNT}
    assert action_of(calls, "POST") is Action.RUN
    assert action_of(calls, "PUT") is None
    # Not taken: the view answers 405 to whoever may read.
    assert {action_of(calls, method) for method in ("DELETE", "BREW", "", None)} == {Action.READ}


def test_a_health_check_answers_everybody_also_405() -> None:
    alive = requires_by_method({"GET": Action.OPEN})(silent())
    assert action_of(alive, "POST") is Action.OPEN
