"""Sign-in by password and by the sign-in service, sign-out, and the account page."""

import logging
from datetime import timedelta

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core import mail, signing
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render, resolve_url
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from fsbench_web.accounts import audit, openid, passwords, rights, tokens
from fsbench_web.accounts.models import ApiToken
from fsbench_web.accounts.people import identities
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.accounts.sign_in import sessions, throttle
from fsbench_web.accounts.sign_in.forms import EmailForm, PasswordForm, SignInForm, TokenForm
from fsbench_web.platform.openid_settings import SignOn

logger = logging.getLogger("fsbench.sign_in")
_BACKEND = "django.contrib.auth.backends.ModelBackend"
_WAIT = f"Wait {int(throttle.WINDOW.total_seconds() // 60)} minutes"
_TOO_MANY = {
    throttle.ThrottleDecision.NAME: f"{throttle.LIMIT} sign-ins with this name failed from here. "
    f"{_WAIT}, then try again; "
    "an administrator can set a new password under People.",
    throttle.ThrottleDecision.ADDRESS: "Too many sign-ins, with different names, failed from this "
    f"address. {_WAIT}, then try again; "
    "browsers in which you signed in before still can.",
}
_TOO_MANY_OLD = f"{throttle.LIMIT} wrong passwords came from here. {_WAIT}, then try again."
LETTER_GOOD_FOR = timedelta(days=1)
LETTERS = 3
"""Within throttle.WINDOW: the address may be a stranger's."""
_LETTER_SALT = "fsbench.email"


def next_page(request: HttpRequest) -> str:
    """Where to go after sign-in: a path of this host, so that a link cannot lead astray."""
    return safe_page(request, request.POST.get("next") or request.GET.get("next") or "")


def safe_page(request: HttpRequest, page: str) -> str:
    """The path if it is one of this host, else nothing."""
    allowed = url_has_allowed_host_and_scheme(
        page, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    # Anything but a path would be looked up as the name of a view (resolve_url).
    return page if allowed and page.startswith("/") else ""


def _signed_in_user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.OPEN)
def sign_in(request: HttpRequest) -> HttpResponse:
    page = next_page(request)
    if request.user.is_authenticated and request.method != "POST":
        return redirect(page or "accounts:account")
    form = SignInForm(request)
    refused, status = "", 200
    if request.method == "POST":
        if not settings.PASSWORD_SIGN_IN:
            raise PermissionDenied("Sign-in with a password is switched off here.")
        name, address = request.POST.get("username", ""), request.META.get("REMOTE_ADDR", "")
        form, status = SignInForm(request, data=request.POST), 422
        browser = throttle.browser_mark(request, name)
        decision = throttle.admit_sign_in(name, address, browser)
        if decision is not throttle.ThrottleDecision.ADMITTED:
            form, refused, status = SignInForm(request), _TOO_MANY[decision], 429
        elif form.is_valid():
            throttle.forget(name, address, browser)
            user = form.get_user()
            sessions.open_session(request, user)
            detail = {"with": "a given password"} if passwords.signed_in(request, user) else {}
            audit.note(user, "signed in", f"account {user}", **detail)
            response = redirect(page or resolve_url("home"))
            throttle.remember_browser(response, name)
            return response
    heading = "Too many failed sign-ins." if refused else ""
    return sign_in_page(request, form, page, heading, refused, status)


def sign_in_page(
    request: HttpRequest,
    form: SignInForm,
    page: str,
    heading: str = "",
    refused: str = "",
    status: int = 200,
) -> HttpResponse:
    """The ways to sign in, and why the last one led to nothing."""
    context = {
        "form": form if settings.PASSWORD_SIGN_IN else None,
        "sign_on": settings.SIGN_ON,
        "next": page,
        "heading": heading,
        "refused": refused,
        "anonymous_reading": settings.ANONYMOUS_READING,
    }
    return render(request, "accounts/sign_in.html", context, status=status)


@never_cache
@require_POST
@requires(Action.OPEN)
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session here, and offer a link to the sign-in service's own way out.

    A link, because the content security policy lets no form lead to another site.
    """
    address = openid.sign_out_address(request, settings.SIGN_ON)
    logout(request)
    if not address:
        return redirect("home")
    context = {"leaving": address, "sign_on": settings.SIGN_ON}
    return render(request, "accounts/signed_out.html", context)


def _sign_on() -> SignOn:
    sign_on: SignOn | None = settings.SIGN_ON
    if sign_on is None:
        raise Http404("No sign-in service is set up here: /guide/people/#single-sign-on says how.")
    return sign_on


@never_cache
@require_GET
@requires(Action.OPEN)
def begin_service(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider: a GET, because no form may lead to another site."""
    page = next_page(request)
    try:
        return redirect(openid.begin(request, _sign_on(), page))
    except openid.SignInRefused as refused:
        return _refused(request, refused, page)


@sensitive_variables()
@never_cache
@require_GET
@requires(Action.OPEN)
def end_service(request: HttpRequest) -> HttpResponse:
    """Sign in a user who returns from the provider, or say why not."""
    sign_on, page = _sign_on(), ""
    try:
        state = openid.begun(request)
        page = safe_page(request, state["next"])
        claims, way_out = openid.finish(request, sign_on, state)
        user = identities.account_of(claims, sign_on)
    except openid.SignInRefused as refused:
        return _refused(request, refused, page)
    with transaction.atomic():
        sessions.open_session(request, user, _BACKEND)
        passwords.open_up(request)  # where the same session began with a given password
        openid.remember(request, way_out)
        audit.note(
            user, "signed in", f"account {user}", issuer=claims.issuer, subject=claims.subject
        )
    return redirect(page or resolve_url("home"))


def _refused(request: HttpRequest, refused: openid.SignInRefused, page: str) -> HttpResponse:
    logger.warning("sign-in with OpenID Connect refused: %s", refused.reason)
    form = SignInForm(request)
    return sign_in_page(request, form, page, "Not signed in.", refused.sentence, refused.status)


def _has_password(user: User) -> bool:
    """Whether the account opens with a password that can be changed here."""
    return settings.PASSWORD_SIGN_IN and user.has_usable_password()


def _may_not(user: User) -> list[rights.Decision]:
    """What the account may not do, with the reason."""
    actions = (rights.Action.IMPORT, rights.Action.RUN)
    return [
        decision for decision in (rights.decide(user, action) for action in actions) if decision.why
    ]


def account_page(
    request: HttpRequest,
    *,
    password_form: PasswordForm | None = None,
    token_form: TokenForm | None = None,
    email_form: EmailForm | None = None,
    new_token: str = "",
    status: int = 200,
) -> HttpResponse:
    """One's own page, with the form that was not right."""
    user = _signed_in_user(request)
    role = rights.role_of(user)
    context = {
        "role": role.label if role else "",
        "is_administrator": rights.is_administrator(user),
        "granted": rights.granted_luns(user).select_related("lun__worker"),
        "password_form": (password_form or PasswordForm(user)) if _has_password(user) else None,
        "identities": identities.of_account(user),
        "sign_on": settings.SIGN_ON,
        "email_form": email_form or EmailForm(initial={"email": user.email}),
        "sends_email": settings.SENDS_EMAIL,
        "teams": user.teams.order_by("name"),
        "may_not": _may_not(user),
        "token_form": token_form or TokenForm(user=user),
        "tokens": ApiToken.objects.filter(user=user),
        "new_token": new_token,
    }
    return render(request, "accounts/account.html", context, status=status)


@never_cache
@require_GET
@login_required
@requires(Action.ACCOUNT)
def account(request: HttpRequest) -> HttpResponse:
    return account_page(request)


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@requires(Action.ACCOUNT)
def change_password(request: HttpRequest) -> HttpResponse:
    """Change it from the account page, or here before all else where somebody else set it."""
    user, was_given = _signed_in_user(request), passwords.must_be_chosen(request)
    if request.method != "POST" and not was_given:
        return redirect(f"{resolve_url('accounts:account')}#password")
    if not _has_password(user):
        if was_given:
            # Passwords were switched off since: the session can choose none, and do nothing else.
            logout(request)
            return redirect_to_login(next_page(request) or resolve_url("accounts:account"))
        raise PermissionDenied("Your account has no password to change.")
    if request.method != "POST":
        return _choose_page(request, PasswordForm(user))
    name, address = user.get_username(), request.META.get("REMOTE_ADDR", "")
    # As at the sign-in: who found a session open must not find out its password by trying.
    is_admitted = throttle.admit(name, address)
    form = PasswordForm(user, request.POST, refused="" if is_admitted else _TOO_MANY_OLD)
    status = 422 if is_admitted else 429
    is_right = form.is_valid()
    if "old_password" not in form.errors:
        throttle.forget(name, address)
    if is_right:
        before = user.password
        form.save(commit=False)
        if passwords.choose(user, before):
            # Every other session of the user ends; this one goes on.
            update_session_auth_hash(request, user)
            passwords.open_up(request)
            messages.success(request, "Your password is changed. Other browsers are signed out.")
            return redirect(next_page(request) or "accounts:account")
        form.add_error(None, "The password was changed elsewhere a moment ago: sign in again.")
    if was_given:
        return _choose_page(request, form, status)
    return account_page(request, password_form=form, status=status)


def _choose_page(request: HttpRequest, form: PasswordForm, status: int = 200) -> HttpResponse:
    """The only page of a session that a given password opened."""
    context = {"form": form, "next": next_page(request)}
    return render(request, "accounts/choose_password.html", context, status=status)


@never_cache
@require_POST
@login_required
@requires(Action.ACCOUNT)
def create_token(request: HttpRequest) -> HttpResponse:
    # The answer itself shows the token: a redirect would have to store it in plain text between.
    user = _signed_in_user(request)
    form = TokenForm(request.POST, user=user)
    if not form.is_valid():
        return account_page(request, token_form=form, status=422)
    try:
        with transaction.atomic():
            _, token = tokens.create(
                user,
                form.cleaned_data["name"],
                can_import=form.cleaned_data["can_import"],
                can_run=form.cleaned_data["can_run"],
                can_administer=form.cleaned_data["can_administer"],
                expires_at=form.expires_at,
            )
    except IntegrityError:
        form.add_error("name", "A token of this name was made a moment ago; see the list below.")
        return account_page(request, token_form=form, status=422)
    return account_page(request, new_token=token, status=201)


@require_POST
@login_required
@requires(Action.ACCOUNT)
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=token_id, user=_signed_in_user(request))
    tokens.revoke(token, _signed_in_user(request))
    messages.success(request, f"The token “{token.name}” is revoked.")
    return redirect("accounts:account")


@never_cache
@require_POST
@requires(Action.ACCOUNT)
def ask_email(request: HttpRequest) -> HttpResponse:
    """Send a letter with a link to the address, or take the address away at once."""
    user, form = _signed_in_user(request), EmailForm(request.POST)
    if not form.is_valid():
        return account_page(request, email_form=form, status=422)
    address = form.cleaned_data["email"]
    if not address:
        _store_email(user, "")
        messages.success(request, "Your account has no e-mail address any more.")
        return redirect("accounts:account")
    if not settings.SENDS_EMAIL:
        form.add_error("email", "This site sends no e-mail; an administrator can set the address.")
        return account_page(request, email_form=form, status=422)
    if not throttle.admit(f"letters of {user.pk}", "", LETTERS):
        form.add_error("email", f"{LETTERS} letters were sent. {_WAIT}.")
        return account_page(request, email_form=form, status=429)
    signed = signing.dumps(
        {"user": user.pk, "email": address, "was": user.email}, salt=_LETTER_SALT
    )
    link = request.build_absolute_uri(reverse("accounts:confirm_email", args=[signed]))
    text = (
        f"Somebody signed in to fsbench as {user.get_username()} gave this address. If that was "
        f"you, open this link within a day and confirm it:\n\n{link}\n\nIf not, do nothing.\n"
    )
    letter = mail.EmailMessage("fsbench: confirm this address", text, to=[address])
    try:
        letter.send()
    except (OSError, ValueError):
        form.add_error("email", "The mail server refused the e-mail. Try again later.")
        return account_page(request, email_form=form, status=502)
    messages.success(request, f"A letter is on its way to {address}: open the link in it.")
    return redirect("accounts:account")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.ACCOUNT)
def confirm_email(request: HttpRequest, signed: str) -> HttpResponse:
    """Ask, then store: programs that look at letters open links too."""
    user = _signed_in_user(request)
    try:
        data = signing.loads(signed, salt=_LETTER_SALT, max_age=LETTER_GOOD_FOR)
    except signing.BadSignature:
        data = None
    if data is None or data["user"] != user.pk or data["was"] != user.email:
        raise Http404(
            "This link confirms no address: it is older than a day, used, cut off, or another "
            "account's. The account page sends another one."
        )
    if request.method != "POST":
        return render(request, "accounts/confirm_email.html", {"address": data["email"]})
    _store_email(user, data["email"])
    messages.success(request, f"{data['email']} is the address of your account.")
    return redirect("accounts:account")


def _store_email(user: User, address: str) -> None:
    with transaction.atomic():
        user.email = address
        user.save(update_fields=["email"])
        audit.note(user, "e-mail address changed", f"account {user}", by="its owner")
