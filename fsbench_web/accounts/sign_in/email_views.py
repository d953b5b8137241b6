"""The e-mail address of an account: it counts once its reader has confirmed it.

Nothing is stored before: the letter holds a signed link, good for a day, for this account alone.
"""

from datetime import timedelta

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core import mail, signing
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from fsbench_web.accounts import audit
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.accounts.sign_in import throttle
from fsbench_web.accounts.sign_in.forms import EmailForm
from fsbench_web.accounts.sign_in.views import account_page

GOOD_FOR = timedelta(days=1)
LETTERS = 3
"""Within throttle.WINDOW: the address may be a stranger's."""
_SALT = "fsbench.email"


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


@never_cache
@require_POST
@requires(Action.ACCOUNT)
def ask(request: HttpRequest) -> HttpResponse:
    """Send a letter with a link to the address, or take the address away at once."""
    user, form = _user(request), EmailForm(request.POST)
    if not form.is_valid():
        return account_page(request, email_form=form, status=422)
    address = form.cleaned_data["email"]
    if not address:
        _store(user, "")
        messages.success(request, "Your account has no e-mail address any more.")
        return redirect("accounts:account")
    if not settings.SENDS_EMAIL:
        form.add_error("email", "This site sends no e-mail; an administrator can set the address.")
        return account_page(request, email_form=form, status=422)
    if not throttle.admit(f"letters of {user.pk}", "", LETTERS):
        minutes = int(throttle.WINDOW.total_seconds() // 60)
        form.add_error("email", f"{LETTERS} letters were sent. Wait {minutes} minutes.")
        return account_page(request, email_form=form, status=429)
    signed = signing.dumps({"user": user.pk, "email": address, "was": user.email}, salt=_SALT)
    link = request.build_absolute_uri(reverse("accounts:confirm_email", args=[signed]))
    text = (
        f"Somebody signed in to fsbench as {user.get_username()} gave this address. If that was "
        f"you, open this link within a day and confirm it:\n\n{link}\n\nIf not, do nothing.\n"
    )
    letter = mail.EmailMessage("fsbench: confirm this address", text, to=[address])
    try:
        letter.send()
    except (OSError, ValueError):
        form.add_error("email", "The mail server did not take the letter. Try again later.")
        return account_page(request, email_form=form, status=502)
    messages.success(request, f"A letter is on its way to {address}: open the link in it.")
    return redirect("accounts:account")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.ACCOUNT)
def confirm(request: HttpRequest, signed: str) -> HttpResponse:
    """Ask, then store: programs that look at letters open links too."""
    user = _user(request)
    try:
        data = signing.loads(signed, salt=_SALT, max_age=GOOD_FOR)
    except signing.BadSignature:
        data = None
    if data is None or data["user"] != user.pk or data["was"] != user.email:
        raise Http404(
            "This link confirms no address: it is older than a day, used, cut off, or another "
            "account's. The account page sends another one."
        )
    if request.method != "POST":
        return render(request, "accounts/confirm_email.html", {"address": data["email"]})
    _store(user, data["email"])
    messages.success(request, f"{data['email']} is the address of your account.")
    return redirect("accounts:account")


def _store(user: User, address: str) -> None:
    with transaction.atomic():
        user.email = address
        user.save(update_fields=["email"])
        audit.note(user, "e-mail address changed", f"account {user}", by="its owner")
