"""Stored output as numbered lines, and read again by today's parsers."""

import gzip
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.imports import rereads as reading
from fsbench_web.imports.models import ImportedFile, RunContent
from fsbench_web.imports.problems import ImportRefused
from fsbench_web.studies.models import Artefact, Run, Score, Series, StateChange
from fsbench_web.studies.runs.shown import raw_text
from fsbench_web.studies.scores import ingest
from tests.core.formats.test_spreadsheet import LONG, book
from tests.importing import import_files
from tests.measured import change, measured

pytestmark = pytest.mark.django_db
Sample = Callable[[str], bytes]
FIRST = "iozone-3.489-tests-0-1-2"
TARGET: dict[str, Any] = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4"}


def store(name: str, data: bytes, **fields: Any) -> Artefact:
    import_files([(name, data)], **{**TARGET, **fields}, user=None)
    return Artefact.objects.latest("id")


def content() -> list[tuple[Any, ...]]:
    fields = ("run_id", "test", "record_size_kb", "file_size_kb", "value", "unit", "line")
    return sorted(map(attrgetter(*fields), measured()), key=repr)


def scores() -> list[tuple[Any, ...]]:
    return sorted(Score.objects.values_list("series_id", "test", "category", "value"))


def damage() -> None:
    """As if an older parser had read three numbers otherwise."""
    first, second, third, *_ = measured()
    damaged = [(first, first._replace(value=1.0)), (second, None), (third, third._replace(line=1))]
    change(lambda row: next((new for old, new in damaged if old == row), row))
    invented = ParsedValue("invented", None, None, 5, "KB/s", 2)
    ingest.store_values(Run.objects.get(pk=first.run_id), first.artefact, [invented])
    for series in Series.objects.all():
        ingest.rescore(series)


def test_reading_again_shows_the_difference_and_then_stores_it(
    signed_in: Client, sample: Sample
) -> None:
    artefact = store("a.txt", sample(FIRST))
    right, right_scores = content(), scores()
    damage()
    wrong = content()
    page = signed_in.get(f"/imports/reread/{artefact.pk}/")
    text = page.content.decode()
    assert "1 changed, 1 added, 1 removed" in text
    assert "1 more stay as they are" in text
    assert content() == wrong, "looking changes nothing"
    digest = reading.difference(artefact).digest
    answer = signed_in.post(f"/imports/reread/{artefact.pk}/", {"digest": digest})
    assert answer.status_code == 302
    assert content() == right
    assert scores() == right_scores
    last = StateChange.objects.order_by("id").last()
    assert last is not None
    assert last.reason == "a.txt was read again by ada: 1 added, 1 removed, 1 changed."
    assert (
        "Nothing would change" in signed_in.get(f"/imports/reread/{artefact.pk}/").content.decode()
    )


def test_what_was_not_shown_is_not_stored(signed_in: Client, sample: Sample) -> None:
    artefact = store("a.txt", sample(FIRST))
    digest = reading.difference(artefact).digest
    damage()
    wrong = content()
    answer = signed_in.post(f"/imports/reread/{artefact.pk}/", {"digest": digest})
    assert answer.status_code == 422
    assert "look at it again" in answer.content.decode()
    assert content() == wrong


def test_a_table_of_several_runs_is_read_again_run_by_run(ada: User) -> None:
    rows = "ext4,1,untar,5,s\next4,2,untar,6,s\next4_dl,,untar,7,s\n"
    artefact = store("t.csv", f"configuration,repeat,test,value,unit\n{rows}".encode())
    right = content()
    new = {6: 60, 7: None}
    change(lambda row: (value := new.get(row.value, row.value)) and row._replace(value=value))
    difference = reading.difference(artefact)
    kinds = (reading.CHANGED, reading.ADDED, reading.REMOVED)
    assert [*map(difference.total, kinds)] == [1, 1, 0]
    reading.apply(artefact.pk, difference.digest, ada)
    assert content() == right


def test_a_mapped_table_is_read_again_with_its_mapping(ada: User) -> None:
    from fsbench_web.core.formats.tables.mapping import Mapping

    mapping = Mapping(delimiter=",", columns={"test": 0, "value": 1}, constants={"unit": "s"})
    artefact = store("t.csv", b"test,value,unit\nuntar,5,min\n")
    ImportedFile.objects.update(mapping=mapping.to_json())
    [change] = reading.difference(artefact).changes[reading.CHANGED]
    assert change.new is not None
    assert change.new.unit == "s"


def test_another_mode_moves_the_run_to_its_own_series(ada: User, sample: Sample) -> None:
    artefact = store("a.txt", sample("iozone-3.489-direct-io"))
    other = store("b.txt", sample(FIRST))
    right = content()
    direct, plain = Run.objects.order_by("id")
    assert direct.series_id != plain.series_id
    Run.objects.filter(pk=direct.pk).update(series=plain.series, repeat=2)
    ingest.rescore(plain.series)
    difference = reading.difference(artefact)
    assert difference.changes_workload
    assert not reading.difference(other).changes_workload
    reading.apply(artefact.pk, difference.digest, ada)
    direct.refresh_from_db()
    assert direct.series_id != plain.series_id
    assert content() == right
    assert set(Score.objects.values_list("repeats", flat=True)) == {1}


@pytest.mark.parametrize("name", ["fio-3.33-json-plus", "fio-3.33-two-block-sizes-and-disk"])
def test_tests_of_fio_get_the_names_of_what_was_done(ada: User, sample: Sample, name: str) -> None:
    """Stored under the names of their jobs, as before: reading again changes names alone."""
    artefact = store("a.txt", sample(name))
    names = content()
    change(lambda row: row._replace(test=f"j_{row.test}"))
    found = reading.difference(artefact)
    assert not found.changes_workload
    assert found.total(reading.ADDED) == found.total(reading.REMOVED) == len(names)
    reading.apply(artefact.pk, found.digest, ada)
    assert content() == names


def test_output_that_is_refused_today_stays(signed_in: Client, sample: Sample) -> None:
    artefact = store("a.txt", sample(FIRST))
    Artefact.objects.update(content_gzip=gzip.compress(b"nothing of a tool"))
    before = content()
    answer = signed_in.get(f"/imports/reread/{artefact.pk}/")
    assert answer.status_code == 422
    assert "stay as they are" in answer.content.decode()
    with pytest.raises(ImportRefused):
        reading.apply(artefact.pk, "", User.objects.get())
    assert content() == before


def test_reading_again_needs_a_sign_in_and_an_artefact(client: Client, signed_in: Client) -> None:
    assert Client().get("/imports/reread/1/").status_code == 302
    assert signed_in.get("/imports/reread/1/").status_code == 404


def test_every_number_of_a_run_links_to_its_line(signed_in: Client, sample: Sample) -> None:
    artefact = store("a.txt", sample(FIRST).replace(b"Contributors", b"<i>Contributors"))
    run = artefact.run
    page = signed_in.get(f"/runs/{run.pk}/").content.decode()
    for measurement in measured():
        place = f"/runs/{run.pk}/artefacts/{artefact.pk}/lines/?line={measurement.line}"
        assert f'href="{place}#L{measurement.line}"' in page
    lines = signed_in.get(place).content.decode()
    assert f'<li id="L{measurement.line}">' in lines
    assert "&lt;i&gt;Contributors" in lines
    assert "<i>Contributors" not in lines


def test_the_runs_of_one_table_show_its_lines_all() -> None:
    store("t.csv", b"repeat,test,value,unit\n1,untar,5,s\n2,untar,6,s\n")
    artefact = Artefact.objects.get()
    for run in Run.objects.all():
        assert Client().get(f"/runs/{run.pk}/artefacts/{artefact.pk}/lines/").status_code == 200
        assert f"/runs/{run.pk}/artefacts/{artefact.pk}/lines/" in (
            Client().get(f"/runs/{run.pk}/").content.decode()
        )
    assert Client().get(f"/runs/9999/artefacts/{artefact.pk}/lines/").status_code == 404


def test_large_output_is_shown_in_pages() -> None:
    artefact = store("t.csv", b"test,value,unit\nuntar,1,s\n")
    # As long as that of thousands of runs, which need not be stored for it.
    Artefact.objects.update(content_gzip=gzip.compress(b"untar,1,s\n" * 2600))
    address = f"/runs/{artefact.run_id}/artefacts/{artefact.pk}/lines/"
    text = Client().get(f"{address}?line=2001").content.decode()
    assert '<li id="L2001">' in text
    assert '<li id="L2000">' not in text
    assert "Page 3 of 3" in text
    for query in ("?page=99", "?page=-1", "?page=x", "?line=99999999999"):
        assert Client().get(address + query).status_code == 200


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\r\nb\rc\nd", ["a", "b", "c", "d"]),
        ("\ufeffa\nb".encode("utf-16"), ["a", "b"]),
        (b"\xef\xbb\xbfa\xff\nb", ["a\ufffd", "b"]),
        (b"x" * 5000, ["x" * 2000 + "… (5000 characters)"]),
        (book({"D": LONG}), None),
        (b"\x09\x00binary", []),
    ],
)
def test_lines_are_counted_as_the_parsers_count_them(data: bytes, expected: list[str]) -> None:
    artefact = Artefact(content_gzip=gzip.compress(data))
    page = raw_text.page_of(artefact, 1)
    if expected is None:
        assert page.lines[1] == (2, "write\t4\t64\t1234.5\tKB/s")
    else:
        assert [text.removeprefix("\ufeff") for _, text in page.lines] == expected
        assert page.is_text == bool(expected)


def test_where_results_come_from_is_told_everywhere(signed_in: Client) -> None:
    result = import_files(
        [("t.csv", b"test,value,unit\nuntar,5,s\n")],
        **TARGET,
        hardware="Rack 3",
        source="ACME <b>labs",
        licence="CC BY 4.0",
        user=User.objects.get(),
    )
    for page in (f"/imports/{result.id}/", f"/runs/{result.runs[0]}/", "/studies/lab/?tab=runs"):
        text = Client().get(page).content.decode()
        for words in ("ACME &lt;b&gt;labs", "CC BY 4.0", "ada", f"/imports/{result.id}/", "Rack 3"):
            assert words in text or page.startswith("/imports/"), (page, words)


def test_changes_of_very_many_numbers_are_counted_and_some_listed(
    signed_in: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_LISTED", 3)
    rows = [f"write,4,{4 << n},{n + 1.5},KB/s,{repeat}" for n in range(5) for repeat in (1, 2)]
    head = "test,record_size_kb,file_size_kb,value,unit,repeat"
    artefact = store("t.csv", "\n".join([head, *rows]).encode())
    right = content()
    assert reading.difference(artefact).is_empty
    first = measured()[0].run_id
    change(lambda row: row._replace(value=9.0) if row.run_id == first else row)
    RunContent.objects.all().delete()
    found = reading.difference(artefact)
    assert found.total(reading.CHANGED) == 5
    assert [*found.runs] == [first]
    assert len(found.changes[reading.CHANGED]) == 3
    answer = signed_in.post(f"/imports/reread/{artefact.pk}/", {"digest": found.digest})
    assert (answer.status_code, content()) == (302, right)
