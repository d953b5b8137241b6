"""What ``list`` narrows a list to, and that a list that is cut says so."""

import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from tests.api.conftest import announced
from tests.client.conftest import Command
from tests.importing import import_files

Measured = Callable[..., None]
TABLE = b"test,value,unit\nuntar,1.5,s\n"


def test_hardware_is_that_of_the_study(fsbench: Command, ada: User) -> None:
    for study, hardware in (("Lab", "Rack 1"), ("Other", "Rack 2")):
        import_files(
            [("t.csv", TABLE)],
            study=study,
            filesystem="xfs",
            configuration="xfs",
            hardware=hardware,
            user=ada,
        )
    of_lab = json.loads(fsbench("list", "hardware", "--study", "lab", "--json").stdout)
    assert [profile["name"] for profile in of_lab] == ["Rack 1"]
    assert len(json.loads(fsbench("list", "hardware", "--json").stdout)) == 2
    none = fsbench("list", "hardware", "--study", "no-such")
    assert (none.returncode, "no study" in none.stderr) == (3, True)


def test_luns_are_those_of_the_worker(fsbench: Command) -> None:
    announced("bench-1", "lun1")
    announced("bench-2", "lun2")
    luns = json.loads(fsbench("list", "luns", "--worker", "bench-2", "--json").stdout)
    assert [lun["name"] for lun in luns] == ["lun2"]


@pytest.mark.parametrize(
    ("kind", "option", "says"),
    [
        ("workers", "--study", "--study: a list of workers is not narrowed by that."),
        ("jobs", "--filesystem", "not narrowed by that; it takes --study."),
        ("hardware", "--lun", "it takes --study."),
    ],
)
def test_a_filter_that_would_do_nothing_is_refused(
    fsbench: Command, kind: str, option: str, says: str
) -> None:
    done = fsbench("list", kind, option, "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr


def test_a_list_that_is_cut_says_so_and_how_to_get_all(
    fsbench: Command, measured: Measured
) -> None:
    measured("Lab", ext4=[100, 101, 102], xfs=[90])
    announced("bench-1")
    cut = fsbench("list", "runs", "--limit", 3)
    assert (cut.returncode, len(cut.stdout.splitlines())) == (0, 4)
    assert cut.stderr == "3 of 4 are shown: --limit all shows every one.\n"
    as_json = fsbench("list", "runs", "--limit", 3, "--json")
    assert (len(json.loads(as_json.stdout)), as_json.stderr) == (3, cut.stderr)
    whole = fsbench("list", "runs", "--limit", "all")
    assert (len(whole.stdout.splitlines()), whole.stderr) == (5, "")
    assert fsbench("list", "runs", "--limit", 4).stderr == ""
    presets = fsbench("list", "workloads", "--limit", 1)
    assert presets.stderr.startswith("1 of ")
    for text in ("0", "-1", "many"):
        wrong = fsbench("list", "runs", "--limit", text)
        assert (wrong.returncode, "say 1 or more, or all" in wrong.stderr) == (2, True)
