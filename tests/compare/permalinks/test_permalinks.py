"""A permalink shows the same numbers for good, and says what is newer."""

import json

import pytest
from django.contrib.auth.models import User

from fsbench_web.compare.models import Permalink
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.studies.models import Run, Study
from tests.compare.conftest import make_run, make_score
from tests.importing import import_files

pytestmark = pytest.mark.django_db


def changes(link: Permalink) -> records.Changes:
    return records.changes_since(link, records.read(link))


def test_it_keeps_the_tables_exactly(published_studies, jo):
    make_run(make_score("ext4", 0.1 + 0.2).series)
    link = records.pin(ComparisonSpec(), jo)
    pinned = records.read(Permalink.objects.get(key=link.key))
    assert pinned.tables == delta_tables(ComparisonSpec())
    assert pinned.is_intact
    assert not changes(link).has_any


def test_new_runs_change_nothing_and_are_told(client, jo):
    score = make_score("ext4", 100)
    make_run(score.series)
    link = records.pin(ComparisonSpec(), jo)
    before = client.get(f"/p/{link.key}/").content.decode()
    assert "still the latest" in before
    make_run(score.series)
    make_score("ext4", 150, repeats=2)
    after = client.get(f"/p/{link.key}/").content.decode()
    assert "100.00" in after
    assert "150.00" not in after
    assert "There are newer results." in after
    assert "1 newer run;" in after
    assert 'href="/compare/"' in after
    assert changes(link) == records.Changes(newer_runs=1, changed_rows=1)


def test_it_begins_with_the_answer_of_the_page_that_was_shared(client, jo):
    series = [make_score(name, value).series for name, value in (("ext4", 100), ("xfs", 150))]
    for measured in series:
        make_run(measured)
    spec = ComparisonSpec(studies=(series[0].study.slug,))
    live = client.get(f"/compare/?{spec.to_query()}").content.decode()
    link = records.pin(spec, jo)
    make_score("ext4", 900, repeats=2)
    page = client.get(f"/p/{link.key}/").content.decode()
    said = "No clear winner: xfs 1.50× ext4."
    assert said in live
    assert said in page
    assert page.index(said) < page.index('id="findings"')
    Permalink.objects.update(snapshot=link.snapshot.replace("100.0", "900.0"))
    assert said not in client.get(f"/p/{link.key}/").content.decode()


def test_a_newer_run_is_told_even_where_it_does_not_win(jo):
    make_score("ext4_fast", 100)
    link = records.pin(ComparisonSpec(), jo)
    make_run(make_score("ext4_slow", 10).series)
    assert changes(link) == records.Changes(newer_runs=1, changed_rows=0)


def test_a_row_that_is_flagged_now_or_not_the_best_any_more_is_different(client, jo):
    """The disk had drifted, as a reference showed later: these are not the latest numbers."""
    make_score("ext4", 100)
    make_score("xfs", 90)
    link = records.pin(ComparisonSpec(), jo)
    make_score("xfs", 90, flags=["drifted"])
    assert changes(link) == records.Changes(changed_rows=1)
    assert "still the latest" not in client.get(f"/p/{link.key}/").content.decode()
    make_score("xfs", 110)
    assert changes(link) == records.Changes(changed_rows=2)


@pytest.mark.parametrize(("query", "newer"), [("test=write", 0), ("test=read", 1), ("", 1)])
def test_a_newer_run_of_another_test_of_the_series_is_none(jo, query, newer):
    for test in ("write", "read"):
        assert import_one(test, 1).runs
    link = records.pin(ComparisonSpec.from_query(query), jo)
    assert not changes(link).has_any
    import_one("read", 2)
    assert (changes(link).newer_runs, bool(changes(link).changed_rows)) == (newer, bool(newer))
    import_one("write", 3)  # of the same repeat, and so of the same run
    assert changes(link).newer_runs == 1


def import_one(test, value):
    text = f"test,record_size_kb,file_size_kb,value,unit\n{test},4,64,{value},KB/s\n"
    arguments = {"study": "Lab", "filesystem": "ext4", "configuration": "ext4", "user": None}
    return import_files([("one.csv", text.encode())], **arguments)


def test_it_tells_runs_that_are_gone(jo):
    run = make_run(make_score("ext4").series)
    link = records.pin(ComparisonSpec(), jo)
    Run.objects.filter(pk=run.pk).delete()
    assert changes(link).gone_runs == 1


def test_runs_of_other_studies_are_no_news(jo):
    make_score("ext4", study="lab")
    link = records.pin(ComparisonSpec(studies=("lab",)), jo)
    make_run(make_score("xfs", study="other").series)
    assert not changes(link).has_any


def test_it_outlives_its_study(client, jo):
    make_score("ext4", 123456, study="lab")
    link = records.pin(ComparisonSpec(studies=("lab",)), jo)
    Study.objects.all().delete()
    answer = client.get(f"/p/{link.key}/")
    text = answer.content.decode()
    assert answer.status_code == 200
    assert "123,456.00" in text
    assert "There is no study &quot;lab&quot;" in text
    assert "Continue from here" not in text
    assert "123456.0" in client.get(f"/p/{link.key}/deltas.csv").content.decode()
    assert "123,456.00" in client.get(f"/p/{link.key}/charts/write/").content.decode()


def test_it_outlives_its_maker(client, jo):
    make_score("ext4")
    link = records.pin(ComparisonSpec(), jo)
    User.objects.all().delete()
    assert client.get(f"/p/{link.key}/").status_code == 200


def test_keys_cannot_be_guessed_and_differ(jo):
    make_score("ext4")
    make_score("ext4", test="read")
    first = records.pin(ComparisonSpec(), jo)
    second = records.pin(ComparisonSpec(tests=("read",)), jo)
    assert first.key != second.key
    assert len(first.key) >= 10


def test_the_same_view_keeps_its_address_until_its_numbers_change(jo):
    make_score("ext4", 1)
    first = records.pin(ComparisonSpec(), jo)
    assert records.pin(ComparisonSpec(), jo) == first
    assert records.pin(ComparisonSpec(), User.objects.create_user("al")) != first
    make_score("ext4", 2)
    assert records.pin(ComparisonSpec(), jo) != first


def test_a_changed_row_of_the_database_is_told(client, jo):
    make_score("ext4", 100)
    link = records.pin(ComparisonSpec(), jo)
    Permalink.objects.update(snapshot=link.snapshot.replace("100.0", "900.0"))
    assert "not those that were shared" in client.get(f"/p/{link.key}/").content.decode()
    # Rows of numbers have no room for a warning.
    response = client.get(f"/p/{link.key}/deltas.csv")
    assert response.status_code == 409
    assert "not those that were shared" in response.content.decode()
    assert "900" not in response.content.decode()


def test_the_snapshot_is_plain_json(jo):
    make_score("ext4", 100)
    content = json.loads(records.pin(ComparisonSpec(), jo).snapshot)
    assert content["version"] == 1
    assert content["tables"][0]["rows"][0]["score"] == 100.0


def test_a_snapshot_of_another_version_of_fsbench_is_read(client, jo):
    make_score("ext4", 100)
    link = records.pin(ComparisonSpec(), jo)
    content = json.loads(link.snapshot)
    [row] = content["tables"][0]["rows"]
    del row["distribution"]
    row["something_newer"] = content["tables"][0]["something_newer"] = 1
    Permalink.objects.update(snapshot=json.dumps(content))
    assert "100.00" in client.get(f"/p/{link.key}/").content.decode()


def test_sharing_leads_to_the_address(client, jo):
    make_score("ext4")
    client.force_login(jo)
    answer = client.post("/compare/pin/", {"query": "test=write"}, follow=True)
    [(address, _)] = answer.redirect_chain
    link = Permalink.objects.get()
    assert address == f"/p/{link.key}/"
    assert (link.query, link.created_by) == ("test=write", jo)
    assert f'value="http://testserver/p/{link.key}/"' in answer.content.decode()


def test_sharing_needs_an_account(client):
    make_score("ext4")
    answer = client.post("/compare/pin/", {"query": "test=write"})
    assert answer.status_code == 302
    assert answer["Location"].endswith("?next=/compare/%3Ftest%3Dwrite")
    assert not Permalink.objects.exists()


@pytest.mark.parametrize("query", ["study=nope", "by=x", "study=%00"])
def test_it_pins_nothing_that_cannot_be_shown(client, jo, query):
    client.force_login(jo)
    assert client.post("/compare/pin/", {"query": query}).status_code == 400
    assert not Permalink.objects.exists()


def test_it_pins_nothing_where_there_is_no_number(client, jo):
    make_score("ext4")
    client.force_login(jo)
    answer = client.post("/compare/pin/", {"query": "test=fread"}, follow=True)
    assert "nothing to pin" in answer.content.decode()
    assert not Permalink.objects.exists()


def test_sharing_is_a_post(client, jo):
    client.force_login(jo)
    assert client.get("/compare/pin/").status_code == 405


@pytest.mark.parametrize("path", ["", "deltas.csv", "charts/write/"])
def test_an_unknown_key_is_a_helpful_404(client, path):
    answer = client.get(f"/p/nosuchkey00/{path}")
    assert answer.status_code == 404
    assert "There is no permalink &quot;nosuchkey00&quot;" in answer.content.decode()


def test_keys_are_case_sensitive(client, jo):
    make_score("ext4")
    link = records.pin(ComparisonSpec(), jo)
    Permalink.objects.update(key="aBcDeFgHiJk")
    assert client.get("/p/aBcDeFgHiJk/").status_code == 200
    assert client.get("/p/abcdefghijk/").status_code == 404
    assert link.key != "abcdefghijk"


def test_sharing_keeps_how_the_tables_are_shown(client, jo):
    make_score("ext4", 100)
    make_score("xfs", 50)
    client.force_login(jo)
    view_query = "sort=-score&numbers=exact&column=score&column=runs&pin=runs&least=60&test=write"
    client.post("/compare/pin/", {"query": "test=write&sort=score", "view": view_query})
    link = Permalink.objects.get()
    assert link.view == "least=60&column=score&column=runs&pin=runs&numbers=exact"
    assert link.query == "test=write&sort=-score"
    answer = client.get(f"/p/{link.key}/")
    view = answer.context["table_view"]
    assert (view.columns, view.pinned, view.numbers) == (("score", "runs"), ("runs",), "exact")
    assert (view.least_percent, view.sort) == (60, "-score")
    text = answer.content.decode()
    assert "2 of 2 rows are not shown" in text
    # "Continue from here" shows the same in the same way; another choice holds, also of nothing.
    assert "&amp;least=60&amp;column=score" in text
    assert not client.get(f"/p/{link.key}/?least=").context["table_view"].is_filtered
    # A wiki has nothing to show hidden rows with.
    embedded = client.get(f"/p/{link.key}/embed/").content.decode()
    assert embedded.count("data-verdict=") == 2
    assert ">100.0<" in embedded


def test_another_view_is_another_link_and_a_wrong_one_is_refused(client, jo):
    make_score("ext4", 100)
    client.force_login(jo)
    for view in ("", "numbers=exact", "numbers=exact"):
        client.post("/compare/pin/", {"query": "test=write", "view": view})
    assert sorted(Permalink.objects.values_list("view", flat=True)) == ["", "numbers=exact"]
    sums = set(Permalink.objects.values_list("sha256", flat=True))
    assert len(sums) == 1  # the numbers are the same
    assert client.post("/compare/pin/", {"query": "", "view": "numbers=odd"}).status_code == 400
