"""Imports of much work: stored in the background, whole or not at all."""

import io
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from operator import attrgetter
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from fsbench_web.imports import queue
from fsbench_web.imports.models import Import, ImportedFile, ImportFile, ImportState, RunContent
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.imports.sources import Target
from fsbench_web.imports.storing import commit, numbering
from fsbench_web.platform import limits
from fsbench_web.studies.models import Artefact, Run, Score, Series, Study
from fsbench_web.studies.scores import ingest
from tests.importing import import_files
from tests.measured import measured

pytestmark = pytest.mark.django_db
HEADER = "filesystem,configuration,repeat,test,record_size_kb,file_size_kb,value,unit\n"
TARGET: dict[str, Any] = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}


@pytest.fixture(autouse=True)
def little_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_RUNS_STORED", 0)


def table(repeats: int = 3, start: int = 1) -> bytes:
    """Two file systems; the second lacks cells in one repeat; one test has no sizes."""
    rows = [HEADER]
    for repeat in range(start, start + repeats):
        for name in ("ext4", "xfs"):
            for record in (1, 4, 16, 64):
                for file in (64, 2048, 4096):
                    if (name, repeat, record) == ("xfs", 2, 16):
                        continue
                    value = repeat * 1000 + record * 7.25 + file
                    if (name, record, file) == ("ext4", 64, 64):
                        value = 6_400_000 / repeat  # 10 to 30 ticks of the clock.
                    rows.append(
                        f"{name},{name}_noatime,{repeat},write,{record},{file},{value},KB/s\n"
                    )
            rows.append(f"{name},{name}_noatime,{repeat},untar,,,{repeat + 0.5},s\n")
    return "".join(rows).encode()


def content() -> list[tuple[Any, ...]]:
    runs = Run.objects.select_related("series__configuration").in_bulk()
    fields = ("test", "load", "record_size_kb", "file_size_kb", "value", "unit", "line", "samples")
    rows = []
    for measurement in measured():
        run = runs[measurement.run_id]
        values = attrgetter(*fields, "flags")(measurement)
        rows.append((run.series.configuration.label, run.repeat, *values))
    return sorted(rows, key=repr)


def scores() -> list[tuple[Any, ...]]:
    fields = ("series__configuration__label", "test", "category", "value", "unit", "repeats")
    sure = ("half_width", "half_width_percent")
    more = ("cells", "cells_expected", "flags", "origin", "selection", "left_out")
    rows = list(Score.selections.values_list(*fields, *sure, *more, "run_ids"))
    repeat_of = dict(Run.objects.values_list("pk", "repeat"))
    # Keys of runs differ from import to import; their repeats do not.
    return sorted(((*row[:-1], [repeat_of[pk] for pk in row[-1]]) for row in rows), key=repr)


def test_it_stores_numbers_flags_and_scores() -> None:
    result = import_files([("t.csv", table())], **TARGET, user=None)
    assert ingest.artefact_bytes(Artefact.objects.get()) == table()
    assert len(result.runs) == 6
    assert len(content()) == 75
    assert len(measured(flags=["clock", "spike"])) == 3
    assert len([measurement for measurement in measured() if measurement.flags is not None]) == 3


def test_scores_from_columns_are_those_of_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    import_files([("t.csv", table())], **TARGET, user=None)
    fresh = scores()
    for limit in (ingest.MOST_AT_ONCE, 5):
        monkeypatch.setattr(ingest, "MOST_AT_ONCE", limit)
        for series in Series.objects.all():
            ingest.rescore(series)
        assert scores() == fresh


def test_more_repeats_are_added_and_the_same_numbers_refused() -> None:
    import_files([("t.csv", table(2))], **TARGET, user=None)
    import_files([("u.csv", table(2, start=3))], **TARGET, user=None)
    assert set(Score.objects.values_list("repeats", flat=True)) == {4}
    before = content()
    unnumbered = table(1).replace(b",repeat,", b",note,")
    for data in (table(1), unnumbered):
        with pytest.raises(ImportRefused) as refused:
            import_files([("v.csv", data)], **TARGET, user=None)
        assert all("already there, as run" in p.message for p in refused.value.problems)
        assert [p.run_id is not None for p in refused.value.problems] == [True, True]
    assert content() == before


@pytest.mark.parametrize("padding", ["", "#" * 100])
def test_a_label_is_kept_as_labels_are_written(padding: str) -> None:
    rows = "XFS,XFS  NoAtime,1,a,,,1,s\next4,EXT4,1,a,,,2,s\n"
    import_files([("t.csv", (HEADER + rows + padding).encode())], **TARGET, user=None)
    labels = Series.objects.order_by("pk").values_list("configuration__label", flat=True)
    assert sorted(labels) == ["ext4", "xfs_noatime"]


def test_a_run_without_a_digest_is_known_too() -> None:
    import_files([("t.csv", table(1))], **TARGET, user=None)
    digests = {c.run_id: c.digest for c in RunContent.objects.all()}
    numbering.forget(list(digests))
    for existing in numbering.of_series(Series.objects.all()).values():
        assert {run.pk: digest for digest, run in existing.runs.items()}.items() <= digests.items()


@pytest.mark.parametrize(
    ("rows", "line", "words"),
    [
        ("ext4,ext4,1,write,4,64,1,KB/s\n" * 2, 3, "already given in line 2"),
        ("ext4,ext4,1,a,,,1,s\next4,ext4,1,a,,,2,s\n", 3, "already given in line 2"),
        ("ext4,ext4,,a,,,1,s\nEXT4,ext4,,a,,,1,s\n", 3, "already given in line 2"),
        ("ext4,ext4,1,a,,,1,bananas\n", 2, "bananas"),
        ("ext4,ext4,1,a,,,1,s\next4,ext4,2,a,,,1,min\n", None, "measured in s and in min"),
        ("ext4,ext4,1,a,,,1,s\next4,ext4,2,a,4,64,1,s\n", None, "values with sizes and values"),
        ("ext4,xfs,1,a,,,1,s\n", 2, "is one of xfs"),
        ("ext4,Ä,1,a,,,1,s\n", 2, "is not a label"),
    ],
)
def test_what_cannot_be_is_refused_whole(rows: str, line: int | None, words: str) -> None:
    data = (HEADER + rows + "#" * 100).encode()
    with pytest.raises(ImportRefused) as refused:
        import_files([("t.csv", data)], **TARGET, user=None)
    assert words in refused.value.problems[0].message
    assert refused.value.problems[0].line == line
    assert not Study.objects.exists()
    assert not Import.objects.exists()


def test_repeats_that_a_table_numbers_may_be_equal() -> None:
    """As in small tables: who numbers them says that they are several."""
    rows = "".join(f"ext4,ext4,{n},mkfs,,,{value},s\n" for n, value in ((1, 2), (2, 2), (3, 3)))
    data = (HEADER + rows + "#" * 100).encode()
    import_files([("t.csv", data)], **TARGET, user=None)
    assert list(Run.objects.order_by("repeat").values_list("repeat", flat=True)) == [1, 2, 3]
    score = Score.objects.get()
    assert (score.repeats, score.value) == (3, pytest.approx(7 / 3))
    assert score.half_width is not None
    more = (HEADER + "ext4,ext4,4,mkfs,,,2,s\n" + "#" * 100).encode()
    import_files([("u.csv", more)], **TARGET, user=None)
    with pytest.raises(ImportRefused, match="already there"):
        import_files([("t.csv", data)], **TARGET, user=None)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("ext4,ext4,2,a,,,1e31,s", "too large"),
        ("ext4,ext4,1000001,a,,,1,s", "0 to 1,000,000"),
        (f"ext4,ext4,{'9' * 500},a,,,1,s", "0 to 1,000,000"),
    ],
)
def test_numbers_beyond_all_bounds_are_refused(row: str, words: str) -> None:
    """In a row that is read at a glance, because the one before it was like it."""
    data = f"{HEADER}ext4,ext4,1,a,,,1,s\n{row}\n{'#' * 100}".encode()
    with pytest.raises(ImportRefused) as refused:
        import_files([("t.csv", data)], **TARGET, user=None)
    [problem] = refused.value.problems
    assert (words in problem.message, problem.line) == (True, 3)


def test_two_names_with_one_address_are_not_one_hardware() -> None:
    rows = [f"ext4,ext4,,a,,,1,s,{name}\n" for name in ("C", "C++")]
    header = HEADER.replace("unit", "unit,hardware")
    import_files([("t.csv", (header + rows[0] + "#" * 100).encode())], **TARGET, user=None)
    with pytest.raises(ImportRefused, match="choose another name"):
        import_files([("u.csv", (header + rows[1] + "#" * 100).encode())], **TARGET, user=None)


# ---- in the background ----


def upload(client: Client, data: bytes, **fields: str) -> str:
    target = {"study": "Lab", **fields, "file": SimpleUploadedFile("t.csv", data)}
    answer = client.post("/imports/new/", target)
    assert answer.status_code == 302, answer.content.decode()
    return str(answer["Location"])


def work() -> None:
    """What the importer does with what waits now."""
    while (row := queue.claim()) is not None:
        queue.work_on(row, threading.Event())


@pytest.fixture
def importing(transactional_db: None) -> Client:
    """A signed-in client; the importer's thread that tells the progress sees what it stores."""
    client = Client()
    client.force_login(User.objects.create_user("ada"))
    return client


def test_it_is_previewed_and_stored_by_the_importer(importing: Client) -> None:
    where = upload(importing, table(), source="ACME")
    page = importing.get(where)
    text = page.content.decode()
    assert page.status_code == 200
    assert "6 runs in 1" in text
    assert ">69<" in text, "values of write"
    assert "ACME" in text
    assert not Run.objects.exists()
    importing.post(f"{where}commit/")
    followed = {"HTTP_HX_REQUEST": "true"}
    assert 'id="import-progress"' in importing.get(where, **followed).content.decode()
    assert "Storing many runs or scores" in importing.get(where).content.decode()
    work()
    assert "6 runs stored" in importing.get(where).content.decode()
    assert importing.get(where, **followed)["HX-Refresh"] == "true"
    assert (len(measured()), ImportFile.objects.count()) == (75, 0)
    assert Import.objects.get().runs.count() == 6
    assert ImportedFile.objects.count() == 1


def test_numbers_that_came_in_between_are_refused_and_linked(importing: Client) -> None:
    where = upload(importing, table(1))
    import_files([("other.csv", table(1))], study="Lab", user=None)
    importing.post(f"{where}commit/")
    work()
    text = importing.get(where).content.decode()
    assert f'href="/runs/{Run.objects.order_by("id")[0].pk}/"' in text
    assert Run.objects.count() == 2


def test_what_the_store_refused_is_asked_anew_after_a_correction(importing: Client) -> None:
    import_files([("other.csv", table(1))], study="C", user=None)
    where = upload(importing, table(2))
    importing.post(f"{where}commit/", {"study": "C++"})
    work()
    assert "choose another name" in importing.get(where).content.decode()
    page = importing.post(f"{where}check/", {"study": "C plus plus"}, follow=True)
    assert "choose another name" not in page.content.decode()
    assert importing.post(f"{where}commit/", {"study": "C plus plus"}).status_code == 302
    work()
    assert Study.objects.get(slug="c-plus-plus").series.count() == 2


def test_somebody_may_say_which_repeat_a_large_table_is(importing: Client) -> None:
    rows = "".join(f"write,4,{4 << n},{n + 1},KB/s\n" for n in range(10))
    data = f"test,record_size_kb,file_size_kb,value,unit\n{rows}".encode()
    fields = {"filesystem": "xfs", "configuration": "xfs"}
    for repeat in ("", "2"):
        where = upload(importing, data, **fields)
        file = ImportFile.objects.get()
        form = {f"take-{file.pk}": "1", f"repeat-{file.pk}": repeat}
        form |= {f"{name}-{file.pk}": text for name, text in fields.items()}
        importing.post(f"{where}commit/", form)
        work()
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 2]


def test_an_import_is_claimed_once(importing: Client) -> None:
    importing.post(f"{upload(importing, table())}commit/")
    first = queue.claim()
    assert first is not None
    assert queue.claim() is None
    again = queue.claim(timezone.now() + timedelta(seconds=120))
    assert again is not None
    assert again.claimed_by != first.claimed_by
    queue.work_on(first, threading.Event())
    assert Import.objects.get().state == ImportState.ACCEPTED, "the old claim writes nothing"
    queue.work_on(again, threading.Event())
    assert Import.objects.get().state == ImportState.DONE


def test_an_importer_that_lost_its_claim_stores_nothing(importing: Client) -> None:
    where = upload(importing, table())
    importing.post(f"{where}commit/")
    row = queue.claim()
    assert row is not None
    Import.objects.update(claimed_by="somebody else")
    queue.work_on(row, threading.Event())
    assert not Run.objects.exists()
    assert Import.objects.get().state == ImportState.ACCEPTED


def test_an_importer_that_is_stopped_leaves_the_import_to_the_next(importing: Client) -> None:
    where = upload(importing, table())
    importing.post(f"{where}commit/")
    row = queue.claim()
    assert row is not None
    stopping = threading.Event()
    stopping.set()
    queue.work_on(row, stopping)
    waiting = Import.objects.get()
    assert (waiting.state, waiting.claimed_by, waiting.report["attempts"]) == ("accepted", "", 0)
    assert not Run.objects.exists()
    work()
    assert Run.objects.count() == 6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"is_active": False}, "needs an account"),
        ({"is_staff": False}, "needs the role contributor"),
        (None, "is gone"),
    ],
    ids=["closed", "demoted", "deleted"],
)
def test_who_may_not_import_any_more_stores_nothing(
    importing: Client, settings: Settings, change: dict[str, bool] | None, words: str
) -> None:
    """The table waits for the importer, and its uploader's account is changed meanwhile."""
    settings.DEFAULT_ROLE = "viewer"
    User.objects.update(is_staff=True)
    where = upload(importing, table())
    assert importing.post(f"{where}commit/").status_code == 302
    if change is None:
        User.objects.all().delete()
    else:
        User.objects.update(**change)
    work()
    row = Import.objects.get()
    assert row.state == ImportState.PREVIEWED
    assert words in row.report["refused"][0]["message"]
    assert not Study.objects.exists()
    assert not Run.objects.exists()


def test_a_table_that_ends_every_importer_is_given_up(importing: Client) -> None:
    where = upload(importing, table())
    importing.post(f"{where}commit/")
    now = timezone.now()
    for attempt in range(queue.ATTEMPTS):
        assert queue.claim(now + timedelta(minutes=5 * attempt)) is not None
    assert queue.claim(now + timedelta(hours=1)) is None
    text = importing.get(where).content.decode()
    assert "The importer ended 3 times" in text
    assert importing.post(f"{where}discard/").status_code == 302


def test_an_unexpected_failure_is_told_and_stores_nothing(
    importing: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = upload(importing, table())
    importing.post(f"{where}commit/")

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(ingest, "replace_scores", fail)
    work()
    text = importing.get(where).content.decode()
    assert "no space left" in text
    assert not Run.objects.exists()
    assert not Study.objects.exists()


def test_nobody_else_sees_an_import_on_its_way(importing: Client, client: Client) -> None:
    where = upload(importing, table())
    client.force_login(User.objects.create_user("eve"))
    assert client.get(where).status_code == 404
    for path in ("commit/", "discard/", "check/"):
        assert client.post(f"{where}{path}").status_code == 404


def test_the_importer_killed_in_the_middle_is_followed_by_another(
    importing: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed with SIGKILL while it stores; the next one stores all, once."""
    rows = "".join(
        f"ext4,ext4,{n // 500 + 1},write,4,{n % 500 + 4},{n}.5,KB/s\n" for n in range(60_000)
    )
    where = upload(importing, (HEADER + rows).encode())
    importing.post(f"{where}commit/")
    name = connection.settings_dict["NAME"]
    url = (
        f"sqlite:///{name}"
        if connection.vendor == "sqlite"
        else os.environ["DATABASE_URL"].replace("/postgres?", f"/{name}?")
    )
    process = subprocess.Popen(
        [sys.executable, "manage.py", "importer"],
        env=os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.settings"},
    )
    try:
        deadline = time.monotonic() + 120
        while Import.objects.get().claimed_by == "" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert Import.objects.get().claimed_by, "the importer took it"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    if Import.objects.get().state == ImportState.ACCEPTED:
        assert not Run.objects.exists()
        assert queue.claim() is None
        Import.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
        work()
    assert len(measured()) == 60_000
    assert Run.objects.count() == 120


def test_the_command_ends_when_nothing_waits(importing: Client) -> None:
    importing.post(f"{upload(importing, table())}commit/")
    call_command("importer", once=True)
    assert Import.objects.get().state == ImportState.DONE


def test_a_large_table_that_grew_gives_its_new_runs_where_that_is_wanted() -> None:
    def import_new(text: bytes) -> commit.ImportResult:
        files = [("t.csv", io.BytesIO(text))]
        return commit.import_uploads(files, Target(**TARGET), None, only_new=True)

    runs = import_new(table()).runs
    nothing = import_new(table())
    assert (nothing.id, nothing.state, nothing.runs) == (None, "known", [])
    assert sorted(existing["run"] for existing in nothing.known) == sorted(runs)
    assert (Run.objects.count(), Import.objects.count()) == (6, 1)
    grown = import_new(table(repeats=4))
    assert (len(grown.runs), len(grown.known)) == (2, 6)
    step_by_step = scores()
    Study.objects.all().delete()
    import_files([("t.csv", table(repeats=4))], **TARGET, user=None)
    assert step_by_step == scores()


def test_columns_of_a_large_table_are_left_out_with_a_tick(importing: Client) -> None:
    data = b"test,value,unit,mood\nuntar,1,s,good\nmake,0,s,bad\n" + b"#" * 100
    where = upload(importing, data, filesystem="ext4", configuration="ext4")
    text = importing.get(where).content.decode()
    assert "Column &quot;mood&quot; is not one that fsbench keeps." in text
    assert "“mood”</span></label>" in text
    file = ImportFile.objects.get()
    form = {"study": "Lab", f"unread-{file.pk}": '["mood"]', f"configuration-{file.pk}": "ext4"}
    form |= {f"filesystem-{file.pk}": "ext4", f"take-{file.pk}": "1"}
    refused = importing.post(f"{where}commit/", form)
    assert refused.status_code == 422
    assert 'data-code="column_unsaid"' in refused.content.decode()
    importing.post(f"{where}commit/", form | {f"ignore-{file.pk}": "1", "strict": "true"})
    work()
    assert [warning["lost"] for warning in Import.objects.get().report["warnings"]] == [
        False,
        False,
    ]
    assert "0 is kept as measured" in importing.get(where).content.decode()
