"""Middleware that asks accounts.rights before any view.

The caller is the signed-in user, or under /api/ the user of the token in the header.
"""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from fsbench_web.accounts import passwords, requirements, rights, tokens
from fsbench_web.accounts.models import ApiToken
from fsbench_web.platform.http import error_pages

NEEDS_SIGN_IN = (
    "This call needs an account: send the header "
    '"Authorization: Bearer TOKEN". Tokens are made on the account page, or with '
    "`manage.py create_token USERNAME`."
)
_SCOPE_WORDS = {
    **{"read": "reading", "import": "imports", "run": "runs"},
    **{"fire": "firing a trigger", "administer": "administration"},
}


def gate(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Refuse what the view requires (``requires``) of somebody else, before it is called."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        # Until the view is known nobody is: an error page shows nothing of any study.
        with rights.as_user(AnonymousUser()):
            return get_response(request)

    answer.process_view = _before_view  # type: ignore[attr-defined]
    return answer


def _before_view(
    request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
) -> HttpResponseBase | None:
    match = request.resolver_match
    assert match is not None
    is_api = request.path.startswith("/api/")
    action = requirements.action_of(view, request.method)
    if action is None:
        raise PermissionDenied("No rule says who may open this address: it is closed to all.")
    if action is rights.Action.OPEN:
        return None
    user: rights.AnyUser = request.user
    if is_api and tokens.is_unreadable(request):
        # Not as a stranger either: who shows something wants to be somebody.
        request.user = AnonymousUser()
        return error_pages.unauthorised(request, tokens.NOT_BEARER)
    if is_api and tokens.bearer_token(request) is not None:
        token = tokens.of_request(request)
        if token is None:
            # Not answered as to a stranger: a program whose token expired would take what is
            # public for all there is.
            request.user = AnonymousUser()
            return error_pages.unauthorised(request, tokens.REFUSED)
        # A session beside the header has no say: what is seen is what the token opens.
        user = request.user = token.user
        request.api_token = token  # type: ignore[attr-defined]
        _check_scope(token, action)
    elif match.route != passwords.ROUTE and passwords.must_be_chosen(request):
        if is_api:
            raise PermissionDenied(passwords.SENTENCE)
        page = reverse("accounts:change_password")
        if request.method not in ("GET", "HEAD"):
            return redirect(page)
        return redirect_to_login(request.get_full_path(), page)
    if not rights.may(user, action) and not user.is_authenticated:
        if not is_api:
            # What a form was sent to answers no GET: a view may say where to go on instead.
            after = getattr(view, "after_sign_in", None)
            return redirect_to_login(after(request) if after else request.get_full_path())
        has_shown = "Authorization" in request.headers
        return error_pages.unauthorised(request, tokens.REFUSED if has_shown else NEEDS_SIGN_IN)
    rights.require(user, action)
    rights.set_viewer(user)
    return None


def _check_scope(token: ApiToken, action: rights.Action) -> None:
    scope = rights.scope_of(action)
    if scope not in token.scopes:
        raise PermissionDenied(
            f'The token "{token.name}" was not made for {_SCOPE_WORDS[scope]}. '
            "The account page makes one that is."
        )
