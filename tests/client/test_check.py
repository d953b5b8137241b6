"""``fsbench check``: its exit codes are what pipelines go by."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.client.conftest import Command

Measured = Callable[..., None]
QUERY = ("--by", "study", "--filesystem", "ext4", "--test", "write", "--category", "overall")
BASE = [100.0, 100.4, 99.7, 100.2]


def check(fsbench: Command, *more: str) -> tuple[int, str, str]:
    done = fsbench("check", *QUERY, "--baseline", "release", *more)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("nightly", "code", "says"),
    [
        ([80.0, 80.3, 79.8, 80.1], 1, "fell significantly"),
        ([120.0, 120.3, 119.8, 120.1], 0, "Nothing fell"),
        ([99.9, 100.1, 100.3, 99.8], 0, "Nothing fell"),
        ([95.0, 95.2, 95.1, 95.3], 0, "by 10% or more against release; 1 by less."),
        ([50.0, 150.0, 20.0, 90.0], 0, "Nothing fell"),  # nobody can tell
        ([50.0], 4, "cannot be judged"),
    ],
    ids=["fell", "rose", "the same", "within the margin", "scatter", "one run"],
)
def test_it_fails_where_something_fell_significantly(
    fsbench: Command, measured: Measured, nightly: list[float], code: int, says: str
) -> None:
    measured("Release", ext4=BASE)
    measured("Nightly", ext4=nightly)
    exit_code, out, err = check(fsbench, "--contender", "nightly")
    assert (exit_code, says in out) == (code, True), out + err
    assert "\x1b" not in out


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["at the end", "at the first line"])
@pytest.mark.parametrize("more", [(), ("--json",)], ids=["table", "json"])
def test_a_reader_that_leaves_changes_no_verdict(
    fsbench: Command, measured: Measured, unbuffered: str, more: tuple[str, ...]
) -> None:
    measured("Release", ext4=BASE)
    measured("Nightly", ext4=[80.0, 80.3, 79.8, 80.1])
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "fsbench", "check", *QUERY, "--baseline", "release", *more],
        env=fsbench.environment(PYTHONUNBUFFERED=unbuffered),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_the_margin_is_the_callers_and_the_verdict_the_sites(
    fsbench: Command, measured: Measured
) -> None:
    measured("Release", ext4=BASE)
    measured("Nightly", ext4=[95.0, 95.2, 95.1, 95.3])
    assert check(fsbench, "--margin", "2")[0] == 1
    code, out, _ = check(fsbench, "--margin", "2", "--json")
    report = json.loads(out)
    (row,) = report["rows"]
    assert (code, report["exit_code"], row["result"]) == (1, 1, "fell")
    assert row["verdict"]["status"] == "significant"
    assert row["change_percent"] < 0


def test_what_cannot_be_compared_is_neither_fine_nor_a_fall(
    fsbench: Command, measured: Measured
) -> None:
    measured("Release", ext4=BASE)
    code, out, err = check(fsbench)
    assert (code, "nothing but the baseline" in err) == (4, True)
    assert "fell" not in out
    measured("Nightly", ext4=BASE)
    done = fsbench("check", *QUERY, "--baseline", "no-such", "--study", "nightly")
    assert (done.returncode, "the baseline no-such has no score" in done.stderr) == (4, True)
    code, _, err = check(fsbench, "--contender", "nightly", "--contender", "weekly")
    assert (code, "weekly has no score" in err) == (4, True)
    assert check(fsbench, "--min-runs", "9")[0] == 4


def test_another_machine_is_not_a_regression(fsbench: Command, measured: Measured) -> None:
    from fsbench_web.catalog.models import HardwareProfile
    from fsbench_web.studies.models import Series

    measured("Release", ext4=BASE)
    measured("Nightly", ext4=[80.0, 80.3, 79.8, 80.1])
    other = HardwareProfile.objects.create(slug="laptop", name="Laptop")
    Series.objects.filter(study__slug="nightly").update(hardware=other)
    code, _, err = check(fsbench)
    assert (code, "mixed_hardware" in err) == (4, True)
    assert check(fsbench, "--allow-mixed")[0] == 1


def test_unreachable_unauthorised_and_refused_are_told_apart(
    fsbench: Command, measured: Measured
) -> None:
    measured("Release", ext4=BASE)
    assert check(fsbench, "--url", "http://127.0.0.1:9")[0] == 7
    assert fsbench("whoami", FSBENCH_TOKEN="fsb_nobody").returncode == 8
    assert check(fsbench, "--study", "no-such")[0] == 3
    assert fsbench("check").returncode == 2
