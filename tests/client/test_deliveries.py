"""``check`` as files: JUnit, GitHub, GitLab, Markdown; hostile names stay text. No network."""

import html
import importlib
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import markdown as markdown_library
import pytest
from lxml import etree

from tests.client.conftest import CLIENT, Command
from tests.client.test_check import QUERY, Measured

SHA = "0123456789abcdef" * 2 + "01234567"
URL = "https://fsbench.example"
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "]]> & <!-- -->",
    "a | b | c",
    "`code` **bold** _under_ ~~gone~~",
    "@everyone #1 !2 owner/repo#3",
    "[a](javascript:alert(1)) ![b](http://evil.example/x.png)",
    "http://evil.example www.evil.example",
    "\x00\x1b[31m\x07\ufffe\u202e",
    "line\n| new | row |\n\n# head",
    "\ud800 half",
    "&lt;b&gt; &#64;all",
    "x" * 5000,
]


@pytest.fixture
def deliveries(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(CLIENT))
    monkeypatch.setenv("GITHUB_SHA", SHA)
    return importlib.import_module("fsbench.deliveries")


def finding(deliveries: ModuleType, result: str, name: str = "ext4", **more: Any) -> Any:
    values = {"change_percent": -9.4, "since": "6.3.0", "q_value": 0.001, "reason": ""} | more
    return deliveries.Finding(subject=name, test=name, result=result, **values)


# Of Jenkins' xunit plugin, MIT, as pytest 9.2.0 has it among its own tests.
SCHEMA = etree.XMLSchema(etree.parse(Path(__file__).parent / "junit-10.xsd"))


def checked_junit(text: str) -> ElementTree.Element:
    SCHEMA.assertValid(etree.fromstring(text.encode()))
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in (root, root[0]):
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
            assert int(element.attrib[name]) == len(list(root.iter(tag)))
    return root


def test_the_schema_refuses_what_is_no_junit() -> None:
    assert not SCHEMA.validate(etree.fromstring("<testsuites><testcase/></testsuites>"))


def test_junit_has_a_case_for_each_finding(deliveries: ModuleType) -> None:
    results = ["fell", "not known", "rose", "no change", "equivalent", "inconclusive"]
    found = [finding(deliveries, result) for result in results]
    root = checked_junit(deliveries.junit(found, ["No such line."]))
    (failure,), errors = root.iter("failure"), list(root.iter("error"))
    assert failure.attrib == {"type": "fell", "message": "fell, −9.4%, since 6.3.0, q 0.001"}
    assert [error.attrib["type"] for error in errors] == ["not known", "problem"]
    assert errors[1].text == "No such line."
    assert root.attrib == {"tests": "7", "failures": "1", "errors": "2"}


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_names_in_junit(deliveries: ModuleType, name: str) -> None:
    found = [finding(deliveries, "fell", name, reason=name)]
    text = deliveries.junit(found, [name])
    root = checked_junit(text.encode("utf-8").decode())
    first = next(root.iter("testcase")).attrib["name"]
    # XML has no room for control characters and halves of letters: a sign stands for each.
    expected = re.sub("[\x00-\x08\x0e-\x1f\ufffe\ud800]", "\ufffd", name)
    assert first == expected


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_text_in_markdown(deliveries: ModuleType, name: str) -> None:
    found = [finding(deliveries, "fell", name, since=name, reason=name)]
    text = deliveries.markdown(1, found, [name])
    text.encode("utf-8")
    # Nothing of others is a sign that Markdown, a mention or a link begins with.
    inside = re.findall(r"<code>(.*?)</code>", text)
    assert len(inside) == 5
    for part in inside:
        assert not re.search(r"[<>|`*_~@#!\[\]:\\\"'{}$^]", re.sub(r"&#\d+;", "", part)), part
        assert "www." not in part
    rest = re.sub(r"<code>.*?</code>", "", text)
    assert name[:5].strip("\n") not in rest or name.startswith("\x00")
    row = next(line for line in text.splitlines() if line.startswith("| fell"))
    assert row.count("|") == 8
    page = markdown_library.markdown(text, extensions=["tables"])
    assert page.count("<tr>") == 2
    for tag in ("<script", "<img", "<a ", "<h1", "<strong>b", "<em>"):
        assert tag not in page
    assert len(text) < 5000
    shown = html.unescape(inside[1])
    assert shown[:3] == importlib.import_module("fsbench.terminal").clean(name)[:3]


def test_a_comment_has_room_for_any_number(deliveries: ModuleType) -> None:
    name = "|" * 5000
    found = [finding(deliveries, "fell", name, since=name, reason=name) for _ in range(3000)]
    body = deliveries.github(1, URL, found, [name] * 3000)
    assert len(body["output"]["summary"].encode()) <= 65_535
    assert "more lines are left out." in body["output"]["summary"]
    assert body["output"]["title"] == "3000 of 3000 got slower"


@pytest.mark.parametrize(
    ("code", "conclusion", "state"),
    [(0, "success", "success"), (1, "failure", "failed"), (4, "action_required", "failed")],
)
def test_bodies_are_what_the_calls_take(
    deliveries: ModuleType, code: int, conclusion: str, state: str
) -> None:
    found = [finding(deliveries, "fell"), finding(deliveries, "not known")]
    check_run = deliveries.github(code, URL, found, [])
    assert {name: check_run[name] for name in ("name", "head_sha", "status", "conclusion")} == {
        "name": "fsbench",
        "head_sha": SHA,
        "status": "completed",
        "conclusion": conclusion,
    }
    assert set(check_run) == {
        *("name", "head_sha", "status", "conclusion"),
        "details_url",
        "output",
    }
    assert set(check_run["output"]) == {"title", "summary"}
    status = deliveries.gitlab(code, URL, found)
    assert (status["state"], status["name"], status["target_url"]) == (state, "fsbench", URL)
    assert set(status) == {"state", "name", "description", "target_url"}
    assert len(status["description"]) <= 255


def test_without_a_site_the_bodies_have_no_address(deliveries: ModuleType) -> None:
    """GitHub and GitLab refuse an empty one."""
    assert "details_url" not in deliveries.github(0, "", [], [])
    assert "target_url" not in deliveries.gitlab(0, "", [])


@pytest.mark.parametrize("sha", ["", "main", "g" * 40, SHA + "\n", "../" * 13 + "a"])
def test_a_check_run_needs_its_commit(
    deliveries: ModuleType, monkeypatch: pytest.MonkeyPatch, sha: str, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_SHA", sha)
    options = SimpleNamespace(github=str(tmp_path / "check.json"))
    with pytest.raises(ValueError, match="GITHUB_SHA"):
        deliveries.deliver(options, URL, 0, [], [])
    assert not list(tmp_path.iterdir())


def test_what_fell_comes_first(deliveries: ModuleType, tmp_path: Path) -> None:
    results = ["rose", "not known", "fell"]
    path = tmp_path / "comment.md"
    found = [finding(deliveries, result) for result in results]
    deliveries.deliver(SimpleNamespace(markdown=str(path)), URL, 1, found, [])
    rows = re.findall(r"^\| (fell|not known|rose) ", path.read_text(), re.M)
    assert rows == ["fell", "not known", "rose"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("nightly", "code", "counts"),
    [([80.0, 80.3, 79.8, 80.1], 1, ("1", "1", "0")), ([50.0], 4, ("1", "0", "1"))],
    ids=["fell", "one run"],
)
def test_the_command_writes_all_four(
    fsbench: Command,
    measured: Measured,
    tmp_path: Path,
    nightly: list[float],
    code: int,
    counts: tuple[str, str, str],
) -> None:
    measured("Release", ext4=[100.0, 100.4, 99.7, 100.2])
    measured("Nightly", ext4=nightly)
    files = {name: tmp_path / name for name in ("junit", "github", "gitlab", "markdown")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    done = fsbench(
        *("check", *QUERY, "--baseline", "release", "--study", "release", "--study", "nightly"),
        *options,
        GITHUB_SHA=SHA,
    )
    assert done.returncode == code, done.stderr
    root = checked_junit(files["junit"].read_text())
    assert tuple(root.attrib[name] for name in ("tests", "failures", "errors")) == counts
    check_run = json.loads(files["github"].read_text())
    assert check_run["conclusion"] == ("failure" if code == 1 else "action_required")
    assert check_run["output"]["summary"] == files["markdown"].read_text()
    assert json.loads(files["gitlab"].read_text())["state"] == "failed"
