"""The documentation as pages of the site, made into HTML once in a process.

The extensions are those of mkdocs.yml, so that anchors are the same in both.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, SubElement

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page, require_safe
from markdown import Markdown
from markdown.treeprocessors import Treeprocessor

from fsbench_web.accounts.requirements import Action, requires

START = "index"
LONG_CHARACTERS = 7_000
"""Sections of a longer page are folded: it would have more than four screens."""
MISSING = (
    "This installation came without its documentation: there is no folder docs/ next to "
    "fsbench_web/. An administrator can copy it there from the same version of fsbench, without a "
    "restart."
)


@dataclass(frozen=True)
class Heading:
    anchor: str
    title: SafeString
    subheadings: tuple["Heading", ...]


@dataclass(frozen=True)
class GuidePage:
    """A file of docs/: its title, its text as HTML, and the headings below the title."""

    title: str
    body: SafeString
    headings: tuple[Heading, ...]


# A page is the same for whoever may read it, but for the line with who is signed in.
@require_safe
@conditional_page
@cache_control(private=True, no_cache=True)
@requires(Action.READ)
def guide(request: HttpRequest, name: str = "") -> HttpResponse:
    """A page of the documentation; the start without a name."""
    paths = pages(settings.GUIDE_DIR)
    path = paths.get(name or START)
    if path is None or name == START:
        names = ", ".join(sorted(paths.keys() - {START}))
        raise Http404(f"The guide has no such page. It has: {names}.")
    context = {"page": read(path, frozenset(paths)), "is_start": not name}
    return render(request, "guide.html", context)


# Another version of the program has another picture at the same address.
@require_safe
@conditional_page
@cache_control(private=True, no_cache=True)
@requires(Action.READ)
def picture(request: HttpRequest, name: str) -> HttpResponse:
    """A picture that a page shows."""
    path = pictures(settings.GUIDE_DIR).get(name)
    if path is None:
        raise Http404("The guide has no such picture.")
    return HttpResponse(path.read_bytes(), content_type="image/png")


@lru_cache
def pages(folder: Path) -> Mapping[str, Path]:
    """The files of docs/ by their name in the address. Raises Http404 where there are none."""
    paths = {path.stem: path for path in folder.glob("*.md") if re.fullmatch("[a-z-]+", path.stem)}
    if START not in paths:
        raise Http404(MISSING)
    return MappingProxyType(paths)


@lru_cache
def pictures(folder: Path) -> Mapping[str, Path]:
    """The pictures of docs/images by their name in the address. Raises as ``pages`` does."""
    pages(folder)
    return MappingProxyType({path.name: path for path in (folder / "images").glob("*.png")})


@lru_cache
def read(path: Path, names: frozenset[str]) -> GuidePage:
    """The file as a page; ``names`` are the pages that it may link to."""
    converter = Markdown(extensions=["tables", "fenced_code", "toc"], output_format="html")
    # After all others (toc is 5), and before what they escaped is undone (0).
    text = path.read_text("utf-8")
    markup = _SiteMarkup(converter, names, is_long=len(text) > LONG_CHARACTERS)
    converter.treeprocessors.register(markup, "site", 1)
    # The files are part of the program, like its templates; nobody's input is in them.
    body = mark_safe(converter.convert(text))  # noqa: S308
    titles = _headings(getattr(converter, "toc_tokens", []))
    if not titles:
        return GuidePage(path.stem, body, ())
    return GuidePage(_plain(titles[0].title), body, titles[0].subheadings)


def address(name: str) -> str:
    """Where the page is."""
    return "/guide/" if name == START else f"/guide/{name}/"


def _headings(tokens: list[dict[str, Any]]) -> tuple[Heading, ...]:
    return tuple(
        Heading(token["id"], mark_safe(token["html"]), _headings(token["children"]))  # noqa: S308
        for token in tokens
    )


def _plain(title: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", title))


class _SiteMarkup(Treeprocessor):
    """Links and pictures lead to addresses of the site; tables get its classes, and scroll.

    Sections of a long page are folded; a link to a heading opens its section (site.js).
    """

    def __init__(self, converter: Markdown, names: frozenset[str], *, is_long: bool) -> None:
        super().__init__(converter)
        self.names = names
        self.is_long = is_long

    def run(self, root: Element) -> None:
        for link in root.iter("a"):
            self.lead(link)
        for image in root.iter("img"):
            image.set("src", f"/guide/{image.get('src', '')}")
        for cell in (*root.iter("th"), *root.iter("td")):
            _align(cell)
        for parent in list(root.iter()):
            for place, table in enumerate(parent):
                if table.tag == "table":
                    parent[place] = _scrolling(table)
        if self.is_long:
            _fold(root)

    def lead(self, link: Element) -> None:
        """To the page it names; what is a file of the repository, and no page, is plain text."""
        parts = urlsplit(link.get("href", ""))
        if parts.scheme or parts.netloc or not parts.path:
            return
        name = parts.path.removesuffix(".md")
        if parts.path.endswith(".md") and name in self.names:
            anchor = f"#{parts.fragment}" if parts.fragment else ""
            link.set("href", address(name) + anchor)
            if link.text == parts.path:
                link.text = name
        else:
            link.tag = "span"
            link.attrib.clear()


def _align(cell: Element) -> None:
    """A class instead of a style attribute, which the content security policy may forbid."""
    style = cell.attrib.pop("style", "")
    if "right" in style:
        cell.set("class", "num")
    elif "center" in style:
        cell.set("class", "is-centred")
    if cell.tag == "th" and not (cell.text or len(cell)):
        cell.tag = "td"  # A column without a name: an empty heading says nothing to anybody.
    elif cell.tag == "th":
        cell.set("scope", "col")


def _fold(root: Element) -> None:
    """Each heading of the second level becomes the summary of what follows it."""
    into = root
    for element in list(root):
        if element.tag == "h2":
            root.remove(element)
            into = SubElement(root, "details", {"class": "fold"})
            SubElement(into, "summary").append(element)
        elif into is not root:
            root.remove(element)
            into.append(element)


def _scrolling(table: Element) -> Element:
    table.set("class", "table")
    wrapper = Element("div", {"class": "table-wrap"})
    wrapper.tail, table.tail = table.tail, None
    wrapper.append(table)
    return wrapper
