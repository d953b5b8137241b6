"""The import pages: preview before commit, and scores that equal a computation by hand."""

from collections.abc import Callable
from datetime import timedelta
from math import fsum

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from fsbench_web.imports.models import Import, ImportFile
from fsbench_web.renderings import reading
from fsbench_web.studies.models import Artefact, Run, Score, Series, Study
from tests.measured import measured

pytestmark = pytest.mark.django_db
Sample = Callable[[str], bytes]
FIRST, SECOND = "iozone-3.489-tests-0-1-2", "iozone-3.489-tests-0-1-2-again"
TARGET = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4_noatime"}


def upload(client: Client, *contents: bytes, **fields: str) -> HttpResponse:
    files = [SimpleUploadedFile(f"run{n}.txt", data) for n, data in enumerate(contents, start=1)]
    return client.post("/imports/new/", {**TARGET, **fields, "file": files})  # type: ignore[return-value]


def matrix(data: bytes) -> list[dict[tuple[int, int], float]]:
    """The six columns of a sample, read by hand: a row without blanks is simply split."""
    columns: list[dict[tuple[int, int], float]] = [{} for _ in range(6)]
    for line in data.decode().splitlines():
        words = line.split()
        if len(words) == 8 and all(word.isdigit() for word in words):
            for column, word in zip(columns, words[2:], strict=True):
                column[int(words[1]), int(words[0])] = float(word)
    return columns


def test_the_scores_of_two_real_files_equal_a_computation_by_hand(
    signed_in: Client, sample: Sample
) -> None:
    answer = upload(signed_in, sample(FIRST), sample(SECOND))
    assert answer.status_code == 302
    assert not Run.objects.exists(), "a preview stores nothing"
    page = signed_in.get(answer["Location"])
    assert "Random write" in page.content.decode()
    signed_in.post(f"{answer['Location']}commit/")
    order = ["write", "rewrite", "read", "reread", "random_read", "random_write"]
    pairs = zip(matrix(sample(FIRST)), matrix(sample(SECOND)), strict=True)
    for test, (first, second) in zip(order, pairs, strict=True):
        both = [*first.values(), *second.values()]
        assert len(both) == 30
        means = {cell: (first[cell] + second[cell]) / 2 for cell in first}
        expected = {
            "maximum": max(both),
            "minimum": min(both),
            "total_average": sum(both) / 30,
            "target_average": _mean([m for (r, _), m in means.items() if r <= 32]),
            "ora_ta": _mean([m for (r, _), m in means.items() if 4 <= r <= 16]),
            "specfp_ta": _mean([m for (r, _), m in means.items() if r <= 4]),
        }
        expected["overall"] = fsum(expected.values())
        scores = dict(Score.objects.filter(test=test).values_list("category", "value"))
        assert scores == pytest.approx(expected, rel=1e-12)
    assert set(Score.objects.values_list("repeats", flat=True)) == {2}


def _mean(values: list[float]) -> float:
    return fsum(values) / len(values)


def test_a_preview_shows_what_every_run_would_be(signed_in: Client, sample: Sample) -> None:
    answer = upload(signed_in, sample(FIRST), sample(SECOND), hardware="Rack 3")
    text = signed_in.get(answer["Location"]).content.decode()
    for words in ("ext4_noatime, repeat 1", "ext4_noatime, repeat 2", "run2.txt", "IOzone 3.489"):
        assert text.count(words) >= 1, words
    assert text.count("Rack 3") == 3
    assert "not named" not in text
    assert not Study.objects.exists()


def test_a_preview_tells_what_a_file_lacks(signed_in: Client, sample: Sample) -> None:
    where = upload(signed_in, sample("iozone-3.489-no-space"))["Location"]
    text = signed_in.get(where).content.decode()
    assert "The file is not complete" in text
    assert "line 35: IOzone says &quot;write: No space left on device&quot;." in text


def test_what_to_do_about_several_runs_is_said_once(signed_in: Client) -> None:
    table = b"configuration,test,value,unit,repeat\next4,write,7,s,1\next4,write,8,s,2\n"
    signed_in.post(f"{upload(signed_in, table)['Location']}commit/", {"study": "Lab"})
    assert Run.objects.count() == 2
    text = signed_in.get(upload(signed_in, table)["Location"]).content.decode()
    assert text.count("These numbers are already there, as run") == 2
    assert text.count("A repeat hardly ever gives the very same numbers") == 1


def test_a_visitor_is_asked_to_sign_in(client: Client) -> None:
    answer = client.get("/imports/new/")
    assert answer.status_code == 302
    assert "/account/sign-in/" in answer["Location"]


def test_problems_are_shown_and_nothing_is_kept(signed_in: Client) -> None:
    answer = upload(signed_in, b"test,value,unit\n<b>untar</b>,x,s\n")
    assert answer.status_code == 422
    text = answer.content.decode()
    assert "line 2, column 2" in text
    assert "<b>untar" not in text
    assert 'value="ext4_noatime"' in text, "what was typed is still there"
    assert not Import.objects.exists()


def test_what_was_previewed_is_what_is_stored(signed_in: Client, sample: Sample) -> None:
    where = upload(signed_in, sample(FIRST))["Location"]
    answer = signed_in.post(f"{where}commit/", follow=True)
    assert "1 run stored" in answer.content.decode()
    assert len(measured(Run.objects.get())) == 90
    assert not ImportFile.objects.exists()


def test_a_commit_sent_twice_stores_once(signed_in: Client, sample: Sample) -> None:
    where = upload(signed_in, sample(FIRST))["Location"]
    for _ in range(2):
        assert signed_in.post(f"{where}commit/").status_code == 302
    assert Run.objects.count() == 1


def test_a_preview_that_no_longer_holds_is_refused(signed_in: Client, sample: Sample) -> None:
    places = [upload(signed_in, sample(FIRST))["Location"] for _ in range(2)]
    signed_in.post(f"{places[0]}commit/")
    answer = signed_in.post(f"{places[1]}commit/")
    assert answer.status_code == 422
    assert f"/runs/{Run.objects.get().pk}/" in answer.content.decode()
    assert Run.objects.count() == 1


def test_only_who_uploaded_sees_and_commits_a_preview(signed_in: Client, sample: Sample) -> None:
    where = upload(signed_in, sample(FIRST))["Location"]
    other = Client()
    assert other.get(where).status_code == 404
    other.force_login(User.objects.create_user("eve"))
    assert other.get(where).status_code == 404
    assert other.post(f"{where}commit/").status_code == 404
    assert other.post(f"{where}discard/").status_code == 404
    assert not Run.objects.exists()
    signed_in.post(f"{where}commit/")
    assert Client().get(where).status_code == 200, "a result can be read by all"


def test_a_file_of_no_known_tool_opens_what_fsbench_reads(signed_in: Client) -> None:
    answer = upload(signed_in, b"hello, world\n")
    assert answer.status_code == 422
    text = answer.content.decode()
    assert "not the output of a tool that fsbench reads (the import page" in text
    assert '<details class="card" open>\n  <summary>What fsbench reads' in text
    assert '<details class="card">' in signed_in.get("/imports/new/").content.decode()


def test_a_discarded_upload_is_gone(signed_in: Client, sample: Sample) -> None:
    where = upload(signed_in, sample(FIRST))["Location"]
    answer = signed_in.post(f"{where}discard/")
    assert answer["Location"] == "/imports/new/?" + "&".join(
        f"{name}={text}" for name, text in TARGET.items()
    )
    assert not ImportFile.objects.exists()
    assert signed_in.get(where).status_code == 404


def test_uploads_nobody_commits_go_after_a_day(signed_in: Client, sample: Sample) -> None:
    where = upload(signed_in, sample(FIRST))["Location"]
    Import.objects.update(created_at=timezone.now() - timedelta(hours=25))
    upload(signed_in, sample(SECOND))
    answer = signed_in.post(f"{where}commit/")
    assert answer.status_code == 404
    assert Import.objects.count() == 1


def test_a_published_study_is_refused_before_anything_is_kept(
    signed_in: Client, sample: Sample
) -> None:
    Study.objects.create(slug="lab", title="Lab", is_published=True)
    answer = upload(signed_in, sample(FIRST))
    assert answer.status_code == 422
    assert "published studies take no further runs" in answer.content.decode()


def test_raw_output_is_downloaded_as_it_came(signed_in: Client, sample: Sample) -> None:
    signed_in.post(f"{upload(signed_in, sample(FIRST))['Location']}commit/")
    artefact = Artefact.objects.get()
    answer = Client().get(f"/runs/{artefact.run_id}/artefacts/{artefact.pk}/")
    assert answer.content == sample(FIRST)
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Disposition"] == 'attachment; filename="run1.txt"'
    assert Client().get(f"/runs/{artefact.run_id + 1}/artefacts/{artefact.pk}/").status_code == 404


def test_a_preview_says_in_which_settings_files_differ(signed_in: Client, sample: Sample) -> None:
    files = [
        SimpleUploadedFile(f"{name}.txt", sample(f"mdtest-3.4-{name}-stat"))
        for name in ("easy", "hard")
    ]
    form = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "file": files}
    where = signed_in.post("/imports/new/", form)["Location"]
    text = signed_in.get(where).content.decode()
    assert text.count("Not a repeat of files with other settings.") == 2
    assert "Its settings: -L; -u." in text
    assert "Its settings: -e 3901; -t; -w 3901." in text
    preview = signed_in.get(f"/api/v1{where.rstrip('/')}").json()
    assert [file["own_settings"] for file in preview["files"]] == [
        *(["-L", "-u"], ["-e 3901", "-t", "-w 3901"])
    ]
    assert "-N 1" in preview["files"][0]["settings"]
    assert any(
        "-L; -u; -e 3901; -t; -w 3901" in warning["message"] for warning in preview["warnings"]
    )
    assert "mdtest on ext4: 2 workloads, which are no repeats of each other, by " in text
    signed_in.post(f"{where}commit/", form)
    assert sorted(Run.objects.values_list("repeat", flat=True)) == [1, 1]
    assert Series.objects.count() == 2


def test_columns_that_nothing_reads_are_left_out_with_a_tick(signed_in: Client) -> None:
    data = b"test,value,unit,mood,<b>\nuntar,1,s,good,1\nmake,0,s,bad,2\n"
    where = upload(signed_in, data)["Location"]
    text = signed_in.get(where).content.decode()
    assert "Column &quot;mood&quot; is not one that fsbench keeps." in text
    assert "columns\n  “mood”, “&lt;b&gt;”</span>" in text
    assert 'name="ignore-all" value="1">Import 1 run\n  without 2 columns</button>' in text
    file = ImportFile.objects.get()
    form = {"study": "Lab", "strict": "false", f"unread-{file.pk}": '["mood", "<b>"]'}
    form |= {f"{name}-{file.pk}": "ext3" for name in ("filesystem", "configuration")}
    form[f"take-{file.pk}"] = "1"
    refused = signed_in.post(f"{where}commit/", form)
    assert refused.status_code == 422
    assert 'data-code="column_unsaid"' in refused.content.decode()
    for odd in ("[", "3", '["\\u0000", "\\ud800", 5]', "[" * 3000):
        answer = signed_in.post(f"{where}check/", form | {f"unread-{file.pk}": odd})
        assert answer.status_code == 302, odd
    signed_in.post(f"{where}commit/", form | {f"ignore-{file.pk}": "1", "strict": "true"})
    text = signed_in.get(where).content.decode()
    assert "1 run stored" in text
    assert "line 3, column 2: 0 is kept as measured" in text
    assert "line 1: Column &quot;mood&quot; is not read, as the import says." in text


def test_the_button_says_which_column_it_leaves_out(signed_in: Client) -> None:
    where = upload(signed_in, b"test,value,unit,mood\nuntar,1,s,good\n")["Location"]
    text = signed_in.get(where).content.decode()
    assert "Import 1 run\n  without column “mood”</button>" in text
    file = ImportFile.objects.get()
    form = {"study": "Lab", "strict": "false", f"unread-{file.pk}": '["mood"]'}
    form |= {f"{name}-{file.pk}": "ext3" for name in ("filesystem", "configuration")}
    form[f"take-{file.pk}"] = "1"
    signed_in.post(f"{where}check/", form | {f"ignore-{file.pk}": "1"})
    text = signed_in.get(where).content.decode()
    assert "Import 1 run</button>" in text, "ticked and checked: nothing is left to be said"
    signed_in.post(f"{where}commit/", form | {"ignore-all": "1"})
    assert Run.objects.count() == 1


def test_columns_of_several_files_are_left_out_with_one_tick(signed_in: Client) -> None:
    texts = [f"test,value,unit,mood\nuntar,{n},s,good\n".encode() for n in (1, 2)]
    where = upload(signed_in, *texts)["Location"]
    assert "of all 2 files" in signed_in.get(where).content.decode()
    form = {"study": "Lab", "ignore-all": "1"}
    for file in ImportFile.objects.all():
        form |= {f"{name}-{file.pk}": "ext3" for name in ("filesystem", "configuration")}
        form |= {f"take-{file.pk}": "1", f"unread-{file.pk}": '["mood"]'}
    signed_in.post(f"{where}commit/", form)
    assert Run.objects.count() == 2
    assert [warning["lost"] for warning in Import.objects.get().report["warnings"]] == [
        False,
        False,
    ]


def test_files_whose_reading_is_stopped_are_refused_and_a_preview_says_so(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = b"test,value,unit\nwrite,1.5,KB/s\n"
    body = {"study": "s", "filesystem": "ext4", "configuration": "plain"}
    address = "/api/v1/imports/previews"
    kept = signed_in.post(address, {**body, "file": SimpleUploadedFile("a.csv", table)}).json()

    def stopped(*_: object) -> None:
        raise reading.ReadingStopped(reading.TOOK_TOO_LONG)

    monkeypatch.setattr(reading, "call", stopped)
    refused = signed_in.post(address, {**body, "file": SimpleUploadedFile("a.csv", table)})
    assert refused.status_code == 422
    assert [row["message"] for row in refused.json()["errors"]] == [reading.TOOK_TOO_LONG]
    assert Import.objects.count() == 1
    assert reading.TOOK_TOO_LONG in signed_in.get(f"/imports/{kept['id']}/").content.decode()
    assert signed_in.post(f"/imports/{kept['id']}/commit/").status_code == 422
    columns = f"/imports/{kept['id']}/files/{ImportFile.objects.get().pk}/columns/"
    assert reading.TOOK_TOO_LONG in signed_in.get(columns).content.decode()
