"""Latencies that imported outputs of fio hold bin by bin are kept and merged as those of runs."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.core import latency
from fsbench_web.core.formats import parse
from fsbench_web.imports import rereads as reading
from fsbench_web.studies.activity import latencies
from fsbench_web.studies.models import LatencyBlock, Run
from tests.importing import import_files

pytestmark = pytest.mark.django_db
SAMPLES = Path(__file__).parents[1] / "core/formats/samples"
JSON_PLUS = (SAMPLES / "fio-3.33-json-plus.txt").read_bytes()
# A second repeat: later, with the same completions and another mean.
OTHER = JSON_PLUS.replace(b'"mean" : 1', b'"mean" : 2').replace(b": 17952501", b": 17952601")
NAME, LOAD = "sequential_64k_buffered_psync_write_clat", "iodepth=1,jobs=2"


def store(*files: tuple[str, bytes]) -> list[Run]:
    done = import_files(
        files, study="Lab", filesystem="ext4", configuration="ext4", hardware="", user=None
    )
    return list(Run.objects.filter(pk__in=done.runs).order_by("pk"))


def merged_of(run: Run) -> latency.Distribution:
    [(merged, _)] = latencies.of_series([run.series_id], NAME, LOAD).values()
    return merged


def test_repeats_are_merged_bin_by_bin(client: Client) -> None:
    assert OTHER != JSON_PLUS
    first, second = store(("1.json", JSON_PLUS), ("2.json", OTHER))
    assert first.series_id == second.series_id
    [printed] = parse("x", JSON_PLUS).distributions
    assert latencies.of_run(first.pk) == [printed]
    merged = merged_of(first)
    assert merged == latency.merged([printed, *parse("x", OTHER).distributions])
    assert merged.counts == tuple(2 * count for count in printed.counts)
    page = client.get(f"/runs/{first.pk}/").content.decode()
    assert "256" in page
    query = f"study=lab&picture=latency&show=completions&of={NAME}_mean@{LOAD}"
    chart = client.get(f"/compare/pictures/?{query}").content.decode()
    assert "No distribution is kept" not in chart
    assert "512" in chart


def test_each_repeat_of_one_file_has_its_own() -> None:
    first, second = store(("both.json", JSON_PLUS + OTHER))
    assert (first.repeat, second.repeat) == (1, 2)
    [printed] = parse("x", JSON_PLUS).distributions
    assert latencies.of_run(first.pk) == [printed]
    assert latencies.of_run(second.pk) == [printed]
    assert merged_of(first).total == 2 * printed.total


def test_a_log_of_histograms_is_kept_too(client: Client) -> None:
    name = "fio-3.33-windows_clat_hist.1.log"
    [run] = store((name, (SAMPLES / name).read_bytes()))
    by_test = {distribution.test: distribution for distribution in latencies.of_run(run.pk)}
    read = by_test["fio-3.33-windows_read_clat_hist"]
    assert (read.total, read.unit) == (4025, "ns")
    assert read.percentile("90") == 651264
    assert "by its log" in client.get(f"/runs/{run.pk}/").content.decode()
    query = "study=lab&picture=latency&show=completions&of=fio-3.33-windows_read_clat_hist_p50"
    assert "4,025" in client.get(f"/compare/pictures/?{query}").content.decode()


def test_a_file_of_before_they_were_kept_has_them_once_it_is_read_again(
    signed_in: Client,
) -> None:
    [run] = store(("1.json", JSON_PLUS))
    artefact = run.artefacts.get()
    assert reading.difference(artefact).is_empty
    content = bytes(LatencyBlock.objects.get().content)
    LatencyBlock.objects.all().delete()
    difference = reading.difference(artefact)
    assert not difference.is_empty
    page = signed_in.get(f"/imports/reread/{artefact.pk}/").content.decode()
    assert "1 run gets other latency distributions" in " ".join(page.split()).replace("  ", " ")
    reading.apply(artefact.pk, difference.digest, User.objects.get(username="ada"))
    assert bytes(LatencyBlock.objects.get().content) == content
    assert reading.difference(artefact).is_empty


def test_an_import_that_is_only_looked_at_keeps_nothing() -> None:
    [run] = store(("1.json", JSON_PLUS))
    run.delete()
    assert not LatencyBlock.objects.exists()
