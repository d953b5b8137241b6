"""The audit of a LUN: what its page counts, and what its button orders."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.studies.jobs import aa_audit
from fsbench_web.studies.jobs.forms import job_form
from fsbench_web.studies.jobs.spec import ConfigurationSpec, JobSpec, LimitsSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, Score, Series, Study

pytestmark = pytest.mark.django_db
TEST, CATEGORY = "sequential_1m_read_bw@iodepth=8", "mean"
RATES = {1_000_000: (1.0, 1.002), 999_999: (1.001, 1.0), 95: (0.95, 0.951)}
"""What each limit reads, in shares of 100 MiB/s, in rounds by turns."""


@pytest.fixture
def order(
    disk: Lun, ann: User, spec: Callable[..., JobSpec]
) -> Callable[[tuple[int, ...], int], list[Run]]:
    disk.worker.capabilities |= {
        "limits": {"rates": "", "memory": ""},
        "tools": {"fio": {"usable": True, "version": "3.33", "package": "fio"}},
    }
    disk.worker.save()

    def submitted(limits: tuple[int, ...], rounds: int) -> list[Run]:
        study = Study.objects.filter(title="Audit").first()
        wanted = spec(
            configurations=(ConfigurationSpec("ext4", {}, "none"),),
            workload=aa_audit.WORKLOAD,
            parameters=aa_audit.PARAMETERS,
            limits=LimitsSpec(read_mib_s=limits),
            repeats=rounds,
            study=study.slug if study else "",
            new_study="" if study else "Audit",
        )
        return submit(wanted, "disk1", ann)

    return submitted


def measure(runs: list[Run], unit: str = aa_audit.UNIT) -> None:
    """Scores as ``scores.ingest`` writes them, of all runs of each series."""
    for series in Series.objects.filter(runs__in=runs).distinct():
        shares = RATES[series.runs_on.limits.read_mib_s]
        blocks = Run.objects.filter(series=series).order_by("pk").values_list("block", flat=True)
        scores = [[block, 102_400 * shares[place % 2]] for place, block in enumerate(blocks)]
        Score.objects.update_or_create(
            series=series,
            test=TEST,
            category=CATEGORY,
            defaults={"value": scores[0][1], "unit": unit, "repeat_scores": scores},
        )


def test_the_page_counts_rounds_of_one_job_and_the_next_audit_has_a_handicap(
    disk: Lun, order: Any, client: Client, ann: User
) -> None:
    measure(order((1_000_000, 999_999), 7))
    measure(order((1_000_000, 999_999, 95), 12))
    audit = aa_audit.lun_audit(disk)
    # 7 rounds and 12 are one set of five and two: none is of two jobs.
    assert (audit.equal.made, audit.equal.found) == (3, 0)
    known = audit.known_handicap
    assert known is not None
    assert (known.made, known.found) == (2, 2)
    assert known.percent == pytest.approx(5.07, abs=0.02)
    client.force_login(ann)
    page = " ".join(client.get(f"/luns/{disk.pk}/").content.decode().split())
    assert "Of 3 comparisons without a difference, 0 were called one." in page
    assert "A handicap of 5.1% was found in 2 of 2." in page
    query = aa_audit.order_query(disk, audit)
    assert query.replace("&", "&amp;") in page
    again = job_form.read(QueryDict(query)).spec()
    assert again.limits.read_mib_s == (1_000_000, 999_999, 95)
    assert (again.repeats, again.order, again.lun_id) == (20, "random", disk.pk)
    assert again.parameters["runtime_s"] == aa_audit.PARAMETERS["runtime_s"]


def test_the_first_audit_measures_the_rate_without_a_handicap(disk: Lun, client: Client) -> None:
    audit = aa_audit.lun_audit(disk)
    assert audit.rate is None
    first = job_form.read(QueryDict(aa_audit.order_query(disk, audit))).spec()
    assert first.limits.read_mib_s == aa_audit.NAMES
    assert (first.repeats, first.order, first.workload) == (5, "random", aa_audit.WORKLOAD)
    assert "No audit of this LUN yet" in client.get(f"/luns/{disk.pk}/").content.decode()


def test_only_what_one_may_see_counts_and_only_in_the_unit_of_the_limit(
    disk: Lun, order: Any, client: Client
) -> None:
    runs = order((1_000_000, 999_999), 5)
    measure(runs)
    assert aa_audit.lun_audit(disk).equal.made == 1
    Score.objects.update(unit="ops/s")
    assert aa_audit.lun_audit(disk).equal.made == 0
    Score.objects.update(unit=aa_audit.UNIT)
    assert "audit-counts" in client.get(f"/luns/{disk.pk}/").content.decode()
    Study.objects.update(visibility="private")
    assert "audit-counts" not in client.get(f"/luns/{disk.pk}/").content.decode()


def test_runs_with_other_limits_as_well_are_no_audit(disk: Lun, order: Any) -> None:
    measure(order((1_000_000, 999_999), 5))
    limited = Series.objects.get(machine__limits__read_mib_s=999_999)
    limited.machine["limits"]["memory_mib"] = 512
    limited.save()
    assert aa_audit.lun_audit(disk).equal.made == 0


def test_as_many_queries_however_much_there_is(
    disk: Lun, order: Any, django_assert_num_queries: Any
) -> None:
    for _ in range(3):
        measure(order((1_000_000, 999_999, 95), 5))
    with django_assert_num_queries(2):
        audit = aa_audit.lun_audit(disk)
    assert audit.equal.made == 3


def test_a_folder_cannot_be_limited_and_has_no_audit(disk: Lun, client: Client) -> None:
    folder = disk.worker.luns.get(name="folder1")
    assert "audit-head" not in client.get(f"/luns/{folder.pk}/").content.decode()
