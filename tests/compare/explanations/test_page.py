"""The page and the call that explain a table, and the way to them."""

import re
from dataclasses import replace

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.configurations.limits import LIMITS
from fsbench_web.compare.explanations.contenders import FITS, MOST_SERIES, setups, why_address
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.tables.delta_tables import delta_tables
from fsbench_web.core.activity.costs import COSTS, WAITS
from fsbench_web.core.activity.series import ActivityBuilder
from fsbench_web.studies.activity import records
from fsbench_web.studies.models import Run, RunState, Series, Study
from tests.compare.conftest import make_score

pytestmark = pytest.mark.django_db


def sampled(label: str, speed: float, **costs: float) -> Series:
    """A configuration with five finished runs in blocks, each a little different."""
    series = make_score(label, speed).series
    builder = ActivityBuilder()
    builder.begin(["data.writes"])
    builder.add(0, [1], is_edge=True)
    activity = builder.built(is_whole=True)
    assert activity is not None
    for number in range(5):
        run = Run.objects.create(
            series=series,
            repeat=number + 1,
            origin=Run.Origin.MEASURED,
            state=RunState.DONE,
            block=f"block {number}",
        )
        scattered = {name: value * (1 + 0.01 * number) for name, value in costs.items()}
        records.store(run, activity, scattered)
    return series


@pytest.fixture
def pair(db: None) -> tuple[Series, Series]:
    fast = sampled("xfs", 100.0, write_amplification=1.1, cpu_seconds_per_gib=4.0)
    return fast, sampled("ext4", 52.0, write_amplification=2.4, cpu_seconds_per_gib=4.0)


def address(*series: Series | int) -> str:
    chosen = "&".join(f"series={getattr(contender, 'pk', contender)}" for contender in series)
    return f"test=write&category=maximum&{chosen}"


def test_the_page_says_what_differs_and_that_it_is_an_association(
    pair: tuple[Series, Series], client: Client
) -> None:
    page = client.get(f"/compare/why/?{address(*pair)}").content.decode()
    assert "1 of 2 costs differs from" in page
    assert '<td class="num">2.13<span class="sub">' in page
    assert '<span class="badge">alike</span>' in page
    assert "These are associations" in page


def test_the_call_gives_the_same_with_its_intervals(
    pair: tuple[Series, Series], client: Client
) -> None:
    # The order in the address does not matter: the fastest is the reference.
    answer = client.get(f"/api/v1/explanations?{address(*reversed(pair))}").json()
    assert (answer["reference"]["label"], answer["reference"]["runs"]) == ("xfs", 5)
    (explanation,) = answer["explanations"]
    assert explanation["slower_percent"] == pytest.approx(48.0)
    first = explanation["differences"][0]
    assert (first["cost"], first["status"], first["blocks"]) == (
        "write_amplification",
        "differs",
        5,
    )
    assert first["ratio_low"] <= first["ratio"] <= first["ratio_high"]
    assert first["value"] == pytest.approx(2.4 * 1.02)


def test_a_study_that_is_hidden_stays_hidden(pair: tuple[Series, Series], client: Client) -> None:
    Study.objects.filter(pk=pair[0].study_id).update(visibility="private")
    assert client.get(f"/compare/why/?{address(*pair)}").status_code == 404
    assert client.get(f"/api/v1/explanations?{address(*pair)}").status_code == 404


@pytest.mark.parametrize(
    "query", ["", "series=1", "series=a&series=b", "series=99999999999999999999&series=%00"]
)
def test_an_address_of_no_two_configurations_is_answered(query: str, client: Client) -> None:
    assert client.get(f"/compare/why/?{query}").status_code == 404
    assert client.get(f"/api/v1/explanations?{query}").status_code in (404, 422)


def test_runs_without_samples_are_told(client: Client, db: None) -> None:
    series = [make_score(label, 5.0).series for label in ("xfs", "ext4")]
    page = client.get(f"/compare/why/?{address(*series)}").content.decode()
    assert "No samples from these runs." in page


def test_a_table_leads_to_its_explanation_where_its_runs_were_sampled() -> None:
    for place in range(MOST_SERIES + 3):
        make_score(f"ext{place}", 100.0 - place)
    (table,) = delta_tables(ComparisonSpec())
    assert why_address(table) == ""  # imported: they ran on no LUN of this site
    measured = tuple(row._replace(lun="scratch", run_ids=(1,)) for row in table.rows)
    table = replace(table, rows=measured)
    series_ids = why_address(table).split("series=")[1:]
    assert len(series_ids) == MOST_SERIES
    assert series_ids[0].rstrip("&") == str(table.rows[-1].series_id)  # the fastest
    assert series_ids[-1] == str(table.rows[0].series_id)  # and the slowest
    assert why_address(replace(table, test="write_amplification")) == ""


def test_what_was_set_up_differently_is_listed(client: Client, db: None) -> None:
    fast = sampled("ext4", 100.0, process_cpu_seconds_per_gib=1.0, write_amplification=1.0)
    slow = sampled("ext4_bfq", 60.0, process_cpu_seconds_per_gib=1.6, write_amplification=1.0)
    for series, scheduler in ((fast, "none"), (slow, "bfq")):
        series.configuration.scheduler = scheduler
        series.configuration.is_known = True
        series.configuration.save()
    page = client.get(f"/compare/why/?{address(fast, slow)}").content.decode()
    row = page.split('<th scope="row">I/O scheduler</th>')[1].split("</tr>")[0]
    assert re.findall("<td[^>]*>([^<]*)</td>", row) == ["", "differs", "bfq", "none"]
    (explanation,) = client.get(f"/api/v1/explanations?{address(fast, slow)}").json()[
        "explanations"
    ]
    assert explanation["ranked"] == ["process_cpu_seconds_per_gib"]
    (scheduler,) = (setup for setup in explanation["setup"] if setup["name"] == "scheduler")
    assert (scheduler["value"], scheduler["reference_value"]) == ("bfq", "none")
    assert "process_cpu_seconds_per_gib" in scheduler["fits"]


def test_limits_tell_contenders_apart(client: Client, db: None) -> None:
    fast = sampled("ext4", 100.0, wait_outside_device=2.0)
    slow = sampled("ext4_other", 30.0, wait_outside_device=70.0)
    Series.objects.filter(pk=slow.pk).update(
        machine={"limits": {"read_mib_s": 16}}, configuration=fast.configuration
    )
    answer = client.get(f"/api/v1/explanations?{address(fast, slow)}").json()
    (explanation,) = answer["explanations"]
    assert (
        explanation["contender"]["label"]
        == f"{answer['reference']['label']}, at most reads 16 MiB/s"
    )
    assert ("limit of reads, MiB/s", "16", "none") in [
        (setup["label"], setup["value"], setup["reference_value"]) for setup in explanation["setup"]
    ]


def test_what_is_known_of_options_is_of_options_that_there_are(db: None) -> None:
    keys = {option.key for spec in FILESYSTEMS.values() for option in spec.options}
    options = {name.removeprefix("option.") for name in FITS if name.startswith("option.")}
    assert options <= keys
    limits = {name.removeprefix("limits.") for name in FITS if name.startswith("limits.")}
    assert limits == set(LIMITS)
    assert {test for fits in FITS.values() for test in fits} <= {*COSTS, *WAITS}
    fast, slow = (sampled(label, 100.0, merged_share=1.0) for label in ("ext4", "ext4_j4m"))
    for series, size in ((fast, {}), (slow, {"journal_size_mb": "4"})):
        series.configuration.is_known, series.configuration.options = True, size
    (difference,) = setups(slow, fast)
    assert (difference.label, difference.value, difference.other) == (
        "Journal size (MiB)",
        "4",
        "default",
    )


def test_what_is_not_on_record_is_no_difference(client: Client, db: None) -> None:
    """An import that names only a label: nobody knows its options or its scheduler."""
    fast = sampled("ext4", 100.0, merged_share=10.0)
    slow = sampled("ext4_bfq", 60.0, merged_share=40.0)
    Series.objects.filter(pk=slow.pk).update(kernel="")
    Series.objects.filter(pk=fast.pk).update(kernel="6.1.0")
    slow.configuration.is_known = True
    slow.configuration.scheduler = "bfq"
    slow.configuration.options = {"journal_mode": "journal"}
    slow.configuration.save()
    (explanation,) = client.get(f"/api/v1/explanations?{address(fast, slow)}").json()[
        "explanations"
    ]
    assert (explanation["ranked"], explanation["setup"]) == (["merged_share"], [])


@pytest.mark.usefixtures("site")
def test_on_a_telephone_a_cost_stands_above_its_numbers_and_nothing_is_scrolled(
    page: Page, pair: tuple[Series, Series]
) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"/compare/why/?{address(*pair)}")
    table = page.get_by_role("table", name="Differences")
    row = table.get_by_role("row", name="Write amplification")
    expect(row.get_by_role("rowheader")).to_be_visible()
    expect(row.get_by_role("cell")).to_have_count(4)
    boxes = [
        locator.bounding_box()
        for locator in (table, row.get_by_role("rowheader"), *row.get_by_role("cell").all())
    ]
    whole, cost, *numbers = [box for box in boxes if box]
    assert len(numbers) == 4
    assert cost["width"] > 0.9 * whole["width"]
    assert all(box["y"] >= cost["y"] + cost["height"] - 1 for box in numbers)
    assert numbers[-1]["x"] + numbers[-1]["width"] <= 390
