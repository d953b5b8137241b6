"""A slide: what it says, that each of its files opens, and for whom."""

import io
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from django.test import Client
from PIL import Image

from fsbench_web.compare.models import LinkVisibility
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.compare.slides.drawing import (
    HEIGHT,
    WIDTH,
    Slide,
    address_lines,
    drawing,
    flags_of,
    foot_of,
)
from fsbench_web.compare.slides.files import FORMATS
from fsbench_web.compare.slides.sentence import LONGEST, NO_WINNER, sentence
from fsbench_web.core.scoring.deltas import Published
from fsbench_web.core.scoring.significance import FREENIX, Verdict
from fsbench_web.renderings.addresses import is_rendered
from fsbench_web.studies.models import Score
from tests.compare.conftest import make_score, printed
from tests.compare.tables.test_table_view import TABLE

FASTER = Verdict(
    "significant", method="paired", blocks=5, ratio=1.052, ratio_low=1.035, ratio_high=1.069
)
BEHIND = TABLE.rows[2]._replace(verdict=FASTER.turned())
OF_TWO = replace(TABLE, rows=(BEHIND, TABLE.rows[3]._replace(verdict=FASTER)))
SLIDE = Slide("XFS is <b>ahead</b> & stays so", OF_TWO, "https://x.example/p/abc/", "kept")


def texts(svg: bytes) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [label.text or "" for label in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_svg_has_the_sentence_the_bars_and_the_foot() -> None:
    svg = FORMATS["svg"].write(drawing(SLIDE))
    root = ElementTree.fromstring(svg)
    assert [float(root.attrib[side]) for side in ("width", "height")] == [WIDTH, HEIGHT]
    labels = texts(svg)
    assert SLIDE.sentence in labels
    assert "2.236 best" in labels
    assert {"xfs", "ext4", "fsbench", SLIDE.address} <= set(labels)
    foot = " ".join(labels)
    for part in ("study: Study; kept", "n = 5 runs of each", "95% intervals", "array", "6.1"):
        assert part in foot
    # Nothing stands outside of it, and what is drawn stands above its foot.
    for node in root.iter():
        if "y" in node.attrib:
            assert 0 <= float(node.attrib["y"]) <= HEIGHT
            assert 0 <= float(node.attrib["x"]) <= WIDTH - 48


@pytest.mark.parametrize(
    ("count", "expected"), [(1, 1), (3, 1), (4, 2), (7, 2), (8, 2), (11, 3), (17, 4)]
)
def test_a_long_address_takes_more_lines_and_is_whole(count: int, expected: int) -> None:
    """Broken behind an "&", in the place of the foot, beside the name of the program."""
    query = "&".join(f"configuration=ext4_noatime_{number}" for number in range(count))
    slide = replace(SLIDE, address=f"https://bench.example.org/compare/?{query}")
    lines = address_lines(slide.address)
    assert "".join(lines) == slide.address
    assert len(lines) == expected
    assert all(line.endswith("&") for line in lines[:-1])
    root = ElementTree.fromstring(FORMATS["svg"].write(drawing(slide)))
    labels = [
        label for label in root.iter("{http://www.w3.org/2000/svg}text") if label.text in lines
    ]
    assert [label.text for label in labels] == lines
    ys = [float(label.attrib["y"]) for label in root.iter("{http://www.w3.org/2000/svg}text")]
    foot = sorted(y for y in set(ys) if y > 456)
    assert foot[-1] <= HEIGHT - 10
    lefts = sorted({float(label.attrib["y"]) for label in labels} | set(foot[:3]))
    least = 12 if count < 8 else 9.5
    assert all(below - above >= least for above, below in pairwise(lefts))
    links = root.iter("{http://www.w3.org/2000/svg}a")
    assert [link.attrib["href"] for link in links] == [slide.address] * expected


def test_an_address_without_a_place_to_break_it_is_broken_where_the_line_is_full() -> None:
    assert address_lines("x" * 131) == ["x" * 130, "x"]
    assert list(map(len, address_lines("x" * 260))) == [130, 130]
    assert list(map(len, address_lines("x" * 261))) == [160, 101]
    assert list(map(len, address_lines("x" * 640))) == [160] * 4
    lines = address_lines(f"https://{'y' * 900}")
    assert list(map(len, lines)) == [160] * 4
    assert "…" in "".join(lines)


def test_a_png_opens_and_is_16_to_9() -> None:
    drawn_slide = drawing(SLIDE)
    with Image.open(io.BytesIO(FORMATS["png"].write(drawn_slide))) as picture:
        assert (picture.format, picture.size) == ("PNG", (1920, 1080))
        assert len(picture.getcolors(maxcolors=1 << 20)) > 8  # something is drawn


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("significant", "xfs is 5.2% faster than ext4 (3.5 to 6.9%)"),
        ("equal", "xfs and ext4 are equivalent"),
        (
            "tie",
            f"{NO_WINNER}xfs; whether it is faster than ext4 is open",
        ),
    ],
)
def test_the_sentence_says_no_more_than_the_verdict(status: str, expected: str) -> None:
    rows = tuple(row._replace(verdict=row.verdict._replace(status=status)) for row in OF_TWO.rows)
    assert sentence(replace(OF_TWO, rows=rows)) == f"Write: {expected}"


def test_without_repeats_it_says_that_nobody_knows_how_sure_it_is() -> None:
    rows = tuple(row._replace(verdict=None, interval=None, runs=None) for row in OF_TWO.rows)
    table = replace(OF_TWO, rows=rows)
    assert sentence(table).endswith("whether by more than chance is not known")
    assert foot_of(Slide("", table, ""))[1] == (
        "n: not stated; no interval: single runs, or published without their repeats"
    )
    assert sentence(replace(table, rows=rows[1:])) == "Write: xfs 2.24 GiB/s"
    assert sentence(replace(table, rows=())) == "Write: nothing measured"


def test_one_run_is_one() -> None:
    rows = tuple(row._replace(runs=1) for row in OF_TWO.rows)
    assert foot_of(Slide("", replace(OF_TWO, rows=rows), ""))[1].startswith("n = 1 run of each;")


def test_kernels_stand_in_the_order_of_their_versions() -> None:
    versions = ("6.10.0", "6.9.1")
    rows = tuple(
        row._replace(kernel=version) for row, version in zip(OF_TWO.rows, versions, strict=True)
    )
    table = replace(OF_TWO, rows=rows)
    assert foot_of(Slide("", table, ""))[2].endswith("; kernel: 6.9.1 and 6.10.0")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (
            "tie",
            f"{NO_WINNER}xfs, 5.2% before ext4; a tie with ext4, not significant",
        ),
        ("significant", "xfs is 5.2% faster than ext4"),
        (
            "unknown",
            f"{NO_WINNER}xfs, 5.2% before ext4; whether by more than chance is not known",
        ),
    ],
)
def test_by_the_rule_of_freenix_it_says_what_that_rule_says(status: str, expected: str) -> None:
    """A tie is a verdict: whether it is one is known."""
    verdict = Verdict(status, method=FREENIX)
    rows = tuple(row._replace(delta2_percent=-5.2, verdict=verdict) for row in OF_TWO.rows)
    assert sentence(replace(OF_TWO, rows=rows)) == f"Write: {expected}"


def test_a_printed_number_keeps_its_digits() -> None:
    printed = Published(True, Decimal("0.00"), Decimal("0.00"))
    row = TABLE.rows[3]._replace(origin="published", published=printed)
    assert sentence(replace(TABLE, rows=(row,))).endswith("xfs 2,344,121.83 KB/s")


def test_a_slide_warns_of_what_its_table_warns_of() -> None:
    """Above its foot, and so that the chart stands above that."""
    flags = (("contended",), ("contended", "drifted"))
    rows = tuple(
        row._replace(flags=some, cells=len(some))
        for row, some in zip(OF_TWO.rows, flags, strict=True)
    )
    drawn_slide = drawing(replace(SLIDE, table=replace(OF_TWO, rows=rows)))
    warning = "contended: all; drifted: xfs; scores of different data points"
    [label] = [shape for shape in drawn_slide.shapes if getattr(shape, "text", "") == warning]
    assert 442 < label.y < 456
    assert warning in drawn_slide.summary
    lowest = max(shape.y for shape in drawn_slide.shapes if getattr(shape, "y", 500) < label.y)
    assert lowest <= 440
    emulated = tuple(row._replace(flags=("emulated",)) for row in OF_TWO.rows)
    assert flags_of(replace(OF_TWO, rows=emulated)) == (
        "Everything shown was emulated: for function, not for speed."
    )
    assert flags_of(OF_TWO) == ""


def test_who_shares_the_best_score_is_not_called_alike() -> None:
    """Their means, which the bars show, may differ, and whether they do is undecided."""
    rows = tuple(row._replace(best=True) for row in OF_TWO.rows)
    assert sentence(replace(OF_TWO, rows=rows)).endswith(" share the best score")


@pytest.mark.parametrize("words", ["long " * 40, "x" * LONGEST, "a", "ß" * 20 + " " + "y" * 90])
def test_a_sentence_of_any_length_stays_above_the_chart(words: str) -> None:
    drawn_slide = drawing(replace(SLIDE, sentence=words.strip()))
    title = next(
        at for at, shape in enumerate(drawn_slide.shapes) if "Write" in getattr(shape, "text", "")
    )
    lines = [shape for shape in drawn_slide.shapes[:title] if getattr(shape, "size", 0) >= 20]
    assert "".join(line.text for line in lines).replace(" ", "") == words.replace(" ", "")
    assert max(line.y for line in lines) < 150


def test_many_contenders_fit_and_the_others_are_counted() -> None:
    rows = tuple(TABLE.rows[0]._replace(contender=f"ext4_{at:03}") for at in range(40))
    drawn_slide = drawing(replace(SLIDE, table=replace(TABLE, rows=rows)))
    assert any("and 28 more" in getattr(shape, "text", "") for shape in drawn_slide.shapes)
    below = [
        shape.y
        for shape in drawn_slide.shapes
        if getattr(shape, "text", "").startswith(("ext4", "and"))
    ]
    assert max(below) < 456


@pytest.mark.django_db
def test_a_comparison_has_a_page_and_two_files(client: Client) -> None:
    make_score("xfs", 200)
    make_score("ext4", 100)
    page = client.get("/compare/slide/?sentence=My+%3Cb%3E+words").content.decode()
    assert "My &lt;b&gt; words" in page
    source = "http://testserver/compare/?test=write&amp;category=maximum"
    assert f'<a href="{source}' in page
    for suffix, kind in (
        ("png", "image/png"),
        ("svg", "image/svg+xml"),
    ):
        answer = client.get(f"/compare/slide.{suffix}?sentence=Mine")
        assert (answer.status_code, answer["Content-Type"]) == (200, kind)
        assert is_rendered(f"/compare/slide.{suffix}")
    assert "Mine" in texts(client.get("/compare/slide.svg?sentence=Mine").content)
    assert not is_rendered("/compare/slide/")
    # The sentence of the test before is none of somebody's own.
    make_score("xfs", 1, test="read")
    query = "of=read&was=Write&sentence="
    assert "Read, maximum" in client.get(f"/compare/slide/?{query}Write").content.decode()
    assert "Wrote" in client.get(f"/compare/slide/?{query}Wrote").content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query", ["of=nothing", "in=nothing", "sentence=" + "x" * 201, "sentence=a%E2%80%AEb", "no=1"]
)
def test_what_cannot_be_is_refused_in_words(client: Client, query: str) -> None:
    make_score("xfs", 200)
    answer = client.get(f"/compare/slide.svg?{query}")
    assert answer.status_code == 400
    assert client.get(f"/compare/slide/?{query}").status_code == 400
    assert client.get("/compare/slide.exe").status_code == 404


@pytest.mark.django_db
def test_the_slide_of_a_permalink_is_for_whom_the_permalink_is(client: Client, jo) -> None:
    make_score("xfs", 200)
    link = records.pin(ComparisonSpec(), jo)
    address = f"/p/{link.key}/"
    assert f"http://testserver{address}" in texts(client.get(f"{address}slide.svg").content)
    link.visibility = LinkVisibility.PRIVATE
    link.save()
    for path in ("slide/", "slide.svg", "slide.png"):
        assert client.get(address + path).status_code == 404
    client.force_login(jo)
    assert client.get(f"{address}slide/").status_code == 200
    type(link).objects.update(snapshot=link.snapshot.replace("200", "300"))
    assert client.get(f"{address}slide.svg").status_code == 409


@pytest.mark.django_db
def test_it_leads_with_the_category_that_the_page_of_the_study_leads_with(
    client: Client, jo
) -> None:
    """Of a matrix another can come first in the sum of all categories."""
    for category, ext4, xfs in (
        ("maximum", 300.0, 200.0),
        ("total_average", 100.0, 140.0),
        ("overall", 900.0, 700.0),
    ):
        make_score("ext4", ext4, category=category)
        make_score("xfs", xfs, category=category)
    link = records.pin(ComparisonSpec.from_query("study=lab"), jo)
    for address in ("/compare/slide/?study=lab", f"/p/{link.key}/slide/"):
        page = client.get(address)
        assert page.context["slide"].table.category == "total_average"
        assert "xfs" in page.context["said"]
    offered = client.get("/compare/slide/?study=lab").context["categories"]
    assert ("overall", "Overall", False) in offered
    # A slide of another category is shared with its numbers.
    client.force_login(jo)
    shared = client.post("/compare/pin/", {"query": "study=lab", "slide": "of=write&in=overall"})
    assert client.get(shared["Location"]).context["slide"].table.category == "overall"


@pytest.mark.django_db
def test_of_a_paper_it_leads_with_overall(client: Client, jo) -> None:
    for category in ("maximum", "total_average", "overall"):
        make_score("xfs", 140.0, category=category, published=printed(True, "0.00", "0.00"))
    Score.objects.update(origin="published")
    link = records.pin(ComparisonSpec.from_query("study=lab"), jo)
    for address in ("/compare/slide/?study=lab", f"/p/{link.key}/slide/"):
        assert client.get(address).context["slide"].table.category == "overall"
