"""The project's settings with the tests' own data folder: no test touches ./data.

A process that a test starts inherits FSBENCH_TEST_DATA and so the same folder. Each process of
`pytest -n` has a folder of its own inside that of the whole run.
"""

import atexit
import os
import shutil
import tempfile

if "FSBENCH_TEST_DATA" not in os.environ:
    os.environ["FSBENCH_TEST_DATA"] = tempfile.mkdtemp(prefix="fsbench-test-")
    atexit.register(shutil.rmtree, os.environ["FSBENCH_TEST_DATA"], ignore_errors=True)
if os.environ.get("FSBENCH_TEST_PROCESS", "") != os.environ.get("PYTEST_XDIST_WORKER", ""):
    os.environ["FSBENCH_TEST_PROCESS"] = os.environ["PYTEST_XDIST_WORKER"]
    os.environ["FSBENCH_TEST_DATA"] = tempfile.mkdtemp(dir=os.environ["FSBENCH_TEST_DATA"])
os.environ["FSBENCH_DATA"] = os.environ["FSBENCH_TEST_DATA"]
# What a worker of a test installs is a test's to say.
os.environ.setdefault("FSBENCH_INSTALL", "no")
# Each run of a worker would make everything else of the tests read its files anew.
os.environ.setdefault("FSBENCH_DROP_CACHES", "False")

from fsbench_web.settings import *  # noqa: F403
from fsbench_web.settings import DATA_DIR, DATABASES, INSTALLED_APPS, STORAGES

INSTALLED_APPS = [*INSTALLED_APPS, "tests.flushing"]

# The plain names of static files, served from where they are: nothing to collect first.
STORAGES = STORAGES | {
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
# Tests call from one address, many times a minute; tests/api/protocol/test_limits.py sets limits.
API_CALLS_A_MINUTE = API_ANONYMOUS_CALLS_A_MINUTE = RENDERED_CALLS_A_MINUTE = 0
# Accounts of tests may do everything unless a test gives them a role (tests/test_rights.py).
DEFAULT_ROLE = "administrator"
# The production hash is slow by design.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, as in production, so that threads and processes of the tests meet SQLite's real
    # locks; an in-memory database has others.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}
