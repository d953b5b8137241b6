"""What a run promised stands beside its speed: pages, scores, files and the API."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.core.activity.durability import Durability, read_durability
from fsbench_web.core.activity.promises import KEPT, NOT_KEPT, NOTHING_TO_FLUSH, UNKNOWN, Promise
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run
from tests.core.activity.test_durability import LOSS, printed
from tests.studies.conftest import complete
from tests.studies.runs.test_busy import flags

SHORT = Promise(NOT_KEPT, "", 300, 300, 0, "tool")
ENOUGH = Promise(KEPT, "", 300, 300, 600, "tool")
UNSAID = Promise(UNKNOWN, NOTHING_TO_FLUSH, 300, None, None, "tool")
SURVIVED = read_durability(printed())
LOST = read_durability(printed(LOSS, fine=311, lost=1))
SHOWN = {"not_flushed": "syncs not flushed", "failed_crash_points": "failed crash points"}


@pytest.fixture
def done(spec: Callable[..., JobSpec], ann: User, disk: Lun) -> Callable[..., list[Run]]:
    """Finished runs of one study, of several file systems, that promised so much."""

    def make(*promises: Promise | Durability | None) -> list[Run]:
        names = ("ext4", "xfs", "ext3")[: len(promises)]
        configurations = tuple(ConfigurationSpec(name, {}, "none") for name in names)
        job = spec(lun_id=disk.pk, configurations=configurations, repeats=1, new_study="S")
        runs = sorted(submit(job, disk.name, ann), key=lambda run: run.pk)
        by_name = {run.series.configuration.filesystem: run for run in runs}
        for name, found in zip(names, promises, strict=True):
            run = by_name[name]
            name_of = "durability" if isinstance(found, Durability) else "promise"
            noted = {} if found is None else {name_of: found.as_dict()}
            Run.objects.filter(pk=run.pk).update(conditions=noted)
            complete(run)
            run.refresh_from_db()
        return [by_name[name] for name in names]

    return make


def rows(client: Client, study: str, more: str = "") -> dict[str, list[str]]:
    """The flags of each contender, in all tables."""
    tables = client.get(f"/api/v1/deltas?study={study}&by=filesystem{more}").json()["tables"]
    assert tables
    return {
        row["contender"]: sorted({flag for table in tables for flag in _flags(table, row)})
        for row in tables[0]["rows"]
    }


def _flags(table: dict[str, Any], row: dict[str, Any]) -> list[str]:
    return next(
        (other["flags"] for other in table["rows"] if other["contender"] == row["contender"]), []
    )


@pytest.mark.parametrize(
    ("broken", "kept", "flag"),
    [(SHORT, ENOUGH, "not_flushed"), (LOST, SURVIVED, "failed_crash_points")],
)
def test_the_flag_stands_beside_the_speed_everywhere(
    done: Callable[..., list[Run]],
    client: Client,
    broken: Promise | Durability,
    kept: Promise | Durability,
    flag: str,
) -> None:
    [run, other] = done(broken, kept)
    assert (flags(run), flags(other)) == ({flag}, set())
    study = run.series.study.slug
    pages = ("/runs/", f"/runs/{run.pk}/", f"/studies/{study}/", f"/compare/?study={study}")
    for address in pages:
        assert SHOWN[flag] in client.get(address).content.decode(), address
    assert SHOWN[flag] not in client.get(f"/runs/{other.pk}/").content.decode()
    # What was measured is sound all the same.
    for selection in ("", "&cells=sound"):
        assert rows(client, study, selection) == {"ext4": [flag], "xfs": []}
    lines = client.get(f"/api/v1/deltas.csv?study={study}&by=filesystem").content.decode()
    flagged = {line.split(",")[2] for line in lines.splitlines() if flag in line}
    assert flagged == {"ext4"}


def test_the_api_gives_verdict_and_ratio(done: Callable[..., list[Run]], client: Client) -> None:
    [run] = done(SHORT)
    found = client.get(f"/api/v1/runs/{run.pk}").json()["conditions"]["promise"]
    assert (found["verdict"], found["ratio"]) == (NOT_KEPT, 0)


def test_the_page_of_a_run_says_what_was_counted(
    done: Callable[..., list[Run]], client: Client
) -> None:
    for run, expected in zip(
        done(ENOUGH, UNSAID, None),
        ("600, of at least 300 that its syncs need; syncs kept", "nothing to flush"),
        strict=False,
    ):
        assert expected in client.get(f"/runs/{run.pk}/").content.decode()


@pytest.mark.parametrize(
    ("promises", "is_said"),
    [
        ((SHORT, ENOUGH), True),
        ((SHORT, ENOUGH, None), True),
        ((SHORT, SHORT), False),
        ((ENOUGH, ENOUGH), False),
        # Nobody knows what the other one promised.
        ((SHORT, UNSAID), False),
        ((SHORT, None), False),
        ((LOST, SURVIVED), True),
        ((LOST, LOST), False),
        # To flush is not to survive.
        ((LOST, ENOUGH), False),
        ((LOST, None), False),
    ],
)
def test_entries_with_different_promises_are_said_in_the_answer(
    done: Callable[..., list[Run]],
    client: Client,
    promises: tuple[Promise | Durability | None, ...],
    is_said: bool,
) -> None:
    study = done(*promises)[0].series.study.slug
    answer = client.get(f"/api/v1/comparison?study={study}&by=filesystem").json()["answer"]
    assert ("promises_differ" in answer["caveats"]) is is_said
    for address in (f"/studies/{study}/", f"/compare/?study={study}&by=filesystem"):
        page = client.get(address).content.decode()
        assert ('data-caveat="promises_differ"' in page) is is_said, address
