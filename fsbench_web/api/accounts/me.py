"""Who calls, what they may, and their tokens."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from ninja import Schema, Status
from pydantic import Field, StrictBool

from fsbench_web.accounts import rights, tokens
from fsbench_web.accounts.models import ApiToken
from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.accounts.sign_in.forms import TokenForm
from fsbench_web.api.protocol.errors import Refused
from fsbench_web.api.protocol.router import Router, user_of
from fsbench_web.api.protocol.schemas import Strict, With, cleaned, found, list_of

router = Router()


class TokenOut(Schema):
    """``hint`` are its first characters. ``is_current``: the token of this very call."""

    id: int
    name: str
    hint: str
    scopes: list[str]
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    is_current: bool


class MeOut(Schema):
    """``luns`` are those that you may submit runs on, as worker/LUN; null: every one.

    ``token`` is that of this call, null for a session.
    """

    username: str
    role: str
    teams: list[str]
    luns: list[str] | None
    token: TokenOut | None


class TokenIn(Strict):
    name: str = Field(max_length=80)
    can_import: StrictBool = False
    can_run: StrictBool = False
    can_administer: StrictBool = False
    days: int = Field(90, description="30, 90, 365, or 0 for one that never expires")


class TokenMade(TokenOut):
    """``token`` cannot be had again."""

    token: str


@router.get("/me", response=MeOut, summary="Who am I?")
@requires(Action.ACCOUNT)
def get_me(request: HttpRequest) -> dict[str, Any]:
    """The account of the token or session, and what it may."""
    user = user_of(request)
    row = tokens.of_request(request)
    grants = rights.granted_luns(user).select_related("lun__worker")
    names = sorted({f"{grant.lun.worker.name}/{grant.lun.name}" for grant in grants})
    return {
        "username": user.get_username(),
        "role": str(rights.role_of(user) or ""),
        "teams": sorted(user.teams.values_list("name", flat=True)),
        "luns": None if rights.is_administrator(user) else names,
        "token": _token(request, row) if row else None,
    }


@router.get("/me/tokens", response=list_of("TokensOut", tokens=TokenOut), summary="Your tokens")
@requires(Action.ACCOUNT)
def list_tokens(request: HttpRequest) -> dict[str, Any]:
    """Without the tokens themselves: fsbench keeps no copy."""
    rows = ApiToken.objects.filter(user=user_of(request))
    return {"tokens": [_token(request, row) for row in rows]}


@router.post("/me/tokens", response={201: TokenMade}, summary="Make a token")
@requires(Action.ACCOUNT)
def create_token(request: HttpRequest, token: TokenIn) -> Status[With]:
    """With a browser's session alone: a token that made others would outlive its own end."""
    user = _session_user(request)
    form = TokenForm(token.model_dump(), user=user)
    values = cleaned(form)
    try:
        with transaction.atomic():
            row, text = tokens.create(
                user,
                values["name"],
                can_import=values["can_import"],
                can_run=values["can_run"],
                can_administer=values["can_administer"],
                expires_at=form.expires_at,
            )
    except IntegrityError:
        raise Refused(422, [("name", "You have a token of this name.")]) from None
    return Status(201, _token(request, row, token=text))


@router.delete("/me/tokens/{int:token_id}", response={204: None}, summary="Revoke a token")
@requires(Action.ACCOUNT)
def revoke_token(request: HttpRequest, token_id: int) -> Status[None]:
    """From now on it opens nothing. A token revokes itself alone; a session any of yours."""
    user = user_of(request)
    rows = ApiToken.objects.filter(pk=token_id, user=user)
    row = found(rows, f"You have no token {token_id}; /api/v1/me/tokens lists yours.")
    current = tokens.of_request(request)
    if current is None or current.pk != row.pk:
        _session_user(request)
    tokens.revoke(row, user)
    return Status(204, None)


def _session_user(request: HttpRequest) -> User:
    if tokens.bearer_token(request) is not None:
        sentence = "A token cannot do this: the account page makes and revokes tokens."
        raise Refused(403, [(None, sentence)])
    return user_of(request)


def _token(request: HttpRequest, row: ApiToken, **more: Any) -> With:
    current = tokens.of_request(request)
    return With(row, is_current=current is not None and current.pk == row.pk, **more)
