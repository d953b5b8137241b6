"""The content security policy is sent with everything, and stops what it says."""

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from playwright.sync_api import Page

from fsbench_web.platform.http.security import POLICY, content_security_policy


def test_scripts_come_from_here_alone() -> None:
    policy = dict(part.split(" ", 1) for part in POLICY.split("; "))
    assert policy["script-src"] == "'self'"
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/account/sign-in/", "/no/such/page/", "/api/v1/health"])
def test_every_answer_has_the_policy(client: Client, path: str) -> None:
    headers = client.get(path).headers
    assert headers["Content-Security-Policy"] == POLICY
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_a_policy_of_the_view_is_kept() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(headers={"Content-Security-Policy": "default-src 'none'"})

    response = content_security_policy(view)(HttpRequest())
    assert isinstance(response, HttpResponse)
    assert response.headers["Content-Security-Policy"] == "default-src 'none'"


def test_the_browser_runs_no_inline_script(page: Page, complaints: list[str]) -> None:
    page.goto("/account/sign-in/")
    with page.expect_console_message():
        page.evaluate(
            """() => {
                const script = document.createElement("script");
                script.textContent = "window.injected = true";
                document.body.append(script);
            }"""
        )
    assert page.evaluate("window.injected") is None
    assert any("Content Security Policy" in complaint for complaint in complaints)
    complaints.clear()
