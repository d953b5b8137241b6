"""The ASGI application: pages, the API and server-sent events in one process."""

import gc
import os

from django.conf import settings

from fsbench_web.imports.upload_limit import BodyLimit
from fsbench_web.platform.http.proxies import TrustedProxies
from fsbench_web.renderings import answers, reading
from fsbench_web.serving import bursts, framing, slow_senders, thread_pools
from fsbench_web.serving.warm_up import load_all

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
# What is loaded from here on stays: looking through it again and again for garbage was an eighth of
# a start. ``load_all`` begins it again.
gc.disable()

application = slow_senders.ActiveRequestMiddleware(
    framing.FramingMiddleware(
        TrustedProxies(
            bursts.BurstMiddleware(BodyLimit(thread_pools.application())),
            settings.TRUSTED_PROXIES,
        )
    )
)
answers.start_renderer()
reading.start()
load_all()
