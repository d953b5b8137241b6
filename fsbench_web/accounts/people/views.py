"""Pages of administrators: people, teams and their grants, and the audit log."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from fsbench_web.accounts import audit, rights
from fsbench_web.accounts.models import AuditEntry, GivenPassword, Role, Team
from fsbench_web.accounts.people import accounts, closing, identities
from fsbench_web.accounts.people.forms import (
    AccountForm,
    IdentityForm,
    NewPasswordForm,
    PersonForm,
    TeamForm,
    TeamNameForm,
)
from fsbench_web.accounts.requirements import Action, requires

ENTRIES_SHOWN = 100
PERMALINKS_SHOWN = 50
_OUTDATED = (
    "Somebody else changed this meanwhile, so nothing of yours was saved. Below is the current "
    "state."
)


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _people_page(request: HttpRequest, status: int = 200, **forms: BaseForm) -> HttpResponse:
    users = User.objects.select_related("person").prefetch_related("teams", "lun_grants__lun")
    context = {
        "people": [
            (user, role.label if (role := rights.role_of(user)) else "closed")
            for user in users.order_by("-is_active", "username")
        ],
        "teams": Team.objects.prefetch_related("members", "lun_grants__lun").order_by("name"),
        "account_form": AccountForm(),
        "team_form": TeamNameForm(),
        **forms,
    }
    return render(request, "accounts/people.html", context, status=status)


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.ADMINISTER)
def people_list(request: HttpRequest) -> HttpResponse:
    """Everybody with an account, and the teams; a POST makes an account."""
    if request.method != "POST":
        return _people_page(request)
    form = AccountForm(request.POST)
    if not form.is_valid():
        return _people_page(request, 422, account_form=form)
    try:
        user = accounts.create(
            form.cleaned_data["username"],
            form.cleaned_data.get("password", ""),
            Role(form.cleaned_data["role"]),
            _user(request),
        )
    except accounts.NameTaken as taken:
        form.add_error("username", str(taken))
        return _people_page(request, 422, account_form=form)
    messages.success(
        request,
        f"The account {user} is made. "
        + (
            "Hand the password over safely."
            if user.has_usable_password()
            else "Link a subject to it: nobody can sign in to it yet."
        ),
    )
    return redirect("people:person", user_id=user.pk)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.ADMINISTER)
def person(request: HttpRequest, user_id: int) -> HttpResponse:
    """Role, teams and LUNs of one account, and whether it is open."""
    user = _account(user_id)
    if request.method != "POST":
        return _person_page(request, user, PersonForm(user=user))
    with transaction.atomic():
        user = accounts.lock_account(user.pk)
        form = PersonForm(request.POST, user=user)
        if form.is_outdated:
            fresh_form = PersonForm(user=user)
            return _person_page(request, user, fresh_form, 409, refused=_OUTDATED)
        if form.is_valid() and _is_changed(user, form, _user(request)):
            if not form.cleaned_data["is_active"]:
                _leave_own(request, user)
            messages.success(request, f"The account {user} is changed.")
            return redirect("people:people")
        return _person_page(request, user, form, 422)


def _leave_own(request: HttpRequest, user: User) -> None:
    """Sign out a user who just ended all own sessions."""
    if user.pk == _user(request).pk:
        logout(request)


def _is_changed(user: User, form: PersonForm, by: User) -> bool:
    """Change the account as the form says; False: the form has an error."""
    cleaned: dict[str, Any] = form.cleaned_data
    try:
        accounts.change(
            user.pk,
            role=Role(cleaned["role"]),
            is_active=cleaned["is_active"],
            teams=cleaned["teams"],
            luns=cleaned["luns"].values_list("pk", flat=True),
            by=by,
            email=cleaned["email"],
            permalinks=form.permalinks_choice,
        )
    except accounts.LastAdministrator as refused:
        form.add_error("role", str(refused))
    except closing.DispositionError as refused:
        form.add_error("permalinks", str(refused))
    return not form.errors


def _account(user_id: int) -> User:
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        raise Http404("There is no such account. The people page lists all.")
    return user


def _person_page(
    request: HttpRequest,
    user: User,
    form: PersonForm,
    status: int = 200,
    *,
    identity_form: IdentityForm | None = None,
    new_password: str = "",
    refused: str = "",
) -> HttpResponse:
    permalinks = closing.permalinks_of(user)
    # The account page changes one's own password, and none opens a closed account.
    takes_password = settings.PASSWORD_SIGN_IN and user.is_active and user.pk != request.user.pk
    context = {
        "person": user,
        "permalinks": permalinks[:PERMALINKS_SHOWN],
        "permalinks_total": permalinks.count(),
        "new_password": new_password,
        "refused": refused,
        "password_form": NewPasswordForm() if takes_password else None,
        "form": form,
        "sign_on": settings.SIGN_ON,
        "identities": identities.of_account(user),
        "identity_form": identity_form or IdentityForm(),
        "has_password": user.has_usable_password(),
        "given": GivenPassword.objects.filter(user=user).first()
        if user.has_usable_password()
        else None,
    }
    return render(request, "accounts/person.html", context, status=status)


@sensitive_variables("password")
@never_cache
@require_POST
@requires(Action.ADMINISTER)
def set_password(request: HttpRequest, user_id: int) -> HttpResponse:
    """Give this account a new random password."""
    user = _account(user_id)
    if not settings.PASSWORD_SIGN_IN:
        raise PermissionDenied("Sign-in with a password is switched off here.")
    form = NewPasswordForm(request.POST)
    form.full_clean()
    try:
        password = accounts.set_password(
            user.pk, _user(request), revokes_tokens=form.cleaned_data["revokes_tokens"]
        )
    except accounts.PasswordNotAllowed as refused:
        return _person_page(request, user, PersonForm(user=user), 422, refused=str(refused))
    # The answer itself shows it: a redirect would have to store it in plain text between.
    user.refresh_from_db()
    return _person_page(request, user, PersonForm(user=user), 201, new_password=password)


@never_cache
@require_POST
@requires(Action.ADMINISTER)
def link_identity(request: HttpRequest, user_id: int) -> HttpResponse:
    """Link a subject of the sign-in service to this account."""
    user = _account(user_id)
    if settings.SIGN_ON is None:
        raise Http404("No sign-in service is set up: /guide/people/#single-sign-on says how.")
    form = IdentityForm(request.POST)
    if form.is_valid():
        try:
            identities.link(
                user, settings.SIGN_ON.issuer, form.cleaned_data["subject"], _user(request)
            )
        except identities.IdentityLinkError as refused:
            form.add_error("subject", str(refused))
        else:
            messages.success(request, f"Who signs in as this subject is {user} from now on.")
            return redirect("people:person", user_id=user.pk)
    return _person_page(request, user, PersonForm(user=user), 422, identity_form=form)


@never_cache
@require_POST
@requires(Action.ADMINISTER)
def unlink_identity(request: HttpRequest, user_id: int, identity_id: int) -> HttpResponse:
    """The subject opens this account no more."""
    user = _account(user_id)
    if not identities.unlink(user, identity_id, _user(request)):
        raise Http404("This account has no such link. Its page lists those it has.")
    _leave_own(request, user)
    messages.success(request, f"The subject opens {user} no more. Its browsers are signed out.")
    return redirect("people:person", user_id=user.pk)


@never_cache
@require_http_methods(["POST"])
@requires(Action.ADMINISTER)
def teams(request: HttpRequest) -> HttpResponse:
    """Make a team."""
    form = TeamNameForm(request.POST)
    if not form.is_valid():
        return _people_page(request, 422, team_form=form)
    try:
        new_team = accounts.create_team(form.cleaned_data["name"], _user(request))
    except accounts.NameTaken as taken:
        form.add_error("name", str(taken))
        return _people_page(request, 422, team_form=form)
    return redirect("people:team", team_id=new_team.pk)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@requires(Action.ADMINISTER)
def team(request: HttpRequest, team_id: int) -> HttpResponse:
    """Name, members and LUNs of one team."""
    team = Team.objects.filter(pk=team_id).first()
    if team is None:
        raise Http404("There is no such team. The people page lists all.")
    if request.method != "POST":
        return _team_page(request, team, team.name, TeamForm(team=team))
    with transaction.atomic():
        team = Team.objects.select_for_update().get(pk=team_id)
        name = team.name
        form = TeamForm(request.POST, team=team)
        if form.is_outdated:
            fresh_form = TeamForm(team=team)
            return _team_page(request, team, name, fresh_form, 409, refused=_OUTDATED)
        if form.is_valid():
            cleaned: dict[str, Any] = form.cleaned_data
            try:
                accounts.change_team(
                    team,
                    name=cleaned["name"],
                    members=cleaned["members"],
                    luns=cleaned["luns"].values_list("pk", flat=True),
                    by=_user(request),
                )
            except accounts.NameTaken as taken:
                form.add_error("name", str(taken))
            else:
                messages.success(request, f"The team {team} is changed.")
                return redirect("people:people")
        return _team_page(request, team, name, form, 422)


def _team_page(
    request: HttpRequest,
    team: Team,
    name: str,
    form: TeamForm,
    status: int = 200,
    *,
    refused: str = "",
) -> HttpResponse:
    context = {"team": team, "name": name, "form": form, "refused": refused}
    return render(request, "accounts/team.html", context, status=status)


@never_cache
@require_safe
@requires(Action.ADMINISTER)
def audit_log(request: HttpRequest) -> HttpResponse:
    """What was done by whom, newest first; by ``who``, ``what`` and ``thing`` of the query."""
    filters = {name: request.GET.get(name, "").strip()[:200] for name in ("who", "what", "thing")}
    filters = {name: value.replace("\0", "") for name, value in filters.items()}
    entries = AuditEntry.objects.order_by("-id")
    if filters["who"]:
        entries = entries.filter(who=filters["who"])
    if filters["what"]:
        entries = entries.filter(what=filters["what"])
    if filters["thing"]:
        entries = entries.filter(thing__icontains=filters["thing"])
    page = Paginator(entries, ENTRIES_SHOWN).get_page(request.GET.get("page"))
    rest = request.GET.copy()
    rest.pop("page", None)
    context = {
        "page": page,
        "asked": filters,
        "words": sorted((*audit.WORDS, *audit.FORMER_WORDS)),
        "query": rest.urlencode(),
    }
    return render(request, "accounts/audit.html", context)
