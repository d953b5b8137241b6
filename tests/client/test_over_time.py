"""``fsbench check --along``, ``list lines`` and ``watches``: lines over kernels and days."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from fsbench_web.compare.models import Watch, WatchMessage
from fsbench_web.studies.models import Run, Series
from tests.client.conftest import Command
from tests.compare.history.test_history import DAY
from tests.compare.history.test_history import measured as run_of
from tests.importing import import_files

Line = Callable[..., None]


@pytest.fixture
def line() -> Line:
    """``line(100, 100, 80)`` measures three repeats a day, of one kernel each."""

    def measure(*levels: float, repeats: int = 3) -> None:
        for day, level in enumerate(levels):
            for number in range(repeats):
                run_of(f"6.{day + 1}.0", level + number / 10, day=day)

    return measure


def check(fsbench: Command, *more: str, along: str = "date") -> tuple[int, str, str]:
    done = fsbench("check", "--study", "nightly", "--test", "write", "--along", along, *more)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("along", ["date", "kernel"])
@pytest.mark.parametrize(
    ("levels", "code", "says"),
    [
        ((100, 100, 80, 80), 1, "1 got slower."),
        ((100, 100, 120, 120), 0, "Nothing got slower."),
        ((100, 100, 80, 80, 100, 100), 0, "Nothing got slower."),  # it recovered
        ((100, 101, 99, 100), 0, "Nothing got slower."),
        ((100,), 4, "needs 2 points and 4 runs"),
    ],
    ids=["fell", "rose", "recovered", "the same", "one point"],
)
def test_the_last_change_of_a_line_decides(
    fsbench: Command, line: Line, along: str, levels: tuple[float, ...], code: int, says: str
) -> None:
    line(*levels)
    exit_code, out, err = check(fsbench, along=along)
    assert (exit_code, says in out) == (code, True), out + err
    if code == 1:
        assert "slower" in out.replace("got slower", "")


def test_json_says_where_and_by_how_much(fsbench: Command, line: Line) -> None:
    line(100, 100, 80, 80)
    code, out, _ = check(fsbench, "--json", along="kernel")
    report = json.loads(out)
    (row,) = report["rows"]
    assert (code, report["exit_code"], row["result"]) == (1, 1, "fell")
    assert (row["change"]["to"], row["latest"]) == ("6.3.0", "6.4.0")
    assert row["change"]["change_percent"] == pytest.approx(-20, abs=0.1)
    assert (row["points"], row["runs"], row["unit"]) == (4, 12, "KB/s")


def test_all_that_is_looked_at_is_corrected_for(fsbench: Command, line: Line) -> None:
    line(100, 100, 80, 80)
    assert "at once" not in check(fsbench)[1]
    more = ("--category", "maximum", "--category", "minimum")
    code, out, _ = check(fsbench, *more)
    assert (code, "2 lines and tests were checked at once" in out) == (1, True)
    rows = json.loads(check(fsbench, *more, "--json")[1])["rows"]
    assert [row["tested"] for row in rows] == [2, 2]
    low, high = sorted(row["change"]["p_value"] for row in rows)
    rates = sorted(row["q_value"] for row in rows)
    assert rates == [pytest.approx(min(2 * low, high)), pytest.approx(high)]
    assert "changes" not in rows[0]


def test_what_was_accepted_counts_no_more(fsbench: Command, line: Line) -> None:
    line(100, 100, 80, 80)  # from 1 March 2026 on, one a day
    assert check(fsbench, "--since", "2026-03-03")[0] == 1
    assert check(fsbench, "--since", "2026-03-04")[0] == 0
    assert check(fsbench, "--since", "6.3.0", along="kernel")[0] == 1
    assert check(fsbench, "--since", "6.4.0", along="kernel")[0] == 0
    code, _, err = check(fsbench, "--since", "5.0", along="kernel")
    assert (code, "no such kernel; there is 6.1.0, 6.2.0" in err) == (2, True)


def imported(fsbench: Command, study: str, level: float, day: int, hardware: str = "") -> None:
    """Four numbers under the label ext4, sent by another account and dated like the others."""
    eve, _ = User.objects.get_or_create(username="eve")
    rows = [f"write,4,{64 << place},{level + place + day / 100},KB/s" for place in range(4)]
    done = import_files(
        [("r.csv", "\n".join(["test,record_size_kb,file_size_kb,value,unit", *rows]).encode())],
        study=study,
        filesystem="ext4",
        configuration="ext4",
        hardware=hardware,
        user=eve,
    )
    Run.objects.filter(pk__in=done.runs).update(ended_at=DAY + timedelta(days=day))


@pytest.mark.parametrize("hardware", ["", "Array"], ids=["unknown", "said to be the same"])
def test_numbers_of_another_study_under_the_same_label_hide_no_fall(
    fsbench: Command, hardware: str
) -> None:
    for day, level in enumerate((100, 100, 80, 80)):
        for part in range(3):
            imported(fsbench, "nightly", level + part / 10, day, hardware)
    assert check(fsbench)[0] == 1
    for day in range(4):
        for number, level in enumerate((20, 500, 90, 900)):
            imported(fsbench, "scattered", level + number + day * 7, day, hardware)
    code, out, _ = check(fsbench, "--json")
    (row,) = json.loads(out)["rows"]
    assert (code, row["runs"]) == (1, 12)


def test_studies_that_are_named_together_are_one_line(fsbench: Command) -> None:
    """On the same hardware; where nobody knows it, each study is a line of its own."""
    for hardware, lines in (("Array", 1), ("", 2)):
        for number, level in enumerate((100, 101, 80, 81)):
            study = f"{'nightly' if number < 2 else 'weekly'} {hardware}"
            for day in range(2):
                imported(fsbench, study, level + day, 2 * number + day, hardware)
        slugs = [f"--study={name}{'-array' if hardware else ''}" for name in ("nightly", "weekly")]
        out = fsbench("check", *slugs, "--along", "date", "--test", "write", "--json").stdout
        assert [row["runs"] for row in json.loads(out)["rows"]] == [8 // lines] * lines


def test_the_margin_is_asked_of_the_site(fsbench: Command, line: Line) -> None:
    line(100, 100, 95, 95)
    assert check(fsbench)[0] == 0
    assert check(fsbench, "--margin", "2")[0] == 1


def test_no_such_line_is_no_verdict(fsbench: Command, line: Line) -> None:
    line(100, 100, 100)
    for more in (("--filesystem", "xfs"), ("--category", "nonsense")):
        code, out, err = check(fsbench, *more)
        assert (code, out, "No such line or test" in err) == (4, "", True)
    assert check(fsbench, "--study", "no-such")[0] == 3


def test_wrong_use_says_what_to_do(fsbench: Command, line: Line) -> None:
    for arguments, message in (
        (("check",), "--baseline NAME, or --along date"),
        (("check", "--baseline", "x", "--since", "2026-01-01"), "--since needs --along"),
        (("check", "--along", "date"), "say which with --study"),
        (("check", "--along", "date", "--study", "x", "--min-runs", "3"), "--min-runs: not with"),
        (("list", "lines"), "say which with --study"),
    ):
        done = fsbench(*arguments)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_a_line_is_watched_listed_and_left(fsbench: Command, line: Line) -> None:
    line(100, 100, 100)
    nothing = fsbench("watches", "list")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "fsbench watches add" in nothing.stderr
    (listed,) = json.loads(fsbench("list", "lines", "--study", "nightly", "--json").stdout)
    assert (listed["configuration"], listed["runs"]) == ("ext4", 9)
    assert "ext4" in fsbench("list", "lines", "--study", "nightly").stdout
    arguments = ("--series", str(listed["series"]), "--test", "write", "--margin", "5")
    done = fsbench("watches", "add", *arguments)
    assert done.returncode == 0, done.stderr
    watch = Watch.objects.get()
    assert (watch.series_id, watch.margin_percent, watch.along) == (listed["series"], 5, "date")
    assert f"{fsbench.site}/watches/{watch.pk}/" in done.stdout
    assert "write" in fsbench("watches", "list").stdout
    assert json.loads(fsbench("watches", "list", "--json").stdout)[0]["id"] == watch.pk
    again = fsbench("watches", "add", *arguments)
    assert (again.returncode, "You watch this line already" in again.stderr) == (3, True)
    assert "is paused" in fsbench("watches", "pause", watch.pk).stdout
    message = WatchMessage.objects.create(watch=watch, key="test:1", kind=WatchMessage.Kind.TEST)
    message.deliveries.create(channel="email", next_try_at=timezone.now())
    resumed = fsbench("watches", "resume", watch.pk).stdout
    assert "since before the pause: 1" in resumed
    assert json.loads(fsbench("watches", "resume", watch.pk, "--json").stdout)["not_sent"] == 0
    refused = fsbench("watches", "confirm", watch.pk, "--yes-erase", "disk1")
    assert (refused.returncode, "no LUN" in refused.stderr) == (3, True), refused.stderr
    at_once = fsbench("watches", "confirm", watch.pk, "--rounds", "0", "--json")
    assert json.loads(at_once.stdout)["confirm_rounds"] == 0
    payload = {"change": {"before": 100, "after": 80}}
    change = WatchMessage.objects.create(
        watch=watch, key="slower:1", kind="slower", payload=payload
    )
    marked = fsbench("watches", "mark", watch.pk, change.pk, "--state", "expected", "--note", "new")
    assert (marked.returncode, "is expected" in marked.stdout) == (0, True), marked.stderr
    change.refresh_from_db()
    assert (change.state, change.note) == ("expected", "new")
    gone = fsbench("watches", "remove", watch.pk)
    assert (gone.returncode, Watch.objects.exists()) == (0, False)
    assert fsbench("watches", "remove", watch.pk).returncode == 3


def test_a_terminal_without_a_minus_sign_gets_a_hyphen(fsbench: Command, line: Line) -> None:
    line(100, 100, 100, 80, 80, 80)
    arguments = ("check", "--study", "nightly", "--test", "write", "--along", "date")
    assert "\N{MINUS SIGN}20." in fsbench(*arguments).stdout
    plain = fsbench(*arguments, PYTHONIOENCODING="ascii", PYTHONUTF8="0").stdout
    assert "-20." in plain
    assert "?20." not in plain


def test_the_secret_of_a_webhook_is_shown_once(fsbench: Command, line: Line) -> None:
    line(100)
    series = Series.objects.get()
    done = fsbench(
        *("watches", "add", "--series", series.pk, "--test", "write"),
        *("--webhook", "https://ci.example.org/hook"),
    )
    assert done.returncode == 0, done.stderr
    assert "shown this once" in done.stdout
    listed = fsbench("watches", "list").stdout
    assert "https://ci.example.org/hook" in listed
    secret = done.stdout.rsplit(": ", 1)[1].strip()
    assert len(secret) > 20
    assert secret not in listed
