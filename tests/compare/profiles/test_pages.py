"""A work profile on the pages: said first what was not measured, ordered with one click."""

import html
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from fsbench_web.accounts.models import Role
from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.models import FilesystemConfiguration, Lun, Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from fsbench_web.core.formats import ParsedValue
from fsbench_web.core.scoring.profiles.definition import RequiredCell
from fsbench_web.core.scoring.profiles.presets import LATEST
from fsbench_web.core.workloads.measuring import measuring_plan
from fsbench_web.core.workloads.registry import presets
from fsbench_web.studies.models import Series
from tests.accounts.people import person
from tests.compare.tables.test_work_profiles import GB, RANGE, database, make, without_z
from tests.studies.conftest import USABLE, worker_announcement
from tests.studies.scores.test_cells import finished

pytestmark = pytest.mark.django_db
OTHER_RANGE = RANGE.replace("8k-16k", "32k-32k")
"""No preset of fio has blocks of this size."""
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
    query = parse_qs(target.query)
    assert query["study"] == ["lab"]
    assert query["workload"] == ["iozone-paper"]
    assert query["iozone-paper.minimum_record_kb"] == ["8"]
    assert query["iozone-paper.maximum_record_kb"] == ["16"]
    assert query["iozone-paper.minimum_file_kb"] == [str(GB)]
    assert sorted(query["fs"]) == ["ext2.1", "ext3.1", "ext4.1", "xfs.1"]
    assert client.get(answer["Location"]).status_code == 200


@pytest.mark.parametrize("slug", LATEST)
def test_presets_that_fit_on_4_gib_cover_a_built_in_profile_in_full(slug):
    client = Client()
    client.force_login(person(Role.OPERATOR, "op"))
    page = client.get(f"/profiles/{slug}/").content.decode()
    address = re.search(r'href="(/runs/new/[^"]*)">Measure this<', page)[1]
    slugs = parse_qs(urlsplit(html.unescape(address)).query)["workload"]
    assert slugs
    for preset in map(presets().get, slugs):
        workload = preset.workload()
        assert workload.space_needed_bytes() < 3.5 * GB * 1024
        series = make("ext4", preset.slug, preset.tool, **preset.parameters)
        values = [
            ParsedValue(
                *(test, record, file, 100.0, "ops/s" if test.endswith("iops") else "KB/s", 1),
                load=load,
            )
            for test, load, record, file in workload.expected()
        ]
        finished(series, *values)
    answer = client.get(f"/api/v1/comparison?study=lab&profile={slug}").json()["answer"]
    assert answer["coverage"]["measured"] == answer["coverage"]["total"] > 1
    announced(4 * 2**30)
    form = client.get(html.unescape(address)).content.decode()
    assert re.findall(r'name="workload" value="([^"]+)" checked', form) == sorted(
        slugs, key=list(presets()).index
    )


def test_where_the_files_of_iozone_do_not_fit_direct_io_on_small_ones_completes_the_range(four):
    client = Client()
    client.force_login(person(Role.ADMINISTRATOR, "ada"))
    announced(4 * 2**30)
    query, messages = ordered(client, f"/compare/order/?study=lab&{RANGE}")
    assert query["workload"] == ["fio-8k-small", "fio-16k-small"]
    assert "Not chosen" not in messages


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
    answer = client.get(f"/compare/order/?study=lab&{OTHER_RANGE}")
    query = parse_qs(urlsplit(answer["Location"]).query)
    assert query["iozone-paper.maximum_file_kb"] == [str(2 * GB)]
    messages = " ".join(str(message) for message in get_messages(answer.wsgi_request))
    assert "Not chosen: random write, 32 KB in 4 GB" in messages
    assert "4 GiB" in messages
    assert "The ticked workloads measure the others." in messages

    Lun.objects.update(size_bytes=2**29)
    answer = client.get(f"/compare/order/?study=lab&{OTHER_RANGE}")
    assert answer["Location"].startswith("/compare/?")
    messages = " ".join(str(message) for message in get_messages(answer.wsgi_request))
    assert "on a larger LUN with New run" in messages


def announced(size_bytes: int, name: str = "scratch") -> Lun:
    """A LUN of a worker that can run everything, as it would say of itself."""
    can = worker_announcement().capabilities
    announcement = LunAnnouncement(
        name, "data", "device", "/dev/disk/by-id/x", size_bytes, [], ["none"]
    )
    worker = announce(
        worker_announcement(
            name=f"lab-{name}",
            luns=[announcement],
            capabilities=can | {"filesystems": dict.fromkeys(FILESYSTEMS, USABLE)},
        )
    )
    return worker.luns.get()


def ordered(client: Client, address: str) -> tuple[dict[str, list[str]], str]:
    """The form's address as an order has it, and what was said."""
    answer = client.get(address)
    target = urlsplit(answer["Location"])
    messages = " ".join(str(message) for message in get_messages(answer.wsgi_request))
    return parse_qs(target.query) | {"path": [target.path]}, messages


def test_without_a_lun_of_the_study_the_choice_is_made_for_the_one_the_form_would_take(four):
    client = Client()
    client.force_login(person(Role.ADMINISTRATOR, "ada"))
    lun = announced(4 * 2**30)
    address = f"/compare/order/?study=lab&{OTHER_RANGE}"
    query, messages = ordered(client, address)
    assert query["lun"] == [str(lun.pk)]
    assert query["iozone-paper.maximum_file_kb"] == [str(2 * GB)]
    assert "Not chosen: random write, 32 KB in 4 GB" in messages
    page = client.get(client.get(address)["Location"]).content.decode()
    assert 'value="iozone-paper" checked' in page
    assert "data-left-out" not in page

    Lun.objects.update(size_bytes=2**29)
    query, messages = ordered(client, address)
    assert query["path"] == ["/compare/"]
    assert "on a larger LUN with New run" in messages


def test_where_no_configuration_of_the_study_can_be_made_again_the_usual_ones_are_counted_with(
    four,
):
    """2 GB and what IOzone adds need 2.2 GiB, which would be there without a file system."""
    FilesystemConfiguration.objects.update(is_known=False)
    client = Client()
    client.force_login(person(Role.ADMINISTRATOR, "ada"))
    announced(int(2.21 * 2**30))
    query, _ = ordered(client, f"/compare/order/?study=lab&{OTHER_RANGE}")
    assert "fs" not in query
    assert query["iozone-paper.maximum_file_kb"] == [str(GB)]


def test_where_several_luns_can_be_used_the_form_leaves_out_what_does_not_fit_on_the_chosen_one(
    four,
):
    client = Client()
    client.force_login(person(Role.ADMINISTRATOR, "ada"))
    small, large = announced(4 * 2**30), announced(40 * 2**30, "large")
    address = client.get(f"/compare/order/?study=lab&{RANGE}")["Location"]
    # As the preset has it: 4 GB.
    assert "iozone-paper.maximum_file_kb" not in parse_qs(urlsplit(address).query)
    ticked = 'value="iozone-paper" checked'
    assert ticked in client.get(f"{address}&lun={large.pk}").content.decode()
    is_chosen = {"HX-Request": "true", "HX-Trigger-Name": "lun"}
    for headers in ({}, is_chosen):
        page = client.get(f"{address}&lun={small.pk}", headers=headers).content.decode()
        assert ticked not in page
        words = " ".join(page.split())
        assert "Not ticked, because it does not fit on scratch:" in words
        assert "need 4.4 GiB" in words
        assert "Nothing is ticked now. Tick a workload that fits" in words
    # Whoever has it ticked and changes something else makes its files smaller there.
    page = client.get(f"{address}&lun={small.pk}", headers={"HX-Request": "true"})
    assert ticked in page.content.decode()


def test_another_preset_that_fits_gives_a_test_without_sizes():
    demand = RequiredCell("filemark_transactions@threads=8")
    [first] = measuring_plan([demand]).workloads
    too_large = presets()[first].workload()
    [other] = measuring_plan(
        [demand], lambda workload: "Too large." * (workload == too_large)
    ).workloads
    assert other.startswith("filemark")
    assert other != first
    nowhere = measuring_plan([demand], lambda _: "Too large.")
    assert (nowhere.workloads, nowhere.refused) == ({}, ((demand, "Too large."),))


def test_nothing_missing_leads_back():
    database("ext4", 200, 100)
    client = Client()
    client.force_login(person(Role.OPERATOR, "op"))
    answer = client.get("/compare/order/?profile=oltp", follow=True)
    assert b"every entry has every cell" in answer.content


def test_ways_of_measuring_are_workloads_of_their_own_and_the_rest_is_told():
    plan = measuring_plan(
        [
            RequiredCell("random_write", 8, GB),
            RequiredCell("random_write", 16, GB, flushed=True),
            RequiredCell("read", 64, 1024, cached=False),
            RequiredCell("read@threads=8", 64, 1024),
            RequiredCell("read", 12, 1024),
            RequiredCell("mail_server"),
        ]
    )
    assert plan.workloads["iozone-paper"]["include_flush"] is False
    assert {
        (parameters["direct_io"], parameters["include_flush"])
        for parameters in plan.workloads.values()
    } == {
        (False, False),
        (True, False),
        (False, True),
    }
    assert plan.without_workload == (
        RequiredCell("read@threads=8", 64, 1024),
        RequiredCell("read", 12, 1024),
        RequiredCell("mail_server"),
    )


def test_a_test_without_sizes_is_measured_by_the_preset_that_gives_it():
    plan = measuring_plan([RequiredCell("random_io_real@mb=4")])
    assert plan.workloads == {"random-access-small": {}}
    assert plan.without_workload == ()
