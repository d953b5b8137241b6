"""Check the prose of Markdown pages: sentence length, and words that the style guide bans.

``python tools/prose.py`` fails for a page of ``HELD`` that breaks a limit, and lists the figures of
all others. Code and headings are left out, and tables but for banned words. Add a page to ``HELD``
when it is rewritten.

proselint has no rule for sentence length and no list of one's own words. The ``vale`` package of
the index downloads its program from another host when it first runs.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HELD = (
    *("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "docs/adding-a-workload.md", "docs/api.md"),
    *("docs/architecture.md", "docs/client.md", "docs/comparing.md", "docs/decisions.md"),
    *("docs/deployment.md", "docs/development.md", "docs/formats.md", "docs/glossary.md"),
    *("docs/guest.md", "docs/importing.md", "docs/index.md", "docs/method.md", "docs/operating.md"),
    *("docs/people.md", "docs/performance.md", "docs/security.md", "docs/settings.md"),
    *("docs/workloads.md",),
)
MEAN_WORDS = 18
LONG_WORDS = 30
LONG_SHARE = 0.03
CHANGELOG_LINE = 120
BANNED = (
    *("anew", "whoever", "whose", "nobody said", "by itself", "beside", "told", "stands in"),
    "of which",
)
_BANNED = re.compile(rf"\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)
_MARKER = re.compile(r"^\s*(?:[-*+]|\d+\.|>)\s+")
_END = re.compile(r"(?<=[.!?])[*_)\"”]*\s+")


@dataclass(frozen=True)
class Figures:
    """Of a page: sentences, words, words of each sentence, and the places of banned words."""

    lengths: tuple[int, ...]
    banned: tuple[tuple[int, str], ...]
    longest: str

    @property
    def mean(self) -> float:
        return sum(self.lengths) / max(1, len(self.lengths))

    @property
    def long_share(self) -> float:
        return sum(length > LONG_WORDS for length in self.lengths) / max(1, len(self.lengths))

    def problems(self) -> list[str]:
        found = [f"line {line}: “{word}”" for line, word in self.banned]
        if self.mean > MEAN_WORDS:
            found.append(f"mean sentence of {self.mean:.1f} words, limit {MEAN_WORDS}")
        if self.long_share > LONG_SHARE:
            found.append(
                f"{self.long_share:.1%} of sentences above {LONG_WORDS} words, limit "
                f"{LONG_SHARE:.0%}; the longest: {self.longest}"
            )
        return found


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs and list items, each with the number of its first line."""
    first, lines, is_code = 0, [], False
    for number, line in enumerate(text.splitlines(), start=1):
        is_fence = line.lstrip().startswith("```")
        is_code ^= is_fence
        is_left_out = is_code or is_fence or bool(re.match(r"\s*\||#|    \s*\S|!\[", line))
        # A line that is indented continues its list item; elsewhere it is code.
        if line.startswith("    ") and lines and not (is_code or is_fence):
            is_left_out = False
        if is_left_out or not line.strip() or _MARKER.match(line):
            if lines:
                yield first, " ".join(lines)
            lines = []
        if not is_left_out and line.strip():
            first = number if not lines else first
            lines.append(_MARKER.sub("", line).strip())
    if lines:
        yield first, " ".join(lines)


def sentences(block: str) -> list[str]:
    """Its sentences; inline code is one word, a link is its text."""
    plain = re.sub(r"`[^`]*`", "code", block)
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    return [part for part in _END.split(plain) if re.search(r"\w", part)]


def examine(text: str) -> Figures:
    lengths, banned, longest = [], [], ""
    for line, block in blocks(text):
        for sentence in sentences(block):
            words = re.findall(r"\w[\w'’.,/%+-]*", sentence)
            lengths.append(len(words))
            if len(words) > len(longest.split()):
                longest = sentence
        banned += _banned(line, block)
    for line, row in enumerate(text.splitlines(), start=1):
        if row.startswith("|"):
            banned += _banned(line, row)
    return Figures(tuple(lengths), tuple(banned), longest)


def _banned(line: int, text: str) -> list[tuple[int, str]]:
    plain = re.sub(r"`[^`]*`", "", text)
    return [(line, match[0]) for match in _BANNED.finditer(plain)]


def long_lines(text: str) -> list[str]:
    """Lines of a changelog that are longer than one visible change may take."""
    return [
        f"line {number}: {len(line)} characters, limit {CHANGELOG_LINE}"
        for number, line in enumerate(text.splitlines(), start=1)
        if len(line) > CHANGELOG_LINE
    ]


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def main() -> int:
    failed = 0
    for path in pages():
        name, text = str(path.relative_to(ROOT)), path.read_text("utf-8")
        figures = examine(text)
        problems = figures.problems()
        if name == "CHANGELOG.md":
            problems += long_lines(text)
        if name not in HELD:
            print(
                f"{name}: not held yet: mean {figures.mean:.1f} words, {figures.long_share:.0%} "
                f"above {LONG_WORDS}, {len(figures.banned)} banned words"
            )
        elif problems:
            failed = 1
            print(f"{name}:", *problems, sep="\n  ", file=sys.stderr)
        elif "--figures" in sys.argv[1:]:
            print(f"{name}: mean {figures.mean:.1f} words, {figures.long_share:.1%} above")
    return failed


if __name__ == "__main__":
    sys.exit(main())
