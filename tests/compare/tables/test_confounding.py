"""What was measured one after the other is told: the day may be what differs."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

import pytest
from django.template.loader import render_to_string
from django.test import Client

from fsbench_web.compare.tables.differences import Span, order_over_time
from fsbench_web.studies.models import Run
from tests.compare.tables.verdicts.test_ratio_verdicts import in_blocks
from tests.compare.tables.verdicts.test_significance import row, table
from tests.importing import import_files

START = datetime(2011, 3, 1, tzinfo=UTC)


def days(first: float, last: float) -> Span:
    return START + timedelta(days=first), START + timedelta(days=last)


@pytest.mark.parametrize(
    ("spans", "order"),
    [
        ({1: days(5, 7), 2: days(0, 3)}, ["xfs", "ext4"]),
        ({1: days(0, 4), 2: days(3, 7)}, []),  # some of one between those of the other
        ({1: days(0, 0.1), 2: days(0.2, 0.3)}, []),  # within an hour or two
        ({1: days(0, 1)}, []),  # nobody knows when the other was measured
    ],
)
def test_days_of_its_own(spans: dict[int, Span], order: list[str]) -> None:
    delta_table = table(row("ext4", 100, series_id=1), row("xfs", 50, series_id=2))
    assert [
        turn.contender for turn in order_over_time([delta_table], lambda _: spans).turns
    ] == order


def test_whether_it_is_known_is_told_apart_from_nothing_to_say() -> None:
    delta_table = table(row("ext4", 100, series_id=1), row("xfs", 50, series_id=2))
    assert order_over_time([delta_table], lambda _: {1: days(0, 4), 2: days(3, 7)}).is_known
    assert not order_over_time([delta_table], lambda _: {1: days(0, 1)}).is_known
    order = order_over_time([delta_table], lambda _: {1: days(0, 0), 2: days(2, 3)})
    words = render_to_string("compare/in_turn.html", {"in_turn": order.turns})
    assert "ext4 2011-03-01, then xfs 2011-03-03 to 2011-03-04." in " ".join(words.split())


def test_what_shares_a_block_was_measured_beside_each_other() -> None:
    calls = []

    def spans_of(series: Collection[int]) -> dict[int, Span]:
        calls.append(series)
        return {1: days(0, 1), 2: days(2, 3)}

    pair = (in_blocks("ext4", [1.0, 2.0], series_id=1), in_blocks("xfs", [1.0, 2.0], series_id=2))
    assert order_over_time([table(*pair)], spans_of).turns == ()
    assert not calls
    apart = (pair[0], in_blocks("xfs", [1.0, 2.0], first=3, series_id=2))
    assert len(order_over_time([table(*apart)], spans_of).turns) == 2
    assert calls == [{1, 2}]


@pytest.mark.django_db
def test_pages_and_the_api_say_it(client: Client) -> None:
    lines = "filesystem,configuration,test,value,unit\next4,ext4,untar,10,s\nxfs,xfs,untar,12,s\n"
    import_files([("t.csv", lines.encode())], study="Lab", user=None)
    addresses = ("/compare/?study=lab", "/studies/lab/")
    for address in addresses:
        html = client.get(address).content.decode()
        assert 'id="in-turn"' not in html, "an import has no date"
        assert "unknown: some runs have no date" in html
        assert "nothing unusual" not in html
    report = "/studies/lab/report/"
    assert "The entries ran at different times" not in client.get(report).content.decode()
    for number, run in enumerate(Run.objects.order_by("pk")):
        Run.objects.filter(pk=run.pk).update(measured_at=START + timedelta(days=9 * number))
    for address in (*addresses, report):
        html = client.get(address).content.decode()
        assert "The entries ran at different times" in html
        assert "ext4 2011-03-01, then xfs 2011-03-10" in " ".join(html.split())
    periods = client.get("/api/v1/comparison?study=lab").json()["measured_in_turn"]
    assert [turn["contender"] for turn in periods] == ["ext4", "xfs"]
