"""What of an address is of a slide: its test, its category, its sentence. Pure."""

from collections.abc import Iterable
from urllib.parse import urlencode

from django.http import QueryDict

PLACE = ("of", "in", "sentence")
PARAMETERS = (*PLACE, "was")


def place_of(query: QueryDict) -> str:
    """Test, category and sentence of a query, as a query."""
    return urlencode([(name, query[name]) for name in PLACE if query.get(name)])


def rest_of(query: QueryDict) -> QueryDict:
    """What of an address says what is compared."""
    return without_parameters(query, PARAMETERS)


def without_parameters(query: QueryDict, names: Iterable[str]) -> QueryDict:
    """The query without some of its parameters."""
    rest = query.copy()
    for name in names:
        rest.pop(name, None)
    return rest
