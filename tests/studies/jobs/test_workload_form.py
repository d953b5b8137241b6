"""The workloads in the job form: groups, lists of numbers, what they need, remounts."""

import re

import pytest
from django.test import Client

from fsbench_web.catalog.models import Lun
from fsbench_web.core.workloads import ParameterError, Preset, presets, workload_of, workload_types
from fsbench_web.core.workloads.base import OTHERS, QUESTIONS
from fsbench_web.core.workloads.parameters import Kind, Parameter
from fsbench_web.core.workloads.registry import BUILTIN
from fsbench_web.studies.jobs.forms.workload import by_question, shown_presets

LOADS = Parameter("loads", "Outstanding I/O", Kind.WHOLES, default=[1], minimum=1, maximum=256)


@pytest.mark.parametrize("text", ["1, 4, 16, 64", "1 4 16 64", "64;16;4;1", " 1,,4,16,64, "])
def test_a_list_may_be_written_as_people_write_it(text: str) -> None:
    assert LOADS.of_text(text) == [1, 4, 16, 64]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Outstanding I/O: nothing is given. Write 1 to 32 whole numbers, with commas"),
        (" , ;", "nothing is given"),
        ("1, 4, four", 'Outstanding I/O: "four" is not a whole number.'),
        ("1.5", '"1.5" is not a whole number'),
        ("-1", '"-1" is not a whole number'),
        ("1-64", '"1-64" is not a whole number'),
        ("٣", "is not a whole number"),
        ("$(reboot)", "is not a whole number"),
        ("4, 4", "names a number twice"),
        ("0", "must be 1 to 256, not 0"),
        ("1, 300", "must be 1 to 256, not 300"),
        (",".join(map(str, range(1, 34))), "a list of 1 to 32 whole numbers"),
        ("9" * 5000, "is not a whole number"),
    ],
)
def test_a_list_that_cannot_be_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(ParameterError) as refused:
        LOADS.of_text(text)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 200


def test_an_emptied_number_is_refused_and_a_name_in_capitals_stays_so() -> None:
    with pytest.raises(ParameterError, match="Files: nothing is given"):
        Parameter("files", "Files").of_text("")
    with pytest.raises(ParameterError, match="The CPUs must be 1 to 4"):
        Parameter("cpus", "CPUs", minimum=1, maximum=4).checked(5)


@pytest.mark.django_db
def test_every_preset_is_in_the_group_of_its_question_once() -> None:
    groups = by_question(shown_presets({"postmark-small"}, {}))
    pairs = [
        (preset_fields.preset.slug, group.question)
        for group in groups
        for kind in group.workloads
        for preset_fields in kind.presets
    ]
    assert sorted(slug for slug, _ in pairs) == sorted(presets())
    assert [group.question for group in groups if group.chosen] == ["Mail"]
    assert [question for question in QUESTIONS if question in dict(pairs).values()] == [
        group.question for group in groups
    ]
    of = dict(pairs)
    assert [of[slug] for slug in ("pgbench-tpcb", "fio-8k", "git-linux", "iozone-small")] == [
        *("Database", "Database", "Build and source trees", "Memory and mixed")
    ]
    # One workload, two questions.
    assert presets()["fio-stream"].tool == presets()["fio-8k"].tool
    assert of["fio-stream"] == "Streaming"


def test_every_workload_of_ours_answers_a_question_and_one_that_says_none_is_among_the_others() -> (
    None
):
    for kind in BUILTIN:
        questions = {preset.answers for preset in presets().values() if preset.kind is kind}
        assert questions <= set(QUESTIONS) - {OTHERS}, kind.tool
    silent = type("Silent", (BUILTIN[0],), {"question": ""})
    odd = type("Odd", (BUILTIN[0],), {"question": "Weather"})
    for kind in (silent, odd):
        assert Preset("one", "One", "", {}, kind).answers == OTHERS


@pytest.mark.django_db
def test_it_says_what_a_preset_itself_needs() -> None:
    for preset_fields in shown_presets((), {"postmark-small": {"files": "70000"}}):
        workload = preset_fields.preset.workload()
        assert preset_fields.space_bytes == workload.space_needed_bytes()
        assert preset_fields.asked_s == workload.estimated_s()


@pytest.mark.django_db
def test_only_the_group_with_a_choice_is_open(client: Client, ann, disk: Lun) -> None:
    client.force_login(ann)
    page = client.get(f"/runs/new/?lun={disk.pk}&workload=postmark-small").content.decode()
    opened = re.findall(
        r'<details class="card" id="question-\d+"( open)?>\s*<summary>([^<]+)', page
    )
    assert len(opened) == len(by_question(shown_presets((), {})))
    assert [name.strip() for is_open, name in opened if is_open] == ["Mail"]
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert '<strong>PostMark, small</strong> <span class="badge">Sun 2004</span>' in page
    assert "25,000 to 500,000 in nine steps" in page
    assert page.count(workload_types()["postmark"].about.replace("'", "&#x27;")) == 1


@pytest.mark.django_db
def test_the_preview_shows_each_remount(client: Client, ann, disk: Lun) -> None:
    disk.worker.capabilities["tools"]["postmark"] = {"usable": True}
    disk.worker.save()
    client.force_login(ann)
    spec = (
        f"lun={disk.pk}&fs=ext4.1&scheduler=none&repeats=1&new_study=S&workload=postmark-small"
        "&postmark-small.transactions=10,+20"
    )
    page = client.get(f"/runs/new/review/?{spec}").content.decode()
    phases = re.findall(r"# (\w+)</span>", page)
    before_each = ["unmount", "mount", "benchmark"]
    assert phases == ["mkfs", "mount", "benchmark", *before_each, *before_each, "sync", "unmount"]

    refused = client.get(f"/runs/new/review/?{spec}&postmark-small.files=")
    assert refused.status_code == 422
    assert "Files: nothing is given." in refused.content.decode()


def test_an_unknown_tool_is_named() -> None:
    with pytest.raises(ParameterError, match='cannot run "nosuch"'):
        workload_of("nosuch", {})


@pytest.mark.django_db
def test_what_does_not_fit_on_the_lun_cannot_be_ticked(client: Client, ann, disk: Lun) -> None:
    def boxes(size_bytes: int, chosen: str = "") -> dict[str, str]:
        Lun.objects.filter(pk=disk.pk).update(size_bytes=size_bytes)
        address = f"/runs/new/?lun={disk.pk}&fs=xfs{chosen}"
        page = client.get(address).content.decode()
        inputs = re.findall(r'name="workload" value="([a-z0-9-]+)"( checked| disabled)?', page)
        return {slug: state.strip() for slug, state in inputs}

    client.force_login(ann)
    needed = presets()["pgmeter-freenix"].workload().space_needed_bytes()
    assert boxes(2 * needed)["pgmeter-freenix"] == ""
    assert boxes(needed - 1)["pgmeter-freenix"] == "disabled"
    assert boxes(needed - 1)["pgmeter-small"] != "disabled"
    # No link ticks it; what else the link names is ticked.
    both = boxes(needed - 1, "&workload=pgmeter-freenix&workload=pgmeter-small")
    assert (both["pgmeter-freenix"], both["pgmeter-small"]) == ("disabled", "checked")
