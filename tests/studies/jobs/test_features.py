"""A feature of a job is one file and one registration: shown with a toy in a copy of the code."""

import shutil
import subprocess
import sys
from pathlib import Path

from django.conf import settings

TOY = """
from pydantic import Field, StrictInt

from fsbench_web.studies.jobs.features.base import Feature, FormField


class Toy(Feature):
    form_fields = [FormField("nice", "say 0 to 19", "nice {}")]

    nice: StrictInt = Field(default=0, description="how nice a run is")

    def check(self, lun, workloads, problems):
        if not 0 <= self.nice <= 19:
            problems.add("nice", "A run is nice 0 to 19.")
"""
REGISTERED = (
    "class JobOptions(",
    "from fsbench_web.studies.jobs.features.toy import Toy\n\n\nclass JobOptions(Toy, ",
)
USED = """
import django; django.setup()
from django.http import QueryDict
from fsbench_web.api.main import api
from fsbench_web.studies.jobs.submitting import checked_plan
from fsbench_web.studies.jobs.documents.plan import expand
from fsbench_web.studies.jobs.documents.writer import document_of
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.jobs.problems import Problems

schemas = api.get_openapi_schema()["components"]["schemas"]
assert schemas["JobIn"]["properties"]["nice"]["description"] == "how nice a run is"

def written(job):
    return document_of(job, study="S", lun="disk1", worker="")

plain = {"study": "S", "lun": "disk1", "configurations": ["ext4"], "workloads": ["iozone-small"]}
job = expand(plain | {"nice": 7})
assert (job.nice, job.unreadable) == (7, {})
assert written(job)["nice"] == 7 and "nice" not in written(expand(plain))
assert list(expand(plain | {"nice": "x"}).unreadable) == ["nice"]

form = job_form.read(QueryDict(job_form.prefilled(job).to_query()))
assert (form["nice"], form.spec().nice, form.prepared) == ("7", 7, "nice 7")
wrong = job_form.read(QueryDict("nice=x"))
assert wrong.spec().unreadable["nice"] == ['"x" is not a whole number: say 0 to 19.']
assert "nice" in wrong.wrong_fields()

for nice, is_refused in ((19, False), (20, True)):
    problems = Problems({})
    refused = expand(plain | {"nice": nice}).model_copy(update={"study": ""})  # no database
    assert checked_plan(refused, problems) is None
    assert problems.is_reported("nice") == is_refused
"""


def test_the_form_documents_the_api_and_checks_have_a_new_feature(tmp_path: Path) -> None:
    code = tmp_path / "fsbench_web"
    ignored = shutil.ignore_patterns("static", "__pycache__", "published")
    shutil.copytree(settings.BASE_DIR / "fsbench_web", code, ignore=ignored)
    (code / "studies/jobs/features/toy.py").write_text(TOY)
    spec = code / "studies/jobs/spec.py"
    assert REGISTERED[0] in spec.read_text()
    spec.write_text(spec.read_text().replace(*REGISTERED))
    done = subprocess.run(
        [sys.executable, "-c", USED],
        env={
            "PYTHONPATH": f"{tmp_path}:{settings.BASE_DIR}",
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "PATH": "/usr/bin:/bin",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
