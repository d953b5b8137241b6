"""The values of a document by their place in it, and what is wrong with them. No database."""

from collections.abc import Mapping
from typing import Any

from fsbench_web.studies.jobs.spec import Problems


class DocumentReader:
    """Reads parts of a document (studies.jobs.documents.plan), and notes what is
    wrong with its place.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def known_keys(self, data: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
        for key in data:
            if key not in known:
                self.problems.add(
                    place if place != "document" else str(key),
                    f'"{key}" means nothing here: leave it out, or write one of '
                    f"{', '.join(known)}.",
                )

    def text(self, data: Mapping[str, Any], key: str, needed: str = "", place: str = "") -> str:
        value = data.get(key)
        if isinstance(value, str):
            if value.strip() or not needed:
                return value.strip()
        elif value is not None:
            self.problems.add(
                place or key, f"{key} must be a text: put {value!r} in quotes if it is meant so."
            )
            return ""
        if needed:
            self.problems.add(place or key, f"{key} is missing: {needed}.")
        return ""

    def whole(
        self, data: Mapping[str, Any], key: str, default: int | None, at: str = ""
    ) -> int | None:
        value = data.get(key, default)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value if value is not None else default
        self.problems.add(f"{at}{key}", f"{key} must be a whole number, not {value!r}.")
        return default

    def values(self, value: object, place: str) -> list[tuple[Any, str]]:
        """(value, place) of a single value or of each in a list."""
        if isinstance(value, list):
            if not value:
                self.problems.add(place, "The list is empty: name at least one, or leave it out.")
            return [(one, f"{place}[{index}]") for index, one in enumerate(value)]
        return [(value, place)]

    def names(self, value: object, place: str) -> list[tuple[str, str]]:
        """(name, place) of texts; "" for null."""
        found = []
        for one, where in self.values(value, place):
            if one is None or isinstance(one, str):
                found.append((one or "", where))
            else:
                self.problems.add(where, f"This must be a name, not {one!r}.")
        return found
