"""One study has one answer, wherever it is asked for. The truth of each case is known."""

import html
import random
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Workload
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec
from fsbench_web.core.stats.verdicts import TOO_NOISY, outlook_words
from fsbench_web.core.workloads.registry import presets
from fsbench_web.studies.models import Run, Score, Series
from tests.importing import import_files

pytestmark = pytest.mark.django_db

TESTS = {"write": "MB/s", "read": "MB/s", "random_read": "MB/s", "create": "files/s", "copy": "s"}
Truth = dict[str, dict[str, float]]


def measure(truth: Truth, noise: float, blocks: int = 5) -> None:
    """A study called lab: ``truth`` is the speed of each file system by test, "" for all others."""
    draw = random.Random(11)
    lines = ["test,value,unit,filesystem,repeat,block"]
    for block in range(1, blocks + 1):
        drift = 1 + draw.gauss(0, 0.05)
        for name, speeds in truth.items():
            run = 1 + draw.gauss(0, noise)
            for test, unit in TESTS.items():
                speed = speeds.get(test, speeds[""]) * drift * run * (1 + draw.gauss(0, noise))
                value = 10 / speed if unit == "s" else 100 * speed
                lines.append(f"{test},{value:.4f},{unit},{name},{block},b{block}")
    user = User.objects.get(username="jo")
    result = import_files([("lab.csv", "\n".join(lines).encode())], user=user, study="lab")
    assert not result.errors


def fit_into_memory() -> None:
    """Buffered IOzone of 4 MB files on a machine with 8 GB: memory, not the disk."""
    preset = presets()["iozone-small"]
    small = Workload.objects.create(
        slug="small", title="IOzone, small", tool="iozone", parameters=dict(preset.parameters)
    )
    Series.objects.update(workload=small)
    Run.objects.update(conditions={"before": {"memory_total_bytes": 8 * 1024**3}})


def exceed_the_disk() -> None:
    """Scores above what probes say that the disk does."""
    share = {"percent": 206.2, "ceiling": 50.0, "of": "random read", "probes": 3}
    Score.objects.update(share=share)


def answers(client: Client, jo: User) -> tuple[dict[str, str], dict[str, object]]:
    """(the status on each page, the answer of the API), once all say the same sentence."""
    link = records.pin(ComparisonSpec(studies=("lab",)), jo)
    found = client.get("/api/v1/comparison?study=lab").json()["answer"]
    assert client.get("/api/v1/findings?study=lab").json()["answer"] == found
    pages = {
        "front": "/",
        "study": "/studies/lab/",
        "tests": "/studies/lab/?tab=tests",
        "comparison": "/compare/?study=lab",
        "permalink": f"/p/{link.key}/",
        "report": "/studies/lab/report/",
    }
    texts = {name: client.get(address).content.decode() for name, address in pages.items()}
    for name, text in texts.items():
        assert found["sentence"] in html.unescape(text), name
    shown = {
        name: match[1]
        for name, text in texts.items()
        if (match := re.search(r'data-status="(\w+)"', text))
    }
    assert set(shown.values()) == {found["status"]}
    assert set(shown) >= {"study", "tests", "comparison", "permalink"}
    return shown, found


def test_equal_file_systems_have_no_winner_anywhere(client: Client, jo: User) -> None:
    measure({"ext4": {"": 1.0}, "xfs": {"": 1.0}, "btrfs": {"": 1.0}}, noise=0.08)
    _, found = answers(client, jo)
    assert (found["status"], found["leader"]) == ("inconclusive", None)
    assert str(found["sentence"]).startswith("No clear winner")


def test_a_real_five_percent_is_found_everywhere(client: Client, jo: User) -> None:
    measure({"ext4": {"": 1.0}, "xfs": {"": 1.05}}, noise=0.005)
    _, found = answers(client, jo)
    assert (found["status"], found["leader"], found["runner_up"]) == ("faster", "xfs", "ext4")
    assert found["ratio_low"] <= 1.05 <= found["ratio_high"]
    assert found["caveats"] == []


def test_it_depends_where_both_are_faster_in_some_tests(client: Client, jo: User) -> None:
    measure({"ext4": {"": 1.0}, "xfs": {"": 1.3, "create": 0.7, "copy": 0.8}}, noise=0.01)
    _, found = answers(client, jo)
    assert (found["status"], found["leader"]) == ("mixed", None)
    assert (found["significant"], found["slower"]) == (3, 2)


def test_one_run_each_is_not_enough(client: Client, jo: User) -> None:
    measure({"ext4": {"": 1.0}, "xfs": {"": 3.0}}, noise=0.01, blocks=1)
    _, found = answers(client, jo)
    assert (found["status"], found["ratio_low"]) == ("inconclusive", None)
    assert found["caveats"] == ["one_block"]


def test_the_page_cache_is_told_beside_the_answer(client: Client, jo: User) -> None:
    measure({"ext4": {"": 1.0}, "xfs": {"": 1.5}}, noise=0.01)
    fit_into_memory()
    _, found = answers(client, jo)
    assert found["caveats"] == ["page_cache"]
    for address in ("/studies/lab/", "/compare/?study=lab"):
        assert 'data-caveat="page_cache"' in client.get(address).content.decode()
    Run.objects.update(conditions={"before": {"memory_total_bytes": 1024**2}})
    assert answers(client, jo)[1]["caveats"] == []


def test_an_unreliable_ceiling_is_no_percentage(client: Client, jo: User) -> None:
    measure({"ext4": {"": 1.0}, "xfs": {"": 1.5}}, noise=0.01)
    exceed_the_disk()
    _, found = answers(client, jo)
    assert found["caveats"] == ["ceiling_unreliable"]
    for address in ("/studies/lab/", "/studies/lab/?tab=tests", "/compare/?study=lab"):
        assert "206" not in re.sub(r"<[^>]+>", " ", client.get(address).content.decode())


def test_noise_is_called_noise_and_no_tie_everywhere(client: Client, jo: User) -> None:
    """A real 20%, which three noisy blocks hide."""
    measure({"ext4": {"": 1.2}, "xfs": {"": 1.0}}, noise=0.25, blocks=3)
    _, found = answers(client, jo)
    [work] = found["workloads"]
    assert (found["status"], work["more_repeats"], work["outlook"]) == (
        *("inconclusive", None, TOO_NOISY),
    )
    assert found["ratio_high"] - found["ratio_low"] > 0.2
    words = outlook_words(TOO_NOISY, None)
    assert words in found["details"]
    link = records.pin(ComparisonSpec(studies=("lab",)), jo)
    for address in ("/studies/lab/", "/compare/?study=lab", f"/p/{link.key}/"):
        assert words in html.unescape(client.get(address).content.decode()), address
    for address in ("/compare/image.svg?study=lab", f"/p/{link.key}/image.svg"):
        drawn = " ".join(re.findall(r">([^<>]+)</text>", client.get(address).content.decode()))
        assert words.partition(":")[0] in drawn, address
