"""The search page: studies, configurations and runs, and everything else that has a name."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from fsbench_web.accounts.requirements import Action, requires
from fsbench_web.catalog.models import HardwareProfile, Lun, Worker
from fsbench_web.catalog.workloads.own_workloads import offered_presets
from fsbench_web.compare.selection.profiles import visible_profiles
from fsbench_web.compare.selection.wording import FLAGS
from fsbench_web.core.scoring.categories import CATEGORIES
from fsbench_web.core.scoring.profiles.presets import LATEST
from fsbench_web.pages import guide
from fsbench_web.studies.runs.shown.results import with_results
from fsbench_web.studies.views import search_query

FIRST = 6
PAGE_SIZE = 30


class Place(NamedTuple):
    """A page, or a place on one, with the text that is searched."""

    title: str
    address: str
    about: str
    text: str = ""


@require_safe
@requires(Action.READ)
def search(request: HttpRequest) -> HttpResponse:
    """``?q=`` words, which must all match; ``kind=`` one kind alone, a page at a time."""
    query = search_query.Query.of(request.GET.get("q", ""))
    kinds = search_query.KINDS | {name: label for name, (label, _) in PLACES.items()}
    kind = request.GET.get("kind", "")
    kind = kind if kind in kinds else ""
    groups: list[dict[str, Any]] = []
    for name, label in kinds.items():
        size = PAGE_SIZE if kind == name else FIRST
        pages: Paginator[Any] = Paginator(_matches(query, name), size)
        # The kind that is not asked for is only counted.
        results = pages.get_page(request.GET.get("page") if kind == name else 1)
        rows = with_results(results) if name == "runs" else None
        groups.append(
            {
                **{"kind": name, "label": label, "count": pages.count, "page": results},
                **{"is_place": name in PLACES, "rows": rows},
            }
        )
    context = {
        "search_words": query.text,
        "is_asked": bool(query.words),
        "kind": kind,
        "found": groups,
        "shown": [
            entry for entry in groups if entry["kind"] == kind or (not kind and entry["count"])
        ],
        "total": sum(entry["count"] for entry in groups),
        "most": search_query.MOST,
        "query": urlencode({"q": query.text, "kind": kind}),
    }
    return render(request, "pages/search.html", context)


def _matches(query: search_query.Query, kind: str) -> Sequence[Any]:
    if kind in search_query.KINDS:
        return search_query.find(query, kind)
    if not query.words:
        return []
    places = PLACES[kind][1]()
    return [place for place in places if _has_all(place, query.words)][: search_query.MOST]


def _has_all(place: Place, words: Iterable[str]) -> bool:
    text = f"{place.title} {place.about} {place.text}".lower()
    return all(word in text for word in words)


def _workloads() -> Iterator[Place]:
    for preset in offered_presets():
        about = preset.kind.about if preset.kind else ""
        yield Place(
            preset.title,
            f"{reverse('studies:workloads')}#{preset.slug}",
            preset.description,
            f"{preset.slug} {preset.tool} {about} {preset.answers}",
        )


def _profiles() -> Iterator[Place]:
    for profile in LATEST.values():
        address = reverse("compare:profile", args=[profile.slug])
        yield Place(profile.title, address, profile.summary, profile.name)
    rows = visible_profiles().prefetch_related("versions").order_by("slug")
    for row in rows[: search_query.MOST]:
        version = next(iter(row.versions.all()), None)
        document = version.document if version else {}
        title, summary = (str(document.get(key, "")) for key in ("title", "summary"))
        yield Place(
            title or row.slug, reverse("compare:profile", args=[row.slug]), summary, row.slug
        )


def _machines() -> Iterator[Place]:
    luns = Lun.objects.select_related("worker").order_by("worker__name", "name")
    for lun in luns[: search_query.MOST]:
        yield Place(lun.name, reverse("studies:lun", args=[lun.pk]), f"LUN of {lun.worker.name}")
    for name in Worker.objects.order_by("name").values_list("name", flat=True)[: search_query.MOST]:
        yield Place(name, reverse("catalog:worker", args=[name]), "Worker")
    hardware = HardwareProfile.objects.order_by("name").values_list("name", "slug")
    for name, slug in hardware[: search_query.MOST]:
        yield Place(name, reverse("catalog:hardware", args=[slug]), "Hardware", slug)


def _words() -> Iterator[Place]:
    address = reverse("glossary")
    for label, meaning in FLAGS.values():
        yield Place(label, f"{address}#flags", meaning, "flag")
    for category in CATEGORIES.values():
        yield Place(category.label, f"{address}#scores", category.definition, "score category")


def _guide() -> Iterable[Place]:
    try:
        return _guide_sections(settings.GUIDE_DIR)
    except Http404:
        return ()


@lru_cache
def _guide_sections(folder: Path) -> tuple[Place, ...]:
    """The sections of every page of the guide."""
    paths = guide.pages(folder)
    sections = []
    for name, path in paths.items():
        page = guide.read(path, frozenset(paths))
        _, *parts = re.split(r'<h[1-6] id="([^"]*)">(.*?)</h[1-6]>', page.body)
        for anchor, heading, html in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            text = " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())
            title = unescape(re.sub(r"<[^>]+>", "", heading))
            sections.append(Place(title, f"{guide.address(name)}#{anchor}", page.title, text))
    return tuple(sections)


PLACES: dict[str, tuple[str, Callable[[], Iterable[Place]]]] = {
    "workloads": ("Workloads", _workloads),
    "profiles": ("Work profiles", _profiles),
    "machines": ("LUNs, workers, hardware", _machines),
    "words": ("Glossary", _words),
    "guide": ("Guide", _guide),
}
