"""Watches: what is told, to whom, how often, and who may see it."""

import copy
import json
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import AuditEntry, Person, Role
from fsbench_web.compare.history.lines import LatestStep, history
from fsbench_web.compare.models import Watch, WatchDelivery, WatchMessage
from fsbench_web.compare.watches import deliveries, watching
from fsbench_web.compare.watches.deliveries import BACK_OFF, MOST_TRIES, secret_of
from fsbench_web.compare.watches.webhook import signature
from fsbench_web.studies.models import Series, Study
from tests.accounts.people import person
from tests.compare.history.test_history import measured
from tests.compare.watches.test_webhook import answer_with, receiver

pytestmark = pytest.mark.django_db
DELIVERED, WAITING, FAILED = "delivered", "waiting", "failed"


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", email="ada@example.org")


@pytest.fixture
def hers(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


@pytest.fixture(autouse=True)
def _sends(settings):
    settings.SENDS_EMAIL = True
    settings.WEBHOOK_PRIVATE = True


def kernel(version: str, level: float, study: str = "nightly") -> Series:
    for part in (-1, 0, 1):
        series = measured(version, level + part, study=study).series
    return series


def three_alike() -> Series:
    """A line of three kernels."""
    kernel("6.0", 100)
    kernel("6.1", 100)
    return kernel("6.2", 101)


@pytest.fixture(scope="module")
def nightly(module_db) -> Series:
    return three_alike()


@pytest.fixture
def line(nightly, db) -> Series:
    return copy.deepcopy(nightly)


def watched(user: User, series: Series, **columns: object) -> Watch:
    chosen = {
        "test": "write",
        "category": "total_average",
        "along": "kernel",
        "margin_percent": 10,
        "email": "ada@example.org",
        "webhook_url": "",
        "site": "https://fsbench.example",
    }
    return watching.watch(user, series, **(chosen | columns))


def states() -> list[tuple[str, str, int]]:
    return list(WatchDelivery.objects.order_by("id").values_list("channel", "state", "tries"))


class TestWhatIsTold:
    def test_a_slower_kernel_of_another_study_is_told_by_email(self, ada, line):
        watched(ada, line)
        kernel("6.3", 80, study="weekly")
        (message,) = watching.run_maintenance()
        assert message.sentence.startswith("From 6.2 to 6.3: \u221220.3%, from 100.33 KB/s to")
        assert message.sentence.endswith(
            "slower, significant (p is 0.0032). One point, not confirmed."
        )
        (letter,) = mail.outbox
        assert letter.to == ["ada@example.org"]
        assert letter.subject == "fsbench: slower: ext4: Write, total average"
        assert message.sentence in letter.body
        assert "https://fsbench.example/history/?series=" in letter.body
        assert f"https://fsbench.example/watches/{message.watch_id}/" in letter.body
        assert states() == [("email", DELIVERED, 1)]

    def test_a_look_keeps_the_newest_against_the_one_before(self, hers, ada, line):
        watch = watched(ada, line)
        kernel("6.3", 80)
        watching.run_maintenance()
        page = hers.get(f"/watches/{watch.pk}/").content.decode()
        assert 'id="latest" data-verdict="slower"' in page
        watch.refresh_from_db()
        latest = LatestStep.of(watch.latest)
        assert (latest.previous, latest.current) == ("6.2", "6.3")
        assert latest.verdict.ratio == pytest.approx(0.8, abs=0.01)
        assert latest.size in page

    def test_it_is_told_once(self, ada, line):
        watched(ada, line)
        kernel("6.3", 80)
        assert len(watching.run_maintenance()) == 1
        assert watching.run_maintenance() == []
        kernel("6.3", 80)
        assert watching.run_maintenance() == []
        assert watching.run_maintenance(timezone.now() + timedelta(days=3)) == []
        assert len(mail.outbox) == 1

    def test_the_next_step_down_is_told_too(self, ada, line):
        watched(ada, line)
        kernel("6.3", 80)
        watching.run_maintenance()
        kernel("6.4", 81)
        kernel("6.5", 80)
        kernel("6.6", 60)
        kernel("6.7", 60)
        (message,) = watching.run_maintenance()
        assert message.point == "6.6"

    def test_faster_is_not_told(self, ada, line):
        watched(ada, line)
        kernel("6.3", 130)
        assert watching.run_maintenance() == []

    def test_less_than_the_margin_is_not_told(self, ada, line):
        watched(ada, line, margin_percent=25)
        kernel("6.3", 80)
        assert watching.run_maintenance() == []

    def test_noise_is_not_told(self, ada, db):
        for value in (60, 100, 140):
            first = measured("6.1", value)
            measured("6.2", value - 20)
        watched(ada, first.series)
        for value in (40, 80, 120):
            measured("6.3", value)
        assert watching.run_maintenance() == []

    def test_one_run_without_repeats_is_not_told(self, ada, db):
        watched(ada, measured("6.1", 100).series)
        measured("6.2", 50)
        assert watching.run_maintenance() == []

    def test_what_a_page_shows_is_told_once_it_is_sure(self, ada, db):
        for day, value in enumerate((100, 101, 99, 100)):
            series = measured("6.1", value, day).series
        watched(ada, series, along="date")
        measured("6.1", 93, 4)
        entries = history(series, "write", "total_average", "date", 3.0).changes
        assert [0.01 < entry.change.p_value < 0.05 for entry in entries] == [True]
        Watch.objects.update(margin_percent=3)
        assert watching.run_maintenance() == []
        for day, value in enumerate((92.5, 93.2), 5):
            measured("6.1", value, day)
            assert watching.run_maintenance() == []
        measured("6.1", 92.8, 7)
        (message,) = watching.run_maintenance()
        assert message.point == "2026-03-05"

    def test_two_points_wait_for_a_third(self, ada, db):
        watched(ada, kernel("6.1", 100))
        kernel("6.2", 50)
        assert watching.run_maintenance() == []
        kernel("6.3", 50)
        (message,) = watching.run_maintenance()
        assert message.point == "6.2"

    def test_more_seconds_are_slower(self, ada, db):
        for version in ("5.0", "5.1"):
            for part in (0, 0.1, 0.2):
                run = measured(version, 10 + part, unit="s")
        watched(ada, run.series)
        for part in (0, 0.1, 0.2):
            measured("5.2", 20 + part, unit="s")
        (message,) = watching.run_maintenance()
        assert message.payload["change"]["percent"] > 90

    def test_a_unit_without_a_direction_is_never_called_slower(self, ada, db):
        for part in (0, 0.1, 0.2):
            run = measured("5.1", 20 + part, unit="furlongs")
        watch = watched(ada, run.series)
        for part in (0, 0.1, 0.2):
            measured("5.2", 10 + part, unit="furlongs")
        assert watching.run_maintenance() == []
        watch.refresh_from_db()
        assert "furlongs" in watch.problem

    def test_what_was_slower_before_is_listed_and_not_sent(self, ada, line):
        series = kernel("6.3", 80)
        watch = watched(ada, series)
        assert [message.kind for message in watch.messages.all()] == ["known"]
        assert watching.run_maintenance(timezone.now() + timedelta(days=3)) == []
        assert mail.outbox == []

    def test_other_configurations_and_hardware_are_other_lines(self, ada, line):
        watched(ada, line)
        slow = kernel("6.3", 80)
        Series.objects.filter(pk=slow.pk).update(hardware=None)
        assert watching.run_maintenance() == []

    def test_days_are_watched_too(self, ada, db):
        for day in range(4):
            series = measured("6.1", 100 + day % 2, day).series
        watched(ada, series, along="date")
        for day in range(4, 9):
            measured("6.1", 80 + day % 2, day)
        (message,) = watching.run_maintenance()
        assert message.point == "2026-03-05"

    def test_a_line_without_news_is_not_scored(self, ada, line, django_assert_num_queries):
        watch = watched(ada, line)
        # What is hidden from her, and whether anything is new.
        with django_assert_num_queries(2):
            assert watching.check(watch) == []

    def test_one_line_that_cannot_be_judged_does_not_silence_the_others(
        self, ada, line, monkeypatch
    ):
        broken = watched(ada, line, test="write", category="maximum")
        watched(ada, line)
        kernel("6.3", 80)
        look = watching._read_line

        def fail(watch):
            if watch.pk == broken.pk:
                raise ValueError("odd")
            return look(watch)

        monkeypatch.setattr(watching, "_read_line", fail)
        assert len(watching.run_maintenance()) == 1
        broken.refresh_from_db()
        assert "could not judge the line: ValueError" in broken.problem

    def test_paused_and_inactive_accounts_are_told_nothing(self, ada, line):
        watch = watched(ada, line)
        watching.pause(watch)
        kernel("6.3", 80)
        assert watching.run_maintenance() == []
        watching.resume(watch)
        assert watching.run_maintenance() == []
        assert [message.kind for message in watch.messages.all()] == ["known"]
        kernel("6.4", 81)
        kernel("6.5", 80)
        kernel("6.6", 60)
        kernel("6.7", 60)
        User.objects.update(is_active=False)
        assert watching.run_maintenance() == []
        User.objects.update(is_active=True)
        assert len(watching.run_maintenance()) == 1

    def test_what_waited_when_it_was_paused_is_not_sent_when_it_is_resumed(self, hers, ada, line):
        with receiver(answer_with(500)) as (address, received):
            watch = watched(ada, line, webhook_url=address)
            kernel("6.3", 80)
            watching.run_maintenance()
            assert states() == [("email", DELIVERED, 1), ("webhook", WAITING, 1)]
            watching.pause(watch)
            later = timezone.now() + timedelta(days=90)
            WatchDelivery.objects.filter(state=WAITING).update(next_try_at=timezone.now())
            answer = hers.post(f"/watches/{watch.pk}/resume/", follow=True).content.decode()
            watching.run_maintenance(later)
            assert len(received) == 1
        assert "The message that had waited since before the pause will not be sent." in answer
        assert "The watch was paused before it was sent" in answer
        assert states() == [("email", DELIVERED, 1), ("webhook", FAILED, 1)]
        for version in ("6.4", "6.5", "6.6"):
            kernel(version, 60)
        assert len(watching.run_maintenance(later)) == 1
        assert states()[2:] == [("email", DELIVERED, 1), ("webhook", WAITING, 1)]

    def test_the_watch_outlives_the_study_it_began_with(self, ada, line):
        watch = watched(ada, line)
        kernel("6.1", 100, study="weekly")
        kernel("6.2", 100, study="weekly")
        Study.objects.get(slug="nightly").delete()
        kernel("6.3", 80, study="weekly")
        assert len(watching.run_maintenance()) == 1
        watch.refresh_from_db()
        assert watch.series.study.slug == "weekly"

    def test_another_team_cannot_silence_it(self, ada, line):
        watched(ada, line)
        Study.objects.create(slug="scattered", title="scattered")
        for version in ("6.0", "6.1", "6.2", "6.3"):
            for level in (20, 900, 300):
                measured(version, level, study="scattered")
        kernel("6.3", 80)
        (message,) = watching.run_maintenance()
        assert message.payload["line"]["team"] == "Lab"

    def test_the_command_says_what_it_found(self, ada, line, capsys):
        watched(ada, line)
        kernel("6.3", 80)
        call_command("check_watches")
        output = capsys.readouterr().out
        assert "From 6.2 to 6.3" in output
        assert "1 new messages." in output


@pytest.mark.django_db(transaction=True)
class TestAtTheSameMoment:
    @pytest.fixture
    def line(self) -> Series:
        return three_alike()

    def test_housekeepers_tell_once(self, ada, line):
        watched(ada, line)
        kernel("6.3", 80)
        messages: list[list[WatchMessage]] = []
        together = threading.Barrier(4)

        def housekeeper() -> None:
            together.wait()
            try:
                messages.append(watching.run_maintenance())
            finally:
                connection.close()

        threads = [threading.Thread(target=housekeeper) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(len, messages)) == [0, 0, 0, 1]
        watching.run_maintenance()
        assert WatchMessage.objects.count() == 1
        assert len(mail.outbox) == 1

    @pytest.mark.parametrize("way", ["page", "program"])
    def test_one_of_two_tests_asked_for_at_once_is_sent(self, ada, line, way):
        watch = watched(ada, line)
        _, token = tokens.create(ada)
        together, answers = threading.Barrier(4), []

        def asking() -> None:
            client = Client()
            together.wait()
            try:
                if way == "page":
                    client.force_login(ada)
                    client.post(f"/watches/{watch.pk}/test/")
                else:
                    headers = {"Authorization": f"Bearer {token}"}
                    answers.append(client.post(f"/api/v1/watches/{watch.pk}/test", headers=headers))
            finally:
                connection.close()

        threads = [threading.Thread(target=asking) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert WatchMessage.objects.count() == len(mail.outbox) == 1
        if way == "program":
            assert sorted(answer.status_code for answer in answers) == [200, 429, 429, 429]
            assert {a.headers.get("Retry-After") for a in answers} == {None, "20"}

    def test_what_waited_long_for_its_turn_is_sent_once(self, ada, line):
        """Fifty receivers that keep silent take four minutes, and a claim lasts two."""
        counts: list[int] = []

        def another_housekeeper(handler: BaseHTTPRequestHandler) -> None:
            counts.append(deliveries.send_due())
            connection.close()
            answer_with(200)(handler)

        with receiver(another_housekeeper) as (address, received):
            watched(ada, line, email="", webhook_url=address)
            kernel("6.3", 80)
            began = timezone.now() - 2 * deliveries.CLAIM_LASTS
            watching.check_all(began)
            assert deliveries.send_due(began) == 1
        assert (counts, len(received)) == ([0], 1)
        assert states() == [("webhook", DELIVERED, 1)]

    @pytest.mark.parametrize("how", ["paused", "deleted", "closed", "a viewer now"])
    def test_what_ends_while_others_are_sent_is_not_told(self, ada, line, how):
        def end(handler: BaseHTTPRequestHandler) -> None:
            if how == "paused":
                watching.pause(second)
            elif how == "deleted":
                watching.delete(second)
            elif how == "closed":
                User.objects.filter(pk=other.pk).update(is_active=False)
            else:
                Person.objects.filter(user=other).update(role=Role.VIEWER)
            connection.close()
            answer_with(200)(handler)

        other = person(Role.CONTRIBUTOR, "eve")
        with receiver(end) as (address, received):
            watched(ada, line, email="", webhook_url=address)
            second = watched(other, line, email="", webhook_url=f"{address}/hers")
            kernel("6.3", 80)
            watching.run_maintenance()
        assert [path for path, _, _ in received] == ["/"]

    def test_an_older_look_writes_nothing(self, ada, line):
        watch = watched(ada, line)
        kernel("6.3", 80)
        early = Watch.objects.get(pk=watch.pk)
        assert len(watching.check(watch)) == 1
        assert watching.check(early) == []


class TestDelivery:
    def test_a_webhook_gets_the_change_in_numbers_signed(self, ada, line):
        with receiver(answer_with(200)) as (address, received):
            watch = watched(ada, line, email="", webhook_url=f"{address}/hook")
            kernel("6.3", 80)
            watching.run_maintenance()
        ((path, headers, body),) = received
        assert path == "/hook"
        assert headers["X-Fsbench-Signature"] == signature(secret_of(watch), body)
        payload = json.loads(body)
        assert payload["event"] == "slower"
        change = payload["change"]
        assert (change["from"], change["to"], change["unit"]) == ("6.2", "6.3", "KB/s")
        assert change["before"] == pytest.approx(100.333, abs=0.001)
        assert change["after"] == pytest.approx(80)
        assert change["percent"] == pytest.approx(-20.266, abs=0.001)
        assert len(change["runs"]) == 3
        assert payload["line"]["configuration"] == "ext4"

    def test_500_is_tried_again_and_200_ends_it(self, ada, line):
        answers = [500, 200]
        with receiver(lambda handler: answer_with(answers.pop(0))(handler)) as (address, received):
            watched(ada, line, email="", webhook_url=address)
            kernel("6.3", 80)
            now = timezone.now()
            watching.run_maintenance(now)
            assert states() == [("webhook", WAITING, 1)]
            assert WatchDelivery.objects.get().last_error == "It answered 500."
            watching.run_maintenance(now + timedelta(seconds=30))
            assert len(received) == 1
            watching.run_maintenance(timezone.now() + BACK_OFF[0])
            assert states() == [("webhook", DELIVERED, 2)]
            watching.run_maintenance(timezone.now() + timedelta(days=1))
        assert len(received) == 2
        assert received[0][2] == received[1][2]

    def test_it_gives_up_behind_five_tries(self, ada, line):
        with receiver(answer_with(500)) as (address, received):
            watched(ada, line, email="", webhook_url=address)
            kernel("6.3", 80)
            for _ in range(8):
                watching.run_maintenance(timezone.now() + timedelta(days=1))
        assert len(received) == MOST_TRIES == 5
        assert states() == [("webhook", FAILED, 5)]

    def test_a_private_address_gets_nothing(self, ada, line, settings):
        settings.WEBHOOK_PRIVATE = False
        with receiver(answer_with(200)) as (address, received):
            watched(ada, line, email="", webhook_url=address)
            kernel("6.3", 80)
            watching.run_maintenance()
        assert received == []
        assert "private network" in WatchDelivery.objects.get().last_error

    def test_one_channel_that_fails_does_not_repeat_the_other(self, ada, line):
        with receiver(answer_with(503)) as (address, _):
            watched(ada, line, webhook_url=address)
            kernel("6.3", 80)
            for _ in range(3):
                watching.run_maintenance(timezone.now() + timedelta(days=1))
        assert len(mail.outbox) == 1
        assert states() == [("email", DELIVERED, 1), ("webhook", WAITING, 3)]

    def test_a_try_that_died_is_taken_up_again(self, ada, line):
        watched(ada, line)
        kernel("6.3", 80)
        (message,) = watching.check_all()
        delivery = message.deliveries.get()
        # As if a process had claimed it and was killed.
        WatchDelivery.objects.update(tries=1, next_try_at=timezone.now() + deliveries.CLAIM_LASTS)
        assert deliveries.send_due() == 0
        assert deliveries.send_due(timezone.now() + 2 * deliveries.CLAIM_LASTS) == 1
        delivery.refresh_from_db()
        assert (delivery.state, delivery.tries) == (DELIVERED, 2)

    def test_without_mail_settings_it_says_so(self, ada, line, settings):
        watched(ada, line)
        settings.SENDS_EMAIL = False
        kernel("6.3", 80)
        watching.run_maintenance()
        assert mail.outbox == []
        assert "FSBENCH_EMAIL_URL is not set" in WatchDelivery.objects.get().last_error

    def test_a_mail_server_that_refuses_is_tried_again(self, ada, line, settings):
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
        watched(ada, line)
        kernel("6.3", 80)
        watching.run_maintenance()
        assert states() == [("email", WAITING, 1)]
        assert "did not take it" in WatchDelivery.objects.get().last_error

    def test_tests_are_forgotten_and_news_are_kept(self, ada, line):
        watch = watched(ada, line)
        watching.send_test(watch)
        kernel("6.3", 80)
        watching.run_maintenance()
        watching.run_maintenance(timezone.now() + timedelta(days=8))
        assert [message.kind for message in WatchMessage.objects.all()] == ["slower"]


def form_of(line: Series, /, **changes: object) -> dict[str, object]:
    return {
        "series": line.pk,
        "test": "write",
        "category": "total_average",
        "along": "kernel",
        "margin": 10,
        "email": "",
        "webhook_url": "",
    } | changes


class TestPages:
    def test_the_page_of_a_line_has_the_form_for_who_is_signed_in(self, client, ada, line):
        address = f"/history/?series={line.pk}&test=write"
        assert "to get a message when this line" in client.get(address).content.decode()
        client.force_login(ada)
        text = client.get(address).content.decode()
        assert 'action="/watches/new/"' in text
        assert 'value="ada@example.org"' in text

    def test_the_secret_is_shown_once(self, hers, line):
        answer = hers.post("/watches/new/", form_of(line, webhook_url="https://chat.example/hook"))
        assert answer.status_code == 201
        watch = Watch.objects.get()
        secret = secret_of(watch)
        assert secret in answer.content.decode()
        assert watch.site == "http://testserver"
        for address in ("/watches/", f"/watches/{watch.pk}/"):
            text = hers.get(address).content.decode()
            assert "ext4: Write, total average" in text
            assert secret not in text
        assert secret not in json.dumps(list(Watch.objects.values()), default=str)

    def test_a_line_is_watched_once_by_one_person(self, hers, line):
        hers.post("/watches/new/", form_of(line))
        other = kernel("6.5", 100, study="weekly")
        answer = hers.post("/watches/new/", form_of(other, margin=20), follow=True)
        assert "You watch this line already" in answer.content.decode()
        assert Watch.objects.count() == 1
        hers.post("/watches/new/", form_of(line, along="date"))
        assert Watch.objects.count() == 2

    def test_there_is_a_most(self, hers, line, monkeypatch):
        monkeypatch.setattr(watching, "MOST_WATCHES", 1)
        hers.post("/watches/new/", form_of(line))
        answer = hers.post("/watches/new/", form_of(line, along="date"))
        assert answer.status_code == 422
        assert "which is the most" in answer.content.decode()

    @pytest.mark.parametrize(
        "changes",
        [
            {"margin": "0"},
            {"margin": "101"},
            {"margin": "x"},
            {"email": "nobody"},
            {"email": "a@example.org\nBcc: b@example.org"},
            {"webhook_url": "ftp://example.org/"},
            {"webhook_url": "http://user:secret@example.org/"},
            {"webhook_url": "https://example.org/\r\nX: y"},
            {"along": "nonsense"},
        ],
    )
    def test_nonsense_is_refused_in_words(self, hers, line, changes):
        answer = hers.post("/watches/new/", form_of(line, **changes))
        assert answer.status_code == 422
        assert Watch.objects.count() == 0

    @pytest.mark.parametrize(
        "changes", [{"series": 0}, {"series": "x"}, {"test": "\0"}, {"category": "no"}]
    )
    def test_a_line_that_is_not_there_is_not_found(self, hers, line, changes):
        assert hers.post("/watches/new/", form_of(line, **changes)).status_code == 404
        assert hers.get("/watches/new/", form_of(line, **changes)).status_code == 404

    @pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "169.254.169.254"])
    def test_what_is_plainly_private_is_refused_at_once(self, hers, line, settings, host):
        settings.WEBHOOK_PRIVATE = False
        answer = hers.post("/watches/new/", form_of(line, webhook_url=f"http://{host}:8000/x"))
        assert answer.status_code == 422
        assert "private network" in answer.content.decode()

    def test_without_mail_settings_the_form_says_so_and_takes_no_address(
        self, hers, line, settings
    ):
        settings.SENDS_EMAIL = False
        text = hers.get(f"/history/?series={line.pk}&test=write").content.decode()
        assert "This site sends no e-mail" in text
        assert "This site sends no e-mail" in hers.get("/watches/").content.decode()
        answer = hers.post("/watches/new/", form_of(line, email="ada@example.org"))
        assert answer.status_code == 422
        assert "This site sends no e-mail" in answer.content.decode()
        assert hers.post("/watches/new/", form_of(line, email="")).status_code == 201

    def test_only_the_accounts_own_address_is_written_to(self, hers, ada, line):
        answer = hers.post("/watches/new/", form_of(line, email="victim@example.org"))
        assert answer.status_code == 422
        assert "ada@example.org, alone" in answer.content.decode()
        assert hers.post("/watches/new/", form_of(line, email="ADA@example.org")).status_code == 201
        watch = Watch.objects.get()
        assert watch.email == "ada@example.org"
        User.objects.filter(pk=ada.pk).update(email="new@example.org")
        hers.post(f"/watches/{watch.pk}/test/")
        assert not mail.outbox

    def test_an_account_without_an_address_gives_none(self, hers, ada, line):
        User.objects.filter(pk=ada.pk).update(email="")
        answer = hers.post("/watches/new/", form_of(line, email="ada@example.org"))
        assert answer.status_code == 422
        assert "has no e-mail address yet" in answer.content.decode()
        assert not Watch.objects.exists()
        text = hers.get(f"/history/?series={line.pk}&test=write").content.decode()
        assert "has no e-mail address yet" in text

    @pytest.mark.parametrize(
        ("changes", "field", "why"),
        [
            ({"webhook_url": "https://chat.example/hook"}, "webhook_url", "needs the role"),
            ({"email": "victim@example.org"}, "email", "ada@example.org, alone"),
        ],
    )
    def test_the_api_drops_no_address_in_silence(self, ada, line, changes, field, why):
        Person.objects.create(user=ada, role=Role.VIEWER)
        _, token = tokens.create(ada)
        body = {"series": line.pk, "test": "write", "category": "total_average", **changes}
        answer = Client().post(
            "/api/v1/watches",
            json.dumps(body),
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.status_code == 422
        (problem,) = answer.json()["errors"]
        assert problem["field"] == field
        assert why in problem["message"]
        assert not Watch.objects.exists()

    def test_a_webhook_needs_a_contributor_when_made_and_when_sent(self, hers, ada, line):
        Person.objects.create(user=ada, role=Role.VIEWER)
        with receiver(answer_with(204)) as (address, received):
            answer = hers.post("/watches/new/", form_of(line, webhook_url=address))
            assert answer.status_code == 422
            assert "A webhook needs the role contributor" in answer.content.decode()
            text = hers.get(f"/history/?series={line.pk}&test=write").content.decode()
            assert "A webhook needs the role contributor" in text
            assert not Watch.objects.exists()
            Person.objects.update(role=Role.CONTRIBUTOR)
            hers.post("/watches/new/", form_of(line, webhook_url=address))
            watch = Watch.objects.get()
            assert watch.webhook_url == address
            Person.objects.update(role=Role.VIEWER)
            hers.post(f"/watches/{watch.pk}/test/")
            assert not received

    def test_a_test_is_sent_and_says_what_became_of_it(self, hers, ada, line):
        with receiver(answer_with(404)) as (address, received):
            watch = watched(ada, line, webhook_url=address)
            answer = hers.post(f"/watches/{watch.pk}/test/", follow=True).content.decode()
            again = hers.post(f"/watches/{watch.pk}/test/", follow=True).content.decode()
        assert "The test was delivered by e-mail." in answer
        assert "The test by webhook failed. It answered 404." in answer
        assert "A test was sent a moment ago" in again
        assert len(received) == len(mail.outbox) == 1
        assert json.loads(received[0][2])["event"] == "test"
        assert states() == [("email", DELIVERED, 1), ("webhook", FAILED, 1)]

    def test_pause_resume_and_delete_with_a_question(self, hers, ada, line):
        watch = watched(ada, line)
        assert "paused" in hers.post(f"/watches/{watch.pk}/pause/", follow=True).content.decode()
        hers.post(f"/watches/{watch.pk}/resume/")
        assert Watch.objects.get().is_active
        assert "cannot be undone" in hers.get(f"/watches/{watch.pk}/delete/").content.decode()
        assert Watch.objects.count() == 1
        hers.post(f"/watches/{watch.pk}/delete/")
        assert Watch.objects.count() == 0

    def test_the_audit_log_has_where_watches_send(self, hers, ada, line):
        address = "https://chat.example/hooks/4711-secret"
        watch = watched(ada, line, webhook_url=address)
        for part in ("pause/", "pause/", "resume/", "resume/", "delete/"):
            hers.post(f"/watches/{watch.pk}/{part}")
        entries = AuditEntry.objects.filter(thing=f"watch {watch.pk}").order_by("id")
        assert [(entry.who, entry.what) for entry in entries] == [
            ("ada", "watch made"),
            ("ada", "watch paused"),
            ("ada", "watch resumed"),
            ("ada", "watch deleted"),
        ]
        assert entries[0].detail["webhook"] == "chat.example"
        assert "4711" not in str(list(entries.values()))

    def test_retries_and_what_went_wrong_are_on_the_pages(self, hers, ada, line):
        with receiver(answer_with(500)) as (address, _):
            watch = watched(ada, line, email="", webhook_url=address)
            kernel("6.3", 80)
            watching.run_maintenance()
        for address in ("/watches/", f"/watches/{watch.pk}/"):
            text = " ".join(hers.get(address).content.decode().split())
            assert "From 6.2 to 6.3" in text
            assert "tried 1 time, again at" in text
            assert "It answered 500." in text

    def test_others_see_and_change_nothing(self, client, ada, line):
        watch = watched(ada, line)
        client.force_login(User.objects.create_user("eve"))
        assert "ext4: Write" not in client.get("/watches/").content.decode()
        for part in ("", "delete/"):
            assert client.get(f"/watches/{watch.pk}/{part}").status_code == 404
        for part in ("test/", "pause/", "resume/", "delete/"):
            assert client.post(f"/watches/{watch.pk}/{part}").status_code == 404
        watch.refresh_from_db()
        assert watch.is_active
        assert mail.outbox == []

    def test_the_list_takes_the_same_queries_for_many(
        self, hers, ada, line, django_assert_num_queries
    ):
        watched(ada, line)
        with django_assert_num_queries(6):
            hers.get("/watches/")
        watched(ada, line, along="date")
        watched(ada, line, category="maximum")
        kernel("6.3", 80)
        watching.run_maintenance()
        with django_assert_num_queries(7):
            hers.get("/watches/")

    def test_runs_and_studies_lead_to_their_lines(self, client, line):
        run = line.runs.first()
        assert f"/history/?series={line.pk}" in client.get(f"/runs/{run.pk}/").content.decode()
        assert "/history/?study=nightly" in client.get("/studies/nightly/").content.decode()
