"""What the environment says of the OpenID provider, and what it may not say."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from fsbench_web.platform import openid_settings

GOOD = {
    "FSBENCH_OIDC_ISSUER": "https://login.example/realms/storage",
    "FSBENCH_OIDC_CLIENT_ID": "fsbench",
    "FSBENCH_OIDC_CLIENT_SECRET": "a-secret-of-some-length",
}


def read(monkeypatch: pytest.MonkeyPatch, **variables: str) -> openid_settings.SignOn | None:
    for name in ("ISSUER", "CLIENT_ID", "CLIENT_SECRET"):
        monkeypatch.delenv(f"FSBENCH_OIDC_{name}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return openid_settings.from_environment()


def test_it_is_off_until_a_provider_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch) is None


def test_it_reads_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    sign_on = read(
        monkeypatch,
        **GOOD,
        FSBENCH_OIDC_NAME="Example Login",
        FSBENCH_OIDC_SCOPES="openid email groups",
        FSBENCH_OIDC_EMAIL_DOMAINS="Storage.Example, lab.example",
        FSBENCH_OIDC_NEW_ACCOUNTS="False",
        FSBENCH_OIDC_GROUPS_CLAIM="groups",
        FSBENCH_OIDC_ROLES="admins=administrator; cn=lab,dc=example=operator",
        FSBENCH_OIDC_TEAMS="lab=Storage lab;",
    )
    assert sign_on == openid_settings.SignOn(
        issuer="https://login.example/realms/storage",
        client_id="fsbench",
        secret="a-secret-of-some-length",
        name="Example Login",
        scopes=("openid", "email", "groups"),
        email_domains=("storage.example", "lab.example"),
        makes_accounts=False,
        groups_claim="groups",
        roles=(("admins", "administrator"), ("cn=lab,dc=example", "operator")),
        teams=(("lab", "Storage lab"),),
    )


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"FSBENCH_OIDC_ISSUER": "http://login.example"}, "FSBENCH_OIDC_ISSUER"),
        ({"FSBENCH_OIDC_ISSUER": "https://user:secret@login.example"}, "FSBENCH_OIDC_ISSUER"),
        ({"FSBENCH_OIDC_ISSUER": "https://login.example/?x=1"}, "FSBENCH_OIDC_ISSUER"),
        ({"FSBENCH_OIDC_ISSUER": "https://login.example:99999/"}, "FSBENCH_OIDC_ISSUER"),
        ({"FSBENCH_OIDC_ISSUER": "https://x.example/" + "x" * 200}, "FSBENCH_OIDC_ISSUER"),
        ({"FSBENCH_OIDC_ISSUER": ""}, "FSBENCH_OIDC_CLIENT_ID is set, but"),
        ({"FSBENCH_OIDC_CLIENT_ID": ""}, "FSBENCH_OIDC_CLIENT_ID is not set"),
        ({"FSBENCH_OIDC_CLIENT_SECRET": ""}, "FSBENCH_OIDC_CLIENT_SECRET is not set"),
        ({"FSBENCH_OIDC_CLIENT_SECRET": "short"}, "FSBENCH_OIDC_CLIENT_SECRET must"),
        ({"FSBENCH_OIDC_SCOPES": "profile email"}, "FSBENCH_OIDC_SCOPES"),
        ({"FSBENCH_OIDC_EMAIL_DOMAINS": "@storage.example"}, "FSBENCH_OIDC_EMAIL_DOMAINS"),
        ({"FSBENCH_OIDC_EMAIL_DOMAINS": "*"}, "FSBENCH_OIDC_EMAIL_DOMAINS"),
        ({"FSBENCH_OIDC_NEW_ACCOUNTS": "no"}, "FSBENCH_OIDC_NEW_ACCOUNTS"),
        ({"FSBENCH_OIDC_GROUPS_CLAIM": "groups"}, "FSBENCH_OIDC_GROUPS_CLAIM"),
        ({"FSBENCH_OIDC_ROLES": "a=viewer"}, "FSBENCH_OIDC_GROUPS_CLAIM"),
        (
            {"FSBENCH_OIDC_GROUPS_CLAIM": "groups", "FSBENCH_OIDC_ROLES": "a=root"},
            "FSBENCH_OIDC_ROLES",
        ),
        (
            {"FSBENCH_OIDC_GROUPS_CLAIM": "groups", "FSBENCH_OIDC_TEAMS": "a"},
            "FSBENCH_OIDC_TEAMS",
        ),
    ],
    ids=str,
)
def test_nonsense_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, str], named: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=named) as refused:
        read(monkeypatch, **{**GOOD, **changed})
    assert GOOD["FSBENCH_OIDC_CLIENT_SECRET"] not in str(refused.value)
    assert "user:secret" not in str(refused.value)
