"""Check the prose of documents, templates, docstrings and messages.

``python tools/prose.py`` fails for a file with problems. ``--figures`` also prints the figures of
each area.

proselint has no rule for sentence length and no list of one's own words. The ``vale`` package of
the index downloads its program from another host when it first runs.
"""

import ast
import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("benchmarks", "client", "deploy", "fsbench_web", "runner", "templates", "tools")
MEAN_WORDS = 18
LONG_WORDS = {".md": 30, ".py": 30, ".html": 20}
LONG_SHARE = 0.03
CHANGELOG_LINE = 120
# A label or a heading is no sentence: without a full stop, from this many words on.
FRAGMENT_WORDS = 9
# A string in code is a message to a reader if it ends a sentence of this many words.
MESSAGE_WORDS = 5
BANNED = (
    *("anew", "whoever", "whose", "nobody said", "by itself", "beside", "told", "stands in"),
    *("of which", "what is not"),
)
_BANNED = re.compile(rf"\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)
_MARKER = re.compile(r"^\s*(?:[-*+]|\d+\.|>)\s+")
_END = re.compile(r"(?<=[.!?])[*_)\"”]*\s+")

# Of a template: what nobody reads, what ends a sentence, and attributes that are read.
_UNREAD = re.compile(
    r"\{#.*?#\}|\{% comment .*?endcomment %\}|\{% comment %\}.*?endcomment %\}|<!--.*?-->"
    r"|<(script|style|pre|svg)\b.*?</\1>",
    re.DOTALL,
)
_INLINE = "a|abbr|b|bdi|cite|em|i|kbd|mark|q|small|span|strong|sub|sup|time|var|wbr"
_TAG = re.compile(r"</?(?P<name>[a-z0-9]+)\b(?P<attributes>[^<>]*)>", re.IGNORECASE)
_READ = re.compile(r"\b(?:title|alt|placeholder|aria-label|data-confirm)=\"([^\"]*)\"")
_IF = re.compile(r"\{% if [^%]*%\}((?:(?!\{% if |\{% endif).)*)\{% endif %\}", re.DOTALL)
_BRANCH = re.compile(r"\{% (?:else|elif [^%]*) %\}")
_BREAK = "\x00"


@dataclass(frozen=True)
class Sentence:
    """Its first line, and its text, in which code and values are one word each."""

    line: int
    text: str

    @property
    def words(self) -> int:
        return len(re.findall(r"\w[\w'’.,/%+-]*", self.text))


@dataclass(frozen=True)
class Figures:
    """Sentences of a file, and its banned words with their lines."""

    sentences: tuple[Sentence, ...]
    banned: tuple[tuple[int, str], ...]
    long_words: int = LONG_WORDS[".md"]

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(sentence.words for sentence in self.sentences)

    @property
    def mean(self) -> float:
        return sum(self.lengths) / max(1, len(self.sentences))

    @property
    def long(self) -> tuple[Sentence, ...]:
        return tuple(one for one in self.sentences if one.words > self.long_words)

    @property
    def long_share(self) -> float:
        return len(self.long) / max(1, len(self.sentences))

    def problems(self) -> list[str]:
        """One line for each banned word, each sentence too long, and a mean too long."""
        found = [f"line {line}: “{word}”" for line, word in self.banned]
        if self.long_share > LONG_SHARE:
            found += [f"line {one.line}: {one.words} words: {one.text}" for one in self.long]
        if self.mean > MEAN_WORDS:
            found.append(f"mean sentence of {self.mean:.1f} words, limit {MEAN_WORDS}")
        return found


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs and list items of Markdown, each with the number of its first line."""
    first, is_code = 0, False
    lines: list[str] = []
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


def _lines_of(text: str) -> str:
    return "\n" * text.count("\n")


def _longest_branch(match: re.Match[str]) -> str:
    """The longest branch of an ``if``; all of them where one ends a sentence or a paragraph."""
    branches = _BRANCH.split(match[1])
    if any(_BREAK in branch or re.search(r"[.!?](\s|$)", branch) for branch in branches):
        return _BREAK.join(branches) if len(branches) > 1 else match[1]
    longest = max(branches, key=lambda branch: len(branch.split()))
    return longest + _lines_of(match[0])[longest.count("\n") :]


def _paragraph_or_words(match: re.Match[str]) -> str:
    read = "".join(f"{_BREAK}{words}{_BREAK}" for words in _READ.findall(match["attributes"]))
    is_inline = re.fullmatch(_INLINE, match["name"], re.IGNORECASE)
    return (read or ("" if is_inline else _BREAK)) + _lines_of(match[0])


def template_blocks(text: str) -> Iterator[tuple[int, str]]:
    """What a template shows, by paragraph; each with the number of its first line."""
    text = _UNREAD.sub(lambda match: _BREAK + _lines_of(match[0]), text)
    text = re.sub(r"<code\b[^>]*>.*?</code>", lambda m: "code" + _lines_of(m[0]), text, flags=re.S)
    text = re.sub(r"\{\{[^}]*\|pluralize[^}]*\}\}", "", text)
    text = re.sub(r"\{\{.*?\}\}", "value", text)
    text = _TAG.sub(_paragraph_or_words, text)
    while _IF.search(text):
        text = _IF.sub(_longest_branch, text)
    text = re.sub(r"\{% (empty|block|endblock|include)\b[^%]*%\}", _BREAK, text)
    text = re.sub(r"\{%.*?%\}", "", text)
    text = re.sub(r"(?<=\w\w[.!?])(?=[A-Z])", " ", text)
    line = 1
    for block in text.split(_BREAK):
        first = line + block[: len(block) - len(block.lstrip())].count("\n")
        line += block.count("\n")
        words = " ".join(block.replace("&nbsp;", " ").split())
        if words.endswith((".", "!", "?")) or len(words.split()) >= FRAGMENT_WORDS:
            yield first, words


def module_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs of docstrings and messages of a module, each with the number of its first line."""
    seen: set[ast.AST] = set()
    # Parents come before their children: the parts of an f-string are no messages of their own.
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if words := ast.get_docstring(node, clean=False):
                start = node.body[0].lineno - 1
                seen.update(ast.iter_child_nodes(node.body[0]))
                yield from ((start + n, block) for n, block in blocks(inspect.cleandoc(words)))
        elif isinstance(node, ast.JoinedStr):
            seen.update(node.values)
            parts = (
                part.value if isinstance(part, ast.Constant) else "value" for part in node.values
            )
            yield from _message(node.lineno, "".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in seen:
            yield from _message(node.lineno, node.value)


def _message(line: int, words: str) -> Iterator[tuple[int, str]]:
    if len(words.split()) >= MESSAGE_WORDS and words.strip().endswith((".", "!", "?")):
        yield line, " ".join(words.split())


def sentences(block: str) -> list[str]:
    """Its sentences; inline code is one word, a link is its text."""
    plain = re.sub(r"`+[^`]*`+", "code", block)
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    return [part for part in _END.split(plain) if re.search(r"\w", part)]


def examine(text: str, suffix: str = ".md") -> Figures:
    """Figures of the text of a document, a template or a module, by the suffix of its name."""
    readers = {".md": blocks, ".html": template_blocks, ".py": module_blocks}
    found, banned = [], []
    for line, block in readers[suffix](text):
        found += [Sentence(line, sentence) for sentence in sentences(block)]
        banned += _banned(line, block)
    if suffix == ".md":
        for line, row in enumerate(text.splitlines(), start=1):
            if row.startswith("|"):
                banned += _banned(line, row)
    return Figures(tuple(found), tuple(banned), LONG_WORDS[suffix])


def _banned(line: int, text: str) -> list[tuple[int, str]]:
    plain = re.sub(r"`+[^`]*`+", "", text)
    return [(line, match[0]) for match in _BANNED.finditer(plain)]


def long_lines(text: str) -> list[str]:
    """Lines of a changelog that are longer than one visible change may take."""
    return [
        f"line {number}: {len(line)} characters, limit {CHANGELOG_LINE}"
        for number, line in enumerate(text.splitlines(), start=1)
        if len(line) > CHANGELOG_LINE
    ]


def pages() -> list[Path]:
    """Every document, template and module outside the tests."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    for folder in FOLDERS:
        found += (ROOT / folder).rglob("*.html")
        found += (one for one in (ROOT / folder).rglob("*.py") if "migrations" not in one.parts)
    return sorted(found)


def print_figures(by_name: dict[str, Figures]) -> None:
    """Print for each area its files, sentences, mean, share of long ones and banned words."""
    areas: dict[str, list[Figures]] = defaultdict(list)
    for name, figures in by_name.items():
        folder = "documents" if name.endswith(".md") else "/".join(name.split("/")[:-1][:2])
        areas[folder].append(figures)
    for folder, found in sorted(areas.items()):
        count = sum(len(one.sentences) for one in found) or 1
        print(
            f"{folder:24}{len(found):5} files {count:6} sentences, "
            f"mean {sum(sum(one.lengths) for one in found) / count:5.1f} words,"
            f"{sum(len(one.long) for one in found) / count:6.1%} long,"
            f"{sum(len(one.banned) for one in found):4} banned words"
        )


def main() -> int:
    by_name, problems = {}, {}
    for path in pages():
        name, text = str(path.relative_to(ROOT)), path.read_text("utf-8")
        by_name[name] = examine(text, path.suffix)
        problems[name] = by_name[name].problems()
        if name == "CHANGELOG.md":
            problems[name] += long_lines(text)
    if "--figures" in sys.argv[1:]:
        print_figures(by_name)
    broken = {name: found for name, found in problems.items() if found}
    for name, found in broken.items():
        print(f"{name}:", *found, sep="\n  ", file=sys.stderr)
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
