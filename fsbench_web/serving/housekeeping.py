"""Regular work of the installation, in threads of the supervisor.

A thread may die with its process at any moment: the next start takes up the rest. Celery beat in a
worker next to the importer took 12 MiB more, and no chore ran while Redis was away.
"""

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Thread

from django.conf import settings
from django.db import DatabaseError, close_old_connections, connections

from fsbench_web.accounts.sign_in import sessions
from fsbench_web.compare.permalinks import sharing
from fsbench_web.compare.watches import watching
from fsbench_web.imports import uploads
from fsbench_web.operations import chores
from fsbench_web.studies.runs import lifecycle, logs
from fsbench_web.studies.runs.windows import closing
from fsbench_web.studies.scores import rejudging
from fsbench_web.studies.triggers import ordering

logger = logging.getLogger("fsbench.serve")
Work = Callable[[], object]

CHORES: Sequence[tuple[str, Work]] = (
    ("Snapshots of permalinks", sharing.run_maintenance),
    ("Uploads that nobody imported", uploads.remove_expired),
    ("Sessions that ended", sessions.remove_ended),
)
# Seconds at a time: after some updates, judging all results of a large site takes hours.
JUDGES_FOR_S = 10.0
_all_are_judged = False


def start() -> None:
    """Begin the regular work. Each thread is apart, so that a slow webhook delays nothing else."""
    end_lost_runs = partial(lifecycle.reap_lost, lifecycle.LeaseWatch())
    heartbeat_s = min(settings.WORKER_HEARTBEAT_S, 5)
    runs: list[tuple[str, Work]] = [
        ("lost runs", end_lost_runs),
        ("expired runs", closing.end_expired_runs),
    ]
    _start_thread(heartbeat_s, 0, runs)
    results: list[tuple[str, Work]] = [
        ("watches", watching.run_maintenance),
        ("quality flags", _judge),
    ]
    _start_thread(60, 0, results)
    fold_logs = partial(chores.run_chore, "Logs of ended runs", logs.run_maintenance)
    _start_thread(60, 0, [("triggers", ordering.run_maintenance), ("logs", fold_logs)])
    _start_thread(600, 600, [("chores", do_chores)])


def do_chores() -> None:
    """Each chore, whether or not the one before it failed."""
    for name, work in CHORES:
        _try(name, partial(chores.run_chore, name, work))


def _start_thread(every_s: float, first_after_s: float, tasks: Sequence[tuple[str, Work]]) -> None:
    def repeat() -> None:
        time.sleep(first_after_s)
        while True:
            close_old_connections()
            for name, work in tasks:
                _try(name, work)
            if every_s >= 60:
                connections.close_all()
            time.sleep(every_s)

    Thread(target=repeat, name=f"every {every_s:g} s", daemon=True).start()


def _judge() -> None:
    """Judge some results that an update of the rules left to be judged, until all are."""
    global _all_are_judged
    if _all_are_judged:
        return
    count, _all_are_judged = rejudging.judge_waiting(JUDGES_FOR_S)
    if count:
        logger.info("%d series were judged by the present rules", count)


def _try(subject: str, work: Work) -> None:
    try:
        work()
    except DatabaseError as error:
        logger.warning("%s wait, the database does not answer: %s", subject, error)
    except Exception:
        logger.exception("%s failed and are tried again later", subject)
