"""docs/ builds without a warning, every link of it and of the pages beside it leads somewhere, and
nothing of it is loaded from another host. Links to other hosts are listed by `make docs`; whether
they answer is not asked.
"""

import argparse
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class
from markdown import Markdown

from fsbench_web.core.workloads.fio.jobs import OPTIONS

ROOT = Path(settings.BASE_DIR)
# Read on their own, in a repository's pages: not part of the built site.
BESIDE = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]


class Page(HTMLParser):
    """Anchors, links, and what a browser would load by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := values.get(name))}
        target = values.get("href") or values.get("src")
        if target is None:
            return
        if tag == "a":
            self.links.append(target)
        elif tag != "link" or values.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(target)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    """Every page of the built site, by its file."""
    folder = tmp_path_factory.mktemp("docs")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"),
            *("--site-dir", str(folder)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path: Page(path.read_text()) for path in folder.rglob("*.html")}
    return {path: page for path, page in pages.items() if path.name != "404.html"}


def test_it_builds_without_a_warning(built: dict[Path, Page]) -> None:
    assert {path.stem for path in built} >= {path.stem for path in (ROOT / "docs").glob("*.md")}


def test_every_link_and_anchor_leads_somewhere(built: dict[Path, Page]) -> None:
    broken = []
    for path, page in built.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists():
                broken.append(f"{path.name}: {link}")
            elif anchor and target in built and anchor not in built[target].anchors:
                broken.append(f"{path.name}: {link} (no such anchor)")
    assert broken == []


def test_nothing_is_loaded_from_another_host(built: dict[Path, Page]) -> None:
    loaded = {link for page in built.values() for link in page.loaded}
    assert loaded
    assert {link for link in loaded if urlsplit(link).netloc} == set()
    (folder,) = {path.parent for path in built if path.name == "index.html"}
    styles = "".join(path.read_text() for path in folder.rglob("*.css"))
    assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", styles)


@pytest.mark.parametrize("name", BESIDE)
def test_pages_beside_them_have_no_broken_link(name: str) -> None:
    """As a repository's page shows them: from the root of the tree."""
    page = Page(Markdown(extensions=["tables", "fenced_code", "toc"]).convert(_read(name)))
    assert name == "CHANGELOG.md" or page.links
    broken = []
    for link in [*page.links, *page.loaded]:
        parts = urlsplit(link)
        if parts.scheme or not parts.path:
            continue
        target = ROOT / unquote(parts.path)
        if not target.exists():
            broken.append(link)
        elif parts.fragment and target.suffix == ".md":
            text = target.read_text()
            of_target = Page(Markdown(extensions=["tables", "fenced_code", "toc"]).convert(text))
            if parts.fragment not in of_target.anchors:
                broken.append(f"{link} (no such anchor)")
    assert broken == []


def _read(name: str) -> str:
    return (ROOT / name).read_text()


def test_links_of_the_start_reach_every_page() -> None:
    linked = set(re.findall(r"docs/([a-z-]+)\.md", _read("README.md")))
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"} <= linked


def test_the_picture_is_small_and_real() -> None:
    picture = ROOT / "docs/images/unisys-2005.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert 10_000 < picture.stat().st_size < 200_000


@pytest.mark.parametrize("name", ["LICENSE", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_what_a_project_has_is_there(name: str) -> None:
    assert len(_read(name)) > 500


# Code of the pages: fenced blocks and what stands in backticks.
DOCUMENTED = "\n".join(path.read_text() for path in (ROOT / "README.md", *ROOT.glob("docs/*.md")))
CODE = re.findall(r"```\w*\n(.*?)```|`([^`\n]+)`|^ {4,}(\S[^\n]*)$", DOCUMENTED, re.M | re.S)
LINES = sorted({line for parts in CODE for part in parts for line in part.splitlines()})


def _mentions(pattern: str) -> list[str | tuple[str, ...]]:
    found = {found for line in LINES for found in re.findall(pattern, line)}
    assert len(found) > 3
    return sorted(found)


def _options(parser: argparse.ArgumentParser) -> set[str]:
    found = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= {option for one in action.choices.values() for option in _options(one)}
    return found


@pytest.mark.parametrize(
    ("name", "rest"), _mentions(r"(?:manage\.py|deploy/manage) ([a-z_]+)((?: (?!&&|#)[^\s`]+)*)")
)
def test_commands_of_manage_have_their_options(name: str, rest: str) -> None:
    command = load_command_class(get_commands()[name], name)
    options = set(re.findall(r"(?<=\s)--[a-z-]+", rest))
    assert options - _options(command.create_parser("manage.py", name)) == set()


@pytest.mark.parametrize("target", _mentions(r"(?:^|&& |sudo |=\w+ )make ([a-zA-Z-]+)"))
def test_targets_of_make_are_there(target: str) -> None:
    # Of a kernel's own Makefile, not of ours.
    if target not in ("targz-pkg", "clean", "bzImage"):
        assert re.search(rf"^{target}(?: |:)", (ROOT / "Makefile").read_text(), re.M)


@pytest.mark.parametrize("module", _mentions(r"-m ((?:benchmarks|tests)(?:\.\w+)*)"))
def test_modules_that_are_run_are_there(module: str) -> None:
    assert find_spec(module)


@pytest.mark.parametrize(
    "path",
    _mentions(
        r"(?:^|[\s`])((?:deploy|runner|tests|tools|benchmarks|fsbench_web|\.ci)/[\w./-]+\w/?)"
    ),
)
def test_files_that_are_named_are_there(path: str) -> None:
    assert (ROOT / path).exists() or list(ROOT.glob(f"{path}*"))


def test_options_of_job_files_are_those_that_are_let_through() -> None:
    (listed,) = re.findall(r"^`allrandrepeat`.*$", _read("docs/workloads.md"), re.M)
    assert set(re.findall(r"`(\w+)`", listed)) == OPTIONS.keys()


def test_documents_and_changelog_are_short() -> None:
    """As ``wc -w`` counts words, with the bars of tables."""
    files = [ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]
    assert sum(len(path.read_text().split()) for path in files) <= 35_000
