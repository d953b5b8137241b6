"""Messages that tell a worker that a run waits: losing or repeating one is harmless."""

import logging
from collections.abc import Iterable
from datetime import datetime
from functools import partial

from django.db import transaction
from kombu.exceptions import OperationalError

from fsbench_web.catalog.models import Worker
from fsbench_web.celery import app
from fsbench_web.platform import clock, log_lines
from fsbench_web.studies.models import Run

logger = logging.getLogger("fsbench.lifecycle")

_AT_ONCE = {"max_retries": 0, "interval_start": 0, "socket_connect_timeout": 2}


def nudge(run: Run, now: datetime | None = None) -> bool:
    """Tell the LUN's worker that a run waits. False if the broker is down: ``lifecycle.resend``
    tries again.
    """
    lun = run.series.lun
    if lun is None:
        raise ValueError(f"run {run.pk} has no LUN")
    if not _send("runner.execute", run.pk, lun.worker.queue):
        return False
    Run.objects.filter(pk=run.pk).update(sent_at=now or clock.now())
    return True


def notify_client(run_id: int, worker: Worker) -> bool:
    """Ask another worker to take part in a run of several clients; False when it cannot be sent."""
    return _send("runner.take_part", run_id, worker.queue)


def _send(task: str, run_id: int, queue: str) -> bool:
    try:
        # The application's own connection would try for seconds, and who submits waits for that.
        with app.connection_for_write(connect_timeout=2, transport_options=_AT_ONCE) as broker:
            app.send_task(
                task,
                args=[run_id],
                queue=queue,
                retry=False,
                connection=broker,
                # So that the worker's lines name the request that submitted the run.
                headers={"fsbench_request": log_lines.current("request")},
            )
    except (OSError, OperationalError) as error:
        logger.warning(
            "run %s waits: the broker cannot be reached: %s", run_id, error, extra={"run": run_id}
        )
        return False
    return True


def nudge_after_commit(runs: Iterable[Run]) -> None:
    """Nudge once the transaction that wrote the runs is committed."""
    for run in runs:
        transaction.on_commit(partial(nudge, run))
