"""Settings of fsbench. What a site may change comes from the environment (docs/settings.md)."""

import contextlib
import importlib.util
import logging
import os
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from fsbench_web.platform import env, log_lines, openid_settings, private_files, production

BASE_DIR = Path(__file__).resolve().parent.parent
# The documentation of this version, which the site shows at /guide/.
GUIDE_DIR = BASE_DIR / "docs"
DATA_DIR = env.folder("FSBENCH_DATA", BASE_DIR / "data")
DEBUG = env.flag("FSBENCH_DEBUG", False)
# "production" refuses what an installation for others must not start with
# (fsbench_web.platform.production).
IS_PRODUCTION = env.choice("FSBENCH_ENV", "local", ["local", "production"]) == "production"

SECRET_KEY = env.kept_key("FSBENCH_SECRET_KEY", DATA_DIR / "secret-key")
ALLOWED_HOSTS = env.hosts("FSBENCH_ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.origins("FSBENCH_TRUSTED_ORIGINS", all_of_them=False)

INSTALLED_APPS = [
    # Before Django's own: its changepassword and createsuperuser write into the audit log.
    "fsbench_web.accounts",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    # Whom a provider's subject stands for (accounts.people.identities).
    "allauth.account",
    "allauth.socialaccount",
    "fsbench_web.catalog",
    "fsbench_web.studies",
    "fsbench_web.compare",
    "fsbench_web.imports",
    "fsbench_web.operations",
    "fsbench_web.serving",
    "runner",
]

MIDDLEWARE = [
    "fsbench_web.operations.requests.log_requests",
    "django.middleware.security.SecurityMiddleware",
    "fsbench_web.platform.http.security.content_security_policy",
    "fsbench_web.platform.http.caching.closed",
    "fsbench_web.platform.http.static_files.StaticFiles",
    "fsbench_web.platform.http.compression.CompressedPages",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "fsbench_web.api.protocol.limits.limit_calls",
    "fsbench_web.accounts.gate.gate",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "fsbench_web.platform.http.error_pages.not_allowed",
    "fsbench_web.platform.http.error_pages.database_away",
]

ROOT_URLCONF = "fsbench_web.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "NAME": "django",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"units": "fsbench_web.studies.templatetags.units"},
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["django.template.loaders.filesystem.Loader"],
                )
            ],
        },
    }
]

DATABASES = {
    "default": env.database("DATABASE_URL", f"sqlite:///{DATA_DIR / 'fsbench.sqlite3'}"),
}
_IS_SQLITE = DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3"
private_files.close(DATA_DIR, Path(DATABASES["default"]["NAME"]) if _IS_SQLITE else None)
if _IS_SQLITE:
    # WAL lets pages read while a worker writes; IMMEDIATE takes the write lock at BEGIN, so that
    # two writers wait for each other (timeout, seconds) instead of failing in mid-transaction.
    # A connection is not kept: web requests run on many threads, and each would hold a file open.
    DATABASES["default"]["CONN_MAX_AGE"] = 0
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CELERY_BROKER_URL = env.url(
    "CELERY_BROKER_URL",
    "filesystem://",
    ["filesystem", "memory", "redis", "rediss", "redis+socket", "sentinel"],
)
# Seconds between a worker's heartbeats, and after how many it counts as silent.
WORKER_HEARTBEAT_S = env.integer("FSBENCH_WORKER_HEARTBEAT_S", 5, minimum=1, maximum=300)
WORKER_SILENT_AFTER_S = env.integer("FSBENCH_WORKER_SILENT_AFTER_S", 30, minimum=3, maximum=3600)
if WORKER_SILENT_AFTER_S < 3 * WORKER_HEARTBEAT_S:
    raise ImproperlyConfigured(
        "FSBENCH_WORKER_SILENT_AFTER_S must be at least three times FSBENCH_WORKER_HEARTBEAT_S."
    )
# A network that is cut says nothing: without these limits a worker would wait a quarter of an hour
# for an answer, long after its leases ran out. What DATABASE_URL itself says goes before.
NETWORK_LIMIT_S = max(2, min(10, WORKER_SILENT_AFTER_S // 3))
if DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    DATABASES["default"]["OPTIONS"] = {
        "connect_timeout": NETWORK_LIMIT_S,
        "tcp_user_timeout": NETWORK_LIMIT_S * 1000,
        "keepalives_idle": NETWORK_LIMIT_S,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        **DATABASES["default"].get("OPTIONS", {}),
    }

# What web processes count together: calls of the API. Redis is there where the broker is one.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "shared": env.cache("FSBENCH_CACHE_URL", CELERY_BROKER_URL),
}
# Calls of the API in a minute, of one account and of one address without an account; 0: any number.
API_CALLS_A_MINUTE = env.integer("FSBENCH_API_CALLS", 6000, minimum=0, maximum=10**9)
API_ANONYMOUS_CALLS_A_MINUTE = env.integer(
    "FSBENCH_API_ANONYMOUS_CALLS", 3000, minimum=0, maximum=10**9
)
# Reports, workbooks and pictures in a minute, of pages and API together; 0: any number.
RENDERED_CALLS_A_MINUTE = env.integer("FSBENCH_RENDERED_CALLS", 240, minimum=0, maximum=10**9)

# Days after which the log of an ended run is deleted; 0 keeps it. Never its numbers or raw output.
LOG_DAYS = env.integer("FSBENCH_LOG_DAYS", 0, minimum=0, maximum=36500)

# Uploads: refused while they arrive, not after (fsbench_web.imports).
MAX_UPLOAD_BYTES = env.integer("FSBENCH_MAX_UPLOAD_MB", 64, minimum=1, maximum=4096) * 1024 * 1024
# Uploads of one account that are not imported yet, which the database keeps for a day.
MOST_PREVIEWS = env.integer("FSBENCH_PREVIEWS", 20, minimum=1, maximum=10**6)
MOST_PREVIEW_BYTES = 4 * MAX_UPLOAD_BYTES

# Where files of uploads are while they arrive, and nothing else: `serve` takes away what a process
# that was killed left there.
FILE_UPLOAD_TEMP_DIR = DATA_DIR / "arriving"
with contextlib.suppress(OSError):  # it is there, or nothing can be written at all
    FILE_UPLOAD_TEMP_DIR.mkdir(mode=0o700)
    # Of whoever serves, also where root calls a command first.
    os.chown(FILE_UPLOAD_TEMP_DIR, DATA_DIR.stat().st_uid, DATA_DIR.stat().st_gid)

# A folder dropped on the upload page comes file by file, each with a descriptor while it is read.
DATA_UPLOAD_MAX_NUMBER_FILES = 500

AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# Who may do what is decided in accounts.rights.
ANONYMOUS_READING = env.flag("FSBENCH_ANONYMOUS_READING", True)
DEFAULT_ROLE = env.choice(
    "FSBENCH_DEFAULT_ROLE", "viewer", ["viewer", "contributor", "operator", "administrator"]
)
NEW_STUDY_VISIBILITY = env.choice("FSBENCH_NEW_STUDY_VISIBILITY", "public", ["public", "private"])
SESSION_COOKIE_AGE = env.integer("FSBENCH_SESSION_HOURS", 336, minimum=1, maximum=8760) * 3600
# OpenID Connect, if a provider is named; passwords can then be switched off (docs/people.md).
SIGN_ON = openid_settings.from_environment()
PASSWORD_SIGN_IN = env.flag("FSBENCH_PASSWORD_SIGN_IN", True)
if not PASSWORD_SIGN_IN and SIGN_ON is None:
    raise ImproperlyConfigured(
        "FSBENCH_PASSWORD_SIGN_IN=False leaves no way to sign in without FSBENCH_OIDC_ISSUER."
    )
LOGIN_URL = "accounts:sign_in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
# Plain HTTP on localhost is the default installation; behind TLS all of these go together.
HTTPS = env.flag("FSBENCH_HTTPS", IS_PRODUCTION)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
if HTTPS:
    # Browsers take cookies of this prefix from this host alone, with Secure and for all paths.
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
# uvicorn reads X-Forwarded-For and -Proto of these proxies alone (fsbench_web.serving.asgi).
# Django's own setting would believe the header of anybody.
TRUSTED_PROXIES = env.networks("FSBENCH_TRUSTED_PROXIES", ["127.0.0.1", "::1"])
SECURE_PROXY_SSL_HEADER = None
SECURE_HSTS_SECONDS = 30 * 24 * 3600 if HTTPS else 0
# Health checks come from the machine itself, not through the proxy that does TLS.
SECURE_REDIRECT_EXEMPT = [r"^api/v1/health(/live|/ready)?$"]
# Whether other hosts of the domain are HTTPS only is not ours to say (W005, W021). SQLite ignores
# the further columns of an index, which PostgreSQL reads instead of the table (W040).
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021", "models.W040"]
X_FRAME_OPTIONS = "DENY"
# The sites that may show the embedded view of a permalink in a frame; no other page is framed.
EMBED_ORIGINS = env.origins("FSBENCH_EMBED_ORIGINS")
SECURE_REFERRER_POLICY = "same-origin"

# How watches reach people (fsbench_web.compare.watches.deliveries).
_EMAIL = env.email("FSBENCH_EMAIL_URL", timeout_s=10)
globals().update(_EMAIL)
SENDS_EMAIL = not _EMAIL["EMAIL_BACKEND"].endswith("dummy.EmailBackend")
DEFAULT_FROM_EMAIL = env.sender("FSBENCH_EMAIL_FROM", "fsbench@localhost")
# Whether webhooks may go to addresses that only this machine or its network reaches.
WEBHOOK_PRIVATE = env.flag("FSBENCH_WEBHOOK_PRIVATE", False)

LANGUAGE_CODE = "en-gb"
TIME_ZONE = env.time_zone("FSBENCH_TIME_ZONE", "UTC")
USE_TZ = True
USE_I18N = False

STATIC_URL = "static/"
# Swagger UI of the API's page. As an app, django-ninja would be loaded by every process.
_NINJA = importlib.util.find_spec("ninja")
assert _NINJA is not None
assert _NINJA.origin is not None
STATICFILES_DIRS = [BASE_DIR / "static", Path(_NINJA.origin).parent / "static"]
# The image brings them collected; elsewhere `manage.py serve` does that at its start.
STATIC_ROOT = Path(env.text("FSBENCH_STATIC", str(DATA_DIR / "static")))
# Hashed names let browsers keep the files for ever; `make run` and the image collect them first.
STORAGES = {
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

# Lines for people, or one JSON object each for a collector; both without these secrets.
LOG_FORMAT = env.choice("FSBENCH_LOG_FORMAT", "text", ["text", "json"])
if LOG_FORMAT == "json":
    logging.captureWarnings(True)  # they would be lines of another form
# Who shows it reads /metrics without an account; unset: administrators alone.
METRICS_TOKEN = env.secret("FSBENCH_METRICS_TOKEN", minimum=16)
LOGGING = log_lines.configuration(
    LOG_FORMAT,
    log_lines.secrets_of(
        SECRET_KEY,
        METRICS_TOKEN,
        SIGN_ON.secret if SIGN_ON else None,
        DATABASES["default"].get("PASSWORD"),
        urlsplit(CELERY_BROKER_URL).password,
        urlsplit(env.text("FSBENCH_CACHE_URL", "")).password,
        _EMAIL.get("EMAIL_HOST_PASSWORD"),
    ),
)

if IS_PRODUCTION:
    _wrong = production.problems(
        environment=os.environ,
        is_debug=DEBUG,
        allowed_hosts=ALLOWED_HOSTS,
        database=DATABASES["default"],
        broker_url=CELERY_BROKER_URL,
    )
    if _wrong:
        raise ImproperlyConfigured(
            f"Not fit for FSBENCH_ENV=production: {' '.join(_wrong)} "
            "Make new secrets with openssl rand -hex 32."
        )
