"""Celery's doors."""

from django.db import close_old_connections

from fsbench_web.celery import app
from runner import service
from runner.execute import work_on


@app.task(name="runner.execute")
def execute(run_id: int) -> None:
    close_old_connections()
    work_on(run_id, service.host())
    close_old_connections()
