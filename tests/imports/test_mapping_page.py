"""Tables of any kind: the mapping page, and mappings kept for the next file."""

import json
import re
from html import unescape
from operator import attrgetter

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from fsbench_web.accounts import tokens
from fsbench_web.accounts.models import AuditEntry, Team
from fsbench_web.imports.models import Import, ImportFile, SavedMapping
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.studies.models import Run
from tests.importing import import_files
from tests.measured import measured

pytestmark = pytest.mark.django_db
LAB = b"when;bs;MB;mode;speed\n2005;4;1;seq-w;1234,5\n2005;8;1;<b>seq-r</b>;99\n2005;8;1;seq-r;99\n"
GOOD = LAB.replace(b"<b>seq-r</b>", b"seq-q")
TARGET = {"study": "Lab", "filesystem": "ext3", "configuration": "ext3_wb"}
FORM = {
    "shape": "long",
    "header_line": "1",
    "delimiter": ";",
    "decimal": "",
    "record_unit": "KB",
    "file_unit": "MB",
    "column-record_size_kb": "1",
    "column-file_size_kb": "2",
    "column-test": "3",
    "column-value": "4",
    "constant-unit": "kB/s",
}


def upload(client: Client, data: bytes = GOOD, name: str = "lab.csv") -> str:
    answer = client.post("/imports/new/", {**TARGET, "file": SimpleUploadedFile(name, data)})
    assert answer.status_code == 302, answer.content.decode()
    return str(answer["Location"])


def page_of(where: str) -> str:
    return f"{where}files/{ImportFile.objects.latest('id').pk}/columns/"


def test_a_table_with_other_names_is_mapped_and_imported(signed_in: Client) -> None:
    where = upload(signed_in)
    text = signed_in.get(where).content.decode()
    assert "Say which column is what" in text
    assert page_of(where) in text
    assert signed_in.post(f"{where}commit/").status_code == 422
    text = signed_in.get(page_of(where)).content.decode()
    assert "seq-w" in text
    answer = signed_in.post(page_of(where), FORM)
    assert answer.status_code == 302, answer.content.decode()
    assert signed_in.get(where).status_code == 200
    assert not Run.objects.exists()
    signed_in.post(f"{where}commit/")
    fields = ("test", "record_size_kb", "file_size_kb", "value", "unit", "line")
    assert list(map(attrgetter(*fields), measured())) == [
        ("seq-w", 4, 1024, 1234.5, "KB/s", 2),
        ("seq-q", 8, 1024, 99, "KB/s", 3),
        ("seq-r", 8, 1024, 99, "KB/s", 4),
    ]


def test_a_cell_given_twice_leads_to_the_page_of_columns(signed_in: Client) -> None:
    data = b"test,value,unit,Attempt,mood\nboot,1,s,1,x\nboot,2,s,2,x\nboot,3,s,3,x\n"
    where = upload(signed_in, data)
    text = signed_in.get(where).content.decode()
    assert text.count("The same cell was already given") == 1
    assert 'data-code="cell_twice_unread"' in text
    assert f'is-primary"\n    href="{page_of(where)}">Say which column is what' in text
    form = {**FORM, "delimiter": ",", "constant-unit": "", "column-repeat": "3"}
    form |= {f"column-{name}": str(n) for n, name in enumerate(("test", "value", "unit"))}
    form |= {"column-record_size_kb": "", "column-file_size_kb": ""}
    answer = signed_in.post(page_of(where), form)
    assert answer.status_code == 302, answer.content.decode()
    signed_in.post(f"{where}commit/")
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 2, 3]


@pytest.mark.parametrize("column", ["9" * 5000, "300", "-1", "one"])
def test_a_column_that_no_table_has_is_refused(signed_in: Client, column: str) -> None:
    where = upload(signed_in)
    answer = signed_in.post(page_of(where), {**FORM, "column-value": column})
    assert answer.status_code == 422


def keep(client: Client, name: str = "Lab sheet", **form: str) -> SavedMapping:
    where = upload(client)
    answer = client.post(page_of(where), {**FORM, "name": name, **form})
    assert answer.status_code == 302, answer.content.decode()
    return SavedMapping.objects.latest("created_at")


def test_a_kept_mapping_is_offered_for_the_same_header_and_not_applied(signed_in: Client) -> None:
    saved = keep(signed_in, **{"constant-hardware": "Secret array"})
    where = upload(signed_in, GOOD.replace(b"1234,5", b"17"))
    text = signed_in.get(where).content.decode()
    assert "Read it\n  as “Lab sheet”" in text
    assert "read as “" not in text
    assert ImportFile.objects.latest("id").mapping is None
    assert signed_in.post(f"{where}commit/").status_code == 422
    assert signed_in.post(page_of(where), {"use": str(saved.pk)}).status_code == 302
    assert "read as “Lab sheet”" in signed_in.get(where).content.decode()
    signed_in.post(f"{where}commit/")
    assert Run.objects.get().series.hardware.name == "Secret array"  # type: ignore[union-attr]
    where = upload(signed_in, b"other;header;of\nwrite;1;2\nread;1;2\n")
    assert "Lab sheet" not in signed_in.get(where).content.decode()


@pytest.fixture
def other_clients(db: None) -> tuple[Client, Client]:
    """A member of ada's team, and somebody else."""
    team = Team.objects.create(name="Storage")
    team.members.add(User.objects.get_or_create(username="ada")[0])
    clients = []
    for name in ("mate", "eve"):
        client = Client()
        client.force_login(User.objects.create_user(name))
        clients.append(client)
    team.members.add(User.objects.get(username="mate"))
    return clients[0], clients[1]


def test_nobody_else_sees_uses_or_forgets_a_mapping(
    signed_in: Client, other_clients: tuple[Client, Client]
) -> None:
    saved = keep(signed_in, **{"constant-hardware": "Secret array"})
    for other in other_clients:
        where = upload(other)
        for page in (where, page_of(where)):
            text = other.get(page).content.decode()
            assert "Lab sheet" not in text
            assert "Secret array" not in text
        for action in ("use", "forget"):
            assert other.post(page_of(where), {action: str(saved.pk)}).status_code == 404
        assert ImportFile.objects.latest("id").mapping is None
    assert signed_in.post(page_of(upload(signed_in)), {"forget": str(saved.pk)}).status_code == 302
    assert not SavedMapping.objects.exists()


def test_nobody_overwrites_anothers_units(
    signed_in: Client, other_clients: tuple[Client, Client]
) -> None:
    keep(signed_in, team="Storage")
    for other in other_clients:
        keep(other, **{"constant-unit": "MB/s"})
    units = SavedMapping.objects.values_list("created_by__username", "mapping__constants__unit")
    assert sorted(units) == [("ada", "kB/s"), ("eve", "MB/s"), ("mate", "MB/s")]
    keep(signed_in, **{"constant-unit": "s", "team": "Storage"})
    assert SavedMapping.objects.count() == 3
    assert SavedMapping.objects.get(created_by__username="ada").mapping["constants"]["unit"] == "s"


def test_a_mapping_for_a_team_is_of_its_members_while_its_author_is_one(
    signed_in: Client, other_clients: tuple[Client, Client], client: Client
) -> None:
    mate, eve = other_clients
    refused = eve.post(page_of(upload(eve)), {**FORM, "name": "Mine", "team": "Storage"})
    assert (refused.status_code, SavedMapping.objects.count()) == (422, 0)
    saved = keep(signed_in, team="Storage")
    # Whose tables may be read by it must be able to find out who said so.
    entry = AuditEntry.objects.get(what="columns kept")
    assert (entry.thing, entry.detail) == ("columns Lab sheet", {"team": "Storage"})
    assert "Lab sheet" not in eve.get(upload(eve)).content.decode()
    where = upload(mate)
    assert "as “Lab sheet”, kept by ada for Storage" in mate.get(where).content.decode()
    assert mate.post(page_of(where), {"forget": str(saved.pk)}).status_code == 404
    assert mate.post(page_of(where), {"use": str(saved.pk)}).status_code == 302
    Team.objects.get().members.remove(User.objects.get(username="ada"))
    assert "Lab sheet" not in mate.get(upload(mate)).content.decode()
    assert mate.post(page_of(upload(mate)), {"use": str(saved.pk)}).status_code == 404
    assert "Lab sheet" in signed_in.get(upload(signed_in)).content.decode()


def test_the_api_offers_kept_columns_to_whom_they_belong(
    signed_in: Client, other_clients: tuple[Client, Client]
) -> None:
    saved = keep(signed_in)
    offers = []
    for client in (signed_in, other_clients[1]):
        where = upload(client).replace("/imports", "/api/v1/imports").rstrip("/")
        file = client.get(where).json()["files"][0]
        token = tokens.create(client.get("/").wsgi_request.user, "t")[1]
        answer = Client(headers={"Authorization": f"Bearer {token}"}).put(
            f"{where}/files/{file['id']}/columns",
            {"kept": saved.pk},
            content_type="application/json",
        )
        offers.append(([mapping["name"] for mapping in file["kept_columns"]], answer.status_code))
    assert offers == [(["Lab sheet"], 200), ([], 404)]


def test_a_mapping_that_does_not_fit_is_told_with_its_lines(signed_in: Client) -> None:
    where = upload(signed_in, LAB.replace(b";8;1;<b>seq-r</b>", b";<b>8</b>;1;seq-q"))
    answer = signed_in.post(page_of(where), FORM)
    assert answer.status_code == 422
    text = answer.content.decode()
    assert "line 3, column 2" in text
    assert "<b>8" not in text
    answer = signed_in.post(page_of(where), {**FORM, "column-value": ""})
    assert "Value is missing" in answer.content.decode()
    assert ImportFile.objects.get().mapping is None


def test_the_table_can_be_looked_at_otherwise(signed_in: Client) -> None:
    where = upload(signed_in)
    answer = signed_in.post(page_of(where), {**FORM, "delimiter": "|", "look": "1"})
    assert answer.status_code == 200
    assert "when;bs;MB;mode;speed" in answer.content.decode()
    assert ImportFile.objects.get().mapping is None


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"shape": "cube"},
        {"delimiter": '"'},
        {"delimiter": "ab"},
        {"column-value": "99999999999999999999"},
        {"column-value": "²"},
        {"header_line": "x"},
        {"sheet": "none"},
        {"file_unit": "miles"},
        {"constant-unit": "x" * 300},
        {"constant-repeat": "-1"},
        {"name": "x" * 101},
        {"decimal": "'"},
    ],
)
def test_no_form_breaks_the_page(signed_in: Client, form: dict[str, str]) -> None:
    where = upload(signed_in)
    fields = {**FORM, **form} if form else {}
    for look in ({}, {"look": "1"}):
        assert signed_in.post(page_of(where), {**fields, **look}).status_code in (200, 302, 422)


def test_matrices_and_tests_in_columns_are_mapped(signed_in: Client) -> None:
    where = upload(signed_in, b"speed;4;8\n64;1;2\n128;3;4\n")
    form = {"shape": "matrix", "header_line": "1", "delimiter": ";", "rows_are": "file"}
    answer = signed_in.post(page_of(where), {**form, "constant-unit": "KB/s"})
    assert "needs a test" in answer.content.decode()
    complete = {**form, "constant-unit": "KB/s", "constant-test": "write"}
    assert signed_in.post(page_of(where), complete).status_code == 302
    signed_in.post(f"{where}commit/")
    assert len(measured()) == 4
    where = upload(signed_in, b"file,untar,make\nx,1,2\n")
    form = {
        "shape": "tests",
        "header_line": "1",
        "delimiter": ",",
        "test-1": "untar",
        "unit-1": "s",
    }
    assert signed_in.post(page_of(where), {**form, "unit-2": "s"}).status_code == 302


def test_several_numbers_of_a_row_are_several_tests(signed_in: Client) -> None:
    where = upload(signed_in, b"fs,rw,bs,bw (MB/s),iops\next3,randread,4k,120.5,30848\n")
    assert "It needs your input" in signed_in.get(where).content.decode()
    page = " ".join(signed_in.get(page_of(where)).content.decode().split())
    assert "Still missing:" in page
    assert "a block size and no file size" in page
    assert '<option value="tests" selected>' in page
    assert "Guessed: &quot;bw (MB/s)&quot;, &quot;iops&quot;: several numbers of the test" in page
    assert 'name="meant-0"' in page
    form = {"shape": "tests", "header_line": "1", "delimiter": ",", "record_unit": "KB"}
    form |= {"column-filesystem": "0", "column-test": "1", "column-record_size_kb": "2"}
    form |= {"constant-file_size_kb": "1g", "test-3": "_bw", "unit-3": "MB/s"}
    form |= {"test-4": "_iops", "unit-4": "IOPS", "word-0": "randread", "meant-0": "random_read"}
    answer = signed_in.post(page_of(where), form)
    assert answer.status_code == 302, answer.content.decode()
    signed_in.post(f"{where}commit/")
    assert [
        (measurement.test, measurement.value, measurement.unit) for measurement in measured()
    ] == [
        ("random_read_bw", 120.5, "MB/s"),
        ("random_read_iops", 30848, "IOPS"),
    ]


def test_nobody_else_maps_an_upload(signed_in: Client, client: Client) -> None:
    where = upload(signed_in)
    client.force_login(User.objects.create_user("eve"))
    assert client.get(page_of(where)).status_code == 404
    assert client.post(page_of(where), FORM).status_code == 404
    row = Import.objects.get()
    signed_in.post(page_of(where), FORM)
    signed_in.post(f"{where}commit/")
    assert signed_in.get(f"/imports/{row.pk}/files/1/columns/").status_code == 404


def test_the_api_refuses_a_table_that_needs_a_person() -> None:
    with pytest.raises(ImportRefused) as refused:
        import_files([("lab.csv", GOOD)], **TARGET, user=None)
    assert "Say which column is what" in refused.value.problems[0].message


def test_columns_are_said_to_be_of_contenders_and_to_be_ignored(signed_in: Client) -> None:
    data = b"what;a (s);b (s);note\nuntar;5;7;x\n"
    where = upload(signed_in, data)
    form = {
        **{"shape": "tests", "header_line": "1", "delimiter": ";", "column-test": "0"},
        **{"test-1": "_", "unit-1": "s", "filesystem-of-1": "ext4", "configuration-of-1": "ext4"},
        **{"test-2": "_", "unit-2": "s", "filesystem-of-2": "xfs", "configuration-of-2": "xfs"},
        "ignored-3": "1",
    }
    assert signed_in.post(page_of(where), form).status_code == 302
    mapping = ImportFile.objects.get().mapping
    assert (mapping["ignored"], len(mapping["column_constants"])) == ([3], 2)
    text = signed_in.get(page_of(where)).content.decode()
    assert 'name="ignored-3" aria-label="Ignore column 4" value="1" checked' in text
    assert signed_in.post(f"{where}commit/").status_code == 302
    assert sorted((row.test, row.value) for row in measured()) == [("untar", 5), ("untar", 7)]
    assert set(Run.objects.values_list("series__configuration__label", flat=True)) == {
        "ext4",
        "xfs",
    }


def test_rows_of_one_cell_are_numbered_in_order(signed_in: Client) -> None:
    where = upload(signed_in, b"test,value,unit\nboot,3,s\nboot,1,s\n")
    assert 'data-code="cell_twice"' in signed_in.get(where).content.decode()
    form = {"shape": "long", "header_line": "1", "delimiter": ",", "repeats": "order"}
    form |= {"column-test": "0", "column-value": "1", "column-unit": "2"}
    assert signed_in.post(page_of(where), form).status_code == 302
    assert signed_in.post(f"{where}commit/").status_code == 302
    assert list(Run.objects.order_by("repeat").values_list("repeat", flat=True)) == [1, 2]


def test_a_date_of_a_table_is_kept_as_when_the_run_was_measured(signed_in: Client) -> None:
    rows = b"read,5,s,2024-03-02\nread,4,s,2024-03-01\n"
    where = upload(signed_in, b"test,value,unit,date\n" + rows)
    assert signed_in.post(f"{where}commit/").status_code == 302
    runs = Run.objects.order_by("repeat")
    assert [run.measured_source["text"] for run in runs] == ["2024-03-01", "2024-03-02"]


def test_all_columns_of_a_wide_table_are_seen_and_changed(signed_in: Client) -> None:
    names = [f"c{n}" for n in range(130)]
    numbers = [str(n + 1) for n in range(130)]
    data = f"{','.join(['fs', *names])}\n{','.join(['ext4', *numbers])}\n".encode()
    columns = page_of(upload(signed_in, data))
    text = signed_in.get(columns).content.decode()
    assert 'name="test-59"' in text
    assert 'name="test-60"' not in text
    form = {"shape": "tests", "header_line": "1", "delimiter": ",", "column-filesystem": "0"}
    form |= {"constant-unit": "MB/s", "test-3": "third", "first": "0", "rest": "{}"}
    page = signed_in.post(columns, {**form, "go": "120"}).content.decode()
    assert 'name="test-130"' in page
    assert 'name="test-3"' not in page
    rest = re.search('name="rest" value="([^"]*)"', page)
    assert rest is not None
    said = unescape(rest[1])
    assert json.loads(said)["tests"] == [[3, "third", ""]]
    form |= {"first": "120", "rest": said, "test-130": "last", "ignored-125": "1"}
    del form["test-3"]
    assert signed_in.post(columns, form).status_code == 302
    mapping = ImportFile.objects.latest("id").mapping
    assert mapping is not None
    assert mapping["tests"] == [[3, "third", ""], [130, "last", ""]]
    assert mapping["ignored"] == [125]
    odd = signed_in.post(columns, {**form, "rest": '{"tests": [[1, 2, 3]], "ignored": ["x"]}'})
    assert odd.status_code in (302, 422)
