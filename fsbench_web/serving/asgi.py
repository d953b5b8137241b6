"""The ASGI application: pages, the API and server-sent events in one process."""

import gc
import os

import django
from django.conf import settings
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")
database = settings.DATABASES["default"]
if database["ENGINE"] == "django.db.backends.postgresql":
    # Django's handler has a thread for each request: connections outlive threads in a pool.
    database["CONN_MAX_AGE"] = 0
    database["OPTIONS"]["pool"] = {"min_size": 1, "max_size": 24, "timeout": 10}
django.setup(set_prefix=False)

from django.urls import get_resolver  # noqa: E402 - models need Django

from fsbench_web.imports.upload_limit import BodyLimit  # noqa: E402
from fsbench_web.renderings import answers, reading  # noqa: E402
from fsbench_web.serving.turns import Handler  # noqa: E402

application = ProxyHeadersMiddleware(
    BodyLimit(Handler()),  # type: ignore[arg-type]
    settings.TRUSTED_PROXIES,
)
answers.start_renderer()
reading.start()
assert get_resolver().url_patterns  # loads the views
# 200,000 objects stay: looking through them for garbage took 5% of a comparison.
gc.collect()
gc.freeze()
gc.set_threshold(10_000)
