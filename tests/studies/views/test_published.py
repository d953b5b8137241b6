import copy
import csv
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from fsbench_web.catalog.configurations.records import unknown_configuration
from fsbench_web.core.scoring.categories import CATEGORIES, MEAN
from fsbench_web.figures import bars
from fsbench_web.studies.models import Score, Series, Study
from fsbench_web.studies.published.data import FOLDER, PublishedStudy, published_studies
from fsbench_web.studies.published.loader import SlugTaken, load
from fsbench_web.studies.series import series_for

SLUGS = {"unisys-2005", "galli-2001", "hilzinger-2006", "freenix-2002", "sun-2004"}
STUDIES = {study.slug: study for study in published_studies()}


def unisys() -> PublishedStudy:
    return copy.deepcopy(STUDIES["unisys-2005"])


def test_five_studies_ship() -> None:
    assert set(STUDIES) == SLUGS


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.slug)
def test_sections_speak_the_vocabulary(study: PublishedStudy) -> None:
    ids = [section["id"] for section in study.sections]
    assert len(ids) == len(set(ids))
    for section in study.sections:
        match section["kind"]:
            case "facts":
                assert all(len(item) == 2 for item in section["items"])
            case "table":
                assert section["rows"]
                assert all(len(row) == len(section["columns"]) for row in section["rows"])
                assert all(isinstance(cell, str) for row in section["rows"] for cell in row)
            case "list" | "missing":
                assert section["items"]
            case "chart":
                assert all(bound in {"", "more than"} for _, _, bound in section["rows"])
            case "combined":
                assert section["category"] in CATEGORIES


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.slug)
def test_scores_are_numbers_of_a_known_category(study: PublishedStudy) -> None:
    for row in study.scores:
        assert float(row.score) > 0
        assert row.category in {*CATEGORIES, MEAN}


def test_freenix_and_sun_have_no_invented_values() -> None:
    for slug in ("freenix-2002", "sun-2004"):
        study = STUDIES[slug]
        assert study.scores == []
        assert any(section["kind"] == "missing" for section in study.sections)
    freenix = next(s for s in STUDIES["freenix-2002"].sections if s["kind"] == "missing")
    assert len(freenix["items"]) == 12


def test_unisys_has_the_appendix_and_the_configuration_beside_it() -> None:
    rows = STUDIES["unisys-2005"].scores
    printed = [row for row in rows if row.printed]
    assert len(printed) == 210
    assert {row.configuration for row in printed if row.configuration} == {
        "jfs_noatime",
        "ext3_wb_noatime_dl",
        "jfs_xj_noop",
        "ext3_wb_noatime_dl_xj",
        "jfs_xj",
    }
    (beside,) = [row for row in rows if not row.printed]
    assert (beside.configuration, beside.score) == ("jfs_xj_dl", "639206.53")


def test_printed_overall_scores_need_all_six_categories() -> None:
    # A category's best score may be of another configuration, so the six are an upper bound.
    best: dict[tuple[str, str], dict[str, float]] = {}
    for row in STUDIES["unisys-2005"].scores:
        if row.printed:
            best.setdefault((row.test, row.filesystem), {})[row.category] = float(row.score)
    assert len(best) == 30
    for scores in best.values():
        overall = scores.pop("overall")
        assert len(scores) == 6
        assert overall <= sum(scores.values()) + 0.02
        assert overall > sum(scores.values()) - scores["specfp_ta"]


def test_file_system_creation_states_one_number_and_two_bounds() -> None:
    section = next(s for s in STUDIES["unisys-2005"].sections if s["id"] == "creation")
    rows = {name: (value, bound) for name, value, bound in section["rows"]}
    assert rows == {
        "jfs": ("2.04", ""),
        "ext2": ("240", "more than"),
        "ext3": ("240", "more than"),
        "reiser3": (None, ""),
        "xfs": (None, ""),
    }


def test_hilzingers_two_rows_from_the_text_keep_their_provenance() -> None:
    section = next(s for s in STUDIES["hilzinger-2006"].sections if s["id"] == "printed")
    where = {row[2]: row[4] for row in section["rows"] if row[0] == "SUSE 10.0"}
    assert where["reiser3_default_atime"].startswith("running text")
    assert where["reiser4"].startswith("running text")
    assert [row[4] for row in section["rows"]].count("table 2") == 5
    assert all(row.repeats is None for row in STUDIES["hilzinger-2006"].scores)


def test_gallis_printed_seconds_and_scores_are_the_same_numbers() -> None:
    study = STUDIES["galli-2001"]
    section = next(s for s in study.sections if s["id"] == "printed")
    printed = sorted(float(cell) for row in section["rows"] for cell in row[4:])
    assert printed == sorted(float(row.score) for row in study.scores)
    assert {row.repeats for row in study.scores} == {3}


def test_csv_files_have_no_stray_columns() -> None:
    for path in FOLDER.glob("*/scores.csv"):
        with path.open(newline="") as file:
            assert all(None not in row for row in csv.DictReader(file)), path


@pytest.mark.django_db
def test_loading_twice_changes_nothing() -> None:
    call_command("load_published", stdout=StringIO())
    before = list(Score.objects.order_by("id").values())
    second = StringIO()
    call_command("load_published", stdout=second)
    assert second.getvalue() == ""
    assert list(Score.objects.order_by("id").values()) == before
    assert Study.objects.filter(is_published=True).count() == 5


@pytest.mark.django_db
def test_a_second_load_only_reads(django_assert_max_num_queries) -> None:
    load(unisys())
    with django_assert_max_num_queries(40):
        assert load(unisys()) is False


@pytest.mark.django_db
def test_printed_digits_and_repeats_are_kept() -> None:
    load(unisys())
    score = Score.objects.get(
        test="write", category="maximum", series__configuration__filesystem="ext3"
    )
    assert score.value == 333045.0
    assert score.repeats == 2
    assert score.origin == "published"
    assert score.published == {
        "best": False,
        "delta1_percent": "51.88",
        "delta2_percent": "-107.80",
    }


@pytest.mark.django_db
def test_only_configurations_that_the_paper_names_are_known() -> None:
    load(unisys())
    series = Series.objects.filter(study__slug="unisys-2005").select_related("configuration")
    by_label = {s.configuration.label: s.configuration for s in series if s.configuration.is_known}
    assert set(by_label) == {
        *("ext3_wb_noatime_dl", "ext3_wb_noatime_dl_xj"),
        *("jfs_noatime", "jfs_xj", "jfs_xj_noop", "jfs_xj_dl"),
    }
    assert by_label["ext3_wb_noatime_dl_xj"].external_journal
    assert by_label["ext3_wb_noatime_dl_xj"].scheduler == "mq-deadline"
    assert (by_label["jfs_xj_noop"].scheduler, by_label["jfs_xj_noop"].external_journal) == (
        "none",
        True,
    )
    unknown = {s.configuration.label for s in series if not s.configuration.is_known}
    assert unknown == {"ext2", "ext3", "jfs", "reiser3", "xfs"}


@pytest.mark.django_db
def test_a_label_that_a_later_release_knows_moves_its_scores() -> None:
    """As in a database of the release that knew no JFS: nothing is doubled, nothing left behind."""
    load(unisys())
    study = Study.objects.get(slug="unisys-2005")
    count = Score.objects.filter(series__study=study).count()
    current = study.series.get(configuration__label="jfs_xj_noop")
    old = series_for(
        study,
        unknown_configuration("jfs", "jfs_xj_noop"),
        hardware=current.hardware,
        kernel=current.kernel,
        distribution=current.distribution,
    )
    current.scores.update(series=old)
    current.delete()
    assert load(unisys()) is True
    assert Score.objects.filter(series__study=study).count() == count
    assert not study.series.filter(pk=old.pk).exists()
    assert study.series.get(configuration__label="jfs_xj_noop").configuration.is_known
    assert load(unisys()) is False


@pytest.mark.django_db
def test_changed_data_updates_in_place() -> None:
    load(unisys())
    ids = set(Score.objects.values_list("id", flat=True))
    changed = unisys()
    changed.scores[0] = replace(changed.scores[0], score="333046.00")
    removed = changed.scores.pop()
    assert load(replace(changed, title="Another title")) is True
    assert Study.objects.get(slug="unisys-2005").title == "Another title"
    first = changed.scores[0]
    stored = Score.objects.get(
        test=first.test, category=first.category, series__configuration__filesystem=first.filesystem
    )
    assert stored.value == 333046.0
    assert set(Score.objects.values_list("id", flat=True)) < ids
    assert not Series.objects.filter(configuration__label=removed.configuration).exists()


@pytest.mark.django_db
def test_other_studies_are_never_touched() -> None:
    own = Study.objects.create(slug="mine", title="Mine")
    mine = Study.objects.create(slug="unisys-2005", title="My own name for it")
    with pytest.raises(SlugTaken, match="unisys-2005"):
        load(unisys())
    complaint = StringIO()
    call_command("load_published", stdout=StringIO(), stderr=complaint)
    assert "unisys-2005" in complaint.getvalue()
    assert Study.objects.filter(is_published=True).count() == 4
    for study in (own, mine):
        stored = Study.objects.get(pk=study.pk)
        assert (stored.title, stored.is_published) == (study.title, False)


@pytest.mark.django_db
def test_a_study_knows_all_systems_that_it_names(client: Client) -> None:
    load(STUDIES["freenix-2002"])
    load(unisys())
    systems = {
        slug: list(Study.objects.get(slug=slug).systems.order_by("id").values_list("slug"))
        for slug in ("freenix-2002", "unisys-2005")
    }
    assert systems == {
        "freenix-2002": [(f"freenix-2002-{size}",) for size in ("small", "medium", "large")],
        "unisys-2005": [("unisys-2005-es7000",)],
    }
    page = client.get("/hardware/freenix-2002-large/").content.decode()
    assert "Filesystem Performance and Scalability in Linux 2.4.17" in page
    assert "Nothing yet" not in page
    assert client.get("/hardware/").content.decode().count("1 study") == 4
    assert len(client.get("/api/v1/studies/freenix-2002").json()["hardware"]) == 3


@pytest.mark.django_db(transaction=True)
def test_two_starts_at_once_load_once() -> None:
    def start(_: int) -> None:
        try:
            call_command("load_published", stdout=StringIO())
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(start, range(2)))
    assert Study.objects.count() == 5
    assert Score.objects.filter(series__study__slug="unisys-2005").count() == 211


def test_every_chart_can_be_drawn() -> None:
    for study in STUDIES.values():
        for section in study.sections:
            if section["kind"] == "chart":
                values = [None if v is None else float(v) for _, v, _ in section["rows"]]
                bounds = [bool(bound) for _, _, bound in section["rows"]]
                names = [name for name, _, _ in section["rows"]]
                figure = bars.stated_values(
                    names, values, bounds, section["unit"], section["title"]
                )
                assert json.dumps(figure.to_plotly_json())
