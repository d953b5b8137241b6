"""The contract: what other programs call, and the exact shape of what they are answered."""

import csv
import io
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import pytest
from django.test import Client

from fsbench_web.studies.published.data import FOLDER

CALLS = {
    ("get", "/api/v1/health"),
    ("get", "/api/v1/health/live"),
    ("get", "/api/v1/health/ready"),
    ("get", "/api/v1/studies"),
    ("get", "/api/v1/studies/{slug}"),
    ("get", "/api/v1/deltas"),
    ("get", "/api/v1/deltas.csv"),
    ("post", "/api/v1/imports"),
    ("post", "/api/v1/runs"),
    ("get", "/api/v1/runs"),
    ("get", "/api/v1/runs/{run_id}"),
    ("post", "/api/v1/runs/{run_id}/cancel"),
    ("get", "/api/v1/runs/{run_id}/log"),
    ("get", "/api/v1/search"),
    ("get", "/api/v1/jobs"),
    ("get", "/api/v1/sweeps"),
    ("post", "/api/v1/jobs"),
    ("post", "/api/v1/sweeps"),
    ("post", "/api/v1/jobs/preview"),
    ("post", "/api/v1/sweeps/preview"),
    ("get", "/api/v1/jobs/{job_id}"),
    ("get", "/api/v1/sweeps/{job_id}"),
    ("post", "/api/v1/jobs/{job_id}/cancel"),
    ("post", "/api/v1/sweeps/{job_id}/cancel"),
    ("post", "/api/v1/jobs/{job_id}/pause"),
    ("post", "/api/v1/sweeps/{job_id}/pause"),
    ("post", "/api/v1/jobs/{job_id}/priority"),
    ("post", "/api/v1/sweeps/{job_id}/priority"),
    ("post", "/api/v1/jobs/{job_id}/resume"),
    ("post", "/api/v1/sweeps/{job_id}/resume"),
    ("post", "/api/v1/jobs/{job_id}/retry"),
    ("post", "/api/v1/sweeps/{job_id}/retry"),
    ("get", "/api/v1/workers"),
    ("post", "/api/v1/workers/{name}/drain"),
    ("post", "/api/v1/workers/{name}/resume"),
    ("get", "/api/v1/workloads"),
    ("get", "/api/v1/me"),
    ("get", "/api/v1/me/tokens"),
    ("post", "/api/v1/me/tokens"),
    ("delete", "/api/v1/me/tokens/{token_id}"),
    ("post", "/api/v1/studies"),
    ("get", "/api/v1/studies/{slug}/access"),
    ("patch", "/api/v1/studies/{slug}/access"),
    ("get", "/api/v1/studies/{slug}/report.pdf"),
    ("get", "/api/v1/studies/{slug}/{table}.{suffix}"),
    ("get", "/api/v1/studies/{slug}/sealed.zip"),
    ("get", "/api/v1/keys"),
    ("get", "/api/v1/series"),
    ("get", "/api/v1/series/{series_id}"),
    ("get", "/api/v1/comparison"),
    ("get", "/api/v1/findings"),
    ("get", "/api/v1/exports/deltas.{suffix}"),
    ("get", "/api/v1/exports/pictures.csv"),
    ("get", "/api/v1/history"),
    ("get", "/api/v1/history/lines"),
    ("get", "/api/v1/profiles"),
    ("post", "/api/v1/profiles"),
    ("get", "/api/v1/profiles/{name}"),
    ("post", "/api/v1/profiles/{name}/versions"),
    ("get", "/api/v1/permalinks"),
    ("post", "/api/v1/permalinks"),
    ("get", "/api/v1/permalinks/{key}"),
    ("patch", "/api/v1/permalinks/{key}"),
    ("delete", "/api/v1/permalinks/{key}"),
    ("post", "/api/v1/permalinks/{key}/withdraw"),
    ("get", "/api/v1/permalinks/{key}/snapshot"),
    ("get", "/api/v1/permalinks/{key}/deltas.{suffix}"),
    ("get", "/api/v1/triggers"),
    ("post", "/api/v1/triggers"),
    ("get", "/api/v1/triggers/{trigger_id}"),
    ("put", "/api/v1/triggers/{trigger_id}"),
    ("delete", "/api/v1/triggers/{trigger_id}"),
    ("post", "/api/v1/triggers/{trigger_id}/pause"),
    ("post", "/api/v1/triggers/{trigger_id}/resume"),
    ("post", "/api/v1/triggers/{trigger_id}/fire"),
    ("get", "/api/v1/watches"),
    ("post", "/api/v1/watches"),
    ("get", "/api/v1/watches/{watch_id}"),
    ("delete", "/api/v1/watches/{watch_id}"),
    ("post", "/api/v1/watches/{watch_id}/pause"),
    ("post", "/api/v1/watches/{watch_id}/resume"),
    ("post", "/api/v1/watches/{watch_id}/test"),
    ("put", "/api/v1/watches/{watch_id}/confirmation"),
    ("patch", "/api/v1/watches/{watch_id}/changes/{message_id}"),
    ("get", "/api/v1/imports"),
    ("post", "/api/v1/imports/previews"),
    ("get", "/api/v1/imports/{import_id}"),
    ("patch", "/api/v1/imports/{import_id}"),
    ("delete", "/api/v1/imports/{import_id}"),
    ("put", "/api/v1/imports/{import_id}/files/{file_id}/columns"),
    ("post", "/api/v1/imports/{import_id}/commit"),
    ("get", "/api/v1/artefacts/{artefact_id}/reread"),
    ("post", "/api/v1/artefacts/{artefact_id}/reread"),
    ("get", "/api/v1/runs/{run_id}/artefacts"),
    ("get", "/api/v1/runs/{run_id}/artefacts/{artefact_id}"),
    ("get", "/api/v1/runs/{run_id}/measurements"),
    ("get", "/api/v1/runs/{run_id}/environment"),
    ("get", "/api/v1/runs/{run_id}/activity"),
    ("get", "/api/v1/runs/{run_id}/activity.csv"),
    ("get", "/api/v1/runs/{run_id}/trace/{tracer}/latency.csv"),
    ("get", "/api/v1/runs/{run_id}/trace/{tracer}/map.csv"),
    ("get", "/api/v1/runs/{run_id}/trace/{tracer}/summary.csv"),
    ("get", "/api/v1/runs/{run_id}/latencies"),
    ("get", "/api/v1/explanations"),
    ("post", "/api/v1/runs/{run_id}/retry"),
    ("get", "/api/v1/workers/{name}"),
    ("get", "/api/v1/own-workloads"),
    ("post", "/api/v1/own-workloads"),
    ("get", "/api/v1/own-workloads/{workload_id}"),
    ("post", "/api/v1/own-workloads/{workload_id}/withdraw"),
    ("get", "/api/v1/luns"),
    ("get", "/api/v1/luns/{lun_id}/ledger"),
    ("get", "/api/v1/hardware"),
    ("get", "/api/v1/hardware/{slug}"),
    ("put", "/api/v1/hardware/{slug}/device-rate"),
    ("put", "/api/v1/hardware/{slug}/price"),
    ("get", "/api/v1/filesystems"),
    ("get", "/api/v1/configurations"),
    ("get", "/api/v1/people"),
    ("post", "/api/v1/people"),
    ("get", "/api/v1/people/{user_id}"),
    ("patch", "/api/v1/people/{user_id}"),
    ("post", "/api/v1/people/{user_id}/password"),
    ("get", "/api/v1/teams"),
    ("post", "/api/v1/teams"),
    ("get", "/api/v1/teams/{team_id}"),
    ("patch", "/api/v1/teams/{team_id}"),
    ("get", "/api/v1/audit"),
}
# Reading what is one's own, or what administrators alone see.
READS_WITH_TOKEN = {
    "/api/v1/me",
    "/api/v1/me/tokens",
    "/api/v1/studies/{slug}/access",
    "/api/v1/permalinks",
    "/api/v1/triggers",
    "/api/v1/triggers/{trigger_id}",
    "/api/v1/watches",
    "/api/v1/watches/{watch_id}",
    "/api/v1/imports",
    "/api/v1/artefacts/{artefact_id}/reread",
    "/api/v1/people",
    "/api/v1/people/{user_id}",
    "/api/v1/teams",
    "/api/v1/teams/{team_id}",
    "/api/v1/audit",
}
TABLE = ["test", "category", "unit", "lower_is_better", "rows"]
ROW = [
    "contender",
    "configuration",
    "score",
    "best",
    "delta1_percent",
    "delta2_percent",
    "runs",
    "published",
    "flags",
]
CSV_HEADER = (
    "test,category,contender,configuration,score,unit,best,delta1_percent,delta2_percent,"
    "published_delta1_percent,published_delta2_percent,flags"
)
TESTS = ["write", "rewrite", "read", "reread", "random_write", "random_read"]
CATEGORIES = [
    "maximum",
    "minimum",
    "total_average",
    "target_average",
    "ora_ta",
    "specfp_ta",
    "overall",
]


def unisys(client: Client, more: str = "") -> list[dict[str, Any]]:
    response = client.get(f"/api/v1/deltas?study=unisys-2005{more}")
    assert response.status_code == 200, response.content
    body = response.json()
    assert list(body) == ["tables"]
    return body["tables"]


def printed() -> list[dict[str, str]]:
    """The 210 rows of Appendix A as they were typed from the paper.

    The file also has a score that the paper prints elsewhere, without deltas.
    """
    with (FOLDER / "unisys-2005" / "scores.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["printed_delta1_percent"]]
    assert len(rows) == 210
    return rows


def test_openapi_lists_every_call(client: Client) -> None:
    description = client.get("/api/v1/openapi.json").json()
    calls = {(m, path) for path, methods in description["paths"].items() for m in methods}
    assert calls == CALLS


def test_openapi_says_which_calls_need_a_token(client: Client) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    needs = {(m, p) for p, ms in paths.items() for m, call in ms.items() if "security" in call}
    assert needs == {call for call in CALLS if call[0] != "get" or call[1] in READS_WITH_TOKEN}


def test_openapi_has_no_broken_references(client: Client) -> None:
    description = client.get("/api/v1/openapi.json").json()
    models = description["components"]["schemas"]
    waiting: list[Any] = [description]
    references = set()
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            references |= {item["$ref"]} if "$ref" in item else set()
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    assert references
    assert all(reference.split("/")[-1] in models for reference in references)


def test_unisys_2005_is_42_tables_and_210_rows(client: Client, published: None) -> None:
    tables = unisys(client)
    assert [(t["test"], t["category"]) for t in tables] == [
        (test, category) for test in TESTS for category in CATEGORIES
    ]
    assert sum(len(table["rows"]) for table in tables) == 210
    for table in tables:
        assert list(table) == TABLE
        assert not table["lower_is_better"]
        assert table["unit"] == ("score" if table["category"] == "overall" else "KB/s")
        for row in table["rows"]:
            assert list(row) == ROW
            assert row["contender"] == row["contender"].lower()
            assert {"best", "delta1_percent", "delta2_percent"} <= set(row["published"])


def test_rows_are_worst_first_and_ties_are_all_best(client: Client, published: None) -> None:
    for table in unisys(client):
        scores = [row["score"] for row in table["rows"]]
        assert scores == sorted(scores)
        assert [row["best"] for row in table["rows"]] == [s == max(scores) for s in scores]


def test_deltas_follow_from_the_scores_unrounded(client: Client, published: None) -> None:
    for table in unisys(client):
        best = Fraction(str(table["rows"][-1]["score"]))
        for row in table["rows"]:
            x = Fraction(str(row["score"]))
            assert row["delta1_percent"] == float(100 * (best - x) / best)
            assert row["delta2_percent"] == float(100 * (x - best) / x)


def test_it_gives_what_the_paper_printed_and_flags_what_does_not_follow(
    client: Client, published: None
) -> None:
    answered = {
        (table["test"], table["category"], row["contender"]): row
        for table in unisys(client)
        for row in table["rows"]
    }
    flagged = 0
    for source in printed():
        row = answered.pop((source["test"], source["category"], source["filesystem"].lower()))
        assert row["score"] == float(source["score"])
        wrong = (source["printed_best"] != "") != row["best"]
        for name in ("delta1_percent", "delta2_percent"):
            assert row["published"][name] == float(source[f"printed_{name}"])
            recomputed = Decimal(repr(row[name])).quantize(Decimal("0.01"), ROUND_HALF_UP)
            wrong |= abs(recomputed - Decimal(source[f"printed_{name}"])) > Decimal("0.01")
        assert ("published_differs" in row["flags"]) == wrong, row
        flagged += wrong
    assert not answered
    assert 0 < flagged < 105


def test_csv_has_the_same_rows(client: Client, published: None) -> None:
    response = client.get("/api/v1/deltas.csv?study=unisys-2005")
    assert response.status_code == 200
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    text = response.content.decode()
    assert text.splitlines()[0] == CSV_HEADER
    lines = list(csv.DictReader(io.StringIO(text)))
    rows = [(table, row) for table in unisys(client) for row in table["rows"]]
    assert len(lines) == len(rows) == 210
    for line, (table, row) in zip(lines, rows, strict=True):
        assert (line["test"], line["category"]) == (table["test"], table["category"])
        assert line["unit"] == table["unit"]
        assert line["contender"] == row["contender"]
        assert line["configuration"] == (row["configuration"] or "")
        assert float(line["score"]) == row["score"]
        assert line["best"] == str(row["best"]).lower()
        for name in ("delta1_percent", "delta2_percent"):
            assert float(line[name]) == row[name]
            assert float(line[f"published_{name}"]) == row["published"][name]
        assert line["flags"] == ";".join(row["flags"])


def test_filters_narrow_the_tables(client: Client, published: None) -> None:
    tables = unisys(client, "&test=read&test=write&category=overall")
    assert [(t["test"], t["category"]) for t in tables] == [
        ("write", "overall"),
        ("read", "overall"),
    ]
    by_configuration = unisys(client, "&by=configuration&test=read&category=maximum")
    assert len(by_configuration) == 1


def test_times_are_better_when_they_are_small(client: Client, published: None) -> None:
    tables = client.get("/api/v1/deltas?study=galli-2001").json()["tables"]
    assert tables
    for table in tables:
        assert table["lower_is_better"]
        scores = [row["score"] for row in table["rows"]]
        assert scores == sorted(scores, reverse=True)
        for row in table["rows"]:
            x, best = Fraction(str(row["score"])), Fraction(str(scores[-1]))
            assert row["delta1_percent"] == float(100 * (x - best) / x)


def test_several_studies_are_ranked_together(client: Client, published: None) -> None:
    both = client.get("/api/v1/deltas?study=unisys-2005&study=galli-2001").json()["tables"]
    alone = client.get("/api/v1/deltas?study=galli-2001").json()["tables"]
    assert len(both) == 42 + len(alone)
    everything = client.get("/api/v1/deltas").json()["tables"]
    assert len(everything) >= len(both)


def test_no_answer_holds_nan_or_infinity(client: Client, published: None) -> None:
    for path in ("/api/v1/deltas", "/api/v1/studies/unisys-2005", "/api/v1/studies/galli-2001"):
        text = client.get(path).content.decode()
        assert "NaN" not in text
        assert "Infinity" not in text


def test_the_list_of_studies_holds_the_five_papers(client: Client, published: None) -> None:
    studies = client.get("/api/v1/studies").json()
    assert {study["slug"] for study in studies} == {
        "freenix-2002",
        "galli-2001",
        "hilzinger-2006",
        "sun-2004",
        "unisys-2005",
    }
    assert all(study["is_published"] for study in studies)
    (unisys_2005,) = (study for study in studies if study["slug"] == "unisys-2005")
    assert unisys_2005["counts"]["scores"] >= 210


def test_a_study_comes_with_its_configurations_and_hardware(
    client: Client, published: None
) -> None:
    study = client.get("/api/v1/studies/unisys-2005").json()
    assert study["slug"] == "unisys-2005"
    filesystems = {c["filesystem"].lower() for c in study["configurations"]}
    assert filesystems == {"ext2", "ext3", "jfs", "reiser3", "xfs"}
    assert study["hardware"][0]["facts"]
    assert study["sections"]


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/api/v1/studies/unisys-1905", 404, "unisys-2005"),
        ("/api/v1/deltas?study=unisys-1905", 404, "unisys-2005"),
        ("/api/v1/deltas.csv?study=unisys-1905", 404, "unisys-2005"),
        ("/api/v1/deltas?test=wriet", 422, "random_write"),
        ("/api/v1/deltas?category=maximal", 422, "maximum"),
        ("/api/v1/deltas?by=kernels", 422, "filesystem"),
        ("/api/v1/deltas.csv?by=kernels", 422, "filesystem"),
        ("/api/v1/deltas?sudy=unisys-2005", 422, "study"),
        ("/api/v1/runs/4711", 404, "no run 4711"),
        ("/api/v1/runs/4711/log", 404, "no run 4711"),
        ("/api/v1/nonsense", 404, "/api/v1/docs"),
    ],
)
def test_what_does_not_exist_is_refused_with_a_way_on(
    client: Client, published: None, path: str, status: int, says: str
) -> None:
    response = client.get(path)
    assert response.status_code == status
    body = response.json()
    assert list(body) == ["detail", "errors", "type", "title", "status"]
    assert says in body["detail"]
    assert body["detail"].endswith(".")
