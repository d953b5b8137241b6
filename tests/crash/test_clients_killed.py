"""A run of several clients whose leader or other client is killed, falls silent or is cancelled.

The moments are the phases of such a run, and chance within the longest of them. Afterwards the run
has ended in words that name who was missing, nothing of one client alone counts, nothing is leased
and nobody is at work; the next case, and in the end a whole run, shows that all go on.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from fsbench_web.studies.models import (
    END_STATES,
    ClientState,
    Lease,
    Run,
    RunClient,
    RunState,
    Score,
)
from fsbench_web.studies.runs import lifecycle
from fsbench_web.studies.scores import measurements
from tests.crash.lab import Lab
from tests.crash.several import ABSENT, LEADER, OTHER, SILENT_AFTER_S, Several
from tests.measured import measured

pytestmark = [pytest.mark.docker, pytest.mark.postgres, pytest.mark.redis, pytest.mark.root]

MINUTES, SECONDS = 600, 1
SILENCE = f"sent no heartbeat for {SILENT_AFTER_S} s"
_chance = random.Random(20)


@pytest.fixture(scope="module")
def several(the_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Several]:
    lab = Several(the_lab, tmp_path_factory.mktemp("several"))
    try:
        lab.start()
        yield lab
    finally:
        lab.stop()


@contextmanager
def leased(lab: Several) -> Iterator[Run]:
    """All LUNs are taken, and nobody was asked."""
    with lab.lab.gate(RunState.PREPARING):
        run = lab.submit(MINUTES)
        lab.wait_for(run, RunState.LEASED)
        yield run


@contextmanager
def leader_prepares(lab: Several) -> Iterator[Run]:
    with lab.held_up(LEADER):
        run = lab.submit(MINUTES)
        lab.wait_for(run, RunState.PREPARING)
        yield run


@contextmanager
def other_prepares(lab: Several) -> Iterator[Run]:
    with lab.held_up(OTHER):
        run = lab.submit(MINUTES)
        lab.wait_for_client(run, OTHER, ClientState.PREPARING)
        yield run


@contextmanager
def at_the_barrier(lab: Several) -> Iterator[Run]:
    """Both are ready, and wait for a third."""
    run = lab.submit(MINUTES, OTHER, ABSENT)
    lab.wait_for_client(run, OTHER, ClientState.READY)
    yield run


@contextmanager
def measuring(lab: Several) -> Iterator[Run]:
    """All know when they begin, or have begun."""
    run = lab.submit(MINUTES)
    lab.wait_for_client(run, OTHER, ClientState.MEASURING)
    time.sleep(_chance.uniform(0, 1))
    yield run


@contextmanager
def at_work(lab: Several) -> Iterator[Run]:
    """Both benchmarks are under way."""
    with measuring(lab) as run:
        lab.wait_until(run, lambda: len(lab.at_work()) >= 2)
        time.sleep(_chance.uniform(0, 1))
        yield run


@contextmanager
def leader_is_done(lab: Several) -> Iterator[Run]:
    """Its benchmark is over, and the other's worker has not yet handed over what it has."""
    run = lab.submit(8)
    lab.wait_until(run, lambda: len(lab.at_work()) >= 2)
    with lab.stopped(OTHER):
        lab.wait_for_client(run, LEADER, ClientState.DONE)
        yield run


Phase = Callable[[Several], AbstractContextManager[Run]]
TOGETHER = [at_the_barrier, measuring, at_work, leader_is_done]


@pytest.mark.parametrize("phase", [leased, leader_prepares, *TOGETHER])
def test_the_leader_is_killed(several: Several, phase: Phase) -> None:
    with phase(several) as run:
        several.kill(LEADER)
    several.start_again(LEADER)
    several.wait_for(run, RunState.LOST)
    assert f"orker {several.names[LEADER]}, which led its clients, " in run.reason
    assert_nothing_counts(several, run)


@pytest.mark.parametrize("phase", [other_prepares, *TOGETHER])
def test_another_client_is_killed(several: Several, phase: Phase) -> None:
    with phase(several) as run:
        several.kill(OTHER)
        several.start_again(OTHER)
        several.wait_for(run, RunState.FAILED)
    # Or it was silent for too long until then, on a busy machine.
    anew = "could not go on: Its worker was restarted."
    name = several.names[OTHER]
    assert any(f"The client {name} {why}" in run.reason for why in (anew, SILENCE)), run.reason
    assert_nothing_counts(several, run)


@pytest.mark.parametrize("phase", [leader_prepares, other_prepares, *TOGETHER])
def test_it_is_cancelled(several: Several, phase: Phase) -> None:
    with phase(several) as run:
        lifecycle.cancel(run.pk, "ann")
    several.wait_for(run, RunState.CANCELLED)
    assert_nothing_counts(several, run)


def test_a_client_that_stands_still_is_named_and_writes_nothing_when_it_goes_on(
    several: Several,
) -> None:
    with at_work(several) as run, several.stopped(OTHER):
        several.wait_for(run, RunState.FAILED)
    name = several.names[OTHER]
    assert f"The client {name} {SILENCE}" in run.reason
    assert_nothing_counts(several, run)


def test_a_leader_that_stands_still_is_named_and_writes_nothing_when_it_goes_on(
    several: Several,
) -> None:
    with at_work(several) as run, several.stopped(LEADER):
        several.wait_for(run, RunState.LOST)
    leader = several.names[LEADER]
    assert f"Its worker {leader}, which led its clients, {SILENCE}" in run.reason
    assert_nothing_counts(several, run)


def test_all_are_killed_when_all_have_measured(several: Several) -> None:
    """The other's outputs are in the database, and the leader's in its spool."""
    with several.lab.gate(RunState.DONE):
        run = several.submit(SECONDS)
        several.wait_for(run, RunState.COLLECTING)
        several.kill(OTHER)
        several.kill(LEADER)
    several.start_again(LEADER)
    several.wait_for(run, RunState.DONE)
    several.start_again(OTHER)
    assert_whole(several, run)


def test_after_all_that_they_measure_together(several: Several) -> None:
    done = 0
    while done < 2:  # the one before is of the test before, where it was run
        run = several.submit(SECONDS)
        several.wait_for(run, RunState.DONE)
        assert_whole(several, run)
        done, before = Run.objects.filter(series=run.series, state=RunState.DONE).count(), done
        assert before < done <= 2
    scores = dict(Score.objects.filter(series=run.series).values_list("test", "repeats"))
    assert set(scores.values()) == {2}, scores


def assert_sound(lab: Several, run: Run) -> None:
    lab.lab.wait_until(lambda: not (lab.at_work() or lab.containers()), timeout_s=60)
    assert not Run.objects.filter(pk=run.pk).exclude(state__in=END_STATES).exists()
    assert not Lease.objects.exclude(run=None).exists()
    ended = (ClientState.DONE, ClientState.FAILED)
    assert not RunClient.objects.filter(run=run).exclude(state__in=ended).exists()
    assert not RunClient.objects.exclude(content=None).exists()


def assert_nothing_counts(lab: Several, run: Run) -> None:
    assert_sound(lab, run)
    assert not measured(run)


def assert_whole(lab: Several, run: Run) -> None:
    """The run's rates are the sums of both clients, and both have theirs."""
    assert_sound(lab, run)
    rows = {row.test: row.value for row in measurements.rows_of(run.pk, 1000) or []}
    clients = list(run.clients.order_by("place"))
    assert [client.state for client in clients] == [ClientState.DONE, ClientState.DONE]
    alone = [{row[0]: row[4] for row in client.results} for client in clients]
    rate = next(test for test in rows if test.endswith("read_iops"))
    assert rows[rate] == pytest.approx(sum(values[rate] for values in alone))
    assert all(values[rate] > 0 for values in alone)
