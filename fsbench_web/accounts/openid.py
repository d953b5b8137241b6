"""Asks an OpenID provider who somebody is, and checks every answer. Changes no account.

allauth keeps the identities and makes the PKCE pair. Its own flow checks no nonce, no signature, no
authorised party and no total time. jwt and requests are imported where they are used: a process in
which nobody signs in so has 13 MiB less.
"""

import logging
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlencode

from allauth.socialaccount.providers.oauth2.utils import generate_code_challenge
from django.http import HttpRequest
from django.urls import reverse

from fsbench_web.platform import plain_text
from fsbench_web.platform.openid_settings import SUBJECT_LENGTH, SignOn, is_safe

logger = logging.getLogger("fsbench.sign_in")
# Only what needs the provider's private key: "none" and secrets shared with us prove nothing.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]
CLOCK_SKEW_S = 60
BEGUN_LASTS_S = 600
MOST_BEGUN = 10
# OAuth 2.0 (RFC 6749, 5.2): what is wrong with the client's settings, and not with this sign-in.
_CLIENT_ERRORS = ("invalid_client", "unauthorized_client")
_BEGUN = "oidc_begun"
_WAY_OUT = "oidc_way_out"


class SignInRefused(Exception):
    """``sentence`` is for the person, ``reason`` for the log."""

    def __init__(self, sentence: str, reason: str = "", status: int = 403) -> None:
        super().__init__(sentence)
        self.sentence, self.reason, self.status = sentence, reason or sentence, status


class Unreachable(SignInRefused):
    """The provider does not answer, or not as OpenID Connect says."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            "The sign-in service gave an invalid answer. Try again in a moment. If it continues, "
            "the log of the web process has the reason.",
            reason,
            502,
        )


@dataclass(frozen=True)
class Claims:
    """What the provider vouches for. ``email`` is empty unless the provider verified it."""

    issuer: str
    subject: str
    email: str = ""
    names: tuple[str, ...] = ()  # what the person might be called here, best first
    groups: frozenset[str] = field(default_factory=frozenset)


def begin(request: HttpRequest, sign_on: SignOn, next_page: str) -> str:
    """The provider's address to go to; what is expected back is kept in the session."""
    metadata = _description(sign_on)
    pkce = generate_code_challenge()
    nonce = secrets.token_urlsafe(24)
    state = {"next": next_page, "nonce": nonce, "verifier": pkce.pop("code_verifier")}
    parameters = {
        "client_id": sign_on.client_id,
        "redirect_uri": _callback_address(request),
        "scope": " ".join(sign_on.scopes),
        "response_type": "code",
        "state": _keep(request, state),
        "nonce": nonce,
        **pkce,
    }
    return _with_query(metadata["authorization_endpoint"], parameters)


def begun(request: HttpRequest) -> dict[str, Any]:
    """Take what this browser began, once; ``next`` is the page that was wanted.

    It is saved as gone before the provider is asked, and the session is read again after that, so
    other tabs lose nothing. Raises SignInRefused.
    """
    attempts = request.session.get(_BEGUN, {})
    state: dict[str, Any] | None = attempts.pop(request.GET.get("state", ""), None)
    if state is not None:
        request.session[_BEGUN] = attempts
        request.session.save()
        request.session = type(request.session)(request.session.session_key)
    if state is None or time.time() - state["at"] > BEGUN_LASTS_S:
        raise SignInRefused(
            "This sign-in was not begun in this browser, is over, or took longer than ten "
            "minutes. Begin again.",
            "unknown state",
        )
    return state


def finish(
    request: HttpRequest, sign_on: SignOn, state: Mapping[str, Any]
) -> tuple[Claims, dict[str, str] | None]:
    """What the provider says, and its way out if it has one. Raises SignInRefused."""
    if request.GET.get("iss", sign_on.issuer) != sign_on.issuer:
        raise SignInRefused(
            "Another sign-in service answered. Begin again.", "wrong iss in the answer"
        )
    if "error" in request.GET:
        error_code = request.GET["error"][:60]
        if error_code == "access_denied":
            raise SignInRefused(
                "The sign-in service refused the sign-in. Begin again, or use another account."
            )
        raise Unreachable(
            f"error {error_code!r}: {request.GET.get('error_description', '')[:200]!r}"
        )
    if not request.GET.get("code"):
        raise SignInRefused(
            "The answer of the sign-in service is incomplete. Begin again.", "no code"
        )
    metadata = _description(sign_on)
    claimed = _exchange(request, sign_on, metadata, state["verifier"])
    token = claimed.get("id_token")
    if not isinstance(token, str):
        raise Unreachable("an access token without an ID token")
    result = _checked(token, sign_on, metadata, state["nonce"])
    claims = _claims(result | _information(claimed, result, metadata), sign_on)
    return claims, _way_out(metadata, token)


def _keep(request: HttpRequest, state: dict[str, str]) -> str:
    """Keep what was begun in this session alone, for ten minutes; its name cannot be guessed."""
    name, now = secrets.token_urlsafe(24), time.time()
    attempts = {
        key: value
        for key, value in request.session.get(_BEGUN, {}).items()
        if now - value["at"] <= BEGUN_LASTS_S
    }
    latest = sorted(attempts.items(), key=lambda pair: pair[1]["at"])[1 - MOST_BEGUN :]
    request.session[_BEGUN] = dict(latest) | {name: state | {"at": now}}
    if not request.user.is_authenticated:
        # A stranger's session holds nothing else, and anybody can have any number of them.
        request.session.set_expiry(BEGUN_LASTS_S)
    return name


def _way_out(metadata: Mapping[str, Any], token: str) -> dict[str, str] | None:
    """None where the provider ends no sessions (OpenID Connect RP-Initiated Logout 1.0)."""
    endpoint = metadata.get("end_session_endpoint")
    if not isinstance(endpoint, str) or not is_safe(endpoint) or "#" in endpoint:
        return None
    return {"endpoint": endpoint, "id_token": token}


def remember(request: HttpRequest, way_out: dict[str, str] | None) -> None:
    """Keep it in the session that was just made, and with it as long as that lives."""
    if way_out is not None:
        request.session[_WAY_OUT] = way_out


def sign_out_address(request: HttpRequest, sign_on: SignOn | None) -> str:
    """The provider's address that signs this person out there; empty where there is none."""
    way_out = request.session.get(_WAY_OUT)
    if sign_on is None or not way_out:
        return ""
    parameters = {
        "id_token_hint": way_out["id_token"],
        "client_id": sign_on.client_id,
        "post_logout_redirect_uri": request.build_absolute_uri(reverse("accounts:sign_in")),
    }
    return _with_query(way_out["endpoint"], parameters)


def _with_query(endpoint: str, parameters: Mapping[str, str]) -> str:
    """Keeps the query that the endpoint has already: a provider may name its realm there."""
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(parameters)}"


def _callback_address(request: HttpRequest) -> str:
    return request.build_absolute_uri(reverse("accounts:oidc_callback"))


def _exchange(
    request: HttpRequest, sign_on: SignOn, metadata: Mapping[str, Any], verifier: str
) -> dict[str, Any]:
    """What the token endpoint gives for the code. No reason repeats it: it may hold secrets."""
    sent = {
        "grant_type": "authorization_code",
        "code": request.GET["code"],
        "redirect_uri": _callback_address(request),
        "code_verifier": verifier,
    }
    methods, basic = metadata.get("token_endpoint_auth_methods_supported"), None
    if isinstance(methods, list) and "client_secret_post" in methods:
        sent |= {"client_id": sign_on.client_id, "client_secret": sign_on.secret}
    else:  # each is encoded for itself, RFC 6749, 2.3.1
        basic = (quote_plus(sign_on.client_id), quote_plus(sign_on.secret))
    status, answer = _asked("POST", metadata["token_endpoint"], data=sent, auth=basic)
    error = str(answer.get("error", ""))[:60]
    if error in _CLIENT_ERRORS or (status == 401 and not error):
        raise Unreachable(
            f"the token endpoint answers {status} {error!r}: it does not know "
            "FSBENCH_OIDC_CLIENT_ID with FSBENCH_OIDC_CLIENT_SECRET"
        )
    if status == 400 or error == "invalid_grant":
        raise SignInRefused(
            "The sign-in service did not confirm this sign-in. Begin again.",
            f"code refused: {error!r}",
        )
    if status != 200 or not isinstance(answer.get("access_token"), str):
        raise Unreachable(f"the token endpoint answers {status} without an access token")
    return answer


def _asked(method: str, address: str, **kwargs: Any) -> tuple[int, dict[str, Any]]:
    """Status and JSON object of an answer; empty where an error has none. Raises Unreachable."""
    import requests

    from fsbench_web.accounts.openid_session import ProviderSession

    try:
        with ProviderSession() as session:
            response = session.request(method, address, **kwargs)
    except (requests.RequestException, ValueError) as error:
        raise Unreachable(f"{address}: {error}") from None
    try:
        document = response.json()
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict):
        return response.status_code, document
    if response.status_code == 200:
        raise Unreachable(f"{address} answers with no JSON object")
    return response.status_code, {}


def _read(address: object, **kwargs: Any) -> dict[str, Any]:
    """A JSON object of the provider. Raises Unreachable."""
    status, document = _asked("GET", str(address), **kwargs)
    if status != 200:
        raise Unreachable(f"{address} answers {status}")
    return document


def _description(sign_on: SignOn) -> dict[str, Any]:
    """The provider's metadata, which must be of the issuer we know, and name safe addresses."""
    metadata = _read(sign_on.issuer.rstrip("/") + "/.well-known/openid-configuration")
    if metadata.get("issuer") != sign_on.issuer:
        raise Unreachable(
            f"it calls itself {str(metadata.get('issuer'))[:200]!r}: FSBENCH_OIDC_ISSUER must be "
            "exactly that"
        )
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        if not is_safe(str(metadata.get(name, ""))) or "#" in metadata[name]:
            raise Unreachable(f"its {name} is {str(metadata.get(name))[:200]!r}")
    return metadata


def _checked(
    token: str, sign_on: SignOn, metadata: Mapping[str, Any], nonce: str
) -> dict[str, Any]:
    """The ID token's claims. Raises SignInRefused unless it is signed, ours, of now and of this
    try.
    """
    import jwt

    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") not in ALGORITHMS:
            raise jwt.InvalidAlgorithmError(f"algorithm {header.get('alg')!r}")
        data: dict[str, Any] = jwt.decode(
            token,
            key=_key(header, metadata),
            algorithms=ALGORITHMS,
            audience=sign_on.client_id,
            issuer=sign_on.issuer,
            leeway=CLOCK_SKEW_S,
            options={"require": ["iss", "sub", "aud", "exp", "iat", "nonce"]},
        )
        if not secrets.compare_digest(str(data["nonce"]).encode(), nonce.encode()):
            raise jwt.InvalidTokenError("nonce")
        audiences = data["aud"] if isinstance(data["aud"], list) else [data["aud"]]
        party = data.get("azp")
        if (party is not None or len(audiences) > 1) and party != sign_on.client_id:
            raise jwt.InvalidTokenError("authorised party")
    except (jwt.PyJWTError, NotImplementedError, TypeError, ValueError) as error:
        raise SignInRefused(
            "What the sign-in service said about you is invalid. Begin again. If it continues, "
            "the log of the web process has the reason.",
            f"ID token: {type(error).__name__}: {error}",
        ) from None
    return data


def _key(header: Mapping[str, Any], metadata: Mapping[str, Any]) -> Any:
    """The provider's public key that the token names; reread each time: keys are changed."""
    import jwt

    keys = jwt.PyJWKSet.from_dict(_read(metadata["jwks_uri"])).keys
    fitting = [key for key in keys if key.public_key_use in (None, "sig")]
    if "kid" in header or len(fitting) > 1:
        fitting = [key for key in fitting if key.key_id == header.get("kid")]
    if not fitting:
        raise jwt.InvalidKeyError(f"no key {str(header.get('kid'))[:60]!r}")
    return fitting[0]


def _information(
    answer: Mapping[str, Any], data: Mapping[str, Any], about: Mapping[str, Any]
) -> dict[str, Any]:
    """What the user information adds to the ID token, if it is of the same person."""
    if not about.get("userinfo_endpoint"):
        return {}
    bearer = {"Authorization": f"Bearer {answer['access_token']}"}
    information = _read(about["userinfo_endpoint"], headers=bearer)
    if information.get("sub") != data["sub"]:
        raise SignInRefused(
            "The sign-in service named two people. Begin again.",
            "user information of another subject",
        )
    # An address and whether it is verified belong together.
    taken = set(data) | ({"email", "email_verified"} if "email" in data else set())
    return {name: value for name, value in information.items() if name not in taken}


def _claims(data: Mapping[str, Any], sign_on: SignOn) -> Claims:
    subject = data["sub"]
    if not isinstance(subject, str) or not 0 < len(subject) <= SUBJECT_LENGTH:
        raise SignInRefused(
            f"The sign-in service names you with more than {SUBJECT_LENGTH} characters, or none.",
            "subject",
        )
    if plain_text.problem(subject):
        raise SignInRefused("The sign-in service gave a name with invisible characters.", "subject")
    email = data.get("email")
    is_verified = data.get("email_verified") is True
    names = [data.get("preferred_username"), data.get("name"), data.get("nickname")]
    if isinstance(email, str) and is_verified:
        names.insert(1, email.partition("@")[0])
    if sign_on.groups_claim and sign_on.groups_claim not in data:
        logger.warning(
            "the sign-in service says no groups of somebody: there is no claim %r in the ID token "
            "or the user information (FSBENCH_OIDC_GROUPS_CLAIM, FSBENCH_OIDC_SCOPES)",
            sign_on.groups_claim,
        )
    groups = data.get(sign_on.groups_claim) if sign_on.groups_claim else None
    groups = [groups] if isinstance(groups, str) else groups
    return Claims(
        issuer=sign_on.issuer,
        subject=subject,
        email=email if isinstance(email, str) and is_verified and len(email) <= 254 else "",
        names=tuple(name for name in names if isinstance(name, str) and name),
        groups=frozenset(
            group
            for group in (groups if isinstance(groups, list) else [])
            if isinstance(group, str)
        ),
    )
