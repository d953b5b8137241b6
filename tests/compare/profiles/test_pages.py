"""A work profile on the pages: said first what was not measured, ordered with one click."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from fsbench_web.accounts.models import Role
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.core.scoring.profiles.definition import Demand
from fsbench_web.core.workloads.measuring import measuring
from fsbench_web.core.workloads.registry import presets
from fsbench_web.studies.models import Series
from tests.accounts.people import person
from tests.compare.tables.test_work_profiles import GB, RANGE, database, without_z

pytestmark = pytest.mark.django_db
HEADLINE = "0 of 6 cells of this range measured"


@pytest.fixture
def four() -> None:
    """The four file systems of a matrix that leaves out small records in large files."""
    for filesystem, write in (("xfs", 2.24e6), ("ext4", 2.15e6), ("ext2", 0.52e6), ("ext3", 3e5)):
        without_z(filesystem, write)


@pytest.mark.parametrize("address", ["/compare/?study=lab&", "/studies/lab/?"])
def test_the_nearest_data_point_is_said_to_be_no_answer(four, address):
    page = Client().get(f"{address}{RANGE}").content.decode()
    assert f"{HEADLINE}." in page
    assert "64 KB in files of 4 GB" in page
    first, second = (
        page.index("<strong>xfs</strong> 2.14"),
        page.index("<strong>ext4</strong> 2.05"),
    )
    assert first < second
    assert "2.14 GiB/s" in page
    assert "Measure what is missing" in page


def test_a_study_ranks_by_a_profile_beside_its_tables():
    database("ext4", 200, 100)
    database("xfs", 400, 400)
    page = Client().get("/studies/lab/?profile=oltp").content.decode()
    assert "12 of 12 cells of your work measured" in page
    assert "OLTP database, version 1" in page
    assert "1.00 is ext4, the slowest" in page


def test_a_study_says_what_is_wrong_with_a_range_and_shows_the_rest():
    database("ext4", 200, 100)
    answer = Client().get("/studies/lab/?operation=read&block=8k")
    assert answer.status_code == 200
    assert b"A range needs both sizes" in answer.content


def test_files_and_report_say_it_first_too(four):
    client = Client()
    for address in (f"/compare/deltas.md?{RANGE}", f"/studies/lab/report/?{RANGE}"):
        text = client.get(address).content.decode()
        assert HEADLINE in text, address
        assert "nearest measured is 64 KB in files of 4 GB: xfs 2.14 GiB/s" in text
    body = client.get(f"/api/v1/deltas?{RANGE}").json()
    assert body["tables"] == []
    assert body["work"][0]["headline"] == HEADLINE
    assert body["work"][0]["nearest"][0]["values"][0]["contender"] == "xfs"
    assert client.get(f"/api/v1/comparison?{RANGE}").json()["work"] == body["work"]


def test_what_is_missing_becomes_the_form_of_a_job(four):
    client = Client()
    client.force_login(person(Role.OPERATOR, "op"))
    answer = client.get(f"/compare/order/?study=lab&{RANGE}")
    assert answer.status_code == 302
    target = urlsplit(answer["Location"])
    assert target.path == "/runs/new/"
    asked = parse_qs(target.query)
    assert asked["study"] == ["lab"]
    assert asked["workload"] == ["iozone-paper"]
    assert asked["iozone-paper.minimum_record_kb"] == ["8"]
    assert asked["iozone-paper.maximum_record_kb"] == ["16"]
    assert asked["iozone-paper.minimum_file_kb"] == [str(GB)]
    assert sorted(asked["fs"]) == ["ext2.1", "ext3.1", "ext4.1", "xfs.1"]
    assert client.get(answer["Location"]).status_code == 200


def test_what_does_not_fit_on_the_lun_is_not_chosen(four):
    """As on 4 GiB: a file of 4 GB and what IOzone adds need 4.4 GiB there."""
    client = Client()
    client.force_login(person(Role.OPERATOR, "op"))
    now = timezone.now()
    worker = Worker.objects.create(name="lab9", started_at=now, seen_at=now)
    lun = Lun.objects.create(
        **{"worker": worker, "name": "small", "device": "/dev/sdz", "role": Lun.Role.DATA},
        **{"kind": Lun.Kind.DEVICE, "size_bytes": 4 * 2**30, "announced_at": now},
    )
    Series.objects.update(lun=lun)
    answer = client.get(f"/compare/order/?study=lab&{RANGE}")
    asked = parse_qs(urlsplit(answer["Location"]).query)
    assert asked["iozone-paper.maximum_file_kb"] == [str(2 * GB)]
    said = " ".join(str(one) for one in get_messages(answer.wsgi_request))
    assert "Not chosen: random write, 8 KB in 4 GB" in said
    assert "4 GiB" in said
    assert "What is ticked measures the others." in said

    Lun.objects.update(size_bytes=2**29)
    answer = client.get(f"/compare/order/?study=lab&{RANGE}")
    assert answer["Location"].startswith("/compare/?")
    said = " ".join(str(one) for one in get_messages(answer.wsgi_request))
    assert "on a larger LUN with New run" in said


def test_another_preset_that_fits_gives_a_test_without_sizes():
    demand = Demand("filemark_transactions@threads=8")
    [first] = measuring([demand]).workloads
    too_large = presets()[first].workload()
    [other] = measuring([demand], lambda one: "Too large." * (one == too_large)).workloads
    assert other.startswith("filemark")
    assert other != first
    nowhere = measuring([demand], lambda _: "Too large.")
    assert (nowhere.workloads, nowhere.refused) == ({}, ((demand, "Too large."),))


def test_nothing_missing_leads_back():
    database("ext4", 200, 100)
    client = Client()
    client.force_login(person(Role.OPERATOR, "op"))
    answer = client.get("/compare/order/?profile=oltp", follow=True)
    assert b"every contender has every cell" in answer.content


def test_ways_of_measuring_are_workloads_of_their_own_and_the_rest_is_told():
    found = measuring(
        [
            Demand("random_write", 8, GB),
            Demand("random_write", 16, GB, flushed=True),
            Demand("read", 64, 1024, cached=False),
            Demand("read@threads=8", 64, 1024),
            Demand("read", 12, 1024),
            Demand("mail_server"),
        ]
    )
    assert found.workloads["iozone-paper"]["include_flush"] is False
    assert {(one["direct_io"], one["include_flush"]) for one in found.workloads.values()} == {
        (False, False),
        (True, False),
        (False, True),
    }
    assert found.left == (
        Demand("read@threads=8", 64, 1024),
        Demand("read", 12, 1024),
        Demand("mail_server"),
    )


def test_a_test_without_sizes_is_measured_by_the_preset_that_gives_it():
    found = measuring([Demand("random_io_real@mb=4")])
    assert found.workloads == {"random-access-small": {}}
    assert found.left == ()
