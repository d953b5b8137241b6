"""The Celery application: JSON only, no results, one queue per host.

Messages are nudges: a worker claims the run by conditional update, so a message that is lost or
delivered twice does no harm (docs/decisions.md).
"""

import os
import socket
from pathlib import Path
from typing import Any

from celery import Celery
from django.conf import settings
from kombu.transport import TRANSPORT_ALIASES

from fsbench_web.platform import message_folder, private_files

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
# As all commands (fsbench_web.platform.commands): its worker would load every page before it
# begins.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

# What the address filesystem:// stands for in this process.
TRANSPORT_ALIASES["filesystem"] = "fsbench_web.platform.message_folder:Transport"

app = Celery("fsbench")
app.conf.update(
    broker_url=settings.CELERY_BROKER_URL,
    accept_content=["json"],
    task_serializer="json",
    task_ignore_result=True,
    task_create_missing_queues=True,
    task_default_queue="fsbench",
    worker_prefetch_multiplier=1,
    # Seconds that Celery's timer sleeps at most, which the end of a worker waits for.
    worker_timer_precision=0.2,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    # A broker may be away for a night: a worker that gave up would end the run it works on.
    broker_connection_max_retries=None,
    timezone=settings.TIME_ZONE,
)


# Seconds between two looks into the folder: within it a run starts and a health check is answered.
POLLING_S = 0.2


def _filesystem_transport(folder: Path) -> dict[str, Any]:
    """Options of ``message_folder``: one folder for messages, one for the control exchange."""
    queue, control = folder / "queue", folder / "control"
    for path in (queue, control):
        private_files.make_folder(path)
    message_folder.clear(queue)
    return {
        "data_folder_in": str(queue),
        "data_folder_out": str(queue),
        "control_folder": str(control),
        "polling_interval": POLLING_S,
    }


def _redis_transport(limit_s: int) -> dict[str, Any]:
    """Notice within seconds that the network to Redis is cut, though nobody says so (tcp(7))."""
    return {
        "socket_connect_timeout": limit_s,
        "socket_keepalive": True,
        "socket_keepalive_options": {
            socket.TCP_KEEPIDLE: limit_s,
            socket.TCP_KEEPINTVL: 2,
            socket.TCP_KEEPCNT: 3,
            socket.TCP_USER_TIMEOUT: limit_s * 1000,
        },
    }


if settings.CELERY_BROKER_URL.startswith(("redis:", "rediss:")):
    app.conf.broker_transport_options = _redis_transport(settings.NETWORK_LIMIT_S)
    # What happens to messages, for any monitor that listens (docs/operating.md). In a folder the
    # events would be files that nobody takes away.
    app.conf.worker_send_task_events = app.conf.task_send_sent_event = True
if settings.CELERY_BROKER_URL.startswith("filesystem:"):
    app.conf.broker_transport_options = _filesystem_transport(settings.DATA_DIR / "broker")
