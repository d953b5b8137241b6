"""The documentation as pages of the site: whoever is told to read something can open it there."""

import re
from html import unescape
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from fsbench_web.pages import guide
from tests.test_documentation import Page

pytestmark = pytest.mark.django_db
ROOT = Path(django_settings.BASE_DIR)
NAMES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))
ADDRESS = re.compile(r"/guide/(?:([a-z-]+)/)?(?:#([\w-]+))?")


def page_of(client: Client, name: str) -> str:
    answer = client.get(guide.address(name))
    assert answer.status_code == 200, name
    return answer.content.decode()


def text_of(page: str) -> str:
    """What one reads, without code."""
    (article,) = re.findall(r'<article class="guide">.*?</article>', page, re.S)
    prose = re.sub(r"<(pre|code)\b.*?</\1>", "", article, flags=re.S)
    return unescape(re.sub(r"<[^>]+>", "", prose))


def leads_nowhere(pages: dict[str, Page], address: str) -> bool:
    match = ADDRESS.fullmatch(address)
    if match is None:
        return not re.fullmatch(r"/guide/images/[a-z0-9-]+\.png", address)
    name, anchor = match[1] or "index", match[2]
    return name not in pages or bool(anchor and anchor not in pages[name].anchors)


@pytest.fixture
def pages(client: Client) -> dict[str, Page]:
    return {name: Page(page_of(client, name)) for name in NAMES}


def guide_page(folder: Path, text: str) -> guide.GuidePage:
    """The text as a page of a guide that has this page and other.md."""
    folder.mkdir(exist_ok=True)
    path = folder / "page.md"
    path.write_text(text)
    return guide.read(path, frozenset({"index", "page", "other"}))


def test_every_page_of_the_site_leads_to_it(client: Client) -> None:
    assert '<a href="/guide/">' in client.get("/").content.decode()


@pytest.mark.parametrize("name", NAMES)
def test_no_markdown_is_left_over(client: Client, name: str) -> None:
    page = page_of(client, name)
    read = text_of(page)
    assert len(read) > 500
    for rest in ("```", "|---", "| ---", "](", "**", "`", "\x02", "\x03"):
        assert rest not in read, rest
    assert not re.search(r"^\s*(#+ |\|)", read, re.M)
    title = re.findall(r"^# (.+)$", (ROOT / "docs" / f"{name}.md").read_text(), re.M)[0]
    assert f"<title>{'Guide' if name == 'index' else title} – fsbench</title>" in page
    assert page.count("<h1") == 1


@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_it_needs_another_policy(client: Client, name: str) -> None:
    page = page_of(client, name)
    assert not re.search(r"<[^>]+\s(style|on[a-z]+|align)=", page)
    assert "<style" not in page
    assert not re.search(r"<script(?![^>]*\ssrc=\"/static/)", page)


def test_every_link_of_it_leads_somewhere(pages: dict[str, Page]) -> None:
    links = {(name, link) for name, page in pages.items() for link in page.links}
    within = {(name, link[1:]) for name, link in links if link.startswith("#")}
    assert {(name, link) for name, link in within if link not in pages[name].anchors} == set()
    to_guide = {link for _, link in links if link.startswith("/guide/")}
    assert len(to_guide) > len(NAMES)
    assert {link for link in to_guide if leads_nowhere(pages, link)} == set()
    assert {link for _, link in links if not re.match("/|#|https?://", link)} == set()


def test_every_mention_on_a_page_or_in_a_message_leads_somewhere(pages: dict[str, Page]) -> None:
    places = [*(ROOT / "templates").rglob("*.html"), *(ROOT / "fsbench_web").rglob("*.py")]
    places.remove(ROOT / "fsbench_web" / "pages" / "guide.py")
    mentions = [
        (path.name, match[0])
        for path in places
        for match in re.finditer(r"/guide/(?:[a-z-]+/)?(?:#[\w-]+)?", path.read_text())
    ]
    assert len(mentions) > 15
    assert [(where, address) for where, address in mentions if leads_nowhere(pages, address)] == []


def test_no_page_names_a_file_that_a_browser_cannot_open() -> None:
    for path in (ROOT / "templates").rglob("*.html"):
        assert not re.search(r"docs/[a-z-]+\.md", path.read_text()), path


def test_its_contents_lead_to_its_headings(client: Client) -> None:
    (contents,) = re.findall(r'<nav class="toc".*?</nav>', page_of(client, "operating"), re.S)
    assert '<a href="#trying-it-without-a-disk">Trying it without a disk</a>' in contents
    assert '<a href="#controllers">Controllers</a>' in contents
    assert 'class="toc"' not in page_of(client, "index")


def test_its_picture_is_shown(client: Client, pages: dict[str, Page]) -> None:
    (source,) = (address for address in pages["index"].loaded if address.startswith("/guide/"))
    answer = client.get(source)
    assert answer["Content-Type"] == "image/png"
    assert answer.content == (ROOT / "docs/images/unisys-2005.png").read_bytes()


@pytest.mark.parametrize(
    "address",
    [
        "/guide/nothing/",
        "/guide/index/",
        "/guide/Operating/",
        "/guide/operating.md/",
        "/guide/../README/",
        "/guide/..%2fREADME/",
        "/guide/%2e%2e/README/",
        "/guide/docs%2foperating/",
        "/guide/operating%00/",
        "/guide//etc/passwd/",
        "/guide/images/",
        "/guide/images/nothing.png",
        "/guide/images/..%2foperating.md",
        "/guide/images/%2e%2e/operating.md",
    ],
)
def test_other_names_are_not_found(client: Client, address: str) -> None:
    assert client.get(address).status_code == 404


def test_a_name_that_is_not_there_says_which_are(client: Client) -> None:
    text = client.get("/guide/nothing/").content.decode()
    assert "adding-a-workload, api, architecture" in text


def test_without_the_folder_it_says_what_to_do(
    client: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.GUIDE_DIR = tmp_path / "docs"
    for address in ("/guide/", "/guide/operating/", "/guide/images/unisys-2005.png"):
        answer = client.get(address)
        assert answer.status_code == 404
        assert "copy it there from the same version" in answer.content.decode()
    # As promised: nothing has to be restarted.
    settings.GUIDE_DIR.mkdir()
    (settings.GUIDE_DIR / "index.md").write_text("# Here\nAgain.\n")
    assert "<p>Again.</p>" in client.get("/guide/").content.decode()


def test_it_is_read_by_whoever_may_read_the_site(client: Client, settings: Settings) -> None:
    settings.ANONYMOUS_READING = False
    for address in ("/guide/", "/guide/operating/", "/guide/images/unisys-2005.png"):
        answer = client.get(address)
        assert answer.status_code == 302
        assert answer["Location"].startswith("/account/sign-in/?next=/guide/")
    client.force_login(User.objects.create_user("ann"))
    assert client.get("/guide/operating/").status_code == 200


def test_it_asks_the_database_nothing(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        page_of(client, "operating")


def test_it_is_made_once_and_sent_once(client: Client) -> None:
    first = client.get("/guide/operating/")
    path, names = guide.pages(django_settings.GUIDE_DIR)["operating"], frozenset(NAMES)
    assert guide.read(path, names) is guide.read(path, names)
    again = client.get("/guide/operating/", headers={"if-none-match": first["ETag"]})
    assert again.status_code == 304
    assert again.content == b""
    # The line above it says who is signed in.
    assert set(first["Cache-Control"].split(", ")) == {"private", "no-cache"}
    client.force_login(User.objects.create_user("ann"))
    headers = {"if-none-match": first["ETag"]}
    assert client.get("/guide/operating/", headers=headers).status_code == 200


def test_links_between_files_become_links_between_pages(tmp_path: Path) -> None:
    page = guide_page(
        tmp_path,
        "# A\n[o](other.md#b) [s](index.md) [h](#a) [w](https://a.example/b.md)\n"
        "[r](../README.md) [c](code.py) [other.md](other.md)\n",
    )
    for link in ("/guide/other/#b", "/guide/", "#a", "https://a.example/b.md"):
        assert f'href="{link}"' in page.body
    assert "<span>r</span> <span>c</span>" in page.body
    assert '<a href="/guide/other/">other</a>' in page.body


def test_columns_are_aligned_by_classes(tmp_path: Path) -> None:
    page = guide_page(
        tmp_path, "# A\n\n| | b | c |\n| --- | ---: | :---: |\n| 1 | 2 | 3 |\n\nEnd.\n"
    )
    assert '<div class="table-wrap">' in page.body
    assert re.search(r'<tr>\s*<td></td>\s*<th class="num" scope="col">b</th>', page.body)
    assert '<td class="num">2</td>' in page.body
    assert '<td class="is-centred">3</td>' in page.body
    assert "style" not in page.body
    assert page.body.endswith("<p>End.</p>")


def test_sections_of_a_long_page_are_folded(tmp_path: Path) -> None:
    text = "# A\n\nBefore.\n\n## b\n\nOne.\n\n### c\n\nTwo.\n\n## d\n\nThree.\n"
    assert "<details" not in guide_page(tmp_path, text).body
    page = guide_page(tmp_path / "long", text + "word " * guide.LONG_CHARACTERS)
    folds = re.findall(r'<details class="fold"><summary>(.*?)</details>', page.body, re.S)
    assert [re.findall(r'<h\d id="(\w)"', fold) for fold in folds] == [["b", "c"], ["d"]]
    assert "Before." in page.body.partition("<details")[0]


def test_a_title_keeps_its_words(tmp_path: Path) -> None:
    page = guide_page(tmp_path, "# `a` & b\n\n## c `d`\n\n### e\n")
    assert page.title == "a & b"
    assert [heading.title for heading in page.headings] == ["c <code>d</code>"]
    assert [lower.anchor for lower in page.headings[0].subheadings] == ["e"]


def test_the_image_has_it() -> None:
    assert "COPY docs docs\n" in (ROOT / "deploy/Dockerfile").read_text()
    assert "!docs\n" in (ROOT / ".dockerignore").read_text()
    (brought,) = re.findall(
        r"for name in (requirements.*); do", (ROOT / "deploy/build").read_text()
    )
    assert "docs" in brought.split()
    # Whatever the Dockerfile copies is let through to it.
    let_through = set(re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.M))
    copied = set(re.findall(r"^COPY ([\w.-]+) ", (ROOT / "deploy/Dockerfile").read_text(), re.M))
    assert copied <= let_through == set(brought.split())
