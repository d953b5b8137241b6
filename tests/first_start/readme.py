"""The README's five minutes, as steps that a walker takes word for word."""

import re
from dataclasses import dataclass, field

from tests.services.image import ROOT

_HEADING = "## Five minutes\n"
_FENCE = re.compile(r"^   ```\n(.*?)^   ```\n", re.MULTILINE | re.DOTALL)


@dataclass
class Step:
    """``bold`` are words of pages, ``code`` what is typed: each is taken once, in their order."""

    text: str
    printed: str
    bold: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)

    def word(self) -> str:
        """The next **word** that is on a page."""
        assert self.bold, f"the README names no more words here: {self.text}"
        return self.bold.pop(0)

    def typed(self) -> str:
        """The next `word` that is typed."""
        assert self.code, f"the README names nothing more to type here: {self.text}"
        return self.code.pop(0)

    def number(self, pattern: str) -> int:
        """A number that it states, as digits or in letters; the pattern has one group."""
        match = re.search(pattern, self.text)
        assert match, f"the README does not say {pattern}: {self.text}"
        letters = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight")
        stated = match[1].lower()
        return letters.index(stated) if stated in letters else int(stated)

    def is_walked(self) -> None:
        """Nothing of it was left out."""
        assert (self.bold, self.code) == ([], []), f"nobody walked this: {self.bold} {self.code}"


def five_minutes() -> list[Step]:
    """The numbered steps in their order. ``printed`` is a step's block of output, or empty."""
    section = (ROOT / "README.md").read_text().partition(_HEADING)[2].partition("\n## ")[0]
    numbers = re.findall(r"^(\d+)\. ", section, re.MULTILINE)
    assert numbers == [str(number + 1) for number in range(len(numbers))], numbers
    return [_step(text) for text in re.split(r"^\d+\. ", section, flags=re.MULTILINE)[1:]]


def _step(text: str) -> Step:
    # What follows the last step, without its indent, is no step.
    text = re.split(r"\n\n(?=\S)", text)[0] + "\n"
    blocks = _FENCE.findall(text)
    prose = " ".join(_FENCE.sub("", text).split())
    return Step(
        prose,
        "".join(blocks),
        re.findall(r"\*\*([^*]+)\*\*", prose),
        re.findall(r"`([^`]+)`", prose),
    )
