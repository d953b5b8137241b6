"""One password tried with many names: from one address, from many, and who is let through."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.fixtures import Settings

from fsbench_web.accounts.models import SignInAttempt
from fsbench_web.accounts.sign_in import throttle
from fsbench_web.platform import clock
from tests.accounts.conftest import PASSWORD

SIGN_IN = "/account/sign-in/"
SPRAYED = "Summer2026!"
ADMITTED = throttle.ThrottleDecision.ADMITTED


def sign_in(client: Client, name: str, password: str = PASSWORD) -> int:
    return client.post(SIGN_IN, {"username": name, "password": password}).status_code


def spray(address: str, count: int, names: str = "person") -> list[throttle.ThrottleDecision]:
    """What a sign-in asks before it checks a password; pages would only take time here."""
    return [throttle.admit_sign_in(f"{names}-{number}", address) for number in range(count)]


def attack_from_many() -> None:
    """As many failures as the site takes at full speed, each from an address of its own."""
    now = clock.now()
    SignInAttempt.objects.bulk_create(
        SignInAttempt(key=f"key {number}", source=f"source {number}", at=now)
        for number in range(throttle.SITE_LIMIT)
    )


def test_one_address_tries_only_so_many_names(alice: User) -> None:
    for number in range(throttle.ADDRESS_LIMIT - 3):
        spray("192.0.2.1", 1, f"early-{number}")
    for number in range(3):
        assert sign_in(Client(REMOTE_ADDR="192.0.2.1"), f"person-{number}", SPRAYED) == 422
    client = Client(REMOTE_ADDR="192.0.2.1")
    answer = client.post(SIGN_IN, {"username": "alice", "password": PASSWORD})
    assert answer.status_code == 429
    page = answer.content.decode()
    assert "failed from this address" in page
    assert "15 minutes" in page
    assert client.get("/account/").status_code == 302


def test_others_sign_in_from_elsewhere_meanwhile(alice: User) -> None:
    spray("192.0.2.1", throttle.ADDRESS_LIMIT + 1)
    assert sign_in(Client(REMOTE_ADDR="192.0.2.2"), "alice") == 302


def test_the_wait_ends_and_refusals_do_not_prolong_it(alice: User) -> None:
    spray("192.0.2.1", throttle.ADDRESS_LIMIT + 5)
    assert SignInAttempt.objects.count() == throttle.ADDRESS_LIMIT
    SignInAttempt.objects.update(at=clock.now() - throttle.WINDOW - timedelta(seconds=1))
    assert sign_in(Client(REMOTE_ADDR="192.0.2.1"), "alice") == 302


def test_an_account_of_ones_own_does_not_wash_the_failures_away(alice: User, bob: User) -> None:
    """Whoever sprays may well have an account: its successes forget its own failures alone."""
    for part in range(throttle.ADDRESS_LIMIT // 10):
        spray("192.0.2.1", 10, f"part-{part}")
        assert sign_in(Client(REMOTE_ADDR="192.0.2.1"), "bob") == (
            302 if part < throttle.ADDRESS_LIMIT // 10 - 1 else 429
        )


def test_an_ipv6_site_is_one_sender_however_many_networks_it_has(alice: User) -> None:
    """A /48 is what one customer may be given (RFC 6177): 65,536 networks of hosts."""
    for number in range(throttle.ADDRESS_LIMIT):
        address = f"2001:db8:7:{number:x}::1"
        assert spray(address, 1, f"person-{number}") == [ADMITTED]
    assert sign_in(Client(REMOTE_ADDR="2001:db8:7:ffff::1"), "alice") == 429
    assert sign_in(Client(REMOTE_ADDR="2001:db8:8:1::1"), "alice") == 302


def test_a_forwarded_address_written_by_the_sprayer_is_not_believed(alice: User) -> None:
    spray("192.0.2.1", throttle.ADDRESS_LIMIT - 2)
    for number in range(2):
        headers = {"X-Forwarded-For": f"198.51.100.{number}", "X-Real-IP": f"198.51.100.{number}"}
        client = Client(REMOTE_ADDR="192.0.2.1", headers=headers)
        assert sign_in(client, f"other-{number}", SPRAYED) == 422
    assert sign_in(Client(REMOTE_ADDR="192.0.2.1"), "alice") == 429


def test_a_wide_attack_leaves_each_address_a_few_tries(
    alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    attack_from_many()
    few = throttle.BRAKED_LIMIT
    answers = spray("192.0.2.1", few + 2)
    assert answers == [ADMITTED] * few + [throttle.ThrottleDecision.ADDRESS] * 2
    assert sign_in(Client(REMOTE_ADDR="192.0.2.1"), "alice") == 429
    assert [line.levelname for line in caplog.records if "many addresses" in line.message] == [
        "WARNING"
    ]


def test_whoever_goes_on_after_a_refusal_does_not_fill_the_log(
    alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    few = throttle.BRAKED_LIMIT
    spray("192.0.2.1", few)
    attack_from_many()
    SignInAttempt.objects.filter(key__in=[f"key {number}" for number in range(few)]).delete()
    assert SignInAttempt.objects.count() == throttle.SITE_LIMIT
    assert spray("192.0.2.1", 5) == [throttle.ThrottleDecision.ADDRESS] * 5
    assert not [line for line in caplog.records if "many addresses" in line.message]


def test_a_wide_attack_locks_nobody_out_who_comes_from_elsewhere(alice: User) -> None:
    attack_from_many()
    for number in range(5):
        assert sign_in(Client(REMOTE_ADDR=f"192.0.2.{number + 1}"), "alice") == 302
    # One slip of the fingers is none of an attacker.
    mine = Client(REMOTE_ADDR="192.0.2.77")
    assert sign_in(mine, "alice", "wrong") == 422
    assert sign_in(mine, "alice") == 302


def test_below_the_sites_limit_nobody_is_slowed(alice: User) -> None:
    attack_from_many()
    SignInAttempt.objects.filter(key__in=["key 0", "key 1", "key 2", "key 3"]).delete()
    assert throttle.BRAKED_LIMIT == 3
    assert spray("192.0.2.1", throttle.BRAKED_LIMIT + 1) == [ADMITTED] * 4


def test_a_browser_that_signed_in_before_is_let_through(alice: User) -> None:
    """Also where all come by one address, as behind a proxy that does not tell it."""
    browser = Client(REMOTE_ADDR="192.0.2.1")
    assert sign_in(browser, "alice") == 302
    browser.post("/account/sign-out/")
    spray("192.0.2.1", throttle.ADDRESS_LIMIT + 1)
    attack_from_many()
    assert sign_in(Client(REMOTE_ADDR="192.0.2.1"), "alice") == 429
    assert sign_in(browser, "alice", "wrong") == 422
    assert sign_in(browser, "ALICE ", "wrong") == 422
    assert sign_in(browser, "alice") == 302


def test_a_known_browser_guesses_no_longer_than_others(alice: User) -> None:
    browser = Client(REMOTE_ADDR="192.0.2.1")
    sign_in(browser, "alice")
    browser.post("/account/sign-out/")
    for number in range(throttle.LIMIT):
        assert sign_in(browser, "alice", f"wrong {number}") == 422
    # Its mark goes with it to another address.
    moved = Client(REMOTE_ADDR="198.51.100.7")
    moved.cookies = browser.cookies
    assert sign_in(moved, "alice") == 429
    # The owner, elsewhere or in a browser of another kind, is none of its business.
    assert sign_in(Client(REMOTE_ADDR="192.0.2.1"), "alice") == 302


def test_a_browser_is_known_by_its_own_account_alone(alice: User, bob: User) -> None:
    sprayer = Client(REMOTE_ADDR="192.0.2.1")
    assert sign_in(sprayer, "bob") == 302
    spray("192.0.2.1", throttle.ADDRESS_LIMIT - 1)
    assert sign_in(sprayer, "person", SPRAYED) == 422
    assert sign_in(sprayer, "alice") == 429
    assert sign_in(sprayer, "bob") == 302


@pytest.mark.parametrize(
    "written", ["", "x", "x:y:z", "alice:mark", "\u00fc", ":" * 5000, "a:b:c:d:e:f"]
)
def test_a_mark_that_somebody_wrote_is_none(alice: User, written: str) -> None:
    spray("192.0.2.1", throttle.ADDRESS_LIMIT)
    client = Client(REMOTE_ADDR="192.0.2.1")
    client.cookies[throttle.browser_cookie()] = written
    assert sign_in(client, "alice") == 429


def test_the_mark_is_for_this_server_alone_and_names_nobody(
    alice: User, settings: Settings
) -> None:
    answer = Client().post(SIGN_IN, {"username": "alice", "password": PASSWORD})
    cookie = answer.cookies["fsbench-known"]
    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/")
    assert "alice" not in cookie.value
    settings.HTTPS = True
    answer = Client().post(SIGN_IN, {"username": "alice", "password": PASSWORD})
    cookie = answer.cookies["__Host-fsbench-known"]
    assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")


def test_failed_sign_ins_leave_no_mark(alice: User) -> None:
    client = Client()
    sign_in(client, "alice", "wrong")
    assert throttle.browser_cookie() not in client.cookies


def test_a_changed_password_is_asked_for_where_others_were_tried(alice: User) -> None:
    """Who is signed in may change the password, whatever strangers do at this address."""
    client = Client(REMOTE_ADDR="192.0.2.1")
    client.force_login(alice)
    spray("192.0.2.1", throttle.ADDRESS_LIMIT + 1)
    new = "my own secret words"
    sent = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert client.post("/account/password/", sent).status_code == 302
