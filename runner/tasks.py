"""Celery's doors."""

from typing import Any

from django.db import close_old_connections

from fsbench_web.celery import app
from fsbench_web.platform import log_lines
from runner import service
from runner.execution.execute import work_on
from runner.execution.participant import take_part as take_part_in


@app.task(name="runner.execute", bind=True)
def execute(self: Any, run_id: int) -> None:
    close_old_connections()
    with log_lines.log_context(run=run_id, request=self.request.get("fsbench_request")):
        work_on(run_id, service.host())
    close_old_connections()


@app.task(name="runner.take_part", bind=True)
def take_part(self: Any, run_id: int) -> None:
    close_old_connections()
    with log_lines.log_context(run=run_id, request=self.request.get("fsbench_request")):
        take_part_in(run_id, service.host())
    close_old_connections()


@app.task(name="runner.fetch_guest_kernel")
def fetch_guest_kernel(package: str) -> None:
    service.fetch_guest_kernel(package)
