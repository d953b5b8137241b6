"""Who may do what at every address. An address that is in no table here fails the test."""

import html
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from fsbench_web.accounts import rights, tokens
from fsbench_web.accounts.models import LunGrant, Role, Team, Visibility
from fsbench_web.accounts.requirements import action_of
from fsbench_web.api import main
from fsbench_web.api.main import api
from fsbench_web.catalog.models import Environment, HardwareProfile, Lun, OwnWorkload, Worker
from fsbench_web.catalog.workers.announce import announce
from fsbench_web.compare.models import LineEvent, Watch, WatchMessage
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.profiles.records import create
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.watches import watching
from fsbench_web.core.scoring.profiles.presets import LATEST
from fsbench_web.imports.models import Import
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.imports.sources import Target, unpack
from fsbench_web.imports.uploads import store_upload
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Job, Run, RunState, Study, Trigger, TriggerOrder
from tests.accounts.people import ROLES, person
from tests.importing import import_files
from tests.studies.conftest import worker_announcement

pytestmark = pytest.mark.django_db
TABLE = b"test,record_size_kb,file_size_kb,value,unit\nwrite,4,64,%d,KB/s\n"
TARGET = Target("Lab", "ext4", "ext4")

# (address, status for anybody); {} is filled from ``ids`` below.
READ_BY_ALL = {
    "": ("", 200),
    "favicon.ico": ("favicon.ico", 302),
    "glossary/": ("glossary/", 200),
    "words/": ("words/", 301),
    "^sweeps/(?P<rest>[0-9a-z/.]*)$": ("sweeps/", 301),
    r"^studies/(?P<slug>[-\w]+)/beside/(?P<rest>[-\w/.]*)$": (
        "studies/lab/beside/galli-2001/",
        301,
    ),
    "guide/": ("guide/", 200),
    "guide/<slug:name>/": ("guide/operating/", 200),
    "guide/images/<str:name>": ("guide/images/unisys-2005.png", 200),
    "studies/": ("studies/", 200),
    "studies/<slug:slug>/": ("studies/lab/", 200),
    "studies/<slug:slug>/tests/": ("studies/lab/tests/?of=write", 200),
    "studies/<slug:slug>/report/": ("studies/lab/report/", 200),
    "studies/<slug:slug>/report.pdf": ("studies/lab/report.pdf", 301),
    "studies/<slug:slug>/matrix/": ("studies/lab/matrix/", 200),
    "studies/<slug:slug>/papers/<slug:paper>/": ("studies/lab/papers/unisys-2005/", 200),
    "studies/<slug:slug>/papers/<slug:paper>/tables.<str:suffix>": (
        "studies/lab/papers/unisys-2005/tables.csv",
        200,
    ),
    "runs/": ("runs/", 200),
    "runs/<int:run_id>/": ("runs/{run}/", 200),
    "runs/<int:run_id>/artefacts/<int:artefact_id>/": ("runs/{run}/artefacts/{artefact}/", 200),
    "runs/<int:run_id>/artefacts/<int:artefact_id>/lines/": (
        "runs/{run}/artefacts/{artefact}/lines/",
        200,
    ),
    "luns/<int:lun_id>/": ("luns/{lun}/", 200),
    "compare/runs/": ("compare/runs/?run={run}", 200),
    "compare/why/": ("compare/why/", 404),  # without a test
    "jobs/": ("jobs/", 200),
    "jobs/<int:job_id>/": ("jobs/{job}/", 200),
    "jobs/<int:job_id>/document.yaml": ("jobs/{job}/document.yaml", 200),
    "search/": ("search/?q=ext4", 200),
    "history/": ("history/?study=lab", 200),
    "workers/": ("workers/", 200),
    "workers/<slug:name>/": ("workers/{worker}/", 200),
    "luns/": ("luns/", 200),
    "workloads/": ("workloads/", 200),
    "workloads/<int:workload_id>/": ("workloads/{own_workload}/", 200),
    "hardware/": ("hardware/", 200),
    "hardware/<slug:slug>/": ("hardware/unisys-2005-es7000/", 200),
    "compare/": ("compare/?study=lab", 200),
    "compare/tests/": ("compare/tests/?study=lab&of=write", 200),
    "compare/deltas.<str:suffix>": ("compare/deltas.xlsx?study=lab", 200),
    "compare/export/": ("compare/export/?study=lab", 200),
    "profiles/": ("profiles/", 200),
    "profiles/<slug:slug>/": ("profiles/{profile}/", 200),
    "profiles/<slug:slug>/<int:version>/": ("profiles/oltp/1/", 200),
    "api/v1/profiles": ("api/v1/profiles", 200),
    "api/v1/profiles/<str:name>": ("api/v1/profiles/{profile}", 200),
    "compare/pictures/": ("compare/pictures/?study=lab", 200),
    "compare/image.<str:suffix>": ("compare/image.svg?study=lab", 200),
    "compare/slide/": ("compare/slide/?study=lab", 301),
    "compare/slide.<str:suffix>": ("compare/slide.svg?study=lab", 301),
    "p/<slug:key>/slide/": ("p/{key}/slide/", 301),
    "p/<slug:key>/slide.<str:suffix>": ("p/{key}/slide.svg", 301),
    "compare/pictures.csv": ("compare/pictures.csv?study=lab", 200),
    "compare/cells/<path:test>/": ("compare/cells/write/?study=lab", 200),
    "compare/charts/<path:test>/": ("compare/charts/write/?study=lab", 200),
    "p/<slug:key>/": ("p/{key}/", 200),
    "p/<slug:key>/deltas.<str:suffix>": ("p/{key}/deltas.csv", 200),
    "p/<slug:key>/export/": ("p/{key}/export/", 200),
    "p/<slug:key>/charts/<path:test>/": ("p/{key}/charts/write/", 200),
    "p/<slug:key>/snapshot.json": ("p/{key}/snapshot.json", 200),
    "p/<slug:key>/image.<str:suffix>": ("p/{key}/image.png", 200),
    "p/<slug:key>/picture.<str:suffix>": ("p/{key}/picture.png", 301),
    "p/<slug:key>/embed/": ("p/{key}/embed/", 200),
    "account/sign-in/": ("account/sign-in/", 200),
    # No sign-in service is set up here (tests/accounts/sign_in/test_oidc.py).
    "account/sign-in/service/": ("account/sign-in/service/", 404),
    "account/sign-in/service/callback/": ("account/sign-in/service/callback/", 404),
    "api/v1/openapi.json": ("api/v1/openapi.json", 200),
    "api/v1/docs": ("api/v1/docs", 200),
    "api/v1/health": ("api/v1/health", 503),
    "api/v1/health/live": ("api/v1/health/live", 200),
    "api/v1/health/ready": ("api/v1/health/ready", 200),
    "metrics": ("metrics", 401),  # its own token (tests/operations)
    "api/v1/studies": ("api/v1/studies", 200),
    "api/v1/studies/<str:slug>": ("api/v1/studies/lab", 200),
    "api/v1/deltas": ("api/v1/deltas?study=lab", 200),
    "api/v1/deltas.csv": ("api/v1/deltas.csv?study=lab", 200),
    "api/v1/runs/<int:run_id>": ("api/v1/runs/{run}", 200),
    "api/v1/runs/<int:run_id>/log": ("api/v1/runs/{run}/log", 200),
    "api/v1/jobs/<int:job_id>": ("api/v1/jobs/{job}", 200),
    "api/v1/sweeps/<int:job_id>": ("api/v1/sweeps/{job}", 200),
    "api/v1/workers": ("api/v1/workers", 200),
    "api/v1/search": ("api/v1/search?q=ext4", 200),
    "api/v1/workloads": ("api/v1/workloads", 200),
    "api/v1/studies/<slug:slug>/report.pdf": ("api/v1/studies/lab/report.pdf", 410),
    "api/v1/series": ("api/v1/series?study=lab", 200),
    "api/v1/series/<int:series_id>": ("api/v1/series/{series}", 200),
    "api/v1/comparison": ("api/v1/comparison?study=lab", 200),
    "api/v1/findings": ("api/v1/findings?study=lab", 200),
    "api/v1/exports/deltas.<str:suffix>": ("api/v1/exports/deltas.json?study=lab", 200),
    "api/v1/studies/<str:slug>/<table>.<suffix>": (
        "api/v1/studies/lab/measurements.parquet",
        200,
    ),
    "api/v1/studies/<str:slug>/sealed.zip": ("api/v1/studies/lab/sealed.zip", 200),
    "api/v1/keys": ("api/v1/keys", 200),
    "api/v1/exports/pictures.csv": ("api/v1/exports/pictures.csv?study=lab", 200),
    "api/v1/history": ("api/v1/history?series={series}", 200),
    "api/v1/history/lines": ("api/v1/history/lines?study=lab", 200),
    "api/v1/permalinks/<slug:key>": ("api/v1/permalinks/{key}", 200),
    "api/v1/permalinks/<slug:key>/snapshot": ("api/v1/permalinks/{key}/snapshot", 200),
    "api/v1/permalinks/<slug:key>/deltas.<str:suffix>": (
        "api/v1/permalinks/{key}/deltas.md",
        200,
    ),
    "api/v1/runs/<int:run_id>/artefacts": ("api/v1/runs/{run}/artefacts", 200),
    "api/v1/runs/<int:run_id>/artefacts/<int:artefact_id>": (
        "api/v1/runs/{run}/artefacts/{artefact}",
        200,
    ),
    "api/v1/runs/<int:run_id>/measurements": ("api/v1/runs/{run}/measurements", 200),
    "api/v1/runs/<int:run_id>/environment": ("api/v1/runs/{run}/environment", 200),
    "api/v1/runs/<int:run_id>/activity": ("api/v1/runs/{run}/activity", 404),
    "api/v1/runs/<int:run_id>/trace/<slug:tracer>/latency.csv": (
        "api/v1/runs/{run}/trace/requests/latency.csv",
        404,
    ),
    "api/v1/runs/<int:run_id>/trace/<slug:tracer>/map.csv": (
        "api/v1/runs/{run}/trace/requests/map.csv",
        404,
    ),
    "api/v1/runs/<int:run_id>/trace/<slug:tracer>/summary.csv": (
        "api/v1/runs/{run}/trace/operations/summary.csv",
        404,
    ),
    "api/v1/runs/<int:run_id>/activity.csv": ("api/v1/runs/{run}/activity.csv", 404),
    "api/v1/runs/<int:run_id>/latencies": ("api/v1/runs/{run}/latencies", 200),
    "api/v1/explanations": (
        "api/v1/explanations?series={series}&series={series}&test=write&category=maximum",
        404,
    ),
    "api/v1/luns/<int:lun_id>/ledger": ("api/v1/luns/{lun}/ledger", 200),
    "api/v1/workers/<slug:name>": ("api/v1/workers/{worker}", 200),
    "api/v1/imports/<int:import_id>": ("api/v1/imports/{result}", 200),
    "api/v1/luns": ("api/v1/luns", 200),
    "api/v1/hardware": ("api/v1/hardware", 200),
    "api/v1/hardware/<slug:slug>": ("api/v1/hardware/unisys-2005-es7000", 200),
    "api/v1/filesystems": ("api/v1/filesystems", 200),
    "api/v1/configurations": ("api/v1/configurations", 200),
    "api/v1/own-workloads/<int:workload_id>": ("api/v1/own-workloads/{own_workload}", 200),
}
# Pages of a signed-in user: anybody else is sent to sign in.
SIGNED_IN = {
    "runs/new/": "runs/new/",
    "runs/new/blocks/": "runs/new/blocks/",
    "runs/new/continue/": "runs/new/continue/",
    "compare/order/": "compare/order/?study=lab&profile=oltp",
    "profiles/new/": "profiles/new/",
    "profiles/read/": "profiles/read/",
    "profiles/<slug:slug>/edit/": "profiles/{profile}/edit/",
    "runs/new/possible/": "runs/new/possible/",
    "runs/new/review/": "runs/new/review/",
    "studies/<slug:slug>/reproduce/": "studies/unisys-2005/reproduce/",
    "runs/new/document/": "runs/new/document/",
    "imports/new/": "imports/new/",
    "imports/<int:import_id>/files/<int:file_id>/columns/": (
        "imports/{upload}/files/{file}/columns/"
    ),
    "imports/reread/<int:artefact_id>/": "imports/reread/{artefact}/",
    "account/": "account/",
    "account/email/<str:signed>/": "account/email/x/",
    "watches/": "watches/",
    "watches/new/": "watches/new/?{line}",
    "watches/<int:watch_id>/": "watches/{watch}/",
    "watches/<int:watch_id>/delete/": "watches/{watch}/delete/",
    "triggers/": "triggers/",
    "triggers/new/": "triggers/new/?job={job}",
    "triggers/<int:trigger_id>/": "triggers/{trigger}/",
    "triggers/<int:trigger_id>/edit/": "triggers/{trigger}/edit/",
    "operations/": "operations/",
    "studies/<slug:slug>/access/": "studies/lab/access/",
    "people/": "people/",
    "people/<int:user_id>/": "people/{user}/",
    "people/teams/<int:team_id>/": "people/teams/{team}/",
    "audit/": "audit/",
    "workloads/new/": "workloads/new/",
    "p/": "p/",
    "p/<slug:key>/edit/": "p/{key}/edit/",
    "p/<slug:key>/delete/": "p/{key}/delete/",
}
# Forms: POST alone; anybody else is sent to sign in, and nothing has happened.
POSTS = {
    "runs/<int:run_id>/cancel/": "runs/{queued}/cancel/",
    "runs/<int:run_id>/retry/": "runs/{queued}/retry/",
    "jobs/<int:job_id>/cancel/": "jobs/{job}/cancel/",
    "jobs/<int:job_id>/pause/": "jobs/{job}/pause/",
    "jobs/<int:job_id>/resume/": "jobs/{job}/resume/",
    "jobs/<int:job_id>/priority/": "jobs/{job}/priority/",
    "jobs/<int:job_id>/retry/": "jobs/{job}/retry/",
    "workers/<slug:name>/drain/": "workers/{worker}/drain/",
    "workers/<slug:name>/resume/": "workers/{worker}/resume/",
    "workers/<slug:name>/guest-kernel/": "workers/{worker}/guest-kernel/",
    "hardware/<slug:slug>/device-rate/": "hardware/unisys-2005-es7000/device-rate/",
    "hardware/<slug:slug>/price/": "hardware/unisys-2005-es7000/price/",
    "workloads/<int:workload_id>/withdraw/": "workloads/{own_workload}/withdraw/",
    "imports/<int:import_id>/check/": "imports/{upload}/check/",
    "imports/<int:import_id>/commit/": "imports/{upload}/commit/",
    "imports/<int:import_id>/discard/": "imports/{upload}/discard/",
    "compare/pin/": "compare/pin/",
    "p/<slug:key>/withdraw/": "p/{key}/withdraw/",
    "watches/<int:watch_id>/test/": "watches/{watch}/test/",
    "watches/<int:watch_id>/pause/": "watches/{watch}/pause/",
    "watches/<int:watch_id>/resume/": "watches/{watch}/resume/",
    "watches/<int:watch_id>/confirmation/": "watches/{watch}/confirmation/",
    "watches/changes/": "watches/changes/",
    "history/events/": "history/events/?series={series}",
    "history/events/<int:event_id>/delete/": "history/events/{event}/delete/",
    **{
        f"triggers/<int:trigger_id>/{part}/": f"triggers/{{trigger}}/{part}/"
        for part in ("pause", "resume", "delete", "order", "token")
    },
    "people/teams/": "people/teams/",
    "people/<int:user_id>/password/": "people/{user}/password/",
    "people/<int:user_id>/identities/": "people/{user}/identities/",
    "people/<int:user_id>/identities/<int:identity_id>/unlink/": (
        "people/{user}/identities/{identity}/unlink/"
    ),
    "account/password/": "account/password/",
    "account/email/": "account/email/",
    "account/tokens/": "account/tokens/",
    "account/tokens/<int:token_id>/revoke/": "account/tokens/{token}/revoke/",
}
API_WRITES = {
    "api/v1/imports": "api/v1/imports",
    "api/v1/runs": "api/v1/runs",  # GET is open
    "api/v1/runs/<int:run_id>/cancel": "api/v1/runs/{queued}/cancel",
    "api/v1/jobs": "api/v1/jobs",  # GET is open
    "api/v1/sweeps": "api/v1/sweeps",  # GET is open
    "api/v1/jobs/preview": "api/v1/jobs/preview",
    "api/v1/sweeps/preview": "api/v1/sweeps/preview",
    "api/v1/jobs/<int:job_id>/cancel": "api/v1/jobs/{job}/cancel",
    "api/v1/sweeps/<int:job_id>/cancel": "api/v1/sweeps/{job}/cancel",
    "api/v1/jobs/<int:job_id>/pause": "api/v1/jobs/{job}/pause",
    "api/v1/sweeps/<int:job_id>/pause": "api/v1/sweeps/{job}/pause",
    "api/v1/jobs/<int:job_id>/resume": "api/v1/jobs/{job}/resume",
    "api/v1/sweeps/<int:job_id>/resume": "api/v1/sweeps/{job}/resume",
    "api/v1/jobs/<int:job_id>/priority": "api/v1/jobs/{job}/priority",
    "api/v1/sweeps/<int:job_id>/priority": "api/v1/sweeps/{job}/priority",
    "api/v1/jobs/<int:job_id>/retry": "api/v1/jobs/{job}/retry",
    "api/v1/sweeps/<int:job_id>/retry": "api/v1/sweeps/{job}/retry",
    "api/v1/workers/<name>/drain": "api/v1/workers/{worker}/drain",
    "api/v1/workers/<name>/resume": "api/v1/workers/{worker}/resume",
}
# Calls of the API that need an account even to read, or that are not GET or POST: (method, address,
# role). With the addresses above, every call of the description is in one table.
API_CALLS: dict[tuple[str, str], tuple[str, Role]] = {
    ("get", "api/v1/me"): ("api/v1/me", Role.VIEWER),
    ("get", "api/v1/me/tokens"): ("api/v1/me/tokens", Role.VIEWER),
    ("post", "api/v1/me/tokens"): ("api/v1/me/tokens", Role.VIEWER),
    ("delete", "api/v1/me/tokens/<int:token_id>"): ("api/v1/me/tokens/{token}", Role.VIEWER),
    ("post", "api/v1/studies"): ("api/v1/studies", Role.CONTRIBUTOR),
    ("get", "api/v1/studies/<slug:slug>/access"): ("api/v1/studies/lab/access", Role.CONTRIBUTOR),
    ("patch", "api/v1/studies/<slug:slug>/access"): (
        "api/v1/studies/lab/access",
        Role.CONTRIBUTOR,
    ),
    ("get", "api/v1/permalinks"): ("api/v1/permalinks", Role.VIEWER),
    ("post", "api/v1/permalinks"): ("api/v1/permalinks", Role.CONTRIBUTOR),
    ("patch", "api/v1/permalinks/<slug:key>"): ("api/v1/permalinks/{key}", Role.CONTRIBUTOR),
    ("post", "api/v1/permalinks/<slug:key>/withdraw"): (
        "api/v1/permalinks/{key}/withdraw",
        Role.VIEWER,
    ),
    ("delete", "api/v1/permalinks/<slug:key>"): ("api/v1/permalinks/{key}", Role.VIEWER),
    ("post", "api/v1/profiles"): ("api/v1/profiles", Role.CONTRIBUTOR),
    ("post", "api/v1/profiles/<slug:name>/versions"): (
        "api/v1/profiles/{profile}/versions",
        Role.CONTRIBUTOR,
    ),
    ("get", "api/v1/watches"): ("api/v1/watches", Role.VIEWER),
    ("post", "api/v1/watches"): ("api/v1/watches", Role.VIEWER),
    ("get", "api/v1/watches/<int:watch_id>"): ("api/v1/watches/{watch}", Role.VIEWER),
    ("delete", "api/v1/watches/<int:watch_id>"): ("api/v1/watches/{watch}", Role.VIEWER),
    ("put", "api/v1/watches/<int:watch_id>/confirmation"): (
        "api/v1/watches/{watch}/confirmation",
        Role.OPERATOR,
    ),
    ("patch", "api/v1/watches/<int:watch_id>/changes/<int:message_id>"): (
        "api/v1/watches/{watch}/changes/1",
        Role.VIEWER,
    ),
    ("post", "api/v1/watches/<int:watch_id>/pause"): ("api/v1/watches/{watch}/pause", Role.VIEWER),
    ("post", "api/v1/watches/<int:watch_id>/resume"): (
        "api/v1/watches/{watch}/resume",
        Role.VIEWER,
    ),
    ("post", "api/v1/watches/<int:watch_id>/test"): ("api/v1/watches/{watch}/test", Role.VIEWER),
    ("get", "api/v1/triggers"): ("api/v1/triggers", Role.VIEWER),
    ("post", "api/v1/triggers"): ("api/v1/triggers", Role.OPERATOR),
    ("get", "api/v1/triggers/<int:trigger_id>"): ("api/v1/triggers/{trigger}", Role.VIEWER),
    ("put", "api/v1/triggers/<int:trigger_id>"): ("api/v1/triggers/{trigger}", Role.OPERATOR),
    ("delete", "api/v1/triggers/<int:trigger_id>"): ("api/v1/triggers/{trigger}", Role.OPERATOR),
    **{
        ("post", f"api/v1/triggers/<int:trigger_id>/{action}"): (
            f"api/v1/triggers/{{trigger}}/{action}",
            Role.OPERATOR,
        )
        for action in ("pause", "resume")
    },
    # By its own token, of another scope (tests/api/runs/test_triggers.py).
    ("post", "api/v1/triggers/<int:trigger_id>/fire"): (
        "api/v1/triggers/{trigger}/fire",
        Role.VIEWER,
    ),
    ("get", "api/v1/imports"): ("api/v1/imports", Role.VIEWER),
    ("post", "api/v1/imports/previews"): ("api/v1/imports/previews", Role.CONTRIBUTOR),
    ("patch", "api/v1/imports/<int:import_id>"): ("api/v1/imports/{upload}", Role.CONTRIBUTOR),
    ("delete", "api/v1/imports/<int:import_id>"): ("api/v1/imports/{upload}", Role.CONTRIBUTOR),
    ("post", "api/v1/imports/<int:import_id>/commit"): (
        "api/v1/imports/{upload}/commit",
        Role.CONTRIBUTOR,
    ),
    ("put", "api/v1/imports/<int:import_id>/files/<int:file_id>/columns"): (
        "api/v1/imports/{upload}/files/{file}/columns",
        Role.CONTRIBUTOR,
    ),
    ("get", "api/v1/artefacts/<int:artefact_id>/reread"): (
        "api/v1/artefacts/{artefact}/reread",
        Role.CONTRIBUTOR,
    ),
    ("post", "api/v1/artefacts/<int:artefact_id>/reread"): (
        "api/v1/artefacts/{artefact}/reread",
        Role.CONTRIBUTOR,
    ),
    ("post", "api/v1/runs/<int:run_id>/retry"): ("api/v1/runs/{queued}/retry", Role.OPERATOR),
    ("put", "api/v1/hardware/<slug:slug>/device-rate"): (
        "api/v1/hardware/unisys-2005-es7000/device-rate",
        Role.ADMINISTRATOR,
    ),
    ("put", "api/v1/hardware/<slug:slug>/price"): (
        "api/v1/hardware/unisys-2005-es7000/price",
        Role.ADMINISTRATOR,
    ),
    ("post", "api/v1/own-workloads"): ("api/v1/own-workloads", Role.OPERATOR),
    ("post", "api/v1/own-workloads/<int:workload_id>/withdraw"): (
        "api/v1/own-workloads/{own_workload}/withdraw",
        Role.ADMINISTRATOR,
    ),
    ("get", "api/v1/people"): ("api/v1/people", Role.ADMINISTRATOR),
    ("post", "api/v1/people"): ("api/v1/people", Role.ADMINISTRATOR),
    ("get", "api/v1/people/<int:user_id>"): ("api/v1/people/{user}", Role.ADMINISTRATOR),
    ("patch", "api/v1/people/<int:user_id>"): ("api/v1/people/{user}", Role.ADMINISTRATOR),
    ("post", "api/v1/people/<int:user_id>/password"): (
        "api/v1/people/{user}/password",
        Role.ADMINISTRATOR,
    ),
    ("get", "api/v1/teams"): ("api/v1/teams", Role.ADMINISTRATOR),
    ("post", "api/v1/teams"): ("api/v1/teams", Role.ADMINISTRATOR),
    ("get", "api/v1/teams/<int:team_id>"): ("api/v1/teams/{team}", Role.ADMINISTRATOR),
    ("patch", "api/v1/teams/<int:team_id>"): ("api/v1/teams/{team}", Role.ADMINISTRATOR),
    ("get", "api/v1/audit"): ("api/v1/audit", Role.ADMINISTRATOR),
}
READ_BY_ALL["api/v1/own-workloads"] = ("api/v1/own-workloads", 200)
# What an address needs beyond reading, written down a second time: a rule that changes by mistake
# fails here, and so does an address that nobody thought about.
NEEDS: dict[str, Role] = {
    **dict.fromkeys(
        [
            *(
                "runs/new/",
                "runs/new/blocks/",
                "runs/new/continue/",
                "compare/order/",
                "runs/new/possible/",
                "runs/new/review/",
                "runs/new/document/",
                "api/v1/jobs/preview",
                "api/v1/sweeps/preview",
            ),
            "studies/<slug:slug>/reproduce/",
        ],
        Role.OPERATOR,
    ),
    **{address: Role.OPERATOR for address in [*POSTS, *API_WRITES] if "runs/" in address},
    **{
        address: Role.OPERATOR
        for address in [*POSTS, *API_WRITES]
        if "jobs/" in address or "sweeps/" in address
    },
    **{address: Role.ADMINISTRATOR for address in [*POSTS, *API_WRITES] if "workers/" in address},
    **{address: Role.CONTRIBUTOR for address in [*POSTS, *SIGNED_IN] if "imports/" in address},
    "compare/pin/": Role.CONTRIBUTOR,
    **{address: Role.CONTRIBUTOR for address in SIGNED_IN if "profiles/" in address},
    "p/<slug:key>/edit/": Role.CONTRIBUTOR,
    # Also of an author who became a viewer; of others only administrators (test_withdrawing.py).
    "p/<slug:key>/withdraw/": Role.VIEWER,
    "p/<slug:key>/delete/": Role.VIEWER,
    "studies/<slug:slug>/access/": Role.CONTRIBUTOR,
    "history/events/": Role.CONTRIBUTOR,
    "history/events/<int:event_id>/delete/": Role.CONTRIBUTOR,
    "people/": Role.ADMINISTRATOR,
    "people/<int:user_id>/": Role.ADMINISTRATOR,
    "people/teams/": Role.ADMINISTRATOR,
    "people/<int:user_id>/password/": Role.ADMINISTRATOR,
    "people/<int:user_id>/identities/": Role.ADMINISTRATOR,
    "people/<int:user_id>/identities/<int:identity_id>/unlink/": Role.ADMINISTRATOR,
    "people/teams/<int:team_id>/": Role.ADMINISTRATOR,
    "audit/": Role.ADMINISTRATOR,
    "operations/": Role.ADMINISTRATOR,
    "hardware/<slug:slug>/device-rate/": Role.ADMINISTRATOR,
    "hardware/<slug:slug>/price/": Role.ADMINISTRATOR,
    "workloads/new/": Role.OPERATOR,
    "workloads/<int:workload_id>/withdraw/": Role.ADMINISTRATOR,
    **{address: Role.VIEWER for address in [*POSTS, *SIGNED_IN] if "watches/" in address},
    "watches/<int:watch_id>/confirmation/": Role.OPERATOR,
    **{address: Role.OPERATOR for address in [*POSTS, *SIGNED_IN] if "triggers/" in address},
    **dict.fromkeys(
        [
            *("triggers/", "triggers/<int:trigger_id>/"),
            *("triggers/<int:trigger_id>/pause/", "triggers/<int:trigger_id>/delete/"),
        ],
        Role.VIEWER,
    ),
    "p/": Role.VIEWER,
    "account/": Role.VIEWER,
    "account/password/": Role.VIEWER,
    "account/email/": Role.VIEWER,
    "account/email/<str:signed>/": Role.VIEWER,
    "account/tokens/": Role.VIEWER,
    "account/tokens/<int:token_id>/revoke/": Role.VIEWER,
}
# The same address reads and writes: what a POST needs.
POST_NEEDS = {
    "api/v1/imports": Role.CONTRIBUTOR,
    "api/v1/runs": Role.OPERATOR,
    "api/v1/jobs": Role.OPERATOR,
    "api/v1/sweeps": Role.OPERATOR,
    "api/v1/studies": Role.CONTRIBUTOR,
    "api/v1/own-workloads": Role.OPERATOR,
}
OTHER = {
    "imports/<int:import_id>/",  # a preview: of who uploaded; a result: everybody's. See below.
    "runs/<int:run_id>/events/",  # open; it reads on other threads (tests/studies)
    "account/sign-out/",  # ends the caller's own session, if there is one
    "api/v1/",  # leads to the documentation
}


def views(resolver: URLResolver, before: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every address and the view that it leads to."""
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from views(entry, before + str(entry.pattern))
        elif isinstance(entry, URLPattern):
            yield before + str(entry.pattern), entry.callback


@pytest.mark.same_on_any_database
def test_every_address_is_in_one_table() -> None:
    addresses = [*READ_BY_ALL, *SIGNED_IN, *POSTS, *API_WRITES, *OTHER]
    assert len(addresses) == len(set(addresses))
    of_calls = {address for _, address in API_CALLS}
    assert {address for address, _ in views(get_resolver())} == {*addresses, *of_calls}


@pytest.fixture(scope="module")
def everything(module_db: None) -> dict[str, object]:
    return one_of_everything(User.objects.create_user("ada"))


@pytest.fixture
def ids(everything: dict[str, object]) -> dict[str, object]:
    """``one_of_everything``, whose worker was heard of just now, however long the others took."""
    announce(worker_announcement())
    return everything


@pytest.fixture
def ada(ids: dict[str, object]) -> User:
    return User.objects.get(pk=ids["user"])


def one_of_everything(ada: User) -> dict[str, object]:
    """All of it Ada's: what an address's ``{}`` are filled with."""
    call_command("load_published", verbosity=0)
    fields = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}
    result = import_files([("a.csv", TABLE % 1)], **fields, user=ada)
    run = Run.objects.get(pk=result.runs[0])
    queued = Run.objects.create(
        series=run.series, repeat=9, origin=Run.Origin.MEASURED, state=RunState.QUEUED
    )
    announce(worker_announcement())
    lun = Lun.objects.select_related("worker").get(name="disk1")
    submitted = submit(
        JobSpec(
            lun_id=lun.pk,
            configurations=(ConfigurationSpec("ext4", {}, "none"),),
            workload="iozone-small",
            new_study="Submitted",
        ),
        "disk1",
        ada,
    )
    upload = store_upload(unpack([("b.csv", io.BytesIO(TABLE % 2))]), TARGET, ada)
    watch = watching.watch(
        ada,
        run.series,
        test="write",
        category="maximum",
        along="kernel",
        margin_percent=10,
        email="ada@example.org",
        webhook_url="",
        site="https://fsbench.example",
    )
    trigger = Trigger.objects.create(
        user=ada, title="Nightly", document=submitted[0].job.document, zone="UTC"
    )
    event = LineEvent.objects.create(study=run.series.study, day="2026-03-01", text="Firmware")
    return {
        "watch": watch.pk,
        "event": event.pk,
        "trigger": trigger.pk,
        "profile": create(replace(LATEST["mail"], title="Post"), ada).profile.slug,
        "line": f"series={run.series_id}&test=write&category=maximum&along=date&margin=10",
        "job": submitted[0].job_id,
        "worker": lun.worker.name,
        "lun": lun.pk,
        "run": run.pk,
        "series": run.series_id,
        "artefact": run.artefacts.get().pk,
        "queued": queued.pk,
        "own_workload": OwnWorkload.objects.create(
            slug="own", version=1, title="Own", kind="fio", text="[a]\nrw=read\n", space_mb=1
        ).pk,
        "key": records.pin(ComparisonSpec(studies=("lab",)), ada).key,
        "upload": upload.pk,
        "file": upload.files.get().pk,
        "result": result.id,
        "token": tokens.create(ada, "hers")[0].pk,
        "user": ada.pk,
        "identity": SocialAccount.objects.create(user=ada, provider="https://o", uid="ada").pk,
        "team": Team.objects.create(name="Storage").pk,
    }


def counts() -> list[object]:
    return [
        Run.objects.count(),
        list(Run.objects.order_by("pk").values_list("state", flat=True)),
        Import.objects.count(),
        list(Import.objects.order_by("pk").values_list("state", flat=True)),
        tokens.ApiToken.objects.count(),
        SocialAccount.objects.count(),
        records.Permalink.objects.count(),
        list(Watch.objects.values_list("is_active", flat=True)),
        WatchMessage.objects.count(),
        list(Trigger.objects.values_list("is_active", "token")),
        TriggerOrder.objects.count(),
        list(Job.objects.order_by("pk").values_list("priority", "paused_at")),
        list(Worker.objects.values_list("drained_at", flat=True)),
        list(OwnWorkload.objects.values_list("is_withdrawn", flat=True)),
        list(HardwareProfile.objects.order_by("pk").values_list("deliverable_kb_s", flat=True)),
    ]


@pytest.mark.same_on_any_database
def test_anybody_reads_what_is_open(client: Client, ids: dict[str, object]) -> None:
    for address, status in READ_BY_ALL.values():
        path = "/" + address.format(**ids)
        assert client.get(path).status_code == status, path
        # With the CSRF check on, as browsers meet it, a read address takes no POST of a stranger.
        if address != "account/sign-in/":
            strict = Client(enforce_csrf_checks=True)
            assert strict.post(path).status_code in (401, 403, 405), path


PLACE = "/srv/place-on-the-host"


@pytest.fixture
def placed(ids: dict[str, object]) -> Lun:
    """A LUN whose path stands wherever a worker can write it."""
    rows = [["Path on the host", PLACE], ["Folder on it", f"{PLACE}/x"], ["Serial", "S3Z"]]
    Lun.objects.update(device=PLACE, identity=rows, problem=f"{PLACE} is mounted.")
    environment = Environment.objects.create(digest="e", facts={"LUN": [["Name", "l"], rows[0]]})
    Run.objects.update(environment=environment)
    return Lun.objects.get(pk=str(ids["lun"]))


def _tells(client: Client, ids: dict[str, object]) -> set[str]:
    """The addresses that say where on its host a LUN is."""
    paths = ["/" + address.format(**ids) for address, _ in READ_BY_ALL.values()]
    answers = {path: client.get(path) for path in [*paths, "/api/v1/luns"]}
    return {path for path, answer in answers.items() if PLACE in _text(answer)}


def _text(answer: Any) -> str:
    if not answer.streaming:
        return answer.content.decode(errors="replace")
    return b"".join(answer.streaming_content).decode(errors="replace")


LUN_ADDRESSES = {"/luns/", "/luns/{lun}/", "/workers/{worker}/"} | {
    f"/api/v1/{path}" for path in ("luns", "workers", "workers/{worker}")
}


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.CONTRIBUTOR, Role.OPERATOR])
def test_a_luns_place_is_told_to_nobody_else(
    client: Client, ids: dict[str, object], placed: Lun, role: Role | None
) -> None:
    if role is not None:
        client.force_login(person(role, f"eve-{role}"))
    assert _tells(client, ids) == set()
    if role is Role.OPERATOR:
        for path in (f"/runs/new/?lun={placed.pk}", f"/runs/new/review/?lun={placed.pk}"):
            assert PLACE not in _text(client.get(path)), path
    luns = client.get("/api/v1/luns").json()["luns"]
    assert {lun["device"] for lun in luns} == {""}
    assert {tuple(map(tuple, lun["identity"])) for lun in luns} == {(("Serial", "S3Z"),)}
    assert all(lun["problem"] for lun in luns)


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMINISTRATOR])
def test_who_may_run_on_a_lun_is_told_its_place(
    client: Client, ids: dict[str, object], placed: Lun, role: Role
) -> None:
    user = person(role, f"al-{role}")
    client.force_login(user)
    if role is Role.OPERATOR:
        LunGrant.objects.create(lun=placed, user=user)
    assert _tells(client, ids) == {address.format(**ids) for address in LUN_ADDRESSES}
    rows = {lun["name"]: lun for lun in client.get("/api/v1/luns").json()["luns"]}
    assert rows[placed.name]["device"] == PLACE
    others = {lun["device"] for name, lun in rows.items() if name != placed.name}
    assert others == ({""} if role is Role.OPERATOR else {PLACE})


def test_a_stranger_is_sent_to_sign_in(client: Client, ids: dict[str, object]) -> None:
    for address in SIGNED_IN.values():
        response = client.get("/" + address.format(**ids))
        assert (response.status_code, response.headers["Location"].split("?")[0]) == (
            302,
            "/account/sign-in/",
        ), address


def test_a_stranger_changes_nothing(client: Client, ids: dict[str, object]) -> None:
    before = counts()
    for address in POSTS.values():
        path = "/" + address.format(**ids)
        assert client.get(path).status_code in (302, 405), path
        response = client.post(path, {"query": "study=lab"})
        assert response.status_code == 302, path
        assert response.headers["Location"].startswith("/account/sign-in/"), path
    for address in API_WRITES.values():
        path = "/" + address.format(**ids)
        assert client.post(path).status_code == 401, path
    assert counts() == before


def test_forms_need_their_csrf_secret(ada: User, ids: dict[str, object]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    before = counts()
    for address in [*POSTS.values(), *SIGNED_IN.values(), *API_WRITES.values()]:
        path = "/" + address.format(**ids)
        assert client.post(path).status_code in (403, 405), path
    assert counts() == before


def test_uploads_and_tokens_of_others_are_not_there(ids: dict[str, object]) -> None:
    client = Client()
    client.force_login(User.objects.create_user("eve"))
    before = counts()
    for part in ("check/", "commit/", "discard/", "files/{file}/columns/"):
        address = "/imports/{upload}/" + part
        assert client.post(address.format(**ids)).status_code == 404, address
    assert client.get("/imports/{upload}/files/{file}/columns/".format(**ids)).status_code == 404
    assert client.post("/account/tokens/{token}/revoke/".format(**ids)).status_code == 404
    assert counts() == before
    for one in (client, Client()):
        assert one.get("/imports/{upload}/".format(**ids)).status_code == 404
    # What is imported is everybody's to read.
    assert Client().get("/imports/{result}/".format(**ids)).status_code == 200


def test_watches_of_others_are_not_there(ids: dict[str, object]) -> None:
    client = Client()
    client.force_login(User.objects.create_user("eve"))
    before = counts()
    for part in ("", "delete/"):
        assert client.get("/watches/{watch}/".format(**ids) + part).status_code == 404, part
    for part in ("test/", "pause/", "resume/", "delete/"):
        assert client.post("/watches/{watch}/".format(**ids) + part).status_code == 404, part
    assert counts() == before


def test_triggers_of_others_are_not_there(ids: dict[str, object]) -> None:
    client = Client()
    client.force_login(User.objects.create_user("eve"))
    before = counts()
    for part in ("", "edit/"):
        assert client.get("/triggers/{trigger}/".format(**ids) + part).status_code == 404, part
    for part in ("edit/", "pause/", "resume/", "delete/", "order/", "token/"):
        assert client.post("/triggers/{trigger}/".format(**ids) + part).status_code == 404, part
    assert counts() == before


def test_raw_output_is_found_under_its_own_run_only(client: Client, ids: dict[str, object]) -> None:
    assert client.get("/runs/{queued}/artefacts/{artefact}/".format(**ids)).status_code == 404
    address = "/runs/{queued}/artefacts/{artefact}/lines/"
    assert client.get(address.format(**ids)).status_code == 404


def test_every_view_says_what_it_requires() -> None:
    """Else it is closed to everybody (below): somebody forgot it."""
    silent = [
        (address, method)
        for address, view in views(get_resolver())
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
        if action_of(view, method) is None
    ]
    assert silent == []


def test_every_call_that_writes_has_a_rule_of_its_own() -> None:
    paths = api.get_openapi_schema()["paths"]
    for path, operations in paths.items():
        match = resolve(re.sub(r"{\w+}", "1", path))
        for method in operations:
            action = action_of(match.func, method.upper())
            assert action is not None, path
            if method != "get":
                assert action not in (rights.Action.READ, rights.Action.OPEN), (method, path)


def test_every_call_of_the_api_is_in_one_table() -> None:
    calls = {
        (method, resolve(re.sub(r"{\w+}", "1", path)).route)
        for path, operations in api.get_openapi_schema()["paths"].items()
        for method in operations
    }
    written = {("post", route) for route in API_WRITES}
    read = {("get", route) for route in READ_BY_ALL if route.startswith("api/v1/")}
    read |= {("get", f"api/v1/{name}") for name in ("runs", "jobs", "sweeps")}
    read -= {("get", "api/v1/openapi.json"), ("get", "api/v1/docs")}
    assert calls == written | read | API_CALLS.keys()


@pytest.mark.same_on_any_database
@pytest.mark.parametrize("role", ROLES, ids=str)
def test_each_role_calls_what_it_may(role: Role | None, ids: dict[str, object]) -> None:
    """The calls of ``API_CALLS`` with a token of somebody to whom nothing here belongs."""
    user = person(role) if role is not None else None
    headers = {}
    if user is not None:
        _, token = tokens.create(user, "all", can_administer=True)
        headers = {"Authorization": f"Bearer {token}"}
    before = counts()
    order = list(Role)
    for (method, _), (address, needs) in API_CALLS.items():
        path = "/" + address.format(**ids)
        response = getattr(Client(headers=headers), method)(
            path, {}, **({} if method == "get" else {"content_type": "application/json"})
        )
        where = f"{method} {path} as {role}: {response.status_code} {response.content!r}"
        if role is None:
            assert response.status_code == 401, where
        elif order.index(role) < order.index(needs):
            assert response.status_code == 403, where
            assert b"needs the role" in response.content, where
        else:
            assert response.status_code < 500, where
            assert b"needs the role" not in response.content, where
            if method == "get" and needs is Role.VIEWER and "{" not in address:
                assert response.status_code == 200, where
    if role is not Role.ADMINISTRATOR:  # who may withdraw the workload, and has
        assert counts() == before


@pytest.mark.parametrize("scopes", [(), ("import",), ("run",), ("administer",)], ids=str)
def test_a_token_does_what_it_was_made_for(scopes: tuple[str, ...], ids: dict[str, object]) -> None:
    names = ("import", "run", "administer")
    permissions = {f"can_{name}": name in scopes for name in names}
    _, token = tokens.create(person(Role.ADMINISTRATOR), "some", **permissions)
    client = Client(headers={"Authorization": f"Bearer {token}"})
    writes = {
        **{("post", route): address for route, address in API_WRITES.items()},
        **{call: address for call, (address, _) in API_CALLS.items()},
    }
    for (method, route), address in writes.items():
        path = "/" + address.format(**ids)
        action = action_of(resolve(path).func, method.upper())
        assert action is not None
        scope = rights.scope_of(action)
        if scope == "read" or scope in scopes:
            # Reading one's own; tokens are made and revoked by sessions alone.
            assert scope in scopes or method == "get" or "/me/tokens" in route, route
            continue
        response = getattr(client, method)(path)
        assert response.status_code == 403, (method, route)
        assert b"was not made for" in response.content, (method, route)


def test_a_view_that_says_nothing_is_closed_to_all(
    monkeypatch: pytest.MonkeyPatch, client: Client, admin_user: User
) -> None:
    monkeypatch.delattr(resolve("/luns/").func, "required_action")
    client.force_login(admin_user)
    assert client.get("/luns/").status_code == 403
    # Of a call, the method that says nothing is: reading the same address goes on.
    by_method = resolve("/api/v1/runs").func.required_action
    monkeypatch.setitem(by_method, "POST", None)
    assert client.get("/api/v1/runs").status_code == 200
    assert client.post("/api/v1/runs").status_code == 403


def test_an_address_in_two_routers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Django would ask the first alone, and the gate what the other requires."""
    monkeypatch.setattr(main, "_AREAS", main._AREAS | {"twice": main._AREAS["health"]})
    with pytest.raises(ValueError, match="two routers"):
        main._actions()


EVERY = {
    **{route: address for route, (address, _) in READ_BY_ALL.items()},
    **SIGNED_IN,
    **POSTS,
    **API_WRITES,
}
# A session that signs out walks no further; these two answer without an account.
_OPEN = {
    "account/sign-in/",
    "account/sign-in/service/",
    "account/sign-in/service/callback/",
    "api/v1/health",
    "api/v1/health/live",
    "api/v1/health/ready",
    "favicon.ico",
    "metrics",
}


def refused_offers(user: User, path: str, page: Any) -> set[str]:
    """The links and forms of this page that lead to what this account may not do."""
    if page.status_code != 200 or not page.headers["Content-Type"].startswith("text/html"):
        return set()
    content = page.content.decode()
    offers = {("GET", link) for link in re.findall(r'<a [^>]*href="([^"]*)"', content)}
    for form in re.findall(r"<form [^>]*>", content):
        method = "POST" if 'method="post"' in form else "GET"
        aimed = re.search(r'action="([^"]*)"', form)
        offers.add((method, aimed[1] if aimed else path))
    refused = set()
    for method, offer in offers:
        destination = urlsplit(html.unescape(offer)).path
        if not destination.startswith("/") or destination.startswith("/static/"):
            continue
        action = action_of(resolve(destination).func, method)
        assert action is not None, offer
        if not rights.may(user, action):
            refused.add(f"{path}: {method} {destination}")
    return refused


def assert_is_refused(response: Any, role: Role | None, path: str, where: str) -> None:
    if role is not None:
        assert response.status_code == 403, where
        assert b"needs the role" in response.content, where
    elif path.startswith("/api/"):
        assert response.status_code == 401, where
    else:
        assert response.status_code == 302, where
        assert response.headers["Location"].startswith("/account/sign-in/"), where


# A closed site asks more of strangers alone: of the roles, the least is looked at there too.
WALKS = [*((True, role) for role in ROLES), (False, None), (False, Role.VIEWER)]


@pytest.mark.same_on_any_database
@pytest.mark.parametrize(
    ("is_anonymous_reading", "role"),
    WALKS,
    ids=[f"{'open' if is_open else 'closed'}-{role}" for is_open, role in WALKS],
)
def test_each_role_may_what_it_needs_and_is_offered_nothing_more(
    role: Role | None,
    is_anonymous_reading: bool,
    ids: dict[str, object],
    settings: Any,
) -> None:
    settings.ANONYMOUS_READING = is_anonymous_reading
    client, user = Client(), None
    if role is not None:
        user = person(role)
        client.force_login(user)
    before = counts()
    order = list(Role)
    refused: set[str] = set()
    for route, address in EVERY.items():
        path = "/" + address.format(**ids)
        for method in ("get", "post"):
            if route in _OPEN:
                if user is not None and method == "get":
                    refused |= refused_offers(user, path, client.get(path))
                continue
            needs = NEEDS.get(route)
            if method == "get" and route in API_WRITES:
                # 405, the list that the same address is, or one's own.
                needs = API_CALLS.get(("get", route), ("", None))[1]
            if method == "post":
                needs = POST_NEEDS.get(route, needs)
            is_allowed = needs is None and is_anonymous_reading
            if role is not None:
                is_allowed = needs is None or order.index(role) >= order.index(needs)
            if is_allowed and method == "post":
                continue  # it would do it: that is what the tests of each part are for
            response = getattr(client, method)(path)
            where = f"{method} {path} as {role}: {response.status_code}"
            if is_allowed:
                # A thing of somebody else is another matter than the role.
                assert response.status_code != 401, where
                # A page may say why it does not offer something; it is not refused itself.
                is_refused = response.status_code == 403
                assert not (is_refused and b"needs the role" in response.content), where
                assert "sign-in" not in response.headers.get("Location", ""), where
                if user is not None:
                    refused |= refused_offers(user, path, response)
            else:
                assert_is_refused(response, role, path, where)
    assert counts() == before
    assert refused == set()


@pytest.mark.same_on_any_database
@pytest.mark.parametrize("role", list(Role), ids=str)
def test_no_empty_page_offers_what_is_refused(role: Role) -> None:
    client, user = Client(), person(role)
    client.force_login(user)
    plain = (f"/{address}" for address in EVERY.values() if "{" not in address)
    assert not any(refused_offers(user, path, client.get(path)) for path in plain)


# --- A private study is nowhere ---

SECRET = b"test,record_size_kb,file_size_kb,value,unit\nzebrawrite,4,64,987123,KB/s\n"
MARKS = (b"secret-zebra", b"Secret Zebra", b"zebrawrite", b"zebrafs", b"987123", b"987,123")


@pytest.fixture
def secret(ids: dict[str, object], ada: User) -> dict[str, object]:
    """One of everything of a study that only Ada sees; numbers of rows as in ``ids``."""
    fields = {"study": "Secret Zebra", "filesystem": "zebrafs", "configuration": "zebrafs_kudu"}
    result = import_files([("zebra.csv", SECRET)], **fields, user=ada)
    run = Run.objects.get(pk=result.runs[0])
    watch = watching.watch(
        ada,
        run.series,
        test="zebrawrite",
        category="maximum",
        along="date",
        margin_percent=10,
        email="",
        webhook_url="",
        site="https://fsbench.example",
    )
    key = records.pin(ComparisonSpec(studies=("secret-zebra",)), ada).key
    wide = records.pin(ComparisonSpec(tests=("zebrawrite",)), ada).key
    lun = Lun.objects.select_related("worker").get(name="disk1")
    submitted = submit(
        JobSpec(
            lun_id=lun.pk,
            configurations=(ConfigurationSpec("ext4", {}, "none"),),
            workload="iozone-small",
            study="secret-zebra",
        ),
        "disk1",
        ada,
    )
    Study.objects.filter(slug="secret-zebra").update(visibility=Visibility.PRIVATE)
    return {
        **ids,
        "run": run.pk,
        "series": run.series_id,
        "watch": watch.pk,
        "artefact": run.artefacts.get().pk,
        "queued": submitted[0].pk,
        "job": submitted[0].job_id,
        "result": result.id,
        "key": key,
        "wide": wide,
    }


def readable(ids: dict[str, object], secret: dict[str, object]) -> Iterator[str]:
    """Every address that reads: of what is public, of what is secret, and searches for it."""
    for address, _ in READ_BY_ALL.values():
        yield "/" + address.format(**ids)
        of_secret = address.replace("studies/lab", "studies/secret-zebra")
        yield "/" + of_secret.replace("study=lab", "study=secret-zebra").format(**secret)
        if "study=lab" in address:
            yield "/" + address.replace("study=lab", "").format(**ids)
    for route in ("imports/{result}/", "p/{wide}/", "runs/{queued}/"):
        yield "/" + route.format(**secret)
    yield from ("/search/?q=zebra", "/api/v1/search?q=zebra", "/api/v1/sweeps", "/api/v1/runs")
    yield from ("/runs/new/", "/imports/new/", "/runs/new/document/", "/p/", "/hardware/", "/luns/")
    yield "/imports/reread/{artefact}/".format(**secret)
    yield "/history/?series={series}".format(**secret)
    for (method, _), (address, _) in API_CALLS.items():
        if method == "get":
            yield "/" + address.format(**secret)
    for query in ("?study=secret-zebra", ""):
        for path in ("series", "comparison", "findings", "exports/deltas.csv", "history/lines"):
            yield f"/api/v1/{path}{query}"
    yield "/api/v1/permalinks/{wide}".format(**secret)
    yield "/api/v1/imports/{result}".format(**secret)
    yield from ("/history/", "/watches/", "/workloads/", "/watches/{watch}/".format(**secret))
    yield "/watches/new/?series={series}&test=zebrawrite&category=maximum".format(**secret)


def answers(client: Client, ids: dict[str, object], secret: dict[str, object]) -> set[str]:
    """The addresses whose answer tells of the secret study beyond what was asked."""
    revealing = set()
    for path in dict.fromkeys(readable(ids, secret)):  # what is of no study comes twice
        response = client.get(path)
        content = b"".join(response) if response.streaming else response.content
        # What was asked for is repeated: "there is no study ...".
        if any(mark in content for mark in MARKS if mark not in path.encode()):
            revealing.add(path)
        elif "secret-zebra" in path:
            other = client.get(path.replace("secret-zebra", "secret-zebrb"))
            if other.status_code != response.status_code:
                revealing.add(path)
    return revealing


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.OPERATOR], ids=str)
def test_a_private_study_is_nowhere_for_others(
    role: Role | None, ids: dict[str, object], secret: dict[str, object]
) -> None:
    client = Client()
    if role is not None:
        client.force_login(person(role))
    assert answers(client, ids, secret) == set()


def test_a_private_study_is_everywhere_for_who_made_it(
    ada: User, ids: dict[str, object], secret: dict[str, object]
) -> None:
    """The walk above can find it: what it would find is all here."""
    client = Client()
    client.force_login(ada)
    revealing = answers(client, ids, secret)
    for path in ("/", "/studies/", "/runs/", "/jobs/", "/compare/", "/api/v1/studies"):
        assert path in revealing or f"{path}?" in revealing, path
    assert "/p/{wide}/".format(**secret) in revealing
    assert "/search/?q=ext4" in revealing
    for address in (
        "/history/?series={series}",
        "/watches/{watch}/",
        "/api/v1/permalinks/{wide}",
        "/api/v1/imports/{result}",
        "/api/v1/runs/{run}/measurements",
        "/api/v1/runs/{run}/artefacts/{artefact}",
        "/api/v1/series/{series}",
        "/api/v1/watches/{watch}",
    ):
        assert address.format(**secret) in revealing, address
    for path in ("series", "comparison", "findings", "exports/deltas.csv"):
        assert f"/api/v1/{path}" in revealing, path
    assert {"/history/", "/watches/"} <= revealing


def test_a_teams_study_is_its_members(ids: dict[str, object], secret: dict[str, object]) -> None:
    team = Team.objects.get(pk=ids["team"])
    Study.objects.filter(slug="secret-zebra").update(visibility=Visibility.TEAM, team=team)
    eve, mallory = person(Role.CONTRIBUTOR, "eve"), person(Role.CONTRIBUTOR, "mallory")
    team.members.add(eve)
    theirs, other = Client(), Client()
    theirs.force_login(eve)
    other.force_login(mallory)
    assert theirs.get("/studies/secret-zebra/").status_code == 200
    assert other.get("/studies/secret-zebra/").status_code == 404
    assert answers(other, ids, secret) == set()
    _, token = tokens.create(eve, "reads", can_import=False, can_run=False)
    headers = {"Authorization": f"Bearer {token}"}
    path = "/api/v1/studies/secret-zebra"
    assert Client().get(path, headers=headers).status_code == 200
    assert Client().get(path).status_code == 404


def test_nobody_adds_to_a_study_of_others(
    ids: dict[str, object], secret: dict[str, object]
) -> None:
    fields = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}
    eve = person(Role.CONTRIBUTOR, "eve")
    before = counts()
    with pytest.raises(ImportRefused, match="is taken"):
        import_files([("z.csv", TABLE % 3)], **{**fields, "study": "Secret Zebra"}, user=eve)
    team = Team.objects.get(pk=ids["team"])
    Study.objects.filter(slug="lab").update(team=team)
    with pytest.raises(ImportRefused, match="belongs to the team Storage"):
        import_files([("z.csv", TABLE % 3)], **fields, user=eve)
    assert counts() == before
    team.members.add(eve)
    import_files([("z.csv", TABLE % 3)], **fields, user=eve)


# --- LUNs and jobs ---


def submitted_by(user: User, worker_lun: Lun, study: str) -> list[Run]:
    request = JobSpec(
        lun_id=worker_lun.pk,
        configurations=(ConfigurationSpec("ext4", {}, "none"),),
        workload="iozone-small",
        new_study=study,
    )
    with rights.as_user(user):
        return submit(request, worker_lun.name, user)


def test_an_operator_submits_on_granted_luns_alone(ids: dict[str, object]) -> None:
    eve, lun = person(Role.OPERATOR, "eve"), Lun.objects.get(name="disk1")
    with pytest.raises(JobRefused, match="not granted to you"):
        submitted_by(eve, lun, "Eves")
    team = Team.objects.get(pk=ids["team"])
    LunGrant.objects.create(lun=lun, team=team)
    with pytest.raises(JobRefused, match="not granted to you"):
        submitted_by(eve, lun, "Eves")
    team.members.add(eve)
    assert submitted_by(eve, lun, "Eves")
    team.members.clear()
    LunGrant.objects.create(lun=lun, user=eve)
    assert submitted_by(eve, lun, "Eves too")


def test_an_operator_steers_its_own_and_its_teams_jobs(ids: dict[str, object], ada: User) -> None:
    eve = person(Role.OPERATOR, "eve")
    client = Client()
    client.force_login(eve)
    before = counts()
    for act in ("pause", "resume", "cancel", "priority", "retry"):
        path = f"/jobs/{ids['job']}/{act}/"
        assert client.post(path, {"priority": "3"}).status_code == 403, path
        path = f"/api/v1/sweeps/{ids['job']}/{act}"
        body = {"priority": {"priority": 3}, "retry": {"confirm": "disk1"}}.get(act, {})
        response = client.post(path, body, "application/json")
        assert response.status_code == 403, (path, response.content)
        assert "neither yours" in response.json()["detail"]
    for path, offer in (("runs/{queued}/", "/cancel/"), ("jobs/{job}/", "/pause/")):
        page = client.get("/" + path.format(**ids)).content.decode()
        assert offer not in page, path
        assert "neither yours" in page, path
    assert client.post(f"/runs/{ids['queued']}/cancel/").status_code == 403
    assert client.post(f"/api/v1/runs/{ids['queued']}/cancel").status_code == 403
    assert counts() == before
    team = Team.objects.get(pk=ids["team"])
    team.members.add(eve, ada)
    assert "/pause/" in client.get("/jobs/{job}/".format(**ids)).content.decode()
    assert client.post(f"/jobs/{ids['job']}/pause/").status_code == 302
    assert Job.objects.get(pk=ids["job"]).paused_at is not None
