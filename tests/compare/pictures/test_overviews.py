"""Percentiles, shares, queue depth and all tests at once, of what was imported."""

import pytest
from django.test import Client

from fsbench_web.accounts.models import Role
from fsbench_web.compare.pictures.scores import depth_of, work_of
from fsbench_web.compare.pictures.views import spec_of
from fsbench_web.studies.models import Run
from tests.accounts.people import person
from tests.importing import import_files

PERCENTS = ("50", "90", "99", "99.9")


@pytest.fixture
def measured(db: None) -> None:
    lines = ["test,value,unit,filesystem,configuration,repeat,iodepth"]
    for place, name in enumerate(("ext3", "xfs"), start=1):
        for repeat in (1, 2):
            for depth in (1, 16):
                at = f"{name},{name},{repeat},{depth}"
                lines.append(f"randread_iops,{100 * place * depth + repeat},IOPS,{at}")
                lines.append(f"randread_clat_mean,{90000 * depth / place + repeat},ns,{at}")
                lines += [
                    f"randread_clat_p{percent},{1000 * at_percent / place},ns,{at}"
                    for at_percent, percent in enumerate(PERCENTS, start=100)
                ]
    content = "\n".join([*lines, ""]).encode()
    user = person(Role.CONTRIBUTOR)
    import_files([("a.csv", content)], study="Depths", user=user)


def figure_of(client: Client, query: str) -> dict:
    page = client.get(f"/compare/pictures/?study=depths&{query}")
    assert page.status_code == 200
    requested = page.context["shown"]
    assert requested.picture.figure is not None, requested.problem
    csv = client.get(f"/compare/pictures.csv?study=depths&{query}")
    assert csv.status_code == 200
    return requested.picture.figure.to_plotly_json()


@pytest.mark.django_db
def test_each_kind_draws_every_contender_with_its_own_look(client: Client, measured: None) -> None:
    looks = {}
    for kind, lines in (("latency", 2), ("latency&show=cdf", 2), ("queue", 4)):
        traces = figure_of(client, f"picture={kind}")["data"]
        assert len(traces) == lines
        for trace in traces:
            look = (trace["meta"]["series"], trace["line"]["dash"], trace["marker"]["symbol"])
            assert looks.setdefault(trace["name"], look) == look
    assert len(set(looks.values())) == 2
    small = figure_of(client, "picture=multiples")["data"]
    assert len(small) == 12
    assert {tuple(trace["y"]) for trace in small} == {("xfs", "ext3")}
    assert all(trace["x"][0] == 100 for trace in small)


@pytest.mark.django_db
def test_percentiles_of_one_load_are_of_no_other(client: Client, measured: None) -> None:
    [first, _] = figure_of(client, "picture=latency&of=randread_clat_p50@iodepth=16")["data"]
    assert len(first["x"]) == len(PERCENTS)
    [above, *_] = figure_of(client, "picture=queue&scale=linear")["data"]
    assert list(above["x"]) == [1, 16]
    assert list(above["y"]) == [101.5, 1601.5]


@pytest.mark.django_db
def test_the_axis_and_the_legend_are_of_the_address_and_refused_where_they_cannot_be(
    client: Client, measured: None
) -> None:
    query = "picture=latency&scale=log&hide=xfs"
    assert spec_of(spec_of(query).to_query()) == spec_of(query)
    visible = {trace["name"]: trace.get("visible") for trace in figure_of(client, query)["data"]}
    assert visible == {"ext3": None, "xfs": "legendonly"}
    for wrong in ("scale=cubic", "hide=" + "x" * 201, "&".join(f"hide={n}" for n in range(51))):
        assert client.get(f"/compare/pictures/?picture=latency&show=cdf&{wrong}").status_code == 400


def test_what_a_test_is_of_and_at_which_depth() -> None:
    assert depth_of("randread_iops@iodepth=16,jobs=4") == (16, "4 jobs")
    assert depth_of("randread@threads=4") is None
    assert work_of("randread_bw@iodepth=1") == work_of("randread_iops") == ("randread", "rate")
    assert work_of("randread_clat_mean@iodepth=1") == ("randread", "latency")
    assert work_of("randread_clat_p99") == ("", "")


@pytest.mark.django_db
def test_a_latency_in_ns_is_read_in_microseconds_and_exact_on_demand(
    client: Client, measured: None
) -> None:
    query = "study=depths&test=randread_clat_mean@iodepth=1&by=configuration"
    plain = client.get(f"/compare/?{query}").content.decode()
    assert "90001.5 ns" in plain  # the title of each number
    exact = client.get(f"/compare/?{query}&numbers=exact").content.decode()
    assert ">90001.5<" in exact
    assert '<span class="unit">ns, less is better' in exact
    assert "Exactly " in exact
    tests = client.get("/studies/depths/?tab=tests&by=configuration&numbers=exact")
    assert "45001.5 ns" in tests.content.decode()
    chart = client.get("/compare/pictures/?study=depths&of=randread_clat_mean@iodepth=1")
    assert 'title="45001.5 ns"' in chart.content.decode()
    run = Run.objects.order_by("pk").first()
    assert run is not None
    assert 'title="90001.0 ns"' in client.get(f"/runs/{run.pk}/").content.decode()
