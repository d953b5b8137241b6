"""Reading a file again may name a test otherwise: old addresses and permalinks still lead to it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.accounts.models import Visibility
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import MOST_VALUES, ComparisonSpec
from fsbench_web.core.formats.fio.naming import jobs_in
from fsbench_web.imports import rereads as reading
from fsbench_web.imports.models import ImportedFile
from fsbench_web.studies.models import Artefact, RenamedTest, Series, Study
from fsbench_web.studies.scores import renamed
from tests.api.imports.test_fio_beside import JOB_FILE, theirs
from tests.importing import import_files

pytestmark = pytest.mark.django_db
OLD, NEW = "theirs_read_iops", "random_8k_read_iops@iodepth=8"


def store(user: User, study: str, data: bytes = theirs("terse")[1]) -> Artefact:
    fields = {"study": study, "filesystem": "xfs", "configuration": "xfs"}
    import_files([("a.txt", data)], **fields, user=user)
    return Artefact.objects.latest("pk")


def read_again(artefact: Artefact, user: User) -> None:
    """As if a later version knew what the job did."""
    jobs = jobs_in(JOB_FILE[1].decode().split("\n"))
    ImportedFile.objects.filter(artefact=artefact).update(beside={JOB_FILE[0]: dict(jobs)})
    reading.apply(artefact.pk, reading.difference(artefact).digest, user)


def shown(client: Client, address: str) -> set[str]:
    answer = client.get(f"/api/v1/deltas?{address}")
    assert answer.status_code == 200, answer.content
    return {table["test"] for table in answer.json()["tables"]}


def test_an_old_name_leads_to_the_test_in_every_address(signed_in: Client, ada: User) -> None:
    artefact = store(ada, "Lab")
    assert shown(signed_in, f"study=lab&test={OLD}") == {OLD}
    link = records.pin(ComparisonSpec.from_query(f"study=lab&test={OLD}"), ada)
    read_again(artefact, ada)
    assert shown(signed_in, f"study=lab&test={OLD}") == {NEW}
    assert shown(signed_in, f"study=lab&test={OLD}&test={NEW}") == {NEW}
    series = Series.objects.get(runs__isnull=False)
    for address in (
        f"/compare/?study=lab&test={OLD}",
        f"/compare/?study=lab&part_test={OLD}",
        f"/studies/lab/?part_test={OLD}",
        f"/compare/deltas.csv?study=lab&test={OLD}",
        f"/history/?series={series.pk}&test={OLD}",
    ):
        answer = signed_in.get(address)
        assert answer.status_code == 200, (address, answer.content)
    line = signed_in.get(f"/api/v1/history?series={series.pk}&test={OLD}").json()
    assert line["test"] == NEW
    page = signed_in.get(f"/p/{link.key}/")
    assert page.status_code == 200
    pinned = records.read(link)
    assert (pinned.is_intact, {table.test for table in pinned.tables}) == (True, {OLD})
    assert records.latest_query(link).count("random_8k_read_iops") == 1
    assert not records.changes_since(link, pinned).has_any


def test_a_name_that_is_still_used_counts_too(signed_in: Client, ada: User) -> None:
    artefact = store(ada, "Lab")
    store(ada, "Other", theirs("terse")[1].replace(b";3200;", b";3300;"))
    read_again(artefact, ada)
    assert shown(signed_in, f"study=other&test={OLD}") == {OLD}
    assert shown(signed_in, f"test={OLD}") == {OLD, NEW}
    assert shown(signed_in, f"study=lab&test={OLD}") == {NEW}


def test_new_names_of_hidden_studies_are_neither_asked_for_nor_told(
    signed_in: Client, client: Client, ada: User
) -> None:
    artefact = store(ada, "Lab")
    store(ada, "Other", theirs("terse")[1].replace(b";3200;", b";3300;"))
    read_again(artefact, ada)
    Study.objects.filter(slug="lab").update(visibility=Visibility.PRIVATE, created_by=ada)
    client.logout()
    for address in (f"test={OLD}", f"part_test={OLD}"):
        assert shown(client, address) == {OLD}
    for address in (f"/compare/?test={OLD}", f"/compare/?study=other&test={OLD}"):
        answer = client.get(address)
        assert answer.status_code == 200
        assert NEW not in answer.content.decode()
    Study.objects.filter(slug="other").delete()
    answer = client.get(f"/api/v1/deltas?test={OLD}")
    assert "random_8k" not in answer.content.decode()


def test_an_old_name_of_many_tests_asks_for_no_more_than_an_address_may(ada: User) -> None:
    read_again(store(ada, "Lab"), ada)
    RenamedTest.objects.bulk_create(
        [RenamedTest(old=OLD, new=f"new{number}_read_iops") for number in range(MOST_VALUES + 1)]
    )
    spec = ComparisonSpec.of_address(f"test={OLD}&test={NEW}")
    assert spec.tests == (NEW,)
    assert ComparisonSpec.from_query(spec.to_query()) == spec


def test_each_metric_has_its_own_new_name(ada: User) -> None:
    read_again(store(ada, "Lab"), ada)
    pairs = dict(RenamedTest.objects.values_list("old", "new"))
    assert len(pairs) > 15
    for old, new in pairs.items():
        assert new == f"{old.replace('theirs', 'random_8k')}@iodepth=8"


def test_a_name_that_was_changed_twice_leads_to_the_last() -> None:
    renamed.note([("a_read_bw", "b_read_bw")])
    renamed.note([("b_read_bw", "c_read_bw"), ("b_read_bw", "d_read_bw")])
    names = renamed.names_today({"a_read_bw", "b_read_bw", "write"})
    assert {name: set(names[name]) for name in names} == {
        "a_read_bw": {"b_read_bw", "c_read_bw", "d_read_bw"},
        "b_read_bw": {"c_read_bw", "d_read_bw"},
    }


def test_lasting_names_ask_nothing_and_lead_nowhere(
    django_assert_num_queries: Callable[..., Any],
) -> None:
    with django_assert_num_queries(0):
        assert renamed.names_today({"write", "random_read", NEW}) == {}
        ComparisonSpec.of_address(f"test=write&part_test={NEW}")
        renamed.note([("write", "rewrite")])
        # PostgreSQL refuses a NUL in any text.
        assert renamed.names_today({"theirs\x00_read_iops"}) == {}
    assert renamed.names_today({"untar"}) == {}
