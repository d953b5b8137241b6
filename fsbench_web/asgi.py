"""The ASGI application: pages, the API and server-sent events in one process."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fsbench_web.settings")

application = get_asgi_application()
