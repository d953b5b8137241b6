"""What is wrong with a job, part by part; and the refusal that holds all of it. No database."""

import re
from collections.abc import Iterable, Mapping

WITHIN = {"repeats": "until"}
"""The part of a job that has the values, where their problems stand under another."""


class JobRefused(Exception):
    """Nothing was written. ``by_part`` holds every problem by the part of the job, or by place.

    ``is_forbidden``: the account may not. ``places`` are the wrong values (race.hours).
    """

    def __init__(
        self,
        by_part: Mapping[str, list[str]],
        is_forbidden: bool = False,
        places: Iterable[str] = (),
    ) -> None:
        self.by_part = dict(by_part)
        self.is_forbidden = is_forbidden
        self.places = frozenset(places)
        super().__init__(" ".join(self.problems))

    @property
    def problems(self) -> list[str]:
        return [problem for problems in self.by_part.values() for problem in problems]


class Problems:
    """Collects sentences by part, each once."""

    def __init__(self, by_part: Mapping[str, list[str]]) -> None:
        self.by_part: dict[str, list[str]] = {}
        self.is_forbidden = False
        self.places: set[str] = set()
        for part, sentences in by_part.items():
            for sentence in sentences:
                self.add(part, sentence)

    def add(self, part: str, sentence: str, *within: str) -> None:
        """``within``: which values of the part are wrong, as ``hours`` of a race."""
        self.places.update(f"{WITHIN.get(part, part)}.{name}" for name in within)
        sentences = self.by_part.setdefault(part, [])
        if sentence not in sentences:
            sentences.append(sentence)

    def forbid(self, part: str, sentence: str) -> None:
        """The same of something that the account has no right to."""
        self.add(part, sentence)
        self.is_forbidden = True

    @property
    def count(self) -> int:
        return sum(map(len, self.by_part.values()))

    def is_reported(self, part: str) -> bool:
        """Whether anything was said of this part, or of a place in it."""
        return any(re.match(rf"{re.escape(part)}(?!\w)", place) for place in self.by_part)

    def refuse_if_any(self) -> None:
        if self.by_part:
            raise JobRefused(self.by_part, self.is_forbidden, self.places)
