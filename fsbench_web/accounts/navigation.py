"""The menu of every page: five entries, and where in it somebody is. Pure.

What is refused to whoever looks is left out; who is not signed in is offered what an account may.
"""

from collections.abc import Collection
from dataclasses import dataclass

RUN, IMPORT, ADMINISTER = "run", "import", "administer"


@dataclass(frozen=True)
class Place:
    """A page of the menu. ``under`` are the starts of the addresses that belong to it; of several
    places the longest start that fits has the page.
    """

    label: str
    address: str
    under: tuple[str, ...]
    needs: str = ""
    is_here: bool = False


@dataclass(frozen=True)
class Entry:
    """What stands in the bar: a link where it has one place, else a menu that opens."""

    label: str
    places: tuple[Place, ...]

    @property
    def is_here(self) -> bool:
        return any(place.is_here for place in self.places)


ENTRIES = (
    Entry(
        "Results",
        (
            Place("Studies", "/studies/", ("/studies/",)),
            Place("Published papers", "/studies/#published", ()),
            Place("Trends", "/history/", ("/history/",)),
            Place("Watches", "/watches/", ("/watches/",)),
        ),
    ),
    Entry("Compare", (Place("Compare", "/compare/", ("/compare/", "/p/")),)),
    Entry(
        "Runs",
        (
            Place("Queue", "/runs/?state=unfinished", ()),
            Place("Jobs", "/jobs/", ("/jobs/",)),
            Place("All runs", "/runs/", ("/runs/",)),
        ),
    ),
    Entry(
        "Lab",
        (
            Place("LUNs", "/luns/", ("/luns/",)),
            Place("Workers", "/workers/", ("/workers/",)),
            Place("Workloads", "/workloads/", ("/workloads/",)),
            Place("Work profiles", "/profiles/", ("/profiles/",)),
            Place("Hardware", "/hardware/", ("/hardware/",)),
        ),
    ),
    Entry(
        "New",
        (
            Place("New run", "/runs/new/", ("/runs/new/",), RUN),
            Place("Import results", "/imports/new/", ("/imports/",), IMPORT),
        ),
    ),
)
HELP = (
    Place("Guide", "/guide/", ("/guide/",)),
    Place("Glossary", "/glossary/", ("/glossary/",)),
    Place("API", "/api/v1/docs", ("/api/v1/docs",)),
)
OWN = (
    Place("Account", "/account/", ("/account/",)),
    Place("My permalinks", "/p/", ()),
    *HELP,
    Place("Administration", "/operations/", ("/operations/", "/audit/", "/people/"), ADMINISTER),
)


def entries(path: str, may: Collection[str]) -> list[Entry]:
    """The five, with the place that ``path`` belongs to marked; ``may`` of RUN, IMPORT."""
    return [
        Entry(entry.label, found)
        for entry in ENTRIES
        if (found := _places(entry.places, path, may))
    ]


def account_places(path: str, may: Collection[str], *, is_signed_in: bool) -> tuple[Place, ...]:
    """What the account's menu has; for strangers only what explains the site."""
    return _places(OWN if is_signed_in else HELP, path, may)


def _places(places: tuple[Place, ...], path: str, may: Collection[str]) -> tuple[Place, ...]:
    here = _start_of(path)
    return tuple(
        Place(place.label, place.address, place.under, place.needs, here in place.under)
        for place in places
        if not place.needs or place.needs in may
    )


def _start_of(path: str) -> str:
    """The longest start of an address, among those of all places, that ``path`` has."""
    known = (start for entry in ENTRIES for place in entry.places for start in place.under)
    own = (start for place in OWN for start in place.under)
    return max((start for start in (*known, *own) if path.startswith(start)), key=len, default="-")
