"""Who may write: a token in the header, or the session of a browser with its CSRF secret."""

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja.errors import AuthenticationError, HttpError
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from fsbench_web.accounts import tokens


class TokenAuth(HttpBearer):
    """``Authorization: Bearer ...``. A token that opens nothing is refused, never ignored."""

    def authenticate(self, request: HttpRequest, token: str) -> User:
        # accounts.gate has looked it up already, and refused one that opens nothing.
        api_token = getattr(request, "api_token", None)
        user = api_token.user if api_token is not None else tokens.user_of(token.strip())
        if user is None:
            raise AuthenticationError
        return user


class SessionAuth(APIKeyCookie):
    """The cookie of a signed-in browser.

    CSRF is checked only once there is a session, so that a program without a token is told that
    it needs one rather than that its CSRF check failed.
    """

    param_name = settings.SESSION_COOKIE_NAME

    def __init__(self) -> None:
        super().__init__(csrf=False)

    def authenticate(self, request: HttpRequest, key: str | None) -> User | None:
        user = request.user
        if not isinstance(user, User):
            return None
        if check_csrf(request):
            raise HttpError(
                403,
                "The CSRF check failed: send the csrftoken cookie's value as X-CSRFToken, "
                "or use a token.",
            )
        return user


WRITER = [TokenAuth(), SessionAuth()]


def user_of(request: HttpRequest) -> User:
    """The user whom ``WRITER`` let in."""
    user = getattr(request, "auth", None)
    assert isinstance(user, User)
    return user
