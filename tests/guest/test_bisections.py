"""Jobs that look for the kernel at which speed changed: who is measured next, and what is said."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from fsbench_web.core.formats.result import ParsedValue
from fsbench_web.studies.causes import Cause
from fsbench_web.studies.jobs.problems import JobRefused
from fsbench_web.studies.jobs.spec import ConfigurationSpec, GuestSpec, JobSpec, RaceSpec
from fsbench_web.studies.jobs.submitting import planned, submit
from fsbench_web.studies.models import Race, Run, RunState
from fsbench_web.studies.runs import control, lifecycle, races
from fsbench_web.studies.scores import ingest
from tests.guest.conftest import NEW, announced
from tests.studies.conftest import start

pytestmark = pytest.mark.django_db
MakeSpec = Callable[..., JobSpec]
VERSIONS = ("6.12.1", "6.1.0", "6.9.0", "6.10.0", "6.6.0", "6.11.0-rc1", "6.11.0", "6.8.0")
"""In no order; 6.9 is before 6.10, and a candidate before its release."""
KERNELS = tuple(f"k{version}" for version in VERSIONS)
IN_ORDER = ["6.1.0", "6.6.0", "6.8.0", "6.9.0", "6.10.0", "6.11.0-rc1", "6.11.0", "6.12.1"]


@pytest.fixture
def search(guest_spec: MakeSpec, ann: User) -> Callable[..., list[Run]]:
    """``search(runs=80)``: eight kernels, one configuration."""

    def make(**race: Any) -> list[Run]:
        announced(
            kernels=[{**NEW, "name": f"k{version}", "version": version} for version in VERSIONS]
        )
        return submit(guest_spec(**spec_values(**race)), "disk1", ann)

    return make


def spec_values(**race: Any) -> dict[str, Any]:
    return {
        "configurations": (ConfigurationSpec("ext4", {}, "none"),),
        "guest": GuestSpec(KERNELS),
        "race": RaceSpec(find="change", **(race or {"runs": 80})),
    }


def kernel(run: Run) -> str:
    return run.series.kernel


def waiting() -> list[Run]:
    runs = Run.objects.filter(state=RunState.QUEUED).select_related("series")
    return list(runs.order_by("id"))


def measure(run: Run, slow_from: str) -> None:
    """10% slower from this kernel on; runs scatter by up to 1%."""
    is_slow = IN_ORDER.index(kernel(run)) >= IN_ORDER.index(slow_from)
    value = (900 if is_slow else 1000) * (1 + 0.003 * (run.pk % 4))
    handle = start(run)
    with transaction.atomic():
        artefact = ingest.store_artefact(run, "iozone.txt", b"raw output")
        ingest.store_values(run, artefact, [ParsedValue("write", 4, 64, value, "KB/s", 1)])
        lifecycle.finish(handle, RunState.DONE, "")


def run_to_its_end(slow_from: str, lost: str = "") -> None:
    for _ in range(100):
        following = waiting()
        if not following:
            return
        if kernel(following[0]) == lost:
            lifecycle.finish(start(following[0]), RunState.FAILED, "panic", Cause.BENCHMARK)
        else:
            measure(following[0], slow_from)
    raise AssertionError("it does not end")


def test_the_oldest_and_the_newest_are_first(search: Callable[..., list[Run]]) -> None:
    runs = search()
    assert [kernel(run) for run in runs] == ["6.12.1", "6.1.0"]
    race = Race.objects.get()
    assert [row.label for row in report().rows] == [
        f"ext4_none, k{version}" for version in IN_ORDER
    ]
    assert race.job.document["race"] == {"find": "change", "runs": 80}
    assert report().so_far == "Whether k6.12.1 differs from k6.1.0 is not known yet."


def report() -> Any:
    return races.report_of(Race.objects.get().job)


@pytest.mark.parametrize("slow_from", ["6.6.0", "6.10.0", "6.12.1"])
def test_it_finds_the_kernel_and_says_so_in_a_sentence(
    search: Callable[..., list[Run]], slow_from: str
) -> None:
    search()
    run_to_its_end(slow_from)
    before = IN_ORDER[IN_ORDER.index(slow_from) - 1]
    race = Race.objects.get()
    assert race.conclusion.startswith(
        f"k{slow_from} is where ext4_none for IOzone, small by write, total average became slower: "
    )
    assert f"% slower than k{before}, the kernel before it (95% interval " in race.conclusion
    assert "-" not in race.conclusion.replace("-rc1", "")
    assert "that did not choose the two). k6.12.1 is " in race.conclusion
    assert f"It took {Run.objects.count()} runs of 80" in race.conclusion
    assert Run.objects.count() < 60
    race_report = report()
    assert (race_report.phase, race_report.is_known) == ("ended", True)
    sides = {row.label.partition(", k")[2]: row.state for row in race_report.rows}
    assert sides[before] == "before"
    assert sides[slow_from] == "after"


def test_a_kernel_that_fails_twice_is_passed_over(search: Callable[..., list[Run]]) -> None:
    search()
    run_to_its_end("6.10.0", lost="6.10.0")
    conclusion = Race.objects.get().conclusion
    assert conclusion.startswith("k6.11.0-rc1 is where ")
    assert "% slower than k6.9.0, the last before it that was measured (" in conclusion
    assert "; k6.10.0 between them could not be measured). " in conclusion
    row = next(row for row in report().rows if "k6.10.0" in row.label)
    assert (row.state, row.word) == ("out", "failed")
    assert "It failed 2 times in one round." in row.reason


def test_an_end_that_fails_is_said(search: Callable[..., list[Run]]) -> None:
    search()
    run_to_its_end("6.10.0", lost="6.1.0")
    assert Race.objects.get().conclusion.startswith("k6.1.0 failed to measure: ")


def test_a_cancelled_one_says_how_far_it_came(search: Callable[..., list[Run]], ann: User) -> None:
    search()
    while len({kernel(run) for run in Run.objects.select_related("series")}) < 3:
        measure(waiting()[0], "6.10.0")
    control.cancel(Race.objects.get().job_id, "ann")
    assert Race.objects.get().conclusion == (
        "Stopped, because a run was cancelled. The change is likely after k6.1.0, up to k6.12.1."
    )
    assert report().phase == "stopped"


def test_page_and_api_say_where_it_stands(
    search: Callable[..., list[Run]], ann: User, client: Client
) -> None:
    search()
    run_to_its_end("6.10.0")
    client.force_login(ann)
    job = Race.objects.get().job_id
    page = client.get(f"/jobs/{job}/").content.decode()
    assert "What changed among 8 kernels" in page
    assert "before the change" in page
    assert "after it" in page
    race = client.get(f"/api/v1/sweeps/{job}").json()["race"]
    names = {contender["series"]: contender["configuration"] for contender in race["contenders"]}
    assert (race["find"], race["status"], race["leader"]) == ("change", "faster", None)
    assert names[race["before"]].endswith("k6.9.0")
    assert names[race["after"]].endswith("k6.10.0")
    assert race["ratio"] == pytest.approx(0.9, rel=0.02)
    states = [contender["state"] for contender in race["contenders"]]
    assert states[0] == "before"
    assert states[-1] == "after"
    assert "left" in states


def test_the_page_names_the_kernel_of_each_run_and_says_what_is_measured_and_not_decided(
    search: Callable[..., list[Run]], ann: User, client: Client
) -> None:
    search()
    measure(waiting()[0], "6.10.0")
    measure(waiting()[0], "6.10.0")
    client.force_login(ann)
    page = client.get(f"/jobs/{Race.objects.get().job_id}/").content.decode()
    assert page.count('kernel <span class="mono">k6.1.0</span>') == 2
    assert page.count('kernel <span class="mono">k6.12.1</span>') == 2
    assert "Emulated" not in page
    words = {row.label.partition(", k")[2]: row.word for row in report().rows}
    assert (words["6.1.0"], words["6.12.1"], words["6.9.0"]) == (
        *("not decided yet", "not decided yet"),
        "not looked at",
    )


def test_what_emulated_guests_found_never_stands_alone(
    guest_spec: MakeSpec, ann: User, client: Client
) -> None:
    """The sentence that may be quoted says what it is worth, and so does the page meanwhile."""
    kernels = [{**NEW, "name": f"k{version}", "version": version} for version in VERSIONS]
    announced(kernels=kernels, accelerator="emulated")
    submit(guest_spec(**spec_values()), "disk1", ann)
    client.force_login(ann)
    address = f"/jobs/{Race.objects.get().job_id}/"
    assert (
        "The results say nothing about the speed of a real machine"
        in client.get(address).content.decode()
    )
    run_to_its_end("6.10.0")
    conclusion = Race.objects.get().conclusion
    assert conclusion.startswith("k6.10.0 is where ")
    assert conclusion.endswith(
        " Emulated: for function, not for speed, so that nothing is said of how fast a real "
        "machine is."
    )


def test_what_is_refused(guest_spec: MakeSpec, worker: object) -> None:
    two = (ConfigurationSpec("ext4", {}, "none"), ConfigurationSpec("xfs", {}, "none"))
    with pytest.raises(JobRefused) as refused:
        planned(
            guest_spec(
                **spec_values() | {"configurations": two, "guest": GuestSpec(("debian-6.1",))}
            )
        )
    problems = refused.value.by_part["race"]
    assert problems == [
        "A change is looked for among kernels: choose a guest and two kernels or more.",
        "A change is looked for in one configuration, not 2: choose one.",
    ]
    with pytest.raises(JobRefused) as refused:
        planned(guest_spec(**spec_values(runs=4) | {"guest": GuestSpec(("debian-6.1", "own-2.6"))}))
    assert "takes 6 to 2000 runs" in refused.value.by_part["race"][0]
