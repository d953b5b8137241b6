"""Asking a worker to fetch a kernel for its guests; the worker's host decides whether it does."""

from django.db import transaction
from kombu.exceptions import OperationalError

from fsbench_web.accounts import audit
from fsbench_web.catalog.models import Worker
from fsbench_web.catalog.workers import availability
from fsbench_web.catalog.workers.machines import kernel_package_problem
from fsbench_web.celery import app

TASK = "runner.fetch_guest_kernel"
# Somebody waits for the page: a broker that is away is said, not tried again and again.
_AT_ONCE = {"max_retries": 0, "interval_start": 0, "socket_connect_timeout": 2}


class KernelRequestError(Exception):
    """Nothing was asked; the text says why, and what to do."""


def request_kernel(worker: Worker, package: str) -> None:
    """Ask for this package, "" for the distribution's own kernel. Raises KernelRequestError."""
    if problem := kernel_package_problem(package):
        raise KernelRequestError(problem)
    if not availability.is_alive(worker):
        raise KernelRequestError(
            f"{worker.name} sends no heartbeat: start it, or run manage.py guest_kernel on its "
            "host."
        )
    ability = availability.guest(worker)
    if ability is None:
        raise KernelRequestError(
            f"{worker.name} says nothing of guest kernels: it is of another version of fsbench. "
            "Bring it up to date."
        )
    if ability.why_not_fetch:
        raise KernelRequestError(ability.why_not_fetch)
    if ability.fetching is not None and ability.fetching.is_on_its_way:
        raise KernelRequestError(f"{worker.name} is fetching a kernel already: wait for it.")
    with transaction.atomic():
        # In the log also where the message is lost afterwards: it was asked for.
        audit.note_here("guest kernel asked for", f"worker {worker.name}", package=package)
        try:
            with app.connection_for_write(connect_timeout=2, transport_options=_AT_ONCE) as broker:
                app.send_task(
                    TASK, args=[package], queue=worker.queue, retry=False, connection=broker
                )
        except (OSError, OperationalError):
            transaction.set_rollback(True)
            raise KernelRequestError(
                "The broker that takes messages to workers cannot be reached: try again, or run "
                "manage.py guest_kernel on the worker's host."
            ) from None
