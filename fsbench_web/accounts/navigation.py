"""The menu of every page, without what the reader may not do. Pure."""

from collections.abc import Collection
from dataclasses import dataclass, replace

RUN, IMPORT, ADMINISTER = "run", "import", "administer"


@dataclass(frozen=True)
class MenuItem:
    """A page of the menu. The longest of all ``address_starts`` that fits has an address."""

    label: str
    address: str
    address_starts: tuple[str, ...]
    needs: str = ""
    is_here: bool = False


@dataclass(frozen=True)
class Entry:
    """An entry of the bar: a link, or a menu if it has several places."""

    label: str
    places: tuple[MenuItem, ...]

    @property
    def is_here(self) -> bool:
        return any(place.is_here for place in self.places)


ENTRIES = (
    Entry(
        "Results",
        (
            MenuItem("Studies", "/studies/", ("/studies/",)),
            MenuItem("Published papers", "/studies/#published", ()),
            MenuItem("Trends", "/history/", ("/history/",)),
            MenuItem("Watches", "/watches/", ("/watches/",)),
        ),
    ),
    Entry("Compare", (MenuItem("Compare", "/compare/", ("/compare/", "/p/")),)),
    Entry(
        "Runs",
        (
            MenuItem("Queue", "/runs/?state=unfinished", ()),
            MenuItem("Jobs", "/jobs/", ("/jobs/",)),
            MenuItem("All runs", "/runs/", ("/runs/",)),
        ),
    ),
    Entry(
        "Lab",
        (
            MenuItem("LUNs", "/luns/", ("/luns/",)),
            MenuItem("Workers", "/workers/", ("/workers/",)),
            MenuItem("Workloads", "/workloads/", ("/workloads/",)),
            MenuItem("Triggers", "/triggers/", ("/triggers/",)),
            MenuItem("Work profiles", "/profiles/", ("/profiles/",)),
            MenuItem("Hardware", "/hardware/", ("/hardware/",)),
        ),
    ),
    Entry(
        "New",
        (
            MenuItem("New run", "/runs/new/", ("/runs/new/",), RUN),
            MenuItem("Import results", "/imports/new/", ("/imports/",), IMPORT),
        ),
    ),
)
HELP = (
    MenuItem("Guide", "/guide/", ("/guide/",)),
    MenuItem("Glossary", "/glossary/", ("/glossary/",)),
    MenuItem("API", "/api/v1/docs", ("/api/v1/docs",)),
)
OWN = (
    MenuItem("Account", "/account/", ("/account/",)),
    MenuItem("My permalinks", "/p/", ()),
    *HELP,
    MenuItem("Administration", "/operations/", ("/operations/", "/audit/", "/people/"), ADMINISTER),
)


def entries(path: str, may: Collection[str]) -> list[Entry]:
    """The five, with the place that ``path`` belongs to marked; ``may`` of RUN, IMPORT."""
    return [
        Entry(entry.label, places)
        for entry in ENTRIES
        if (places := _places(entry.places, path, may))
    ]


def account_places(path: str, may: Collection[str], *, is_signed_in: bool) -> tuple[MenuItem, ...]:
    """What the account's menu has; for strangers only what explains the site."""
    return _places(OWN if is_signed_in else HELP, path, may)


def _places(places: tuple[MenuItem, ...], path: str, may: Collection[str]) -> tuple[MenuItem, ...]:
    all_places = (*OWN, *(place for entry in ENTRIES for place in entry.places))
    starts = (start for place in all_places for start in place.address_starts)
    longest = max((start for start in starts if path.startswith(start)), key=len, default="-")
    return tuple(
        replace(place, is_here=longest in place.address_starts)
        for place in places
        if not place.needs or place.needs in may
    )
