"""A fio job that was imported is repeated on one's own LUN with its own options."""

import html
import re
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client

from fsbench_web.accounts.models import Role
from fsbench_web.catalog.models import Lun
from fsbench_web.catalog.models import Workload as WorkloadRow
from fsbench_web.core.identity import of_fio
from fsbench_web.core.workloads import presets, workload_of
from fsbench_web.studies.jobs import imported_fio
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.models import Run
from tests.accounts.people import person
from tests.api.imports.test_fio_identity import COLLEAGUE, report, send
from tests.compare.profiles.test_pages import announced

BUFFERED = {
    **{"rw": "write", "bs": "64k", "iodepth": "1", "numjobs": "4", "ioengine": "psync"},
    **{"direct": "0", "fsync": "8", "size": "2g", "runtime": "30"},
}


def row_of(options: dict[str, str]) -> tuple[WorkloadRow, list[tuple[str, str]]]:
    """What an import stores of one fio job: its settings, and the names of its numbers."""
    done = of_fio(options)
    assert done is not None
    modes = [f"{key}={options[key]}" for key in ("size", "runtime") if key in options]
    row = WorkloadRow(tool="fio", title="fio (imported)", parameters={"modes": modes})
    return row, [(f"{done.name}_iops", done.load), (f"{done.name}_bw", done.load)]


@pytest.mark.parametrize("options", [COLLEAGUE, BUFFERED, COLLEAGUE | {"bs": "32k"}])
def test_what_runs_here_has_the_identity_of_what_was_imported(options: dict[str, str]) -> None:
    row, names = row_of({key: value for key, value in options.items() if key != "name"})
    [wanted], problems = imported_fio.workloads_of(row, names)
    assert problems == []
    workload: Any = workload_of(
        "fio-depths", {**presets()[wanted.name].parameters, **wanted.parameters}
    )
    expected = {(test, load) for test, load, _, _ in workload.expected()}
    assert expected == set(names)
    assert workload.file_mb == (10240 if options["size"] == "10g" else 2048)
    assert workload.runtime_s == int(options["runtime"])


@pytest.mark.parametrize(
    "changes",
    [
        {"rw": "randrw"},
        {"sync": "1"},
        {"nrfiles": "8"},
        {"rate_iops": "100"},
        {"ioengine": "rbd"},
        {"bs": "512"},
    ],
)
def test_what_fsbench_does_not_do_is_not_repeated(changes: dict[str, str]) -> None:
    row, names = row_of(COLLEAGUE | changes)
    specs, problems = imported_fio.workloads_of(row, names)
    assert specs == []
    assert problems


def test_two_jobs_of_one_file_are_two_workloads() -> None:
    row, names = row_of(COLLEAGUE)
    _, more = row_of(COLLEAGUE | {"bs": "4k"})
    specs, _ = imported_fio.workloads_of(row, [*names, *more])
    assert sorted(spec.name for spec in specs) == ["fio-4k", "fio-8k"]


def form_of(address: str) -> job_form.JobForm:
    return job_form.read(QueryDict(address.partition("?")[2]))


@pytest.mark.django_db
def test_run_and_study_open_the_form_with_the_job_within_the_lun() -> None:
    client = Client()
    client.force_login(person(Role.ADMINISTRATOR, "ada"))
    lun = announced(4 * 2**30)
    send(client, "colleague.json", report(COLLEAGUE, 9000.5), "xfs")
    page = client.get(f"/runs/{Run.objects.get().pk}/").content.decode()
    found = re.search(r'href="([^"]+)" data-repeat', page)
    assert found is not None
    study_page = client.get("/studies/lab/").content.decode()
    assert re.findall(r'href="([^"]+)"\s+data-repeat', study_page) == [
        "/runs/new/continue/?study=lab"
    ]
    by_study = client.get("/runs/new/continue/?study=lab").headers["Location"]
    for address in (html.unescape(found[1]), by_study):
        [wanted] = form_of(address).spec().workloads
        assert wanted.name == "fio-8k"
        assert (wanted.parameters["depths"], wanted.parameters["directions"]) == ([8], "read")
        # 10 GB are halved until they fit.
        assert wanted.parameters["file_mb"] == 2560
        assert 'value="fio-8k" checked' in client.get(address).content.decode()
    assert form_of(by_study).lun == str(lun.pk)
    assert Lun.objects.count() == 1


@pytest.mark.django_db
def test_where_the_options_are_not_known_nothing_is_ticked_and_the_page_says_why() -> None:
    client = Client()
    client.force_login(person(Role.ADMINISTRATOR, "ada"))
    announced(4 * 2**30)
    send(client, "mix.json", report(COLLEAGUE | {"rw": "randrw"}, 9000.5), "xfs")
    page = client.get(f"/runs/{Run.objects.get().pk}/").content.decode()
    assert "data-not-repeated" in page
    assert "data-repeat" not in page.replace("data-repeated", "")
    address = client.get("/runs/new/continue/?study=lab").headers["Location"]
    form = client.get(address).content.decode()
    assert not re.search('name="workload" value="[^"]+" checked', form)
    assert "cannot be repeated" in form
