"""The other clients of a run, as its leader sees them: gathered, begun and ended together.

Each says that it is ready. Then the leader names the moment by the database's clock. Hosts do not
speak to each other.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from fsbench_web.platform import clock
from fsbench_web.platform.clock import ChangeWatch
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.models import ClientState, Run
from fsbench_web.studies.runs import nudges
from fsbench_web.studies.runs.clients import parts
from fsbench_web.studies.runs.clients.parts import ClientsCannotContinue
from runner.execution.finish import persist
from runner.execution.record import Recorder
from runner.executors.base import Outcome
from runner.plan import RunPlan

READY_WITHIN_S = 120.0
"""How long the others have to be ready. A worker listens to its queue all the time."""
ASK_AGAIN_S = 5.0
START_AHEAD_S = 8.0
"""From the word to the begin: a container is started within it."""
END_WITHIN_S = 120.0
"""How much later than the time limit of the benchmark the last client may hand over."""
_LOOK_EVERY_S = 0.5


@dataclass
class Clients:
    """Of a run of one client it does nothing. ``problem`` is why the run is to end; "" while it
    may go on: ``look`` sets it, in the run's thread, which alone talks to the database.
    """

    run: Run
    recorder: Recorder
    problem: str = ""
    cause: Cause = Cause.BENCHMARK
    are_done: bool = False
    _looked: float = field(default=0.0)
    _heartbeats: ChangeWatch = field(default_factory=ChangeWatch)

    @property
    def are_any(self) -> bool:
        return bool(self.run.series.runs_on.clients)

    def gather(self, plan: RunPlan, has_to_end: Callable[[], bool]) -> RunPlan | None:
        """The plan with the moment at which all begin; None if the run ``has_to_end``. Raises
        ClientsCannotContinue, LeaseLost.
        """
        if not self.are_any:
            return plan
        clients, luns = self.run.series.runs_on.clients, self.run.series.clients
        if len(luns) < len(clients):
            known_names = {lun.worker.name for lun in luns}
            gone = ", ".join(name for name, _ in clients if name not in known_names)
            raise ClientsCannotContinue(f"The LUN of {gone} is no longer known: submit it again.")
        names = ", ".join(lun.worker.name for lun in luns)
        self.recorder.log(f"Measured by {1 + len(luns)} clients at once: waiting for {names}.")
        parts.lead(self.recorder.handle, ClientState.READY)
        began = time.monotonic()
        last_asked = -ASK_AGAIN_S
        while missing := parts.progress_of(self.run.pk, self._heartbeats).missing:
            now = time.monotonic()
            if has_to_end():
                return None
            if now - began > READY_WITHIN_S:
                raise ClientsCannotContinue(
                    f"Not ready within {READY_WITHIN_S:.0f} s: {', '.join(missing)}. Nothing was "
                    "measured. See whether that worker runs, and whether it is of this version."
                )
            if now - last_asked >= ASK_AGAIN_S:
                last_asked = now
                for lun in luns:
                    if lun.worker.name in missing:
                        nudges.notify_client(self.run.pk, lun.worker)
            time.sleep(0.1)
        # As the others will: one who knew the time from before a step would begin elsewhen.
        clock.ask_soon()
        start_at = clock.now() + timedelta(seconds=START_AHEAD_S)
        parts.start(self.recorder.handle, start_at)
        parts.lead(self.recorder.handle, ClientState.MEASURING)
        self.recorder.log("All clients are ready.")
        self.recorder.on_heartbeat = self.look
        return replace(plan, start_at=host_time(start_at.timestamp()))

    def look(self) -> None:
        """Now and then while the run goes on: whether all others still do."""
        now = time.monotonic()
        if self.problem or not self.are_any or now - self._looked < _LOOK_EVERY_S:
            return
        self._looked = now
        try:
            self.are_done = parts.progress_of(self.run.pk, self._heartbeats).are_done
        except ClientsCannotContinue as error:
            self.problem, self.cause = str(error), error.cause

    def common_outcome(
        self, plan: RunPlan, outcome: Outcome, has_to_end: Callable[[], bool]
    ) -> Outcome:
        """The leader's own end, once the others have theirs. Raises LeaseLost."""
        if not self.are_any:
            return outcome
        if outcome.exit_code == 0 and not self.problem:
            times = self.recorder.benchmark_times()
            persist(lambda: parts.lead(self.recorder.handle, ClientState.DONE, **times))
        deadline = time.monotonic() + plan.workload.time_limit_s + END_WITHIN_S
        while outcome.exit_code == 0 and not (self.problem or self.are_done):
            if has_to_end():
                return replace(outcome, exit_code=None, was_stopped=True)
            if time.monotonic() > deadline:
                self.problem = "The other clients did not end within the time limit."
            persist(self.look)
            time.sleep(0.1)
        if self.problem:
            code = outcome.exit_code or 1
            return replace(outcome, exit_code=code, reason=self.problem, cause=self.cause)
        return outcome


def host_time(at_database_s: float) -> float:
    """What this host's clock shows when the database's shows so many seconds since 1970."""
    return at_database_s - (clock.now().timestamp() - time.time())
