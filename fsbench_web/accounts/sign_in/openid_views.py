"""Sign-in with the site's OpenID provider: there and back again."""

import logging

from django.conf import settings
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET

from fsbench_web.accounts import audit, openid, passwords
from fsbench_web.accounts.people import identities
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.accounts.sign_in import sessions
from fsbench_web.accounts.sign_in.forms import SignInForm
from fsbench_web.accounts.sign_in.views import next_page, safe_page, sign_in_page
from fsbench_web.platform.openid_settings import SignOn

logger = logging.getLogger("fsbench.sign_in")
_BACKEND = "django.contrib.auth.backends.ModelBackend"


def _sign_on() -> SignOn:
    sign_on: SignOn | None = settings.SIGN_ON
    if sign_on is None:
        raise Http404("No sign-in service is set up here: /guide/people/#single-sign-on says how.")
    return sign_on


@never_cache
@require_GET
@requires(Action.OPEN)
def begin(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider.

    A GET, because the site's content security policy lets no form lead elsewhere; it changes
    nothing but what this browser's session remembers of the attempt.
    """
    page = next_page(request)
    try:
        return redirect(openid.begin(request, _sign_on(), page))
    except openid.SignInRefused as refused:
        return _refused(request, refused, page)


@sensitive_variables()
@never_cache
@require_GET
@requires(Action.OPEN)
def callback(request: HttpRequest) -> HttpResponse:
    """Sign in a user who returns from the provider, or say why not."""
    sign_on, page = _sign_on(), ""
    try:
        state = openid.begun(request)
        page = safe_page(request, state["next"])
        claims, sign_out = openid.finish(request, sign_on, state)
        user = identities.account_of(claims, sign_on)
    except openid.SignInRefused as refused:
        return _refused(request, refused, page)
    with transaction.atomic():
        sessions.open_session(request, user, _BACKEND)
        passwords.open_up(request)  # where the same session began with a given password
        openid.remember(request, sign_out)
        audit.note(
            user, "signed in", f"account {user}", issuer=claims.issuer, subject=claims.subject
        )
    return redirect(page or resolve_url("home"))


def _refused(request: HttpRequest, refused: openid.SignInRefused, page: str) -> HttpResponse:
    logger.warning("sign-in with OpenID Connect refused: %s", refused.reason)
    form = SignInForm(request)
    return sign_in_page(request, form, page, "Not signed in.", refused.sentence, refused.status)
