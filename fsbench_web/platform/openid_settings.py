"""Reads from the environment how people sign in with OpenID Connect (docs/people.md)."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from fsbench_web.platform import env

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ROLES = ("viewer", "contributor", "operator", "administrator")
_FURTHER = (
    *("FSBENCH_OIDC_NAME", "FSBENCH_OIDC_SCOPES", "FSBENCH_OIDC_EMAIL_DOMAINS"),
    *("FSBENCH_OIDC_NEW_ACCOUNTS", "FSBENCH_OIDC_GROUPS_CLAIM"),
    *("FSBENCH_OIDC_ROLES", "FSBENCH_OIDC_TEAMS"),
)
# Both stand in columns of this width; the standard allows subjects of 255 characters.
ISSUER_LENGTH = 200
SUBJECT_LENGTH = 191


@dataclass(frozen=True)
class SignOn:
    """One provider. ``roles`` and ``teams`` are pairs of a group and what it gives."""

    issuer: str
    client_id: str
    secret: str
    name: str = "single sign-on"
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    email_domains: tuple[str, ...] = ()
    makes_accounts: bool = True
    groups_claim: str = ""
    roles: tuple[tuple[str, str], ...] = ()
    teams: tuple[tuple[str, str], ...] = ()


def is_safe(address: str) -> bool:
    """Whether secrets may go to this address: TLS, or a provider on this machine."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    # As addresses are written; a letter of another script, or a line break, is none of one.
    is_plain = address.isascii() and address.isprintable() and " " not in address
    if not is_plain or not host or parts.username or parts.password:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)


def _refuse_client(issuer: str, client_id: str, secret: str) -> None:
    """Raise ImproperlyConfigured where the provider, or what it gives to a client, cannot be."""
    if not is_safe(issuer) or urlsplit(issuer).query or urlsplit(issuer).fragment:
        raise ImproperlyConfigured(
            "FSBENCH_OIDC_ISSUER must be like https://login.example/realm, without name, password, "
            "? and #."  # and is not repeated: it may hold one
        )
    if len(issuer) > ISSUER_LENGTH:
        raise ImproperlyConfigured(
            f"FSBENCH_OIDC_ISSUER is longer than {ISSUER_LENGTH} characters."
        )
    for name, value in (
        ("FSBENCH_OIDC_CLIENT_ID", client_id),
        ("FSBENCH_OIDC_CLIENT_SECRET", secret),
    ):
        if not value:
            raise ImproperlyConfigured(
                f"{name} is not set; the provider gives it with the client that it registers."
            )


def from_environment() -> SignOn | None:
    """None where no issuer is named. Raises ImproperlyConfigured with the variable's name."""
    issuer = env.text("FSBENCH_OIDC_ISSUER", "")
    client_id = env.text("FSBENCH_OIDC_CLIENT_ID", "")
    secret = env.secret("FSBENCH_OIDC_CLIENT_SECRET", minimum=8)
    texts = {name: env.text(name, "") for name in _FURTHER}
    if not issuer:
        # A restriction that stands alone would look as if it held.
        alone = [name for name, value in texts.items() if value]
        alone += ["FSBENCH_OIDC_CLIENT_ID"] * bool(client_id)
        alone += ["FSBENCH_OIDC_CLIENT_SECRET"] * bool(secret)
        if alone:
            raise ImproperlyConfigured(f"{alone[0]} is set, but FSBENCH_OIDC_ISSUER is not.")
        return None
    _refuse_client(issuer, client_id, secret)
    roles = _pairs("FSBENCH_OIDC_ROLES", texts["FSBENCH_OIDC_ROLES"])
    for _, role in roles:
        if role not in _ROLES:
            raise ImproperlyConfigured(
                f'FSBENCH_OIDC_ROLES has the role "{role}"; there are {", ".join(_ROLES)}.'
            )
    teams = _pairs("FSBENCH_OIDC_TEAMS", texts["FSBENCH_OIDC_TEAMS"])
    claim = texts["FSBENCH_OIDC_GROUPS_CLAIM"]
    if bool(claim) != bool(roles or teams):
        raise ImproperlyConfigured(
            "FSBENCH_OIDC_GROUPS_CLAIM goes with FSBENCH_OIDC_ROLES or FSBENCH_OIDC_TEAMS: the "
            "claim that names a person's groups, and what they give."
        )
    scopes = texts["FSBENCH_OIDC_SCOPES"].split() or list(SignOn.scopes)
    if "openid" not in scopes:
        raise ImproperlyConfigured('FSBENCH_OIDC_SCOPES must have "openid" among its words.')
    domains = env.matching(
        "FSBENCH_OIDC_EMAIL_DOMAINS", [], r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", "like storage.example"
    )
    return SignOn(
        issuer=issuer,
        client_id=client_id,
        secret=secret,
        name=(texts["FSBENCH_OIDC_NAME"] or SignOn.name)[:60],
        scopes=tuple(dict.fromkeys(scopes)),
        email_domains=tuple(domain.lower() for domain in domains),
        makes_accounts=env.flag("FSBENCH_OIDC_NEW_ACCOUNTS", True),
        groups_claim=claim,
        roles=roles,
        teams=teams,
    )


def _pairs(name: str, text: str) -> tuple[tuple[str, str], ...]:
    """``group=word; group=word``: groups may hold = and commas, as those of LDAP do."""
    pairs = []
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        group, equals, word = (piece.strip() for piece in part.rpartition("="))
        if not (group and equals and word):
            raise ImproperlyConfigured(f'{name} has "{part}"; it must be like "group=word; ...".')
        if len(word) > 80:
            raise ImproperlyConfigured(f'{name} has "{word}", which is longer than 80 characters.')
        pairs.append((group, word))
    return tuple(pairs)
