"""How runs are prepared and repeated, as fields of the job form. No database."""

import re
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from fsbench_web.catalog.configurations.preparation import PLAIN, Preparation, PreparationError
from fsbench_web.core.scoring.confidence import RepeatTarget
from fsbench_web.studies.jobs.spec import JobSpec

DEFAULT_REPEATS = 2  # as in the Unisys 2005 paper
BY_NUMBER, BY_INTERVAL = "number", "interval"
# As FREENIX 2002 stops at 10%, and half of it; what was chosen is in the address in any case.
DEFAULT_HALF_WIDTH, DEFAULT_LEAST, DEFAULT_MOST = "5", "3", "10"
_NUMBER = re.compile(r"^[0-9]{1,12}$")
_DECIMAL = re.compile(r"^[0-9]{1,6}(\.[0-9]{1,6})?$")


@dataclass
class MethodForm:
    """These fields as text, which may be text that will be refused."""

    repeats: str = str(DEFAULT_REPEATS)
    repeat_by: str = BY_NUMBER
    half_width: str = DEFAULT_HALF_WIDTH
    least: str = DEFAULT_LEAST
    most: str = DEFAULT_MOST
    discard: str = ""
    precondition: str = ""
    fill_percent: str = ""

    @property
    def is_by_interval(self) -> bool:
        return self.repeat_by == BY_INTERVAL

    def read_repeats(self, unreadable: dict[str, list[str]]) -> int:
        if self.repeat_by == BY_INTERVAL:
            return DEFAULT_REPEATS
        if self.repeat_by != BY_NUMBER:
            unreadable["repeats"] = [
                f'"{self.repeat_by}" is no way to repeat: choose {BY_NUMBER} or {BY_INTERVAL}.'
            ]
        elif not _NUMBER.match(self.repeats):
            unreadable["repeats"] = [
                f'"{self.repeats}" is not a whole number: say how often each configuration is run.'
            ]
        return int(self.repeats) if _NUMBER.match(self.repeats) else 0

    def read_until(self, unreadable: dict[str, list[str]]) -> RepeatTarget | None:
        if self.repeat_by != BY_INTERVAL:
            return None
        problems = [
            f'"{text}" is not a number: say {what}.'
            for text, pattern, what in (
                (self.half_width, _DECIMAL, "how many percent of the mean the half-width may be"),
                (self.least, _NUMBER, "how many repeats there are at least"),
                (self.most, _NUMBER, "how many repeats there are at most"),
            )
            if not pattern.match(text)
        ]
        if problems:
            unreadable["repeats"] = problems
            return None
        return RepeatTarget(float(self.half_width), int(self.least), int(self.most))

    def read_preparation(self, unreadable: dict[str, list[str]]) -> Preparation:
        problems = [
            f'{name}: "{text}" is neither yes nor no.'
            for name, text in (("Discard", self.discard), ("Writing once", self.precondition))
            if text not in ("", "yes", "no")
        ]
        fill = self.fill_percent or "0"
        if not _NUMBER.match(fill):
            problems.append(f'Fill level: "{fill}" is not a whole number of percent.')
        if not problems:
            try:
                return Preparation(self.discard == "yes", self.precondition == "yes", int(fill))
            except PreparationError as error:
                problems.append(str(error))
        unreadable["preparation"] = problems
        return PLAIN

    def write_method(self, query: QueryDict) -> None:
        """Put into a query string what is not left at its default."""
        if self.repeat_by == BY_NUMBER:
            query["repeats"] = self.repeats
        else:
            query["repeat_by"] = self.repeat_by
            query["half_width"], query["least"], query["most"] = (
                self.half_width,
                self.least,
                self.most,
            )
        for name in ("discard", "precondition", "fill_percent"):
            if getattr(self, name) not in ("", "no", "0"):
                query[name] = getattr(self, name)


def read_method(query: QueryDict) -> dict[str, Any]:
    """The fields in a query string, for ``MethodForm``."""
    return {
        "repeats": query.get("repeats", str(DEFAULT_REPEATS)).strip(),
        "repeat_by": query.get("repeat_by", BY_NUMBER),
        "half_width": query.get("half_width", DEFAULT_HALF_WIDTH).strip(),
        "least": query.get("least", DEFAULT_LEAST).strip(),
        "most": query.get("most", DEFAULT_MOST).strip(),
        "discard": query.get("discard", ""),
        "precondition": query.get("precondition", ""),
        "fill_percent": query.get("fill_percent", "").strip(),
    }


def method_of(spec: JobSpec) -> dict[str, Any]:
    """The fields that say what a request says."""
    preparation, until = spec.preparation, spec.until
    fields = {
        "repeats": str(spec.repeats),
        "discard": "yes" if preparation.discard else "",
        "precondition": "yes" if preparation.precondition else "",
        "fill_percent": str(preparation.fill_percent or ""),
    }
    if until is not None:
        fields |= {
            "repeat_by": BY_INTERVAL,
            "half_width": f"{until.half_width_percent:g}",
            "least": str(until.least),
            "most": str(until.most),
        }
    return fields
