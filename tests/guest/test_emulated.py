"""Emulated results: flagged everywhere, and never silently beside real ones."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.compare.history import choices
from fsbench_web.compare.history import lines as history
from fsbench_web.compare.permalinks import records
from fsbench_web.compare.selection.spec import ComparisonSpec, SpecError
from fsbench_web.compare.tables import findings
from fsbench_web.compare.tables.delta_tables import comparison, delta_tables
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec
from fsbench_web.studies.jobs.submitting import submit
from fsbench_web.studies.models import Run, Series, Study
from fsbench_web.studies.scores import quality
from tests.guest.conftest import announced, specs_of
from tests.studies.conftest import complete

MakeSpec = Callable[..., JobSpec]
WRITE = ComparisonSpec(tests=("write",), categories=("maximum",))


def measuring(guest_spec: MakeSpec, ann: User) -> Callable[..., Run]:
    """``measured(filesystem, value, accelerator)``: one run, done; None is the worker's own."""

    def measured(filesystem: str, value: float, accelerator: str | None, study: str = "lab") -> Run:
        announced(accelerator=accelerator or "kvm")
        study_exists = Study.objects.filter(slug=study).exists()
        spec = guest_spec(
            configurations=(ConfigurationSpec(filesystem, {}, "none"),),
            guest=GuestSpec(("debian-6.1",)) if accelerator else None,
            repeats=1,
            study=study if study_exists else "",
            new_study="" if study_exists else study,
        )
        run = submit(spec, "disk1", ann)[0]
        complete(run, value)
        return Run.objects.get(pk=run.pk)

    return measured


@pytest.fixture
def measured(guest_spec: MakeSpec, ann: User) -> Callable[..., Run]:
    return measuring(guest_spec, ann)


@pytest.fixture(scope="module")
def four(module_db: None) -> list[Run]:
    disk = announced().luns.get(name="disk1")
    measured = measuring(specs_of(disk), User.objects.create_user("ann"))
    return [
        measured("ext4", 1000.0, None),
        measured("xfs", 900.0, None),
        measured("ext4", 5000.0, "emulated"),
        measured("jfs", 100.0, "emulated"),
    ]


@pytest.fixture
def mixed(four: list[Run], db: None) -> list[Run]:
    """Two file systems on the worker, and two emulated."""
    return copy.deepcopy(four)


def scores_of(spec: ComparisonSpec) -> list[tuple[str, float]]:
    return [(row.contender, row.score) for table in delta_tables(spec) for row in table.rows]


@pytest.mark.usefixtures("mixed")
def test_emulated_results_are_left_out_beside_real_ones_and_counted() -> None:
    assert scores_of(WRITE) == [("xfs", 900.0), ("ext4", 1000.0)]
    result = comparison(WRITE)
    assert len(result.left_out) == 2
    assert result.emulated is not None
    assert result.emulated.sentence == (
        "2 emulated series are left out: emulated results are for function, not for speed."
    )
    assert scores_of(replace(WRITE, emulated="out")) == scores_of(WRITE)
    assert scores_of(replace(WRITE, by="configuration")) == [
        ("xfs_none", 900.0),
        ("ext4_none", 1000.0),
    ]


@pytest.mark.usefixtures("mixed")
def test_they_are_shown_when_asked_for_and_never_silently() -> None:
    spec = replace(WRITE, emulated="with")
    tables = delta_tables(spec)
    rows = {row.contender: row for row in tables[0].rows}
    assert {name: row.score for name, row in rows.items()} == {
        "ext4": 5000.0,
        "xfs": 900.0,
        "jfs": 100.0,
    }
    assert "emulated" in rows["ext4"].flags
    assert "emulated" in rows["jfs"].flags
    assert "emulated" not in rows["xfs"].flags
    assert all("mixed_machines" in row.flags for row in rows.values())
    verdict = rows["xfs"].verdict
    assert verdict is not None
    assert verdict.status == "unknown"
    assert "emulated" in verdict.reasons
    summary = findings.findings_by_test(tables).summary
    assert "next to real ones" in summary[0].text
    assert scores_of(replace(WRITE, emulated="only")) == [("jfs", 100.0), ("ext4", 5000.0)]


def test_where_there_is_nothing_else_they_are_shown_flagged(measured: Callable[..., Run]) -> None:
    measured("ext4", 50.0, "emulated", study="small")
    measured("jfs", 100.0, "emulated", study="small")
    result = comparison(replace(WRITE, studies=("small",)))
    assert [row.contender for row in result.tables[0].rows] == ["ext4", "jfs"]
    assert result.tables[0].common_flags == ("emulated",)
    assert result.emulated is not None
    assert result.emulated.sentence.startswith("Everything shown was emulated")
    assert scores_of(replace(WRITE, studies=("small",), emulated="out")) == []


def test_guests_with_kvm_are_real_and_told_apart(measured: Callable[..., Run]) -> None:
    measured("ext4", 1000.0, None)
    measured("ext4", 900.0, "kvm")
    spec = replace(WRITE, by="machine")
    assert scores_of(spec) == [("guest-kvm-1-gib-2-cpus", 900.0), ("own", 1000.0)]
    assert scores_of(replace(WRITE, machines=("own",))) == [("ext4", 1000.0)]
    by_configuration = delta_tables(replace(WRITE, by="configuration"))[0].rows
    assert len({row.contender for row in by_configuration}) == 2
    assert comparison(spec).emulated is None


@pytest.mark.usefixtures("mixed")
def test_a_permalink_pins_what_it_left_out(client: Client) -> None:
    ann = User.objects.get(username="ann")
    link = records.pin(WRITE, ann)
    assert "emulated=out" in link.query
    assert "2 emulated series are left out" in records.read(link).description
    both = records.pin(replace(WRITE, emulated="with"), ann)
    assert "emulated=with" in both.query
    page = client.get(f"/p/{both.key}/").content.decode()
    assert "for function, not for speed" in page


def test_a_permalink_of_emulated_ones_alone_stays_one(
    ann: User, measured: Callable[..., Run]
) -> None:
    measured("ext4", 50.0, "emulated")
    link = records.pin(WRITE, ann)
    assert "emulated=only" in link.query
    measured("xfs", 900.0, None)
    assert not records.changes_since(link, records.read(link)).has_any


@pytest.mark.usefixtures("mixed")
def test_pages_files_and_api_say_it(client: Client) -> None:
    query = "test=write&category=maximum"
    page = client.get(f"/compare/?{query}").content.decode()
    assert "2 emulated series are left out" in page
    assert "emulated=with" in page
    page = client.get(f"/compare/?{query}&emulated=with").content.decode()
    assert "a difference to them means nothing" in page
    body = client.get(f"/api/v1/deltas?{query}").json()
    assert body["emulated_left_out"] == 2
    assert client.get(f"/api/v1/comparison?{query}").json()["emulated_left_out"] == 2
    [note] = client.get(f"/api/v1/findings?{query}").json()["notes"]
    assert note.startswith("2 emulated series are left out")
    body = client.get(f"/api/v1/deltas?{query}&emulated=with").json()
    assert "emulated_left_out" not in body
    assert {
        row["contender"] for row in body["tables"][0]["rows"] if "emulated" in row["flags"]
    } == {
        "ext4",
        "jfs",
    }
    assert "emulated" in client.get(f"/api/v1/deltas.csv?{query}&emulated=only").content.decode()
    exported = json.loads(client.get(f"/compare/deltas.json?{query}").content)
    assert "2 emulated series are left out" in json.dumps(exported)
    page = client.get("/studies/lab/?tab=runs").content.decode()
    assert "2 emulated series are left out" in page
    assert page.count("emulated: for function, not for speed") >= 2
    assert "2 emulated series are left out" in client.get("/studies/lab/report/").content.decode()


@pytest.mark.parametrize("kind", ["bars", "stacked", "matrix", "repeats"])
def test_pictures_say_it_too(client: Client, mixed: list[Run], kind: str) -> None:
    address = f"/compare/pictures/?study=lab&picture={kind}"
    assert "2 emulated series are left out" in client.get(address).content.decode()
    page = client.get(f"{address}&emulated=with").content.decode()
    assert "a difference to them means nothing" in page


def test_a_run_says_that_it_was_emulated(client: Client, mixed: list[Run]) -> None:
    page = client.get(f"/runs/{mixed[3].pk}/").content.decode()
    assert "Emulated: for function, not for speed." in page
    assert "debian-6.1" in page
    assert "Emulated" not in client.get(f"/runs/{mixed[0].pk}/").content.decode()
    assert client.get("/runs/").content.decode().count(">emulated</span>") == 2
    body = client.get(f"/api/v1/runs/{mixed[3].pk}").json()
    assert body["emulated"] is True
    assert body["machine"]["kernel"] == "debian-6.1"
    again = client.get(f"/api/v1/runs/{mixed[0].pk}").json()
    assert (again["emulated"], again["machine"]) == (False, {})


def test_a_line_over_time_is_of_one_kind_of_machine(mixed: list[Run]) -> None:
    points = history.history(mixed[0].series, "write", "maximum", "kernel", 10).points
    assert [point.values for point in points] == [(1000.0,)]
    points = history.history(mixed[2].series, "write", "maximum", "kernel", 10).points
    assert [point.values for point in points] == [(5000.0,)]
    study = Study.objects.get(slug="lab")
    assert len(choices.line_choices([study.pk], 10)) == 4


def test_a_line_over_time_goes_along_the_kernels_of_guests(
    guest_spec: MakeSpec, ann: User, old_and_new: GuestSpec
) -> None:
    spec = guest_spec(
        configurations=(ConfigurationSpec("jfs", {}, "none"),), guest=old_and_new, repeats=1
    )
    for value, run in enumerate(submit(spec, "disk1", ann), start=1):
        complete(run, 1000.0 * value)
    series = Series.objects.first()
    assert series is not None
    points = history.history(series, "write", "maximum", "kernel", 10).points
    assert [point.name for point in points] == ["2.6.8.1", "6.1.0-44-amd64"]
    tables = delta_tables(replace(WRITE, by="kernel"))
    assert [row.contender for row in tables[0].rows] == ["6.1.0-44-amd64", "2.6.8.1"]
    lines = choices.line_choices([series.study_id], 10)
    assert [(line.kernels, line.runs) for line in lines] == [(2, 2)]


def test_the_choice_is_in_the_address() -> None:
    spec = ComparisonSpec(emulated="with", machines=("own",))
    assert ComparisonSpec.from_query(spec.to_query()) == spec
    with pytest.raises(SpecError, match="out, with or only"):
        ComparisonSpec.from_query("emulated=yes")


def test_the_guests_memory_is_the_cache_that_cells_are_judged_by(mixed: list[Run]) -> None:
    Run.objects.update(conditions={"before": {"memory_total_bytes": 64 * 2**30}})
    assert quality.basis_of(mixed[0].series).memory_kb == 64 * 2**20
    assert quality.basis_of(mixed[2].series).memory_kb == 2**20


def test_an_emulated_device_is_no_limit_of_a_real_one(
    guest_spec: MakeSpec, ann: User, disk: Lun
) -> None:
    spec = guest_spec(
        configurations=(ConfigurationSpec("ext4", {}, "none"),),
        parameters={"direct_io": True},
        repeats=1,
    )
    series = {}
    for accelerator, value in (("emulated", 700.0), ("kvm", 900.0)):
        announced(accelerator=accelerator)
        run = submit(spec.model_copy(update={"new_study": accelerator}), "disk1", ann)[0]
        complete(run, value)
        series[accelerator] = run.series
    host = submit(spec.model_copy(update={"new_study": "host", "guest": None}), "disk1", ann)[
        0
    ].series
    assert quality.best_direct_kb_s(series["emulated"]) == 700.0
    assert quality.best_direct_kb_s(series["kvm"]) == 900.0
    assert quality.best_direct_kb_s(host) == 900.0


@pytest.mark.parametrize("by", ["filesystem", "configuration", "machine"])
@pytest.mark.parametrize("path", ["/compare/", "/compare/deltas.csv", "/api/v1/deltas"])
def test_a_choice_that_nothing_passes_is_an_empty_comparison(
    measured: Callable[..., Run], client: Client, path: str, by: str
) -> None:
    measured("ext4", 1000.0, None)
    assert client.get(path, {"emulated": "only", "by": by}).status_code == 200
    assert scores_of(replace(WRITE, emulated="only", by=by)) == []


def test_what_is_emulated_alone_can_be_left_out_too(measured: Callable[..., Run]) -> None:
    measured("jfs", 100.0, "emulated")
    assert scores_of(replace(WRITE, emulated="out")) == []
