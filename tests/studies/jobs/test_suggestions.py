"""What the job form ticks by itself, and what it says where nothing can be run."""

import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from django.test import Client

from fsbench_web.catalog.configurations.filesystems import FILESYSTEMS
from fsbench_web.catalog.models import Lun, Worker
from fsbench_web.catalog.workers.announce import LunAnnouncement, announce
from fsbench_web.catalog.workers.setup import WorkerSetup
from fsbench_web.core.workloads import presets
from fsbench_web.core.workloads.base import QUESTIONS
from fsbench_web.studies.jobs import possible_runs
from tests.studies.conftest import GB, USABLE, worker_announcement

pytestmark = pytest.mark.django_db
NO = ["not here"]
NO_TOOL = {"usable": False, "reason": "It is not installed: install it.", "package": "x"}
SETUP = {
    "kind": "image",
    "state": "running",
    "title": "Building the <b>benchmark</b> image",
}


@pytest.fixture
def signed_in(client: Client, ann) -> Client:
    client.force_login(ann)
    return client


def announced(**can: Any) -> Lun:
    """The worker with other capabilities; its ``disk1``."""
    announcement = worker_announcement()
    worker = announce(worker_announcement(capabilities=announcement.capabilities | can))
    return worker.luns.get(name="disk1")


def ticked(response: Any, name: str) -> list[str]:
    return re.findall(
        rf'<input type="checkbox" name="{name}" value="([^"]+)" checked', response.content.decode()
    )


def suggested(response: Any) -> str:
    match = re.search(r'name="suggested" value="([^"]*)"', response.content.decode())
    assert match is not None
    return match[1]


class Sent(HTMLParser):
    """What a browser would send of the form of a page: (name, value) in its order."""

    def __init__(self, response: Any) -> None:
        super().__init__()
        self.pairs: list[tuple[str, str]] = []
        self._select, self._options = "", list[tuple[str, bool]]()
        self.feed(response.content.decode().partition('id="job-form"')[2])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        name, value = attributes.get("name") or "", attributes.get("value") or ""
        if tag == "select":
            self._select, self._options = name, []
        elif tag == "option":
            self._options.append((value, "selected" in attributes))
        elif tag == "input" and name and "disabled" not in attributes:
            is_sent = attributes.get("type") not in ("checkbox", "radio") or "checked" in attributes
            self.pairs += [(name, value)] if is_sent else []

    def handle_endtag(self, tag: str) -> None:
        if tag == "select" and self._options:
            chosen = [value for value, is_selected in self._options if is_selected]
            self.pairs.append((self._select, (chosen or [self._options[0][0]])[0]))


def shown_again(client: Client, page: Any) -> Any:
    """The form as a script asks for it anew, with all that it holds."""
    headers = {"HX-Request": "true"}
    return client.get("/runs/new/?" + urlencode(Sent(page).pairs), headers=headers)


def text(response: Any) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


# ---- what is chosen, from what can be ----


@pytest.mark.parametrize(
    ("impossible", "before", "expected"),
    [
        ([], [], ["ext4", "xfs"]),
        (["xfs"], [], ["ext4", "btrfs"]),
        (["ext4", "btrfs", "ext3", "ext2"], [], ["xfs", "jfs"]),
        ([slug for slug in FILESYSTEMS if slug != "nilfs2"], [], ["nilfs2"]),
        (FILESYSTEMS, [], []),
        # What was suggested stays as long as it can be, and is made anew when it cannot.
        ([], ["ext4", "ext3"], ["ext4", "ext3"]),
        (["ext3"], ["ext4", "ext3"], ["ext4", "xfs"]),
    ],
)
def test_file_systems(impossible, before, expected):
    problems = {slug: NO if slug in impossible else [] for slug in FILESYSTEMS}
    assert possible_runs.suggested_filesystems(problems, before) == expected


@pytest.mark.parametrize(
    ("possible", "before", "expected"),
    [
        (presets(), [], ["fio-8k-small"]),
        (["filemark-small", "mongo-small"], [], ["filemark-small"]),
        (["iozone-paper", "pgmeter-freenix"], [], []),  # hours are nobody's first wish
        ([], [], []),
        (presets(), ["mongo-small"], ["mongo-small"]),
        (["filemark-small"], ["mongo-small"], ["filemark-small"]),
        (["filemark-small"], ["own-gone-v1"], ["filemark-small"]),
    ],
)
def test_workloads(possible, before, expected):
    problems = {slug: [] if slug in possible else NO for slug in presets()}
    assert possible_runs.suggested_workloads(problems, before) == expected


def test_the_usual_workload_answers_the_first_question_and_measures_the_disk():
    usual = presets()[possible_runs.USUAL_WORKLOADS[0]]
    assert usual.answers == QUESTIONS[0]
    assert usual.workload().is_direct
    assert usual.workload().memory_warning(2**40) == ""
    assert set(possible_runs.USUAL_WORKLOADS) <= set(presets())


@pytest.mark.parametrize(
    ("setup", "expected"),
    [
        (
            WorkerSetup("image", "running", "Building the image"),
            "Nothing can be run on disk1 yet: lab1 sets itself up (building the image), and this "
            "form shows what can be run as soon as that has ended.",
        ),
        (
            WorkerSetup("packages", "missing", "Tools", command="sudo make tools"),
            "Nothing can be run on disk1 yet: lab1 lacks what the workloads need; run "
            "`sudo make tools` on its host, and this form shows what can be run then.",
        ),
        (None, "Nothing can be run on disk1 now: No tool."),
    ],
)
def test_one_sentence_says_what_is_missing(setup, expected):
    assert possible_runs.sentence_of_nothing("disk1", "lab1", setup, ["No tool."]) == expected


# ---- the page ----


def test_what_can_run_is_ticked_at_first(signed_in, disk):
    page = signed_in.get(f"/runs/new/?lun={disk.pk}&study=")
    assert ticked(page, "fs") == ["ext4.1", "xfs.1"]
    assert ticked(page, "workload") == ["iozone-messages"]
    assert suggested(page) == "ext4.1 xfs.1 iozone-messages"
    assert "data-nothing" not in text(page)


def test_what_is_not_as_usual_is_said_in_the_summary_of_its_fold(signed_in, disk):
    usual = text(signed_in.get(f"/runs/new/?lun={disk.pk}"))
    for words in ("all at their defaults", "as the preset has them", "Discard, write", "at random"):
        assert f"data-said>{words}" in usual
    query = {
        **{"lun": disk.pk, "repeats": 2, "fs": "ext4.1", "ext4.1.atime": "noatime"},
        **{"workload": "iozone-small", "iozone-small.maximum_file_kb": 2048},
        **{"discard": "yes", "fill_percent": 50, "priority": 3, "limit_read_mib_s": "0, 100"},
    }
    page = text(signed_in.get("/runs/new/?" + urlencode(query)))
    for words in (
        *("Access times noatime", "discard, fill level 50 percent", "priority 3"),
        "reads 0, 100 MiB/s",
    ):
        assert f"data-said>{words}<" in page
    assert re.search(r"data-said>[^<]*2048", page)
    assert ("age_extents", "") in Sent(signed_in.get("/runs/new/?" + urlencode(query))).pairs


@pytest.mark.parametrize(
    ("said", "count", "words"),
    [
        ({}, 0, "all at their defaults"),
        ({"repeats": 7, "fs": ["ext4.1"], "workload": "filemark-small"}, 0, "all at their"),
        ({"discard": "yes", "fill_percent": 50, "priority": 3}, 3, "; discard, fill level 50 per"),
        ({"scheduler": "bfq"}, 1, "1 differs from the default; scheduler bfq"),
        ({"limit_read_mib_s": "0, 100"}, 1, "; reads 0, 100 MiB/s"),
        ({"fs": ["ext4.1", "xfs.1"], "ext4.1.atime": "noatime"}, 1, "1 differs"),
        ({"fs": ["xfs.1"], "ext4.1.atime": "noatime"}, 0, "all at their defaults"),
        ({"workload": "iozone-small", "iozone-small.maximum_file_kb": 2048}, 1, "1 differs"),
        ({"workload": "iozone-small", "iozone-small.maximum_file_kb": 4096}, 0, "all at their"),
    ],
)
def test_advanced_counts_and_says_what_differs_while_it_is_closed(
    signed_in: Client, disk: Lun, said: dict[str, Any], count: int, words: str
) -> None:
    page = signed_in.get("/runs/new/?" + urlencode({"lun": disk.pk} | said, doseq=True))
    assert page.context["advanced_count"] == count
    assert not page.context["is_advanced_open"]
    fold = text(page).partition('id="form-advanced"')[2].partition("</summary>")[0]
    assert words in fold


@pytest.mark.parametrize(
    ("said", "is_open"),
    [
        ({"repeats": 99}, False),
        ({"fs": []}, False),
        ({"ext4.1.atime": "noatime", "repeats": 99}, False),
        ({"ext4.1.atime": "never"}, True),
        ({"workload": "iozone-small", "iozone-small.maximum_file_kb": ""}, True),
        ({"priority": 99}, True),
        ({"fill_percent": 200}, True),
        ({"scheduler": "fastest"}, True),
        ({"study": "unknown"}, True),
    ],
)
def test_advanced_is_open_where_something_in_it_is_refused(
    signed_in: Client, disk: Lun, said: dict[str, Any], is_open: bool
) -> None:
    usual = {"lun": disk.pk, "fs": ["ext4.1"], "scheduler": "none", "repeats": 2}
    usual |= {"workload": "iozone-messages", "new_study": "X"}
    page = signed_in.get("/runs/new/review/?" + urlencode(usual | said, doseq=True))
    assert (page.status_code, page.context["is_advanced_open"]) == (422, is_open)


def test_advanced_stays_open_where_one_of_its_buttons_asks_for_the_form(
    signed_in: Client, disk: Lun
) -> None:
    for query in ("add=ext4", "fs=ext4.2&remove_variant=ext4.2", "executor_shown=yes"):
        page = signed_in.get(f"/runs/new/?lun={disk.pk}&executor=own&{query}")
        assert page.context["is_advanced_open"], query


def test_the_form_shows_one_workload_of_each_question_and_the_chosen_ones(
    signed_in: Client, disk: Lun
) -> None:
    def shown(query: str) -> list[tuple[str, bool]]:
        page = signed_in.get(f"/runs/new/?lun={disk.pk}&{query}")
        # One of each, wherever it stands: no browser sends it twice.
        values = re.findall('name="workload" value="([a-z0-9-]+)"', page.content.decode())
        assert sorted(values) == sorted(presets())
        return [(each.preset.slug, each.is_chosen) for each in page.context["picks"]]

    usual = shown("")
    questions = [presets()[slug].answers for slug, _ in usual]
    assert questions == sorted(set(questions), key=QUESTIONS.index)
    chosen = shown("workload=iozone-paper")
    assert {slug for slug, is_chosen in chosen if is_chosen} == {"iozone-paper"}
    assert {slug for slug, _ in chosen} == {slug for slug, _ in usual} | {"iozone-paper"}


def test_a_preset_that_does_not_fit_says_which_one_does(signed_in: Client, disk: Lun) -> None:
    Lun.objects.filter(pk=disk.pk).update(size_bytes=GB)
    page = signed_in.get(f"/runs/new/?lun={disk.pk}")
    judged = 0
    for workload in (kind for group in page.context["questions"] for kind in group.workloads):
        fitting = [preset for preset in workload.presets if not preset.no_room]
        room = {preset.preset.title: preset.space_bytes for preset in fitting}
        assert room.get(workload.fitting, 0) == max(room.values(), default=0)
        if len(room) < len(workload.presets):
            judged += 1
            assert f"Fits here: {workload.fitting or 'no preset of this workload'}." in text(page)
    assert judged > 1
    asked = signed_in.get(f"/runs/new/?lun={disk.pk}&workload=iozone-paper")
    (left_out,) = asked.context["left_out"]
    assert left_out.preset.slug == "iozone-paper"
    notice = text(asked).partition("data-left-out")[2].partition("</div>")[0]
    assert f"Fits here: {presets()['iozone-direct'].title}." in notice


def test_nothing_is_ticked_before_a_lun_is_chosen(signed_in, worker):
    page = signed_in.get("/runs/new/")
    assert ticked(page, "fs") == ticked(page, "workload") == []
    assert suggested(page) == "nothing"


def test_a_preset_whose_tool_is_missing_is_not_ticked_but_says_so(signed_in):
    lun = announced(tools={"iozone": NO_TOOL})
    page = signed_in.get(f"/runs/new/?lun={lun.pk}")
    assert ticked(page, "workload") == ["filemark-small"]
    # Once for all presets of IOzone.
    assert text(page).count("not possible now</span> It is not installed: install it.") == 1


def test_what_follows_another_lun_stays_where_somebody_chose(signed_in, disk):
    small = Lun.objects.get(name="small1")
    first = signed_in.get(f"/runs/new/?lun={disk.pk}")
    query = [
        *(("lun", small.pk), ("repeats", "2"), ("scheduler", "none")),
        *(("fs", "ext4.1"), ("fs", "xfs.1"), ("workload", "iozone-small")),
        ("suggested", suggested(first)),
    ]
    follows = signed_in.get("/runs/new/?" + urlencode(query))
    # XFS needs 300 MB.
    assert ticked(follows, "fs") == ["ext3.1", "ext4.1"]
    assert ticked(follows, "workload") == ["iozone-small"]
    chosen = signed_in.get("/runs/new/?" + urlencode([*query, ("xfs.1.agcount", "4")]))
    assert ticked(chosen, "fs") == ["ext4.1", "xfs.1"]
    assert "XFS needs" in text(chosen)
    other = [pair for pair in query if pair[0] != "workload"] + [("workload", "mongo-small")]
    assert ticked(signed_in.get("/runs/new/?" + urlencode(other)), "workload") == ["mongo-small"]
    none = [pair for pair in query if pair[0] != "workload"] + [("workload", "")]
    assert ticked(signed_in.get("/runs/new/?" + urlencode(none)), "workload") == []


def test_a_changed_parameter_makes_a_suggestion_ones_own(signed_in, disk):
    announced(tools={"iozone": NO_TOOL})
    query = [
        *(("lun", disk.pk), ("repeats", "2"), ("workload", "iozone-small")),
        *(("suggested", "nothing iozone-small"), ("iozone-small.maximum_file_kb", "2048")),
    ]
    page = signed_in.get("/runs/new/?" + urlencode(query))
    assert ticked(page, "workload") == ["iozone-small"]
    assert "This worker cannot run every chosen workload yet." in text(page)
    unchanged = signed_in.get("/runs/new/?" + urlencode(query[:-1]))
    assert ticked(unchanged, "workload") == ["filemark-small"]


@pytest.mark.parametrize("query", ["study=lab", "repeats=2"])
def test_what_was_asked_for_stays_and_is_marked(signed_in, query):
    lun = announced(tools={"iozone": NO_TOOL})
    page = signed_in.get(f"/runs/new/?lun={lun.pk}&{query}&fs=btrfs.1&workload=iozone-small")
    assert ticked(page, "fs") == ["btrfs.1"]
    assert ticked(page, "workload") == ["iozone-small"]
    assert "not possible here" in text(page)
    assert "This worker cannot run every chosen workload yet." in text(page)


def test_a_form_that_nobody_touched_follows_its_worker_to_the_end_of_its_setting_up(signed_in):
    """As a worker tells it: what it brought is known before it says that it has ended."""
    capabilities = worker_announcement().capabilities
    little = {"filesystems": {"ext3": USABLE, "ext4": USABLE}, "tools": {"iozone": NO_TOOL}}
    lun = announced(**little, setup=SETUP)
    page = signed_in.get(f"/runs/new/?lun={lun.pk}")
    assert ticked(page, "fs") == ["ext3.1", "ext4.1"]
    announced(**little, setup=SETUP)
    page = shown_again(signed_in, page)
    assert ticked(page, "fs") == ["ext3.1", "ext4.1"]
    announced(setup=SETUP)
    page = shown_again(signed_in, page)
    assert ticked(page, "fs") == ["ext4.1", "xfs.1"]
    announce(worker_announcement(capabilities=capabilities))
    page = shown_again(signed_in, page)
    assert ticked(page, "fs") == ["ext4.1", "xfs.1"]
    assert suggested(page) == "ext4.1 xfs.1 iozone-messages"


def test_where_nothing_can_run_nothing_is_ticked_and_a_sentence_says_why(signed_in):
    nothing_mounts = {
        slug: {"usable": False, "reason": "No mkfs: install it."} for slug in ("ext4",)
    }
    lun = announced(filesystems=nothing_mounts)
    page = signed_in.get(f"/runs/new/?lun={lun.pk}")
    assert ticked(page, "fs") == ticked(page, "workload") == []
    assert "Nothing can be run on disk1 now: " in text(page)


def test_what_comes_later_says_when(signed_in):
    announcement = worker_announcement()
    tools = {"iozone": NO_TOOL}
    lun = announced(tools=tools, filesystems={}, setup=SETUP)
    page = text(signed_in.get(f"/runs/new/?lun={lun.pk}"))
    assert "lab1 sets itself up (building the &lt;b&gt;benchmark&lt;/b&gt; image)" in page
    assert "as soon as that has ended." in page
    assert "fsbench checks this again when lab1 has finished its setup." in page
    assert 'aria-label="Building the &lt;b&gt;benchmark&lt;/b&gt; image"' in page
    assert 'data-live-every="2"' in page
    # Nothing of that is left when it has ended.
    announce(worker_announcement(capabilities=announcement.capabilities))
    page = text(signed_in.get(f"/runs/new/?lun={lun.pk}"))
    assert "sets itself up" not in page
    assert "fsbench checks this again" not in page
    assert 'data-live-every="30"' in page


def test_the_one_usable_lun_is_chosen_also_when_it_comes_later(signed_in):
    only = [LunAnnouncement("scratch", "data", "device", "/dev/sdb", 20 * GB, [], ["none"])]
    announcement = worker_announcement()
    starting = announcement.capabilities | {"is_usable": False, "reason": "The worker is starting."}
    announce(worker_announcement(luns=only, capabilities=starting))
    page = signed_in.get("/runs/new/")
    assert "Nothing can be run on any LUN now: The worker is starting." in text(page)
    filled_in = {"repeats": "3", "suggested": suggested(page), "new_study": "Mine", "workload": ""}
    announce(worker_announcement(luns=only))
    page = signed_in.get("/runs/new/?" + urlencode(filled_in), headers={"HX-Request": "true"})
    assert ticked(page, "fs") == ["ext4.1", "xfs.1"]
    assert ticked(page, "workload") == ["iozone-messages"]
    assert 'name="new_study" maxlength="200" value="Mine"' in text(page)
    # Its address says the same again.
    query = dict(parse_qsl(page["HX-Replace-Url"].partition("?")[2]))
    assert query["suggested"] == "ext4.1 xfs.1 iozone-messages"


def test_what_the_page_ticked_is_chosen_once_it_is_submitted(signed_in: Client) -> None:
    page = signed_in.get("/runs/new/review/?suggested=ext4.1&fs=ext4.1&repeats=99")
    assert (page.status_code, suggested(page)) == (422, "")


# ---- what the form asks every few seconds ----


def digest(client: Client) -> str:
    match = re.search(r'data-live-state="([0-9a-f]{16})"', text(client.get("/runs/new/possible/")))
    assert match is not None
    return match[1]


def test_the_digest_changes_with_what_can_be_run_and_not_with_time(signed_in, disk, worker):
    before = digest(signed_in)
    announce(worker_announcement())
    assert digest(signed_in) == before
    seen = {before}
    for changes in (
        {"setup": SETUP},
        {"setup": SETUP | {"state": "failed", "command": "sudo make tools"}},
        {"tools": {"fio": USABLE}},
        {"guest": {"usable": True, "kernels": [{"name": "debian-6.1"}]}},
        {"is_usable": False, "reason": "The daemon is away."},
    ):
        announced(**changes)
        seen.add(digest(signed_in))
    assert len(seen) == 6
    Worker.objects.update(seen_at="2020-01-01T00:00:00Z")
    assert digest(signed_in) not in seen


def test_a_setup_that_goes_on_is_no_change(signed_in):
    announced(setup=SETUP)
    before = digest(signed_in)
    announced(setup=SETUP | {"share": 0.9, "remaining_s": 3}, versions=[["Docker", "27"]])
    assert digest(signed_in) == before


def test_what_makes_no_sense_is_not_shown(signed_in, client):
    lun = announced(setup={"kind": "image", "state": ["running"], "title": "<script>"})
    for address in ("/", "/workers/lab1/", "/luns/", f"/runs/new/?lun={lun.pk}"):
        page = signed_in.get(address)
        assert page.status_code == 200
        assert "data-setup" not in text(page)


def test_a_setup_that_failed_shows_problem_and_command(signed_in):
    setup = {"kind": "packages", "state": "failed", "problem": "apt: <i>no space</i>"}
    announced(setup=setup | {"command": "sudo make tools"})
    for address in ("/", "/workers/lab1/", "/runs/new/"):
        page = text(signed_in.get(address))
        assert "Installing the benchmark tools" in page
        assert "apt: &lt;i&gt;no space&lt;/i&gt;" in page
        assert "<code>sudo make tools</code>" in page
        assert "<progress" not in page


def test_a_silent_worker_sets_nothing_up(signed_in):
    announced(setup=SETUP)
    Worker.objects.update(seen_at="2020-01-01T00:00:00Z")
    for address in ("/", "/workers/lab1/", "/runs/new/", "/runs/new/possible/"):
        assert "data-setup" not in text(signed_in.get(address))


def test_the_raw_device_is_for_those_who_ask_for_it() -> None:
    assert possible_runs.suggested_filesystems({"xfs": [], "raw": []}) == ["xfs"]
    assert possible_runs.suggested_filesystems({"xfs": ["no"], "raw": []}) == []
